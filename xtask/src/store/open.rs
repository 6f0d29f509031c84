//! Opening a file of a gigabyte and reading one session record.

use super::{open, percentile, runtime};
use hermes_core::clock::RealClock;
use hermes_core::store::{Sessions, Transcript};
use hermes_store::SqliteStore;
use hermes_types::{Message, NewMessage, SessionId};
use std::sync::Arc;
use std::time::{Duration, Instant};

const MESSAGES: usize = 50_000;
/// A few words over and over: the room it takes matters here, not what can be found in it.
const WORDS: &str = "lorem ipsum dolor sit amet ";
const REPEATED: usize = 740;
const RUNS: usize = 30;

pub(super) fn run() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("state.db");
    let session = SessionId::new("s");
    runtime().block_on(async {
        let store = open(&path, &session).await;
        for batch in 0..MESSAGES / 100 {
            let text = |number: usize| format!("{} {}", WORDS.repeat(REPEATED), batch * 100 + number);
            let one = |number: usize| NewMessage::from(Message::user(text(number)));
            store.append(&session, (0..100).map(one).collect()).await.expect("kept");
        }
        store.close().await;
    });
    let mut times: Vec<Duration> = (0..RUNS)
        .map(|_| {
            runtime().block_on(async {
                let start = Instant::now();
                let store = SqliteStore::open(&path, Arc::new(RealClock::default())).await.expect("a store");
                store.session(&session).await.expect("read").expect("there");
                let took = start.elapsed();
                store.close().await;
                took
            })
        })
        .collect();
    times.sort();
    let gigabytes = std::fs::metadata(&path).map(|facts| facts.len() as f64 / 1e9).unwrap_or_default();
    println!(
        "opening {gigabytes:.2} GB and reading a session: p50 {:.2} ms, slowest {:.2} (goal: under 20)\n",
        percentile(&times, 0.5),
        percentile(&times, 1.0)
    );
}
