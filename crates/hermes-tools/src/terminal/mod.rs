//! Commands in a shell that remembers.

pub mod sandbox;
pub mod surroundings;
pub mod family;
pub(crate) mod pty;

use crate::settings::Settings;
use sandbox::SandboxMode;
use serde::Deserialize;

/// `terminal.*`.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(default)]
pub struct TerminalSettings {
    pub timeout: u64,
    /// Variables commands may see although they look private.
    pub env_passthrough: Vec<String>,
    pub sandbox: SandboxMode,
    /// Seconds between asking and forcing a background process to end.
    pub daemon_term_grace_seconds: f64,
}

impl Default for TerminalSettings {
    fn default() -> Self {
        Self { timeout: 180, env_passthrough: Vec::new(), sandbox: SandboxMode::default() }
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
