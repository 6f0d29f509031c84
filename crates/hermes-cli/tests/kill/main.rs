//! Nothing is lost: the real program is killed at every step, and goes on as if nothing had been.
//!
//! One session with side effects is killed at its writes to the disk, while the model is asked and while a command runs.
//! After each kill the file must be sound, hold everything the model was ever shown, and know of every effect the world
//! shows. Then the session is resumed until its turn is finished, and held against one that nobody killed.
//!
//! The ordinary run tries a sample of all points; `HERMES_KILL_POINTS=300` tries as many, `HERMES_KILL_POINTS=all` each.
#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stderr,
    reason = "the helpers of a test report what is wrong the way a test does"
)]

mod again;
mod between;
mod crowd;
mod judge;
mod sniper;
mod sweep;
mod tale;
mod tally;

use hermes_testkit::{ModelServer, World};

const HERMES: &str = env!("CARGO_BIN_EXE_hermes");
const KEY: &str = "sk-rehearsal-0123456789abcdef";

/// A home whose only provider is this server.
fn home_at(server: &ModelServer) -> World {
    server.expect_key(KEY);
    World::new().env("HERMES_MANAGED_DIR", "/nonexistent").env("TZ", "UTC").env("REHEARSAL_KEY", KEY).config(&format!(
        "model:\n  provider: custom:rehearsal\n  default: rehearsal-model\ncustom_providers:\n  - name: rehearsal\n    \
         base_url: {}\n    key_env: REHEARSAL_KEY\n    api_mode: chat_completions\n",
        server.base_url()
    ))
}

/// How many of `all` points are tried: the usual number, or as many as `HERMES_KILL_POINTS` says, or `all` of them.
fn wanted(usual: usize, all: usize) -> usize {
    let told = std::env::var("HERMES_KILL_POINTS").ok();
    let points = told.map_or(usual, |told| told.parse().unwrap_or(all));
    points.clamp(1, all.max(1))
}

/// The places that are tried among the first `all` numbers, evenly spread.
fn spread(usual: usize, all: usize) -> Vec<usize> {
    let points = wanted(usual, all);
    (0..points).map(|point| point * all / points).collect()
}
