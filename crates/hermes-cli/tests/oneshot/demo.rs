//! `hermes demo`: the whole program at work without a key or a network, in a home that is gone afterwards.

use super::*;
use futures_util::future::join_all;
use hermes_testkit::golden;
use serde_json::Value;
use std::path::PathBuf;
use std::time::Duration;

#[path = "../tools/person.rs"]
#[allow(clippy::string_slice, reason = "what was read ends where a text was found")]
mod person;

use person::Person;

/// A person whose settings would break every other command, with a folder of their own for what is temporary.
fn visitor() -> World {
    let world = nowhere().config("model: [not\n  a: mapping").dotenv("OPENAI_API_KEY=sk-theirs\n");
    let temporary = temporary(&world);
    std::fs::create_dir(&temporary).expect("a folder");
    std::fs::write(world.work_dir().join("AGENTS.md"), "Speak like a pirate.\n").expect("a file");
    world.env("TMPDIR", &temporary.display().to_string())
}

fn temporary(world: &World) -> PathBuf {
    world.home().join("temporary")
}

/// Everything in the person's home.
fn found_in(folder: &std::path::Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path());
    let mut found: Vec<PathBuf> = entries
        .flat_map(|path| if path.is_dir() { [vec![path.clone()], found_in(&path)].concat() } else { vec![path] })
        .collect();
    found.sort();
    found
}

/// Processes that work in this folder.
fn at_work_in(folder: &std::path::Path) -> Vec<PathBuf> {
    let processes = std::fs::read_dir("/proc").expect("processes").flatten().map(|entry| entry.path().join("cwd"));
    processes.filter(|cwd| std::fs::read_link(cwd).is_ok_and(|place| place.starts_with(folder))).collect()
}

/// What differs from run to run and from machine to machine: the numbers of times and tokens, and the name of the folder.
fn settled(text: &str, world: &World) -> String {
    let place = temporary(world).display().to_string();
    let word = |word: &str| match word.strip_prefix(&place).map(|rest| rest.split('/').skip(2).collect::<Vec<_>>()) {
        Some(rest) => format!("TMPDIR/hermes-demo-*/{}", rest.join("/")),
        None if word.parse::<f64>().is_ok_and(|number| number > 30.0 || number.fract() > 0.0) => "N".to_owned(),
        None => word.to_owned(),
    };
    let line = |line: &str| line.split(' ').map(word).collect::<Vec<_>>().join(" ");
    text.lines().map(|text| line(without_duration(text)) + "\n").collect()
}

/// Files that are read side by side are told of in the order in which that ended.
fn reads_in_order(text: &str) -> String {
    let mut lines: Vec<&str> = text.lines().collect();
    let is_read = |line: &&str| line.starts_with("✓ read_file");
    lines.chunk_by_mut(|one, other| is_read(one) && is_read(other)).for_each(|run| run.sort_unstable());
    lines.join("\n") + "\n"
}

/// A call that took long says how long.
fn without_duration(line: &str) -> &str {
    let is_number = |text: &str| text.parse::<f64>().is_ok();
    match line.rsplit_once("  ") {
        Some((rest, last)) if last.strip_suffix(" s").is_some_and(is_number) => rest,
        _ => line,
    }
}

#[tokio::test]
async fn the_demo_is_the_same_every_time_and_leaves_nothing_behind() {
    let world = visitor();
    let before = found_in(world.home());
    for _ in 0..2 {
        let ran = hermes(&world, &["demo"]).await.expect_code(0);
        let told = format!("{}--- stderr\n{}", ran.stdout, ran.stderr);
        golden("tests/oneshot/golden/demo.txt", &reads_in_order(&settled(&told, &world)));
    }
    assert_eq!(found_in(world.home()), before);
}

