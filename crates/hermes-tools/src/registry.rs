//! All tools by name. Who registers first keeps the name: another toolset replaces a tool only when it says so and may,
//! or when both belong to MCP servers. Definitions come sorted, with sorted keys, so their bytes do not move.

use crate::args::sanitised;
use crate::arrivals::Arrivals;
pub use crate::arrivals::Arriving;
use crate::tool::{AnyTool, Availability, Card, Check, Look, Tool};
use hermes_core::clock::Clock;
use hermes_core::stop::Stop;
use hermes_types::ToolDefinition;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Arc, Mutex, PoisonError, RwLock, Weak};
use std::time::Duration;

const MCP: &str = "mcp-";
/// An answer of a check is good for this long.
const FRESH: Duration = Duration::from_secs(30);
/// A check that failed this soon after it succeeded is taken for a hiccup.
const GRACE: Duration = Duration::from_secs(60);

/// What happens when the name is taken by another toolset.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Replace {
    #[default]
    Refuse,
    /// An explicit wish; whoever registers for a plugin asks the owner's settings first.
    Override,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "the tool {name} of the toolset {newcomer} would shadow the one of {owner}; it was not registered. \
     Give it another name, or let it override on purpose"
)]
pub struct Collision {
    pub name: String,
    pub owner: String,
    pub newcomer: String,
}

#[derive(Clone)]
pub(crate) struct Entry {
    pub(crate) card: Arc<Card>,
    pub(crate) tool: Arc<dyn AnyTool>,
    check: Option<Arc<Check>>,
}

impl Entry {
    /// A tool that is in no registry, or not yet.
    pub(crate) fn of<T: Tool>(tool: T) -> Self {
        Self { card: Arc::new(tool.card()), check: tool.check(), tool: Arc::new(tool) }
    }
}

/// One tool as people see it.
#[derive(Debug, Clone, PartialEq)]
pub struct Described {
    pub card: Arc<Card>,
    pub availability: Availability,
}

pub struct Registry {
    clock: Arc<dyn Clock>,
    state: RwLock<State>,
    answers: Mutex<HashMap<usize, Answer>>,
    /// What conversations were offered, as long as one of them holds it.
    offered: Mutex<Vec<Weak<[ToolDefinition]>>>,
    arrivals: Arrivals,
}

#[derive(Default)]
struct State {
    tools: BTreeMap<String, Entry>,
    aliases: BTreeMap<String, String>,
    generation: u64,
}

/// What a check said last. The check is held so that its address is not given to another one.
struct Answer {
    _check: Arc<Check>,
    availability: Availability,
    asked: Duration,
    succeeded: Option<Duration>,
}

impl Registry {
    pub fn new(clock: Arc<dyn Clock>) -> Self {
        let (state, answers, offered) = (RwLock::default(), Mutex::default(), Mutex::default());
        Self { clock, state, answers, offered, arrivals: Arrivals::default() }
    }

    /// Announces tools that are on their way, as long as what it returns lives.
    pub fn announce(&self) -> Arriving {
        self.arrivals.announce()
    }

    /// Waits for tools that are on their way, but not longer than this. Whether there was anything to wait for.
    pub(crate) async fn awaited(&self, patience: Duration, stop: &Stop) -> bool {
        self.arrivals.awaited(patience, &*self.clock, stop).await
    }

    pub fn register<T: Tool>(&self, tool: T, replace: Replace) -> Result<(), Collision> {
        let entry = Entry::of(tool);
        let card = entry.card.clone();
        let mut state = self.state.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(owner) = state.tools.get(card.name.as_ref()).map(|entry| entry.card.toolset.clone()) {
            let (name, newcomer) = (card.name.as_ref(), card.toolset.as_ref());
            match () {
                () if owner == newcomer => {}
                () if owner.starts_with(MCP) && newcomer.starts_with(MCP) => {
                    tracing::debug!(name, %owner, newcomer, "an MCP server replaces the tool of another");
                }
                () if replace == Replace::Override => tracing::info!(name, %owner, newcomer, "a tool is overridden"),
                () => {
                    let collision = Collision { name: name.into(), owner: owner.into(), newcomer: newcomer.into() };
                    tracing::error!("{collision}");
                    return Err(collision);
                }
            }
        }
        state.tools.insert(card.name.to_string(), entry);
        state.generation += 1;
        Ok(())
    }

    /// Takes a tool away; the aliases of a toolset go with its last tool.
    pub fn deregister(&self, name: &str) {
        let mut state = self.state.write().unwrap_or_else(PoisonError::into_inner);
        let Some(gone) = state.tools.remove(name) else { return };
        let toolset = &gone.card.toolset;
        if !state.tools.values().any(|entry| entry.card.toolset == *toolset) {
            state.aliases.retain(|_, target| target != toolset);
        }
        state.generation += 1;
    }

    /// Another name for a toolset, such as a server's for `mcp-<server>`.
    pub fn alias(&self, alias: &str, toolset: &str) {
        let mut state = self.state.write().unwrap_or_else(PoisonError::into_inner);
        let before = state.aliases.insert(alias.to_owned(), toolset.to_owned());
        if let Some(before) = before.filter(|before| before != toolset) {
            tracing::warn!(alias, before, toolset, "an alias leads to another toolset now");
        }
        state.generation += 1;
    }

