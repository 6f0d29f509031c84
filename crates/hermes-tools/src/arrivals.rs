//! Tools that are on their way: their servers are being connected to.
//!
//! A conversation does not wait for them when it begins. Who misses a tool does: all of them together for as long as the
//! settings say, counted from the first who waited, so that a server that never comes costs that time once.

use hermes_core::clock::Clock;
use hermes_core::stop::Stop;
use std::sync::OnceLock;
use std::time::Duration;
use tokio::sync::watch;

#[derive(Debug, Default)]
pub(crate) struct Arrivals {
    underway: watch::Sender<usize>,
    /// When waiting began.
    began: OnceLock<Duration>,
}

/// Somebody whose tools are on their way, until this is dropped.
#[derive(Debug)]
pub struct Arriving {
    underway: watch::Sender<usize>,
}

impl Drop for Arriving {
    fn drop(&mut self) {
        self.underway.send_modify(|count| *count = count.saturating_sub(1));
    }
}

impl Arrivals {
    pub(crate) fn announce(&self) -> Arriving {
        self.underway.send_modify(|count| *count += 1);
        Arriving { underway: self.underway.clone() }
    }

    /// Waits for those that are on their way. Whether there was anything to wait for.
    pub(crate) async fn awaited(&self, patience: Duration, clock: &dyn Clock, stop: &Stop) -> bool {
        let mut underway = self.underway.subscribe();
        let now = clock.elapsed();
        if *underway.borrow_and_update() == 0 {
            return false;
        }
        let left = (*self.began.get_or_init(|| now) + patience).saturating_sub(now);
        if left.is_zero() {
            return false;
        }
        tokio::select! {
            biased;
            () = stop.wait() => {}
            // The sender lives here, so it can only be that all have arrived.
            _ = underway.wait_for(|count| *count == 0) => {}
            () = clock.alarm(left) => {}
        }
        true
    }
}
