//! The person stops a turn: while the model is asked, while tools run, between steps, during a pause. Nothing is left
//! running, every call has its result, and the turn can be taken up again.

use crate::play::goes_on;
use crate::puppet::{Puppet, answer};
use crate::stage::{MODES, Plan, Stage, in_memory, only, told};
use futures_util::future::BoxFuture;
use hermes_agent::{Agent, Kit};
use hermes_core::stop::Stop;
use hermes_core::turn::{Asked, End, Interrupted, Opening, Outcome, TurnHook};
use hermes_model::wire::ApiMode;
use hermes_testkit::{ModelServer, Move};
use hermes_types::{Message, OutcomeKind, StopReason};
use serde_json::json;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Every wait ends this soon after an interrupt; the machine may be busy with other tests.
const SOON: Duration = Duration::from_millis(1_500);

async fn real_time(server: &ModelServer, mode: ApiMode) -> Stage {
    Stage::build(Plan { models: only(server, mode), real_time: true, ..Plan::default() }).await
}

/// Runs a turn and stops it as soon as `when` says so.
async fn stopped_when(stage: &Stage, agent: &mut Agent, when: impl Fn() -> bool) -> (Outcome, Duration) {
    let stop = Stop::new();
    let watch = async {
        while !when() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        stop.stop();
        Instant::now()
    };
    let (outcome, stopped_at) = tokio::join!(stage.turn_until(agent, "Go.", &stop), watch);
    (outcome, stopped_at.elapsed())
}

async fn taken_up_again(stage: &Stage, server: &ModelServer, text: &str) {
    server.extend([Move::say(text)]);
    let mut again = stage.resume().await;
    let outcome = stage.turn(&mut again, Asked::GoOn).await;
    assert_eq!(outcome.text.as_deref(), Some(text), "{:?} {:?}", outcome.end, told(&in_memory(&again)));
    goes_on(stage, server).await;
}

#[tokio::test]
async fn while_the_model_is_asked() {
    for mode in MODES {
        let server = ModelServer::start([Move::say("Half a sentence that nobody will").chunk(4).stall_after(6)]).await;
        let stage = real_time(&server, mode).await;
        let mut agent = stage.agent();
        let (outcome, took) = stopped_when(&stage, &mut agent, || !server.model_requests().is_empty()).await;
        assert_eq!(outcome.end, End::Interrupted(Interrupted::WhileAsking), "{mode:?}");
        assert_eq!(
            (outcome.kind(), outcome.end.exit_reason().as_str()),
            (OutcomeKind::Interrupted, "interrupted_during_api_call")
        );
        assert!(took < SOON, "{mode:?}: {took:?}");
        assert_eq!(told(&in_memory(&agent)), ["user: Go."], "half a sentence is no part of the conversation");
        taken_up_again(&stage, &server, "Here is all of it.").await;
        server.finish();
    }
}

#[tokio::test]
async fn during_the_pause_before_a_retry() {
    for mode in MODES {
        let server = ModelServer::start([Move::status(429).header("retry-after", "25")]).await;
        let stage = real_time(&server, mode).await;
        let mut agent = stage.agent();
        let (outcome, took) = stopped_when(&stage, &mut agent, || !server.model_requests().is_empty()).await;
        assert_eq!(outcome.end, End::Interrupted(Interrupted::WhileAsking), "{mode:?}");
        assert!(took < SOON, "{mode:?}: {took:?}");
        taken_up_again(&stage, &server, "Now there is room.").await;
        server.finish();
    }
}

#[tokio::test]
async fn before_anything_was_asked() {
    for mode in MODES {
        let server = ModelServer::start([]).await;
        let stage = Stage::at(&server, mode).await;
        let (stop, mut agent) = (Stop::new(), stage.agent());
        stop.stop();
        let outcome = stage.turn_until(&mut agent, "Go.", &stop).await;
        assert_eq!(outcome.end, End::Interrupted(Interrupted::BetweenSteps), "{mode:?}");
        assert_eq!((outcome.api_calls, told(&in_memory(&agent))), (0, vec!["user: Go.".to_owned()]));
        taken_up_again(&stage, &server, "The question was kept.").await;
        server.finish();
    }
}

#[tokio::test]
async fn between_two_calls_of_one_reply() {
    for mode in MODES {
        let batch =
            Move::say("").call("look", json!({"n": 1})).call("stops", json!({})).call("change", json!({"n": 2}));
        let server = ModelServer::start([batch]).await;
        let stage = Stage::at(&server, mode).await;
        let stop = Stop::new();
        let handle = stop.clone();
        let look = Puppet::looking("look").on(&stage);
        let change = Puppet::changing("change").on(&stage);
        Puppet::doing("stops", move |arguments, _| {
            handle.stop();
            async move { answer(&arguments) }
        })
        .alone()
        .on(&stage);
        let mut agent = stage.agent();
        let outcome = stage.turn_until(&mut agent, "Go.", &stop).await;
        assert_eq!(outcome.end, End::Interrupted(Interrupted::WhileWorking), "{mode:?}");
        assert_eq!((look.ran().len(), change.ran().len()), (1, 0), "what had not begun does not begin");
        let history = told(&in_memory(&agent));
        assert_eq!(history.len(), 5, "one result for each call: {history:?}");
        assert!(history[4].contains("change was not run: the person interrupted"), "{history:?}");
        taken_up_again(&stage, &server, "I was told.").await;
        assert_eq!(change.ran().len(), 0, "taking the turn up again runs nothing that was cancelled");
        server.finish();
    }
}

