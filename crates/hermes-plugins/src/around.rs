//! From what happens in a conversation to the events of plugins and shell hooks: one place that builds what they are told
//! and reads what they answer.
//!
//! An [`Ear`] is somebody who listens: one plugin, or one shell hook. [`Around`] stands between it and the hands, the loop
//! and the person. What a failure means is written down for each power in [`Power`](crate::occasion::Power).

use crate::dispatch::status;
use crate::occasion::Occasion;
use futures_util::future::BoxFuture;
use hermes_core::turn::{Opening, Outcome, Sending, TurnHook};
use hermes_tools::delegate;
use hermes_tools::face::{ApprovalQuestion, Clarification, Face, Reply};
use hermes_tools::gate::{Answer, Channel};
use hermes_tools::run::{CallView, Finished, Hook, OnFailure, Verdict};
use hermes_types::{CallId, Message, Object, OutcomeKind, SessionId, ToolStatus, clip};
use serde_json::{Value, json};
use std::sync::Arc;

/// Results longer than this are told by their beginning, and nobody may put another text in their place.
const LONGEST_RESULT: usize = 256 * 1024;
const LONGEST_MESSAGE: usize = 4_000;
/// As much as a hook may add to a question.
const LONGEST_CONTEXT: usize = 10_000;
const TERMINAL: &str = "terminal";

/// What an ear is told.
pub(crate) struct Told<'a> {
    pub(crate) occasion: Occasion,
    /// The tool it is about, where it is about one.
    pub(crate) tool: Option<&'a str>,
    pub(crate) payload: Object,
}

/// Somebody who listens.
pub(crate) trait Ear: Send + Sync {
    fn name(&self) -> &str;

    /// Whether it may want to hear of this; a cheap no spares building what it would be told.
    fn hears(&self, occasion: Occasion) -> bool;

    /// Whether it made this call itself and need not be asked about it.
    fn made(&self, _call: &CallId) -> bool {
        false
    }

    /// Its answer; nothing when it has none.
    fn ask<'a>(&'a self, told: Told<'a>) -> BoxFuture<'a, Result<Option<Value>, String>>;

    /// What a guard of it that fails means for this tool.
    fn when_guarding_fails(&self, tool: &str) -> OnFailure;

    /// Tells it something nobody waits for an answer to.
    fn tell<'a>(&'a self, told: Told<'a>) -> BoxFuture<'a, ()>;
}

/// What does not change in a conversation.
#[derive(Debug, Clone)]
pub(crate) struct Scene {
    pub(crate) platform: String,
    pub(crate) model: String,
}

/// One ear, placed around calls and turns.
pub(crate) struct Around {
    pub(crate) ear: Arc<dyn Ear>,
    pub(crate) scene: Scene,
}

impl Around {
    async fn watch(&self, occasion: Occasion, tool: Option<&str>, payload: impl FnOnce() -> Object) {
        if self.ear.hears(occasion) {
            self.ear.tell(Told { occasion, tool, payload: payload() }).await;
        }
    }

    /// The text it wants in the place of another. A failure changes nothing.
    async fn rewrite(&self, occasion: Occasion, tool: &str, payload: Object) -> Option<String> {
        let told = Told { occasion, tool: Some(tool), payload };
        match self.ear.ask(told).await {
            Ok(answer) => answer.and_then(|answer| answer.as_str().map(str::to_owned)),
            Err(reason) => {
                tracing::warn!(hook = self.ear.name(), event = occasion.name(), %reason, "a hook failed; nothing is changed");
                None
            }
        }
    }

    fn of_turn(&self, session: &SessionId) -> Object {
        object(json!({
            "session_id": session, "task_id": session, "model": self.scene.model, "platform": self.scene.platform,
        }))
    }

