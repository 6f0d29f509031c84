//! From the calls of a model to their results.
//!
//! Calls are read in order; the longest run of calls whose effects do not conflict makes a wave. In a wave every call is
//! shown to the gate first, in order, then what was permitted runs side by side. The next wave is read only after that,
//! so that a command is judged in the directory it will run in. Every call gets exactly one result, in the order of the
//! calls: after a panic, a timeout, a refusal and an interrupt too.

pub(crate) mod frame;
mod guardrail;
mod hints;
mod hook;
mod read;
mod sanitise;
mod settings;
mod spill;
mod telling;
mod wave;

pub use frame::opened;
pub use guardrail::{Guardrail, GuardrailSettings, Thresholds};
pub(crate) use hints::Ground;
pub use hints::Hints;
pub use hook::{CallView, Hook, OnFailure, Verdict};
pub use settings::{Room, RunSettings, Sizes};
pub use spill::Spill;
pub use wave::{Untold, Witness};

use crate::desk::{Desk, READ_FILE};
use crate::loader::{self, Loader, LoaderSettings};
use crate::registry::{Described, Registry};
use crate::tool::Card;
use crate::toolset::Grant;
use hermes_core::stop::Stop;
pub use hermes_types::{Disposition, Finished, ToolStatus as Status};
use hermes_types::{ToolCall, ToolDefinition};
use read::Read;
pub use read::names_nobody;
use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// The tools of a conversation, ready to be used. A copy is the same hands: calls made from inside of a call use one.
#[derive(Clone)]
pub struct Hands {
    registry: Arc<Registry>,
    hooks: Vec<Arc<dyn Hook>>,
    /// What this conversation may call; the rest is unknown to it.
    grant: Arc<Grant>,
    /// What part of that is found by searching, where there is a loader.
    loader: Option<Arc<Loader>>,
    reader: Reader,
    /// Whether any result held words of strangers.
    heard_strangers: Arc<AtomicBool>,
}

/// Who reads the results.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Reader {
    #[default]
    Model,
    /// A program that takes them apart: it gets them whole, without frames, notes and hints.
    Program,
}

/// A tool found that the turn cannot go on. The results are there nevertheless: one for each call.
#[derive(Debug, Clone, PartialEq)]
pub struct Aborted {
    pub reason: String,
    pub results: Vec<Finished>,
}

impl Hands {
    /// These tools, all of them in every request.
    pub fn new(registry: Arc<Registry>, names: BTreeSet<String>) -> Self {
        Self::granted(registry, names.into())
    }

    /// Everything within a grant, all of it in every request.
    pub fn granted(registry: Arc<Registry>, grant: Grant) -> Self {
        let (hooks, loader, reader) = (Vec::new(), None, Reader::default());
        Self { registry, hooks, grant: Arc::new(grant), loader, reader, heard_strangers: Arc::default() }
    }

    /// The hands of a conversation that begins now: the settings decide whether some of its tools are found by searching.
    pub fn of_conversation(registry: Arc<Registry>, grant: Grant, settings: &Arc<LoaderSettings>) -> Self {
        let hands = Self::granted(registry, grant);
        let loader = Loader::decide(settings, &hands.grant, &hands.registry).map(Arc::new);
        Self { loader, ..hands }
    }

    /// The same hands for a program that calls tools: its results are as the tools gave them. What it shows of them to a
    /// model is a result of its own.
    pub(crate) fn for_program(&self) -> Self {
        Self { reader: Reader::Program, heard_strangers: Arc::default(), ..self.clone() }
    }

    /// Whether a call made with these hands brought words of strangers.
    pub(crate) fn heard_strangers(&self) -> bool {
        self.heard_strangers.load(Ordering::Relaxed)
    }

    /// Hooks see a call in the order they were added.
    #[must_use]
    pub fn with_hook(mut self, hook: Arc<dyn Hook>) -> Self {
        self.hooks.push(hook);
        self
    }

    /// Who will read what a call gives.
    pub(crate) fn reader(&self) -> Reader {
        self.reader
    }

    /// The tools that are in every request, without the loader itself: a part of what the conversation may call.
    pub fn offered(&self) -> BTreeSet<String> {
        let cards = self.registry.cards();
        cards.iter().filter(|card| self.offers(card)).map(|card| card.name.to_string()).collect()
    }

