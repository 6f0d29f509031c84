//! A server that dies, hangs, restarts, changes its list or talks nonsense costs one call, never the conversation.

use crate::stage::{Plan, Stage, chaos, lives};
use hermes_mcp::State;
use hermes_testkit::FakeClock;
use hermes_tools::run::{Disposition, Status};
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;

async fn plain() -> Stage {
    Stage::with_chaos("plain", json!({}), Plan::default()).await
}

fn error(result: &Value) -> &str {
    result["error"].as_str().unwrap_or_default()
}

#[tokio::test]
async fn a_server_brings_its_tools_and_answers() {
    let stage = plain().await;
    let report = stage.report();
    assert_eq!((report.state, report.trouble.as_deref()), (State::Ready, None));
    for name in ["mcp__box__echo", "mcp__box__old", "mcp__box__list_resources", "mcp__box__get_prompt"] {
        assert!(report.tools.iter().any(|tool| tool == name), "{name} of {:?}", report.tools);
    }
    assert_eq!(stage.registry.aliased("box").as_deref(), Some("mcp-box"));
    let echo = stage.finished("mcp__box__echo", json!({"text": "hello there, a longer text"})).await;
    let framed = echo.content.text();
    assert!(framed.starts_with("<untrusted_tool_result source=\"mcp__box__echo\">"), "{framed}");
    let answered = crate::stage::unframed(&framed);
    let said = "hello there, a longer text";
    assert_eq!(answered, json!({"result": said, "structuredContent": {"said": said}}));
    assert_eq!(stage.call("bump", json!({})).await, json!({"result": "1"}));
    assert_eq!(
        stage.call("list_resources", json!({})).await,
        json!({"resources": [{"uri": "demo://one", "name": "one"}]})
    );
    assert_eq!(stage.call("read_resource", json!({"uri": "demo://one"})).await, json!({"result": "the first"}));
    let greeting = json!({"description": null, "messages": [{"role": "user", "content": "Greet Ada"}]});
    assert_eq!(stage.call("get_prompt", json!({"name": "greet", "arguments": {"who": "Ada"}})).await, greeting);
    let picture = stage.call("picture", json!({})).await;
    let path = picture["result"].as_str().unwrap().strip_prefix("MEDIA:").unwrap().to_owned();
    assert_eq!(std::fs::read(path).unwrap(), b"hello");
    stage.close().await;
}

#[tokio::test]
async fn schemas_are_mended() {
    let stage = plain().await;
    let sent: Value = serde_json::from_str(&stage.schemas()).unwrap();
    let echo = sent.as_array().unwrap().iter().find(|tool| tool["name"] == "mcp__box__echo").unwrap();
    let expected = json!({
        "$defs": {"Words": {"type": "string"}},
        "properties": {"text": {"$ref": "#/$defs/Words"}},
        "required": ["text"],
        "type": "object"
    });
    assert_eq!(echo["parameters"], expected);
    stage.close().await;
}

#[tokio::test]
async fn a_server_that_dies_in_mid_call_costs_that_call_and_says_that_the_outcome_is_unknown() {
    let stage = plain().await;
    let before = stage.schemas();
    let died = stage.finished("mcp__box__die", json!({})).await;
    assert_eq!((died.status, died.disposition), (Status::Failed, Disposition::Unknown));
    let told = crate::stage::unframed(&died.content.text());
    assert!(error(&told).contains("is not known: look before you do it again"), "{told}");
    assert_eq!(told["outcome"], "unknown");
    let bumped = stage.call("bump", json!({})).await;
    assert_eq!(bumped, json!({"result": "2"}), "the call ran once, and the next one finds a new server");
    assert_eq!(stage.lines("starts").len(), 2);
    assert_eq!(stage.schemas(), before, "nothing that a model has seen moved");
    stage.close().await;
}

#[tokio::test]
async fn a_look_that_was_lost_is_taken_again() {
    let stage = plain().await;
    assert_eq!(stage.call("look", json!({})).await, json!({"result": "seen"}));
    assert_eq!((stage.lines("starts").len(), stage.lines("looks").len()), (2, 2));
    stage.close().await;
}

