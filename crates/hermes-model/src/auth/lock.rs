//! One writer at a time between processes: an advisory lock on a file that is never deleted.

use hermes_core::clock::Clock;
use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::path::Path;
use std::time::Duration;

const POLL: Duration = Duration::from_millis(50);

/// Held until dropped. The operating system frees it when the process dies, however it dies.
#[derive(Debug)]
pub(super) struct FileLock(#[expect(dead_code, reason = "the open file is the lock")] File);

impl FileLock {
    /// The lock, or `None` when somebody else held it all through `patience`. Never blocks the thread.
    pub(super) async fn acquire(path: &Path, clock: &dyn Clock, patience: Duration) -> io::Result<Option<Self>> {
        let file = OpenOptions::new().create(true).truncate(false).write(true).open(path)?;
        let start = clock.elapsed();
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(Some(Self(file))),
                Err(TryLockError::Error(error)) => return Err(error),
                Err(TryLockError::WouldBlock) if clock.elapsed().saturating_sub(start) >= patience => return Ok(None),
                Err(TryLockError::WouldBlock) => clock.pause(POLL).await,
            }
        }
    }
}
