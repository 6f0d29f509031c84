//! The voice as a conversation meets it: the real loop over the real board, over real HTTP, against scripted servers.
//!
//! What is proven here are promises, not functions: every request extends the one before, every fault gets its class and
//! its next step in bounded time, and no secret reaches a host it is not bound to.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stderr,
    reason = "in a test a panic is the report, and a skipped test says so"
)]

mod faults;
mod foreign;
mod interrupts;
mod logins;
mod money;
mod recovery;
mod secrets;
mod stage;
mod streams;