#[tokio::test]
async fn one_that_hangs_costs_that_call_and_is_gone_on_with() {
    let stage = Stage::with_chaos("plain", json!({"timeout": 0.3}), Plan::default()).await;
    let hung = stage.finished("mcp__box__hang", json!({})).await;
    assert_eq!(hung.disposition, Disposition::Unknown);
    let told = crate::stage::unframed(&hung.content.text());
    assert!(error(&told).starts_with("the MCP server box did not answer within 0.3 s"), "{told}");
    assert_eq!(stage.call("echo", json!({"text": "hi"})).await["result"], "hi", "it listens still, and goes on");
    assert_eq!(stage.lines("starts").len(), 1);
    stage.close().await;
}

#[tokio::test]
async fn one_that_does_not_even_listen_any_more_is_replaced() {
    let clock = FakeClock::new();
    let plan = Plan { clock: Arc::new(clock.clone()), ..Plan::default() };
    let stage = Stage::with_chaos("plain", json!({"timeout": 10}), plan).await;
    let (frozen, ()) = tokio::join!(stage.finished("mcp__box__freeze", json!({})), async {
        stage.until("frozen", || !stage.lines("bumps").is_empty()).await;
        clock.advance(Duration::from_secs(11));
    });
    assert_eq!(frozen.disposition, Disposition::Unknown);
    stage.passing(&clock, Duration::from_secs(11), || stage.lines("starts").len() == 2).await;
    stage.becomes_ready().await;
    assert_eq!(stage.call("bump", json!({})).await, json!({"result": "2"}));
    assert!(!lives(&stage.lines("starts")[0]), "the old one is gone");
    stage.close().await;
}

#[tokio::test]
async fn nonsense_between_answers_is_passed_over() {
    let stage = Stage::with_chaos("plain", json!({"timeout": 20}), Plan::default()).await;
    assert_eq!(stage.call("garbage", json!({})).await, json!({"result": "after garbage"}));
    assert_eq!(stage.call("huge", json!({})).await, json!({"result": "after a long line"}));
    assert_eq!(stage.lines("starts").len(), 1);
    stage.close().await;
}

#[tokio::test]
async fn an_answer_to_another_question_is_none() {
    let stage = Stage::with_chaos("plain", json!({"timeout": 0.3}), Plan::default()).await;
    let told = stage.call("wrong_id", json!({})).await;
    assert!(error(&told).contains("did not answer within 0.3 s"), "{told}");
    stage.close().await;
}

#[tokio::test]
async fn refusals_and_failures_are_told_without_secrets() {
    let stage = plain().await;
    assert_eq!(stage.call("refuse", json!({})).await, json!({"error": "not like that"}));
    let failed = stage.call("fail", json!({})).await;
    assert!(error(&failed).starts_with("no such thing, token="), "{failed}");
    assert!(!error(&failed).contains("abcdefghijklmnopqrstuvwxyz"), "{failed}");
    stage.close().await;
}

#[tokio::test]
async fn tools_come_and_go_and_the_rest_does_not_move() {
    let stage = plain().await;
    let definition = |tool: &str| stage.registry.definitions(&[format!("mcp__box__{tool}")].into());
    let (echo, generation) = (definition("echo"), stage.registry.generation());
    assert_eq!(stage.call("change", json!({})).await, json!({"result": "changed"}));
    stage.becomes("changed", |report| report.tools.iter().any(|tool| tool == "mcp__box__new")).await;
    assert!(!stage.registry.has("mcp__box__old"));
    assert_eq!(definition("echo"), echo);
    let moved = stage.registry.generation() - generation;
    assert_eq!(moved, 3, "one came, one went, and the alias; nothing else was registered again");
    assert_eq!(stage.call("new", json!({})).await, json!({"result": "done"}));
    stage.close().await;
}

