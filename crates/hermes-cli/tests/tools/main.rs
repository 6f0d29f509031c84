//! The hands as a stranger uses them: the real program, real files, real processes, and a person on a real terminal.
#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::string_slice,
    reason = "the helpers of a test report what is wrong the way a test does"
)]

mod checkpoints;
mod consent;
mod counsel;
mod ends;
mod person;
mod texts;

use hermes_testkit::{Ran, World};
use serde_json::Value;

const HERMES: &str = env!("CARGO_BIN_EXE_hermes");

/// An empty home on a machine where no model server runs.
fn world() -> World {
    let world = World::new().env("HERMES_MANAGED_DIR", "/nonexistent").env("TZ", "UTC");
    ["OLLAMA_HOST", "LM_BASE_URL", "VLLM_BASE_URL", "LLAMACPP_BASE_URL"]
        .iter()
        .fold(world, |world, name| world.env(name, "http://127.0.0.1:9/v1"))
}

async fn hermes(world: &World, words: &[&str]) -> Ran {
    world.run(HERMES, words).await
}

/// A call in a pipe, where nobody can be asked.
async fn call(world: &World, tool: &str, arguments: &Value) -> Ran {
    hermes(world, &["tools", "call", tool, &arguments.to_string()]).await
}

/// The one line of a result.
#[track_caller]
fn result(ran: &Ran) -> Value {
    assert_eq!(ran.stdout.lines().count(), 1, "one line:\n{}\n{}", ran.stdout, ran.stderr);
    serde_json::from_str(&ran.stdout).expect("JSON")
}

fn config(world: &World) -> String {
    std::fs::read_to_string(world.hermes_home().join("config.yaml")).unwrap_or_default()
}
