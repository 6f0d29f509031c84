//! Sub-agents that do not come to their end by themselves, and what is left of them: a report, and no process.

use super::*;
use hermes_core::ports::{Model, Switchboard};
use hermes_core::turn::Asked;
use hermes_tools::desk::Cx;
use hermes_tools::effects::Effects;
use hermes_tools::gate::Permit;
use hermes_tools::registry::Replace;
use hermes_tools::tool::{Card, Output, Tool, ToolError};
use hermes_types::{Fault, Object};

#[tokio::test(flavor = "multi_thread")]
async fn one_that_takes_too_long_is_stopped_and_tells_what_it_has() {
    let server = ModelServer::start(delegating(json!({"goal": "Wait"}))).await;
    server.when_asked(
        "Wait",
        [Move::say("I looked around first.").call("terminal", json!({"command": "sleep 1017.25", "timeout": 600}))],
    );
    let stage = stage_with(&server, json!({"child_timeout_seconds": 45})).await;
    let mut agent = stage.agent();
    let (outcome, ()) = tokio::join!(go(&stage, &mut agent), async {
        stage.heard(started(0, "terminal")).await;
        until(|| is_running("1017.25")).await;
        stage.clock.advance(Duration::from_secs(31));
        let spoken_for = |event: &Event| {
            matches!(event, Event::Subagent { event, .. }
                if matches!(&**event, Event::Notice { notice: Notice::Waiting { seconds: 31 } }))
        };
        stage.heard(spoken_for).await;
        stage.clock.advance(Duration::from_secs(15));
    });
    assert_eq!(outcome.text.as_deref(), Some(DONE));
    let entry = entries(&stage, &agent).await.remove(0);
    assert_eq!((&entry["status"], &entry["exit_reason"]), (&json!("timeout"), &json!("timeout")));
    assert_eq!((&entry["summary"], &entry["api_calls"]), (&json!("I looked around first."), &json!(1)));
    assert_eq!(entry["tool_trace"][0]["tool"], "terminal");
    assert!(entry["error"].as_str().unwrap().contains("stopped after 45 s"), "{entry}");
    assert!(!is_running("1017.25"));
    assert_eq!(reason(&children(&stage).await[0]), "timeout");
    server.finish();
}

#[tokio::test(flavor = "multi_thread")]
async fn an_interrupt_reaches_everything_below() {
    let tasks = json!([{"goal": "oak"}, {"goal": "pine"}]);
    let server = ModelServer::start([Move::say("").call("delegate_task", json!({ "tasks": tasks }))]).await;
    server.when_asked("oak", [run("sleep 1018.25")]);
    server.when_asked(
        "pine",
        [Move::say("").call("terminal", json!({"command": "sleep 1019.25", "background": true})), run("sleep 1020.25")],
    );
    let stage = stage_with(&server, json!({})).await;
    let mut agent = stage.agent();
    let stop = Stop::new();
    let commands = ["1018.25", "1019.25", "1020.25"];
    let (outcome, ()) = tokio::join!(stage.turn_until(&mut agent, "Please see to it.", &stop), async {
        until(|| commands.iter().all(|command| is_running(command))).await;
        stop.stop();
    });
    assert_eq!(outcome.kind(), OutcomeKind::Interrupted);
    assert_eq!(commands.map(is_running), [false; 3]);
    let entries = entries(&stage, &agent).await;
    assert_eq!(each(&entries, "status"), ["interrupted", "interrupted"]);
    for child in children(&stage).await {
        assert_eq!(reason(&child), "interrupted");
        assert!(said_in(&stage, &child.id).await.contains("interrupted"), "every call has its result");
    }
    server.finish();
}

/// A tool that hears nothing.
struct Statue;

impl Tool for Statue {
    type Args = Object;

    fn card(&self) -> Card {
        Card::new("statue", "stone", "Stands.", json!({"type": "object", "properties": {}}))
    }

    fn effects(&self, _args: &Object, _cx: &Cx) -> Result<Effects, ToolError> {
        Ok(Effects::none())
    }

