//! Eight processes write to one file, two read it, and any of them may be killed at any time.

use crate::stage::{open, said};
use crate::worker::Job;
use futures_util::future::join_all;
use hermes_core::store::{Search, Sessions, Transcript};
use hermes_types::{Message, MessageId, NewMessage, NewSession, RowState, SearchQuery, SessionId, Span};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use rusqlite::Connection;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, HashMap};
use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Child;
use std::time::Duration;

const WRITERS: usize = 8;
const READERS: usize = 2;
/// Attempts to kill somebody, and the longest time between two, in microseconds.
const SHOTS: usize = 120;
const LONGEST_PAUSE: u64 = 40_000;
const SHARED: &str = "shared";

/// The part of one process.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Writing {
    path: PathBuf,
    /// What was acknowledged, one line each: id, session, text.
    notes: PathBuf,
    number: usize,
    /// How often this process was started before.
    life: usize,
    messages: usize,
    seed: u64,
}

/// Writes until enough was acknowledged, in this life and those before.
pub(crate) async fn write(writing: &Writing) {
    let mut acknowledged = acknowledged(&writing.notes).len();
    let mut notes = OpenOptions::new().create(true).append(true).open(&writing.notes).expect("notes");
    let mut dice = StdRng::seed_from_u64(writing.seed ^ (writing.number * 1_000 + writing.life) as u64);
    let store = open(&writing.path).await;
    let own = SessionId::new(format!("own-{}", writing.number));
    let shared = SessionId::new(SHARED);
    for id in [&own, &shared] {
        store.create(NewSession::new(id.clone(), "cli")).await.expect("a session");
    }
    for op in 0.. {
        if acknowledged >= writing.messages {
            break;
        }
        let id = if dice.random_range(0..4) == 0 { &shared } else { &own };
        // One message, a batch, or many single ones at once.
        let (calls, size) = match dice.random_range(0..3) {
            0 => (1, 1),
            1 => (1, dice.random_range(2..60)),
            _ => (dice.random_range(2..30), 1),
        };
        let appends = (0..calls).map(|call| {
            let operation = format!("{}.{}.{op}.{call}", writing.number, writing.life);
            let texts: Vec<String> = (0..size).map(|part| format!("{operation} {part}/{size} quokka")).collect();
            let messages = texts.iter().map(|text| NewMessage::from(Message::user(text.as_str()))).collect();
            async { (store.append(id, messages).await.expect("a write that did not fail"), texts) }
        });
        for (ids, texts) in join_all(appends).await {
            let lines: String = ids.iter().zip(&texts).map(|(at, text)| format!("{at}\t{id}\t{text}\n")).collect();
            notes.write_all(lines.as_bytes()).expect("noted");
            acknowledged += ids.len();
        }
    }
    store.close().await;
}

/// Reads while others write: every snapshot is whole, and nothing that was there goes away.
pub(crate) async fn read(path: &Path, session: &str, stop: &Path) {
    let store = open(path).await;
    let id = SessionId::new(session);
    let (mut before, mut rounds) = (0, 0);
    while !stop.exists() || rounds == 0 {
        rounds += 1;
        if let Some(export) = store.export(&id).await.expect("read") {
            assert!(export.messages.iter().all(|stored| stored.state == RowState::Live));
            assert!(export.messages.is_sorted_by_key(|stored| stored.id));
            assert_eq!(export.session.message_count, export.messages.len() as u64, "a snapshot in pieces");
        }
        let now = said(&store, &id, Span::Own).await.expect("read").len();
        assert!(now >= before, "{before} messages became {now}");
        before = now;
        let query = SearchQuery { session: Some(id.clone()), ..SearchQuery::new("quokka") };
        let found = store.search(query).await.expect("a search");
        assert!(now == 0 || !found.hits.is_empty(), "{now} messages, none is found");
    }
}

/// What a process noted: id, session and text. The last line may have been cut by a kill.
fn acknowledged(notes: &Path) -> Vec<(MessageId, String, String)> {
    let text = std::fs::read_to_string(notes).unwrap_or_default();
    let whole = text.rsplit_once('\n').map_or("", |(whole, _)| whole);
    let line = |line: &str| {
        let mut cells = line.split('\t');
        let id = cells.next().and_then(|cell| cell.parse().ok()).expect("an id");
        let mut next = || cells.next().expect("a cell").to_owned();
        (MessageId(id), next(), next())
    };
    whole.lines().map(line).collect()
}

/// The processes of the play.
struct Crowd {
    jobs: Vec<Job>,
    processes: Vec<Option<Child>>,
}

impl Crowd {
    fn start(jobs: Vec<Job>) -> Self {
        let processes = jobs.iter().map(|job| Some(job.start())).collect();
        Self { jobs, processes }
    }

    /// Kills one that still runs and starts it again; `false` when it had come to its end.
    fn kill(&mut self, which: usize) -> bool {
        if !self.runs(which) {
            return false;
        }
        let Some(mut process) = self.processes[which].take() else { return false };
        process.kill().expect("killed");
        process.wait().expect("gone");
        if let Job::Write(writing) = &mut self.jobs[which] {
            writing.life += 1;
        }
        self.processes[which] = Some(self.jobs[which].start());
        true
    }

