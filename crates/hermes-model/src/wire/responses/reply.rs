//! From the items of an answer to one reply: what was said, what was thought, what is to be called, and why it ended.

use super::slots::{Kind, Slot, Slots};
use super::{Backend, short_hash, text_at};
use crate::wire::{End, NAMELESS};
use hermes_types::{
    Arguments, Assistant, CallId, Content, Fault, FaultKind, Object, Reply, StopReason, ToolCall, Usage, Usd,
};
use serde_json::{Value, json};

/// How the server ended its answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ending {
    Completed,
    Incomplete,
    /// Incomplete, because a filter withheld the rest.
    Filtered,
}

/// Everything the stream brought.
#[derive(Debug)]
pub(super) struct Gathered {
    backend: Backend,
    issuer: String,
    pub(super) slots: Slots,
    pub(super) ending: Option<Ending>,
    /// Some event could not be read.
    pub(super) garbled: bool,
    id: Option<String>,
    model: Option<String>,
    usage: Option<Usage>,
}

impl Gathered {
    pub(super) fn new(backend: Backend, issuer: String) -> Self {
        Self {
            backend,
            issuer,
            slots: Slots::default(),
            ending: None,
            garbled: false,
            id: None,
            model: None,
            usage: None,
        }
    }

    /// Takes over what a response object says about the whole.
    pub(super) fn describe(&mut self, response: &Value) {
        let keep = |known: &mut Option<String>, key: &str| {
            if let Some(text) = text_at(response, key) {
                *known = Some(text.to_owned());
            }
        };
        keep(&mut self.id, "id");
        keep(&mut self.model, "model");
        if let Some(counts @ Value::Object(_)) = response.get("usage") {
            self.usage = Some(usage(counts));
        }
    }

    pub(super) fn reply(self, end: End) -> Result<Reply, Fault> {
        let mut said = Said::default();
        for slot in self.slots.into_vec() {
            match slot.kind {
                Kind::Message => said.message(&slot),
                Kind::Reasoning => said.reasoning(&slot, &self.issuer),
                Kind::Call | Kind::CustomCall => said.call(&slot, self.garbled),
                Kind::Foreign => {}
            }
        }
        if self.backend == Backend::Xai {
            said.promote_hidden_answer();
        }
        let leaked = said.clear_leaked_call();
        if !leaked && said.has_nothing(self.ending) {
            return Err(nothing(end, self.ending, self.garbled));
        }
        let stop = if leaked { StopReason::Incomplete } else { said.stop_reason(self.ending, self.backend) };
        Ok(Reply {
            dropped: std::mem::take(&mut said.dropped),
            message: said.into_message(stop),
            usage: self.usage,
            model: self.model,
            id: self.id,
            cut_off: self.ending.is_none(),
        })
    }
}

/// Why there is no answer.
fn nothing(end: End, ending: Option<Ending>, garbled: bool) -> Fault {
    let (kind, message) = match (garbled, ending, end) {
        (_, None, End::Cut) => (FaultKind::Timeout, "the connection broke before an answer came"),
        (true, ..) => (FaultKind::Malformed, "the server's answer could not be read"),
        (false, Some(_), _) => (FaultKind::EmptyStream, "the provider ended its answer without saying anything"),
        (false, None, End::Whole) => (FaultKind::EmptyStream, "the server closed the stream before an answer came"),
    };
    Fault::new(kind, message)
}

#[derive(Debug, Default)]
struct Said {
    texts: Vec<String>,
    refusals: Vec<String>,
    /// Summaries, open reasoning, and words said on the way.
    thoughts: Vec<String>,
    calls: Vec<ToolCall>,
    dropped: Vec<String>,
    reasoning_items: Vec<Value>,
    message_items: Vec<Value>,
    /// Some item was still being written.
    unfinished: bool,
    /// The model commented on its way.
    commented: bool,
}

impl Said {
    fn message(&mut self, slot: &Slot) {
        let text = slot.said();
        if !slot.refusal().is_empty() {
            self.refusals.push(slot.refusal());
        }
        self.unfinished |= slot.is_unfinished();
        if text.is_empty() {
            return;
        }
        self.message_items.push(message_item(slot, &text));
        if slot.is_aside() {
            self.commented = true;
            self.thoughts.push(text);
        } else {
            self.texts.push(text);
        }
    }

