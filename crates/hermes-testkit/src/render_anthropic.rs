//! The Messages API as Anthropic streams it: blocks that open, grow and close, a ping behind the first opening, the stop
//! reason and final counts at the end.

use crate::render_sse::{Cue, SseEvent, pieces};
use crate::say::{Part, Say, Seal};
use hermes_types::{StopReason, Usage};
use serde_json::{Value, json};

pub(crate) fn stream(say: &Say, cue: &Cue) -> Vec<SseEvent> {
    let mut start = message(say, cue);
    start["usage"] = counts(&Usage { output: 1, ..say.usage.unwrap_or_default() });
    let mut events = vec![typed(&json!({"type": "message_start", "message": start}))];
    for (index, part) in say.parts.iter().enumerate() {
        let (opening, deltas) = open(part, say, cue, index);
        events.push(typed(&json!({"type": "content_block_start", "index": index, "content_block": opening})));
        if index == 0 {
            events.push(typed(&json!({"type": "ping"})));
        }
        for delta in deltas {
            events.push(typed(&json!({"type": "content_block_delta", "index": index, "delta": delta})).delta());
        }
        events.push(typed(&json!({"type": "content_block_stop", "index": index})));
    }
    let mut end = json!({
        "type": "message_delta",
        "delta": {"stop_reason": stop_word(&say.stop_reason()), "stop_sequence": null},
    });
    if let Some(usage) = say.usage {
        end["usage"] = counts(&usage);
    }
    events.push(typed(&end));
    events.push(typed(&json!({"type": "message_stop"})));
    events
}

pub(crate) fn whole(say: &Say, cue: &Cue) -> Value {
    let blocks: Vec<Value> = say.parts.iter().enumerate().map(|(index, part)| block(part, cue, index)).collect();
    let mut answer = message(say, cue);
    answer["content"] = json!(blocks);
    answer["stop_reason"] = json!(stop_word(&say.stop_reason()));
    if let Some(usage) = say.usage {
        answer["usage"] = counts(&usage);
    }
    answer
}

/// A block as it opens, and the deltas that fill it.
fn open(part: &Part, say: &Say, cue: &Cue, index: usize) -> (Value, Vec<Value>) {
    let cut = |text: &str| pieces(text, say.chunk);
    match part {
        Part::Text { text, .. } => {
            let deltas = cut(text).into_iter().map(|piece| json!({"type": "text_delta", "text": piece}));
            (json!({"type": "text", "text": ""}), deltas.collect())
        }
        Part::Reasoning { text, seal } => {
            let deltas = cut(text).into_iter().map(|piece| json!({"type": "thinking_delta", "thinking": piece}));
            let proof = signature(seal, cue, index).map(|proof| json!({"type": "signature_delta", "signature": proof}));
            (json!({"type": "thinking", "thinking": "", "signature": ""}), deltas.chain(proof).collect())
        }
        Part::Hidden(_) => (block(part, cue, index), Vec::new()),
        Part::Call(call) => {
            // The first fragment is always empty.
            let fragments = std::iter::once(String::new()).chain(cut(&call.arguments));
            let deltas = fragments.map(|piece| json!({"type": "input_json_delta", "partial_json": piece}));
            let id = cue.call_id("toolu", call, index);
            (json!({"type": "tool_use", "id": id, "name": call.name, "input": {}}), deltas.collect())
        }
    }
}

fn block(part: &Part, cue: &Cue, index: usize) -> Value {
    match part {
        Part::Text { text, .. } => json!({"type": "text", "text": text}),
        Part::Reasoning { text, seal } => {
            let proof = signature(seal, cue, index).unwrap_or_default();
            json!({"type": "thinking", "thinking": text, "signature": proof})
        }
        Part::Hidden(data) => json!({"type": "redacted_thinking", "data": data}),
        Part::Call(call) => {
            let input = serde_json::from_str(&call.arguments).unwrap_or(json!({}));
            json!({"type": "tool_use", "id": cue.call_id("toolu", call, index), "name": call.name, "input": input})
        }
    }
}

fn signature(seal: &Seal, cue: &Cue, index: usize) -> Option<String> {
    match seal {
        Seal::Usual => Some(cue.id("sig", index)),
        Seal::Given(signature) => Some(signature.clone()),
        Seal::None => None,
    }
}

fn message(say: &Say, cue: &Cue) -> Value {
    json!({
        "id": format!("msg_{}", cue.number), "type": "message", "role": "assistant", "model": cue.model_for(say),
        "content": [], "stop_reason": null, "stop_sequence": null,
    })
}

/// Every event of this protocol is named after its own type.
fn typed(data: &Value) -> SseEvent {
    let name = data["type"].as_str().expect("every event has a type");
    SseEvent::named(name, data)
}

fn counts(usage: &Usage) -> Value {
    json!({
        "input_tokens": usage.input, "cache_creation_input_tokens": usage.cache_write,
        "cache_read_input_tokens": usage.cache_read, "output_tokens": usage.output,
    })
}

fn stop_word(reason: &StopReason) -> &str {
    match reason {
        StopReason::Stop => "end_turn",
        StopReason::ToolCalls => "tool_use",
        StopReason::Length => "max_tokens",
        StopReason::ContentFilter => "refusal",
        StopReason::Incomplete => "pause_turn",
        StopReason::Other(word) => word,
    }
}
