//! An end without success: what to tell the person, and the exit code that says the same to a script.

use crate::output::{EXIT_FAILED, EXIT_USAGE};
use std::fmt::Display;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    pub message: String,
    pub exit: u8,
}

impl Failure {
    pub fn new(reason: impl Display) -> Self {
        Self { message: reason.to_string(), exit: EXIT_FAILED }
    }

    /// The command line itself is wrong.
    pub fn usage(reason: impl Display) -> Self {
        Self { message: reason.to_string(), exit: EXIT_USAGE }
    }
}

impl<E: std::error::Error> From<E> for Failure {
    fn from(error: E) -> Self {
        Self::new(error)
    }
}
