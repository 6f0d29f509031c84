//! Commands in a shell that remembers.

pub mod family;
pub(crate) mod pty;

use crate::settings::Settings;
use serde::Deserialize;

/// `terminal.*`.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(default)]
pub struct TerminalSettings {
    pub timeout: u64,
    /// Seconds between asking and forcing a background process to end.
    pub daemon_term_grace_seconds: f64,
}

impl Default for TerminalSettings {
    fn default() -> Self {
        Self { timeout: 180, daemon_term_grace_seconds: 2.0 }
    }
}

/// The shell of one conversation.
pub struct Terminal {}

impl Terminal {
    pub fn new(_settings: &Settings) -> Self {
        Self {}
    }
}
