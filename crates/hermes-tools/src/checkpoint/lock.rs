//! Turns between processes and conversations. A lock ends with whoever held it, also with `kill -9`.

use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

const LOOK_AGAIN: Duration = Duration::from_millis(20);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Turn {
    /// With others who do the same.
    Shared,
    Alone,
}

/// Dropping it gives the turn to the next.
pub(super) struct Held {
    _file: File,
}

pub(super) async fn take(path: &Path, turn: Turn, patience: Duration) -> io::Result<Held> {
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)?;
    }
    let file = OpenOptions::new().create(true).append(true).open(path)?;
    let began = Instant::now();
    loop {
        let tried = match turn {
            Turn::Shared => file.try_lock_shared(),
            Turn::Alone => file.try_lock(),
        };
        match tried {
            Ok(()) => return Ok(Held { _file: file }),
            Err(TryLockError::Error(error)) => return Err(error),
            Err(TryLockError::WouldBlock) if began.elapsed() >= patience => {
                return Err(io::Error::new(io::ErrorKind::TimedOut, "another process is at work on it"));
            }
            Err(TryLockError::WouldBlock) => tokio::time::sleep(LOOK_AGAIN).await,
        }
    }
}
