//! How long a lock that others hold is waited for: SQLite for a second, then up to fourteen more tries of a second each
//! with a random pause between them, so that programs do not march in step.

use crate::fault::DbResult;
use rand::RngExt;
use rusqlite::Connection;
use std::ops::RangeInclusive;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

#[derive(Debug, Clone)]
pub(crate) struct Patience {
    /// SQLite itself waits this long before the application takes over.
    pub(crate) wait: Duration,
    pub(crate) attempts: u32,
    /// Milliseconds between two attempts.
    pub(crate) pause: RangeInclusive<u64>,
    /// Shared by all clones.
    pub(crate) ended: Arc<AtomicBool>,
}

impl Default for Patience {
    fn default() -> Self {
        Self { wait: Duration::from_secs(1), attempts: 15, pause: 20..=150, ended: Arc::default() }
    }
}

impl Patience {
    /// About this long in all.
    pub(crate) fn within(limit: Duration) -> Self {
        let usual = Self::default();
        let wait = limit.min(usual.wait);
        let attempts = u32::try_from(limit.as_millis() / wait.as_millis().max(1)).unwrap_or(u32::MAX);
        Self { wait, attempts: attempts.clamp(1, usual.attempts), ..usual }
    }

    pub(crate) fn prepare(&self, connection: &Connection) -> DbResult<()> {
        connection.busy_timeout(self.wait)?;
        Ok(())
    }

    /// The same with a single attempt, for somebody who has waited before.
    pub(crate) fn spent(&self) -> Self {
        Self { attempts: 1, ..self.clone() }
    }

    /// From now on every wait ends within an attempt.
    pub(crate) fn end(&self) {
        self.ended.store(true, Ordering::Relaxed);
    }

    /// Tries until the lock is there or patience ends; every other failure ends it at once.
    pub(crate) fn with<T>(&self, mut attempt: impl FnMut() -> DbResult<T>) -> DbResult<T> {
        for _ in 1..self.attempts {
            match attempt() {
                Err(error) if error.is_busy() && !self.ended.load(Ordering::Relaxed) => {
                    let pause = rand::rng().random_range(self.pause.clone());
                    std::thread::sleep(Duration::from_millis(pause));
                }
                other => return other,
            }
        }
        attempt()
    }
}
