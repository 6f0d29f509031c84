//! Events for many readers in one process: a terminal, a gateway and a writer of trajectories hear the same turn.
//!
//! Telling never waits. A reader that falls too far behind loses the oldest events and is told how many.

use crate::ports::Listener;
use hermes_types::Event;
use tokio::sync::broadcast::{Receiver, Sender, channel, error::RecvError};

/// So many events wait for the slowest reader.
const BEHIND: usize = 4_096;

/// Tells every subscriber. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Feed(Sender<Event>);

/// One reader of a [`Feed`]. It hears what happens after it subscribed.
#[derive(Debug)]
pub struct Subscription(Receiver<Event>);

/// What a reader hears.
#[derive(Debug, Clone, PartialEq)]
pub enum Heard {
    Event(Box<Event>),
    /// The reader was too slow for this many.
    Missed(u64),
}

impl Default for Feed {
    fn default() -> Self {
        Self(channel(BEHIND).0)
    }
}

impl Feed {
    pub fn subscribe(&self) -> Subscription {
        Subscription(self.0.subscribe())
    }
}

impl Listener for Feed {
    fn hear(&self, event: Event) {
        // Nobody listening is no fault.
        let _ = self.0.send(event);
    }
}

impl Subscription {
    /// The next event; `None` when whoever tells them is gone.
    pub async fn next(&mut self) -> Option<Heard> {
        match self.0.recv().await {
            Ok(event) => Some(Heard::Event(Box::new(event))),
            Err(RecvError::Lagged(missed)) => Some(Heard::Missed(missed)),
            Err(RecvError::Closed) => None,
        }
    }
}
