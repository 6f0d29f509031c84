//! Appends: one process with one transaction per message and with batches, and eight processes at once.

use super::corpus::Corpus;
use super::{open, percentile, plain, runtime};
use hermes_core::store::Transcript;
use hermes_types::{Message, NewMessage, SessionId};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// A line of a chat, and a message with something in it.
const SIZES: [usize; 2] = [160, 480];
const SINGLES: usize = 10_000;
const BATCHED: usize = 40_000;
const BATCH: usize = 500;
const PROCESSES: usize = 8;
const EACH: usize = 2_000;

pub(super) fn run() {
    for bytes in SIZES {
        println!("appends of {bytes} bytes, messages per second beside a plain loop");
        println!("{:<30} {:>9} {:>9} {:>12} {:>7}", "", "ours", "goal", "plain loop", "ratio");
        for (name, goal, count, batch) in
            [("one transaction each", 5_000, SINGLES, 1), ("500 in a transaction", 20_000, BATCHED, BATCH)]
        {
            let (ours, least) = (ours(bytes, count, batch), baseline(bytes, count, batch));
            println!("{name:<30} {ours:>9.0} {goal:>9} {least:>12.0} {:>7.2}", ours / least);
        }
        together(bytes);
        println!();
    }
}

fn texts(bytes: usize, count: usize) -> Vec<String> {
    let mut corpus = Corpus::new();
    (0..count).map(|_| corpus.text(bytes)).collect()
}

fn ours(bytes: usize, count: usize, batch: usize) -> f64 {
    let folder = tempfile::tempdir().expect("a folder");
    let session = SessionId::new("s");
    let texts = texts(bytes, count);
    runtime().block_on(async {
        let store = open(&folder.path().join("state.db"), &session).await;
        let start = Instant::now();
        for texts in texts.chunks(batch) {
            let messages = texts.iter().map(|text| NewMessage::from(Message::user(text.as_str()))).collect();
            store.append(&session, messages).await.expect("kept");
        }
        let rate = count as f64 / start.elapsed().as_secs_f64();
        store.close().await;
        rate
    })
}

fn baseline(bytes: usize, count: usize, batch: usize) -> f64 {
    let folder = tempfile::tempdir().expect("a folder");
    let connection = plain(&folder.path().join("state.db"));
    let texts = texts(bytes, count);
    let start = Instant::now();
    for texts in texts.chunks(batch) {
        connection.execute_batch("BEGIN IMMEDIATE").expect("a transaction");
        for text in texts {
            connection
                .prepare_cached("INSERT INTO messages(session_id, role, content, timestamp) VALUES('s', 'user', ?1, 0)")
                .and_then(|mut insert| insert.execute([text]))
                .expect("a message");
            connection
                .prepare_cached("UPDATE sessions SET message_count = message_count + 1 WHERE id = 's'")
                .and_then(|mut update| update.execute([]))
                .expect("a counter");
        }
        connection.execute_batch("COMMIT").expect("a commit");
    }
    count as f64 / start.elapsed().as_secs_f64()
}

/// Eight processes that write as fast as they can.
fn together(bytes: usize) {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("state.db");
    runtime().block_on(async { open(&path, &SessionId::new("first")).await.close().await });
    let program = std::env::current_exe().expect("this program");
    let start = Instant::now();
    let writers: Vec<_> = (0..PROCESSES)
        .map(|number| {
            let words = ["bench-writer", &path.display().to_string(), &number.to_string(), &bytes.to_string()]
                .map(str::to_owned);
            Command::new(&program).args(words).stdout(Stdio::piped()).spawn().expect("a writer")
        })
        .collect();
    let mut waits: Vec<Duration> = Vec::new();
    for writer in writers {
        let output = writer.wait_with_output().expect("a writer");
        assert!(output.status.success(), "a writer failed");
        let lines = String::from_utf8_lossy(&output.stdout);
        waits.extend(lines.lines().map(|line| Duration::from_nanos(line.parse().expect("a number"))));
    }
    let rate = (PROCESSES * EACH) as f64 / start.elapsed().as_secs_f64();
    waits.sort();
    let slowest = waits.last().copied().unwrap_or_default().as_secs_f64() * 1e3;
    println!(
        "{PROCESSES} processes, each its own          {rate:>6.0}      5000   p50 {:.2} ms, p99 {:.1} (goal 20), slowest {slowest:.0} (goal 200)",
        percentile(&waits, 0.5),
        percentile(&waits, 0.99),
    );
}

/// One of the eight; prints how long each append took, in nanoseconds.
pub(crate) fn writer_process(path: &str, number: &str, bytes: &str) {
    let session = SessionId::new(format!("writer-{number}"));
    let texts = texts(bytes.parse().expect("a size"), EACH);
    let waits = runtime().block_on(async {
        let store = open(Path::new(path), &session).await;
        let mut waits = Vec::with_capacity(EACH);
        for text in texts {
            let start = Instant::now();
            store.append(&session, vec![Message::user(text).into()]).await.expect("kept");
            waits.push(start.elapsed().as_nanos().to_string());
        }
        store.close().await;
        waits
    });
    println!("{}", waits.join("\n"));
}
