//! The Responses API as OpenAI streams it: numbered events, items that are added, grow and are done, and the whole
//! response once more at the end.

use crate::START;
use crate::render_sse::{Cue, SseEvent, pieces};
use crate::say::{Part, Say, Seal};
use hermes_types::{StopReason, Usage};
use serde_json::{Value, json};

pub(crate) fn stream(say: &Say, cue: &Cue) -> Vec<SseEvent> {
    let mut tape = Tape::default();
    let fresh = response(cue.model_for(say), cue, "in_progress");
    tape.push("response.created", json!({"response": fresh}));
    tape.push("response.in_progress", json!({"response": fresh}));
    for (index, part) in say.parts.iter().enumerate() {
        tape.item(part, say, cue, index);
    }
    let end = whole(say, cue);
    let status = end["status"].as_str().unwrap_or_default();
    tape.push(&format!("response.{status}"), json!({"response": end}));
    tape.events
}

pub(crate) fn whole(say: &Say, cue: &Cue) -> Value {
    let reason = match say.stop_reason() {
        StopReason::Length => Some("max_output_tokens"),
        StopReason::ContentFilter => Some("content_filter"),
        StopReason::Incomplete => Some("interrupted"),
        StopReason::Stop | StopReason::ToolCalls | StopReason::Other(_) => None,
    };
    let mut whole = response(cue.model_for(say), cue, if reason.is_some() { "incomplete" } else { "completed" });
    if let Some(reason) = reason {
        whole["incomplete_details"] = json!({"reason": reason});
    }
    let items = say.parts.iter().enumerate().map(|(index, part)| done(part, say, cue, index));
    whole["output"] = items.collect();
    whole["usage"] = say.usage.map_or(Value::Null, |usage| counts(&usage));
    whole
}

pub(crate) fn failure(cue: &Cue, after: usize, code: &str, message: &str) -> SseEvent {
    let mut failed = response(&cue.model, cue, "failed");
    failed["error"] = json!({"code": code, "message": message});
    numbered(after, "response.failed", json!({"response": failed}))
}

fn numbered(number: usize, kind: &str, fields: Value) -> SseEvent {
    SseEvent::named(kind, &with(&json!({"type": kind, "sequence_number": number}), fields))
}

/// The events so far; each carries its number.
#[derive(Default)]
struct Tape {
    events: Vec<SseEvent>,
}

impl Tape {
    fn push(&mut self, kind: &str, fields: Value) {
        self.events.push(numbered(self.events.len(), kind, fields));
    }

    fn item(&mut self, part: &Part, say: &Say, cue: &Cue, index: usize) {
        let item = done(part, say, cue, index);
        self.push("response.output_item.added", json!({"output_index": index, "item": begun(&item)}));
        let place = json!({"item_id": item["id"], "output_index": index});
        match part {
            Part::Text { text, .. } => {
                let place = with(&place, json!({"content_index": 0}));
                self.push("response.content_part.added", with(&place, json!({"part": output_text("")})));
                self.deltas("response.output_text", text, say.chunk, &place);
                self.push("response.output_text.done", with(&place, json!({"text": text})));
                self.push("response.content_part.done", with(&place, json!({"part": output_text(text)})));
            }
            Part::Reasoning { text, .. } => {
                let place = with(&place, json!({"summary_index": 0}));
                self.push("response.reasoning_summary_part.added", with(&place, json!({"part": summary("")})));
                self.deltas("response.reasoning_summary_text", text, say.chunk, &place);
                self.push("response.reasoning_summary_text.done", with(&place, json!({"text": text})));
                self.push("response.reasoning_summary_part.done", with(&place, json!({"part": summary(text)})));
            }
            Part::Hidden(_) => {}
            Part::Call(call) => {
                self.deltas("response.function_call_arguments", &call.arguments, say.chunk, &place);
                let arguments = json!({"arguments": call.arguments});
                self.push("response.function_call_arguments.done", with(&place, arguments));
            }
        }
        self.push("response.output_item.done", json!({"output_index": index, "item": item}));
    }

    fn deltas(&mut self, kind: &str, text: &str, chunk: usize, place: &Value) {
        for piece in pieces(text, chunk) {
            let event = numbered(self.events.len(), &format!("{kind}.delta"), with(place, json!({"delta": piece})));
            self.events.push(event.delta());
        }
    }
}

/// An item as it is when nothing more will be added to it.
fn done(part: &Part, say: &Say, cue: &Cue, index: usize) -> Value {
    let last = index + 1 == say.parts.len();
    let status = if last && say.stop_reason() == StopReason::Length { "incomplete" } else { "completed" };
    match part {
        Part::Text { text, phase } => {
            let mut item = json!({
                "id": cue.id("msg", index), "type": "message", "status": status, "role": "assistant",
                "content": [output_text(text)],
            });
            if let Some(phase) = phase {
                item["phase"] = json!(phase);
            }
            item
        }
        Part::Reasoning { text, seal } => {
            let mut item = json!({"id": cue.id("rs", index), "type": "reasoning", "summary": [summary(text)]});
            let encrypted = match seal {
                Seal::Usual => Some(cue.id("gAAAAA", index)),
                Seal::Given(original) => Some(original.clone()),
                Seal::None => None,
            };
            if let Some(encrypted) = encrypted.filter(|_| cue.include_encrypted) {
                item["encrypted_content"] = json!(encrypted);
            }
            item
        }
        Part::Hidden(data) => {
            json!({"id": cue.id("rs", index), "type": "reasoning", "summary": [], "encrypted_content": data})
        }
        Part::Call(call) => json!({
            "id": cue.id("fc", index), "type": "function_call", "status": status,
            "arguments": call.arguments, "call_id": cue.call_id("call", call, index), "name": call.name,
        }),
    }
}

/// The same item as it is announced: known by name, empty inside.
fn begun(done: &Value) -> Value {
    let mut item = done.clone();
    for (field, empty) in [
        ("status", json!("in_progress")),
        ("content", json!([])),
        ("summary", json!([])),
        ("arguments", json!("")),
        ("encrypted_content", json!("")),
    ] {
        if let Some(value) = item.get_mut(field) {
            *value = empty;
        }
    }
    item
}

fn response(model: &str, cue: &Cue, status: &str) -> Value {
    json!({
        "id": format!("resp_{}", cue.number), "object": "response", "created_at": START, "status": status,
        "error": null, "incomplete_details": null, "model": model, "output": [], "parallel_tool_calls": true,
        "previous_response_id": null, "service_tier": "default", "store": false, "usage": null, "metadata": {},
    })
}

fn output_text(text: &str) -> Value {
    json!({"type": "output_text", "annotations": [], "logprobs": [], "text": text})
}

fn summary(text: &str) -> Value {
    json!({"type": "summary_text", "text": text})
}

/// `place` with more fields behind it.
fn with(place: &Value, more: Value) -> Value {
    let mut all = place.clone();
    if let (Value::Object(all), Value::Object(more)) = (&mut all, more) {
        all.extend(more);
    }
    all
}

/// Input tokens include the cached ones.
fn counts(usage: &Usage) -> Value {
    json!({
        "input_tokens": usage.prompt(), "input_tokens_details": {"cached_tokens": usage.cache_read},
        "output_tokens": usage.output, "output_tokens_details": {"reasoning_tokens": usage.reasoning},
        "total_tokens": usage.total(),
    })
}
