//! Conversations that grow beyond the window of their model.

mod cut_off;
mod overflow;
mod request;
mod summaries;

use crate::puppet::Puppet;
use crate::stage::{MODES, Plan, Stage, only};
use hermes_agent::{Agent, Settings};
use hermes_core::context::Policy;
use hermes_core::store::{Sessions, Tape, Transcript};
use hermes_model::wire::ApiMode;
use hermes_testkit::{ModelServer, Move, Received};
use hermes_types::{EndReason, Event, Message, Notice, OutcomeKind, SessionId};
use serde_json::json;
use std::sync::Arc;

const FIRST: &str = "20260102_030405_5ce4e0";
const RULE: &str = "Read all the files. Never touch secret.txt.";
const SUMMARY: &str = "## Goal\nTo look at many things.\n\n## Completed Actions\n1. Looked.";
/// A window in which prompt and tools leave room for a few steps.
const WINDOW: u64 = 60_000;
/// So many steps fill it.
const STEPS: usize = 16;

async fn stage(server: &ModelServer, mode: ApiMode, window: u64) -> Stage {
    let stage = with_policy(server, mode, window, Policy::default()).await;
    for n in 0..60 {
        stage.write(&format!("file{n}.txt"), &format!("{n:04} {}\n", "some words in a line ".repeat(5)).repeat(36));
    }
    stage
}

async fn with_policy(server: &ModelServer, mode: ApiMode, window: u64, policy: Policy) -> Stage {
    let mut models = only(server, mode);
    models["model"]["context_length"] = json!(window);
    let usual = Plan::default();
    let settings = Settings { compression: policy, ..usual.settings };
    let stage = Stage::build(Plan { models, settings, ..usual }).await;
    Puppet::looking("look").on(&stage);
    for _ in 0..20 {
        server.allow_prefix_break("compression");
    }
    stage
}

/// A model that thinks aloud while it looks, so that leaving out results alone saves nothing, and then answers. Asked for
/// a summary, it does something else.
async fn thinking_aloud(summary: impl Fn() -> Move + Send + 'static) -> ModelServer {
    let mut step = 0;
    ModelServer::directed(move |request| {
        if asks_for_summary(request) {
            return summary();
        }
        step += 1;
        if step <= STEPS { aloud(step) } else { Move::say("All is said.").no_usage() }
    })
    .await
}

fn aloud(step: usize) -> Move {
    Move::say(&format!("{step}: {}", "I think about this. ".repeat(450))).call("look", json!({"n": step})).no_usage()
}

fn asks_for_summary(request: &Received) -> bool {
    String::from_utf8_lossy(&request.raw).contains("Summarise this conversation so far")
}

/// The sessions of the conversation that have not ended.
async fn live(stage: &Stage) -> Vec<SessionId> {
    let mut live = Vec::new();
    for one in stage.store.lineage(&SessionId::new(FIRST)).await.unwrap() {
        if stage.store.session(&one.id).await.unwrap().is_some_and(|session| session.end_reason.is_none()) {
            live.push(one.id);
        }
    }
    live
}

/// Another program goes on where the conversation is now.
async fn at_the_tip(stage: &Stage) -> Agent {
    let tip = stage.store.tip(&SessionId::new(FIRST)).await.unwrap();
    Agent::resume(Arc::new(stage.kit.clone()), stage.beginning(tip.as_str())).await.unwrap()
}

fn told_why(events: &[Event]) -> Vec<String> {
    let told = events.iter().filter_map(|event| match event {
        Event::Notice { notice: Notice::NotCompressed { reason, .. } } => Some(reason.clone()),
        Event::Notice { notice: Notice::Warning { text } } => Some(text.clone()),
        _ => None,
    });
    told.collect()
}

fn reading(n: usize) -> Move {
    Move::say("").call("read_file", json!({"path": format!("file{n}.txt")})).no_usage()
}

fn compressions(events: &[Event]) -> Vec<(String, String)> {
    let told = events.iter().filter_map(|event| match event {
        Event::Compressed { trigger, phase, .. } => Some((trigger.clone(), phase.clone())),
        _ => None,
    });
    told.collect()
}

#[tokio::test]
async fn old_results_make_room_and_can_be_read_again() {
    for mode in MODES {
        let server =
            ModelServer::start((0..14).map(reading).chain([Move::say("All read.").no_usage()]).collect::<Vec<_>>())
                .await;
        for _ in 0..4 {
            server.allow_prefix_break("compression");
        }
        let stage = stage(&server, mode, 24_000).await;
        let mut agent = stage.agent();
        let outcome = stage.turn(&mut agent, RULE).await;
        assert_eq!((outcome.kind(), outcome.text.as_deref()), (OutcomeKind::Answered, Some("All read.")), "{mode:?}");
        let told = compressions(&stage.events());
        assert!(!told.is_empty() && told.iter().all(|one| *one == ("threshold".into(), "prune".into())), "{told:?}");

        // The conversation goes on in another session; the old one keeps everything.
        assert_ne!(agent.session().as_str(), FIRST);
        let first = SessionId::new(FIRST);
        let old = stage.store.session(&first).await.unwrap().unwrap();
        assert_eq!(old.end_reason, Some(EndReason::COMPRESSION));
        assert_eq!(stage.store.tip(&first).await.unwrap(), *agent.session());
        let breaks = stage.store.breaks(agent.session()).await.unwrap();
        assert!(breaks.is_empty(), "each session is a prefix of itself: {breaks:?}");

        // What was left out is named in its place, and is there.
        let history = stage.on_disk(agent.session()).await;
        assert_eq!(history[0].text(), RULE);
        let line = history.iter().map(Message::text).find(|text| text.starts_with("[left out: ")).expect("a line");
        let row: i64 =
            line.split("\"message_id\": ").nth(1).and_then(|rest| rest.split('}').next()).unwrap().parse().unwrap();
        let kept = stage.store.messages(&first).await.unwrap();
        let whole = kept.iter().find(|kept| kept.id.0 == row).expect("it is kept");
        assert!(whole.message.text().contains("some words in a line"), "{mode:?}");
        drop(server.take_violations());
    }
}

#[tokio::test]
async fn whoever_holds_the_old_session_goes_on_where_another_made_it_shorter() {
    let greeted = [Move::say("Hello.").no_usage()];
    let read =
        (0..14).map(reading).chain([Move::say("All read.").no_usage(), Move::say("It is still here.").no_usage()]);
    let server = ModelServer::start(greeted.into_iter().chain(read).collect::<Vec<_>>()).await;
    let stage = stage(&server, MODES[0], 24_000).await;
    let mut one = stage.agent();
    stage.turn(&mut one, "Hello?").await;
    let mut other = stage.resume().await;
    stage.turn(&mut one, RULE).await;
    assert_ne!(one.session().as_str(), FIRST);
    let outcome = stage.turn(&mut other, "And now?").await;
    assert_eq!(outcome.text.as_deref(), Some("It is still here."), "{:?}", outcome.end);
    assert_eq!((other.session(), &outcome.session), (one.session(), one.session()));
    drop(server.take_violations());
}
