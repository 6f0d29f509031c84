//! Search: the best twenty over many messages, in every class of query, beside FTS5's own ranking; and what the file takes.

use super::corpus::Corpus;
use super::{open, percentile, runtime};
use hermes_core::store::{Search, Sessions, Transcript};
use hermes_types::{Message, NewMessage, NewSession, SearchQuery, SessionId};
use rusqlite::Connection;
use std::path::Path;
use std::time::{Duration, Instant};

const BYTES: usize = 490;
const PER_SESSION: usize = 200;
const RUNS: usize = 60;
const BASELINE_RUNS: usize = 7;

/// A class of query, and how FTS5 itself would be asked.
const CLASSES: [(&str, &str, Option<&str>); 13] = [
    ("rare word", "wombat", Some("wombat")),
    ("common word", "the", Some("the")),
    ("usual word", "docker", Some("docker")),
    ("and", "the and", Some("the and")),
    ("or", "docker OR deploy", Some("docker OR deploy")),
    ("not", "docker NOT deploy", Some("docker NOT deploy")),
    ("phrase", "\"the docker\"", Some("\"the docker\"")),
    ("prefix", "deploy*", Some("deploy*")),
    ("short prefix", "de*", Some("de*")),
    ("Chinese, two characters", "部署", None),
    ("Chinese, five characters", "数据库连接", None),
    ("Thai, inside a run", "กรุงเทพ", None),
    ("inside a word", "ydocke", None),
];

pub(super) fn run(count: usize) {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("state.db");
    let (text, filled) = fill(&path, count);
    println!(
        "search over {count} messages of {BYTES} bytes (filled in {:.0} s), best 20, milliseconds",
        filled.as_secs_f64()
    );
    println!("{:<26} {:>7} {:>7} {:>12} {:>12} {:>8}", "", "p50", "p99", "goal", "FTS5 rank", "ratio");
    let connection = Connection::open(&path).expect("the file");
    runtime().block_on(async {
        let store = open(&path, &SessionId::new("session-0")).await;
        for (name, query, plain) in CLASSES {
            let mut times = Vec::with_capacity(RUNS);
            let mut hits = 0;
            for _ in 0..RUNS {
                let start = Instant::now();
                hits = store.search(SearchQuery::new(query)).await.expect("found").hits.len();
                times.push(start.elapsed());
            }
            times.sort();
            let (p50, p99) = (percentile(&times, 0.5), percentile(&times, 0.99));
            let beside = plain.map_or_else(String::new, |query| {
                let ranked = ranked(&connection, query);
                format!("{ranked:>12.1} {:>8.3}", p50 / ranked)
            });
            println!("{name:<26} {p50:>7.2} {p99:>7.2} {:>12} {beside}  {hits} hits", "10 / 30");
        }
        store.close().await;
    });
    let disk: u64 = ["", "-wal"].iter().map(|end| size(&format!("{}{end}", path.display()))).sum();
    println!("room on disk: {:.2} bytes for each byte of text (goal: under 3)\n", disk as f64 / text as f64);
}

fn size(path: &str) -> u64 {
    std::fs::metadata(path).map(|facts| facts.len()).unwrap_or_default()
}

/// Fills a store and waits until everything can be found quickly.
fn fill(path: &Path, count: usize) -> (usize, Duration) {
    let mut corpus = Corpus::new();
    let start = Instant::now();
    let text = runtime().block_on(async {
        let store = open(path, &SessionId::new("session-0")).await;
        let mut text = 0;
        for number in 0..count / PER_SESSION {
            let session = SessionId::new(format!("session-{number}"));
            store.create(NewSession::new(session.clone(), "cli")).await.expect("a session");
            let texts: Vec<String> = (0..PER_SESSION).map(|_| corpus.text(BYTES)).collect();
            text += texts.iter().map(String::len).sum::<usize>();
            let messages = texts.into_iter().map(|text| NewMessage::from(Message::user(text))).collect();
            store.append(&session, messages).await.expect("kept");
        }
        store.catch_up().await.expect("indexed");
        store.close().await;
        text
    });
    (text, start.elapsed())
}

/// What the index's own ranking takes, in milliseconds.
fn ranked(connection: &Connection, query: &str) -> f64 {
    let mut times: Vec<Duration> = (0..BASELINE_RUNS)
        .map(|_| {
            let start = Instant::now();
            let mut statement = connection
                .prepare_cached(
                    "SELECT m.id, snippet(messages_fts, 0, '>>>', '<<<', '...', 40) FROM messages_fts
                     JOIN messages m ON m.id = messages_fts.rowid WHERE messages_fts MATCH ?1 ORDER BY rank LIMIT 20",
                )
                .expect("a query");
            let rows = statement.query_map([query], |row| row.get::<_, i64>(0)).expect("rows");
            assert!(rows.count() <= 20);
            start.elapsed()
        })
        .collect();
    times.sort();
    percentile(&times, 0.5)
}
