//! Shell hooks: commands of the owner around calls. Consent is asked for elsewhere; here all of them may run.

use crate::stage::{Plan, Stage};
use hermes_tools::run::Status;
use serde_json::{Value, json};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::time::{Duration, Instant};

fn script(folder: &Path, text: &str) -> String {
    let path = folder.join("hook.sh");
    std::fs::write(&path, format!("#!/bin/sh\n{text}\n")).expect("a script");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).expect("a program");
    path.display().to_string()
}

/// A stage where this script runs on an event.
async fn with_hook(event: &str, text: &str, more: Value) -> (Stage, tempfile::TempDir) {
    let folder = tempfile::tempdir().expect("a folder");
    let mut entry = json!({"command": script(folder.path(), text)});
    if let (Some(entry), Value::Object(more)) = (entry.as_object_mut(), more) {
        entry.extend(more);
    }
    let config = json!({"hooks": { event: [entry] }});
    (Stage::build(Plan { config, ..Plan::default() }).await, folder)
}

#[tokio::test]
async fn a_verdict_counts_in_both_shapes_and_silence_is_a_yes() {
    let block = r#"{"error":"no"}"#;
    for (text, status, told) in [
        (r#"echo '{"action": "block", "message": "no"}'"#, Status::Blocked, Some(block)),
        (r#"echo '{"decision": "block", "reason": "no"}'; exit 2"#, Status::Blocked, Some(block)),
        ("exit 0", Status::Done, None),
        ("echo 'all fine'", Status::Done, None),
        (r#"echo '{"note": "nothing to say"}'"#, Status::Done, None),
    ] {
        let (stage, _folder) = with_hook("pre_tool_call", text, json!({})).await;
        let finished = stage.call("todo", json!({})).await;
        assert_eq!(finished.status, status, "{text}: {}", finished.content.text());
        if let Some(told) = told {
            assert_eq!(finished.content.text(), told, "{text}");
        }
    }
}

#[tokio::test]
async fn a_guard_that_fails_is_a_no_unless_the_owner_says_otherwise() {
    for (text, told) in [("echo oops >&2; exit 1", "oops"), ("kill -9 $$", "signal"), ("sleep 60", "within 1 s")] {
        let (stage, _folder) = with_hook("pre_tool_call", text, json!({"timeout": 1})).await;
        let blocked = stage.call("todo", json!({})).await;
        let said = blocked.content.text();
        assert_eq!(blocked.status, Status::Blocked, "{text}: {said}");
        assert!(said.contains(told), "{text}: {said}");
        let (stage, _folder) = with_hook("pre_tool_call", text, json!({"timeout": 1, "on_failure": "continue"})).await;
        assert_eq!(stage.call("todo", json!({})).await.status, Status::Done, "{text}: it only watches");
    }
}

#[tokio::test]
async fn a_hook_is_told_what_happens_and_sees_no_key() {
    let text = "cat > told.json; echo \"key: $OPENROUTER_API_KEY\" > key.txt";
    let (stage, _folder) = with_hook("post_tool_call", text, json!({"matcher": "terminal"})).await;
    stage.call("todo", json!({})).await;
    assert!(!stage.project("told.json").exists(), "it is about the terminal alone");
    stage.call("terminal", json!({"command": "echo hi"})).await;
    let told: Value = serde_json::from_slice(&std::fs::read(stage.project("told.json")).expect("told")).expect("JSON");
    assert_eq!(
        (&told["hook_event_name"], &told["tool_name"], &told["tool_input"], &told["extra"]["status"]),
        (&json!("post_tool_call"), &json!("terminal"), &json!({"command": "echo hi"}), &json!("ok"))
    );
    assert_eq!(told["session_id"], "20260101_000000_stage0");
    assert_eq!(std::fs::read_to_string(stage.project("key.txt")).expect("written"), "key: \n");
}

#[tokio::test]
async fn what_a_hook_leaves_behind_ends_with_it() {
    let begun = Instant::now();
    // It holds the pipes of the hook as well: nobody may wait for them.
    let text = "setsid sleep 654 & echo $! > child; echo '{\"action\": \"block\", \"message\": \"heard\"}'";
    let (stage, _folder) = with_hook("pre_tool_call", text, json!({})).await;
    assert_eq!(stage.text("todo", json!({})).await, r#"{"error":"heard"}"#);
    let child = std::fs::read_to_string(stage.project("child")).expect("a number");
    let state = std::fs::read_to_string(format!("/proc/{}/stat", child.trim())).unwrap_or_default();
    assert!(state.is_empty() || state.contains(") Z "), "{state}");
    assert!(begun.elapsed() < Duration::from_secs(30), "{:?}", begun.elapsed());
}

#[tokio::test]
async fn no_shell_reads_a_command() {
    let config = json!({"hooks": {"post_tool_call": [{"command": "touch made $(touch evil) ; touch worse"}]}});
    let stage = Stage::build(Plan { config, ..Plan::default() }).await;
    stage.call("todo", json!({})).await;
    assert!(stage.project("made").exists(), "its words are words");
    assert!(!stage.project("evil").exists() && stage.project("$(touch").exists(), "nothing is expanded");
    assert!(stage.project(";").exists(), "and no second command is run");
}