    /// The output of a command, as the hook would have it. The rest of the result stays.
    async fn terminal_output(&self, call: CallView<'_>, result: &str) -> Option<String> {
        let occasion = Occasion::TransformTerminalOutput;
        if call.tool != TERMINAL || !self.ear.hears(occasion) {
            return None;
        }
        let Ok(Value::Object(mut result)) = serde_json::from_str::<Value>(result) else { return None };
        let payload = object(json!({
            "command": call.arguments.get("command"),
            "output": result.get("output")?,
            "returncode": result.get("exit_code"),
            "task_id": call.session,
            "env_type": "local",
        }));
        let output = self.rewrite(occasion, call.tool, payload).await?;
        result.insert("output".to_owned(), Value::String(output));
        Some(Value::Object(result).to_string())
    }

    async fn tell_of_subagents(&self, call: CallView<'_>, finished: &Finished) {
        if call.tool != delegate::NAME || !self.ear.hears(Occasion::SubagentStop) {
            return;
        }
        let Ok(result) = serde_json::from_str::<Value>(&finished.content.text()) else { return };
        for report in result.get("results").and_then(Value::as_array).into_iter().flatten() {
            let milliseconds = report.get("duration_seconds").and_then(Value::as_f64).unwrap_or_default() * 1_000.0;
            let payload = object(json!({
                "parent_session_id": call.session,
                "child_role": null,
                "child_summary": report.get("summary"),
                "child_status": report.get("status"),
                "duration_ms": milliseconds.round(),
            }));
            self.ear.tell(Told { occasion: Occasion::SubagentStop, tool: None, payload }).await;
        }
    }
}

impl Hook for Around {
    fn name(&self) -> &str {
        self.ear.name()
    }

    /// Whatever was not caught below is a guard that fails.
    fn on_failure(&self) -> OnFailure {
        OnFailure::Block
    }

    fn before<'a>(&'a self, call: CallView<'a>) -> BoxFuture<'a, Result<Verdict, String>> {
        Box::pin(async move {
            let occasion = Occasion::PreToolCall;
            if !self.ear.hears(occasion) || self.ear.made(call.call) {
                return Ok(Verdict::Continue);
            }
            let told = Told { occasion, tool: Some(call.tool), payload: of_call(call) };
            let verdict = self.ear.ask(told).await.and_then(|answer| verdict(answer, self.ear.name()));
            verdict.or_else(|reason| match self.ear.when_guarding_fails(call.tool) {
                OnFailure::Block => Err(reason),
                OnFailure::Continue => {
                    tracing::warn!(hook = self.ear.name(), tool = call.tool, %reason, "a hook failed; the call goes on");
                    Ok(Verdict::Continue)
                }
            })
        })
    }

    fn after<'a>(&'a self, call: CallView<'a>, finished: &'a Finished) -> BoxFuture<'a, Option<String>> {
        Box::pin(async move {
            if self.ear.made(call.call) {
                return None;
            }
            let text = finished.content.text();
            let told = |text: &str| ended(call, finished, text);
            self.watch(Occasion::PostToolCall, Some(call.tool), || told(&text)).await;
            self.tell_of_subagents(call, finished).await;
            if text.len() > LONGEST_RESULT {
                return None;
            }
            let output = self.terminal_output(call, &text).await;
            let seen = output.as_deref().unwrap_or(&text);
            let result = match self.ear.hears(Occasion::TransformToolResult) {
                true => self.rewrite(Occasion::TransformToolResult, call.tool, told(seen)).await,
                false => None,
            };
            result.or(output)
        })
    }
}

impl TurnHook for Around {
    fn begins<'a>(&'a self, opening: Opening<'a>) -> BoxFuture<'a, Option<String>> {
        Box::pin(async move {
            if opening.is_first {
                self.watch(Occasion::SessionStart, None, || self.of_turn(opening.session)).await;
            }
            let occasion = Occasion::PreLlmCall;
            if !self.ear.hears(occasion) {
                return None;
            }
            let mut payload = self.of_turn(opening.session);
            payload.insert("user_message".to_owned(), opening.question.into());
            payload.insert("is_first_turn".to_owned(), opening.is_first.into());
            match self.ear.ask(Told { occasion, tool: None, payload }).await {
                Ok(answer) => context(&answer?),
                Err(reason) => {
                    tracing::warn!(hook = self.ear.name(), %reason, "a hook failed; it adds nothing to the question");
                    None
                }
            }
        })
    }

