//! From server-sent events to one reply.

use super::calls::{CallAssembler, CallPiece, Calls};
use super::chunk::{Call, Choice, Chunk, Json, Said};
use super::details::Details;
use super::think::{self, Split, Splitter};
use super::{OPAQUE, STATE, usage};
use crate::wire::{Decoder, End, Target, fault, json, sse};
use hermes_types::{Assistant, Content, Delta, Fault, FaultKind, Reply, StopReason, Usage, clip};
use serde_json::Value;
use std::borrow::Cow;

/// An answer larger than this is refused: no model writes one, and memory is not endless.
const LARGEST_ANSWER: usize = 64 << 20;
/// Finish reasons that are failures in disguise.
const BREAKS: [(&str, FaultKind, &str); 3] = [
    ("error", FaultKind::ServerError, "it met an error"),
    ("network_error", FaultKind::ServerError, "its own network failed"),
    ("insufficient_system_resource", FaultKind::Overloaded, "its machines are full"),
];
/// How much of a foreign text is shown to a person.
const SHOWN: usize = 300;

/// The state of one answer. It depends on the events alone.
#[derive(Debug, Default)]
pub struct ChatDecoder {
    content: String,
    splitter: Splitter,
    reasoning: String,
    /// The reasoning came as `reasoning_content`: the words are the provider's own, and it may want them back there.
    has_reasoning_content: bool,
    details: Details,
    /// Vendor state of the message as a whole, to be sent back as it is.
    opaque: Option<String>,
    state: Option<Value>,
    refusal: String,
    calls: CallAssembler,
    finish: Option<String>,
    usage: Option<Usage>,
    model: Option<String>,
    id: Option<String>,
    /// The server sent a whole message instead of a stream.
    whole: bool,
    /// `[DONE]` was seen.
    done: bool,
    /// A chunk was damaged: something is missing, and nobody knows what.
    garbled: bool,
    /// The beginning of the first thing that was no chunk at all.
    noise: Option<String>,
}

impl ChatDecoder {
    pub fn new(_target: &Target) -> Self {
        Self::default()
    }

    fn read(&mut self, data: &str, event: &str, out: &mut Vec<Delta>) -> Result<(), Fault> {
        if let Ok(chunk) = serde_json::from_str::<Chunk<'_>>(data)
            && !is_error(&chunk, event)
        {
            return self.chunk(chunk, out);
        }
        let tree = match json::parse(data) {
            Ok(tree) => tree,
            Err(_) if event == "error" => Value::from(data),
            Err(_) => {
                self.unreadable(data);
                return Ok(());
            }
        };
        let chunk = Chunk::of(&tree);
        if is_error(&chunk, event) { Err(fault::from_error_body(None, &tree)) } else { self.chunk(chunk, out) }
    }

    fn chunk(&mut self, chunk: Chunk<'_>, out: &mut Vec<Delta>) -> Result<(), Fault> {
        remember(&mut self.id, chunk.id.as_str());
        remember(&mut self.model, chunk.model.as_str());
        let Some(choice) = chunk.choice.0 else {
            self.count(chunk.usage);
            return Ok(());
        };
        self.count(choice.usage);
        self.count(chunk.usage);
        self.choice(choice, out)
    }

    fn choice(&mut self, choice: Choice<'_>, out: &mut Vec<Delta>) -> Result<(), Fault> {
        let said = match (choice.delta, choice.message) {
            (Some(delta), _) => Some(delta),
            // A message behind a stream repeats what was said.
            (None, Some(mut message)) if self.is_silent() => {
                self.whole = true;
                message.number_calls();
                Some(*message)
            }
            (None, _) => None,
        };
        if let Some(said) = said {
            self.said(said, out);
        }
        if let Some(error) = choice.error.map(Json::tree).filter(|error| tells(error)) {
            return Err(fault::from_error_body(None, &error));
        }
        if let Some(word) = choice.finish_reason.filled() {
            let word = word.to_ascii_lowercase();
            if let Some((_, kind, reason)) = BREAKS.iter().find(|(broken, ..)| *broken == word) {
                return Err(Fault::new(*kind, format!("the provider broke off its answer: {reason}")));
            }
            self.finish = Some(word);
            let rest = self.splitter.flush();
            self.show(rest, out);
        }
        self.bounded()
    }

