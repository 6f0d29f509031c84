//! The tools as a model uses them: through the registry, the dispatcher and the gate, on real files and real shells.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a panic is how a test reports what it did not expect"
)]

mod contract;
mod dispatch;
mod gate;
mod registry;
mod family;
mod search;
mod files_patch;
mod files_read;
mod files_write;
#[allow(dead_code, reason = "the stage offers more than every story uses")]
mod stage;
mod terminal;
mod traitor;
mod results;
mod toolsets;
