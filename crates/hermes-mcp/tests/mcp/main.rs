//! MCP servers as they are in the wild: dying, hanging, changing, asking back; real ones where they are installed.
#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "the helpers of a test report what is wrong the way a test does"
)]

mod asking;
mod chaos;
mod gate;
mod real;
mod remote;
mod stage;
