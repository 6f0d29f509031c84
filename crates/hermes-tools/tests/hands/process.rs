//! Processes in the background: started, watched, written to and ended as a model does it.

use crate::stage::Stage;
use hermes_core::clock::RealClock;
use hermes_core::stop::Stop;
use hermes_tools::desk::{Desk, Ports, Reach, Workshop};
use hermes_tools::effects::{Company, Effects};
use hermes_tools::face::Nobody;
use hermes_tools::gate::{Answer, Wish};
use hermes_tools::process::{Face, Happened, News, Processes, Reason, Start, Started, Tell};
use hermes_tools::run::Untold;
use hermes_types::{CallId, SessionId, ToolCall};
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Starts a command as the terminal tool does.
async fn start(stage: &Stage, command: &str, face: Face, tell: Tell) -> Started {
    start_in(stage, &stage.desk.shop.processes, command, face, tell).await
}

async fn start_in(stage: &Stage, processes: &Processes, command: &str, face: Face, tell: Tell) -> Started {
    let desk = &stage.desk;
    let effects = Effects::command(command, desk.cwd(), Company::Alone);
    let (session, channel) = (&desk.session, desk.face().channel());
    let wish = Wish { tool: "terminal", session, channel, effects, arguments: "{}", wanted: None };
    let permit = desk.shop.gate.admit(wish, &Stop::new()).await.expect("a harmless command");
    let shell = desk.terminal.shell().await.expect("a shell");
    let (session, cwd) = (desk.session.clone(), desk.cwd());
    processes.start(Start { permit, session, shell, cwd, face, tell, password: None }).await.expect("it starts")
}

async fn act(stage: &Stage, action: &str, id: &str) -> Value {
    stage.call("process", json!({"action": action, "session_id": id})).await
}

async fn submit(stage: &Stage, id: &str, data: &str) -> Value {
    stage.call("process", json!({"action": "submit", "session_id": id, "data": data})).await
}

/// Command lines of sleepers with this token.
fn sleepers(token: &str) -> usize {
    let entries = std::fs::read_dir("/proc").expect("a process table").flatten();
    let lines = entries.filter_map(|entry| std::fs::read(entry.path().join("cmdline")).ok());
    lines.filter(|line| line.starts_with(b"sleep") && String::from_utf8_lossy(line).contains(token)).count()
}

