//! Commands in a shell that remembers.

pub mod sandbox;
pub mod surroundings;
pub mod family;

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
}

impl Default for TerminalSettings {
    fn default() -> Self {
        Self { timeout: 180, env_passthrough: Vec::new(), sandbox: SandboxMode::default() }
    }
}

/// The shell of one conversation.
pub struct Terminal {}

impl Terminal {
    pub fn new(_settings: &Settings) -> Self {
        Self {}
    }
}
