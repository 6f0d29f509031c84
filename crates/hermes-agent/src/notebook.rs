//! What should outlive a conversation, in the notes of the home.

use crate::hands::DeskHands;
use futures_util::future::BoxFuture;
use hermes_core::clock::Clock;
use hermes_core::stop::Stop;
use hermes_core::turn::Keeper;
use hermes_tools::desk::Desk;
use std::sync::Arc;

/// Who may not call this takes no notes either.
const TOOL: &str = "memory";

/// The notes of the home, as one conversation writes in them.
pub(crate) struct Notebook {
    desk: Arc<Desk>,
    clock: Arc<dyn Clock>,
}

impl Notebook {
    /// None where this conversation takes no notes.
    pub(crate) fn of(hands: &DeskHands, clock: Arc<dyn Clock>) -> Option<Self> {
        let desk = hands.desk();
        (hands.may_call(TOOL) && desk.shop.memory.takes_notes()).then(|| Self { desk: desk.clone(), clock })
    }
}

impl Keeper for Notebook {
    fn keep<'a>(&'a self, notes: &'a [String], stop: &'a Stop) -> BoxFuture<'a, Result<(), String>> {
        // Somebody else may hold the notes for long; who interrupts does not wait for them.
        let (desk, now, notes, stop) = (self.desk.clone(), self.clock.now(), notes.to_vec(), stop.clone());
        Box::pin(async move {
            let write = move || desk.shop.memory.note(&desk.session, &notes, now, &stop);
            tokio::task::spawn_blocking(write).await.unwrap_or_else(|error| Err(error.to_string()))
        })
    }
}
