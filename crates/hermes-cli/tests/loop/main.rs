//! The whole loop with the real program: a model that calls tools, the hands that run them, the gate between them, the
//! record behind them, and a person who interrupts, comes back and goes on.
#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::string_slice,
    reason = "the helpers of a test report what is wrong the way a test does"
)]

mod bill;
mod hands;
mod hostile;
mod limits;
mod nonsense;
#[path = "../tools/person.rs"]
mod person;
mod record;
mod replay;
mod resume;
mod screen;
mod shorter;
#[path = "../stage/mod.rs"]
#[allow(dead_code, reason = "each test program needs its own part of the stage")]
mod stage;
mod stops;

use hermes_testkit::{ModelServer, Move, World};
use serde_json::{Value, json};
use stage::*;

/// The model runs a command.
fn run(command: &str) -> Move {
    Move::say("").call("terminal", json!({"command": command}))
}

/// A line about a call without how long it took, which nobody knows beforehand.
fn without_time(line: &str) -> &str {
    let is_time = |word: &str| word.strip_suffix(" s").is_some_and(|number| number.parse::<f64>().is_ok());
    line.rsplit_once("  ").filter(|(_, last)| is_time(last)).map_or(line, |(rest, _)| rest)
}

/// A finished turn as JSON, and its session.
async fn session_of(world: &World, words: &[&str]) -> String {
    let ran = hermes(world, &[words, &["--output-format", "json"]].concat()).await;
    let result: Value = serde_json::from_str(&ran.stdout).unwrap_or_else(|error| panic!("{error}: {ran:?}"));
    result["session_id"].as_str().expect("a session").to_owned()
}

/// The id behind `hermes --resume` in what the program said.
fn named_session(stderr: &str) -> String {
    let (_, id) = stderr.split_once("to go on: hermes --resume ").unwrap_or_else(|| panic!("no way on: {stderr}"));
    let id = id.lines().next().unwrap_or_default().trim();
    assert!(is_session_id(id), "{stderr}");
    id.to_owned()
}