    /// The tools that the conversation knows of from its first request on: those in it, and built-in ones behind the
    /// loader, which it names.
    pub fn known(&self) -> BTreeSet<String> {
        let behind = self.loader.iter().flat_map(|loader| loader.built_in()).map(str::to_owned);
        self.offered().into_iter().chain(behind).collect()
    }

    /// What the model sees, sorted by name.
    pub fn definitions(&self) -> Vec<ToolDefinition> {
        let mut definitions = self.registry.definitions(&self.offered());
        if let Some(loader) = &self.loader {
            definitions.retain(|tool| ![loader::TOOL_CALL, loader::TOOL_SEARCH].contains(&tool.name.as_str()));
            definitions.extend(loader.definitions());
            definitions.sort_by(|a, b| a.name.cmp(&b.name));
        }
        definitions
    }

    /// Whether a call of this name is run, offered or not: a model that has met a tool in a search, or in an older part
    /// of the conversation, calls it by its own name, and sending it round through the loader would help nobody.
    pub fn understands(&self, name: &str) -> bool {
        let is_loaders = self.loader.is_some() && loader::NAMES.contains(&name);
        is_loaders || self.registry.find(name).is_some_and(|entry| self.grant.allows(&entry.card))
    }

    pub fn loader(&self) -> Option<&Loader> {
        self.loader.as_deref()
    }

    /// The tools that a search can find now.
    pub(crate) fn behind(&self) -> Vec<Described> {
        let is_behind = |tool: &Described| self.grant.allows(&tool.card) && !self.offers(&tool.card);
        self.registry.describe().into_iter().filter(is_behind).collect()
    }

    fn offers(&self, card: &Card) -> bool {
        self.grant.allows(card) && !(self.loader.is_some() && loader::is_behind(card))
    }

    pub fn registry(&self) -> &Arc<Registry> {
        &self.registry
    }

    /// Runs the calls of one reply. One result for each, in their order.
    pub async fn run(
        &self,
        calls: &[ToolCall],
        desk: &Arc<Desk>,
        witness: &dyn Witness,
        stop: &Stop,
    ) -> Result<Vec<Finished>, Aborted> {
        let mut waiting: VecDeque<&ToolCall> = calls.iter().collect();
        let mut carried: Option<Read> = None;
        let mut results: Vec<Finished> = Vec::with_capacity(calls.len());
        let mut abort: Option<String> = None;
        while abort.is_none() && !stop.stopped() && (carried.is_some() || !waiting.is_empty()) {
            let mut wave: Vec<Read> = Vec::new();
            while let Some(next) = self.next(&mut carried, &mut waiting, desk, stop).await {
                if next.fits(&wave) {
                    wave.push(next);
                } else {
                    carried = Some(next);
                    break;
                }
            }
            let (finished, reason) = self.run_wave(wave, desk, witness, stop).await;
            results.extend(finished);
            abort = reason;
        }
        let begun = results.len();
        if let Some(read) = carried {
            let shown = read.shown.clone();
            results.push(self.unbegun(read.skipped().into(), shown.as_ref(), desk).await);
        }
        for call in waiting {
            results.push(self.unbegun(Finished::skipped(call).into(), None, desk).await);
        }
        let shortened = match self.reader {
            Reader::Model => desk.shop.spill.fit_turn(&mut results, desk.room.sizes()).await,
            Reader::Program => BTreeSet::new(),
        };
        if results.iter().enumerate().any(|(place, one)| shortened.contains(&place) && one.name == READ_FILE) {
            // A page that went to a file is not in the conversation: it may be asked for again.
            desk.history.forget_reads();
        }
        for (place, finished) in results.iter().enumerate() {
            // What was never begun, and what is not as the witness heard it.
            if place >= begun || shortened.contains(&place) {
                abort = abort.or(wave::tell(witness, finished).await);
            }
        }
        match abort {
            Some(reason) => Err(Aborted { reason, results }),
            None => Ok(results),
        }
    }

    /// The next call, read against the world as it is now. A call that was carried over is not shown to the hooks again.
    async fn next(
        &self,
        carried: &mut Option<Read>,
        waiting: &mut VecDeque<&ToolCall>,
        desk: &Arc<Desk>,
        stop: &Stop,
    ) -> Option<Read> {
        match carried.take() {
            Some(read) => Some(read.again(self, desk, stop)),
            None => Some(self.read(waiting.pop_front()?, desk, stop).await),
        }
    }
}
