//! MCP servers with the real program: added, tried, used and removed by a person; used by a model; dying in mid-session.
#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::string_slice,
    reason = "the helpers of a test report what is wrong the way a test does"
)]

mod conversations;
mod entries;
#[path = "../stage/mod.rs"]
#[allow(dead_code, reason = "each test program needs its own part of the stage")]
mod stage;

use hermes_testkit::World;
use serde_json::Value;
use stage::*;
use std::path::PathBuf;

/// The server that misbehaves on demand.
const CHAOS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../hermes-mcp/tests/mcp/chaos.py");

/// Where the server writes down what it did.
fn folder(world: &World) -> PathBuf {
    let folder = world.home().join("chaos");
    std::fs::create_dir_all(&folder).expect("a folder");
    folder
}

fn lines(world: &World, name: &str) -> Vec<String> {
    let text = std::fs::read_to_string(folder(world).join(name)).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

/// The settings of a chaos server called `box`.
fn entry(world: &World) -> String {
    format!("mcp_servers:\n  box:\n    command: python3\n    args: [{CHAOS}, plain, {}]\n", folder(world).display())
}

fn lives(pid: &str) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    !stat.is_empty() && !stat.contains(") Z ")
}

/// The JSON of a result, taken out of the frame of strangers.
#[track_caller]
fn unframed(text: &str) -> Value {
    let inner = text.lines().find(|line| line.starts_with('{')).unwrap_or(text);
    serde_json::from_str(inner).unwrap_or_else(|error| panic!("no JSON ({error}): {text}"))
}
