//! Proofs of the store: processes that are killed, processes in a crowd, a program that holds the lock, the Python
//! program on the same file, and what must hold for all inputs.
#![allow(clippy::expect_used, clippy::unwrap_used, clippy::indexing_slicing, reason = "a test reports by panicking")]

mod contention;
mod crowd;
mod kill;
mod model;
mod properties;
mod python;
mod queue;
#[path = "../store/stage.rs"]
#[allow(dead_code, reason = "the stories of the other binary need more of it")]
mod stage;
mod worker;

/// A number of a proof that can be set, to look further than the tests do.
fn number(name: &str, usual: u64) -> u64 {
    std::env::var(name).ok().and_then(|value| value.parse().ok()).unwrap_or(usual)
}
