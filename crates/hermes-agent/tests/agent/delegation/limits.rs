//! How many, how deep, how often, and for how much.

use super::*;
use hermes_agent::Settings;
use hermes_core::turn::End;
use hermes_core::turn::budget::{Caps, Limits};

#[tokio::test]
async fn calls_of_one_reply_share_the_seats() {
    let both =
        Move::say("").call("delegate_task", json!({"goal": "first"})).call("delegate_task", json!({"goal": "second"}));
    let server = ModelServer::start([both, Move::say(DONE)]).await;
    for goal in ["first", "second"] {
        server.when_asked(goal, [run("sleep 0.1"), Move::say("Done.")]);
    }
    let stage = stage_with(&server, json!({"max_concurrent_children": 1})).await;
    let mut agent = stage.agent();
    go(&stage, &mut agent).await;
    assert_eq!(results(&stage, agent.session()).await.len(), 2);
    let mut order: Vec<SessionId> = Vec::new();
    for event in stage.events() {
        if let Event::Subagent { session_id, .. } = event
            && order.last() != Some(&session_id)
        {
            order.push(session_id);
        }
    }
    assert_eq!(order.len(), 2, "one begins when the other has ended: {order:?}");
    server.finish();
}

#[tokio::test]
async fn more_tasks_than_seats_are_refused_before_anything_begins() {
    let tasks: Vec<Value> = (0..4).map(|n| json!({"goal": format!("task {n}")})).collect();
    let server = ModelServer::start(delegating(json!({ "tasks": tasks }))).await;
    let stage = stage_with(&server, json!({})).await;
    let mut agent = stage.agent();
    let outcome = go(&stage, &mut agent).await;
    let error = results(&stage, agent.session()).await.remove(0)["error"].to_string();
    assert!(error.contains("4 tasks") && error.contains("at most 3"), "{error}");
    assert_eq!((children(&stage).await.len(), outcome.completed()), (0, true));
    server.finish();
}

#[tokio::test]
async fn the_whole_tree_pays_from_one_purse() {
    let [delegate, answer] = delegating(json!({"goal": "Spend"}));
    let server = ModelServer::start([counted(delegate, 10, 1), counted(answer, 20, 2)]).await;
    server.when_asked("Spend", [counted(Move::say("Spent."), 300, 30)]);
    let stage = stage_with(&server, json!({})).await;
    let outcome = go(&stage, &mut stage.agent()).await;
    assert_eq!(outcome.usage, Some(Usage { input: 30, output: 3, ..Usage::default() }));
    assert_eq!(outcome.usage_of_all, Some(Usage { input: 330, output: 33, ..Usage::default() }));
    let [child] = children(&stage).await.try_into().unwrap();
    assert_eq!((child.usage.input, child.usage.output), (300, 30), "each session has its own account");
    let answers = stage.events().into_iter().filter_map(|event| match event {
        Event::Subagent { event, .. } => match *event {
            Event::Answer { usage, .. } => usage,
            _ => None,
        },
        _ => None,
    });
    let spent = Usage { input: 300, output: 30, ..Usage::default() };
    assert_eq!(answers.collect::<Vec<_>>(), [spent], "what others spent is not its own");
    server.finish();
}

#[tokio::test]
async fn a_limit_that_a_sub_agent_reaches_ends_the_turn_of_its_parent_too() {
    let [delegate, _] = delegating(json!({"goal": "Spend"}));
    let server = ModelServer::start([counted(delegate, 10, 1)]).await;
    server.when_asked("Spend", [counted(Move::say("More.").call("todo", json!({})), 300, 30)]);
    let turn = Caps { tokens: Some(200), ..Caps::default() };
    let limits = Limits { turn, ..Limits::default() };
    let settings = Settings { limits, ..Plan::default().settings };
    let stage = Stage::build(Plan { models: only(&server, CHAT), settings, ..Plan::default() }).await;
    let mut agent = stage.agent();
    let outcome = go(&stage, &mut agent).await;
    assert!(matches!(outcome.end, End::OverBudget(_)), "{:?}", outcome.end);
    let entry = entries(&stage, &agent).await.remove(0);
    assert_eq!((&entry["status"], &entry["summary"]), (&json!("failed"), &json!("More.")));
    assert!(entry["error"].as_str().unwrap().contains("200 tokens"), "{entry}");
    server.finish();
}

/// What the sub-agents of a sub-agent spent is remembered in the next turn too.
#[tokio::test]
async fn a_limit_of_the_session_counts_every_generation() {
    let [delegate, answer] = delegating(json!({"goal": "Lead", "role": "orchestrator"}));
    let server = ModelServer::start([counted(delegate, 10, 1), counted(answer, 90, 10)]).await;
    let [hand_on, report] = delegating(json!({"goal": "Spend"}));
    server.when_asked("Lead", [counted(hand_on, 10, 1), counted(report, 10, 1)]);
    server.when_asked("Spend", [counted(Move::say("Spent."), 300, 30)]);
    let session = Caps { tokens: Some(400), ..Caps::default() };
    let settings = Settings { limits: Limits { session, ..Limits::default() }, ..Plan::default().settings };
    let tools = json!({"delegation": {"max_spawn_depth": 2}});
    let stage = Stage::build(Plan { models: only(&server, CHAT), settings, tools, ..Plan::default() }).await;
    let mut agent = stage.agent();
    assert!(go(&stage, &mut agent).await.completed(), "the last call began below the limit");
    let outcome = stage.turn(&mut agent, "And now?").await;
    assert!(matches!(outcome.end, End::OverBudget(_)), "{:?}", outcome.end);
    server.finish();
}

#[tokio::test]
async fn one_that_uses_all_its_iterations_reports_what_there_is() {
    let server = ModelServer::start(delegating(json!({"goal": "Try"}))).await;
    server.when_asked("Try", [run("true"), run("true && true"), Move::say("I tried twice.")]);
    let stage = stage_with(&server, json!({"max_iterations": 2})).await;
    let mut agent = stage.agent();
    go(&stage, &mut agent).await;
    let entry = entries(&stage, &agent).await.remove(0);
    assert_eq!((&entry["status"], &entry["exit_reason"]), (&json!("completed"), &json!("max_iterations")));
    assert_eq!((&entry["summary"], &entry["api_calls"]), (&json!("I tried twice."), &json!(3)));
    server.finish();
}

#[tokio::test]
async fn where_no_depth_is_allowed_nothing_is_delegated() {
    let server = ModelServer::start(delegating(json!({"goal": "Dig"}))).await;
    let stage = stage_with(&server, json!({"max_spawn_depth": 0})).await;
    let mut agent = stage.agent();
    go(&stage, &mut agent).await;
    let error = results(&stage, agent.session()).await.remove(0)["error"].to_string();
    assert!(error.contains("delegation.max_spawn_depth"), "{error}");
    assert_eq!(children(&stage).await.len(), 0);
    server.finish();
}
