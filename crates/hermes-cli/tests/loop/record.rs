//! A record that cannot be written: before the work it costs the record, in the middle of it the work stops.

use super::*;
use std::time::Duration;

/// From here on no file of the program grows beyond this many kilobytes, as on a disk that is full.
fn with_files_up_to(kilobytes: u32, words: &str) -> String {
    format!("trap '' XFSZ; ulimit -f {}; exec $0 {words}", kilobytes * 2)
}

#[tokio::test]
async fn a_full_disk_costs_the_record_and_not_the_answer() {
    let server = ModelServer::start([Move::say("First."), run("echo hi"), Move::say("Second.")]).await;
    let world = home_at(&server);
    hermes(&world, &["-z", "one"]).await.expect_code(0);
    let ran = shell(&world, &with_files_up_to(4, "-z two")).await.expect_code(0);
    assert_eq!(ran.stdout, "Second.\n");
    assert!(ran.stderr.starts_with("hermes -z: this conversation is not kept: "), "{}", ran.stderr);
    server.finish();
}

#[tokio::test]
async fn what_cannot_be_written_down_is_not_done() {
    let long = "x".repeat(300_000);
    let script = [Move::say("ok"), Move::say("").call("write_file", json!({"path": "big.txt", "content": long}))];
    let server = ModelServer::start(script).await;
    let world = home_at(&server);
    hermes(&world, &["-z", "one"]).await.expect_code(0);
    let ran = shell(&world, &with_files_up_to(200, "-z two")).await.expect_code(1);
    assert_eq!(ran.stdout, "");
    assert!(ran.stderr.contains("the conversation can no longer be written down, so it was stopped"), "{}", ran.stderr);
    assert!(!world.work_dir().join("big.txt").exists(), "nothing happens that nobody would know of");
    server.finish();
}

#[tokio::test]
async fn a_session_that_cannot_be_read_cannot_go_on() {
    let server = ModelServer::start(Vec::<Move>::new()).await;
    let world = home_at(&server);
    std::fs::create_dir(world.hermes_home().join("state.db")).expect("a folder in its place");
    let ran = hermes(&world, &["-c", "-z", "hi"]).await.expect_code(1);
    assert_eq!(ran.stdout, "");
    assert!(ran.stderr.contains("state.db"), "{}", ran.stderr);
    assert!(server.model_requests().is_empty(), "nothing is asked without what came before");
    server.finish();
}

/// Another program that was stopped in the middle of writing: every write waits for a second.
#[tokio::test]
async fn who_interrupts_does_not_wait_for_a_busy_store() {
    let server = ModelServer::start([run("echo hi"), Move::silence()]).await;
    let world = home_at(&server);
    let child = world.command(HERMES, &["-z", "hi"]).spawn().expect("started");
    until(|| server.model_requests().len() == 2, "the result was not sent").await;
    let gates = ["next", "turn"].map(|role| {
        let gate = std::fs::File::open(world.hermes_home().join(format!(".state.db.{role}"))).expect("a gate");
        gate.lock().expect("a free gate");
        gate
    });
    signal(&child, "-INT").await;
    let (ran, took) = end(child).await;
    drop(gates);
    assert_eq!(ran.code, Some(130), "{}", ran.stderr);
    assert!(took < Duration::from_millis(900), "{took:?}");
    named_session(&ran.stderr);
    server.finish();
}
