//! What the loop needs from the world, as traits.

use futures_util::future::BoxFuture;
use futures_util::stream::BoxStream;
use hermes_types::{Cost, Delta, Event, Exchange, Fault, Request, Usage};
use std::sync::Arc;
use std::time::Duration;

/// One model behind one endpoint with one credential. Switching any of the three makes another `Model`.
pub trait Model: Send + Sync {
    fn card(&self) -> &Card;

    /// The silence to tolerate for this request; a long prompt takes longer to read.
    fn stale_after(&self, _request: &Request) -> Duration {
        self.card().stale_after
    }

    /// What a call cost that was counted like this. Unless somebody knows prices, only the provider's own word counts.
    fn price(&self, usage: &Usage) -> Cost {
        Cost::stated(usage)
    }

    /// Nothing will be asked for a while: what only makes the next request faster need not be held.
    fn rest(&self) {}

    /// The only way to ask. The stream begins with [`Delta::Sent`] and ends with [`Delta::Done`] or a fault; dropping it
    /// hangs up.
    fn stream(&self, request: Arc<Request>) -> BoxStream<'static, Result<Delta, Fault>>;
}

/// Who answers, and within which limits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Card {
    pub provider: String,
    pub model: String,
    /// Where it is reached, for the books.
    pub base_url: String,
    /// The tokens the model can read and write in one go.
    pub context_window: u64,
    /// The most it writes in one answer, where that was set or is known.
    pub output_cap: Option<u32>,
    /// After this long without a byte the stream counts as dead.
    pub stale_after: Duration,
    /// The same for the first byte, for backends that sometimes never send one.
    pub first_byte_after: Option<Duration>,
    /// No single attempt takes longer than this.
    pub give_up_after: Duration,
}

/// Finds models: the person's choice, other credentials for it, and the fallbacks behind it.
pub trait Switchboard: Send + Sync {
    /// The model at a place of the chain: 0 is the person's choice, `None` is the end of the chain. A fault means that
    /// this place cannot be used (no credential, disabled) and the next may be tried.
    fn open(&self, place: usize) -> BoxFuture<'_, Result<Option<Arc<dyn Model>>, Fault>>;

    /// Before another call to a model that is open already: the same model with a login that lives on, or `None` when
    /// nothing has to change. Costs nothing while nothing is due.
    fn keep(&self, _place: usize) -> BoxFuture<'_, Result<Option<Arc<dyn Model>>, Fault>> {
        Box::pin(std::future::ready(Ok(None)))
    }

    /// The model at this place answered: its credential works. Must not block.
    fn answered(&self, _place: usize) {}

    /// The model at this place refused more tokens than these, and answered since. Must not block.
    fn learnt(&self, _place: usize, _window: u64) {}

    /// The same model with a renewed login, if the login can be renewed.
    fn refresh<'a>(&'a self, place: usize, fault: &'a Fault) -> BoxFuture<'a, Result<Option<Arc<dyn Model>>, Fault>>;

    /// The same model with another credential of its pool; the current one rests as the fault demands.
    fn rotate<'a>(&'a self, place: usize, fault: &'a Fault) -> BoxFuture<'a, Option<Arc<dyn Model>>>;
}

/// Hears every event of a turn, in order. Must not block.
pub trait Listener: Send + Sync {
    fn hear(&self, event: Event);
}

impl<F: Fn(Event) + Send + Sync> Listener for F {
    fn hear(&self, event: Event) {
        self(event);
    }
}

/// Hears of every attempt to ask a model once it is over, however it ended. Must not block.
pub trait Recorder: Send + Sync {
    fn exchanged(&self, exchange: Exchange);
}

impl<F: Fn(Exchange) + Send + Sync> Recorder for F {
    fn exchanged(&self, exchange: Exchange) {
        self(exchange);
    }
}

/// Keeps no record.
#[derive(Debug, Clone, Copy, Default)]
pub struct Unrecorded;

impl Recorder for Unrecorded {
    fn exchanged(&self, _: Exchange) {}
}

/// A recorder for a job beside the conversation.
pub struct ForTask<'a> {
    pub task: &'a str,
    pub recorder: &'a dyn Recorder,
}

impl Recorder for ForTask<'_> {
    fn exchanged(&self, exchange: Exchange) {
        self.recorder.exchanged(Exchange { task: self.task.to_owned(), ..exchange });
    }
}
