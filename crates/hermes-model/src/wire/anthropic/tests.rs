//! What the tests of this protocol share: receivers, messages and events, each in as few words as they need.

mod answers;
mod properties;
mod requests;

use super::super::{Decoder, End, Login, Target, Ttl, sse};
use super::{AnthropicDecoder, encode};
use crate::provider::{COMPATIBLE, NameRule, Provider, Quirk};
use hermes_types::{Assistant, CallId, Content, Delta, Fault, Message, Object, Reply, Request, ToolCall};
use serde_json::{Value, json};
use url::Url;

static ANTHROPIC: Provider = Provider { id: "anthropic", label: "Anthropic", names: NameRule::Anthropic, ..COMPATIBLE };
static CUSTOM: Provider = Provider { id: "custom", label: "Custom endpoint", ..COMPATIBLE };
static DASHSCOPE: Provider = Provider { id: "alibaba", label: "Qwen Cloud", ..COMPATIBLE };
static KIMI: Provider = Provider {
    id: "kimi-coding",
    label: "Kimi / Moonshot",
    quirks: &[Quirk::NoTemperature],
    max_tokens: Some(32_000),
    ..COMPATIBLE
};

const NATIVE: &str = "https://api.anthropic.com";
const MINIMAX: &str = "https://api.minimax.io/anthropic";

fn target(provider: &'static Provider, base: &str, login: Login) -> Target {
    Target { provider, base_url: Url::parse(base).expect("a URL"), login, extra_body: Object::new(), cache: None }
}

fn native() -> Target {
    target(&ANTHROPIC, NATIVE, Login::ApiKey)
}

/// The same when it is asked to keep prompts for an hour.
fn keeping() -> Target {
    Target { cache: Some(Ttl::Hour), ..native() }
}

fn body(request: &Request, target: &Target) -> Value {
    serde_json::from_slice(&encode(request, target).body).expect("a JSON body")
}

/// The messages on the wire, to Claude.
fn sent(messages: impl IntoIterator<Item = Message>, base: &str) -> Value {
    sent_to("claude-opus-4-6", messages, base)
}

fn sent_to(model: &str, messages: impl IntoIterator<Item = Message>, base: &str) -> Value {
    body(&Request::new(model, messages), &target(&CUSTOM, base, Login::ApiKey))["messages"].take()
}

fn read_message(json: Value) -> Message {
    serde_json::from_value(json).expect("a message")
}

fn call_json(id: &str, name: &str, arguments: &str) -> Value {
    json!({"id": id, "type": "function", "function": {"name": name, "arguments": arguments}})
}

/// The assistant of the acceptance vectors: signed thinking, a call with an odd id, a call with unreadable arguments.
fn calling_assistant() -> Message {
    read_message(json!({
        "role": "assistant", "content": null,
        "reasoning_details": [{"type": "thinking", "thinking": "t", "signature": "sig"}],
        "tool_calls": [call_json("call|1", "read", "{\"a\": 1}"), call_json("c2", "write", "{\"path\": \"/tm")],
    }))
}

fn tool(id: &str, content: impl Into<Content>) -> Message {
    Message::tool(&CallId::new(id), "read", content)
}

fn text(text: &str) -> Value {
    json!({"type": "text", "text": text})
}

fn calls(ids: &[&str]) -> Message {
    let tool_calls = ids.iter().map(|id| ToolCall::new(CallId::new(*id), "look", "{}")).collect();
    Message::Assistant(Assistant { tool_calls, ..Assistant::default() })
}

fn decode(events: &[(&str, String)], end: End) -> (Vec<Delta>, Result<Reply, Fault>) {
    let mut decoder = Box::new(AnthropicDecoder::new(&native()));
    let mut deltas = Vec::new();
    for (name, data) in events {
        if let Err(fault) = decoder.event(sse::Event { name, data }, &mut deltas) {
            return (deltas, Err(fault));
        }
    }
    (deltas, decoder.finish(end))
}

/// Events by the type in their data, as servers name them.
fn events(list: impl IntoIterator<Item = Value>) -> Vec<(&'static str, String)> {
    list.into_iter().map(|event| ("", event.to_string())).collect()
}

fn reply(list: impl IntoIterator<Item = Value>) -> Reply {
    decode(&events(list), End::Whole).1.expect("a reply")
}

fn start(index: u64, block: &Value) -> Value {
    json!({"type": "content_block_start", "index": index, "content_block": block})
}

fn delta(index: u64, kind: &str, key: &str, text: &str) -> Value {
    json!({"type": "content_block_delta", "index": index, "delta": {"type": kind, key: text}})
}

fn wrote(index: u64, words: &str) -> Value {
    delta(index, "text_delta", "text", words)
}

fn argued(index: u64, json: &str) -> Value {
    delta(index, "input_json_delta", "partial_json", json)
}

fn stop(index: u64) -> Value {
    json!({"type": "content_block_stop", "index": index})
}

fn end(reason: &str) -> Value {
    json!({"type": "message_delta", "delta": {"stop_reason": reason, "stop_sequence": null}, "usage": {"output_tokens": 9}})
}

fn text_block() -> Value {
    text("")
}

fn call_block(id: &str, name: &str) -> Value {
    json!({"type": "tool_use", "id": id, "name": name, "input": {}})
}
