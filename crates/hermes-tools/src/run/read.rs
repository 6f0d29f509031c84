//! Reading a call: which tool is meant, its arguments, the hooks, the types its tool declares, and what it would touch.
//!
//! A call through the loader is a call of the tool it names from here on, for everybody: hooks, gate, record and events.

use super::Hands;
use super::guardrail::Seen;
use super::hook::{CallView, OnFailure, Verdict};
use super::sanitise;
use super::{Finished, Status};
use crate::args::coerce;
use crate::desk::{Cx, Desk};
use crate::gate::Wanted;
use crate::loader::{self, Absence};
use crate::registry::Entry;
use crate::tool::{Prepared, ToolError};
use hermes_core::stop::Stop;
use hermes_types::{Object, ToolCall};
use serde_json::{Value, json};
use std::panic::AssertUnwindSafe;
use std::sync::Arc;

const UNREAD: &str = "the tool failed while it looked at its arguments; nothing was done";

const INTO_ITSELF: &str = "tool_call calls other tools; name the one you mean.";

const UNKNOWN: &str = "Unknown tool: ";

const NAMELESS: &str = "The call names no tool; nothing was done. Answer, or call a tool by its name.";

/// Whether this is the result of a call that named a tool nobody has.
pub fn names_nobody(result: &str) -> bool {
    [UNKNOWN, NAMELESS].iter().any(|told| result.starts_with(&format!("{{\"error\":\"{told}")))
}

/// A call that was read: ready to run, or with its result already.
pub(super) struct Read {
    pub(super) call: ToolCall,
    /// What the hooks saw; nothing when it did not come that far.
    pub(super) shown: Option<Object>,
    pub(super) state: State,
}

pub(super) enum State {
    Ready(Box<Candidate>),
    Ended(Finished),
    Abort(String),
}

/// A call that may run if the gate lets it.
pub(super) struct Candidate {
    pub(super) entry: Entry,
    /// After hooks and coercion.
    pub(super) arguments: Object,
    /// The same with sorted keys and no spaces: equal arguments have equal text.
    pub(super) canonical: String,
    pub(super) cx: Cx,
    pub(super) prepared: Prepared,
    /// A hook wants a person to say yes.
    pub(super) wanted: Option<Wanted>,
}

/// A call with the tool it is for.
struct Addressed {
    call: ToolCall,
    entry: Entry,
    arguments: Object,
}

impl Addressed {
    /// The call as if the model had called this tool by its own name.
    fn renamed(call: &ToolCall, entry: Entry, arguments: Object) -> Self {
        let written = Value::Object(arguments.clone()).to_string();
        let mut call = call.clone();
        call.function.name = entry.card.name.to_string();
        call.function.arguments = written.into();
        Self { call, entry, arguments }
    }
}

impl Candidate {
    pub(super) fn seen(&self) -> Seen<'_> {
        Seen { tool: &self.entry.card.name, arguments: &self.canonical, repeats: self.entry.card.repeats }
    }
}

fn canonical(arguments: &Object) -> String {
    hermes_types::Arguments::from(Value::Object(arguments.clone()).to_string().as_str()).canonical().to_owned()
}

impl Read {
    /// Whether it may run beside these.
    pub(super) fn fits(&self, wave: &[Self]) -> bool {
        let State::Ready(mine) = &self.state else { return true };
        wave.iter().all(|other| match &other.state {
            State::Ready(theirs) => !mine.prepared.effects.conflicts_with(&theirs.prepared.effects),
            State::Ended(_) => true,
            State::Abort(_) => false,
        })
    }

    /// The same call against the world as it is now: earlier calls may have moved it to another directory.
    pub(super) fn again(self, hands: &Hands, desk: &Arc<Desk>, stop: &Stop) -> Self {
        let Self { call, shown, state } = self;
        let state = match state {
            State::Ready(candidate) => {
                let Candidate { entry, arguments, wanted, .. } = *candidate;
                hands.prepare(&call, entry, arguments, wanted, desk, stop)
            }
            ended => ended,
        };
        Self { call, shown, state }
    }

    pub(super) fn skipped(self) -> Finished {
        match self.state {
            State::Ended(finished) => finished,
            State::Ready(_) | State::Abort(_) => Finished::skipped(&self.call),
        }
    }
}

impl Hands {
    pub(super) async fn read(&self, call: &ToolCall, desk: &Arc<Desk>, stop: &Stop) -> Read {
        let addressed = match self.addressed(call) {
            Err(_) if call.function.arguments.parse().is_ok() && self.awaited_tools(stop).await => self.addressed(call),
            addressed => addressed,
        };
        let Addressed { call, entry, arguments } = match addressed {
            Ok(addressed) => addressed,
            Err(told) => {
                let state = State::Ended(Finished::refused(call, Status::Failed, told.to_string()));
                return Read { call: call.clone(), shown: None, state };
            }
        };
        let (arguments, verdict) = self.show(&call, arguments, desk).await;
        let shown = Some(arguments.clone());
        let state = match verdict {
            Ok(wanted) => {
                let coerced = coerce(Value::Object(arguments), &entry.card.parameters);
                let tool = call.function.name.as_str();
                coerced.warnings.iter().for_each(|warning| tracing::warn!(tool, "{warning}"));
                self.prepare(&call, entry, coerced.arguments, wanted, desk, stop)
            }
            Err(message) => {
                let content = json!({ "error": message }).to_string();
                State::Ended(Finished::refused(&call, Status::Blocked, content))
            }
        };
        Read { call, shown, state }
    }