    fn reasoning(&mut self, slot: &Slot, issuer: &str) {
        self.unfinished |= slot.is_unfinished();
        let thought = slot.thought();
        if !thought.is_empty() {
            self.thoughts.push(thought);
        }
        // An item under a temporary id was never stored and cannot be read again.
        let is_temporary = slot.field("id").is_some_and(|id| id.starts_with("rs_tmp_"));
        let Some(encrypted) = slot.field("encrypted_content").filter(|_| !is_temporary) else { return };
        let summary = slot.done.as_ref().and_then(|item| item.get("summary")).filter(|summary| summary.is_array());
        let mut item = Object::new();
        item.insert("type".into(), json!("reasoning"));
        item.insert("encrypted_content".into(), json!(encrypted));
        if let Some(id) = slot.field("id") {
            item.insert("id".into(), json!(id));
        }
        item.insert("summary".into(), summary.cloned().unwrap_or_else(|| json!([])));
        item.insert("_issuer_kind".into(), json!(issuer));
        self.reasoning_items.push(Value::Object(item));
    }

    fn call(&mut self, slot: &Slot, garbled: bool) {
        let name = slot.field("name").map(str::trim).filter(|name| !name.is_empty());
        let (Some(name), Some(arguments)) = (name, slot.whole_arguments(garbled)) else {
            self.unfinished |= slot.is_unfinished();
            self.dropped.push(name.unwrap_or(NAMELESS).to_owned());
            return;
        };
        let known = |id: &CallId, calls: &[ToolCall]| calls.iter().any(|call| call.id == *id);
        let index = self.calls.len();
        let mut id = call_id(slot).unwrap_or_else(|| CallId::deterministic(name, arguments.as_str(), index));
        if known(&id, &self.calls) {
            let is_repeated = self
                .calls
                .iter()
                .any(|call| call.id == id && call.function.name == name && call.function.arguments == arguments);
            if is_repeated {
                return;
            }
            id = CallId::deterministic(name, arguments.as_str(), index);
        }
        let mut call = ToolCall::new(id.clone(), name, arguments);
        call.response_item_id = Some(item_id(slot, &id));
        call.call_id = Some(id);
        self.calls.push(call);
    }

    /// xAI sometimes leaves its answer inside the reasoning, behind a tag.
    fn promote_hidden_answer(&mut self) {
        const TAG: &str = "<response>";
        if !self.texts.is_empty() || !self.calls.is_empty() {
            return;
        }
        let Some(thought) = self.thoughts.iter_mut().find(|thought| thought.contains(TAG)) else { return };
        let Some((before, answer)) = thought.split_once(TAG) else { return };
        let answer = answer.trim().trim_end_matches("</response>").trim().to_owned();
        *thought = before.trim().to_owned();
        self.thoughts.retain(|thought| !thought.is_empty());
        if !answer.is_empty() {
            self.texts.push(answer);
        }
    }

    /// A call that was written into the text instead of being made is no answer.
    fn clear_leaked_call(&mut self) -> bool {
        let leaked = self.calls.is_empty() && self.texts.iter().any(|text| names_a_function(text));
        if leaked {
            self.texts.clear();
            self.message_items.clear();
        }
        leaked
    }

    /// Thoughts alone are an answer only when the server itself ended the stream.
    fn has_nothing(&self, ending: Option<Ending>) -> bool {
        let spoke = !self.texts.is_empty() || !self.refusals.is_empty();
        let called = !self.calls.is_empty() || !self.dropped.is_empty();
        let ended = match ending {
            Some(Ending::Incomplete | Ending::Filtered) => true,
            Some(Ending::Completed) => !self.thoughts.is_empty() || !self.reasoning_items.is_empty(),
            None => false,
        };
        !spoke && !called && !ended
    }

    fn stop_reason(&self, ending: Option<Ending>, backend: Backend) -> StopReason {
        let is_silent = self.texts.is_empty();
        match ending {
            // A call that was lost is never passed over in silence, whatever else is there to run.
            _ if !self.calls.is_empty() && self.dropped.is_empty() => StopReason::ToolCalls,
            None => StopReason::Length,
            Some(Ending::Filtered) => StopReason::ContentFilter,
            Some(Ending::Incomplete) => StopReason::Incomplete,
            Some(Ending::Completed) if is_silent && !self.refusals.is_empty() => StopReason::ContentFilter,
            Some(Ending::Completed) if self.unfinished || !self.dropped.is_empty() => StopReason::Incomplete,
            Some(Ending::Completed) if is_silent && (self.commented || backend != Backend::Other) => {
                StopReason::Incomplete
            }
            Some(Ending::Completed) => StopReason::Stop,
        }
    }

    fn into_message(self, stop: StopReason) -> Assistant {
        let words = if self.texts.is_empty() { self.refusals } else { self.texts };
        let some = |items: Vec<Value>| (!items.is_empty()).then_some(items);
        Assistant {
            content: (!words.is_empty()).then(|| Content::Text(words.join("\n"))),
            reasoning: (!self.thoughts.is_empty()).then(|| self.thoughts.join("\n\n")),
            codex_reasoning_items: some(self.reasoning_items),
            codex_message_items: some(self.message_items),
            tool_calls: self.calls,
            finish_reason: Some(stop),
            ..Assistant::default()
        }
    }
}

