//! A foreign program holds the write lock. Within reason it is waited for; whoever waits does not hold up anybody else.
//! What happens when patience ends is told beside the writer itself, with less of it.

use crate::stage::{Kind, Stage, said};
use crate::worker::Job;
use hermes_core::store::{StoreError, Transcript};
use hermes_types::{Message, Span};
use std::io::{BufRead as _, BufReader};
use std::process::Child;
use std::time::{Duration, Instant};

const TICK: Duration = Duration::from_millis(10);

/// Another process that has the lock now, and for this long.
fn holder(stage: &Stage, millis: u64) -> Child {
    let mut process = Job::Hold { path: stage.path.clone(), millis }.start();
    let mut lines = BufReader::new(process.stdout.as_mut().expect("a pipe")).lines();
    assert!(lines.any(|line| line.is_ok_and(|line| line.ends_with("held"))), "the lock was not taken");
    process
}

#[tokio::test(flavor = "current_thread")]
async fn a_write_waits_for_a_foreign_lock_and_nobody_waits_for_the_write() {
    let stage = Stage::of(Kind::New).await;
    let id = stage.session("s").await;
    stage.store.append(&id, vec![Message::user("before").into()]).await.expect("kept");
    let mut process = holder(&stage, 3_000);
    let start = Instant::now();
    let mut write = stage.store.append(&id, vec![Message::user("after").into()]);
    let mut gaps = Vec::new();
    let mut last = Instant::now();
    let written: Result<_, StoreError> = loop {
        tokio::select! {
            written = &mut write => break written,
            () = tokio::time::sleep(TICK) => {
                gaps.push(last.elapsed());
                last = Instant::now();
            }
        }
        // Readers are not held up either.
        if gaps.len() == 20 {
            let read = said(&stage.store, &id, Span::Own).await;
            assert_eq!(read, Ok(vec![Message::user("before")]));
            last = Instant::now();
        }
    };
    let took = start.elapsed();
    assert_eq!(written.map(|ids| ids.len()), Ok(1));
    assert!((Duration::from_millis(2_500)..Duration::from_secs(10)).contains(&took), "{took:?}");
    assert!(process.wait().expect("gone").success());
    gaps.sort_unstable();
    let (usual, longest) = (gaps[gaps.len() * 9 / 10], gaps[gaps.len() - 1]);
    // A runtime that is blocked stands still for a second; a busy machine may delay a few ticks.
    assert!(usual < Duration::from_millis(100) && longest < Duration::from_millis(700), "{usual:?}, {longest:?}");
    let both = [Message::user("before"), Message::user("after")];
    assert_eq!(said(&stage.store, &id, Span::Own).await, Ok(both.into()));
}
