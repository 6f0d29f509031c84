//! Time as a port, so that a fault matrix that would take an hour runs in a second.

use futures_util::future::BoxFuture;
use std::time::{Duration, Instant, SystemTime};

/// Two ways to wait, because a test must treat them differently: a pause is meant to pass (a fake clock skips it), an
/// alarm is meant not to ring (a fake clock rings it only when other things made enough time pass).
pub trait Clock: Send + Sync {
    /// Time since some fixed point; never goes back.
    fn elapsed(&self) -> Duration;

    /// The time of day.
    fn now(&self) -> SystemTime;

    /// Waits on purpose: the pause before a retry.
    fn pause(&self, duration: Duration) -> BoxFuture<'static, ()>;

    /// Guards a wait for something else: the limit after which a silent peer counts as dead.
    fn alarm(&self, duration: Duration) -> BoxFuture<'static, ()>;
}

/// The machine's clock.
#[derive(Debug, Clone, Copy)]
pub struct RealClock {
    start: Instant,
}

impl Default for RealClock {
    fn default() -> Self {
        Self { start: Instant::now() }
    }
}

impl Clock for RealClock {
    fn elapsed(&self) -> Duration {
        self.start.elapsed()
    }

    fn now(&self) -> SystemTime {
        SystemTime::now()
    }

    fn pause(&self, duration: Duration) -> BoxFuture<'static, ()> {
        Box::pin(tokio::time::sleep(duration))
    }

    fn alarm(&self, duration: Duration) -> BoxFuture<'static, ()> {
        Box::pin(tokio::time::sleep(duration))
    }
}
