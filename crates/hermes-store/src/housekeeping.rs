//! Moves the log into the file, on a thread of its own: a checkpoint waits for the disk, and no message has to wait for it.

use rusqlite::{Connection, OpenFlags};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread::JoinHandle;

/// Started with the first checkpoint: short programs never need it.
pub(crate) struct Housekeeper {
    path: PathBuf,
    worker: Option<(SyncSender<()>, JoinHandle<()>)>,
}

impl Housekeeper {
    pub(crate) fn new(path: &Path) -> Self {
        Self { path: path.to_owned(), worker: None }
    }

    /// Asks for a passive checkpoint; one that is still going on will do.
    pub(crate) fn checkpoint(&mut self) {
        if self.worker.is_none() {
            self.worker = start(&self.path);
        }
        if let Some((bell, _)) = &self.worker {
            let _ = bell.try_send(());
        }
    }

    pub(crate) fn finish(&mut self) {
        if let Some((bell, worker)) = self.worker.take() {
            drop(bell);
            let _ = worker.join();
        }
    }
}

fn start(path: &Path) -> Option<(SyncSender<()>, JoinHandle<()>)> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags).ok()?;
    let (bell, rung) = sync_channel(1);
    let work = move || {
        while rung.recv().is_ok() {
            if let Err(error) = connection.execute_batch("PRAGMA wal_checkpoint(PASSIVE)") {
                tracing::debug!("a checkpoint of the session store failed: {error}");
            }
        }
    };
    let worker = std::thread::Builder::new().name("session-housekeeper".into()).spawn(work).ok()?;
    Some((bell, worker))
}
