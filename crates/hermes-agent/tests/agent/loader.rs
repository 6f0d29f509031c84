//! Whole conversations whose tools come and go: what was sent never moves, and what joined is found and called.

use crate::puppet::{Puppet, answer};
use crate::stage::{MODES, Plan, Stage, in_memory, only, told};
use hermes_agent::{Agent, Beginning};
use hermes_core::stop::Stop;
use hermes_core::store::{Ledger, Tape};
use hermes_core::turn::Asked;
use hermes_model::wire::ApiMode;
use hermes_testkit::{ModelServer, Move};
use hermes_tools::toolset::{Catalogue, Selection};
use hermes_types::{BreakCause, Event, Message, SessionId};
use serde_json::{Value, json};
use std::sync::Arc;

const SESSION: &str = "20260102_030405_5ce4e0";
const CREATE: &str = "mcp__github__create_issue";
const CLOSE: &str = "mcp__github__close_issue";

async fn stage(server: &ModelServer, mode: ApiMode, tools: Value) -> Stage {
    Stage::build(Plan { models: only(server, mode), tools, ..Plan::default() }).await
}

fn with_server() -> Value {
    json!({"mcp_servers": {"github": {"command": "x"}}})
}

/// What the command line begins with: the core, and whatever servers there will be.
fn beginning(stage: &Stage) -> Beginning {
    let catalogue = Catalogue::new(&stage.registry).expecting(["mcp-github"]);
    let grant = catalogue.select(&Selection::of(["hermes-cli", "github"])).grant;
    Beginning { tools: grant, ..stage.beginning(SESSION) }
}

fn begin(stage: &Stage) -> Agent {
    Agent::begin(Arc::new(stage.kit.clone()), beginning(stage))
}

async fn resume(stage: &Stage) -> Agent {
    Agent::resume(Arc::new(stage.kit.clone()), beginning(stage)).await.unwrap()
}

fn issue(name: &'static str) -> Puppet {
    Puppet::changing(name).of("mcp-github")
}

fn search(words: &str) -> Move {
    Move::say("").call("tool_search", json!({ "query": words }))
}

fn through(name: &str, arguments: Value) -> Move {
    Move::say("").call("tool_call", json!({"name": name, "arguments": arguments}))
}

/// The tools of each request, as bytes.
fn tools(server: &ModelServer) -> Vec<String> {
    server.model_requests().iter().map(|request| request.json()["tools"].to_string()).collect()
}

async fn breaks(stage: &Stage) -> Vec<Option<BreakCause>> {
    let found = stage.store.breaks(&SessionId::new(SESSION)).await.unwrap();
    found.into_iter().map(|found| found.cause).collect()
}

/// The server checks with each request that it begins with the bytes of the one before.
#[tokio::test]
async fn tools_come_and_go_and_no_byte_moves() {
    for mode in MODES {
        let server = ModelServer::start([
            search("create an issue"),
            Move::say("There is no such tool yet."),
            search("create an issue"),
            through(CREATE, json!({"n": 1})),
            Move::say("Created."),
            through(CREATE, json!({"n": 2})),
            through(CLOSE, json!({"n": 2})),
            Move::say("Closed."),
        ])
        .await;
        let stage = stage(&server, mode, with_server()).await;
        let mut agent = begin(&stage);
        stage.turn(&mut agent, "Create an issue.").await;
        let create = issue(CREATE).on(&stage);
        let outcome = stage.turn(&mut agent, "Try again.").await;
        assert_eq!((outcome.text.as_deref(), create.ran()), (Some("Created."), vec![json!({"n": 1})]), "{mode:?}");
        stage.registry.deregister(CREATE);
        let close = issue(CLOSE).on(&stage);
        let outcome = stage.turn(&mut agent, "Close it.").await;
        assert_eq!((outcome.text.as_deref(), close.ran()), (Some("Closed."), vec![json!({"n": 2})]), "{mode:?}");
        let history = told(&in_memory(&agent));
        assert_eq!(history[7], "assistant:  -> tool_call", "the history keeps what the model wrote");
        assert!(history[8].starts_with(&format!("{CREATE}: {{\"did\":{{\"n\":1}}")), "{history:?}");
        assert!(history[12].contains("Unknown tool: mcp__github__create_issue"), "it is gone: {history:?}");
        let sent = tools(&server);
        assert!(sent.iter().all(|tools| *tools == sent[0]), "{mode:?}: the list never moved");
        assert!(sent[0].contains("tool_search") && !sent[0].contains("mcp__"), "{}", sent[0]);
        assert_eq!(breaks(&stage).await, []);
        server.finish();
    }
}

#[tokio::test]
async fn without_a_loader_what_joins_is_offered_from_the_next_turn_on_and_the_break_is_named() {
    let mut config = with_server();
    config["tools"] = json!({"tool_search": {"enabled": false}});
    for mode in MODES {
        let server = ModelServer::start([
            Move::say("Nothing there."),
            Move::say("").call(CREATE, json!({"n": 1})),
            Move::say("Created."),
        ])
        .await;
        server.allow_prefix_break("tools");
        let stage = stage(&server, mode, config.clone()).await;
        let mut agent = begin(&stage);
        stage.turn(&mut agent, "Create an issue.").await;
        let create = issue(CREATE).on(&stage);
        let outcome = stage.turn(&mut agent, "Try again.").await;
        assert_eq!((outcome.text.as_deref(), create.ran().len()), (Some("Created."), 1), "{mode:?}");
        assert!(tools(&server)[1].contains(CREATE), "{mode:?}");
        assert_eq!(breaks(&stage).await, [Some(BreakCause::Tools)], "{mode:?}");
    }
}

