//! `approvals.*` and `command_allowlist`, read once.

use super::decide::{SudoPassword, Yolo};
use super::rule::{Effect, Mode, Rule, Start};
use crate::settings::Surroundings;
use hermes_types::yes_or_no;
use serde_json::Value;
use std::time::Duration;

const TIMEOUT: Duration = Duration::from_secs(60);
const RULES: [(&str, Effect); 3] = [("deny", Effect::Deny), ("ask", Effect::Ask), ("allow", Effect::Allow)];

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApprovalSettings {
    pub mode: Mode,
    /// How long a question stays open.
    pub timeout: Duration,
    pub rules: Vec<Rule>,
    /// Keys, commands, or patterns of commands.
    pub allowlist: Vec<String>,
    pub yolo: Yolo,
    pub sudo_password: SudoPassword,
}

impl Default for ApprovalSettings {
    fn default() -> Self {
        Self {
            mode: Mode::Manual,
            timeout: TIMEOUT,
            rules: Vec::new(),
            allowlist: Vec::new(),
            yolo: Yolo::Off,
            sudo_password: SudoPassword::Missing,
        }
    }
}

impl ApprovalSettings {
    pub(crate) fn read(config: &Value, around: &Surroundings, odd: &mut Vec<String>) -> Self {
        let approvals = config.get("approvals").unwrap_or(&Value::Null);
        let start = Start { home: &around.home, cwd: &around.cwd };
        let mut rules = Vec::new();
        for (name, effect) in RULES {
            let key = format!("approvals.{name}");
            for entry in texts(&key, approvals.get(name), odd) {
                let reason = match Rule::read(&entry, effect, start) {
                    Ok(rule) => {
                        rules.push(rule);
                        continue;
                    }
                    Err(reason) => reason,
                };
                let meant = reason.meant(&entry).filter(|_| effect != Effect::Allow);
                let rule = meant.as_deref().and_then(|meant| Rule::read(meant, effect, start).ok());
                odd.push(match (&rule, &meant) {
                    (Some(_), Some(meant)) => format!("{key}: `{entry}`: {reason}. It is taken for `{meant}`."),
                    _ => format!("{key}: `{entry}` is no rule: {reason}. It is left out."),
                });
                rules.extend(rule);
            }
        }
        let has = |name: &str| around.variables.get(name).is_some_and(|value| !value.is_empty());
        let yolo = around.variables.get("HERMES_YOLO_MODE").is_some_and(|value| yes_or_no(value) == Some(true));
        Self {
            mode: mode(approvals.get("mode"), odd),
            timeout: timeout(approvals.get("timeout"), odd),
            rules,
            allowlist: texts("command_allowlist", config.get("command_allowlist"), odd),
            yolo: if yolo { Yolo::On } else { Yolo::Off },
            sudo_password: if has("SUDO_PASSWORD") { SudoPassword::Configured } else { SudoPassword::Missing },
        }
    }
}

fn mode(value: Option<&Value>, odd: &mut Vec<String>) -> Mode {
    match value {
        None | Some(Value::Null) => Mode::Manual,
        // YAML reads a bare `off` as false.
        Some(Value::Bool(false)) => Mode::Off,
        Some(word) => word.as_str().and_then(Mode::from_setting).unwrap_or_else(|| {
            odd.push(format!("approvals.mode: {word} is none of manual, smart, off; manual is used"));
            Mode::Manual
        }),
    }
}

fn timeout(value: Option<&Value>, odd: &mut Vec<String>) -> Duration {
    match value {
        None | Some(Value::Null) => TIMEOUT,
        Some(seconds) => {
            seconds.as_u64().filter(|seconds| *seconds > 0).map(Duration::from_secs).unwrap_or_else(|| {
                odd.push(format!("approvals.timeout: {seconds} is no number of seconds; 60 is used"));
                TIMEOUT
            })
        }
    }
}

/// A list of texts; a single text is a list of one.
fn texts(key: &str, value: Option<&Value>, odd: &mut Vec<String>) -> Vec<String> {
    match value {
        None | Some(Value::Null) => Vec::new(),
        Some(Value::String(text)) => vec![text.clone()],
        Some(Value::Array(entries)) => {
            let mut texts = Vec::new();
            for entry in entries {
                match entry.as_str() {
                    Some(text) => texts.push(text.to_owned()),
                    None => odd.push(format!("{key}: {entry} is no text. It is left out; put it in quotes.")),
                }
            }
            texts
        }
        Some(other) => {
            odd.push(format!("{key}: {other} is no list of texts. It is left out."));
            Vec::new()
        }
    }
}