    pub fn aliased(&self, alias: &str) -> Option<String> {
        self.state.read().unwrap_or_else(PoisonError::into_inner).aliases.get(alias).cloned()
    }

    /// Changes whenever a tool, or an alias, comes or goes.
    pub fn generation(&self) -> u64 {
        self.state.read().unwrap_or_else(PoisonError::into_inner).generation
    }

    pub fn has(&self, name: &str) -> bool {
        self.find(name).is_some()
    }

    pub(crate) fn find(&self, name: &str) -> Option<Entry> {
        self.state.read().unwrap_or_else(PoisonError::into_inner).tools.get(name).cloned()
    }

    /// The tools that registered for a toolset.
    pub fn tools_of(&self, toolset: &str) -> BTreeSet<String> {
        let entries = self.entries();
        entries.iter().filter(|entry| entry.card.toolset == toolset).map(|entry| entry.card.name.to_string()).collect()
    }

    /// Every toolset that has a tool.
    pub fn toolsets(&self) -> BTreeSet<String> {
        self.entries().iter().map(|entry| entry.card.toolset.to_string()).collect()
    }

    /// Who is there, by name. Nobody is asked how they are.
    pub(crate) fn cards(&self) -> Vec<Arc<Card>> {
        self.entries().into_iter().map(|entry| entry.card).collect()
    }

    /// Every tool with its state, by name.
    pub fn describe(&self) -> Vec<Described> {
        let entries = self.entries();
        entries.into_iter().map(|entry| Described { availability: self.ask(&entry), card: entry.card }).collect()
    }

    /// What the model sees of these tools: sorted, without the unknown and the unavailable ones.
    pub fn definitions(&self, names: &BTreeSet<String>) -> Vec<ToolDefinition> {
        let entries: Vec<Entry> = names.iter().filter_map(|name| self.find(name)).collect();
        let entries: Vec<Entry> = entries.into_iter().filter(|entry| self.ask(entry) == Availability::Ready).collect();
        let offered = entries.iter().map(|entry| entry.card.name.to_string()).collect();
        entries.into_iter().map(|entry| definition(&entry, &offered)).collect()
    }

    /// A list of definitions for a conversation. Those with the same tools share one: schemas are larger than most of
    /// what an idle conversation holds.
    pub fn shared(&self, defined: Vec<ToolDefinition>) -> Arc<[ToolDefinition]> {
        let mut offered = self.offered.lock().unwrap_or_else(PoisonError::into_inner);
        offered.retain(|known| known.strong_count() > 0);
        if let Some(same) = offered.iter().filter_map(Weak::upgrade).find(|known| **known == *defined) {
            return same;
        }
        let new: Arc<[ToolDefinition]> = defined.into();
        offered.push(Arc::downgrade(&new));
        new
    }

    /// Asks every check anew at the next opportunity, after the settings of tools changed.
    pub fn forget_checks(&self) {
        self.answers.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }

    fn entries(&self) -> Vec<Entry> {
        self.state.read().unwrap_or_else(PoisonError::into_inner).tools.values().cloned().collect()
    }

    fn ask(&self, entry: &Entry) -> Availability {
        let Some(check) = &entry.check else { return Availability::Ready };
        let key = Arc::as_ptr(check).addr();
        let now = self.clock.elapsed();
        let last = {
            let answers = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
            answers.get(&key).map(|answer| (answer.availability.clone(), answer.asked, answer.succeeded))
        };
        if let Some((availability, asked, _)) = &last
            && now.saturating_sub(*asked) < FRESH
        {
            return availability.clone();
        }
        // Without the lock: a probe may take its time.
        let availability = check.ask();
        let before = last.and_then(|(_, _, succeeded)| succeeded);
        let hiccup = availability != Availability::Ready && before.is_some_and(|then| now.saturating_sub(then) < GRACE);
        if hiccup {
            return Availability::Ready;
        }
        let succeeded = if availability == Availability::Ready { Some(now) } else { before };
        let answer = Answer { _check: check.clone(), availability: availability.clone(), asked: now, succeeded };
        self.answers.lock().unwrap_or_else(PoisonError::into_inner).insert(key, answer);
        availability
    }
}

fn definition(entry: &Entry, offered: &BTreeSet<String>) -> ToolDefinition {
    let card = &entry.card;
    let mut look = Look { description: card.description.clone(), parameters: card.parameters.clone() };
    let adapted = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| entry.tool.adapt(&mut look, offered)));
    if adapted.is_err() {
        tracing::warn!(tool = %card.name, "the tool could not adapt its description; it is offered as it is");
        look = Look { description: card.description.clone(), parameters: card.parameters.clone() };
    }
    ToolDefinition {
        name: card.name.to_string(),
        description: look.description,
        parameters: sorted(sanitised(look.parameters)),
    }
}

/// The same JSON with the keys of every object in order.
fn sorted(value: Value) -> Value {
    match value {
        Value::Object(object) => {
            let sorted_entries: BTreeMap<String, Value> =
                object.into_iter().map(|(key, value)| (key, sorted(value))).collect();
            Value::Object(sorted_entries.into_iter().collect())
        }
        Value::Array(items) => Value::Array(items.into_iter().map(sorted).collect()),
        other => other,
    }
}
