//! The store of a conversation at the command line: opened before anything is asked, let go of behind it.

use crate::app::App;
use crate::memory;
use crate::output::Screen;
use hermes_core::stop::Stop;
use hermes_core::store::{Sessions as _, StoreError};
use hermes_store::SqliteStore;
use hermes_types::{Session, SessionId};
use std::path::PathBuf;
use std::time::Duration;

/// A wait that is over sooner needs no explanation.
const WORTH_A_LINE: Duration = Duration::from_secs(2);
/// Somebody who interrupted does not wait for the books, nor for hooks that hear of the end.
const AFTER_INTERRUPT: Duration = Duration::from_millis(400);

/// The store of the home, or why it cannot be used. A store that cannot be used costs the record, never the answer.
pub(super) async fn open(app: &App, screen: &Screen, stop: &Stop) -> Result<SqliteStore, String> {
    let opening = async {
        app.home.create().map_err(|error| error.to_string())?;
        memory::open(&app.home).await.map_err(|error| error.to_string())
    };
    tokio::select! {
        biased;
        () = stop.wait() => Err("interrupted".to_owned()),
        store = explained(opening, screen) => store,
    }
}

/// Where a session works: where it did before, if that is still there, else here.
pub(super) async fn place(
    store: &SqliteStore,
    id: &SessionId,
    here: PathBuf,
    screen: &Screen,
) -> Result<PathBuf, StoreError> {
    let session = store.session(id).await?;
    let Some(there) = session.as_ref().and_then(Session::cwd).map(PathBuf::from) else { return Ok(here) };
    if there == here {
        return Ok(here);
    }
    if !there.is_dir() {
        screen.complain(&format!("{} is gone; this session works in {} now", there.display(), here.display()));
        return Ok(here);
    }
    screen.remark(&format!("working in {}, where this session began", there.display()));
    Ok(there)
}

/// Waits for the store, but not for long when somebody interrupts.
pub(super) async fn in_time(work: impl Future<Output = ()>, screen: &Screen, stop: &Stop) {
    unless_left(explained(work, screen), stop).await;
}

/// Waits for what can be given up, but not for long when somebody interrupts.
pub(super) async fn unless_left(work: impl Future<Output = ()>, stop: &Stop) {
    let has_left = async {
        stop.wait().await;
        tokio::time::sleep(AFTER_INTERRUPT).await;
    };
    tokio::select! {
        biased;
        () = work => {}
        () = has_left => {}
    }
}

/// Says what is being waited for when it takes long.
async fn explained<T>(work: impl Future<Output = T>, screen: &Screen) -> T {
    let mut work = std::pin::pin!(work);
    match tokio::time::timeout(WORTH_A_LINE, &mut work).await {
        Ok(done) => done,
        Err(_) => {
            screen.explain_wait("waiting for the session store", "another program is writing to it");
            work.await
        }
    }
}

pub(super) fn not_kept(reason: &str) -> String {
    format!("this conversation is not kept: {reason}")
}
