//! The forms for programs: one JSON object, a stream of events, the usage file. Whole values are compared; the streams are
//! golden files, and the examples in `docs/events.md` are lines of them.

use super::*;
use hermes_core::turn::budget::{Exhausted, Span};
use hermes_core::turn::{End, Interrupted};
use hermes_testkit::{Move, golden};
use hermes_types::{Event, Fault, FaultKind, Usage, Usd};
use serde_json::{Value, json};
use std::time::Duration;

const GOLDEN: &str = "tests/oneshot/golden";
const STREAMS: [&str; 11] = [
    "answer",
    "retry",
    "fallback",
    "failed",
    "waiting",
    "tools",
    "last_word",
    "over_budget",
    "price_unknown",
    "compressed",
    "not_compressed",
];

/// The same value with the parts that differ from run to run made equal, after a look at their shape.
fn settled(mut value: Value, server: &ModelServer) -> Value {
    if let Some(id) = value.get_mut("session_id") {
        assert!(id.as_str().is_some_and(is_session_id), "{id}");
        *id = "20260102_030405_0a1b2c".into();
    }
    if let Some(delay) = value.pointer_mut("/notice/delay_ms") {
        assert!(delay.as_u64().is_some_and(|delay| (250..=375).contains(&delay)), "{delay}");
        *delay = 300.into();
    }
    if let Some(duration) = value.get_mut("duration_ms") {
        assert!(duration.as_u64().is_some_and(|duration| duration < 20_000), "{duration}");
        *duration = 4.into();
    }
    if let Some(seconds) = value.pointer_mut("/notice/seconds") {
        assert!(seconds.as_u64().is_some_and(|seconds| (2..10).contains(&seconds)), "{seconds}");
        *seconds = 2.into();
    }
    settle_sizes(&mut value);
    let text = value.to_string().replace(&server.root_url(), "http://127.0.0.1:8000");
    serde_json::from_str(&text).expect("still JSON")
}

/// How long a conversation is depends on where it is held: the prompt names the folder.
fn settle_sizes(value: &mut Value) {
    if let (Some(before), Some(after)) = (value["tokens_before"].as_u64(), value["tokens_after"].as_u64()) {
        assert!(before > after, "{value}");
        value["tokens_before"] = 32_100.into();
        value["tokens_after"] = 9_400.into();
    }
    if let Some(tokens) = value.pointer_mut("/notice/tokens") {
        assert!(tokens.as_u64().is_some_and(|tokens| tokens > 0), "{tokens}");
        *tokens = 32_100.into();
    }
}

