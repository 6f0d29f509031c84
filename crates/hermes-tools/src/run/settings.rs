//! Sizes of results and limits of repetition.

use super::guardrail::GuardrailSettings;
use crate::settings::section;
use serde_json::Value;
use std::sync::atomic::{AtomicUsize, Ordering};

/// `tool_loop_guardrails.*`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RunSettings {
    pub guardrails: GuardrailSettings,
}

impl RunSettings {
    pub(crate) fn read(config: &Value, odd: &mut Vec<String>) -> Self {
        Self { guardrails: section(config, "tool_loop_guardrails", odd) }
    }
}

/// Characters that one result, and all results of one reply, may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sizes {
    pub result: usize,
    pub turn: usize,
}

const CHARS_PER_TOKEN: usize = 4;

impl Sizes {
    const LARGEST: Self = Self { result: 100_000, turn: 200_000 };
    const SMALLEST: Self = Self { result: 8_000, turn: 16_000 };

    /// What a model with a context of so many tokens can bear: 15 % of it for one result, 30 % for those of one reply.
    pub fn for_window(tokens: usize) -> Self {
        let chars = tokens.saturating_mul(CHARS_PER_TOKEN);
        let share = |percent| chars / 100 * percent;
        Self {
            result: share(15).clamp(Self::SMALLEST.result, Self::LARGEST.result),
            turn: share(30).clamp(Self::SMALLEST.turn, Self::LARGEST.turn),
        }
    }
}

impl Default for Sizes {
    fn default() -> Self {
        Self::LARGEST
    }
}

/// The sizes that hold for one conversation. They change with its model.
#[derive(Debug)]
pub struct Room {
    result: AtomicUsize,
    turn: AtomicUsize,
}

impl Room {
    /// The conversation goes on with a model of this window.
    pub fn for_window(&self, tokens: usize) {
        let sizes = Sizes::for_window(tokens);
        self.result.store(sizes.result, Ordering::Relaxed);
        self.turn.store(sizes.turn, Ordering::Relaxed);
    }

    /// The sizes of another conversation, for one that begins with the same model.
    pub fn take_from(&self, other: &Self) {
        let sizes = other.sizes();
        self.result.store(sizes.result, Ordering::Relaxed);
        self.turn.store(sizes.turn, Ordering::Relaxed);
    }

    pub fn sizes(&self) -> Sizes {
        Sizes { result: self.result.load(Ordering::Relaxed), turn: self.turn.load(Ordering::Relaxed) }
    }
}

impl Default for Room {
    fn default() -> Self {
        let sizes = Sizes::default();
        Self { result: AtomicUsize::new(sizes.result), turn: AtomicUsize::new(sizes.turn) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_models_get_small_results() {
        let room = Room::default();
        assert_eq!(room.sizes(), Sizes { result: 100_000, turn: 200_000 });
        let table = [
            (4_096, 8_000, 16_000),
            (32_000, 19_200, 38_400),
            (128_000, 76_800, 153_600),
            (1_000_000, 100_000, 200_000),
        ];
        for (tokens, result, turn) in table {
            room.for_window(tokens);
            assert_eq!(room.sizes(), Sizes { result, turn }, "{tokens}");
        }
    }
}
