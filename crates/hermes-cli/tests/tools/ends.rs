//! However a call ends, nothing that it started lives on.

use super::person::Person;
use super::*;
use serde_json::json;
use std::process::Stdio;
use std::time::{Duration, Instant};
use tokio::process::Command;

/// A length of sleep that nobody else sleeps, to find its processes by.
fn marker(story: u32) -> String {
    format!("7{story}{}.5", std::process::id())
}

/// The command lines of processes that carry a marker.
fn alive(marker: &str) -> Vec<String> {
    let processes = std::fs::read_dir("/proc").expect("a process table").flatten();
    let lines = processes.filter_map(|entry| std::fs::read(entry.path().join("cmdline")).ok());
    let texts = lines.map(|line| String::from_utf8_lossy(&line).replace('\0', " "));
    texts.filter(|line| line.starts_with("sleep") && line.contains(marker)).collect()
}

async fn until_alive(marker: &str, count: usize) {
    let begun = Instant::now();
    while alive(marker).len() < count {
        assert!(begun.elapsed() < Duration::from_secs(20), "{:?}", alive(marker));
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

/// A home with a script whose children try to stay: deaf to signals, orphaned, in a session of their own. The command.
fn clinging(marker: &str) -> (World, String) {
    let own_session = format!("perl -MPOSIX -e 'POSIX::setsid(); exec qw(sleep {marker})'");
    let script = format!("trap '' TERM INT HUP\n{own_session} &\n(sleep {marker} &)\nsleep {marker}\n");
    let world = world().config("approvals: {mode: off}\n");
    std::fs::write(world.work_dir().join("cling.sh"), script).expect("a script");
    (world, "sh ./cling.sh".to_owned())
}

#[tokio::test]
async fn a_timeout_leaves_nobody_behind() {
    let marker = marker(1);
    let (world, command) = clinging(&marker);
    let ran = call(&world, "terminal", &json!({"command": command, "timeout": 2})).await.expect_code(1);
    assert_eq!(alive(&marker), Vec::<String>::new());
    assert_eq!(result(&ran)["exit_code"], 124, "{}", ran.stdout);
}

#[tokio::test]
async fn signals_leave_nobody_behind() {
    for (story, name) in [(2, "-INT"), (3, "-TERM")] {
        let marker = marker(story);
        let (world, command) = clinging(&marker);
        let arguments = json!({"command": command}).to_string();
        let child = world.command(HERMES, &["tools", "call", "terminal", &arguments]).spawn().expect("started");
        until_alive(&marker, 3).await;
        let pid = child.id().expect("running").to_string();
        assert!(Command::new("kill").args([name, &pid]).status().await.expect("kill runs").success());
        let output = child.wait_with_output().await.expect("ended");
        assert_eq!((output.status.code(), alive(&marker)), (Some(130), Vec::new()), "{name}");
    }
}

#[tokio::test]
async fn ctrl_c_leaves_nobody_behind() {
    let (world, marker) = (world(), marker(4));
    let arguments = json!({"command": format!("sleep {marker} | sleep {marker}")});
    let mut person = Person::calling(&world, "terminal", &arguments);
    until_alive(&marker, 2).await;
    person.types("\u{3}").await;
    let (code, seen) = person.leaves().await;
    assert_eq!((code, alive(&marker)), (Some(130), Vec::new()), "{seen}");
}

#[tokio::test]
async fn what_runs_in_the_background_ends_with_the_program() {
    let (world, marker) = (world(), marker(5));
    let arguments = json!({"command": format!("sleep {marker}"), "background": true});
    let ran = call(&world, "terminal", &arguments).await.expect_code(0);
    assert!(result(&ran)["session_id"].is_string(), "{}", ran.stdout);
    assert_eq!(alive(&marker), Vec::<String>::new());
}

#[tokio::test]
async fn arguments_from_a_pipe_can_be_waited_for_and_left() {
    let world = world().stdin("{\"command\": \"echo from the pipe\"}");
    let ran = hermes(&world, &["tools", "call", "terminal", "-"]).await.expect_code(0);
    assert_eq!(result(&ran)["output"], "from the pipe");
    let mut command = world.command(HERMES, &["tools", "call", "terminal", "-"]);
    let mut child = command.stdin(Stdio::piped()).spawn().expect("started");
    let _held_open = child.stdin.take();
    let pid = child.id().expect("running").to_string();
    assert!(Command::new("kill").args(["-TERM", &pid]).status().await.expect("kill runs").success());
    let ended = tokio::time::timeout(Duration::from_secs(5), child.wait()).await.expect("it ends").expect("ended");
    assert!(!ended.success());
}

#[tokio::test]
async fn a_command_that_fails_fails_the_call() {
    let world = world();
    for (command, code) in [("true", 0), ("exit 3", 1)] {
        let ran = call(&world, "terminal", &json!({ "command": command })).await.expect_code(code);
        assert_eq!(result(&ran)["error"], Value::Null, "{}", ran.stdout);
    }
}
