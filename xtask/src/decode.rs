//! How fast each protocol's bytes become deltas, beside the least that any decoder must do: find the lines and parse
//! the JSON.

use hermes_model::provider::Provider;
use hermes_model::wire::{ApiMode, End, Login, Target, sse};
use hermes_types::{Delta, Fault, FaultKind, Object};
use serde_json::{Value, json};
use std::hint::black_box;
use std::time::Instant;

const EVENTS: usize = 10_000;
/// Many short runs: on a busy machine some of them go undisturbed.
const RUNS: usize = 40;
/// As a network delivers them.
const CHUNK: usize = 16 << 10;
/// Megabytes per second and core: a hundred times what any provider sends.
const GOAL: u32 = 200;

pub(crate) fn run() {
    println!("decoding, {EVENTS} text events in chunks of 16 KiB");
    println!("{:<20} {:>10} {:>10} {:>14} {:>8}", "protocol", "MB/s", "goal", "baseline MB/s", "ratio");
    for mode in ApiMode::ALL {
        let bytes = stream(mode);
        let ours = throughput(&bytes, |bytes| decode(mode, bytes));
        let least = throughput(&bytes, baseline);
        println!("{:<20} {ours:>10.0} {GOAL:>10} {least:>14.0} {:>8.2}", mode.as_str(), ours / least);
    }
    let big = big_event();
    let ours = throughput(&big, |bytes| decode(ApiMode::ChatCompletions, bytes));
    let least = throughput(&big, baseline);
    println!("{:<20} {ours:>10.0} {GOAL:>10} {least:>14.0} {:>8.2}", "one event of 10 MB", ours / least);
    println!();
}

/// The best of all runs, in megabytes per second.
fn throughput(bytes: &[u8], work: impl Fn(&[u8])) -> f64 {
    let best = (0..RUNS)
        .map(|_| {
            let start = Instant::now();
            work(bytes);
            start.elapsed()
        })
        .min()
        .unwrap_or_default();
    bytes.len() as f64 / 1e6 / best.as_secs_f64()
}

fn decode(mode: ApiMode, bytes: &[u8]) {
    let target = Target {
        provider: Provider::find("custom").expect("a row of the table"),
        base_url: "http://127.0.0.1/v1".parse().expect("a URL"),
        login: Login::None,
        extra_body: Object::new(),
        cache: None,
    };
    let mut decoder = mode.decoder(&target);
    let mut parser = sse::Parser::default();
    let mut out: Vec<Delta> = Vec::new();
    let mut text = 0;
    for chunk in bytes.chunks(CHUNK) {
        parser
            .push(chunk, |event| decoder.event(event, &mut out).map_err(Stopped::from))
            .expect("a stream without faults");
        text += out.drain(..).map(|delta| if let Delta::Text(text) = delta { text.len() } else { 0 }).sum::<usize>();
    }
    let reply = decoder.finish(End::Whole).expect("a whole reply");
    assert_eq!(reply.text().len(), text, "every byte of text arrived");
    black_box(reply);
}

/// Splits at blank lines and parses each event into a tree.
fn baseline(bytes: &[u8]) {
    for line in bytes.split(|byte| *byte == b'\n') {
        if let Some(data) = line.strip_prefix(b"data: ") {
            black_box(serde_json::from_slice::<Value>(data).ok());
        }
    }
}

struct Stopped;

impl From<sse::SseFault> for Stopped {
    fn from(_: sse::SseFault) -> Self {
        Self
    }
}

impl From<Fault> for Stopped {
    fn from(fault: Fault) -> Self {
        assert_ne!(fault.kind, FaultKind::Malformed, "{fault}");
        Self
    }
}

impl std::fmt::Debug for Stopped {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("the stream was refused")
    }
}

fn stream(mode: ApiMode) -> Vec<u8> {
    let mut text = String::new();
    let mut event = |name: &str, data: Value| {
        if !name.is_empty() {
            text.push_str(&format!("event: {name}\n"));
        }
        text.push_str(&format!("data: {data}\n\n"));
    };
    match mode {
        ApiMode::ChatCompletions => {
            for n in 0..EVENTS {
                event("", chat_chunk(&json!({"content": format!(" token{n}")}), &Value::Null));
            }
            event("", chat_chunk(&json!({}), &json!("stop")));
        }
        ApiMode::CodexResponses => {
            let created = json!({"type": "response.created", "response": {"id": "r", "status": "in_progress"}});
            event("response.created", created);
            for n in 0..EVENTS {
                let delta = json!({"type": "response.output_text.delta", "item_id": "msg_1", "output_index": 0,
                    "content_index": 0, "delta": format!(" token{n}"), "sequence_number": n});
                event("response.output_text.delta", delta);
            }
            let done = json!({"type": "response.completed", "response": {"id": "r", "status": "completed",
                "usage": {"input_tokens": 1, "output_tokens": EVENTS}}});
            event("response.completed", done);
        }
        ApiMode::AnthropicMessages => {
            let start = json!({"type": "message_start", "message": {"id": "m", "role": "assistant", "content": [],
                "model": "claude", "usage": {"input_tokens": 1, "output_tokens": 1}}});
            event("message_start", start);
            let block =
                json!({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}});
            event("content_block_start", block);
            for n in 0..EVENTS {
                let delta = json!({"type": "content_block_delta", "index": 0,
                    "delta": {"type": "text_delta", "text": format!(" token{n}")}});
                event("content_block_delta", delta);
            }
            event("content_block_stop", json!({"type": "content_block_stop", "index": 0}));
            let end =
                json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 9}});
            event("message_delta", end);
            event("message_stop", json!({"type": "message_stop"}));
        }
    }
    text.into_bytes()
}

fn chat_chunk(delta: &Value, finish: &Value) -> Value {
    json!({"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1_767_323_045, "model": "m",
        "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]})
}

fn big_event() -> Vec<u8> {
    let text = "word ".repeat(2 << 20);
    let whole = chat_chunk(&json!({"content": text}), &Value::Null);
    format!("data: {whole}\n\ndata: {}\n\n", chat_chunk(&json!({}), &json!("stop"))).into_bytes()
}
