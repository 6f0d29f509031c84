//! The reasoning setting in this protocol: a budget of tokens for older models, an effort for those that adapt.

use super::endpoint::Vendor;
use super::model::{Cap, Generation};
use hermes_types::{Effort, Reasoning};
use serde_json::{Value, json};

/// Room for the answer behind the longest thought.
const ROOM_TO_ANSWER: u32 = 4_096;
/// The smallest budget the protocol takes.
const SMALLEST_BUDGET: u32 = 1_024;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Thinking {
    /// Says nothing about it.
    Unset,
    /// The model decides how long to think; without an effort, at its own default.
    Adaptive(Option<&'static str>),
    Budget(u32),
}

impl Thinking {
    pub(super) fn of(reasoning: Option<Reasoning>, model: &str, generation: Generation, vendor: Vendor) -> Self {
        let effort = match reasoning {
            None | Some(Reasoning::Off) => return Self::Unset,
            Some(Reasoning::On) => None,
            Some(Reasoning::Effort(effort)) => Some(effort),
        };
        if model.to_ascii_lowercase().contains("haiku") {
            return Self::Unset;
        }
        match generation {
            Generation::Budgeted => Self::Budget(budget(effort)),
            Generation::Foreign if vendor != Vendor::Kimi => Self::Budget(budget(effort)),
            Generation::Adaptive | Generation::Later | Generation::Foreign => {
                Self::Adaptive(effort.map(|effort| word(effort, generation)))
            }
        }
    }

    /// Fits budget and output cap to each other: the cap covers thought and answer, and neither passes the ceiling.
    pub(super) fn fit(self, cap: Cap) -> (Self, u32) {
        let Self::Budget(budget) = self else { return (self, cap.tokens) };
        let budget = budget.min(cap.ceiling.saturating_sub(ROOM_TO_ANSWER)).max(SMALLEST_BUDGET);
        (Self::Budget(budget), cap.tokens.max(budget + ROOM_TO_ANSWER).min(cap.ceiling))
    }

    /// The fields of the body, in order.
    pub(super) fn fields(self) -> Vec<(&'static str, Value)> {
        match self {
            Self::Unset => Vec::new(),
            Self::Budget(tokens) => vec![("thinking", json!({"type": "enabled", "budget_tokens": tokens}))],
            Self::Adaptive(effort) => {
                let thinking = ("thinking", json!({"type": "adaptive", "display": "summarized"}));
                let config = effort.map(|effort| ("output_config", json!({"effort": effort})));
                std::iter::once(thinking).chain(config).collect()
            }
        }
    }
}

fn budget(effort: Option<Effort>) -> u32 {
    match effort {
        Some(Effort::Minimal) => 2_048,
        Some(Effort::Low) => 4_000,
        Some(Effort::Medium) | None => 8_000,
        Some(Effort::High) => 16_000,
        Some(Effort::XHigh | Effort::Max | Effort::Ultra) => 32_000,
    }
}

fn word(effort: Effort, generation: Generation) -> &'static str {
    match effort {
        Effort::Minimal | Effort::Low => "low",
        Effort::Medium => "medium",
        Effort::High => "high",
        // The first adaptive generation has no step between high and max.
        Effort::XHigh if generation == Generation::Adaptive => "max",
        Effort::XHigh => "xhigh",
        Effort::Max | Effort::Ultra => "max",
    }
}
