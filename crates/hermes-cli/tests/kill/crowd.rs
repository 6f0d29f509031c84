//! Several programs in one home: each session belongs to one of them at a time, and nothing of one gets into another.

use crate::judge::{Kept, faults_at_end, whole};
use crate::sweep::{Home, stage, words};
use crate::tale::{self, ANSWER, LOG, QUESTION};
use crate::{HERMES, home_at};
use hermes_testkit::{ModelServer, Move, Received, integrity};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::process::Stdio;
use std::time::Duration;
use tokio::sync::mpsc;

const PROGRAMS: usize = 6;
const STEPS: usize = 8;

/// Steps through a list of its own, told by the question.
fn own_steps(request: &Received) -> Move {
    let messages = request.json()["messages"].as_array().expect("messages");
    let question = messages.iter().find(|message| message["role"] == "user").expect("a question");
    let name = question["content"].as_str().expect("text").to_owned();
    match tale::replied(request) {
        step if step < STEPS => {
            let line = format!("{name}-{step}");
            Move::say("").call("terminal", json!({"command": format!("echo {line} >> {LOG}")})).id(&line)
        }
        _ => Move::say(&format!("{name} is done.")),
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn programs_in_one_home_do_not_get_into_each_other() {
    let server = ModelServer::directed(own_steps).await;
    let world = home_at(&server);
    let names: Vec<String> = (0..PROGRAMS).map(|number| format!("program{number}")).collect();
    let mut children = Vec::new();
    for name in &names {
        children.push(world.command(HERMES, &["-z", name]).stderr(Stdio::piped()).spawn().expect("started"));
    }
    for (name, child) in names.iter().zip(children) {
        let output = child.wait_with_output().await.expect("ended");
        let stdout = String::from_utf8_lossy(&output.stdout).into_owned();
        assert_eq!(stdout, format!("{name} is done.\n"), "{}", String::from_utf8_lossy(&output.stderr));
    }
    let log = std::fs::read_to_string(world.work_dir().join(LOG)).expect("the log");
    let mut lines: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (name, step) in log.lines().filter_map(|line| line.split_once('-')) {
        lines.entry(name).or_default().push(step);
    }
    let steps: Vec<String> = (0..STEPS).map(|step| step.to_string()).collect();
    for name in &names {
        assert_eq!(lines.get(name.as_str()), Some(&steps.iter().map(String::as_str).collect()), "{log}");
    }
    let exported = world.run(HERMES, &["sessions", "export", "--all"]).await.expect_code(0).stdout;
    let mut sessions = 0;
    for session in exported.lines().map(|line| serde_json::from_str::<Value>(line).expect("JSON")) {
        let messages = session["messages"].as_array().expect("messages");
        let name = messages[0]["content"].as_str().expect("a question");
        let own =
            |message: &Value| message["tool_call_id"].as_str().is_none_or(|id| id.starts_with(&format!("{name}-")));
        assert!(messages.iter().all(own), "{session:#}");
        assert_eq!(messages.len(), 2 + 2 * STEPS, "{session:#}");
        sessions += 1;
    }
    assert_eq!(sessions, PROGRAMS);
    assert_eq!(integrity(&world.hermes_home().join("state.db")), Vec::<String>::new());
    server.finish();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_two_programs_that_resume_a_session_at_once_one_waits_its_turn() {
    let (server, world) = stage(Home::Used).await;
    assert_eq!(world.run(HERMES, &["-z", QUESTION]).await.code, Some(0));
    let unkilled = whole(&world).await;
    server.finish();

    // A session that was killed in the middle, and a model that thinks for a while at every question behind that.
    let (told, mut asked) = mpsc::unbounded_channel();
    let middle = tale::replies().len() / 2;
    let server = ModelServer::directed(move |request| {
        // Nobody listens any more once the first program is killed.
        let _ = told.send(tale::replied(request));
        tale::next(request).delay(Duration::from_millis(40))
    })
    .await;
    let world = tale::stage(&server);
    let mut child = world.command(HERMES, &["-z", QUESTION]).spawn().expect("started");
    while asked.recv().await.expect("asked") < middle {}
    child.kill().await.expect("killed");

    let words = words(&Kept::of(&world).await);
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let (one, other) = tokio::join!(world.run(HERMES, &words), world.run(HERMES, &words));
    let (winner, loser) = if one.code == Some(0) { (one, other) } else { (other, one) };
    assert_eq!((winner.code, winner.stdout), (Some(0), format!("{ANSWER}\n")), "{}", winner.stderr);
    assert_eq!((loser.code, loser.stdout.as_str()), (Some(1), ""), "two programs were at work in one session");
    assert!(loser.stderr.contains("is at work in session"), "{}", loser.stderr);
    let kept = Kept::of(&world).await;
    assert_eq!(faults_at_end(&world, &kept, &unkilled), Vec::<String>::new());

    // Behind the turn everybody is welcome.
    let ran = world.run(HERMES, &["--resume", words[1], "-z", "Thank you."]).await;
    assert_eq!((ran.code, ran.stdout), (Some(0), format!("{ANSWER}\n")), "{}", ran.stderr);
    server.finish();
}
