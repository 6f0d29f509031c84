//! Stories about plugins and shell hooks: real programs, in the hands of a conversation.
#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "the helpers of a test report what is wrong the way a test does"
)]

mod broken;
mod dispatch;
mod examples;
mod gate;
mod guards;
mod hostile;
#[path = "../../../hermes-tools/tests/hands/paper_shell.rs"]
mod paper_shell;
mod shell;
mod stage;
mod tools;