fn parsed(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

fn spoken() -> Move {
    let usage = Usage {
        input: 7,
        output: 5,
        cache_read: 2,
        cache_write: 1,
        cache_write_1h: 0,
        reasoning: 3,
        cost: Usd::from_f64(0.0015),
    };
    Move::say("")
        .reasoning("Short waves.")
        .text("Blue light scatters more.")
        .chunk(12)
        .usage(usage)
        .model("rehearsal-model-0102")
}

#[tokio::test]
async fn json_is_one_object_for_success_and_failure() {
    let server = ModelServer::start([spoken(), Move::status(402)]).await;
    let world = home_at(&server);
    let page = std::fs::read_to_string("../../docs/events.md").expect("the page");
    for (code, expected) in [
        (
            0,
            json!({
                "type": "result", "version": 1, "outcome": "answered", "session_id": "20260102_030405_0a1b2c",
                "provider": "custom:rehearsal", "model": "rehearsal-model", "api_calls": 1, "iterations": 1,
                "tool_calls": 0, "exit_reason": "text_response(finish_reason=stop)",
                "text": "Blue light scatters more.", "reasoning": "Short waves.", "stop_reason": "stop",
                "usage": {"input_tokens": 7, "output_tokens": 5, "cache_read_tokens": 2, "cache_write_tokens": 1,
                    "reasoning_tokens": 3, "cost": 0.0015},
                "cost": {"usd": 0.0015, "status": "actual", "source": "provider_cost_api"},
            }),
        ),
        (
            1,
            json!({
                "type": "result", "version": 1, "outcome": "failed", "session_id": "20260102_030405_0a1b2c",
                "provider": "custom:rehearsal", "model": "rehearsal-model", "api_calls": 1, "iterations": 1,
                "tool_calls": 0, "exit_reason": "api_error(billing)",
                "error": {"kind": "billing", "message": "HTTP 402: scripted status 402"},
            }),
        ),
    ] {
        let ran = hermes(&world, &["-z", "hi", "--output-format", "json"]).await.expect_code(code);
        assert_eq!(ran.stderr, "");
        let result = settled(parsed(&ran.stdout), &server);
        assert_eq!(result, expected);
        assert!(page.contains(&format!("\n{result}\n")), "the page does not show {result}");
    }
    server.finish();
}

#[tokio::test]
async fn nothing_configured_is_json_too() {
    let ran = hermes(&nowhere(), &["-z", "hi", "--output-format", "json"]).await.expect_code(1);
    let told = parsed(&ran.stdout);
    assert_eq!(
        (&told["outcome"], &told["error"]["kind"], &told["api_calls"]),
        (&json!("failed"), &json!("not_configured"), &json!(0))
    );
    assert_eq!(ran.stderr, "");
}

/// Runs the stream of a script and holds it against its golden file.
async fn stream(name: &str, code: i32, script: impl Into<hermes_testkit::Script>) {
    stream_with(name, code, "", &[], script).await;
}

/// The same with a model that reads no more than so many tokens at once.
async fn stream_in_window(name: &str, window: u64, script: impl Into<hermes_testkit::Script>) {
    let server = ModelServer::start(script).await;
    server.allow_prefix_break("compression");
    let world = home_with_window(&server, window);
    record(name, 0, &world, server, &[]).await;
}

/// The same with more settings and flags.
async fn stream_with(name: &str, code: i32, more: &str, flags: &[&str], script: impl Into<hermes_testkit::Script>) {
    let server = ModelServer::start(script).await;
    let fallback = "fallback_providers:\n  - provider: custom:spare\n    model: spare-model\n";
    let spare = format!("  - name: spare\n    base_url: {}\n    key_env: REHEARSAL_KEY\n", server.base_url());
    let world = home_at(&server);
    let world = world.config(&format!("{}{spare}{fallback}{more}", settings(&server.base_url(), "chat_completions")));
    record(name, code, &world, server, flags).await;
}

/// Runs the stream and holds it against its golden file.
async fn record(name: &str, code: i32, world: &World, server: ModelServer, flags: &[&str]) {
    std::fs::write(world.work_dir().join("notes.txt"), "milk\n").expect("written");
    let flags = [&["-z", "hi", "--output-format", "stream-json"], flags].concat();
    let ran = hermes(world, &flags).await.expect_code(code);
    assert_eq!(ran.stderr, "");
    let lines = ran.stdout.lines().map(|line| {
        let event: Event = serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
        assert_eq!(serde_json::to_string(&event).expect("an event"), line, "a line is exactly one event");
        format!("{}\n", settled(parsed(line), &server))
    });
    golden(format!("{GOLDEN}/{name}.jsonl"), &lines.collect::<String>());
    server.finish();
}

#[tokio::test]
async fn streams_are_what_they_were() {
    stream("answer", 0, spoken()).await;
    stream("retry", 0, [Move::say("Blue li").chunk(7).cut_after(2), spoken()]).await;
    stream("fallback", 0, [Move::status(402), spoken()]).await;
    stream("failed", 1, [Move::status(401), Move::status(401)]).await;
    stream("waiting", 0, spoken().delay(Duration::from_millis(3000))).await;
}

fn look(path: &str) -> Move {
    Move::say("Let me look.").chunk(20).call("read_file", json!({"path": path}))
}

#[tokio::test]
async fn streams_of_turns_with_tools_are_what_they_were() {
    let unknown = Move::say("").call("get_weather", json!({"city": "Rome"}));
    stream("tools", 0, [look("notes.txt"), unknown, spoken()]).await;
    let moves = [look("notes.txt"), look("missing.txt"), Move::say("There is milk.").chunk(20)];
    stream_with("last_word", 1, "", &["--max-turns", "2"], moves).await;
    stream_with("over_budget", 1, "budget:\n  turn_tokens: 100\n", &[], [look("notes.txt")]).await;
    let priceless = [look("notes.txt"), Move::say("Milk.")];
    stream_with("price_unknown", 0, "budget:\n  turn_usd: 5\n", &[], priceless).await;
}

#[tokio::test]
async fn streams_of_long_conversations_are_what_they_were() {
    let count = |from: u32| Move::say("").call("terminal", json!({"command": format!("seq {from} {}", from + 1999)}));
    let counts = [1000, 3000, 5000, 7000].map(|from| count(from).no_usage());
    let moves: Vec<Move> = counts.into_iter().chain([Move::say("All counted.").chunk(20).no_usage()]).collect();
    stream_in_window("compressed", 28_000, moves).await;
    stream_in_window("not_compressed", 2_000, [Move::say("Hello.").chunk(20).no_usage()]).await;
}

#[test]
fn the_examples_in_the_documentation_are_real() {
    let page = std::fs::read_to_string("../../docs/events.md").expect("the page");
    let golden: String =
        STREAMS.map(|name| std::fs::read_to_string(format!("{GOLDEN}/{name}.jsonl")).expect("a golden file")).concat();
    let examples: Vec<&str> = page.lines().filter(|line| line.starts_with(r#"{"type":"#)).collect();
    for example in &examples {
        let event =
            serde_json::from_str::<Event>(example).map(|event| serde_json::to_string(&event).expect("an event"));
        let is_result = parsed(example)["type"] == "result";
        assert!(is_result || event.is_ok_and(|event| event == *example), "not an event of this version: {example}");
    }
    for kind in names_of(r#"{"type":"?"}"#) {
        let shown = examples.iter().any(|example| parsed(example)["type"] == kind.as_str());
        assert!(shown, "no example of the event {kind}");
    }
    for what in names_of(r#"{"type":"notice","notice":{"what":"?"}}"#) {
        let shown = examples.iter().any(|example| parsed(example)["notice"]["what"] == what.as_str());
        assert!(shown, "no example of the notice {what}");
    }
    for end in every_end() {
        let reason = end.exit_reason();
        let word = reason.split_once('(').map_or(reason.as_str(), |(word, _)| word);
        assert!(page.contains(&format!("| `{word}")), "no row for the exit reason {reason}");
    }
    for kind in FaultKind::ALL {
        let word = serde_json::to_value(kind).expect("a kind");
        let row = word.as_str().map_or_else(|| r#"| `{"refused": …}` |"#.to_owned(), |word| format!("| `{word}` |"));
        assert!(page.contains(&row), "no row for {word}");
    }
    let from_golden = examples.iter().filter(|example| golden.lines().any(|line| line == **example)).count();
    assert!(from_golden >= 20, "only {from_golden} examples are lines of golden files");
}

/// The names that could stand in place of `?`, as the reader of events lists them.
fn names_of(unknown: &str) -> Vec<String> {
    let error = serde_json::from_str::<Event>(unknown).expect_err("no such name").to_string();
    let (_, expected) = error.split_once("expected one of ").expect("the names");
    expected.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

/// One of each way a turn can end. A new way does not compile until it is here.
fn every_end() -> Vec<End> {
    let reached = Exhausted { span: Span::Turn, key: "budget.turn_usd".into(), message: String::new() };
    let first = End::Answered(hermes_types::StopReason::Stop);
    std::iter::successors(Some(first), |end| {
        Some(match end {
            End::Answered(_) => End::SaidBefore,
            End::SaidBefore => End::LastWord { used: 2, most: 2 },
            End::LastWord { .. } => End::BrokenOff,
            End::BrokenOff => End::TooLong,
            End::TooLong => End::ThoughtTooLong,
            End::ThoughtTooLong => End::CutCalls,
            End::CutCalls => End::UnknownTools,
            End::UnknownTools => End::Empty,
            End::Empty => End::Filtered,
            End::Filtered => End::Interrupted(Interrupted::BetweenSteps),
            End::Interrupted(Interrupted::BetweenSteps) => End::Interrupted(Interrupted::WhileAsking),
            End::Interrupted(Interrupted::WhileAsking) => End::Interrupted(Interrupted::WhileWorking),
            End::Interrupted(Interrupted::WhileWorking) => End::OverBudget(reached.clone()),
            End::OverBudget(_) => End::Unanswered(Fault::new(FaultKind::Auth, "")),
            End::Unanswered(_) => End::Aborted(String::new()),
            End::Aborted(_) => End::NotKept(String::new()),
            End::NotKept(_) => End::NothingOpen,
            End::NothingOpen => End::Taken(String::new()),
            End::Taken(_) => return None,
        })
    })
    .collect()
}

#[tokio::test]
async fn the_usage_file_is_written_on_success_and_on_every_failure() {
    let server = ModelServer::start([Move::status(500), spoken(), Move::status(401)]).await;
    let world = home_at(&server);
    let file = world.work_dir().join("usage.json");
    let report = || settled(parsed(&std::fs::read_to_string(&file).expect("a report")), &server);
    let nothing = json!({
        "estimated_cost_usd": null, "cost_status": "unknown", "cost_source": "none", "input_tokens": 0,
        "output_tokens": 0, "cache_read_tokens": 0, "cache_write_tokens": 0, "reasoning_tokens": 0, "total_tokens": 0,
        "api_calls": 0, "model": null, "provider": null, "session_id": "20260102_030405_0a1b2c", "completed": false,
        "failed": true, "service_tier": null, "iterations": 0, "tool_calls": 0,
        "turn_exit_reason": "api_error(not_configured)",
    });
    let with = |changes: Value| {
        let mut expected = nothing.clone();
        expected.as_object_mut().expect("an object").extend(changes.as_object().expect("an object").clone());
        expected
    };

    hermes(&world, &["-z", "hi", "--usage-file", "usage.json"]).await.expect_code(0);
    assert_eq!(
        report(),
        with(json!({
            "estimated_cost_usd": 0.0015, "cost_status": "actual", "cost_source": "provider_cost_api", "input_tokens": 7,
            "output_tokens": 5, "cache_read_tokens": 2, "cache_write_tokens": 1, "reasoning_tokens": 3,
            "total_tokens": 15, "api_calls": 2, "model": "rehearsal-model", "provider": "custom:rehearsal",
            "completed": true, "failed": false, "iterations": 1,
            "turn_exit_reason": "text_response(finish_reason=stop)",
        }))
    );
    hermes(&world, &["-z", "hi", "--usage-file", "usage.json"]).await.expect_code(1);
    assert_eq!(
        report(),
        with(json!({
            "api_calls": 1, "model": "rehearsal-model", "provider": "custom:rehearsal", "iterations": 1,
            "turn_exit_reason": "api_error(auth)", "failure": {"kind": "auth", "message": "HTTP 401: scripted status 401"},
        }))
    );
    hermes(&world, &["-z", "hi", "--provider", "nobody", "--usage-file", "usage.json"]).await.expect_code(2);
    let message = "`nobody` is not a provider. Type `hermes model` to see all of them";
    assert_eq!(report(), with(json!({"failure": {"kind": "not_configured", "message": message}})));
    server.finish();
}

#[tokio::test]
async fn a_usage_file_that_cannot_be_written_is_a_failure() {
    let server = ModelServer::start(Move::say("hello")).await;
    let ran = hermes(&home_at(&server), &["-z", "hi", "--usage-file", "no/such/folder"]).await;
    let message = "hermes -z: cannot write the usage file no/such/folder: No such file or directory (os error 2)\n";
    assert_eq!(told(&ran), (Some(1), "hello\n", message));
    server.finish();
}