    fn said(&mut self, said: Said<'_>, out: &mut Vec<Delta>) {
        let details = said.reasoning_details.map(|details| self.details.push(&details.tree())).unwrap_or_default();
        let own = said.reasoning_content.filled();
        let other = said.reasoning.filled().or(said.reasoning_text.filled()).filter(|text| own.as_ref() != Some(text));
        self.has_reasoning_content |= own.is_some();
        if own.is_none() && other.is_none() {
            self.think(details.into(), out);
        }
        for text in own.into_iter().chain(other) {
            self.think(text, out);
        }
        if let Some(text) = said.content.filled() {
            self.content.push_str(&text);
            let split = self.splitter.push(text);
            self.show(split, out);
        }
        remember(&mut self.opaque, said.reasoning_opaque.as_str());
        let state = said.extra_content.map(Json::tree).filter(|state| is_signed(state));
        self.state = state.map(Cow::into_owned).or(self.state.take());
        self.refusal.push_str(said.refusal.as_str());
        for call in said.tool_calls.iter().flatten() {
            self.call(call, out);
        }
        if let Some(function) = said.function_call {
            self.call(&Call { function: Some(function), ..Call::default() }, out);
        }
    }

    fn call(&mut self, call: &Call<'_>, out: &mut Vec<Delta>) {
        let function = call.function.as_ref();
        let started = self.calls.push(CallPiece {
            index: call.index,
            id: call.id.as_str(),
            name: function.map(|function| function.name.as_str()).unwrap_or_default(),
            arguments: function.map(|function| function.arguments.as_str()).unwrap_or_default(),
            extra_content: call.extra_content.map(|state| state.tree().into_owned()),
        });
        if let Some(name) = started {
            out.push(Delta::ToolCallStarted(name.to_owned()));
        }
    }

    fn think(&mut self, text: Cow<'_, str>, out: &mut Vec<Delta>) {
        if !text.is_empty() {
            self.reasoning.push_str(&text);
            out.push(Delta::Reasoning(text.into_owned()));
        }
    }

    /// What a person sees while the model writes. Talk between calls is kept but not shown.
    fn show(&self, split: Split<'_>, out: &mut Vec<Delta>) {
        out.extend(split.reasoning.map(|text| Delta::Reasoning(text.into_owned())));
        out.extend(split.visible.filter(|_| self.calls.is_empty()).map(|text| Delta::Text(text.into_owned())));
    }

    /// Counts may come in any chunk, grow from chunk to chunk, or come as zeros before they are known.
    fn count(&mut self, counted: Option<Json<'_>>) {
        let counted = counted.and_then(|counted| usage::read(&counted.tree()));
        if let Some(counted) = counted.filter(|counted| counted.total() > 0 || self.usage.is_none()) {
            self.usage = Some(counted);
        }
    }

    fn bounded(&self) -> Result<(), Fault> {
        let size =
            self.content.len() + self.reasoning.len() + self.refusal.len() + self.calls.size() + self.details.size();
        if size > LARGEST_ANSWER {
            return Err(Fault::new(FaultKind::Malformed, "the model's answer is larger than 64 MiB; it was given up"));
        }
        Ok(())
    }

    fn is_silent(&self) -> bool {
        self.content.is_empty()
            && self.reasoning.is_empty()
            && self.refusal.is_empty()
            && self.details.is_empty()
            && self.calls.is_empty()
    }

    /// An event that is not JSON. A damaged chunk means that something was lost; a stray word means nothing.
    fn unreadable(&mut self, data: &str) {
        self.garbled |= data.starts_with(['{', '[']);
        self.noise.get_or_insert_with(|| clip(&fault::sentence(data), SHOWN));
    }

    /// Why there is no answer.
    fn emptiness(self, end: End) -> Fault {
        match (self.noise, end) {
            (Some(noise), _) => Fault::new(
                FaultKind::Malformed,
                format!("the server did not answer in the chat completions protocol; it said: {noise}"),
            ),
            (None, End::Whole) => {
                Fault::new(FaultKind::EmptyStream, "the provider closed the stream without an answer")
            }
            (None, End::Cut) => Fault::new(FaultKind::EmptyStream, "the connection broke before the answer began"),
        }
    }
}

impl Decoder for ChatDecoder {
    fn event(&mut self, event: sse::Event<'_>, out: &mut Vec<Delta>) -> Result<(), Fault> {
        let before = out.len();
        match event.data.trim() {
            "" => {}
            "[DONE]" => self.done = true,
            data => self.read(data, event.name, out)?,
        }
        if out.len() == before {
            out.push(Delta::Alive);
        }
        Ok(())
    }

