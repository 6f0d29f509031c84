//! What the kernel lets a command do.

use crate::settings::Surroundings;
use serde::Deserialize;
use std::path::Path;

/// `terminal.sandbox`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SandboxMode {
    #[default]
    Off,
    Workspace,
    Strict,
}

/// Starts commands inside their limits.
pub struct Sandbox {
    mode: SandboxMode,
}

impl Sandbox {
    pub fn new(mode: SandboxMode, _around: &Surroundings) -> Self {
        Self { mode }
    }

    /// Spawns; everything but the limits was set by the caller.
    pub async fn launch(
        &self,
        command: std::process::Command,
        _cwd: &Path,
    ) -> std::io::Result<tokio::process::Child> {
        match self.mode {
            SandboxMode::Off => tokio::process::Command::from(command).spawn(),
            SandboxMode::Workspace | SandboxMode::Strict => {
                Err(std::io::Error::other("terminal.sandbox cannot be enforced here; set it to off"))
            }
        }
    }
}