    /// Waits for tools that may join this conversation, where some are on their way. Whether there were any.
    async fn awaited_tools(&self, stop: &Stop) -> bool {
        match &self.loader {
            Some(loader) => self.registry.awaited(loader.settings().patience, stop).await,
            None => false,
        }
    }

    /// Whom a call is for, or what the model is told.
    fn addressed(&self, call: &ToolCall) -> Result<Addressed, Value> {
        let written = &call.function.arguments;
        let unreadable = |fault| json!({"error": "Invalid tool arguments", "message": format!("{fault}")});
        let name = call.function.name.as_str();
        match (&self.loader, name) {
            (Some(_), loader::TOOL_CALL) => {
                let loader::Inner { name, arguments } = loader::unwrapped(written)?;
                let entry = self.loaded(&name)?;
                Ok(Addressed::renamed(call, entry, arguments))
            }
            (Some(loader), loader::TOOL_SEARCH) => {
                let arguments = written.parse().map_err(unreadable)?;
                Ok(Addressed::renamed(call, loader.search(), arguments))
            }
            (Some(loader), loader::TOOL_DESCRIBE) => {
                Ok(Addressed::renamed(call, loader.search(), loader::described(written)?))
            }
            _ => {
                let entry = self.callable(name).ok_or_else(|| self.unknown(name))?;
                Ok(Addressed { call: call.clone(), entry, arguments: written.parse().map_err(unreadable)? })
            }
        }
    }

    /// The tool that a call through the loader names. Those that are offered can be called this way too.
    fn loaded(&self, name: &str) -> Result<Entry, Value> {
        let Some(loader) = self.loader() else { return Err(self.unknown(name)) };
        let spelled = || loader::spelled(name, &self.registry, &self.grant).and_then(|name| self.callable(&name));
        match name {
            loader::TOOL_SEARCH => Ok(loader.search()),
            loader::TOOL_CALL => Err(json!({ "error": INTO_ITSELF })),
            _ => self
                .callable(name)
                .or_else(spelled)
                .ok_or_else(|| Absence::of(name, &self.registry, &self.grant, loader.settings()).told(name)),
        }
    }

    fn callable(&self, name: &str) -> Option<Entry> {
        self.registry.find(name).filter(|entry| self.grant.allows(&entry.card))
    }

    /// What a model reads that called a tool nobody has: the name, and those there are. After a blank name the list would
    /// only invite it to guess on.
    fn unknown(&self, name: &str) -> Value {
        if name.trim().is_empty() {
            return json!({ "error": NAMELESS });
        }
        let there: Vec<String> = self.definitions().into_iter().map(|tool| tool.name).collect();
        match there.is_empty() {
            true => json!({"error": format!("{UNKNOWN}{name}")}),
            false => json!({"error": format!("{UNKNOWN}{name}"), "available_tools": there}),
        }
    }

    /// Asks every hook. The arguments after it, and whether the call may go on.
    async fn show(
        &self,
        call: &ToolCall,
        mut arguments: Object,
        desk: &Desk,
    ) -> (Object, Result<Option<Wanted>, String>) {
        let mut wanted = None;
        for hook in &self.hooks {
            let tool = call.function.name.as_str();
            let view = CallView { tool, arguments: &arguments, session: &desk.session, call: &call.id };
            let verdict = hook.before(view).await.unwrap_or_else(|reason| {
                tracing::warn!(hook = hook.name(), tool, %reason, "a hook failed");
                match hook.on_failure() {
                    OnFailure::Continue => Verdict::Continue,
                    OnFailure::Block => Verdict::Block(format!("the hook {} failed: {reason}", hook.name())),
                }
            });
            match verdict {
                Verdict::Continue => {}
                Verdict::Rewrite(rewritten) => arguments = rewritten,
                Verdict::Approve { message, rule_key } => {
                    wanted = wanted.or_else(|| Some(Wanted::new(tool, &message, rule_key.as_deref())))
                }
                Verdict::Block(message) => return (arguments, Err(message)),
            }
        }
        (arguments, Ok(wanted))
    }

    /// Lets every hook see the end of a call; a text of theirs replaces the result.
    pub(super) async fn conclude(&self, mut finished: Finished, shown: Option<&Object>, desk: &Desk) -> Finished {
        let Some(arguments) = shown else { return finished };
        let mut replaced = None;
        for hook in &self.hooks {
            let view = CallView { tool: &finished.name, arguments, session: &desk.session, call: &finished.call };
            let text = hook.after(view, &finished).await;
            replaced = replaced.or(text);
        }
        if let Some(text) = replaced {
            finished.content = text.into();
        }
        finished
    }

    fn prepare(
        &self,
        call: &ToolCall,
        entry: Entry,
        arguments: Object,
        wanted: Option<Wanted>,
        desk: &Arc<Desk>,
        stop: &Stop,
    ) -> State {
        let cx = Cx { desk: desk.clone(), hands: self.clone(), call: call.id.clone(), stop: stop.child() };
        let tool = entry.tool.clone();
        let prepared = std::panic::catch_unwind(AssertUnwindSafe(|| tool.prepare(arguments.clone(), &cx)));
        let prepared = prepared.unwrap_or_else(|_| Err(ToolError::told(sanitise::error(UNREAD))));
        match prepared {
            Ok(prepared) => {
                let canonical = canonical(&arguments);
                State::Ready(Box::new(Candidate { entry, arguments, canonical, cx, prepared, wanted }))
            }
            Err(ToolError::Tell(content) | ToolError::Unknown(content)) => {
                State::Ended(Finished::refused(call, Status::Failed, content.to_string()))
            }
            Err(ToolError::Abort(reason)) => State::Abort(reason),
        }
    }
}