impl Slot {
    /// The text of a message.
    pub(super) fn said(&self) -> String {
        let finished = self.parts("content", &["output_text", "text"], "text").concat();
        if finished.is_empty() { self.text.clone() } else { finished }
    }

    fn refusal(&self) -> String {
        let finished = self.parts("content", &["refusal"], "refusal").concat();
        if finished.is_empty() { self.refusal.clone() } else { finished }
    }

    /// The readable part of a reasoning item.
    pub(super) fn thought(&self) -> String {
        let mut parts = self.parts("summary", &["summary_text", "text"], "text");
        parts.extend(self.parts("content", &["reasoning_text", "text"], "text"));
        if parts.is_empty() { self.reasoning.trim().to_owned() } else { parts.join("\n\n") }
    }

    fn parts(&self, list: &str, kinds: &[&str], key: &str) -> Vec<&str> {
        let items = self.done.as_ref().and_then(|item| item.get(list)).and_then(Value::as_array);
        let wanted = |part: &&Value| text_at(part, "type").is_none_or(|kind| kinds.contains(&kind));
        items.into_iter().flatten().filter(wanted).filter_map(|part| text_at(part, key)).collect()
    }

    /// The server itself says that there should be more.
    fn is_unfinished(&self) -> bool {
        let status = self.done.as_ref().and_then(|item| text_at(item, "status"));
        matches!(status, Some("in_progress" | "queued" | "incomplete"))
    }

    /// The arguments, if nothing of them can be missing. Fragments without an end count only as one whole object, and only
    /// when every event could be read (`garbled`): arguments with a hole may read well too.
    fn whole_arguments(&self, garbled: bool) -> Option<Arguments> {
        let key = if self.kind == Kind::CustomCall { "input" } else { "arguments" };
        let finished = self.done.as_ref().and_then(|item| match item.get(key) {
            Some(Value::String(text)) if !text.is_empty() => Some(text.clone()),
            Some(object @ Value::Object(_)) => Some(object.to_string()),
            _ => None,
        });
        let is_whole = self.arguments_done || self.done.is_some();
        let text = finished.unwrap_or_else(|| self.arguments.clone());
        if self.is_unfinished() || (!is_whole && (garbled || text.trim().is_empty())) {
            return None;
        }
        if self.kind == Kind::CustomCall {
            return is_whole.then(|| Arguments::from(json!({"input": text}).to_string()));
        }
        let arguments = Arguments::from(text);
        arguments.parse().is_ok().then_some(arguments)
    }
}

fn message_item(slot: &Slot, text: &str) -> Value {
    let mut item = Object::new();
    let mut set = |key: &str, value: Value| item.insert(key.to_owned(), value);
    set("type", json!("message"));
    set("role", json!("assistant"));
    set("status", json!(slot.done.as_ref().and_then(|item| text_at(item, "status")).unwrap_or("completed")));
    set("content", json!([{"type": "output_text", "text": text}]));
    for key in ["id", "phase"] {
        if let Some(value) = slot.field(key) {
            set(key, json!(value));
        }
    }
    Value::Object(item)
}

/// The id the provider pairs by. An item id is not one.
fn call_id(slot: &Slot) -> Option<CallId> {
    let of_item = || {
        let id = slot.field("id")?;
        let first = id.split('|').next().unwrap_or(id);
        (!first.starts_with("fc_")).then_some(first)
    };
    let id = slot.field("call_id").or_else(of_item)?.trim();
    (!id.is_empty()).then(|| CallId::new(id))
}

fn item_id(slot: &Slot, call: &CallId) -> String {
    const LONGEST: usize = 48;
    let given = slot.field("id").and_then(|id| id.rsplit('|').next()).filter(|id| id.starts_with("fc_"));
    if let Some(given) = given {
        return given.to_owned();
    }
    let id = call.as_str();
    let rest = id.strip_prefix("call_").unwrap_or(id);
    let clean: String =
        rest.chars().filter(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-')).take(LONGEST).collect();
    if clean.is_empty() { format!("fc_{}", short_hash(id.as_bytes())) } else { format!("fc_{clean}") }
}

/// `to=functions.name`: how a model writes a call to itself.
fn names_a_function(text: &str) -> bool {
    let mut after = text.split("to=functions.").skip(1);
    after.any(|rest| rest.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_'))
}

fn usage(counts: &Value) -> Usage {
    let count = |path: &str| counts.pointer(path).and_then(Value::as_u64).unwrap_or(0);
    let mut usage = Usage::from_inclusive(
        count("/input_tokens"),
        count("/input_tokens_details/cached_tokens"),
        count("/input_tokens_details/cache_creation_tokens"),
        count("/output_tokens"),
        count("/output_tokens_details/reasoning_tokens"),
    );
    usage.cost = counts.get("cost").and_then(Value::as_f64).and_then(Usd::from_f64);
    usage
}