    fn sends<'a>(&'a self, sending: Sending<'a>) -> BoxFuture<'a, ()> {
        let payload = move || {
            object(json!({
                "parent_session_id": sending.parent,
                "child_session_id": sending.child,
                "child_role": sending.role,
                "child_goal": clip(sending.goal, LONGEST_RESULT),
            }))
        };
        Box::pin(self.watch(Occasion::SubagentStart, None, payload))
    }

    fn ended<'a>(&'a self, history: &'a [Arc<Message>], outcome: &'a Outcome) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            if let Some(answer) = outcome.text.as_deref().filter(|_| outcome.completed()) {
                let payload = || {
                    let mut payload = self.of_turn(&outcome.session);
                    let asked = history.first().map(|message| message.text()).unwrap_or_default();
                    payload.insert("user_message".to_owned(), clip(&asked, LONGEST_RESULT).into());
                    payload.insert("assistant_response".to_owned(), clip(answer, LONGEST_RESULT).into());
                    payload
                };
                self.watch(Occasion::PostLlmCall, None, payload).await;
            }
            let payload = || {
                let mut payload = self.of_turn(&outcome.session);
                payload.insert("completed".to_owned(), outcome.completed().into());
                let is_interrupted = outcome.kind() == OutcomeKind::Interrupted;
                payload.insert("interrupted".to_owned(), is_interrupted.into());
                payload
            };
            self.watch(Occasion::SessionEnd, None, payload).await;
        })
    }
}

/// The person, with ears around: those who watch hear of every question and its answer.
pub(crate) struct Overheard {
    pub(crate) face: Arc<dyn Face>,
    pub(crate) ears: Vec<Arc<dyn Ear>>,
}

impl Overheard {
    async fn tell(&self, occasion: Occasion, payload: &Object) {
        for ear in self.ears.iter().filter(|ear| ear.hears(occasion)) {
            ear.tell(Told { occasion, tool: None, payload: payload.clone() }).await;
        }
    }
}

impl Face for Overheard {
    fn channel(&self) -> Channel {
        self.face.channel()
    }

    fn approve(&self, question: ApprovalQuestion) -> BoxFuture<'_, Answer> {
        let mut payload = object(json!({
            "command": clip(&question.what, LONGEST_RESULT),
            "description": question.reasons.join("; "),
            "pattern_key": question.reasons.first(),
            "pattern_keys": question.reasons,
            "session_key": question.session,
            "tool_name": question.tool,
            "surface": "cli",
        }));
        Box::pin(async move {
            self.tell(Occasion::PreApproval, &payload).await;
            let answer = self.face.approve(question).await;
            let choice = match answer {
                Answer::Once => "once",
                Answer::Session => "session",
                Answer::Always => "always",
                Answer::Deny => "deny",
                Answer::TimedOut => "timeout",
            };
            payload.insert("choice".to_owned(), choice.into());
            self.tell(Occasion::PostApproval, &payload).await;
            answer
        })
    }

    fn clarify(&self, question: Clarification) -> BoxFuture<'_, Reply> {
        self.face.clarify(question)
    }

    fn password(&self, reason: String) -> BoxFuture<'_, Option<String>> {
        self.face.password(reason)
    }

    fn tell(&self, notice: String) {
        self.face.tell(notice);
    }
}

fn of_call(call: CallView<'_>) -> Object {
    object(json!({
        "tool_name": call.tool,
        "args": call.arguments,
        "session_id": call.session,
        "task_id": call.session,
        "tool_call_id": call.call,
    }))
}

