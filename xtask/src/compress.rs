//! What compression costs beside the model: one pass over a long conversation, and weighing a message that comes in.
//!
//! Whoever writes the summary answers at once, so that nothing but our own work is on the clock.

use hermes_core::context::{Compressor, Engine, Job, Material, Meter, Notes, Policy, Room, Rows, Scribe, Trigger};
use hermes_types::{Assistant, CallId, Fault, Message, Reply, ToolCall};
use std::pin::Pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

const STEPS: usize = 1_000;
const RESULT: usize = 4_000;
const RUNS: usize = 20;
const PUSHES: u32 = 1_000;
/// The lengths at which a message more is weighed; the time must not depend on them.
const LENGTHS: [usize; 2] = [100, 100_000];

pub(crate) fn run() {
    let history = conversation();
    let bytes: usize = history.iter().map(|message| message.text().len()).sum();
    let megabytes = bytes as f64 / 1e6;
    println!("compression without the model, {} messages, {megabytes:.1} MB, best of {RUNS}", history.len());
    let meter = metered(&history);
    // Pruning alone comes down to the goal in the larger window, not in the smaller one.
    for (what, window) in [("pruning suffices", 600_000), ("with a summary", 100_000)] {
        let passes = (0..RUNS).map(|_| pass(&history, &meter, window));
        let (took, phase) = passes.min().expect("some runs");
        println!("  one pass, {what:<18} {:>8.2} ms   goal 20 ms   ({phase})", took.as_secs_f64() * 1e3);
    }
    for length in LENGTHS {
        println!("  a message more, weighed at {length:>7} {:>8.0} ns", pushed_at(length).as_secs_f64() * 1e9);
    }
}

/// A question, and a thousand times a call with its result.
fn conversation() -> Vec<Arc<Message>> {
    let step = |n: usize| {
        let id = CallId::new(format!("call_{n}"));
        let arguments = format!(r#"{{"path":"file{n}.txt"}}"#);
        let calls = vec![ToolCall::new(id.clone(), "read_file", arguments)];
        let called = Message::Assistant(Assistant { tool_calls: calls, ..Assistant::default() });
        let line = format!("{n:04} some words in a line\n");
        [called, Message::tool(&id, "read_file", line.repeat(RESULT / line.len()))]
    };
    let question = Message::user("Never touch ledger.txt. Count the words in all the files.");
    std::iter::once(question).chain((0..STEPS).flat_map(step)).map(Arc::new).collect()
}

fn metered(history: &[Arc<Message>]) -> Meter {
    let mut meter = Meter::default();
    for message in history {
        meter.push(message);
    }
    meter
}

/// How long a pass took, and which phase sufficed.
fn pass(history: &[Arc<Message>], meter: &Meter, window: u64) -> (Duration, &'static str) {
    let policy = Policy::default();
    let rows = Rows::default();
    let job = Job {
        history,
        sent: history.len(),
        room: Room::of(&policy, window, None, 0),
        policy: &policy,
        rows: &rows,
        focus: None,
        notes: Notes::Nowhere,
        resting: None,
        trigger: Trigger::Threshold,
        meter,
    };
    let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
    let began = Instant::now();
    let made = runtime.block_on(Compressor.compress(job, &Prompt)).expect("it is shorter");
    (began.elapsed(), made.phase.as_str())
}

/// Weighing one message more, when so many are there.
fn pushed_at(length: usize) -> Duration {
    let message = Message::user("w".repeat(RESULT));
    let mut meter = Meter::default();
    for _ in 0..length {
        meter.push(&message);
    }
    let began = Instant::now();
    for _ in 0..PUSHES {
        std::hint::black_box(&mut meter).push(std::hint::black_box(&message));
    }
    std::hint::black_box(meter.used());
    began.elapsed() / PUSHES
}

/// Has read everything and writes at once.
struct Prompt;

impl Scribe for Prompt {
    fn summarise<'a>(
        &'a self,
        material: Material<'a>,
    ) -> Pin<Box<dyn Future<Output = Result<Reply, Fault>> + Send + 'a>> {
        std::hint::black_box(material.instructions());
        let message = Assistant { content: Some("## Goal\nReading files.".into()), ..Assistant::default() };
        Box::pin(std::future::ready(Ok(Reply { message, ..Reply::default() })))
    }
}
