//! Kills between the writes: while the model thinks, and while a command runs.

use crate::judge::{Kept, Line, faults_behind_kill, whole};
use crate::sweep::{Home, finish, stage};
use crate::tale::{self, ANSWER, QUESTION};
use crate::tally::Tally;
use crate::{HERMES, home_at, spread};
use hermes_testkit::{ModelServer, Move, Received, World};
use serde_json::json;
use std::path::Path;
use std::time::{Duration, Instant};
use tokio::process::Child;
use tokio::sync::mpsc;

/// Of the thirty times the model is asked.
const QUESTIONS: usize = 5;
const SOON: Duration = Duration::from_secs(20);

async fn kill(mut child: Child) {
    child.kill().await.expect("killed");
}

/// A model that falls silent at the question behind so many replies, once, and says so.
fn silent_at(step: usize, told: mpsc::UnboundedSender<()>) -> impl FnMut(&Received) -> Move + Send {
    let mut silent = false;
    move |request| {
        if silent || tale::replied(request) != step {
            return tale::next(request);
        }
        silent = true;
        told.send(()).expect("the test listens");
        tale::next(request).stall_after(3)
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_session_survives_a_kill_while_the_model_is_asked() {
    let (server, world) = stage(Home::Used).await;
    assert_eq!(world.run(HERMES, &["-z", QUESTION]).await.code, Some(0));
    let unkilled = whole(&world).await;
    server.finish();

    let questions = tale::replies().len() + 1;
    let mut tally = Tally { of: Some(questions), ..Tally::of("while the model is asked") };
    for step in spread(QUESTIONS, questions) {
        let (told, mut asked) = mpsc::unbounded_channel();
        let server = ModelServer::directed(silent_at(step, told)).await;
        let world = tale::stage(&server);
        let child = world.command(HERMES, &["-z", QUESTION]).spawn().expect("started");
        tokio::time::timeout(SOON, asked.recv()).await.expect("asked in time");
        kill(child).await;
        tally.kills += 1;
        let kept = Kept::of(&world).await;
        let mut faults = faults_behind_kill(&world, &server, &kept);
        if !kept.begun.is_empty() {
            faults.push(format!("open: {:?} while nothing runs", kept.begun));
        }
        tally.faults.extend(faults.into_iter().map(|fault| format!("question {step}: {fault}")));
        finish(&world, server, &unkilled, &mut tally).await;
    }
    assert_eq!(tally.unknown, 0, "nothing was running when the program was killed");
    tally.settle();
}

async fn until_there(path: &Path) {
    let begun = Instant::now();
    while !path.exists() {
        assert!(begun.elapsed() < SOON, "{} does not come", path.display());
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// Starts with a command that says that it runs and then waits for a word that never comes, beside a read.
fn long_command(request: &Received) -> Move {
    let wait = "echo begun >> log; while [ ! -e go-on ]; do sleep 0.05; done; echo ended >> log";
    match tale::replied(request) {
        0 => Move::say("")
            .call("terminal", json!({"command": wait}))
            .id("call_wait")
            .call("todo", json!({}))
            .id("call_plan"),
        _ => Move::say(ANSWER),
    }
}

#[tokio::test]
async fn a_command_that_was_running_is_told_to_be_unknown_and_never_runs_again() {
    let server = ModelServer::directed(long_command).await;
    let world: World = home_at(&server);
    let log = world.work_dir().join(tale::LOG);
    let child = world.command(HERMES, &["-z", QUESTION]).spawn().expect("started");
    until_there(&log).await;
    kill(child).await;
    let kept = Kept::of(&world).await;
    assert_eq!((kept.begun.as_slice(), &kept.damage), (&["call_wait".to_owned()][..], &Vec::new()));
    let session = kept.session.expect("kept").to_string();

    let ran = world.run(HERMES, &["--resume", &session]).await;
    assert_eq!((ran.code, ran.stdout), (Some(0), format!("{ANSWER}\n")), "{}", ran.stderr);
    assert_eq!(std::fs::read_to_string(&log).expect("the log"), "begun\n", "it died with the program, and stays dead");
    let told = Kept::of(&world).await.told();
    let results: Vec<bool> = told.iter().filter(|line| line.is_result()).map(Line::is_unknown).collect();
    assert_eq!(results, [true, false], "the command is unknown, the plan was read: {told:#?}");
    server.finish();
}

#[tokio::test]
async fn what_was_asked_behind_an_unfinished_turn_does_not_run_what_was_left() {
    let server = ModelServer::directed(long_command).await;
    let world: World = home_at(&server);
    let log = world.work_dir().join(tale::LOG);
    let child = world.command(HERMES, &["-z", QUESTION]).spawn().expect("started");
    until_there(&log).await;
    kill(child).await;
    let session = Kept::of(&world).await.session.expect("kept").to_string();
    let ran = world.run(HERMES, &["--resume", &session, "-z", "Never mind. What is there?"]).await;
    assert_eq!((ran.code, ran.stdout), (Some(0), format!("{ANSWER}\n")), "{}", ran.stderr);
    assert_eq!(std::fs::read_to_string(&log).expect("the log"), "begun\n");
    let kept = Kept::of(&world).await;
    assert!(kept.begun.is_empty(), "{:?}", kept.begun);
    let results: Vec<bool> = kept.told().iter().filter(|line| line.is_result()).map(Line::is_unknown).collect();
    assert_eq!(results, [true, false], "the plan was never looked at, and that is known");
    server.finish();
}
