//! The look through the whole file after a program ended without a goodbye: beside everything else, and given up at once
//! when this program ends.

use super::index::{self, Verdict};
use crate::db::{Access, Db};
use crate::fault::DbResult;
use crate::patience::Patience;
use rusqlite::{Connection, InterruptHandle};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

/// Between two tries to stop a check.
const PAUSE: Duration = Duration::from_millis(1);
/// More faults than this say nothing new.
const MOST_LINES: u32 = 100;

/// A check that is going on.
pub(crate) struct Check {
    stopped: Arc<AtomicBool>,
    interrupt: InterruptHandle,
    thread: JoinHandle<()>,
}

impl Check {
    /// `done` hears the verdict, unless the check is stopped or cannot be made.
    pub(crate) fn start(path: &Path, done: impl FnOnce(Verdict) + Send + 'static) -> DbResult<Self> {
        let db = Db::open(path, Access::Read, &Patience::default())?;
        let stopped = Arc::new(AtomicBool::new(false));
        let interrupt = db.connection.get_interrupt_handle();
        let told_to_stop = Arc::clone(&stopped);
        let work = move || {
            if told_to_stop.load(Ordering::SeqCst) {
                return;
            }
            match look_through(&db.connection) {
                Ok(verdict) if !told_to_stop.load(Ordering::SeqCst) => done(verdict),
                Ok(_) => {}
                Err(error) => tracing::debug!("the check of the session store ended early: {error}"),
            }
        };
        let thread = std::thread::Builder::new()
            .name("session-check".into())
            .spawn(work)
            .map_err(|error| hermes_core::store::StoreError::Failed(error.to_string()))?;
        Ok(Self { stopped, interrupt, thread })
    }

    pub(crate) fn stop(self) {
        self.stopped.store(true, Ordering::SeqCst);
        while !self.thread.is_finished() {
            // Without effect between two statements, so again until the thread has noticed.
            self.interrupt.interrupt();
            std::thread::sleep(PAUSE);
        }
        let _ = self.thread.join();
    }
}

/// Looks through the file.
pub(crate) fn look_through(connection: &Connection) -> DbResult<Verdict> {
    match quick_check(connection, None) {
        // The check itself may stumble over what is broken.
        Err(error) if error.is_damage() => diagnose(connection),
        checked => checked,
    }
}

/// Looks through the file, or through one table of it.
pub(crate) fn quick_check(connection: &Connection, table: Option<&str>) -> DbResult<Verdict> {
    let about = table.map_or(MOST_LINES.to_string(), |name| format!("\"{}\"", name.replace('"', "\"\"")));
    let mut statement = connection.prepare(&format!("PRAGMA quick_check({about})"))?;
    let lines = statement.query_map([], |row| row.get(0))?.collect::<Result<Vec<String>, _>>()?;
    index::judge(connection, &lines)
}

/// Whether damage that was met is damage of an index alone: every other table is looked through. An error when it cannot
/// be known: only what SQLite calls damage is damage, not a file that is busy or a look that was cut off.
pub(crate) fn diagnose(connection: &Connection) -> DbResult<Verdict> {
    match first_damage(connection) {
        Ok(Some(line)) => Ok(Verdict::Damage(line)),
        Ok(None) => Ok(Verdict::Index),
        Err(error) if error.is_damage() => Ok(Verdict::Damage(error.to_string())),
        Err(error) => Err(error),
    }
}

fn first_damage(connection: &Connection) -> DbResult<Option<String>> {
    let mut statement = connection.prepare("SELECT name FROM sqlite_master WHERE type = 'table' AND rootpage > 0")?;
    let names = statement.query_map([], |row| row.get(0))?.collect::<Result<Vec<String>, _>>()?;
    for name in names.iter().filter(|name| !index::is_index_table(name)) {
        if let Verdict::Damage(line) = quick_check(connection, Some(name))? {
            return Ok(Some(line));
        }
    }
    Ok(None)
}
