//! Whole agents: the real loop, the real tools, a real store and a scripted model behind a real socket.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, reason = "a panic is how a test fails")]

mod first;
mod shared;
mod stage;
