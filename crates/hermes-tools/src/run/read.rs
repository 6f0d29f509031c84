//! Reading a call: its arguments, the hooks, the types its tool declares, and what it would touch.

use super::Hands;
use super::finish::{Finished, Status};
use super::guardrail::Seen;
use super::hook::{CallView, OnFailure, Verdict};
use crate::args::coerce;
use crate::desk::{Cx, Desk};
use crate::registry::Entry;
use crate::tool::{Prepared, ToolError};
use hermes_core::stop::Stop;
use hermes_types::{Object, ToolCall};
use serde_json::{Value, json};
use std::sync::Arc;

/// A call that was read: ready to run, or with its result already.
pub(super) struct Read {
    pub(super) call: ToolCall,
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
    pub(super) cx: Cx,
    pub(super) prepared: Prepared,
    /// A hook wants a person to say yes to this.
    pub(super) consent: Option<(String, Option<String>)>,
}

impl Candidate {
    pub(super) fn seen<'a>(&'a self, canonical: &'a str) -> Seen<'a> {
        Seen { tool: &self.entry.card.name, arguments: canonical, repeats: self.entry.card.repeats }
    }

    pub(super) fn canonical(&self) -> String {
        canonical(&self.arguments)
    }
}

/// Sorted keys, no spaces: equal arguments have equal text.
fn canonical(arguments: &Object) -> String {
    hermes_types::Arguments::from(Value::Object(arguments.clone()).to_string().as_str()).canonical().into_owned()
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
    pub(super) fn again(self, desk: &Arc<Desk>, stop: &Stop) -> Self {
        let Self { call, state } = self;
        let state = match state {
            State::Ready(candidate) => {
                let Candidate { entry, arguments, consent, .. } = *candidate;
                prepare(&call, entry, arguments, consent, desk, stop)
            }
            ended => ended,
        };
        Self { call, state }
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
        let state = match self.open(call, desk).await {
            Ok((entry, arguments, consent)) => prepare(call, entry, arguments, consent, desk, stop),
            Err(finished) => State::Ended(finished),
        };
        Read { call: call.clone(), state }
    }

    /// Parses, asks the hooks and coerces.
    async fn open(
        &self,
        call: &ToolCall,
        desk: &Arc<Desk>,
    ) -> Result<(Entry, Object, Option<(String, Option<String>)>), Finished> {
        let name = call.function.name.as_str();
        let failed = |content: Value| Finished::refused(call, Status::Failed, content.to_string());
        let entry = self.registry.find(name).filter(|_| self.offered.contains(name));
        let Some(entry) = entry else { return Err(failed(json!({"error": format!("Unknown tool: {name}")}))) };
        let mut arguments = call
            .function
            .arguments
            .parse()
            .map_err(|fault| failed(json!({"error": "Invalid tool arguments", "message": fault.to_string()})))?;
        let mut consent = None;
        for hook in &self.hooks {
            let view = CallView { tool: name, arguments: &arguments, session: &desk.session, call: &call.id };
            let verdict = match hook.before(view).await {
                Ok(verdict) => verdict,
                Err(reason) => {
                    tracing::warn!(hook = hook.name(), tool = name, %reason, "a hook failed");
                    match hook.on_failure() {
                        OnFailure::Continue => Verdict::Continue,
                        OnFailure::Block => Verdict::Block(format!("the hook {} failed: {reason}", hook.name())),
                    }
                }
            };
            match verdict {
                Verdict::Continue => {}
                Verdict::Rewrite(rewritten) => arguments = rewritten,
                Verdict::Approve { message, rule_key } => consent = consent.or(Some((message, rule_key))),
                Verdict::Block(message) => {
                    let content = json!({ "error": message }).to_string();
                    return Err(Finished::refused(call, Status::Blocked, content));
                }
            }
        }
        let coerced = coerce(Value::Object(arguments), &entry.card.parameters);
        coerced.warnings.iter().for_each(|warning| tracing::warn!(tool = name, "{warning}"));
        Ok((entry, coerced.arguments, consent))
    }
}

fn prepare(
    call: &ToolCall,
    entry: Entry,
    arguments: Object,
    consent: Option<(String, Option<String>)>,
    desk: &Arc<Desk>,
    stop: &Stop,
) -> State {
    let cx = Cx { desk: desk.clone(), call: call.id.clone(), stop: stop.child() };
    match entry.tool.clone().prepare(arguments.clone(), &cx) {
        Ok(prepared) => State::Ready(Box::new(Candidate { entry, arguments, cx, prepared, consent })),
        Err(ToolError::Tell(content)) => State::Ended(Finished::refused(call, Status::Failed, content.to_string())),
        Err(ToolError::Abort(reason)) => State::Abort(reason),
    }
}
