//! An agent in a program of your own: a model, tools, a store and a subscriber, and the two ways to ask.
//!
//! `cargo run -p hermes-agent --example chat` needs no key: the model here is a stand-in that calls one tool and answers.
//! With a real one only [`Switchboard`] changes: `hermes_model::board::Board` is it for every provider of the table.

use futures_util::future::BoxFuture;
use futures_util::stream::{self, BoxStream};
use hermes_agent::{Agent, Beginning, Kit, Settings};
use hermes_core::clock::{Clock, RealClock};
use hermes_core::feed::{Feed, Heard};
use hermes_core::ports::{Card, Model, Switchboard};
use hermes_core::stop::Stop;
use hermes_core::store::SessionStore;
use hermes_core::till::Till;
use hermes_store::SqliteStore;
use hermes_tools::builtin;
use hermes_tools::desk::{Ports, Workshop};
use hermes_tools::face::Nobody;
use hermes_tools::gate::LastingConsent;
use hermes_tools::settings::{Settings as ToolSettings, Surroundings};
use hermes_types::{
    Assistant, CallId, Delta, Event, Fault, Message, NewSession, Reply, Request, SessionId, StopReason, ToolCall,
};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

#[tokio::main(flavor = "current_thread")]
#[expect(clippy::print_stdout, reason = "an example shows what it does")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let home = tempfile::tempdir()?;
    std::fs::write(home.path().join("notes.txt"), "buy milk\n")?;
    let feed = Feed::default();
    let kit = kit(home.path(), &feed).await?;
    let tools: std::collections::BTreeSet<String> =
        kit.registry.describe().iter().map(|tool| tool.card.name.to_string()).collect();
    let session = NewSession {
        system_prompt: Some("You keep notes.".into()),
        ..NewSession::new(SessionId::new("20260102_030405_0a1b2c"), "example")
    };
    let mut agent = Agent::begin(Arc::new(kit), Beginning::new(session, tools));

    // Whoever wants to watch subscribes; telling never waits for them.
    let mut events = feed.subscribe();
    let watching = tokio::spawn(async move {
        while let Some(heard) = events.next().await {
            match heard {
                Heard::Event(event) => match *event {
                    Event::ToolStarted { name, about, .. } => println!("  … {name} {about}"),
                    Event::Answer { .. } => break,
                    _ => {}
                },
                Heard::Missed(count) => println!("  … {count} events were missed"),
            }
        }
    });

    // The short way: the answer, or everything about why there is none.
    match agent.chat("What do my notes say?").await {
        Ok(answer) => println!("{answer}"),
        Err(outcome) => println!("no answer: {}", outcome.end.exit_reason()),
    }
    watching.await?;

    // The long way: the whole outcome. Stopping is a word to `stop`, from any thread.
    let stop = Stop::new();
    let outcome = agent.run_conversation("And now?", &stop).await;
    println!("{:?} after {} model calls: {}", outcome.kind(), outcome.api_calls, outcome.text.unwrap_or_default());
    Ok(())
}

async fn kit(home: &std::path::Path, feed: &Feed) -> Result<Kit, Box<dyn std::error::Error>> {
    let clock: Arc<dyn Clock> = Arc::new(RealClock::default());
    let store: Arc<dyn SessionStore> = Arc::new(SqliteStore::open(&home.join("state.db"), clock.clone()).await?);
    let ports = Ports {
        face: Arc::new(Nobody), // nobody to ask: what is dangerous does not run
        adviser: None,
        aide: None,
        lasting: Arc::new(NothingLasts),
        clock: clock.clone(),
        listener: Arc::new(feed.clone()),
    };
    let shop = Workshop::new(ToolSettings::plain(around(home)), ports);
    let registry = Arc::new(builtin::registry(clock.clone(), &shop.settings, Some(store.clone())));
    Ok(Kit {
        switchboard: Arc::new(OneModel),
        for_children: None,
        shop,
        registry,
        till: Arc::new(Till::new(Some(store.clone()), clock.clone())),
        store: Some(store),
        clock,
        listener: Arc::new(feed.clone()),
        hooks: Vec::new(),
        call_hooks: Vec::new(),
        scribe: None,
        settings: Settings::default(),
    })
}

/// Everything in one folder; a program of yours has the person's own.
fn around(folder: &std::path::Path) -> Surroundings {
    Surroundings {
        home: folder.to_owned(),
        hermes_home: folder.to_owned(),
        hermes_root: folder.to_owned(),
        cwd: folder.to_owned(),
        temp: folder.to_owned(),
        variables: std::env::vars().collect(),
        private_variables: BTreeSet::new(),
    }
}

/// The chain of models: one, and nobody behind it.
struct OneModel;

impl Switchboard for OneModel {
    fn open(&self, place: usize) -> BoxFuture<'_, Result<Option<Arc<dyn Model>>, Fault>> {
        let model = (place == 0).then(|| Arc::new(StandIn { card: card() }) as Arc<dyn Model>);
        Box::pin(std::future::ready(Ok(model)))
    }

    fn refresh<'a>(&'a self, _: usize, _: &'a Fault) -> BoxFuture<'a, Result<Option<Arc<dyn Model>>, Fault>> {
        Box::pin(std::future::ready(Ok(None)))
    }

    fn rotate<'a>(&'a self, _: usize, _: &'a Fault) -> BoxFuture<'a, Option<Arc<dyn Model>>> {
        Box::pin(std::future::ready(None))
    }
}

/// Reads the notes when it has not yet, then says what is in them.
struct StandIn {
    card: Card,
}

impl Model for StandIn {
    fn card(&self) -> &Card {
        &self.card
    }

    fn stream(&self, request: Arc<Request>) -> BoxStream<'static, Result<Delta, Fault>> {
        let result = request.messages.iter().rev().find_map(|message| match &**message {
            Message::Tool(result) => Some(result.content.text()),
            _ => None,
        });
        let message = match result {
            None => Assistant {
                tool_calls: vec![ToolCall::new(CallId::new("call_1"), "read_file", r#"{"path":"notes.txt"}"#)],
                finish_reason: Some(StopReason::ToolCalls),
                ..Assistant::default()
            },
            Some(text) => Assistant {
                content: Some(format!("They say: {text}").into()),
                finish_reason: Some(StopReason::Stop),
                ..Assistant::default()
            },
        };
        let reply = Reply { message, ..Reply::default() };
        Box::pin(stream::iter([Ok(Delta::Done(Box::new(reply)))]))
    }
}

fn card() -> Card {
    Card {
        provider: "example".into(),
        model: "stand-in".into(),
        base_url: String::new(),
        context_window: 8_192,
        output_cap: None,
        stale_after: Duration::from_secs(30),
        first_byte_after: None,
        give_up_after: Duration::from_secs(60),
    }
}

/// Nobody says "always" here.
struct NothingLasts;

impl LastingConsent for NothingLasts {
    fn keep(&self, _keys: &[String]) -> Result<(), String> {
        Err("nobody is asked".into())
    }
}