#[tokio::test]
async fn one_that_dies_at_its_start_is_tried_again_and_explains_itself() {
    let clock = FakeClock::new();
    let plan = Plan { clock: Arc::new(clock.clone()), ..Plan::default() };
    let stage = Stage::with_chaos("late", json!({}), plan).await;
    stage.becomes_ready().await;
    assert_eq!(stage.lines("starts").len(), 3);
    assert_eq!(clock.pauses(), [Duration::from_secs(1), Duration::from_secs(2)]);
    assert_eq!(stage.call("echo", json!({"text": "hi"})).await["result"], "hi");
    stage.close().await;
}

#[tokio::test]
async fn one_that_never_starts_is_parked_and_tried_now_and_then() {
    let clock = FakeClock::new();
    let plan = Plan { clock: Arc::new(clock.clone()), ..Plan::default() };
    let stage = Stage::with_chaos("stillborn", json!({}), plan).await;
    stage.becomes("parked", |report| report.state == State::Away).await;
    stage.until("four attempts", || stage.lines("starts").len() == 4).await;
    stage.becomes("explained", |report| report.trouble.is_some()).await;
    let trouble = stage.report().trouble.unwrap();
    assert!(trouble.contains("cannot open the database") && !trouble.contains("hunter2hunter2"), "{trouble}");
    assert_eq!(stage.report().tools, Vec::<String>::new());
    let log = std::fs::read_to_string(stage.home().join("logs/mcp-stderr.log")).unwrap();
    assert!(log.contains("[box] chaos: cannot open the database") && !log.contains("hunter2hunter2"), "{log}");
    stage.passing(&clock, Duration::from_secs(301), || stage.lines("starts").len() == 5).await;
    stage.close().await;
}

#[tokio::test]
async fn one_that_never_says_hello_is_ended_after_its_time() {
    let clock = FakeClock::new();
    let plan = Plan { clock: Arc::new(clock.clone()), ..Plan::default() };
    let stage = Stage::begun(plan, |folder| json!({"box": chaos("mute", folder, &json!({"connect_timeout": 9}))}));
    stage.until("started", || !stage.lines("starts").is_empty()).await;
    let first = stage.lines("starts")[0].clone();
    clock.advance(Duration::from_secs(10));
    stage.becomes("given up", |report| report.trouble.is_some()).await;
    assert_eq!(stage.report().trouble.as_deref(), Some("it did not say hello within 9 s"));
    stage.until("ended", || !lives(&first)).await;
    stage.close().await;
}

#[tokio::test]
async fn three_failures_in_a_row_and_the_server_is_left_alone() {
    let stage = Stage::with_chaos("plain", json!({"timeout": 0.1}), Plan::default()).await;
    for _ in 0..3 {
        let told = stage.call("hang", json!({})).await;
        assert!(error(&told).contains("did not answer"), "{told}");
    }
    let told = stage.call("echo", json!({"text": "hi"})).await;
    assert!(error(&told).contains("is left alone for"), "{told}");
    stage.close().await;
}

#[tokio::test]
async fn a_program_that_nobody_uses_rests_and_is_woken_by_a_call() {
    let clock = FakeClock::new();
    let plan = Plan { clock: Arc::new(clock.clone()), ..Plan::default() };
    let stage = Stage::with_chaos("plain", json!({"idle_timeout_seconds": 30}), plan).await;
    let before = stage.schemas();
    stage.passing(&clock, Duration::from_secs(31), || stage.report().state == State::Resting).await;
    assert!(!lives(&stage.lines("starts")[0]));
    assert_eq!(stage.schemas(), before, "its tools stay");
    assert_eq!(stage.call("echo", json!({"text": "hi"})).await["result"], "hi");
    assert_eq!(stage.lines("starts").len(), 2);
    stage.close().await;
}

#[tokio::test]
async fn an_interrupt_ends_the_wait_at_once() {
    let stage = plain().await;
    let (finished, ()) = tokio::join!(stage.finished("mcp__box__slow", json!({"seconds": 60})), async {
        tokio::time::sleep(Duration::from_millis(100)).await;
        stage.stop.stop();
    });
    assert_eq!((finished.status, finished.disposition), (Status::Cancelled, Disposition::Unknown));
    stage.close().await;
}

