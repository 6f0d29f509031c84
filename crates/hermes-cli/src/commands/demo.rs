//! `hermes demo`: a scripted model through the real path, for people without a key or a network.
//!
//! Everything is as in a real call (request encoding, event parsing, decoding, recovery, output) except that the
//! transport plays a script instead of opening a socket. The first attempt fails on purpose, so that one sees recovery.

use crate::args::{Form, OutputFormat};
use crate::commands::waiting::stop_on_signal;
use crate::output::{Aside, Screen, Show};
use bytes::Bytes;
use futures_util::future::BoxFuture;
use futures_util::{FutureExt, StreamExt, stream};
use hermes_core::ask::{Line, Manner, Ports, ask};
use hermes_core::clock::RealClock;
use hermes_core::ports::{Card, Listener, Model, Switchboard, Unrecorded};
use hermes_core::turn::End;
use hermes_model::provider::Provider;
use hermes_model::transport::{Answer, Call, Tls, Transport};
use hermes_model::voice::{Defaults, Endpoint, Voice};
use hermes_model::wire::{ApiMode, Login, Target};
use hermes_types::{EVENT_VERSION, Event, Fault, FaultKind, Message, Object, Request, SessionId};
use serde_json::json;
use std::io::IsTerminal;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

const QUESTION: &str = "What can you do for me?";
const THOUGHT: &str = "The person is new here. Say plainly what just happened, and what to type next.";
const ANSWER: &str = "\
Hello! I am a stand-in: no model was asked and nothing left this machine. But these words came to you the real way. Your \
question was encoded for the wire, the first attempt failed on purpose and was made again, and this answer arrived as a \
stream of events that were decoded one by one.\n\n\
To talk to a real model, one of these is enough:\n\n\
- a key: hermes config set OPENROUTER_API_KEY <key>\n\
- a local server: start Ollama, LM Studio, llama.cpp or vLLM; it is found\n\
- any endpoint: hermes config set model.base_url http://host:8000/v1\n\n\
Then ask: hermes -z \"why is the sky blue?\"\n";
/// Words appear at a pace a person can read.
const PACE: Duration = Duration::from_millis(60);

pub async fn run(form: Form) -> ExitCode {
    let stop = stop_on_signal();
    let screen = Screen::new(
        Show {
            format: form.format(),
            aside: Aside::Everything,
            command: "hermes demo",
            usage_file: form.usage_file.clone(),
        },
        SessionId::new("demo"),
        stop.clone(),
    );
    screen.show_reasoning(true);
    if form.format() == OutputFormat::Text {
        screen.line(&format!("› {QUESTION}\n"));
    }
    screen.hear(Event::Started {
        version: EVENT_VERSION,
        session_id: SessionId::new("demo"),
        provider: "demo".into(),
        model: "scripted".into(),
    });
    let pace = if std::io::stdout().is_terminal() { PACE } else { Duration::ZERO };
    let board = DemoBoard { script: Arc::new(Script { calls: AtomicUsize::new(0), pace }) };
    let clock = RealClock::default();
    let ports = Ports { switchboard: &board, clock: &clock, listener: &screen, recorder: &Unrecorded };
    let manner = Manner { retries: 3, live: screen.is_live(), seed: 1 };
    let request = Request::new("demo", [Message::user(QUESTION)]);
    let mut line = Line::default();
    let result = tokio::select! {
        biased;
        result = ask(request, &mut line, manner, &ports, &stop) => result,
        never = screen.keep_time() => match never {},
    };
    let mut outcome = screen.unasked(Fault::new(FaultKind::Unknown, ""));
    outcome.api_calls = line.calls();
    match result {
        Ok(reply) => {
            outcome.end = End::Answered(reply.stop_reason());
            outcome.text = Some(reply.text());
            outcome.reasoning.clone_from(&reply.message.reasoning);
            outcome.usage_of_all = reply.usage;
        }
        Err(fault) => outcome = screen.unasked(fault),
    }
    screen.finish(&outcome)
}

struct DemoBoard {
    script: Arc<Script>,
}

impl Switchboard for DemoBoard {
    fn open(&self, place: usize) -> BoxFuture<'_, Result<Option<Arc<dyn Model>>, Fault>> {
        let opened = if place == 0 { endpoint().map(Some) } else { Ok(None) };
        let transport: Arc<dyn Transport> = self.script.clone();
        let model =
            opened.map(|found| found.map(|endpoint| Arc::new(Voice::new(endpoint, transport)) as Arc<dyn Model>));
        std::future::ready(model).boxed()
    }

    fn refresh<'a>(&'a self, _: usize, _: &'a Fault) -> BoxFuture<'a, Result<Option<Arc<dyn Model>>, Fault>> {
        std::future::ready(Ok(None)).boxed()
    }

    fn rotate<'a>(&'a self, _: usize, _: &'a Fault) -> BoxFuture<'a, Option<Arc<dyn Model>>> {
        std::future::ready(None).boxed()
    }
}

fn endpoint() -> Result<Endpoint, Fault> {
    let broken = || Fault::new(FaultKind::Unknown, "the demo's endpoint is not in the provider table");
    let base_url = url::Url::parse("http://demo.invalid/v1").map_err(|_| broken())?;
    let provider = Provider::find("custom").ok_or_else(broken)?;
    Ok(Endpoint {
        mode: ApiMode::ChatCompletions,
        target: Target { provider, base_url, login: Login::None, extra_body: Object::new() },
        credential: None,
        headers: Vec::new(),
        defaults: Defaults::default(),
        tls: Tls::default(),
        stale: None,
        card: Card {
            provider: "demo".into(),
            model: "scripted".into(),
            base_url: String::new(),
            context_window: 8192,
            output_cap: None,
            stale_after: Duration::from_secs(30),
            first_byte_after: None,
            give_up_after: Duration::from_secs(60),
        },
    })
}

/// Fails once, then streams the answer.
struct Script {
    calls: AtomicUsize,
    pace: Duration,
}

impl Transport for Script {
    fn send(&self, _call: Call) -> BoxFuture<'static, Result<Answer, Fault>> {
        let first = self.calls.fetch_add(1, Ordering::Relaxed) == 0;
        let answer = if first { overloaded() } else { streamed(self.pace) };
        std::future::ready(Ok(answer)).boxed()
    }
}

fn overloaded() -> Answer {
    let body = json!({"error": {"message": "a made-up hiccup", "code": 500}}).to_string();
    Answer { status: 500, headers: Vec::new(), body: stream::iter([Ok(Bytes::from(body))]).boxed() }
}

fn streamed(pace: Duration) -> Answer {
    let delta = |delta: serde_json::Value| json!({"choices": [{"index": 0, "delta": delta}]}).to_string();
    let mut events: Vec<String> = Vec::new();
    events.extend(words(THOUGHT).map(|word| delta(json!({"reasoning_content": word}))));
    events.extend(words(ANSWER).map(|word| delta(json!({"content": word}))));
    events.push(
        json!({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}],
            "usage": {"prompt_tokens": 6, "completion_tokens": 120}})
        .to_string(),
    );
    events.push("[DONE]".into());
    let body = stream::iter(events).then(move |event| async move {
        if !pace.is_zero() {
            tokio::time::sleep(pace).await;
        }
        Ok(Bytes::from(format!("data: {event}\n\n")))
    });
    Answer { status: 200, headers: vec![("content-type".into(), "text/event-stream".into())], body: body.boxed() }
}

fn words(text: &'static str) -> impl Iterator<Item = &'static str> {
    text.split_inclusive(' ')
}
