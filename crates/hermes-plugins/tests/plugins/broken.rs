//! Plugins that are broken in every way a program can be: each costs its own calls and nothing else.

use crate::stage::{Plan, Stage, Story, WIRE};
use hermes_testkit::FakeClock;
use hermes_tools::run::Status;
use serde_json::json;
use std::sync::Arc;
use std::time::Duration;

#[tokio::test]
async fn a_crash_in_mid_call_costs_one_call_and_says_why() {
    let story = Story::new(
        "shaky",
        r#"
if method == "initialize":
    return {"tools": [tool("work")]}
if method == "tools/call" and params["arguments"].get("crash"):
    print("Traceback: out of cheese", file=sys.stderr, flush=True)
    os._exit(3)
return "done"
"#,
    );
    let stage = Stage::of([story]).await;
    assert_eq!(stage.text("work", json!({})).await, "done");
    let crashed = stage.call("work", json!({"crash": true})).await;
    let told = crashed.content.text();
    assert_eq!(crashed.status, Status::Failed);
    assert!(told.contains("the plugin shaky failed") && told.contains("exit status: 3"), "{told}");
    assert!(told.contains("out of cheese") && told.contains("is not known"), "{told}");
    assert_eq!(stage.text("work", json!({})).await, "done", "it was started again");
    stage.extensions.close().await;
}

#[tokio::test]
async fn an_end_is_noticed_although_somebody_holds_its_output_open() {
    let story = Story::new(
        "survived",
        r#"
import subprocess
if method == "initialize":
    return {"tools": [tool("work", timeout=300)]}
if method == "tools/call":
    subprocess.Popen(["setsid", "sleep", "321"])
    os._exit(4)
"#,
    );
    let stage = Stage::of([story]).await;
    let begun = std::time::Instant::now();
    let told = stage.text("work", json!({})).await;
    assert!(told.contains("exit status: 4"), "{told}");
    assert!(begun.elapsed() < Duration::from_secs(60), "{:?}", begun.elapsed());
    stage.extensions.close().await;
}

#[tokio::test]
async fn one_that_works_is_not_taken_for_dead_because_of_a_hook_it_cannot_answer_yet() {
    let story = Story::new(
        "busy",
        r#"
if method == "initialize":
    return {"tools": [tool("work", read_only=True)], "hooks": [{"name": "transform_tool_result", "timeout": 1}]}
if method == "tools/call":
    time.sleep(3)
    return "done"
if method.startswith("hooks/") and params["tool_name"] == "todo":
    return "changed"
"#,
    );
    let stage = Stage::of([story]).await;
    stage.text("work", json!({})).await;
    let (work, todo) = tokio::join!(stage.text("work", json!({})), async {
        tokio::time::sleep(Duration::from_millis(300)).await;
        stage.text("todo", json!({})).await
    });
    assert_eq!(work, "done");
    assert_ne!(todo, "changed", "a text that comes too late changes nothing");
    stage.extensions.close().await;
}

#[tokio::test]
async fn one_that_keeps_falling_is_off_for_the_session() {
    let story = Story::new(
        "falling",
        "if method == 'initialize': return {'tools': [tool('work')]}\nif method == 'tools/call': os._exit(1)",
    );
    let clock = FakeClock::new();
    let plan = Plan { stories: vec![story], clock: Some(Arc::new(clock.clone())), ..Plan::default() };
    let stage = Stage::build(plan).await;
    for _ in 0..5 {
        assert_eq!(stage.call("work", json!({})).await.status, Status::Failed);
    }
    let told = stage.text("work", json!({})).await;
    assert!(told.contains("stays off in this session") && told.contains("exit status: 1"), "{told}");
    let pauses: Vec<u128> = clock.pauses().iter().map(Duration::as_millis).collect();
    assert_eq!(pauses, [250, 500, 1_000, 2_000], "each start waits longer than the one before");
    stage.extensions.close().await;
}

