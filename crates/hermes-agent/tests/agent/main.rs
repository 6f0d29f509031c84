//! Whole agents: the real loop, the real tools, a real store and a scripted model behind a real socket.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, reason = "a panic is how a test fails")]

mod caching;
mod calls;
mod code;
mod delegation;
mod economy;
mod failing;
mod first;
mod hostile;
mod interrupts;
mod laws;
mod limits;
mod loader;
#[path = "../../../hermes-tools/tests/hands/paper_shell.rs"]
mod paper_shell;
mod pictures;
mod play;
mod puppet;
mod recovery;
mod replays;
mod replies;
mod reroute;
mod resume;
mod script;
mod shared;
mod stage;
mod steering;
