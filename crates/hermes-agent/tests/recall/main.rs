//! Earlier conversations as a model recalls them: the real tool over a real store.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a panic is how a test reports what it did not expect"
)]

mod limits;
mod lineage;
mod shapes;
mod stage;