#[tokio::test]
async fn nothing_is_left_behind_and_few_variables_are_shown() {
    let variables =
        [("OPENAI_API_KEY".to_owned(), "sk-hush".to_owned()), ("XDG_DATA_HOME".to_owned(), "/x".to_owned())];
    let plan = Plan { variables: variables.into(), ..Plan::default() };
    let stage = Stage::with_chaos("plain", json!({"env": {"MINE": "1"}}), plan).await;
    let seen = stage.call("surroundings", json!({})).await;
    let seen: Vec<String> = serde_json::from_str(seen["result"].as_str().unwrap()).unwrap();
    assert!(seen.iter().any(|name| name == "MINE") && seen.iter().any(|name| name == "XDG_DATA_HOME"), "{seen:?}");
    assert!(!seen.iter().any(|name| name.contains("OPENAI")), "{seen:?}");
    let pid = stage.lines("starts")[0].clone();
    assert!(lives(&pid));
    let state = stage.state("starts");
    stage.close().await;
    assert!(!lives(&pid), "of {state:?}");
}

#[tokio::test]
async fn one_that_dies_whenever_it_was_reached_is_given_longer_and_longer_pauses() {
    let clock = FakeClock::new();
    let plan = Plan { clock: Arc::new(clock.clone()), ..Plan::default() };
    let stage = Stage::with_chaos("mayfly", json!({}), plan).await;
    stage.until("five lives", || stage.lines("starts").len() >= 5).await;
    let pauses: Vec<u64> = clock.pauses().iter().map(Duration::as_secs).take(3).collect();
    assert_eq!(pauses, [2, 4, 8], "the first loss is mended at once, the next ones are not");
    stage.close().await;
}

#[tokio::test]
async fn one_that_never_stops_saying_that_its_tools_changed_is_heard_now_and_then() {
    let clock = FakeClock::new();
    let plan = Plan { clock: Arc::new(clock.clone()), ..Plan::default() };
    let stage = Stage::with_chaos("restless", json!({}), plan).await;
    stage.until("listed again", || stage.lines("listed1").len() == 2).await;
    assert_eq!(stage.call("echo", json!({"text": "hi"})).await["result"], "hi", "calls are not kept waiting");
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert_eq!(stage.lines("listed1").len(), 2, "no time has passed since");
    clock.advance(Duration::from_secs(1));
    stage.until("and again", || stage.lines("listed1").len() == 3).await;
    stage.close().await;
}

#[tokio::test]
async fn names_words_and_sizes_of_a_crafty_server_do_no_harm() {
    let stage = Stage::with_chaos("crafty", json!({}), Plan::default()).await;
    let tools = stage.report().tools;
    let alike: Vec<&String> = tools.iter().filter(|name| name.starts_with("mcp__box__read_file")).collect();
    assert_eq!(alike.len(), 2, "both can be called: {alike:?}");
    assert!(tools.iter().all(|name| name.len() <= 64), "{tools:?}");
    assert!(tools.iter().any(|name| name.starts_with("mcp__box__xxx")), "{tools:?}");
    assert!(!stage.registry.has("mcp__box__bloated"), "what no model should read is not offered");
    let steer = stage.registry.definitions(&["mcp__box__steer".to_owned()].into()).remove(0);
    assert!(steer.description.starts_with("[left out: it may want to steer the agent ("), "{}", steer.description);
    assert_eq!(steer.parameters["properties"], json!({"note": {"type": "string"}}), "{}", steer.parameters);
    assert_eq!(stage.call("steer", json!({"note": "x"})).await, json!({"result": "done"}));
    stage.close().await;
}

/// Kilobytes that this process holds.
fn memory() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

#[tokio::test]
async fn a_server_that_asks_without_end_and_never_listens_fills_no_memory() {
    let stage = Stage::with_chaos("plain", json!({"timeout": 3}), Plan::default()).await;
    let before = memory();
    let told = stage.call("flood", json!({})).await;
    let grown = memory().saturating_sub(before);
    assert!(error(&told).contains("did not answer within 3 s"), "it is not heard before it listens: {told}");
    assert!(grown < 100_000, "{grown} kB for answers that nobody reads");
    stage.close().await;
}
