//! Sizes of results and limits of repetition.

use super::guardrail::GuardrailSettings;
use crate::settings::section;
use serde_json::Value;

/// `tool_loop_guardrails.*` and the sizes of results.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RunSettings {
    pub guardrails: GuardrailSettings,
}

impl RunSettings {
    pub(crate) fn read(config: &Value, odd: &mut Vec<String>) -> Self {
        Self { guardrails: section(config, "tool_loop_guardrails", odd) }
    }
}