    /// Whether it still runs; one that ended must have ended well.
    fn runs(&mut self, which: usize) -> bool {
        let Some(process) = &mut self.processes[which] else { return false };
        let Some(status) = process.try_wait().expect("a process") else { return true };
        assert!(status.success(), "{:?} failed", self.jobs[which]);
        self.processes[which] = None;
        false
    }

    fn wait(&mut self, which: usize) {
        if let Some(mut process) = self.processes[which].take() {
            assert!(process.wait().expect("a process").success(), "{:?} failed", self.jobs[which]);
        }
    }
}

impl Drop for Crowd {
    fn drop(&mut self) {
        for process in self.processes.iter_mut().flatten() {
            let _ = process.kill();
            let _ = process.wait();
        }
    }
}

#[test]
fn a_crowd_that_is_shot_at_loses_nothing() {
    let messages = crate::number("HERMES_CROWD_MESSAGES", 2_000) as usize;
    let seed = crate::number("HERMES_CROWD_SEED", 7);
    let folder = tempfile::tempdir().expect("a folder");
    let (path, stop) = (folder.path().join("state.db"), folder.path().join("stop"));
    let notes = |number: usize| folder.path().join(format!("notes-{number}"));
    let write =
        |number| Job::Write(Writing { path: path.clone(), notes: notes(number), number, life: 0, messages, seed });
    let read = |_| Job::Read { path: path.clone(), session: SHARED.into(), stop: stop.clone() };
    let mut crowd = Crowd::start((0..WRITERS).map(write).chain((0..READERS).map(read)).collect());
    let mut dice = StdRng::seed_from_u64(seed);
    let mut killed = 0;
    for _ in 0..SHOTS {
        std::thread::sleep(Duration::from_micros(dice.random_range(0..LONGEST_PAUSE)));
        killed += usize::from(crowd.kill(dice.random_range(0..WRITERS + READERS)));
    }
    assert!(killed >= 20, "seed {seed}: only {killed} processes were killed, the proof is thin");
    (0..WRITERS).for_each(|writer| crowd.wait(writer));
    std::fs::write(&stop, "").expect("a sign");
    (WRITERS..WRITERS + READERS).for_each(|reader| crowd.wait(reader));
    let noted: Vec<_> = (0..WRITERS).flat_map(|number| acknowledged(&notes(number))).collect();
    assert!(noted.len() >= WRITERS * messages, "seed {seed}");
    assert_whole(&path, &noted, seed);
}

#[test]
fn processes_that_find_no_file_make_one_together() {
    for round in 0..8 {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("state.db");
        let notes = |number: usize| folder.path().join(format!("notes-{number}"));
        let write = |number| {
            Job::Write(Writing { path: path.clone(), notes: notes(number), number, life: 0, messages: 1, seed: round })
        };
        let mut crowd = Crowd::start((0..6).map(write).collect());
        (0..6).for_each(|writer| crowd.wait(writer));
        let noted: Vec<_> = (0..6).flat_map(|number| acknowledged(&notes(number))).collect();
        assert_whole(&path, &noted, round);
    }
}

/// Everything noted is there, every operation is there entirely or not at all, and the counters are true.
fn assert_whole(path: &Path, noted: &[(MessageId, String, String)], seed: u64) {
    let file = Connection::open(path).expect("the file");
    let check: String = file.query_row("PRAGMA integrity_check", [], |row| row.get(0)).expect("a check");
    assert_eq!(check, "ok", "seed {seed}");
    let mut select = file.prepare("SELECT id, session_id, content FROM messages").expect("messages");
    let rows: HashMap<i64, (String, String)> = select
        .query_map([], |row| Ok((row.get(0)?, (row.get(1)?, row.get(2)?))))
        .expect("rows")
        .collect::<Result<_, _>>()
        .expect("rows");
    for (id, session, text) in noted {
        assert_eq!(
            rows.get(&id.0),
            Some(&(session.clone(), text.clone())),
            "seed {seed}: message {id} was acknowledged"
        );
    }
    let mut operations: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
    for (_, text) in rows.values() {
        let (operation, rest) = text.split_once(' ').expect("an operation");
        let (_, size) = rest.split_once('/').expect("a size");
        let size = size.trim_end_matches(" quokka").parse().expect("a size");
        operations.entry(operation).or_insert((0, size)).0 += 1;
    }
    let torn: Vec<_> = operations.iter().filter(|(_, (found, size))| found != size).collect();
    assert!(torn.is_empty(), "seed {seed}: {torn:?}");
    let untrue: i64 = file
        .query_row(
            "SELECT count(*) FROM sessions s
             WHERE message_count <> (SELECT count(*) FROM messages m WHERE m.session_id = s.id)",
            [],
            |row| row.get(0),
        )
        .expect("counters");
    assert_eq!(untrue, 0, "seed {seed}");
}
