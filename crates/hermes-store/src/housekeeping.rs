//! Moves the log into the file, on a thread of its own: a checkpoint waits for the disk, and no message has to wait for it.
//!
//! A log begins anew only when all of it has been moved, and beside a busy writer something is always left. So the
//! housekeeper tells when the log is long, and the writer moves the little rest itself, between two transactions.

use rusqlite::{Connection, OpenFlags};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread::JoinHandle;

/// Pages in a log that is long: 4 MB, as SQLite itself sees it.
const LONG: i64 = 1_000;

/// Started with the first checkpoint: short programs never need it.
pub(crate) struct Housekeeper {
    path: PathBuf,
    worker: Option<(SyncSender<()>, JoinHandle<()>)>,
    /// The pages of the log after the last checkpoint.
    pages: Arc<AtomicI64>,
}

impl Housekeeper {
    pub(crate) fn new(path: &Path) -> Self {
        Self { path: path.to_owned(), worker: None, pages: Arc::default() }
    }

    /// Asks for a passive checkpoint; one that is still going on will do.
    pub(crate) fn checkpoint(&mut self) {
        if self.worker.is_none() {
            self.worker = start(&self.path, Arc::clone(&self.pages));
        }
        if let Some((bell, _)) = &self.worker {
            let _ = bell.try_send(());
        }
    }

    /// On the writer's own connection, outside of transactions: moves the rest of a log that is long.
    pub(crate) fn finish_long_log(&self, writer: &Connection) {
        if self.pages.swap(0, Ordering::Relaxed) > LONG {
            checkpoint(writer);
        }
    }

    pub(crate) fn finish(&mut self) {
        if let Some((bell, worker)) = self.worker.take() {
            drop(bell);
            let _ = worker.join();
        }
    }
}

fn start(path: &Path, pages: Arc<AtomicI64>) -> Option<(SyncSender<()>, JoinHandle<()>)> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags).ok()?;
    let (bell, rung) = sync_channel(1);
    let work = move || {
        while rung.recv().is_ok() {
            pages.store(checkpoint(&connection).unwrap_or_default(), Ordering::Relaxed);
        }
    };
    let worker = std::thread::Builder::new().name("session-housekeeper".into()).spawn(work).ok()?;
    Some((bell, worker))
}

/// Tells how many pages the log has.
fn checkpoint(connection: &Connection) -> Option<i64> {
    let log = connection.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |row| row.get(1));
    log.inspect_err(|error| tracing::debug!("a checkpoint of the session store failed: {error}")).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_log_begins_anew_beside_a_writer_that_never_rests() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("state.db");
        let writer = Connection::open(&path).expect("a file");
        let settings = "PRAGMA journal_mode = wal; PRAGMA wal_autocheckpoint = 0; CREATE TABLE t(page)";
        writer.execute_batch(settings).expect("a log");
        let write = |pages: i64| {
            let bytes = pages * 4_096;
            writer.execute("INSERT INTO t VALUES(zeroblob(?1))", [bytes]).expect("written");
        };
        let mut housekeeper = Housekeeper::new(&path);
        write(2 * LONG);
        // A reader keeps the housekeeper from the end of the log, as a writer that goes on meanwhile does.
        let reader = Connection::open(&path).expect("the file");
        reader.execute_batch("BEGIN; SELECT count(*) FROM t").expect("a snapshot");
        write(10);
        housekeeper.checkpoint();
        while housekeeper.pages.load(Ordering::Relaxed) == 0 {
            std::thread::yield_now();
        }
        reader.execute_batch("COMMIT").expect("let go");
        housekeeper.finish_long_log(&writer);
        write(10);
        let log = checkpoint(&writer).expect("a log");
        assert!(log < 100, "the log goes on with {log} pages");
        // A short one is left to the housekeeper.
        housekeeper.checkpoint();
        housekeeper.finish();
        let told = housekeeper.pages.load(Ordering::Relaxed);
        assert!((1..100).contains(&told), "{told}");
    }
}
