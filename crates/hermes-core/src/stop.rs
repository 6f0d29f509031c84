//! The one way to end work early. A stop reaches everything below it: calls, tools, children.

use tokio_util::sync::CancellationToken;

/// Handed down by whoever may interrupt; every wait listens to it.
#[derive(Debug, Clone, Default)]
pub struct Stop(CancellationToken);

impl Stop {
    pub fn new() -> Self {
        Self::default()
    }

    /// A stop that ends with this one and can also end alone.
    pub fn child(&self) -> Self {
        Self(self.0.child_token())
    }

    pub fn stop(&self) {
        self.0.cancel();
    }

    pub fn stopped(&self) -> bool {
        self.0.is_cancelled()
    }

    /// Returns once somebody stopped.
    pub async fn wait(&self) {
        self.0.cancelled().await;
    }
}
