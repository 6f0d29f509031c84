//! A model in the same process that makes its agent say much and then ends: a server would remember every request.

use futures_util::StreamExt as _;
use futures_util::future::BoxFuture;
use futures_util::stream::{self, BoxStream};
use hermes_core::ports::{Card, Model, Switchboard};
use hermes_core::turn::Asked;
use hermes_types::{Assistant, CallId, Delta, Fault, Message, Reply, Request, StopReason, ToolCall, Usage};
use serde_json::json;
use std::sync::Arc;
use std::time::Duration;

/// A question that takes so many commands to answer, each with so many megabytes to say.
pub(crate) fn question(commands: usize, megabytes: usize) -> Asked {
    format!("{commands} {megabytes}").as_str().into()
}

pub(crate) struct Board;

impl Switchboard for Board {
    fn open(&self, place: usize) -> BoxFuture<'_, Result<Option<Arc<dyn Model>>, Fault>> {
        let model = (place == 0).then(|| Arc::new(Talkative { card: card() }) as Arc<dyn Model>);
        Box::pin(std::future::ready(Ok(model)))
    }

    fn refresh<'a>(&'a self, _place: usize, _fault: &'a Fault) -> BoxFuture<'a, Result<Option<Arc<dyn Model>>, Fault>> {
        Box::pin(std::future::ready(Ok(None)))
    }

    fn rotate<'a>(&'a self, _place: usize, _fault: &'a Fault) -> BoxFuture<'a, Option<Arc<dyn Model>>> {
        Box::pin(std::future::ready(None))
    }
}

struct Talkative {
    card: Card,
}

fn card() -> Card {
    Card {
        provider: "soak".into(),
        model: "talkative".into(),
        base_url: String::new(),
        context_window: 200_000,
        output_cap: None,
        stale_after: Duration::from_secs(60),
        first_byte_after: None,
        give_up_after: Duration::from_secs(60),
    }
}

impl Model for Talkative {
    fn card(&self) -> &Card {
        &self.card
    }

    fn stream(&self, request: Arc<Request>) -> BoxStream<'static, Result<Delta, Fault>> {
        let asked = request.messages.iter().rposition(|message| matches!(**message, Message::User(_))).unwrap_or(0);
        let text = request.messages[asked].text();
        let numbers: Vec<usize> = text.split_whitespace().map(|word| word.parse().expect("a number")).collect();
        let [commands, megabytes] = numbers[..] else { panic!("two numbers, not {text}") };
        let is_answered = request.messages.len() > asked + 1;
        let mut message = Assistant { finish_reason: Some(StopReason::Stop), ..Assistant::default() };
        if is_answered || commands == 0 {
            message.content = Some("Much was said.".into());
        } else {
            message.finish_reason = Some(StopReason::ToolCalls);
            message.tool_calls = (0..commands).map(|number| shout(number, megabytes)).collect();
        }
        let usage = Some(Usage { input: 10, output: 10, ..Usage::default() });
        stream::iter([Ok(Delta::Done(Box::new(Reply { message, usage, ..Reply::default() })))]).boxed()
    }
}

/// A command with much to say.
fn shout(number: usize, megabytes: usize) -> ToolCall {
    let command = format!("echo {number}; head -c {megabytes}000000 /dev/zero | tr '\\0' 'x' | fold -w 100");
    let arguments = json!({"command": command}).to_string();
    ToolCall::new(CallId::new(format!("shout_{number}")), "terminal", arguments)
}
