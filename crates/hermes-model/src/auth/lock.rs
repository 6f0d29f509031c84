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
        let mut options = OpenOptions::new();
        options.create(true).truncate(false).write(true);
        // Whoever may open it may hold it, and thereby keep its owner from logging in.
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let file = options.open(path)?;
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

#[cfg(all(test, unix))]
mod tests {
    use super::super::rehearsal::SkippingClock;
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[tokio::test]
    async fn a_lock_is_its_owners_alone() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("auth.lock");
        let lock = FileLock::acquire(&path, &SkippingClock::default(), POLL).await.expect("usable");
        assert!(lock.is_some());
        let mode = std::fs::metadata(&path).expect("there").permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }
}
