//! `code_execution.*`: where scripts run, how long, and how often they may call.

use serde::Deserialize;
use std::time::Duration;

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct CodeSettings {
    pub mode: Mode,
    /// Seconds a script may take.
    pub timeout: u64,
    /// Calls of tools that one script may make.
    pub max_tool_calls: usize,
}

/// Where a script is at home.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// In the directory of the conversation, with the Python of the active environment.
    #[default]
    Project,
    /// In an empty directory, with the Python of the machine.
    Strict,
}

impl Default for CodeSettings {
    fn default() -> Self {
        Self { mode: Mode::default(), timeout: 300, max_tool_calls: 50 }
    }
}

impl CodeSettings {
    pub(super) fn limit(&self) -> Duration {
        Duration::from_secs(self.timeout.max(1))
    }
}
