//! The tools as a model uses them: through the registry, the dispatcher and the gate, on real files and real shells.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a panic is how a test reports what it did not expect"
)]

mod clarify;
mod checkpoint;
mod contract;
mod dispatch;
mod family;
mod files_patch;
mod files_read;
mod files_write;
mod process;
mod gate;
mod registry;
mod results;
mod search;
mod paper;
#[allow(dead_code, reason = "the stage offers more than every story uses")]
mod stage;
#[allow(dead_code, reason = "the stage offers more than every story uses")]
mod stage;
mod terminal;
mod traitor;
mod results;
mod toolsets;
mod sandbox;
#[allow(dead_code, reason = "the stage offers more than every story uses")]
mod stage;
mod surroundings;
mod memory;
#[allow(dead_code, reason = "the stage offers more than every story uses")]
mod stage;
mod threat;
mod todo;
mod traitor;
