//! What the owner wrote down: modes and rules.

use super::judge::{Judgement, Shape};
use super::pattern;

/// What happens to dangerous commands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// A person is asked.
    Manual,
    /// A model is asked first, a person when it does not say yes.
    Smart,
    /// Nobody is asked.
    Off,
}

impl Mode {
    /// The mode a setting names. YAML reads `off` as `false`. An unknown word is `None`; the careful choice is manual.
    pub fn from_setting(text: &str) -> Option<Self> {
        match text.trim().to_lowercase().as_str() {
            "manual" => Some(Self::Manual),
            "smart" => Some(Self::Smart),
            "off" | "false" => Some(Self::Off),
            _ => None,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    Allow,
    Ask,
    Deny,
}

/// One line of policy: a tool, a pattern with `*`, `?` and `[…]`, and what follows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rule {
    /// The tool, or a pattern for several.
    pub tool: String,
    pub pattern: String,
    pub effect: Effect,
}

impl Rule {
    /// A rule that forbids looks at every command inside; one that permits must fit the whole, and the whole must be
    /// one readable command.
    pub(super) fn fits(&self, tool: &str, judgement: &Judgement) -> bool {
        if !same(&self.tool, tool) {
            return false;
        }
        match self.effect {
            Effect::Allow => {
                judgement.shape == Shape::Plain && judgement.readable && same(&self.pattern, judgement.command().trim())
            }
            Effect::Ask | Effect::Deny => judgement.texts.iter().any(|text| same(&self.pattern, text)),
        }
    }
}

/// Glob matching that ignores case.
pub(super) fn same(pattern: &str, text: &str) -> bool {
    pattern::matches(&pattern.to_lowercase(), &text.to_lowercase())
}
