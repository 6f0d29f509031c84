//! `terminal.*` and what belongs to it elsewhere in the settings.

use super::sandbox::SandboxMode;
use crate::settings::{Surroundings, section};
use serde::Deserialize;
use serde_json::Value;
use std::path::PathBuf;
use std::time::Duration;

/// Longer than this a command belongs into the background.
const FOREGROUND_LIMIT: u64 = 600;
/// Raises or lowers it.
const FOREGROUND_VARIABLE: &str = "TERMINAL_MAX_FOREGROUND_TIMEOUT";
/// How much output of a command the model sees.
const CAPTURE: usize = 50_000;

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(default)]
pub struct TerminalSettings {
    /// Where commands run.
    pub backend: String,
    /// Where a conversation starts; `.` is where the program was started.
    pub cwd: String,
    /// Seconds a command may take where the call does not say.
    pub timeout: u64,
    /// Variables commands may see although they look private.
    pub env_passthrough: Vec<String>,
    pub home_mode: String,
    /// What the first shell reads instead of the files of the person's shell.
    pub shell_init_files: Vec<String>,
    pub auto_source_bashrc: bool,
    /// Whether directory, exports, functions and aliases last from one command to the next.
    pub persistent_shell: bool,
    /// Seconds between asking and forcing a background process to end.
    pub daemon_term_grace_seconds: f64,
    #[serde(skip)]
    pub sandbox: SandboxMode,
    /// `tool_output.max_bytes`, counted in characters.
    #[serde(skip)]
    pub capture: usize,
}

impl Default for TerminalSettings {
    fn default() -> Self {
        Self {
            backend: "local".to_owned(),
            cwd: ".".to_owned(),
            timeout: 180,
            env_passthrough: Vec::new(),
            home_mode: "auto".to_owned(),
            shell_init_files: Vec::new(),
            auto_source_bashrc: true,
            persistent_shell: true,
            daemon_term_grace_seconds: 2.0,
            sandbox: SandboxMode::default(),
            capture: CAPTURE,
        }
    }
}

#[derive(Deserialize)]
#[serde(default)]
struct ToolOutput {
    max_bytes: usize,
}

impl Default for ToolOutput {
    fn default() -> Self {
        Self { max_bytes: CAPTURE }
    }
}

impl TerminalSettings {
    pub(crate) fn read(config: &Value, odd: &mut Vec<String>) -> Self {
        let output: ToolOutput = section(config, "tool_output", odd);
        let sandbox = sandbox(config.pointer("/terminal/sandbox"), odd);
        Self { capture: output.max_bytes, sandbox, ..section(config, "terminal", odd) }
    }

    /// The directory a conversation starts in.
    pub(crate) fn start(&self, around: &Surroundings) -> PathBuf {
        match self.cwd.trim() {
            "" | "." => around.cwd.clone(),
            path => around.cwd.join(expanded(path, around)),
        }
    }

    /// The longest a command may keep the conversation waiting.
    pub(super) fn foreground_limit(around: &Surroundings) -> Duration {
        let wanted = around.variables.get(FOREGROUND_VARIABLE).and_then(|value| value.trim().parse().ok());
        Duration::from_secs(wanted.filter(|seconds| *seconds > 0).unwrap_or(FOREGROUND_LIMIT))
    }
}

/// Read apart from its section: neither its own misspelling nor that of a neighbour may open what was to be closed.
fn sandbox(value: Option<&Value>, odd: &mut Vec<String>) -> SandboxMode {
    let word = match value {
        // YAML reads a bare `off` as false.
        None | Some(Value::Null | Value::Bool(false)) => return SandboxMode::Off,
        Some(word) => word.as_str().map(|word| word.trim().to_lowercase()),
    };
    match word.as_deref() {
        Some("" | "off") => SandboxMode::Off,
        Some("workspace") => SandboxMode::Workspace,
        Some("strict") => SandboxMode::Strict,
        _ => {
            let word = value.unwrap_or(&Value::Null);
            odd.push(format!("terminal.sandbox: {word} is none of off, workspace, strict; strict is used"));
            SandboxMode::Strict
        }
    }
}

/// A path as a person writes it: `~` is their home.
pub(super) fn expanded(path: &str, around: &Surroundings) -> PathBuf {
    match path.strip_prefix('~') {
        Some("") => around.home.clone(),
        Some(rest) if rest.starts_with('/') => around.home.join(rest.trim_start_matches('/')),
        _ => PathBuf::from(path),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_slip_does_not_open_the_sandbox() {
        let table = [
            (json!({}), SandboxMode::Off, 0),
            (json!({"sandbox": false}), SandboxMode::Off, 0),
            (json!({"sandbox": "Workspace"}), SandboxMode::Workspace, 0),
            (json!({"sandbox": "strict", "timeout": "soon"}), SandboxMode::Strict, 1),
            (json!({"sandbox": "stirct"}), SandboxMode::Strict, 1),
            (json!({"sandbox": true}), SandboxMode::Strict, 1),
        ];
        for (section, expected, warnings) in table {
            let mut odd = Vec::new();
            let read = TerminalSettings::read(&json!({ "terminal": section }), &mut odd);
            assert_eq!((read.sandbox, odd.len()), (expected, warnings), "{section}: {odd:?}");
        }
    }
}
