//! The loop of Hermes: pure logic over ports.
//!
//! Nothing here knows a vendor, prints, reads the environment or looks at a clock of its own. What touches the world is
//! a trait in [`ports`] that other crates implement and tests replace.

pub mod ask;
pub mod book;
pub mod clock;
pub mod context;
pub mod conversation;
pub mod disguise;
pub mod feed;
pub mod plan;
pub mod ports;
pub mod prefix;
pub mod prompt;
pub mod receipt;
mod recording;
pub mod redact;
mod repair;
pub mod stop;
pub mod store;
pub mod till;
pub mod turn;
mod watch;
