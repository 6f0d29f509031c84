//! What every place where commands can run promises.
//!
//! A command and its directory come out of a [`Permit`] and from nowhere else, so nothing runs that was not judged. Each
//! command gets a fresh shell that starts with what the one before left behind: directory, exports, functions, aliases,
//! options. Stdout and stderr are one text. A command that takes too long or is interrupted is ended with everything it
//! started, and what it said until then is kept.

use super::surroundings::sudo::Prepared;
use crate::gate::Permit;
use crate::process::Face;
use futures_util::future::BoxFuture;
use hermes_core::stop::Stop;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// A place where commands run.
pub trait Backend: Send + Sync {
    /// Runs the command of the permit in the directory of the permit.
    fn execute<'a>(&'a self, permit: &'a Permit, request: Request) -> BoxFuture<'a, Result<Executed, Unable>>;

    /// The directory itself, or the nearest one above it that a command can start in. Asked before the gate is: what is
    /// judged for one directory must not run in another.
    fn usable(&self, cwd: &Path) -> PathBuf;
}

/// How a command is to be run.
#[derive(Debug, Clone)]
pub struct Request {
    pub timeout: Duration,
    pub stdin: Stdin,
    pub capture: Capture,
    /// Under a terminal a command has no other input than that terminal.
    pub face: Face,
    /// The command as sudo needs it, with what it reads first. It counts only for the command it was made of.
    pub sudo: Option<Arc<Prepared>>,
    pub stop: Stop,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Stdin {
    #[default]
    Empty,
    Text(Vec<u8>),
}

/// How much of the output is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Capture {
    Whole,
    /// Its beginning and its end, and a note between them; all of it within this many characters.
    Within(usize),
}

/// What became of a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Executed {
    /// Without escape sequences.
    pub output: String,
    pub exit_code: i32,
    pub ended: Ended,
    /// Where the shell stood at its end, when it could still say so.
    pub cwd: Option<PathBuf>,
    pub state: Memory,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    Exited,
    TimedOut,
    Interrupted,
}

/// What the next command will know of this one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Memory {
    /// What it changed is there.
    Kept,
    /// There was nothing to keep, or nothing is to be kept.
    Unchanged,
    /// The shell ended without telling (`exec`, `kill -9`); the next command starts as this one did.
    Lost,
}

/// Why nothing was run.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unable {
    /// It will not work the next time either.
    #[error("{0}")]
    Disabled(String),
    /// The machine is short of something; it may work again soon.
    #[error("the command could not be started: {0}")]
    Busy(String),
}
