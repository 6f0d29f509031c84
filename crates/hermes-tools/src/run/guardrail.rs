//! Notices a model that goes round in circles.

use crate::tool::Repeats;
use serde::Deserialize;

/// `tool_loop_guardrails.*`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct GuardrailSettings {
    pub warnings_enabled: bool,
    pub hard_stop_enabled: bool,
}

impl Default for GuardrailSettings {
    fn default() -> Self {
        Self { warnings_enabled: true, hard_stop_enabled: false }
    }
}

/// One call as the guardrail sees it: the tool and its arguments in canonical form.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Seen<'a> {
    pub(crate) tool: &'a str,
    pub(crate) arguments: &'a str,
    pub(crate) repeats: Repeats,
}

/// What a turn has tried so far.
#[derive(Debug, Default)]
pub struct Guardrail {}

impl Guardrail {
    /// A new turn: what was tried before does not count.
    pub fn begin_turn(&self) {}

    /// Why this call is not made, when it has been made too often.
    pub(crate) fn before(&self, _seen: Seen<'_>, _settings: &GuardrailSettings) -> Option<String> {
        None
    }

    /// What is added to the result.
    pub(crate) fn after(
        &self,
        _seen: Seen<'_>,
        _failed: bool,
        _result: &str,
        _settings: &GuardrailSettings,
    ) -> Option<String> {
        None
    }
}
