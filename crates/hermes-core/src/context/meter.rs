//! How much of the window a conversation takes up: one meter for every decision.
//!
//! What the provider counted for the last request, and an estimate of what was added since. Messages are weighed once,
//! when they come in. A conversation that was rewritten is estimated as a whole, corrected by how far the estimate was
//! off when it could be compared.

use super::weight;
use hermes_types::{Message, ToolDefinition};
use std::sync::Arc;

#[derive(Debug, Clone, Default, PartialEq)]
pub struct Meter {
    /// Prompt and tools.
    fixed: u64,
    /// The weight of the history up to and including each message.
    sums: Vec<u64>,
    counted: Option<Counted>,
    /// What the provider counts for a token of ours.
    rate: Option<f64>,
}

/// What the provider counted for a request with so many messages of the history.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Counted {
    tokens: u64,
    messages: usize,
}

/// Estimates are never further off than this; a provider that counts otherwise counts something else, and is not heard.
const RATES: std::ops::RangeInclusive<f64> = 0.25..=4.0;

impl Meter {
    pub(crate) fn set_fixed<'a>(
        &mut self,
        words: impl IntoIterator<Item = &'a Arc<Message>>,
        tools: &[ToolDefinition],
    ) {
        self.fixed = weight::of_all(words) + weight::of_tools(tools);
    }

    /// A message more. It is weighed now and never again, however long the conversation is.
    pub fn push(&mut self, message: &Message) {
        self.sums.push(self.estimated(self.sums.len()) + weight::of(message));
    }

    /// The newest message has other words now.
    pub(crate) fn amend_last(&mut self, message: &Message) {
        self.sums.pop();
        self.push(message);
    }

    /// Only the first so many messages are as they were.
    pub(crate) fn truncate(&mut self, messages: usize) {
        self.sums.truncate(messages);
        if self.counted.is_some_and(|counted| counted.messages > messages) {
            self.counted = None;
        }
    }

    /// The provider counted the last request, which had so many messages of the history.
    pub(crate) fn counted(&mut self, tokens: u64, messages: usize) {
        let estimated = self.fixed + self.estimated(messages);
        let rate = tokens as f64 / estimated.max(1) as f64;
        if messages <= self.sums.len() && RATES.contains(&rate) {
            self.rate = Some(rate);
            self.counted = Some(Counted { tokens, messages });
        }
    }

    /// What the next request takes up.
    pub fn used(&self) -> u64 {
        let all = self.estimated(self.sums.len());
        match self.counted {
            Some(Counted { tokens, messages }) => tokens + self.as_counted(all - self.estimated(messages)),
            None => self.as_counted(self.fixed + all),
        }
    }

    /// What prompt and tools take up.
    pub fn fixed(&self) -> u64 {
        self.as_counted(self.fixed)
    }

    /// An estimate in the tokens of the provider.
    pub fn as_counted(&self, estimated: u64) -> u64 {
        match self.rate {
            Some(rate) => (estimated as f64 * rate) as u64,
            None => estimated,
        }
    }

    /// How much of an estimate is so many tokens of the provider.
    pub fn as_estimated(&self, counted: u64) -> u64 {
        match self.rate {
            Some(rate) => (counted as f64 / rate) as u64,
            None => counted,
        }
    }

    fn estimated(&self, messages: usize) -> u64 {
        messages.checked_sub(1).and_then(|last| self.sums.get(last)).copied().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_counted_is_trusted_and_only_what_came_since_is_estimated() {
        let mut meter = Meter::default();
        meter.set_fixed([&Arc::new(Message::system("s".repeat(4_000)))], &[]);
        let question = Message::user("q".repeat(4_000));
        meter.push(&question);
        assert_eq!(meter.used(), 2_016);
        meter.counted(3_024, 1);
        assert_eq!(meter.used(), 3_024);
        meter.push(&Message::assistant("a".repeat(400)));
        assert_eq!(meter.used(), 3_024 + 162, "at the rate of the provider");
        meter.truncate(0);
        meter.push(&question);
        assert_eq!(meter.used(), 3_024, "rewritten: an estimate, at the same rate");
    }

    #[test]
    fn a_count_that_cannot_be_meant_is_not_heard() {
        let mut meter = Meter::default();
        meter.push(&Message::user("q".repeat(4_000)));
        for nonsense in [0, 1, 100_000, u64::MAX] {
            meter.counted(nonsense, 1);
            assert_eq!(meter.used(), 1_008);
        }
    }
}