async fn wait_for(what: &str, done: impl Fn() -> bool) {
    let patience = Instant::now() + Duration::from_secs(20);
    while !done() {
        assert!(Instant::now() < patience, "{what} did not come");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_process_runs_ends_and_says_how() {
    let stage = Stage::new();
    let Started { id, pid } =
        start(&stage, "printf '\\033[1mone\\033[0m\\n'; echo two >&2; exit 3", Face::Pipes, Tell::Nothing).await;
    assert!(id.starts_with("proc_") && id.len() == 17, "{id}");
    let command = "printf '\\033[1mone\\033[0m\\n'; echo two >&2; exit 3";
    let waited = act(&stage, "wait", &id).await;
    assert_eq!(
        (&waited["status"], &waited["exit_code"], &waited["command"]),
        (&json!("exited"), &json!(3), &json!(command))
    );
    let mut lines: Vec<&str> = waited["output"].as_str().expect("text").lines().collect();
    lines.sort_unstable();
    assert_eq!(lines, ["one", "two"]);
    let mut poll = act(&stage, "poll", &id).await;
    poll["output_preview"] = json!("…");
    poll["uptime_seconds"] = json!(0);
    let expected = json!({"session_id": id, "command": command, "status": "exited", "pid": pid, "uptime_seconds": 0,
        "output_preview": "…", "exit_code": 3, "completion_reason": "exited", "termination_source": ""});
    assert_eq!(poll.to_string(), expected.to_string(), "the fields and their order");
    let log = stage.call("process", json!({"action": "log", "session_id": id, "offset": 1, "limit": 5})).await;
    assert_eq!((&log["total_lines"], &log["showing"]), (&json!(2), &json!("1 lines")));
    let killed = act(&stage, "kill", &id).await;
    assert_eq!(killed["status"], "already_exited");
    assert_eq!(submit(&stage, &id, "x").await["status"], "already_exited");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_process_with_pipes_can_be_written_to() {
    let stage = Stage::new();
    let Started { id, .. } = start(&stage, "cat", Face::Pipes, Tell::Nothing).await;
    assert_eq!(submit(&stage, &id, "rm -rf / is only text here").await, json!({"status": "ok", "bytes_written": 27}));
    let write = json!({"action": "write", "session_id": id, "data": 5});
    assert_eq!(stage.call("process", write).await, json!({"status": "ok", "bytes_written": 1}));
    assert_eq!(act(&stage, "close", &id).await, json!({"status": "ok"}));
    let waited = act(&stage, "wait", &id).await;
    assert_eq!(
        waited,
        json!({"status": "exited", "command": "cat", "exit_code": 0, "output": "rm -rf / is only text here\n5"})
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_process_under_a_terminal_sees_one() {
    let stage = Stage::new();
    let command = "[ -t 0 ] && stty size; read line; echo got $line";
    let Started { id, .. } = start(&stage, command, Face::Pty, Tell::Nothing).await;
    assert_eq!(submit(&stage, &id, "it").await["status"], "ok");
    let waited = act(&stage, "wait", &id).await;
    let output = waited["output"].as_str().expect("text");
    assert!(output.contains("30 120\n") && output.ends_with("got it\n"), "{output:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_shell_reads_is_judged_as_a_whole() {
    let stage = Stage::new();
    let Started { id, .. } = start(&stage, "bash", Face::Pipes, Tell::Nothing).await;
    assert_eq!(submit(&stage, &id, "echo harmless").await["status"], "ok");
    assert_eq!(submit(&stage, &id, "rm -rf /").await["status"], "blocked");
    let write = |data: &str| json!({"action": "write", "session_id": id, "data": data});
    assert_eq!(stage.call("process", write("r")).await["status"], "ok");
    assert_eq!(stage.call("process", write("m -rf /\n")).await["status"], "blocked", "in two portions");
    assert_eq!(stage.call("process", write("ls\u{7f}\n")).await["status"], "error", "keys that edit");
    assert_eq!(stage.call("process", write("\u{4}")).await["status"], "ok");
    assert_eq!(act(&stage, "kill", &id).await["status"], "killed");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_person_is_asked_about_dangerous_input() {
    let stage = Stage::attended([Answer::Deny, Answer::Once]);
    stage.write("junk/file", "x");
    let Started { id, .. } = start(&stage, "bash", Face::Pipes, Tell::Nothing).await;
    assert_eq!(submit(&stage, &id, "rm -rf junk").await["status"], "blocked");
    assert!(stage.path("junk").exists());
    assert_eq!(submit(&stage, &id, "rm -rf junk").await["status"], "ok");
    assert_eq!(submit(&stage, &id, "exit 0").await["status"], "ok", "consent is not asked for twice");
    assert_eq!(act(&stage, "wait", &id).await["exit_code"], 0);
    assert!(!stage.path("junk").exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_kill_takes_the_whole_family() {
    let stage = Stage::with(json!({"terminal": {"daemon_term_grace_seconds": 0.2}}));
    let token = "3600.118811";
    let command = format!("trap '' TERM; setsid sleep {token} & echo here; sleep {token}; sleep {token}");
    let Started { id, .. } = start(&stage, &command, Face::Pipes, Tell::OnEnd).await;
    wait_for("both sleepers", || sleepers(token) == 2).await;
    let killed = act(&stage, "kill", &id).await;
    let expected = json!({"status": "killed", "session_id": id, "completion_reason": "killed",
        "termination_source": "process.kill", "exit_code": -15, "output": "here\n"});
    assert_eq!(killed.to_string(), expected.to_string());
    assert_eq!(sleepers(token), 0);
    assert_eq!(stage.desk.shop.processes.news(&stage.desk.session), []);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_interrupt_ends_a_wait_and_not_the_process() {
    let stage = Stage::new();
    let Started { id, .. } = start(&stage, "sleep 60", Face::Pipes, Tell::Nothing).await;
    let timed = stage.call("process", json!({"action": "wait", "session_id": id, "timeout": 1})).await;
    assert_eq!(timed["status"], "timeout");
    let stop = stage.stop.clone();
    let interrupt = async move {
        tokio::time::sleep(Duration::from_millis(100)).await;
        stop.stop();
        Instant::now()
    };
    let (waited, stopped) = tokio::join!(act(&stage, "wait", &id), interrupt);
    assert!(stopped.elapsed() < Duration::from_millis(500));
    assert_eq!(waited, json!({"status": "interrupted", "command": "sleep 60", "output": ""}));
    assert_eq!(stage.desk.shop.processes.running(&stage.desk.session), 1);
    stage.desk.shop.processes.close().await;
    assert_eq!(stage.desk.shop.processes.running(&stage.desk.session), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_conversation_sees_only_its_own() {
    let stage = Stage::new();
    let Started { id, .. } = start(&stage, "sleep 60", Face::Pipes, Tell::OnEnd).await;
    let list = stage.call("process", json!({"action": "list"})).await;
    assert_eq!(list["processes"][0]["session_id"], json!(id));
    assert_eq!(list["processes"][0]["notify_on_complete"], json!(true));
    let other = Desk::new(stage.desk.shop.clone(), SessionId::new("another"));
    assert_eq!(ask(&stage, &other, json!({"action": "list"})).await, json!({"processes": []}));
    let kill = ask(&stage, &other, json!({"action": "kill", "session_id": id})).await;
    assert_eq!(kill["status"], "not_found");
    assert_eq!(
        stage.call("process", json!({"action": "poll"})).await,
        json!({"error": "session_id is required for poll"})
    );
    assert_eq!(stage.call("process", json!({"action": "poll", "session_id": 7})).await["status"], "not_found");
    stage.desk.shop.processes.close().await;
}

async fn ask(stage: &Stage, desk: &Arc<Desk>, arguments: Value) -> Value {
    ask_tool(stage, desk, "process", arguments).await
}

async fn ask_tool(stage: &Stage, desk: &Arc<Desk>, tool: &str, arguments: Value) -> Value {
    let call = ToolCall::new(CallId::new("call_x"), tool, arguments.to_string().as_str());
    let results = stage.hands().run(&[call], desk, &Untold, &Stop::new()).await.expect("no abort");
    serde_json::from_str(&results[0].content.text()).expect("JSON")
}

#[tokio::test(flavor = "multi_thread")]
async fn news_comes_once_and_not_twice() {
    let stage = Stage::new();
    let (processes, session) = (&stage.desk.shop.processes, &stage.desk.session);
    let Started { id, .. } = start(&stage, "echo bye; exit 4", Face::Pipes, Tell::OnEnd).await;
    let what = Happened::Ended { exit_code: Some(4), reason: Reason::Exited, output: "bye\n".into() };
    let news = News { process: id, command: "echo bye; exit 4".into(), what };
    assert_eq!(processes.next_news(session).await, [news]);
    assert_eq!(processes.news(session), []);
    // Who waited for it knows already.
    let Started { id, .. } = start(&stage, "true", Face::Pipes, Tell::OnEnd).await;
    assert_eq!(act(&stage, "wait", &id).await["status"], "exited");
    assert_eq!(act(&stage, "poll", &id).await["status"], "exited");
    // Lines that match.
    let tell = Tell::OnMatch(vec!["ready".into()]);
    let Started { id, .. } = start(&stage, "echo warming up; echo server ready; sleep 60", Face::Pipes, tell).await;
    let told = processes.next_news(session).await;
    let matched = Happened::Matched { pattern: "ready".into(), line: "server ready".into(), dropped: 0 };
    assert_eq!(told.iter().map(|news| (&news.process, &news.what)).collect::<Vec<_>>(), [(&id, &matched)]);
    processes.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_process_that_does_not_read_holds_nobody_up() {
    let stage = Stage::new();
    let Started { id, .. } = start(&stage, "cat > /dev/null; sleep 60", Face::Pipes, Tell::Nothing).await;
    assert_eq!(act(&stage, "close", &id).await, json!({"status": "ok"}));
    assert_eq!(submit(&stage, &id, "late").await["status"], "error");
    let Started { id, .. } = start(&stage, "tail -f /dev/null", Face::Pipes, Tell::Nothing).await;
    let stop = stage.stop.clone();
    let interrupt = async move {
        tokio::time::sleep(Duration::from_millis(200)).await;
        stop.stop();
    };
    let data = "x".repeat(100_000);
    let (held, ()) = tokio::join!(submit(&stage, &id, &data), interrupt);
    assert_eq!(held, json!({"status": "error", "error": "interrupted", "bytes_written": 65_536}));
    stage.desk.shop.processes.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn closing_and_dropping_leave_nobody() {
    let stage = Stage::new();
    let settings = stage.desk.settings();
    for (token, closes) in [("3600.224422", true), ("3600.224423", false)] {
        let processes = Processes::new(settings);
        let command = format!("(setsid sleep {token} &); sleep {token}");
        start_in(&stage, &processes, &command, Face::Pipes, Tell::Nothing).await;
        start_in(&stage, &processes, &format!("sleep {token} & exit"), Face::Pipes, Tell::Nothing).await;
        wait_for("three sleepers", || sleepers(token) == 3).await;
        if closes {
            processes.close().await;
        }
        drop(processes);
        assert_eq!(sleepers(token), 0, "closed: {closes}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_later_run_finds_what_still_runs_and_nothing_else() {
    let stage = Stage::new();
    let Started { id, pid } = start(&stage, "sleep 3600.335533", Face::Pipes, Tell::Nothing).await;
    let file = stage.root().join("home/.hermes/processes.json");
    let records: Value = serde_json::from_slice(&std::fs::read(&file).expect("written")).expect("JSON");
    assert_eq!((&records[0]["session_id"], &records[0]["pid"]), (&json!(id), &json!(pid)));
    let session = &stage.desk.session;
    // The program that started it lives: it is not anybody else's.
    assert_eq!(Processes::new(stage.desk.settings()).running(session), 0);
    // It is gone, and the number of a second process has another owner now.
    let mut orphan = records[0].clone();
    orphan["owner_start_time"] = json!(1);
    let mut stranger = orphan.clone();
    (stranger["session_id"], stranger["host_start_time"]) = (json!("proc_stranger"), json!(1));
    let mixed = json!([orphan, stranger, {"of": "another shape"}]);
    std::fs::write(&file, mixed.to_string()).expect("written");
    let ports = Ports {
        face: Arc::new(Nobody),
        adviser: None,
        aide: None,
        lasting: stage.kept.clone(),
        clock: Arc::new(RealClock::default()),
        listener: Arc::new(|_| {}),
    };
    let desk = Desk::new(Workshop::new(stage.desk.settings().clone(), ports), session.clone());
    let list = ask(&stage, &desk, json!({"action": "list"})).await;
    let seen: Vec<_> = list["processes"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|one| (&one["session_id"], &one["detached"]))
        .collect();
    assert_eq!(seen, [(&json!(id), &json!(true))]);
    let write = ask(&stage, &desk, json!({"action": "submit", "session_id": id, "data": "x"})).await;
    assert_eq!(write["status"], "error");
    let killed = ask(&stage, &desk, json!({"action": "kill", "session_id": id})).await;
    assert_eq!((&killed["status"], sleepers("3600.335533")), (&json!("killed"), 0));
    // What is gone is no longer written down; what is not ours stays as it is.
    desk.shop.processes.close().await;
    let kept: Value = serde_json::from_slice(&std::fs::read(&file).expect("written")).expect("JSON");
    assert_eq!(kept, json!([{"of": "another shape"}]));
}

#[tokio::test(flavor = "multi_thread")]
async fn there_are_never_more_than_sixty_four() {
    let stage = Stage::new();
    let Started { id: first, .. } = start(&stage, "true", Face::Pipes, Tell::Nothing).await;
    assert_eq!(act(&stage, "wait", &first).await["status"], "exited");
    for _ in 0..64 {
        start(&stage, "sleep 60", Face::Pipes, Tell::Nothing).await;
    }
    assert_eq!(act(&stage, "poll", &first).await["status"], "not_found", "what has ended makes room");
    let desk = &stage.desk;
    let effects = Effects::command("true", desk.cwd(), Company::Alone);
    let (session, channel) = (&desk.session, desk.face().channel());
    let wish = Wish { tool: "terminal", session, channel, effects, arguments: "{}", wanted: None };
    let permit = desk.shop.gate.admit(wish, &Stop::new()).await.expect("harmless");
    let (session, cwd) = (desk.session.clone(), desk.cwd());
    let shell = desk.terminal.shell().await.expect("a shell");
    let one_more = Start { permit, session, shell, cwd, face: Face::Pipes, tell: Tell::Nothing, password: None };
    assert_eq!(
        desk.shop.processes.start(one_more).await,
        Err("64 background processes run already. End one with the process tool, then try again.".to_owned())
    );
    desk.shop.processes.close().await;
    assert_eq!(desk.shop.processes.running(&desk.session), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_process_starts_from_the_shell_of_its_conversation() {
    let stage = Stage::with(json!({"approvals": {"mode": "off"}}));
    std::fs::create_dir(stage.path("sub")).expect("a directory");
    stage.call("terminal", json!({"command": "export X=5; unset HOME; greet() { echo hello $X; }; cd sub"})).await;
    let command = "greet; pwd; echo \"[$HOME]\" $PYTHONUNBUFFERED >&2";
    let started = stage.call("terminal", json!({"command": command, "background": true})).await;
    let waited = act(&stage, "wait", started["session_id"].as_str().expect("an id")).await;
    assert_eq!(waited["output"], format!("hello 5\n{}\n[] 1\n", stage.path("sub").display()));
}

#[tokio::test(flavor = "multi_thread")]
async fn who_cannot_be_told_later_is_not_promised_it() {
    let stage = Stage::new();
    let once = Desk::reached(stage.desk.shop.clone(), SessionId::new("once"), Reach::OneShot);
    let wish = json!({"command": "true", "background": true, "notify_on_complete": true, "watch_patterns": ["x"]});
    let mut started = ask_tool(&stage, &once, "terminal", wish.clone()).await;
    (started["session_id"], started["pid"]) = (json!("…"), json!(0));
    let note = "nobody can be told later in this session; ask with process poll or wait";
    let common =
        json!({"output": "Background process started", "session_id": "…", "pid": 0, "exit_code": 0, "error": null});
    let mut expected = common.clone();
    expected["notify_unsupported"] = json!(note);
    assert_eq!(started, expected);
    once.close().await;
    assert_eq!(stage.desk.shop.processes.news(&once.session), []);
    let mut started = stage.call("terminal", wish).await;
    (started["session_id"], started["pid"]) = (json!("…"), json!(0));
    let mut expected = common;
    expected["notify_on_complete"] = json!(true);
    expected["watch_patterns_ignored"] = json!("notify_on_complete was given too, and it wins");
    assert_eq!(started, expected);
}

#[tokio::test(flavor = "multi_thread")]
async fn secrets_are_covered_in_what_a_process_says() {
    let stage = Stage::with(json!({"approvals": {"mode": "off"}}));
    let key = format!("sk-ant-api03-{}", "a1B2".repeat(12));
    stage.write("notes", &key);
    let Started { id, .. } = start(&stage, "cat notes", Face::Pipes, Tell::OnEnd).await;
    let news = stage.desk.shop.processes.next_news(&stage.desk.session).await;
    let log = act(&stage, "log", &id).await.to_string();
    assert!(log.contains("redacted") && !log.contains(&key), "{log}");
    assert!(!news[0].text().contains(&key), "{news:?}");
}
