//! Hooks of plugins around calls and turns: what they may do, and what their failure means.

use crate::stage::{Plan, Stage, Story};
use hermes_core::turn::Opening;
use hermes_tools::gate::Answer;
use hermes_tools::run::Status;
use hermes_types::SessionId;
use serde_json::json;

/// A plugin with one hook; `answer` is an expression in Python.
fn hook(name: &'static str, spec: &str, answer: &str) -> Story {
    Story::new(
        name,
        &format!(
            "if method == 'initialize': return {{'hooks': [{spec}]}}\nif method.startswith('hooks/'): return {answer}"
        ),
    )
}

const READ: &str = "todo";

#[tokio::test]
async fn a_guard_blocks_rewrites_or_asks_for_a_person() {
    let block = hook("guard", "'pre_tool_call'", "{'action': 'block', 'message': 'not today'}");
    let stage = Stage::of([block]).await;
    let blocked = stage.call(READ, json!({})).await;
    assert_eq!((blocked.status, blocked.content.text()), (Status::Blocked, r#"{"error":"not today"}"#.to_owned()));

    let rewrite = hook("guard", "'pre_tool_call'", "{'action': 'rewrite', 'args': {'command': 'echo rewritten'}}");
    let stage = Stage::of([rewrite]).await;
    assert!(stage.text("terminal", json!({"command": "echo original"})).await.contains("rewritten"));

    let approve = || hook("guard", "'pre_tool_call'", "{'action': 'approve', 'message': 'the vault is touched'}");
    let stage = Stage::of([approve()]).await;
    assert_eq!(stage.call(READ, json!({})).await.status, Status::Blocked, "nobody is there to say yes");
    let plan = Plan { stories: vec![approve()], answers: Some(vec![Answer::Once]), ..Plan::default() };
    let stage = Stage::build(plan).await;
    assert_eq!(stage.call(READ, json!({})).await.status, Status::Done);
    let asked = stage.person.asked.lock().expect("questions").remove(0);
    assert!(asked.reasons.iter().any(|reason| reason.contains("the vault is touched")), "{asked:?}");
}

#[tokio::test]
async fn a_guard_that_fails_is_a_no_unless_it_said_otherwise() {
    let failures = [
        ("os._exit(1)", "exit status: 1"),
        ("time.sleep(30)", "no answer within 1 s"),
        ("{'action': 'blok'}", "no better action"),
        ("'yes'", "no verdict"),
    ];
    for (failure, told) in failures {
        let stage = Stage::of([hook("guard", "{'name': 'pre_tool_call', 'timeout': 1}", failure)]).await;
        let blocked = stage.call(READ, json!({})).await;
        let text = blocked.content.text();
        assert_eq!(blocked.status, Status::Blocked, "{failure}: {text}");
        assert!(text.contains("the hook guard failed") && text.contains(told), "{failure}: {text}");

        let spec = "{'name': 'pre_tool_call', 'timeout': 1, 'on_failure': 'continue'}";
        let stage = Stage::of([hook("watcher", spec, failure)]).await;
        assert_eq!(stage.call(READ, json!({})).await.status, Status::Done, "{failure}: it only watches");
    }
}

#[tokio::test]
async fn a_guard_is_asked_only_about_its_tools() {
    let spec = "{'name': 'pre_tool_call', 'tools': 'terminal|patch'}";
    let stage = Stage::of([hook("guard", spec, "{'action': 'block', 'message': 'no'}")]).await;
    assert_eq!(stage.call(READ, json!({})).await.status, Status::Done);
    assert_eq!(stage.call("terminal", json!({"command": "echo hi"})).await.status, Status::Blocked);
}

#[tokio::test]
async fn results_are_rewritten_and_a_failure_changes_nothing() {
    let stage = Stage::of([hook("pen", "'transform_tool_result'", "params['result'].upper()")]).await;
    assert!(stage.text("terminal", json!({"command": "echo quiet"})).await.contains("QUIET"));
    let stage = Stage::of([hook("pen", "'transform_terminal_output'", "params['output'].replace('cat', 'dog')")]).await;
    let result = stage.text("terminal", json!({"command": "echo a cat"})).await;
    assert!(result.contains("a dog") && result.contains("exit_code"), "{result}");
    let stage = Stage::of([hook("pen", "{'name': 'transform_tool_result', 'timeout': 1}", "os._exit(1)")]).await;
    assert!(stage.text("terminal", json!({"command": "echo quiet"})).await.contains("quiet"));
}

/// Watches everything and writes it down.
fn watcher() -> Story {
    Story::new(
        "watcher",
        r#"
global home
if method == "initialize":
    home = params["home"]
    return {"hooks": ["post_tool_call", "on_session_start", "on_session_finalize", "pre_approval_request",
                      "post_approval_response", "pre_llm_call", "kanban_task_claimed"]}
if method.startswith("hooks/"):
    with open(os.path.join(home, "heard"), "a") as log:
        log.write(method[6:] + " " + json.dumps(params, sort_keys=True) + "\n")
if method == "hooks/pre_llm_call":
    return {"context": "It is Friday."}
"#,
    )
}

#[tokio::test]
async fn who_watches_hears_of_everything_and_holds_up_nothing() {
    let plan = Plan { stories: vec![watcher()], answers: Some(vec![Answer::Deny]), ..Plan::default() };
    let stage = Stage::build(plan).await;
    let session = SessionId::new("s1");
    let opening = Opening { session: &session, question: "What day is it?", is_first: true };
    let hooks = stage.extensions.turn_hooks("model-1");
    let context = hooks.first().expect("one").begins(opening).await;
    assert_eq!(context.as_deref(), Some("It is Friday."));
    stage.call("terminal", json!({"command": "echo hi"})).await;
    stage.call("terminal", json!({"command": "rm -rf build"})).await;
    stage.extensions.finalize(&session).await;
    stage.extensions.close().await;
    let heard = stage.data("watcher", "heard");
    let names: Vec<&str> = heard.lines().filter_map(|line| line.split(' ').next()).collect();
    let expected = [
        "on_session_start",
        "pre_llm_call",
        "post_tool_call",
        "pre_approval_request",
        "post_approval_response",
        "post_tool_call",
        "on_session_finalize",
    ];
    assert_eq!(names, expected, "{heard}");
    for told in [
        "\"model\": \"model-1\"",
        "\"status\": \"ok\"",
        "\"status\": \"blocked\"",
        "\"choice\": \"deny\"",
        "What day is it?",
    ] {
        assert!(heard.contains(told), "{told} in {heard}");
    }
}