    async fn call(&self, _args: Object, _permit: Permit, _cx: &Cx) -> Result<Output, ToolError> {
        std::future::pending().await
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn one_that_does_not_hear_the_stop_is_dropped_and_reports_nevertheless() {
    let server = ModelServer::start([Move::say("").call("delegate_task", json!({"goal": "Stand"}))]).await;
    server.when_asked(
        "Stand",
        [
            Move::say("").call("terminal", json!({"command": "sleep 1021.25", "background": true})),
            counted(Move::say("I stand.").call("statue", json!({})), 40, 4),
        ],
    );
    let stage = stage_with(&server, json!({})).await;
    stage.registry.register(Statue, Replace::Refuse).unwrap();
    let mut agent = stage.agent();
    let stop = Stop::new();
    let (outcome, ()) = tokio::join!(stage.turn_until(&mut agent, "Please see to it.", &stop), async {
        stage.heard(started(0, "statue")).await;
        until(|| is_running("1021.25")).await;
        stop.stop();
    });
    assert_eq!(outcome.kind(), OutcomeKind::Interrupted);
    let entry = entries(&stage, &agent).await.remove(0);
    assert_eq!((&entry["status"], &entry["summary"]), (&json!("interrupted"), &json!("I stand.")));
    assert_eq!(
        entry["tool_trace"][1],
        json!({"tool": "statue", "args_bytes": 2, "result_bytes": 0, "status": "error"})
    );
    assert!(entry["tokens"]["output"].as_u64() >= Some(4), "what it used is known: {entry}");
    assert!(!is_running("1021.25"));
    let is_end =
        |event: &Event| matches!(event, Event::Subagent { event, .. } if matches!(&**event, Event::Failed { .. }));
    assert_eq!(stage.events().iter().filter(|event| is_end(event)).count(), 1);
    server.finish();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_turn_that_is_dropped_takes_its_sub_agents_and_their_processes_along() {
    let server = ModelServer::start([Move::say("").call("delegate_task", json!({"goal": "Serve"}))]).await;
    server.when_asked(
        "Serve",
        [Move::say("").call("terminal", json!({"command": "sleep 1022.25", "background": true})), run("sleep 1023.25")],
    );
    let stage = stage_with(&server, json!({})).await;
    let mut agent = stage.agent();
    let stop = Stop::new();
    tokio::select! {
        _ = agent.run_conversation("Please see to it.", &stop) => panic!("it works for a long time"),
        () = until(|| is_running("1022.25") && is_running("1023.25")) => {}
    }
    until(|| !is_running("1022.25") && !is_running("1023.25")).await;
    let [child] = children(&stage).await.try_into().unwrap();
    let waiting = async {
        while stage.store.session(&child.id).await.unwrap().unwrap().end_reason.is_none() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(60), waiting).await.expect("its end is written down");

    // Whoever goes on with the conversation is told the truth, and nobody is sent again.
    server.extend([Move::say("I will look at what is there.")]);
    let mut again = stage.resume().await;
    let outcome = stage.turn(&mut again, Asked::GoOn).await;
    assert_eq!(outcome.text.as_deref(), Some("I will look at what is there."));
    let told = results(&stage, again.session()).await;
    assert!(told[0]["error"].as_str().unwrap().starts_with("Outcome unknown"), "{told:?}");
    assert_eq!(children(&stage).await.len(), 1);
    server.finish();
}

#[tokio::test]
async fn what_a_sub_agent_leaves_running_ends_with_its_report() {
    let server = ModelServer::start(delegating(json!({"goal": "Serve"}))).await;
    server.when_asked(
        "Serve",
        [
            Move::say("").call("terminal", json!({"command": "sleep 1024.25", "background": true})),
            Move::say("It serves."),
        ],
    );
    let stage = stage_with(&server, json!({})).await;
    let mut agent = stage.agent();
    go(&stage, &mut agent).await;
    assert_eq!(each(&entries(&stage, &agent).await, "status"), ["completed"]);
    assert!(!is_running("1024.25"));
    server.finish();
}

#[tokio::test(flavor = "multi_thread")]
async fn one_that_waits_for_a_seat_hears_an_interrupt_too() {
    let both = Move::say("")
        .call("delegate_task", json!({"goal": "tree: fir"}))
        .call("delegate_task", json!({"goal": "tree: elm"}));
    let server = ModelServer::start([both]).await;
    // Whoever has the seat.
    server.when_asked("tree", [run("sleep 1025.25")]);
    let stage = stage_with(&server, json!({"max_concurrent_children": 1})).await;
    let mut agent = stage.agent();
    let stop = Stop::new();
    let (_, ()) = tokio::join!(stage.turn_until(&mut agent, "Please see to it.", &stop), async {
        until(|| is_running("1025.25")).await;
        stop.stop();
    });
    let told = results(&stage, agent.session()).await;
    let calls = told.iter().map(|result| result["results"][0]["api_calls"].as_u64().unwrap()).sum::<u64>();
    assert_eq!((told.len(), calls), (2, 1), "{told:?}");
    assert!(told.iter().all(|result| result["results"][0]["status"] == "interrupted"), "{told:?}");
    assert_eq!(children(&stage).await.len(), 1, "the other one never began");
    server.finish();
}

/// Finds no model, and not even says so.
struct Panics;

impl Switchboard for Panics {
    fn open(&self, _place: usize) -> BoxFuture<'_, Result<Option<Arc<dyn Model>>, Fault>> {
        panic!("as the test wants it")
    }

    fn refresh<'a>(&'a self, _: usize, _: &'a Fault) -> BoxFuture<'a, Result<Option<Arc<dyn Model>>, Fault>> {
        Box::pin(std::future::ready(Ok(None)))
    }

    fn rotate<'a>(&'a self, _: usize, _: &'a Fault) -> BoxFuture<'a, Option<Arc<dyn Model>>> {
        Box::pin(std::future::ready(None))
    }
}

#[tokio::test]
async fn a_panic_inside_of_a_sub_agent_is_its_report() {
    let server = ModelServer::start(delegating(json!({"goal": "Stumble"}))).await;
    let mut stage = stage_with(&server, json!({})).await;
    stage.kit.for_children = Some(Arc::new(Panics));
    let mut agent = stage.agent();
    let outcome = go(&stage, &mut agent).await;
    assert!(outcome.completed());
    let entry = entries(&stage, &agent).await.remove(0);
    assert_eq!((&entry["status"], &entry["exit_reason"]), (&json!("error"), &json!("error")));
    assert!(entry["error"].as_str().unwrap().contains("bug"), "{entry}");
    assert_eq!(reason(&children(&stage).await[0]), "error");
    server.finish();
}
