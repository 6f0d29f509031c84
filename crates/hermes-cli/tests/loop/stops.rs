//! A person who has seen enough, in the middle of the work.

use super::*;
use std::time::Duration;

/// A command has this long to end by itself; the program half a second more, and as much again on a busy machine.
const GRACE: Duration = Duration::from_secs(1);
const SOON: Duration = Duration::from_millis(500);

fn is_alive(pid: &str) -> bool {
    std::path::Path::new("/proc").join(pid.trim()).exists()
}

#[tokio::test]
async fn an_interrupt_ends_the_tool_and_the_work_can_go_on() {
    for stubborn in ["", "trap '' TERM INT; "] {
        let command = format!("{stubborn}echo $$ > pid.new; mv pid.new pid; while :; do sleep 0.1; done");
        let server = ModelServer::start([run(&command), Move::say("It was stopped.")]).await;
        let world = home_at(&server);
        let child = world.command(HERMES, &["-z", "wait"]).spawn().expect("started");
        let file = world.work_dir().join("pid");
        until(|| file.exists(), "the command did not begin").await;
        let pid = std::fs::read_to_string(&file).expect("a process");
        assert!(is_alive(&pid));
        signal(&child, "-INT").await;
        let (ran, took) = end(child).await;
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(130), ""), "{}", ran.stderr);
        assert!(ran.stderr.starts_with("hermes -z: interrupted\n"), "{}", ran.stderr);
        assert!(took < GRACE + SOON + SOON, "{stubborn:?}: {took:?}");
        assert!(!is_alive(&pid), "nothing is left running");
        let id = named_session(&ran.stderr);
        let on = hermes(&world, &["--resume", &id]).await;
        assert_eq!(told(&on), (Some(0), "It was stopped.\n", ""));
        assert!(last_result(&server, 1).contains("interrupt"), "{}", last_result(&server, 1));
        server.finish();
    }
}

#[tokio::test]
async fn who_interrupts_does_not_wait_for_a_hook_that_hears_of_the_end() {
    let server = ModelServer::start(Move::silence()).await;
    let hook = "hooks_auto_accept: true\nhooks:\n  on_session_finalize:\n    - command: sleep 40\n";
    let world = home_at(&server).config(&format!("{}{hook}", settings(&server.base_url(), "chat_completions")));
    let child = world.command(HERMES, &["-z", "hi"]).spawn().expect("started");
    until_asked(&server).await;
    signal(&child, "-INT").await;
    let (ran, took) = end(child).await;
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(130), ""), "{}", ran.stderr);
    assert!(took < GRACE + SOON, "{took:?}");
    server.finish();
}

#[tokio::test]
async fn an_interrupt_while_the_model_is_asked_loses_no_work() {
    let server = ModelServer::start([run("echo done > file"), Move::silence(), Move::say("It is done.")]).await;
    let world = home_at(&server);
    let child = world.command(HERMES, &["chat", "-q", "do it"]).spawn().expect("started");
    until(|| server.model_requests().len() == 2, "the result was not sent").await;
    signal(&child, "-INT").await;
    let (ran, took) = end(child).await;
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(130), ""), "{}", ran.stderr);
    assert!(took < SOON, "{took:?}");
    let id = named_session(&ran.stderr);
    let json = hermes(&world, &["--resume", &id, "--output-format", "json"]).await.expect_code(0);
    let result: Value = serde_json::from_str(&json.stdout).expect("JSON");
    assert_eq!((&result["session_id"], &result["text"]), (&json!(id), &json!("It is done.")));
    server.finish();
}

/// What runs in the background ends with the program, and the answer does not wait for that.
#[tokio::test]
async fn nothing_outlives_the_answer() {
    let background = json!({"command": "echo $$ > pid.new; mv pid.new pid; exec sleep 300", "background": true});
    let server = ModelServer::start([
        Move::say("").call("terminal", background),
        run("while ! test -e pid; do sleep 0.05; done"),
        Move::say("Begun."),
    ])
    .await;
    let world = home_at(&server);
    let ran = hermes(&world, &["-z", "begin"]).await;
    assert_eq!(told(&ran), (Some(0), "Begun.\n", ""), "{}", last_result(&server, 1));
    let pid = std::fs::read_to_string(world.work_dir().join("pid")).expect("a process");
    assert!(!is_alive(&pid), "the background process is gone");
    server.finish();
}
