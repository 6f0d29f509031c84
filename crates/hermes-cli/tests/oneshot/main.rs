//! The first minute with the real program: one question, one answer, and everything that can go wrong in between.
//!
//! Each story starts `hermes` in a home of its own against a scripted server.
#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "the helpers of a test report what is wrong the way a test does"
)]

mod answers;
mod caching;
mod choice;
mod demo;
mod failures;
mod formats;
mod input;
mod interrupts;
mod kept;
#[path = "../stage/mod.rs"]
#[allow(dead_code, reason = "each test program needs its own part of the stage")]
mod stage;
mod terminal;

use hermes_testkit::{ModelServer, Ran, World};
use stage::*;