fn ended(call: CallView<'_>, finished: &Finished, text: &str) -> Object {
    let mut payload = of_call(call);
    payload.insert("result".to_owned(), clip(text, LONGEST_RESULT).into());
    let milliseconds = u64::try_from(finished.took.as_millis()).unwrap_or(u64::MAX);
    payload.insert("duration_ms".to_owned(), milliseconds.into());
    payload.insert("status".to_owned(), status(finished.status).into());
    if finished.status != ToolStatus::Done {
        let error = serde_json::from_str::<Value>(text).ok().and_then(|result| result.get("error").cloned());
        payload.insert("error_type".to_owned(), status(finished.status).into());
        payload.insert("error_message".to_owned(), error.unwrap_or(Value::Null));
    }
    payload
}

/// What an answer to `pre_tool_call` wants. Words that nobody knows are a failure, never a yes.
pub(crate) fn verdict(answer: Option<Value>, hook: &str) -> Result<Verdict, String> {
    let answer = match answer {
        None | Some(Value::Null) => return Ok(Verdict::Continue),
        Some(Value::Object(answer)) => answer,
        Some(other) => return Err(format!("it answered {}, which is no verdict", clip(&other.to_string(), 80))),
    };
    let word = |field: &str| answer.get(field).and_then(Value::as_str).filter(|text| !text.is_empty());
    let message = |first: &str, second: &str| {
        let said = word(first).or_else(|| word(second)).map(|said| clip(said, LONGEST_MESSAGE));
        said.unwrap_or_else(|| format!("Blocked by the hook {hook}."))
    };
    // The shape of other programs: a decision that is no refusal is no opinion.
    if let Some("block" | "deny") = word("decision") {
        return Ok(Verdict::Block(message("reason", "message")));
    }
    match answer.get("action").map(Value::as_str) {
        None => Ok(Verdict::Continue),
        Some(Some("allow" | "continue")) => Ok(Verdict::Continue),
        Some(Some("block")) => Ok(Verdict::Block(message("message", "reason"))),
        Some(Some("approve")) => {
            let rule_key = word("rule_key").map(str::to_owned);
            Ok(Verdict::Approve { message: message("message", "reason"), rule_key })
        }
        Some(Some("rewrite")) => match answer.get("args") {
            Some(Value::Object(arguments)) => Ok(Verdict::Rewrite(arguments.clone())),
            _ => Err("it wants to rewrite the call and gives no `args`".to_owned()),
        },
        Some(action) => {
            Err(format!("it knows no better action than {action:?}; block, approve, rewrite and allow are known"))
        }
    }
}

/// What an answer to `pre_llm_call` adds.
fn context(answer: &Value) -> Option<String> {
    let text = match answer {
        Value::String(text) => text,
        other => other.get("context")?.as_str()?,
    };
    (!text.trim().is_empty()).then(|| clip(text, LONGEST_CONTEXT))
}

fn object(value: Value) -> Object {
    match value {
        Value::Object(object) => object,
        _ => Object::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_understood_lets_a_call_go_on() {
        let block = |message: &str| Ok(Verdict::Block(message.to_owned()));
        for (answer, expected) in [
            (json!(null), Ok(Verdict::Continue)),
            (json!({}), Ok(Verdict::Continue)),
            (json!({"action": "allow"}), Ok(Verdict::Continue)),
            (json!({"decision": "approve"}), Ok(Verdict::Continue)),
            (json!({"action": "block", "message": "no"}), block("no")),
            (json!({"action": "block", "message": 7}), block("Blocked by the hook h.")),
            (json!({"decision": "block", "reason": "why"}), block("why")),
            (
                json!({"action": "approve", "message": "sure?"}),
                Ok(Verdict::Approve { message: "sure?".into(), rule_key: None }),
            ),
            (json!({"action": "rewrite", "args": {"a": 1}}), Ok(Verdict::Rewrite(object(json!({"a": 1}))))),
        ] {
            assert_eq!(verdict(Some(answer.clone()), "h"), expected, "{answer}");
        }
        for answer in [json!("block"), json!({"action": "blok"}), json!({"action": 7}), json!({"action": "rewrite"})] {
            assert!(verdict(Some(answer.clone()), "h").is_err(), "{answer}");
        }
    }
}
