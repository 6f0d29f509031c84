//! Shell hooks with the real program: consent, verdicts, and the commands about them.

use super::*;
use hermes_testkit::Move;
use serde_json::{Value, json};
use std::os::unix::fs::PermissionsExt as _;

/// A home where this script guards every call.
fn guarded(server: &ModelServer, script: &str) -> World {
    let world = home_with(server, "hooks:\n  pre_tool_call:\n    - command: ~/guard.sh\n");
    let path = world.home().join("guard.sh");
    std::fs::write(&path, format!("#!/bin/sh\n{script}\n")).expect("a script");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).expect("a program");
    world
}

fn consents(world: &World) -> Value {
    let file = std::fs::read(world.hermes_home().join("shell-hooks-allowlist.json")).unwrap_or_default();
    serde_json::from_slice(&file).unwrap_or_default()
}

fn touching() -> [Move; 2] {
    [Move::say("").call("terminal", json!({"command": "touch made"})), Move::say("I see.")]
}

const BLOCK: &str = r#"echo '{"action": "block", "message": "not on my watch"}'"#;

#[tokio::test]
async fn a_hook_runs_only_after_consent_and_a_changed_command_needs_it_again() {
    let server = ModelServer::start([touching(), touching(), touching()].concat()).await;
    let world = guarded(&server, BLOCK);
    let ran = hermes(&world, &["-z", "go"]).await.expect_code(0);
    assert!(ran.stderr.contains("nobody consented to it. `--accept-hooks` does"), "{}", ran.stderr);
    assert!(world.work_dir().join("made").exists(), "without consent it does not run");
    std::fs::remove_file(world.work_dir().join("made")).expect("removed");

    hermes(&world, &["-z", "go now", "--accept-hooks"]).await.expect_code(0);
    assert!(!world.work_dir().join("made").exists());
    assert_eq!(last_result(&server, 3), r#"{"error":"not on my watch"}"#);
    let kept = consents(&world);
    let entry = &kept["approvals"][0];
    assert_eq!((&entry["event"], &entry["command"]), (&json!("pre_tool_call"), &json!("~/guard.sh")));
    assert!(entry["approved_at"].is_string() && entry["script_mtime_at_approval"].is_string(), "{kept}");

    let yaml = std::fs::read_to_string(world.hermes_home().join("config.yaml")).expect("settings");
    let world = world.config(&yaml.replace("~/guard.sh", "~/guard.sh --lax"));
    let ran = hermes(&world, &["-z", "go again"]).await.expect_code(0);
    assert!(ran.stderr.contains("nobody consented to it"), "another command is another command: {}", ran.stderr);
    server.finish();
}

#[tokio::test]
async fn a_person_is_asked_once_about_each_hook_and_a_no_is_asked_again() {
    let server = ModelServer::start([touching(), touching(), touching()].concat()).await;
    let world = guarded(&server, BLOCK);
    let made = world.work_dir().join("made");
    let question = "config.yaml wants to run `~/guard.sh` on every pre_tool_call. Let it?";
    answering(&world, "chat -q one -Q", &[(question, "\r")]).await.expect_code(0);
    assert!(made.exists() && consents(&world).is_null(), "Enter alone is a no, and nothing is written down");
    std::fs::remove_file(&made).expect("removed");

    answering(&world, "chat -q two -Q", &[(question, "y\r")]).await.expect_code(0);
    assert!(!made.exists(), "the guard stands");
    assert_eq!(consents(&world)["approvals"][0]["command"], "~/guard.sh");

    let ran = answering(&world, "chat -q three -Q", &[]).await.expect_code(0);
    assert!(!ran.stdout.contains("wants to run") && !made.exists(), "a yes is not asked for again: {}", ran.stdout);
    server.finish();
}

#[tokio::test]
async fn a_question_shows_what_a_screen_would_hide() {
    let server = ModelServer::start([Move::say("Hi.")]).await;
    let more = "hooks:\n  on_session_end:\n    - command: \"true \\e[8m; rm x \\u202Etxt\"\n";
    let world = home_with(&server, more);
    let shown = r#"`"true \u001b[8m; rm x \u202etxt"`"#;
    answering(&world, "chat -q hi -Q", &[(shown, "n\r")]).await.expect_code(0);
    server.finish();
}

#[tokio::test]
async fn a_sub_agent_is_told_of_before_it_works_and_when_it_is_done() {
    let server = ModelServer::start([
        Move::say("").call("delegate_task", json!({"goal": "count the beans"})),
        Move::say("There are seven."),
    ])
    .await;
    server.when_asked("count the beans", [Move::say("Seven.")]);
    let note = "tee -a told.txt";
    let more = format!("hooks:\n  subagent_start:\n    - command: {note}\n  subagent_stop:\n    - command: {note}\n");
    let world = home_with(&server, &more);
    hermes(&world, &["-z", "how many?", "--accept-hooks"]).await.expect_code(0);
    let told = std::fs::read_to_string(world.work_dir().join("told.txt")).expect("told");
    let told: Vec<Value> =
        serde_json::Deserializer::from_str(&told).into_iter().map(|one| one.expect("JSON")).collect();
    let [start, stop] = told.as_slice() else { panic!("{told:?}") };
    assert_eq!(
        (&start["hook_event_name"], &stop["hook_event_name"]),
        (&json!("subagent_start"), &json!("subagent_stop"))
    );
    assert_eq!(
        (&start["extra"]["child_goal"], &start["extra"]["child_role"]),
        (&json!("count the beans"), &json!("leaf"))
    );
    assert_ne!(start["extra"]["child_session_id"], start["session_id"], "{start}");
    assert_eq!(stop["extra"]["child_summary"], "Seven.", "{stop}");
    server.finish();
}

#[tokio::test]
async fn hooks_are_listed_tried_and_revoked() {
    let server = ModelServer::start([Move::say("Hi.")]).await;
    let world = guarded(&server, BLOCK);
    let listed = hermes(&world, &["hooks"]).await.expect_code(0);
    assert!(listed.stdout.contains("does not run: nobody consented to it"), "{}", listed.stdout);
    let tried = hermes(&world, &["hooks", "test", "pre_tool_call", "--for-tool", "terminal"]).await.expect_code(0);
    assert!(tried.stdout.contains("understood as") && tried.stdout.contains("not on my watch"), "{}", tried.stdout);
    let unknown = hermes(&world, &["hooks", "test", "pre_verify"]).await;
    assert_eq!(unknown.code, Some(2));
    assert!(unknown.stderr.contains("never happens here"), "{}", unknown.stderr);
    let checked = hermes(&world, &["hooks", "doctor"]).await.expect_code(0);
    assert!(checked.stdout.contains("nobody consented") && !checked.stdout.contains("answers"), "{}", checked.stdout);

    hermes(&world, &["-z", "hi", "--accept-hooks"]).await.expect_code(0);
    let checked = hermes(&world, &["hooks", "doctor"]).await.expect_code(0);
    assert!(checked.stdout.contains("✓ answers within"), "{}", checked.stdout);
    hermes(&world, &["hooks", "revoke", "~/guard.sh"]).await.expect_code(0);
    assert_eq!(consents(&world)["approvals"], json!([]));
    let again = hermes(&world, &["hooks", "revoke", "~/guard.sh"]).await;
    assert_eq!(again.code, Some(1), "{again:?}");
    server.finish();
}

#[tokio::test]
async fn a_broken_guard_stops_calls_and_is_named_by_doctor() {
    let server = ModelServer::start(touching()).await;
    let world = guarded(&server, "echo 'no such rule' >&2; exit 1");
    hermes(&world, &["-z", "go", "--accept-hooks"]).await.expect_code(0);
    assert!(!world.work_dir().join("made").exists(), "a guard that fails is a no");
    assert!(last_result(&server, 1).contains("no such rule"), "{}", last_result(&server, 1));
    let checked = hermes(&world, &["hooks", "doctor"]).await;
    assert_eq!(checked.code, Some(1));
    assert!(checked.stdout.contains("✗ failed"), "{}", checked.stdout);
    server.finish();
}