/// Whether a process with this argument is alive.
fn lives(argument: &str) -> bool {
    let pids = std::fs::read_dir("/proc").unwrap().flatten().map(|entry| entry.path());
    pids.filter_map(|path| std::fs::read(path.join("cmdline")).ok()).any(|line| {
        let words: Vec<&[u8]> = line.split(|byte| *byte == 0).collect();
        words.contains(&argument.as_bytes()) && words.first().is_some_and(|first| first.ends_with(b"sleep"))
    })
}

#[tokio::test]
async fn while_a_command_runs() {
    for (mode, seconds) in MODES.into_iter().zip(["31411", "31412", "31413"]) {
        let command = format!("touch begun && sleep {seconds}");
        let server = ModelServer::start([Move::say("").call("terminal", json!({ "command": command }))]).await;
        let stage = real_time(&server, mode).await;
        let begun = stage.path("begun");
        let mut agent = stage.agent();
        let (outcome, took) = stopped_when(&stage, &mut agent, || Path::exists(&begun) && lives(seconds)).await;
        assert_eq!(outcome.end, End::Interrupted(Interrupted::WhileWorking), "{mode:?}");
        assert!(took < SOON + Duration::from_secs(3), "{mode:?}: {took:?}");
        assert!(!lives(seconds), "no process is left");
        assert_eq!(told(&in_memory(&agent)).len(), 3, "the call has its result");
        taken_up_again(&stage, &server, "It was stopped.").await;
        server.finish();
    }
}

/// The program is gone in the middle of a call: nobody knows what it did, and it is never done twice.
#[tokio::test]
async fn a_turn_that_was_dropped_goes_on_without_doing_anything_twice() {
    for mode in MODES {
        let batch = Move::say("").call("hangs", json!({"n": 1})).call("look", json!({"n": 2}));
        let server = ModelServer::start([batch]).await;
        let stage = Stage::at(&server, mode).await;
        let look = Puppet::looking("look").on(&stage);
        let hangs = Puppet::doing("hangs", |_, _| std::future::pending()).alone().on(&stage);
        let mut agent = stage.agent();
        let stop = Stop::new();
        tokio::select! {
            _ = agent.run_conversation("Go.", &stop) => panic!("it hangs"),
            () = async { while hangs.ran().is_empty() { tokio::time::sleep(Duration::from_millis(5)).await; } } => {}
        }
        drop(agent);
        server.extend([Move::say("Then I look first.")]);
        let mut again = stage.resume().await;
        let outcome = stage.turn(&mut again, Asked::GoOn).await;
        assert_eq!(outcome.text.as_deref(), Some("Then I look first."), "{mode:?}: {:?}", outcome.end);
        assert_eq!(
            (hangs.ran().len(), look.ran().len()),
            (1, 1),
            "what had begun is not run again, what had not is run"
        );
        let history = told(&in_memory(&again));
        assert!(history[2].contains("Outcome unknown: the program ended while hangs was running"), "{history:?}");
        assert!(history[3].contains("did"), "{history:?}");
        goes_on(&stage, &server).await;
        server.finish();
    }
}

/// The same, but the person asks something else: what had not begun stays undone.
#[tokio::test]
async fn a_dropped_turn_can_be_left_behind() {
    for mode in MODES {
        let batch = Move::say("").call("hangs", json!({"n": 1})).call("look", json!({"n": 2}));
        let server = ModelServer::start([batch]).await;
        let stage = Stage::at(&server, mode).await;
        let look = Puppet::looking("look").on(&stage);
        let hangs = Puppet::doing("hangs", |_, _| std::future::pending()).alone().on(&stage);
        let mut agent = stage.agent();
        let stop = Stop::new();
        tokio::select! {
            _ = agent.run_conversation("Go.", &stop) => panic!("it hangs"),
            () = async { while hangs.ran().is_empty() { tokio::time::sleep(Duration::from_millis(5)).await; } } => {}
        }
        drop(agent);
        goes_on(&stage, &server).await;
        let history = told(&stage.on_disk(&hermes_types::SessionId::new("20260102_030405_5ce4e0")).await);
        assert!(history[2].contains("Outcome unknown"), "{history:?}");
        assert!(history[3].contains("look was not run: the program ended before it"), "{history:?}");
        assert_eq!(history[4], "assistant: (no answer: the turn ended before it)");
        assert_eq!(look.ran().len(), 0);
        server.finish();
    }
}

