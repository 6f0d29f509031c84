//! A process that is killed at any instant: what it was told to be done is done, and the operation it was at happened
//! entirely or not at all.

use crate::model::{Model, Op};
use crate::stage::open;
use crate::worker::{Job, say};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use rusqlite::Connection;
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::time::{Duration, Instant};

/// The steps a process is killed at, one after the other; then as many kills at random steps and instants.
const STEPS: usize = 60;
const ROUNDS: usize = 150;

/// The killed process: performs the script from an operation on, until it is no more.
pub(crate) async fn go_on(path: &Path, seed: u64, from: usize) {
    let store = open(path).await;
    for n in from.. {
        say(&format!("about {n}"));
        Op::nth(seed, n).perform(&store).await.expect("an operation");
        say(&format!("done {n}"));
    }
}

/// How far a process came: operations that were begun and those that were acknowledged.
struct Progress {
    begun: usize,
    done: usize,
}

/// Starts a process at operation `from` and kills it some time after it began operation `at`.
fn run_and_kill(path: &Path, seed: u64, from: usize, at: usize, after: Duration) -> Progress {
    let mut process = Job::Script { path: path.to_owned(), seed, from }.start();
    let mut lines = BufReader::new(process.stdout.take().expect("a pipe")).lines();
    let mut progress = Progress { begun: from, done: from };
    let mut hear = |progress: &mut Progress| -> bool {
        let Some(Ok(line)) = lines.next() else { return false };
        match line.split_once(' ') {
            Some(("about", n)) => progress.begun = n.parse::<usize>().expect("a number") + 1,
            Some(("done", n)) => progress.done = n.parse::<usize>().expect("a number") + 1,
            _ => {}
        }
        true
    };
    while progress.begun <= at && hear(&mut progress) {}
    assert!(progress.begun > at, "seed {seed}: the process ended by itself at operation {}", progress.done);
    let instant = Instant::now() + after;
    while Instant::now() < instant {
        std::hint::spin_loop();
    }
    process.kill().expect("killed");
    process.wait().expect("gone");
    while hear(&mut progress) {}
    progress
}

/// Opens what is left and finds the operation to go on with.
async fn check(path: &Path, seed: u64, model: &mut Model, from: usize, progress: &Progress) -> usize {
    for n in from..progress.done {
        model.apply(&Op::nth(seed, n));
    }
    let store = open(path).await;
    let found = Model::of(&store).await;
    store.close().await;
    assert_eq!(integrity(path), "ok", "seed {seed}, killed after operation {}", progress.done);
    if found == *model {
        return progress.done;
    }
    let interrupted = Op::nth(seed, progress.done);
    assert!(progress.begun > progress.done, "seed {seed}: after operation {} the file has {found:#?}", progress.done);
    model.apply(&interrupted);
    assert_eq!(found, *model, "seed {seed}: operation {} ({interrupted:?}) happened in part", progress.done);
    progress.done + 1
}

fn integrity(path: &Path) -> String {
    let connection = Connection::open(path).expect("the file");
    connection.query_row("PRAGMA integrity_check", [], |row| row.get(0)).expect("a check")
}

#[tokio::test]
async fn what_was_acknowledged_survives_a_kill_at_every_step() {
    let seed = 20_260_401;
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("state.db");
    let (mut dice, mut model, mut next) = (StdRng::seed_from_u64(seed), Model::default(), 0);
    for round in 0..STEPS + ROUNDS {
        let ahead = if round < STEPS { 0 } else { dice.random_range(0..6) };
        let after = Duration::from_micros(dice.random_range(0..2_000));
        let progress = run_and_kill(&path, seed, next, next + ahead, after);
        next = check(&path, seed, &mut model, next, &progress).await;
    }
    assert!(next > ROUNDS, "seed {seed}: only {next} operations were done, the proof is thin");
}