#[tokio::test]
async fn a_tool_that_was_found_may_be_called_by_its_own_name() {
    for mode in MODES {
        let server = ModelServer::start([
            search("issue"),
            Move::say("").call(CREATE, json!({"n": 1})),
            Move::say("").call(CREATE, json!({"n": 2})),
            Move::say("").call(CREATE, json!({"n": 3})),
            Move::say("Created."),
        ])
        .await;
        let stage = stage(&server, mode, with_server()).await;
        let create = issue(CREATE).on(&stage);
        let mut agent = begin(&stage);
        let outcome = stage.turn(&mut agent, "Create issues.").await;
        assert_eq!(
            (outcome.text.as_deref(), create.ran().len()),
            (Some("Created."), 3),
            "{mode:?}: no strike is counted"
        );
        let steps = stage.steps();
        assert_eq!(
            steps,
            ["tool_search: Done", &format!("{CREATE}: Done"), &format!("{CREATE}: Done"), &format!("{CREATE}: Done")]
        );
        server.finish();
    }
}

/// What a process that is killed leaves behind: the reply is on disk, the effect has begun, no result is there.
#[tokio::test]
async fn a_call_through_the_loader_that_was_cut_off_is_told_by_the_name_of_its_tool() {
    for mode in MODES {
        let server = ModelServer::start([through(CREATE, json!({"n": 1})), Move::say("I look first.")]).await;
        let stage = stage(&server, mode, with_server()).await;
        Puppet::doing(CREATE, |_, _| std::future::pending()).of("mcp-github").on(&stage);
        let mut agent = begin(&stage);
        let stop = Stop::new();
        {
            let turn = agent.run_conversation("Create an issue.", &stop);
            let started = stage.heard(|event| matches!(event, Event::ToolStarted { name, .. } if name == CREATE));
            tokio::select! {
                _ = turn => panic!("it never ends"),
                () = started => {}
            }
        }
        drop(agent);
        let open = stage.store.open_effects(&SessionId::new(SESSION)).await.unwrap();
        assert_eq!(open.iter().map(|effect| effect.tool.as_str()).collect::<Vec<_>>(), [CREATE], "{mode:?}");
        let mut again = resume(&stage).await;
        let outcome = stage.turn(&mut again, Asked::GoOn).await;
        assert_eq!(outcome.text.as_deref(), Some("I look first."), "{mode:?}");
        let history = told(&in_memory(&again));
        let unknown = format!("{CREATE}: {{\"error\":\"Outcome unknown: the program ended while {CREATE} was running.");
        assert!(history[2].starts_with(&unknown), "{history:?}");
        server.finish();
    }
}

#[tokio::test]
async fn who_resumes_has_the_loader_or_not_by_the_settings_of_now() {
    for mode in MODES {
        let server =
            ModelServer::start([Move::say("Nothing to do."), through(CREATE, json!({"n": 1})), Move::say("Created.")])
                .await;
        let mut stage = stage(&server, mode, json!({})).await;
        stage.turn(&mut begin(&stage), "Hello.").await;
        assert!(!tools(&server)[0].contains("tool_search"));
        server.allow_prefix_break("tools");
        stage.refit(with_server());
        let create = issue(CREATE).on(&stage);
        let outcome = stage.turn(&mut resume(&stage).await, "Create an issue.").await;
        assert_eq!((outcome.text.as_deref(), create.ran().len()), (Some("Created."), 1), "{mode:?}");
        assert_eq!(breaks(&stage).await, [Some(BreakCause::Resume)], "{mode:?}");
    }
}

#[tokio::test]
async fn a_sub_agent_reaches_the_servers_of_its_parent_unless_that_is_switched_off() {
    for inherits in [true, false] {
        let mut config = with_server();
        config["delegation"] = json!({"inherit_mcp_toolsets": inherits});
        let server = ModelServer::start([
            Move::say("").call("delegate_task", json!({"goal": "Create an issue"})),
            through(CREATE, json!({"n": 1})),
            Move::say("Tried."),
            Move::say("Done."),
        ])
        .await;
        let stage = stage(&server, ApiMode::ChatCompletions, config).await;
        let create = issue(CREATE).on(&stage);
        let outcome = stage.turn(&mut begin(&stage), "Go.").await;
        assert_eq!((outcome.text.as_deref(), create.ran().len()), (Some("Done."), usize::from(inherits)));
        let of_child = &tools(&server)[1];
        assert_eq!(of_child.contains("tool_search"), inherits, "{of_child}");
        server.finish();
    }
}

#[tokio::test]
async fn calls_through_the_loader_run_side_by_side_and_the_same_one_twice_runs_once() {
    for mode in MODES {
        let both = through(CREATE, json!({"n": 1}))
            .call("tool_call", json!({"name": CREATE, "arguments": {"n": 2}}))
            .call("tool_call", json!({"arguments": {"n": 1}, "name": CREATE}));
        let server = ModelServer::start([both, Move::say("Created.")]).await;
        let stage = stage(&server, mode, with_server()).await;
        let met = Arc::new(tokio::sync::Barrier::new(2));
        let create = Puppet::doing(CREATE, move |arguments, _| {
            let met = met.clone();
            async move {
                met.wait().await;
                answer(&arguments)
            }
        });
        let create = create.of("mcp-github").on(&stage);
        let mut agent = begin(&stage);
        let outcome = stage.turn(&mut agent, "Create two.").await;
        assert_eq!((outcome.text.as_deref(), create.ran().len()), (Some("Created."), 2), "{mode:?}");
        let results = in_memory(&agent).into_iter().filter(|message| matches!(message, Message::Tool(_))).count();
        assert_eq!(results, 3, "one result for each call");
        server.finish();
    }
}
