//! A process that is killed at any instant: what it was told to be done is done, and the operation it was at happened
//! entirely or not at all.

use crate::model::{Model, Op};
use crate::stage::{Kind, open};
use crate::worker::{Job, say};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use rusqlite::Connection;
use std::io::{BufRead as _, BufReader, Lines};
use std::path::Path;
use std::process::{Child, ChildStdout};
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

/// A process that performs the script, and what it said so far.
struct Performer {
    process: Child,
    lines: Lines<BufReader<ChildStdout>>,
    progress: Progress,
}

impl Performer {
    fn start(path: &Path, seed: u64, from: usize) -> Self {
        let mut process = Job::Script { path: path.to_owned(), seed, from }.start();
        let lines = BufReader::new(process.stdout.take().expect("a pipe")).lines();
        Self { process, lines, progress: Progress { begun: from, done: from } }
    }

    /// Listens to one line; `false` when there will be no more.
    fn hear(&mut self) -> bool {
        let Some(Ok(line)) = self.lines.next() else { return false };
        match line.split_once(' ') {
            Some(("about", n)) => self.progress.begun = n.parse::<usize>().expect("a number") + 1,
            Some(("done", n)) => self.progress.done = n.parse::<usize>().expect("a number") + 1,
            _ => {}
        }
        true
    }

    /// Kills it after a while, and hears what it still said.
    fn kill(mut self, after: Duration) -> Progress {
        let instant = Instant::now() + after;
        while Instant::now() < instant {
            std::hint::spin_loop();
        }
        self.process.kill().expect("killed");
        self.process.wait().expect("gone");
        while self.hear() {}
        self.progress
    }
}

/// Starts a process at operation `from` and kills it some time after it began operation `at`.
fn run_and_kill(path: &Path, seed: u64, from: usize, at: usize, after: Duration) -> Progress {
    let mut performer = Performer::start(path, seed, from);
    while performer.progress.begun <= at && performer.hear() {}
    let Progress { begun, done } = performer.progress;
    assert!(begun > at, "seed {seed}: the process ended by itself at operation {done}");
    performer.kill(after)
}

/// Opens what is left and finds the operation to go on with.
async fn check(path: &Path, seed: u64, model: &mut Model, from: usize, progress: &Progress) -> usize {
    for n in from..progress.done {
        model.apply(&Op::nth(seed, n));
    }
    let store = open(path).await;
    let found = Model::of(&store).await;
    store.close().await;
    assert_eq!(integrity(path), Vec::<String>::new(), "seed {seed}, killed after operation {}", progress.done);
    if found == *model {
        return progress.done;
    }
    let interrupted = Op::nth(seed, progress.done);
    assert!(progress.begun > progress.done, "seed {seed}: after operation {} the file has {found:#?}", progress.done);
    model.apply(&interrupted);
    assert_eq!(found, *model, "seed {seed}: operation {} ({interrupted:?}) happened in part", progress.done);
    progress.done + 1
}

/// What SQLite finds wrong. Parts of words that an older SQLite indexed up to a NUL are no damage.
fn integrity(path: &Path) -> Vec<String> {
    let connection = Connection::open(path).expect("the file");
    let mut check = connection.prepare("PRAGMA integrity_check").expect("a check");
    let found = check.query_map([], |row| row.get(0)).expect("a check").collect::<Result<Vec<String>, _>>();
    let wrong = |line: &String| line != "ok" && !line.ends_with("messages_fts_trigram");
    found.expect("a check").into_iter().filter(wrong).collect()
}

#[tokio::test]
async fn what_was_acknowledged_survives_a_kill_at_every_step() {
    let seed = crate::number("HERMES_KILL_SEED", 20_260_401);
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

#[tokio::test]
async fn a_kill_while_the_file_is_made_or_raised_leaves_one_that_works() {
    let seed = crate::number("HERMES_KILL_SEED", 20_260_402);
    let mut dice = StdRng::seed_from_u64(seed);
    let mut early = 0;
    for round in 0..80 {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("state.db");
        [Kind::New, Kind::Old(1), Kind::Old(3), Kind::Python][round % 4].lay(&path);
        let performer = Performer::start(&path, seed, 0);
        let progress = performer.kill(Duration::from_micros(dice.random_range(0..25_000)));
        early += usize::from(progress.begun == 0);
        let mut model = Model::default();
        check(&path, seed, &mut model, 0, &progress).await;
    }
    assert!(early > 0, "seed {seed}: every process had the file open before it was killed");
}
