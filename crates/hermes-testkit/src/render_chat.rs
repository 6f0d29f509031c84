//! Chat completions as OpenAI and its many imitators stream them: one delta per chunk, the usage behind the last choice
//! when asked for, `[DONE]` at the end. Reasoning travels in the fields that DeepSeek and OpenRouter made common.

use crate::START;
use crate::render_sse::{Cue, SseEvent, pieces};
use crate::say::{Call, Part, Say, Seal};
use hermes_types::Usage;
use serde_json::{Value, json};

pub(crate) fn stream(say: &Say, cue: &Cue) -> Vec<SseEvent> {
    let mut chunks = vec![chunk(say, cue, &json!({"role": "assistant", "content": "", "refusal": null}), &Value::Null)];
    for delta in deltas(say, cue) {
        chunks.push(chunk(say, cue, &delta, &Value::Null).delta());
    }
    chunks.push(chunk(say, cue, &json!({}), &json!(say.stop_reason().as_str())));
    if let Some(usage) = say.usage.filter(|_| cue.include_usage) {
        let mut last = envelope(say, cue, "chat.completion.chunk");
        last["choices"] = json!([]);
        last["usage"] = counts(&usage);
        chunks.push(SseEvent::data(&last));
    }
    chunks.push(SseEvent::text("[DONE]"));
    chunks
}

pub(crate) fn whole(say: &Say, cue: &Cue) -> Value {
    let mut message = json!({"role": "assistant", "content": null, "refusal": null});
    let (mut text, mut reasoning) = (String::new(), String::new());
    let (mut details, mut calls) = (Vec::new(), Vec::new());
    for part in &say.parts {
        match part {
            Part::Text { text: more, .. } => text.push_str(more),
            Part::Reasoning { text: more, seal } => {
                reasoning.push_str(more);
                details.extend(signed_detail(more, seal, details.len()));
            }
            Part::Hidden(data) => details.push(hidden_detail(data, details.len())),
            Part::Call(call) => {
                let mut whole = opening(call, cue, calls.len());
                whole["function"]["arguments"] = json!(call.arguments);
                calls.push(whole);
            }
        }
    }
    if !text.is_empty() {
        message["content"] = json!(text);
    }
    if !reasoning.is_empty() {
        message[if details.is_empty() { "reasoning_content" } else { "reasoning" }] = json!(reasoning);
    }
    if !details.is_empty() {
        message["reasoning_details"] = json!(details);
    }
    if !calls.is_empty() {
        message["tool_calls"] = json!(calls);
    }
    let mut answer = envelope(say, cue, "chat.completion");
    let finish = say.stop_reason();
    answer["choices"] = json!([{"index": 0, "message": message, "logprobs": null, "finish_reason": finish.as_str()}]);
    if let Some(usage) = say.usage {
        answer["usage"] = counts(&usage);
    }
    answer
}

fn deltas(say: &Say, cue: &Cue) -> Vec<Value> {
    let mut deltas = Vec::new();
    let (mut calls, mut details) = (0, 0);
    for part in &say.parts {
        match part {
            Part::Text { text, .. } => {
                deltas.extend(pieces(text, say.chunk).into_iter().map(|piece| json!({"content": piece})));
            }
            Part::Reasoning { text, seal: Seal::Given(signature) } => {
                deltas.extend(
                    pieces(text, say.chunk)
                        .into_iter()
                        .map(|piece| json!({"reasoning": piece, "reasoning_details": [text_detail(&piece, details)]})),
                );
                let mut last = text_detail("", details);
                last["signature"] = json!(signature);
                deltas.push(json!({"reasoning_details": [last]}));
                details += 1;
            }
            Part::Reasoning { text, .. } => {
                deltas.extend(pieces(text, say.chunk).into_iter().map(|piece| json!({"reasoning_content": piece})));
            }
            Part::Hidden(data) => {
                deltas.push(json!({"reasoning_details": [hidden_detail(data, details)]}));
                details += 1;
            }
            Part::Call(call) => {
                let mut first = opening(call, cue, calls);
                first["index"] = json!(calls);
                deltas.push(json!({"tool_calls": [first]}));
                deltas.extend(
                    pieces(&call.arguments, say.chunk)
                        .into_iter()
                        .map(|piece| json!({"tool_calls": [{"index": calls, "function": {"arguments": piece}}]})),
                );
                calls += 1;
            }
        }
    }
    deltas
}

fn opening(call: &Call, cue: &Cue, index: usize) -> Value {
    let mut opening = json!({
        "id": cue.call_id("call", call, index), "type": "function",
        "function": {"name": call.name, "arguments": ""},
    });
    if let Some(signature) = &call.thought_signature {
        opening["extra_content"] = json!({"google": {"thought_signature": signature}});
    }
    opening
}

fn text_detail(text: &str, index: usize) -> Value {
    json!({"type": "reasoning.text", "text": text, "format": "anthropic-claude-v1", "index": index})
}

fn signed_detail(text: &str, seal: &Seal, index: usize) -> Option<Value> {
    let Seal::Given(signature) = seal else { return None };
    let mut detail = text_detail(text, index);
    detail["signature"] = json!(signature);
    Some(detail)
}

fn hidden_detail(data: &str, index: usize) -> Value {
    json!({"type": "reasoning.encrypted", "data": data, "format": "anthropic-claude-v1", "index": index})
}

fn chunk(say: &Say, cue: &Cue, delta: &Value, finish: &Value) -> SseEvent {
    let mut chunk = envelope(say, cue, "chat.completion.chunk");
    chunk["choices"] = json!([{"index": 0, "delta": delta, "logprobs": null, "finish_reason": finish}]);
    if cue.include_usage {
        chunk["usage"] = Value::Null;
    }
    SseEvent::data(&chunk)
}

fn envelope(say: &Say, cue: &Cue, object: &str) -> Value {
    json!({
        "id": format!("chatcmpl-{}", cue.number), "object": object, "created": START,
        "model": cue.model_for(say), "service_tier": "default", "system_fingerprint": "fp_rehearsal",
    })
}

/// Prompt tokens include the cached ones, as OpenAI counts; writes and cost are told where OpenRouter tells them.
fn counts(usage: &Usage) -> Value {
    let mut counts = json!({
        "prompt_tokens": usage.prompt(), "completion_tokens": usage.output, "total_tokens": usage.total(),
        "prompt_tokens_details": {"cached_tokens": usage.cache_read, "audio_tokens": 0},
        "completion_tokens_details": {"reasoning_tokens": usage.reasoning, "audio_tokens": 0},
    });
    if usage.cache_write > 0 {
        counts["prompt_tokens_details"]["cache_write_tokens"] = json!(usage.cache_write);
    }
    if let Some(cost) = usage.cost {
        counts["cost"] = json!(cost.as_f64());
    }
    counts
}
