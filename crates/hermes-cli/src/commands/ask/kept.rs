//! The store of a conversation at the command line: opened before anything is asked, let go of behind it.

use crate::app::App;
use crate::memory;
use crate::output::Screen;
use hermes_core::stop::Stop;
use hermes_store::SqliteStore;
use std::time::Duration;

/// A wait that is over sooner needs no explanation.
const WORTH_A_LINE: Duration = Duration::from_secs(2);
/// Somebody who interrupted does not wait for the books.
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

/// Lets go of the store. The last one to do so waits for the writer, and that must not be the thread everything runs on.
pub(super) async fn close(store: SqliteStore) {
    store.close().await;
    tokio::task::spawn_blocking(move || drop(store));
}

/// Waits for the store; nothing when somebody interrupted and it took longer than they should wait.
pub(super) async fn in_time<T>(work: impl Future<Output = T>, screen: &Screen, stop: &Stop) -> Option<T> {
    let has_left = async {
        stop.wait().await;
        tokio::time::sleep(AFTER_INTERRUPT).await;
    };
    tokio::select! {
        biased;
        done = explained(work, screen) => Some(done),
        () = has_left => None,
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
