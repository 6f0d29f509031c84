//! Commands in a shell that remembers.

pub mod family;

use crate::settings::Settings;
use serde::Deserialize;

/// `terminal.*`.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(default)]
pub struct TerminalSettings {
    pub timeout: u64,
}

impl Default for TerminalSettings {
    fn default() -> Self {
        Self { timeout: 180 }
    }
}

/// The shell of one conversation.
pub struct Terminal {}

impl Terminal {
    pub fn new(_settings: &Settings) -> Self {
        Self {}
    }
}
