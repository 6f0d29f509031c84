//! Hears an answer out through the real voice: only the network is missing.

use bytes::Bytes;
use futures_util::future::{BoxFuture, FutureExt};
use futures_util::stream::StreamExt;
use hermes_core::ports::{Card, Model};
use hermes_model::provider::Provider;
use hermes_model::transport::{Answer, Call, Tls, Transport};
use hermes_model::voice::{Defaults, Endpoint, Voice};
use hermes_model::wire::{ApiMode, End, Login, Target};
use hermes_types::{Delta, Fault, FaultKind, Message, Object, Reply, Request};
use std::sync::Arc;
use std::time::Duration;

/// What a listener got from an answer.
#[derive(Debug, Clone, PartialEq)]
pub struct Heard {
    /// Everything shown on the way, pieces joined.
    pub text: String,
    pub reasoning: String,
    /// Names of the calls that were announced.
    pub announced: Vec<String>,
    pub outcome: Result<Reply, Fault>,
}

/// The body in these pieces, ended in this way.
pub fn listen(mode: ApiMode, pieces: &[&[u8]], end: End) -> Heard {
    let pieces = pieces.iter().map(|piece| Bytes::copy_from_slice(piece)).collect();
    let voice = Voice::new(endpoint(mode), Arc::new(Tape { pieces, end }));
    let request = Arc::new(Request::new("m", [Message::user("hi")]));
    let deltas = voice.stream(request).collect::<Vec<_>>().now_or_never().expect("nothing here waits");
    let mut heard = Heard {
        text: String::new(),
        reasoning: String::new(),
        announced: Vec::new(),
        outcome: Err(Fault::new(FaultKind::Unknown, "the stream ended without an outcome")),
    };
    for delta in deltas {
        match delta {
            Ok(Delta::Text(text)) => heard.text.push_str(&text),
            Ok(Delta::Reasoning(text)) => heard.reasoning.push_str(&text),
            Ok(Delta::ToolCallStarted(name)) => heard.announced.push(name),
            Ok(Delta::Alive | Delta::Sent(_)) => {}
            Ok(Delta::Done(reply)) => heard.outcome = Ok(*reply),
            Err(fault) => heard.outcome = Err(fault),
        }
    }
    heard
}

fn endpoint(mode: ApiMode) -> Endpoint {
    let minute = Duration::from_secs(60);
    let (provider, model) = ("custom".to_owned(), "m".to_owned());
    Endpoint {
        mode,
        target: Target {
            provider: Provider::find("custom").expect("a row of the table"),
            base_url: "http://127.0.0.1/v1".parse().expect("a URL"),
            login: Login::None,
            extra_body: Object::new(),
            cache: None,
        },
        credential: None,
        headers: Vec::new(),
        defaults: Defaults::default(),
        tls: Tls::default(),
        stale: None,
        card: Card {
            provider,
            model,
            base_url: String::new(),
            context_window: 100_000,
            output_cap: None,
            stale_after: minute,
            first_byte_after: None,
            give_up_after: minute,
        },
    }
}

/// A server whose answer is known in advance.
struct Tape {
    pieces: Vec<Bytes>,
    end: End,
}

impl Transport for Tape {
    fn send(&self, _call: Call) -> BoxFuture<'static, Result<Answer, Fault>> {
        let broken = match self.end {
            End::Whole => None,
            End::Cut => Some(Err(Fault::new(FaultKind::Timeout, "connection reset"))),
        };
        let body = self.pieces.clone().into_iter().map(Ok).chain(broken).collect::<Vec<_>>();
        let headers = vec![("content-type".to_owned(), "text/event-stream".to_owned())];
        let body = futures_util::stream::iter(body).boxed();
        async move { Ok(Answer { status: 200, headers, body }) }.boxed()
    }
}
