//! Processes that go on while the conversation does.
//!
//! [`Processes`] owns every one of them: its readers and waiters are tasks of this registry, its command comes only out of
//! a permit, and [`Processes::close`] (or dropping the last clone) ends each with its whole family. A conversation sees
//! and touches only its own. What happened unasked waits as [`News`] until the conversation takes it. What runs is
//! written down, so that a later run of the program finds it again as "detached": it can be watched and ended, but its
//! output and its input are gone.

mod buffer;
mod checkpoint;
mod input;
mod live;
mod news;
mod registry;
mod start;
mod tool;
mod watch;

pub use news::{Happened, News, Reason};
pub use registry::Processes;
pub use start::{Face, Password, Start, Started, Tell};
pub use tool::ProcessTool;

use hermes_core::redact;

/// Characters of output that are kept of each process.
const KEPT_OUTPUT: usize = 200_000;
/// Characters of output that go with an end.
const LAST_OUTPUT: usize = 2000;

/// What was asked for, as the model may read it.
fn shown(command: &str) -> String {
    redact::text(command).into_owned()
}
