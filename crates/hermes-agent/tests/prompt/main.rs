//! The prompt as a conversation gets it: real files in a real home and a real project.
#![allow(clippy::expect_used, reason = "the helpers of a test report what is wrong the way a test does")]

mod attacks;
mod discovery;
mod limits;
mod stage;
mod whole;