#[tokio::test]
async fn a_turn_that_is_over_cannot_be_taken_up_again() {
    for mode in MODES {
        let server = ModelServer::start([Move::say("Done.")]).await;
        let stage = Stage::at(&server, mode).await;
        stage.turn(&mut stage.agent(), "Go.").await;
        let outcome = stage.turn(&mut stage.resume().await, Asked::GoOn).await;
        assert_eq!((outcome.end.clone(), outcome.api_calls), (End::NothingOpen, 0), "{mode:?}");
        server.finish();
    }
}

/// A turn whose future is gone, in a program that lives: what its calls did is on disk alone, and counts.
#[tokio::test]
async fn an_agent_whose_turn_was_dropped_knows_what_was_done() {
    for mode in MODES {
        for asked in [Asked::GoOn, Asked::from("Something else.")] {
            let batch = Move::say("").call("change", json!({"n": 1})).call("hangs", json!({"n": 2}));
            let server = ModelServer::start([batch, Move::say("I see.")]).await;
            let stage = Stage::at(&server, mode).await;
            let change = Puppet::changing("change").alone().on(&stage);
            let hangs = Puppet::doing("hangs", |_, _| std::future::pending()).alone().on(&stage);
            let mut agent = stage.agent();
            let stop = Stop::new();
            tokio::select! {
                _ = agent.run_conversation("Go.", &stop) => panic!("it hangs"),
                () = async { while hangs.ran().is_empty() { tokio::time::sleep(Duration::from_millis(5)).await; } } => {}
            }
            let outcome = stage.turn(&mut agent, asked).await;
            assert_eq!(outcome.text.as_deref(), Some("I see."), "{mode:?}: {:?}", outcome.end);
            assert_eq!((change.ran().len(), hangs.ran().len()), (1, 1), "{mode:?}: nothing is done twice");
            let history = told(&in_memory(&agent));
            assert!(history[2].contains(r#"{"did":{"n":1}}"#), "what is done is told as done: {history:?}");
            assert!(history[3].contains("Outcome unknown"), "{history:?}");
            goes_on(&stage, &server).await;
            server.finish();
        }
    }
}

/// The person gets to read all of an answer that came in parts, also when it was stopped between two of them.
#[tokio::test]
async fn between_two_parts_of_an_answer() {
    for mode in MODES {
        let cut = Move::say("One, ").stop(StopReason::Length);
        let server = ModelServer::start([cut, Move::say("two.").chunk(1).stall_after(3)]).await;
        let stage = real_time(&server, mode).await;
        let mut agent = stage.agent();
        let (outcome, _) = stopped_when(&stage, &mut agent, || server.model_requests().len() == 2).await;
        assert_eq!(outcome.end, End::Interrupted(Interrupted::WhileAsking), "{mode:?}");
        server.extend([Move::say("two.")]);
        let outcome = stage.turn(&mut stage.resume().await, Asked::GoOn).await;
        assert_eq!(outcome.text.as_deref(), Some("One, two."), "{mode:?}");
        server.finish();
    }
}

/// All iterations are used, and the person does not wait for what there is to say about it.
#[tokio::test]
async fn during_the_last_word() {
    for mode in MODES {
        let look = Move::say("").call("look", json!({}));
        let server = ModelServer::start([look, Move::say("So far.").chunk(1).stall_after(3)]).await;
        let mut plan = Plan { models: only(&server, mode), real_time: true, ..Plan::default() };
        plan.settings.iterations = 1;
        let stage = Stage::build(plan).await;
        Puppet::looking("look").on(&stage);
        let mut agent = stage.agent();
        let (outcome, took) = stopped_when(&stage, &mut agent, || server.model_requests().len() == 2).await;
        assert_eq!(outcome.end, End::Interrupted(Interrupted::WhileAsking), "{mode:?}");
        assert!(took < SOON, "{mode:?}: {took:?}");
        taken_up_again(&stage, &server, "One look, nothing found.").await;
        server.finish();
    }
}

/// Somebody who recalls things for the question, and never comes back.
struct Lost;

impl TurnHook for Lost {
    fn begins<'a>(&'a self, _opening: Opening<'a>) -> BoxFuture<'a, Option<String>> {
        Box::pin(std::future::pending())
    }

    fn ended<'a>(&'a self, _history: &'a [Arc<Message>], _outcome: &'a Outcome) -> BoxFuture<'a, ()> {
        Box::pin(std::future::pending())
    }
}

#[tokio::test]
async fn while_a_hook_hangs() {
    let server = ModelServer::start([]).await;
    let stage = real_time(&server, ApiMode::ChatCompletions).await;
    let kit = Kit { hooks: vec![Arc::new(Lost)], ..stage.kit.clone() };
    let mut agent = Agent::begin(Arc::new(kit), stage.beginning("20260102_030405_5ce4e0"));
    let waited = tokio::time::timeout(Duration::from_secs(20), stopped_when(&stage, &mut agent, || true)).await;
    let (outcome, _) = waited.expect("an interrupt ends every wait");
    assert_eq!(outcome.end, End::Interrupted(Interrupted::BetweenSteps));
    assert_eq!(told(&in_memory(&agent)), ["user: Go."], "the question is kept");
    taken_up_again(&stage, &server, "Without what it recalls.").await;
    server.finish();
}