    fn is_complete(&self) -> bool {
        self.done
    }

    fn finish(self: Box<Self>, end: End) -> Result<Reply, Fault> {
        let ended = self.finish.is_some() || self.whole;
        if self.is_silent() && !ended {
            return Err(self.emptiness(end));
        }
        let stop = self.finish.as_deref().map_or(StopReason::Stop, stop_reason);
        let cut_off = !ended || self.garbled;
        let came_to_its_end = !cut_off && matches!(stop, StopReason::Stop | StopReason::ToolCalls);
        let calls = if self.garbled { self.calls.abandon() } else { self.calls.finish(!came_to_its_end) };
        let (text, inline) = think::extract(self.content);
        let refused = text.is_empty() && calls.whole.is_empty() && !self.refusal.is_empty();
        let finish_reason = settled(stop, cut_off, refused, &calls);
        let text = if refused { self.refusal } else { text };
        let content = Some(text).filter(|text| !text.is_empty() || calls.whole.is_empty()).map(Content::Text);
        let structured = Some(self.reasoning).filter(|text| !text.is_empty());
        let opaque = self.opaque.map(|seal| (OPAQUE.to_owned(), Value::from(seal)));
        let state = self.state.map(|state| (STATE.to_owned(), state));
        let message = Assistant {
            content,
            reasoning_content: structured.clone().filter(|_| self.has_reasoning_content),
            reasoning: structured.or(inline),
            reasoning_details: self.details.finish(),
            tool_calls: calls.whole,
            finish_reason: Some(finish_reason),
            extra: opaque.into_iter().chain(state).collect(),
            ..Assistant::default()
        };
        Ok(Reply { message, usage: self.usage, model: self.model, id: self.id, dropped: calls.dropped, cut_off })
    }
}

/// Keeps the latest non-empty value without writing the same again for every chunk.
fn remember(known: &mut Option<String>, new: &str) {
    if !new.is_empty() && known.as_deref() != Some(new) {
        *known = Some(new.to_owned());
    }
}

/// Google also marks thoughts here, piece by piece; only a signature is worth keeping.
fn is_signed(state: &Value) -> bool {
    state.pointer("/google/thought_signature").is_some_and(Value::is_string)
}

/// The words of the vendors for why a model stopped, in lower case.
fn stop_reason(word: &str) -> StopReason {
    match word {
        "stop" | "end_turn" | "stop_sequence" | "eos" | "eos_token" => StopReason::Stop,
        "tool_calls" | "tool_use" | "function_call" => StopReason::ToolCalls,
        "length" | "max_tokens" | "model_length" | "max_output_tokens" | "model_context_window_exceeded" => {
            StopReason::Length
        }
        "content_filter" | "safety" | "recitation" | "refusal" | "sensitive" => StopReason::ContentFilter,
        "incomplete" => StopReason::Incomplete,
        other => StopReason::Other(other.to_owned()),
    }
}

/// Why the model stopped, judged by what it left behind rather than by the server's word alone.
fn settled(stop: StopReason, cut_off: bool, refused: bool, calls: &Calls) -> StopReason {
    match stop {
        StopReason::ContentFilter if !cut_off => StopReason::ContentFilter,
        _ if cut_off || !calls.dropped.is_empty() => StopReason::Length,
        _ if refused => StopReason::ContentFilter,
        StopReason::Stop | StopReason::Other(_) if !calls.whole.is_empty() => StopReason::ToolCalls,
        StopReason::ToolCalls if calls.whole.is_empty() => StopReason::Stop,
        stop => stop,
    }
}

/// True when the event tells of a failure.
fn is_error(chunk: &Chunk<'_>, event: &str) -> bool {
    let told = chunk.error.is_some_and(|error| tells(&error.tree()));
    let refused = chunk.base_resp.is_some_and(|outcome| is_bad_outcome(&outcome.tree()));
    told || refused || event == "error" || chunk.object.as_str() == "error"
}

/// MiniMax answers with HTTP 200 whatever happened; a status of its own other than 0 is a failure.
fn is_bad_outcome(base_resp: &Value) -> bool {
    base_resp.get("status_code").and_then(Value::as_i64).is_some_and(|status| status != 0)
}

/// `error: {}` and `error: ""` stand in chunks of servers that are fine.
fn tells(error: &Value) -> bool {
    match error {
        Value::Null | Value::Bool(false) => false,
        Value::String(text) => !text.is_empty(),
        Value::Object(fields) => !fields.is_empty(),
        _ => true,
    }
}