#[tokio::test]
async fn programs_can_read_it_too() {
    let world = visitor();
    let usage_file = world.work_dir().join("usage.json").display().to_string();
    let ran = hermes(&world, &["demo", "--output-format", "json", "--usage-file", &usage_file]).await.expect_code(0);
    let result: Value = serde_json::from_str(&ran.stdout).expect("one object");
    let told = ["outcome", "provider", "model", "api_calls", "tool_calls"].map(|field| result[field].clone());
    assert_eq!(Value::from(told.to_vec()), serde_json::json!(["answered", "custom:demo", "stand-in", 9, 8]));
    let usage: Value = serde_json::from_str(&std::fs::read_to_string(&usage_file).expect("a file")).expect("JSON");
    assert_eq!((&usage["completed"], &usage["session_id"]), (&Value::Bool(true), &result["session_id"]));
    assert_eq!(usage["output_tokens"], result["usage"]["output_tokens"]);

    let ran = hermes(&world, &["demo", "--output-format", "stream-json"]).await.expect_code(0);
    let events: Vec<Value> =
        ran.stdout.lines().map(|line| serde_json::from_str(line).expect("an event in each line")).collect();
    let calls = |event: &&Value| event["type"] == "tool_finished";
    let how = |event: &Value| format!("{} {}", event["name"], event["status"]).replace('"', "");
    let own: Vec<String> = events.iter().filter(calls).map(how).collect();
    let asked = ["todo done", "read_file done", "read_file done", "terminal done", "terminal blocked"];
    assert_eq!(own, [&asked[..], &["delegate_task done", "memory done", "todo done"]].concat());
    let of_subagent = events.iter().filter(|event| event["type"] == "subagent").map(|event| &event["event"]);
    let of_subagent: Vec<String> = of_subagent.filter(calls).map(how).collect();
    assert_eq!(of_subagent, ["terminal done", "read_file done"]);
    assert_eq!(events.last().map(|event| &event["text"]), Some(&result["text"]));
    assert!(found_in(&temporary(&world)).is_empty());
}

/// In the pause of recovery, while words come, while a sub-agent works, and just before the end.
#[tokio::test]
async fn who_leaves_early_leaves_nothing_behind() {
    let moments = ["trying again", "I make a plan", "sub-agent 1 ", "To talk to"];
    let left = moments.map(|moment| async move {
        let world = visitor().env("TERM", "xterm");
        let before = found_in(world.home());
        let mut person = Person::at(&world, "demo");
        person.sees(moment).await.types("\u{3}").await;
        let begun = std::time::Instant::now();
        let (code, seen) = person.leaves().await;
        assert_eq!(code, Some(130), "{moment}: {seen}");
        assert!(begun.elapsed() < Duration::from_secs(5), "{moment}: {:?}", begun.elapsed());
        assert!(seen.contains("hermes demo:") && seen.contains("interrupted"), "{moment}: {seen}");
        assert!(!seen.contains("read back from the store"), "{moment}: {seen}");
        assert_eq!(found_in(world.home()), before, "{moment}");
        assert_eq!(at_work_in(world.home()), [] as [PathBuf; 0], "{moment}");
    });
    join_all(left).await;
}

/// The system calls of the program and of everything it starts.
#[tokio::test]
#[allow(clippy::print_stderr, reason = "a test that was skipped says so")]
async fn no_socket_is_opened_and_nothing_of_the_person_is_read() {
    let world = visitor();
    let log = world.home().join("calls");
    let trace = format!("strace -f -qq -e trace=network,file -o {}", log.display());
    if shell(&world, &format!("{trace} true")).await.code != Some(0) {
        eprintln!("skipped: programs cannot be traced here");
        return;
    }
    shell(&world, &format!("{trace} $0 demo")).await.expect_code(0);
    let calls = std::fs::read_to_string(&log).expect("what strace saw");
    assert!(calls.contains("orders.csv"), "the trace is of the demo");
    assert!(!calls.contains("AF_INET"), "a socket was opened");
    let home = world.hermes_home().display().to_string();
    let theirs: Vec<&str> = calls.lines().filter(|call| call.contains(&home) || call.contains("AGENTS.md")).collect();
    let touched: Vec<&&str> = theirs.iter().filter(|call| !call.contains("hermes-demo-")).collect();
    assert!(touched.is_empty(), "{touched:?}");
}
