//! The tools as a model uses them: through the registry, the dispatcher and the gate, on real files and real shells.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a panic is how a test reports what it did not expect"
)]

mod attack;
mod checkpoint;
mod clarify;
mod code;
mod contract;
mod delegate;
mod dispatch;
mod family;
mod files_attacks;
mod files_patch;
mod files_read;
mod files_write;
mod gate;
mod loader;
mod memory;
mod paper;
mod paper_shell;
mod process;
mod registry;
mod results;
mod sandbox;
mod search;
mod skills;
mod skills_hub;
mod skills_manage;
#[allow(dead_code, reason = "the stage offers more than every story uses")]
mod stage;
mod surroundings;
mod terminal;
mod threat;
mod todo;
mod toolsets;
mod traitor;