#[tokio::test]
async fn noise_on_its_output_is_no_answer_and_no_harm() {
    let story = Story::new(
        "noisy",
        r#"
print("starting up...")
print('{"id": 999, "result": "somebody else\'s"}')
print('{"half": ')
sys.stdout.write("\x1b[31mred\x1b[0m\n")
if method == "initialize":
    return {"tools": [tool("work")]}
return "done"
"#,
    );
    let stage = Stage::of([story]).await;
    assert_eq!(stage.text("work", json!({})).await, "done");
    stage.extensions.close().await;
}

#[tokio::test]
async fn a_line_without_end_ends_the_plugin() {
    let story = Story::new(
        "endless",
        r#"
if method == "initialize":
    return {"tools": [tool("work")]}
if method == "tools/call":
    while True:
        sys.stdout.write("x" * 65536)
"#,
    );
    let stage = Stage::of([story]).await;
    let told = stage.text("work", json!({})).await;
    assert!(told.contains("a line of more than 8 MiB"), "{told}");
    stage.extensions.close().await;
}

#[tokio::test]
async fn one_that_says_nothing_is_given_up_and_started_again() {
    let story = Story::new(
        "mute",
        r#"
if method == "initialize":
    return {"tools": [tool("work", timeout=1)]}
if method == "tools/call" and params["arguments"].get("hang"):
    time.sleep(600)
return "done"
"#,
    );
    let stage = Stage::of([story]).await;
    let told = stage.text("work", json!({"hang": true})).await;
    assert!(told.contains("it gave no answer within 1 s"), "{told}");
    assert_eq!(stage.text("work", json!({})).await, "done", "a new one answers");
    stage.extensions.close().await;
}

#[tokio::test]
async fn what_it_started_ends_with_it() {
    let story = Story::new(
        "parent",
        r#"
import subprocess
if method == "initialize":
    return {"tools": [tool("work")]}
if method == "tools/call":
    child = subprocess.Popen(["setsid", "sleep", "987"], stdout=subprocess.DEVNULL, stdin=subprocess.DEVNULL)
    return {"child": child.pid}
"#,
    );
    let stage = Stage::of([story]).await;
    let result: serde_json::Value = serde_json::from_str(&stage.text("work", json!({})).await).expect("JSON");
    let child = format!("/proc/{}", result["child"]);
    assert!(std::path::Path::new(&child).exists());
    stage.extensions.close().await;
    let state = std::fs::read_to_string(format!("{child}/stat")).unwrap_or_default();
    assert!(state.is_empty() || state.contains(") Z "), "nothing of it lives on: {state}");
}

#[tokio::test]
async fn a_start_that_fails_stops_nothing_but_what_a_guard_guards() {
    let cases = [
        (
            Story::raw("gone", "import sys\nprint('no module named cheese', file=sys.stderr)\nsys.exit(1)\n"),
            "no module named cheese",
        ),
        (
            Story::raw("wrong", &format!("{WIRE}\ndef answer(method, params, id): return {{'tools': 7}}\nrun()\n")),
            "its registration",
        ),
        (Story::raw("missing", "").manifest("command: [./not-there]\n"), "was not found"),
    ];
    for (story, told) in cases {
        let (name, manifest, program) = (story.name, story.manifest.clone(), story.program.clone());
        let stage = Stage::build(Plan { stories: vec![story], unknown: true, ..Plan::default() }).await;
        for _ in 0..2 {
            let finished = stage.call("todo", json!({})).await;
            assert_eq!(finished.status, Status::Done, "{name}: {}", finished.content.text());
        }
        let warned = stage.warnings();
        assert!(warned.len() == 1 && warned[0].contains(told) && warned[0].contains(name), "told once: {warned:?}");
        stage.extensions.close().await;
        // One that announces a guard is missed as one: a call waits for it, and does not go on without it.
        let guard = Story { name, manifest: format!("{manifest}provides_hooks: [pre_tool_call]\n"), program };
        let stage = Stage::build(Plan { stories: vec![guard], unknown: true, ..Plan::default() }).await;
        let finished = stage.call("todo", json!({})).await;
        let text = finished.content.text();
        assert_eq!(finished.status, Status::Blocked, "{name}: {text}");
        assert!(text.contains(told) && text.contains(name), "{name}: {text}");
        stage.extensions.close().await;
    }
}
