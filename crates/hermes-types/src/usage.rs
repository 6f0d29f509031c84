//! Tokens of one or many model calls, in five buckets that never overlap in what they bill.

use crate::Usd;
use serde::{Deserialize, Serialize};
use std::ops::AddAssign;

/// `input` never includes cached tokens; `reasoning` is a part of `output`, not an addition to it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    #[serde(rename = "input_tokens")]
    pub input: u64,
    #[serde(rename = "output_tokens")]
    pub output: u64,
    #[serde(rename = "cache_read_tokens")]
    pub cache_read: u64,
    #[serde(rename = "cache_write_tokens")]
    pub cache_write: u64,
    /// The part of `cache_write` that is kept for an hour, which costs more.
    #[serde(rename = "cache_write_1h_tokens", default, skip_serializing_if = "is_zero")]
    pub cache_write_1h: u64,
    #[serde(rename = "reasoning_tokens")]
    pub reasoning: u64,
    /// What the provider itself says the calls cost. A sum has a cost only when every call in it has one: a part of the
    /// bill must never look like the whole.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<Usd>,
}

impl Usage {
    /// From a count of prompt tokens that *includes* the cached ones, as OpenAI-shaped APIs report it.
    pub fn from_inclusive(prompt: u64, cache_read: u64, cache_write: u64, output: u64, reasoning: u64) -> Self {
        Self {
            input: prompt.saturating_sub(cache_read).saturating_sub(cache_write),
            output,
            cache_read,
            cache_write,
            cache_write_1h: 0,
            reasoning,
            cost: None,
        }
    }

    /// Everything the model read.
    pub fn prompt(&self) -> u64 {
        self.input.saturating_add(self.cache_read).saturating_add(self.cache_write)
    }

    pub fn total(&self) -> u64 {
        self.prompt().saturating_add(self.output)
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the form that serde calls")]
fn is_zero(count: &u64) -> bool {
    *count == 0
}

impl AddAssign for Usage {
    fn add_assign(&mut self, other: Self) {
        self.cost = match (self.cost, other.cost) {
            (Some(a), Some(b)) => Some(a + b),
            // Where nothing was counted there is no bill to miss.
            (None, cost) if self.total() == 0 => cost,
            (cost, None) if other.total() == 0 => cost,
            _ => None,
        };
        // What a provider counts is what it says: nonsense must neither end the program nor begin at zero again.
        let add = |sum: &mut u64, more: u64| *sum = sum.saturating_add(more);
        add(&mut self.input, other.input);
        add(&mut self.output, other.output);
        add(&mut self.cache_read, other.cache_read);
        add(&mut self.cache_write, other.cache_write);
        add(&mut self.reasoning, other.reasoning);
        add(&mut self.cache_write_1h, other.cache_write_1h);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sum_has_a_cost_only_when_every_call_has_one() {
        let billed = |dollars: f64| Usage { input: 1, cost: Usd::from_f64(dollars), ..Usage::default() };
        let unbilled = Usage { input: 1, ..Usage::default() };
        let table = [
            (vec![billed(0.5), billed(0.25)], Usd::from_f64(0.75)),
            (vec![billed(0.5), unbilled], None),
            (vec![unbilled, billed(0.5)], None),
            (vec![billed(0.5), unbilled, billed(0.5)], None),
            (vec![billed(0.5), Usage::default()], Usd::from_f64(0.5)),
        ];
        for (calls, cost) in table {
            let mut sum = Usage::default();
            calls.iter().for_each(|call| sum += *call);
            let counted: u64 = calls.iter().map(|call| call.input).sum();
            assert_eq!(sum, Usage { input: counted, cost, ..Usage::default() }, "{calls:?}");
        }
    }
}
