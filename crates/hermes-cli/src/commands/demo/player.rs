//! The transport of `hermes demo`: where a socket would be, the script is played. It answers in the form of the wire, so
//! that everything on this side of it is the real program. The first attempt fails on purpose: one should see recovery.

use super::script::{Said, reply};
use bytes::Bytes;
use futures_util::future::BoxFuture;
use futures_util::{FutureExt, StreamExt, stream};
use hermes_model::transport::{Answer, Call, Transport};
use hermes_types::{Fault, FaultKind, Message};
use serde::Deserialize;
use serde_json::{Value, json};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Bytes of a token, roughly: the stand-in has no tokens of its own.
const BYTES_OF_A_TOKEN: usize = 4;

/// How fast the words come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Pace {
    /// As a person reads.
    Reading,
    AtOnce,
}

impl Pace {
    /// The time before a piece of a reply.
    fn before(self, piece: &Piece) -> Duration {
        match (self, piece) {
            (Self::AtOnce, _) => Duration::ZERO,
            (Self::Reading, Piece::Silence) => Duration::from_millis(500),
            (Self::Reading, Piece::Word(_)) => Duration::from_millis(55),
            (Self::Reading, Piece::Rest(_)) => Duration::ZERO,
        }
    }
}

/// A part of a streamed reply.
enum Piece {
    /// Even a quick model takes a moment.
    Silence,
    Word(String),
    Rest(String),
}

pub(super) struct Player {
    pace: Pace,
    has_failed: AtomicBool,
}

/// What is read of a request.
#[derive(Deserialize)]
struct Asked {
    messages: Vec<Message>,
}

impl Player {
    pub(super) fn new(pace: Pace) -> Self {
        Self { pace, has_failed: AtomicBool::new(false) }
    }
}

impl Transport for Player {
    fn send(&self, call: Call) -> BoxFuture<'static, Result<Answer, Fault>> {
        let answer = match self.has_failed.swap(true, Ordering::Relaxed) {
            false => Ok(hiccup()),
            true => serde_json::from_slice::<Asked>(&call.body)
                .map(|asked| streamed(&reply(&asked.messages), asked.messages.len(), call.body.len(), self.pace))
                .map_err(|error| Fault::new(FaultKind::Unknown, format!("the demo cannot read its request: {error}"))),
        };
        std::future::ready(answer).boxed()
    }
}

fn hiccup() -> Answer {
    let body = json!({"error": {"message": "a made-up hiccup", "code": 500}}).to_string();
    Answer { status: 500, headers: Vec::new(), body: stream::iter([Ok(Bytes::from(body))]).boxed() }
}

/// The reply as server-sent events. `place` is where it stands in its conversation.
fn streamed(said: &Said, place: usize, asked: usize, pace: Pace) -> Answer {
    let body = stream::iter(pieces(said, place, asked)).then(move |piece| async move {
        let pause = pace.before(&piece);
        if !pause.is_zero() {
            tokio::time::sleep(pause).await;
        }
        Ok(Bytes::from(match piece {
            Piece::Silence => ": listening\n\n".to_owned(),
            Piece::Word(event) | Piece::Rest(event) => format!("data: {event}\n\n"),
        }))
    });
    Answer { status: 200, headers: vec![("content-type".into(), "text/event-stream".into())], body: body.boxed() }
}

fn pieces(said: &Said, place: usize, asked: usize) -> Vec<Piece> {
    let delta = |delta: Value| json!({"choices": [{"index": 0, "delta": delta}]}).to_string();
    let words = |text: &str, field: &str| -> Vec<Piece> {
        text.split_inclusive(' ').map(|word| Piece::Word(delta(json!({field: word})))).collect()
    };
    let mut pieces = vec![Piece::Silence];
    pieces.extend(words(said.thought, "reasoning_content"));
    pieces.extend(words(&said.text, "content"));
    let mut written = said.thought.len() + said.text.len();
    for (index, (name, arguments)) in said.calls.iter().enumerate() {
        let arguments = arguments.to_string();
        written += name.len() + arguments.len();
        let function = json!({"name": name, "arguments": arguments});
        let call =
            json!({"index": index, "id": format!("call_{place}_{index}"), "type": "function", "function": function});
        pieces.push(Piece::Rest(delta(json!({"tool_calls": [call]}))));
    }
    let finish = if said.calls.is_empty() { "stop" } else { "tool_calls" };
    let usage = json!({"prompt_tokens": asked / BYTES_OF_A_TOKEN, "completion_tokens": written / BYTES_OF_A_TOKEN});
    let end = json!({"choices": [{"index": 0, "delta": {}, "finish_reason": finish}], "usage": usage});
    pieces.extend([end.to_string(), "[DONE]".to_owned()].map(Piece::Rest));
    pieces
}
