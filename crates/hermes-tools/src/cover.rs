//! Whether secrets in results are covered: one decision of the owner, asked wherever a tool shows text.
//!
//! What a secret looks like is known to [`hermes_core::redact`]; here is only whether it is asked. Errors of the program
//! itself and logs do not come this way: they are always covered.

use crate::settings::Surroundings;
use hermes_core::redact;
use hermes_types::yes_or_no;
use serde_json::Value;
use std::borrow::Cow;

/// The variable that decides where the settings say nothing.
const VARIABLE: &str = "HERMES_REDACT_SECRETS";

/// `security.redact_secrets`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Cover {
    #[default]
    Secrets,
    /// The owner wants to see everything, and so does the model.
    Nothing,
}

impl Cover {
    pub(crate) fn read(config: &Value, around: &Surroundings, odd: &mut Vec<String>) -> Self {
        let wanted = match config.pointer("/security/redact_secrets") {
            None | Some(Value::Null) => around.variables.get(VARIABLE).and_then(|word| yes_or_no(word)),
            Some(Value::Bool(wanted)) => Some(*wanted),
            Some(other) => {
                let read = other.as_str().and_then(yes_or_no);
                if read.is_none() {
                    odd.push(format!("security.redact_secrets: {other} is neither true nor false; true is used"));
                }
                read
            }
        };
        if wanted == Some(false) { Self::Nothing } else { Self::Secrets }
    }

    /// What people and models said to each other. Nobody edits it, so what stands behind the name of a secret is covered too.
    pub(crate) fn talk(self, text: &str) -> Cow<'_, str> {
        match self {
            Self::Secrets => redact::text(text),
            Self::Nothing => Cow::Borrowed(text),
        }
    }

    /// Text of a file.
    pub fn file(self, text: &str) -> Cow<'_, str> {
        match self {
            Self::Secrets => redact::file(text),
            Self::Nothing => Cow::Borrowed(text),
        }
    }

    /// What a command printed.
    pub(crate) fn terminal<'t>(self, command: &str, output: &'t str) -> Cow<'t, str> {
        match self {
            Self::Secrets => redact::terminal(command, output),
            Self::Nothing => Cow::Borrowed(output),
        }
    }
}
