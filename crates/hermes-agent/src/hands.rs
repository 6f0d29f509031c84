//! The hands of one conversation behind the loop's port.

use futures_util::future::BoxFuture;
use hermes_core::book::Book;
use hermes_core::stop::Stop;
use hermes_core::turn::{Hands, Ran};
use hermes_tools::desk::Desk;
use hermes_tools::effects::Effects;
use hermes_tools::registry::Registry;
use hermes_tools::run::{self, Aborted, Hook, Witness};
use hermes_tools::toolset::Grant;
use hermes_types::{Finished, ToolCall, ToolDefinition};
use std::sync::{Arc, OnceLock};

/// Tools at a desk.
pub(crate) struct DeskHands {
    hands: run::Hands,
    desk: Arc<Desk>,
    /// What a conversation with a loader was offered first, and is offered as long as it lives: whatever joins or
    /// changes meanwhile is found by searching, and no byte moves for it.
    first: OnceLock<Arc<[ToolDefinition]>>,
}

impl DeskHands {
    pub(crate) fn new(registry: Arc<Registry>, grant: Grant, hooks: &[Arc<dyn Hook>], desk: Arc<Desk>) -> Self {
        let hands = run::Hands::of_conversation(registry, grant, &desk.settings().loader);
        let hands = hooks.iter().fold(hands, |hands, hook| hands.with_hook(hook.clone()));
        Self { hands, desk, first: OnceLock::new() }
    }

    pub(crate) fn may_call(&self, tool: &str) -> bool {
        self.hands.understands(tool)
    }

    pub(crate) fn desk(&self) -> &Arc<Desk> {
        &self.desk
    }
}

impl Hands for DeskHands {
    fn offered(&self) -> Arc<[ToolDefinition]> {
        let now = || self.hands.registry().shared(self.hands.definitions());
        match self.hands.loader() {
            Some(_) => self.first.get_or_init(now).clone(),
            None => now(),
        }
    }

    fn understands(&self, name: &str) -> bool {
        self.hands.understands(name)
    }

    fn begin_turn(&self) {
        self.desk.begin_turn();
    }

    fn run<'a>(&'a self, calls: &'a [ToolCall], book: &'a Book, stop: &'a Stop) -> BoxFuture<'a, Ran> {
        Box::pin(async move {
            match self.hands.run(calls, &self.desk, &Kept(book), stop).await {
                Ok(results) => Ran { results, abort: None },
                Err(Aborted { reason, results }) => Ran { results, abort: Some(reason) },
            }
        })
    }
}

/// Writes down what the hands do.
struct Kept<'a>(&'a Book);

impl Witness for Kept<'_> {
    fn begins<'a>(&'a self, call: &'a ToolCall, effects: &'a Effects) -> BoxFuture<'a, Result<(), String>> {
        Box::pin(async move { self.0.begins(call, effects.touch()).await.map_err(|error| error.to_string()) })
    }

    fn ended<'a>(&'a self, finished: &'a Finished) -> BoxFuture<'a, Result<(), String>> {
        Box::pin(async move { self.0.ended(finished).await.map_err(|error| error.to_string()) })
    }
}
