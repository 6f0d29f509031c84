//! Several programs in one home: each session belongs to one of them at a time, and nothing of one gets into another.

use crate::judge::{Kept, Line, faults_at_end, whole};
use crate::sweep::{Home, stage, words};
use crate::tale::{self, ANSWER, LOG, QUESTION};
use crate::{HERMES, home_at};
use hermes_testkit::{ModelServer, Move, Received, World, integrity};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::time::Duration;
use tokio::process::Child;
use tokio::sync::mpsc;

const PROGRAMS: usize = 6;
const STEPS: usize = 8;
const SOON: Duration = Duration::from_secs(30);

fn first_question(request: &Received) -> String {
    let messages = request.json()["messages"].as_array().expect("messages");
    let question = messages.iter().find(|message| message["role"] == "user").expect("a question");
    question["content"].as_str().expect("text").to_owned()
}

/// Steps through a list of its own, told by the question.
fn own_steps(request: &Received) -> Move {
    let name = first_question(request);
    match tale::replied(request) {
        step if step < STEPS => {
            let line = format!("{name}-{step}");
            Move::say("").call("terminal", json!({"command": format!("echo {line} >> {LOG}")})).id(&line)
        }
        _ => Move::say(&format!("{name} is done.")),
    }
}

/// Every session of a home with its first question.
async fn sessions(world: &World) -> Vec<(String, Value)> {
    let exported = world.run(HERMES, &["sessions", "export", "--all"]).await.expect_code(0).stdout;
    let sessions = exported.lines().map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
    sessions
        .map(|session| (session["messages"][0]["content"].as_str().expect("a question").to_owned(), session))
        .collect()
}

/// Starts a program for each list of words and waits for what they say.
async fn at_once(world: &World, words: &[Vec<String>]) -> Vec<String> {
    let start = |words: &Vec<String>| {
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        world.command(HERMES, &words).spawn().expect("started")
    };
    let children: Vec<Child> = words.iter().map(start).collect();
    let mut said = Vec::new();
    for child in children {
        let output = child.wait_with_output().await.expect("ended");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        said.push(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    said
}

/// Each session has its own messages and nobody else's; each line of the log was written once, by the one it belongs to,
/// unless its writer was told that nobody knows.
async fn nothing_is_mixed(world: &World, names: &[String]) {
    let log = std::fs::read_to_string(world.work_dir().join(LOG)).expect("the log");
    let sessions = sessions(world).await;
    assert_eq!(sessions.len(), names.len());
    for (name, session) in &sessions {
        let messages = session["messages"].as_array().expect("messages");
        assert_eq!(messages.len(), 2 + 2 * STEPS, "{session:#}");
        let own = |id: &str| id.starts_with(&format!("{name}-"));
        assert!(messages.iter().all(|message| message["tool_call_id"].as_str().is_none_or(own)), "{session:#}");
        for line in (0..STEPS).map(|step| format!("{name}-{step}")) {
            let result = messages.iter().find(|message| message["tool_call_id"] == line.as_str()).expect("a result");
            let times = log.lines().filter(|written| *written == line).count();
            let fits = if Line::of(result).is_unknown() { times <= 1 } else { times == 1 };
            assert!(fits, "{line} was written {times} times: {result}");
        }
    }
    assert_eq!(integrity(&world.hermes_home().join("state.db")), Vec::<String>::new());
}

fn names() -> Vec<String> {
    (0..PROGRAMS).map(|number| format!("program{number}")).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn programs_in_one_home_do_not_get_into_each_other() {
    let server = ModelServer::directed(own_steps).await;
    let world = home_at(&server);
    let names = names();
    let words: Vec<Vec<String>> = names.iter().map(|name| vec!["-z".into(), name.clone()]).collect();
    let expected: Vec<String> = names.iter().map(|name| format!("{name} is done.\n")).collect();
    assert_eq!(at_once(&world, &words).await, expected);
    nothing_is_mixed(&world, &names).await;
    server.finish();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn programs_that_die_beside_others_take_nothing_with_them() {
    let (told, mut asked) = mpsc::unbounded_channel();
    let server = ModelServer::directed(move |request| {
        // Nobody listens any more once all of them were killed.
        let _ = told.send((first_question(request), tale::replied(request)));
        own_steps(request)
    })
    .await;
    let world = home_at(&server);
    let names = names();
    let start = |name: &String| world.command(HERMES, &["-z", name]).spawn().expect("started");
    let mut children: BTreeMap<String, Child> = names.iter().map(|name| (name.clone(), start(name))).collect();
    while !children.is_empty() {
        let (name, step) = tokio::time::timeout(SOON, asked.recv()).await.expect("in time").expect("asked");
        // Each at another step, at whatever it does when the model has heard of it.
        if names.iter().position(|known| *known == name).is_some_and(|number| step == number + 1)
            && let Some(mut child) = children.remove(&name)
        {
            child.kill().await.expect("killed");
        }
    }
    let sessions = sessions(&world).await;
    let id = |session: &Value| session["id"].as_str().expect("an id").to_owned();
    let words: Vec<Vec<String>> = sessions.iter().map(|(_, session)| vec!["--resume".into(), id(session)]).collect();
    let expected: Vec<String> = sessions.iter().map(|(name, _)| format!("{name} is done.\n")).collect();
    assert_eq!(at_once(&world, &words).await, expected);
    nothing_is_mixed(&world, &names).await;
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
