//! Keeping a long conversation short enough, without losing the thread.
//!
//! A pass has four phases. *Prune* puts one line in the place of old results and of long arguments, which needs no model
//! and often suffices. *Boundary* divides what is left into a head, a middle and a tail; calls and their results are never
//! parted. *Summary* asks a model what happened in the middle. *Assemble* puts it together again: the words of the person
//! stand in it as they were said, the newest request as a message of its own. What is left out stays in the store, and
//! the lines in its place say how it is read again.
//!
//! Everything here is pure but for the one question to a model, which is a port. Each pass shrinks the conversation or
//! ends with a [`Declined`] that the person is told.

mod assemble;
mod boundary;
mod engine;
mod fallback;
#[cfg(test)]
mod laws;
mod mask;
mod meter;
mod pins;
pub(crate) mod rest;
mod summary;
pub mod weight;

pub use assemble::{is_summary, plan_in};
pub use engine::{Compressor, Truncator};
pub use meter::Meter;
pub use summary::{Extent, Material};

use futures_util::future::BoxFuture;
use hermes_types::{CallId, Fault, Message, MessageId, Reply};
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

/// `compression.*`
#[derive(Debug, Clone, PartialEq)]
pub struct Policy {
    pub enabled: bool,
    /// The part of the window that starts it.
    pub threshold: f64,
    /// The part of that which the newest messages may keep.
    pub target_ratio: f64,
    pub protect_first: usize,
    /// The most messages that count as newest.
    pub protect_last: usize,
    /// Keep the session instead of going on in another.
    pub in_place: bool,
    /// A summary that fails changes nothing, instead of being made without a model.
    pub abort_on_failure: bool,
    /// Messages from which on a face that keeps many conversations finds one too long, whatever it weighs.
    pub most_messages: usize,
}

impl Default for Policy {
    fn default() -> Self {
        Self {
            enabled: true,
            threshold: 0.5,
            target_ratio: 0.2,
            protect_first: 3,
            protect_last: 20,
            in_place: false,
            abort_on_failure: false,
            most_messages: 5_000,
        }
    }
}

/// What a conversation may take up, in tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Room {
    /// From here on it is too long.
    pub trigger: u64,
    /// Pruning that comes down to this needs no summary.
    pub goal: u64,
    /// For the newest messages, beside a summary.
    pub tail: u64,
    /// For the newest messages, where pruning suffices. Each of them is paid for once more, so there are fewer.
    pub fresh: u64,
    /// For a summary.
    pub summary: u64,
}

/// Where the prompt alone takes up more than half of the trigger, this much of the window starts it instead.
const CROWDED: f64 = 0.85;
/// After a pass there must be this much less, or the next one would follow at once.
const GOAL: f64 = 0.6;
/// The part of the room for the newest messages that pruning leaves as it is.
const FRESH: f64 = 0.5;
const LARGEST_SUMMARY: u64 = 10_000;

impl Room {
    /// The room in a window of so many tokens, of which `output` are for the answer and `fixed` for prompt and tools.
    pub fn of(policy: &Policy, window: u64, output: Option<u32>, fixed: u64) -> Self {
        // An answer as long as the window leaves no room for a question; such a cap is wrong, not the window.
        let output = output.map(u64::from).filter(|output| *output < window / 2).unwrap_or_default();
        let usable = window.saturating_sub(output);
        let wanted = part(usable, policy.threshold.clamp(0.05, 0.95));
        let trigger = if fixed.saturating_mul(2) > wanted { part(usable, CROWDED) } else { wanted };
        let tail = part(trigger, policy.target_ratio.clamp(0.1, 0.8));
        Self {
            trigger,
            goal: fixed.saturating_add(part(trigger.saturating_sub(fixed), GOAL)),
            tail,
            fresh: part(tail, FRESH),
            summary: part(window, 0.05).clamp(256, LARGEST_SUMMARY),
        }
    }
}

fn part(whole: u64, ratio: f64) -> u64 {
    (whole as f64 * ratio) as u64
}

/// The pass that put this message in the place of something, counted from the last summary on, which itself is 0. What
/// stands in front of the last message of a pass changes only with a summary.
pub fn pass_of(message: &Message) -> Option<u64> {
    mask::pass_in(message).or_else(|| is_summary(message).then_some(0))
}

/// What made a conversation too long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trigger {
    /// The meter, before a question to the model.
    Threshold,
    /// The provider refused the request as too long.
    Overflow,
    /// The person.
    Manual,
    /// A face that keeps many conversations, between two turns.
    Hygiene,
}

impl Trigger {
    /// Whether nobody asked for it and it can wait.
    pub fn is_patient(self) -> bool {
        self == Self::Threshold
    }

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Threshold => "threshold",
            Self::Overflow => "overflow",
            Self::Manual => "manual",
            Self::Hygiene => "hygiene",
        }
    }
}

/// The phase that sufficed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// Lines in the place of old results; no model was asked.
    Prune,
    /// A summary by a model.
    Summary,
    /// A summary that was put together without one.
    Fallback,
    /// The oldest messages are gone.
    Truncate,
}

impl Phase {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Prune => "prune",
            Self::Summary => "summary",
            Self::Fallback => "fallback",
            Self::Truncate => "truncate",
        }
    }
}

/// What is to be made shorter.
pub struct Job<'a> {
    pub history: &'a [Arc<Message>],
    /// So many of them were sent to a model; the others nobody has read yet.
    pub sent: usize,
    pub room: Room,
    pub policy: &'a Policy,
    /// Where the results are kept.
    pub rows: &'a Rows,
    /// What the summary should dwell on.
    pub focus: Option<&'a str>,
    /// Whether somebody keeps notes beyond the conversation.
    pub notes: Notes,
    /// No summary is asked for that long: the last ones failed.
    pub resting: Option<Duration>,
    pub trigger: Trigger,
    pub meter: &'a Meter,
}

/// Whether what should outlive a conversation is asked for together with its summary.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Notes {
    #[default]
    Nowhere,
    Kept,
}

/// A shorter conversation.
#[derive(Debug, Clone, PartialEq)]
pub struct Compressed {
    pub history: Vec<Arc<Message>>,
    pub phase: Phase,
    /// Who wrote the summary.
    pub model: Option<String>,
    /// What went wrong on the way, in words for the person.
    pub warning: Option<String>,
    /// What should outlive the conversation.
    pub notes: Vec<String>,
}

/// Why a conversation stays as it is, in words for the person.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Declined {
    #[error("there is nothing in it that could be left out")]
    NothingToLeaveOut,
    #[error("its newest messages alone take up the room there is")]
    NewestFillTheRoom,
    #[error("what the person said in it takes up the room there is")]
    WordsFillTheRoom,
    #[error("two passes in a row made it hardly shorter")]
    HardlyShorter,
    #[error("no summary could be made: {0}")]
    NoSummary(String),
    #[error("the last summaries failed; the next is tried in {seconds} s")]
    Resting { seconds: u64 },
    #[error("it is switched off (compression.enabled)")]
    SwitchedOff,
    #[error("interrupted")]
    Interrupted,
    #[error("the shorter conversation could not be written down: {0}")]
    NotKept(String),
}

/// Makes conversations shorter. One is in use at a time (`context.engine`).
pub trait Engine: Send + Sync {
    fn name(&self) -> &'static str;

    fn compress<'a>(&'a self, job: Job<'a>, scribe: &'a dyn Scribe) -> BoxFuture<'a, Result<Compressed, Declined>>;
}

/// Asks a model for a summary.
pub trait Scribe: Send + Sync {
    fn summarise<'a>(&'a self, material: Material<'a>) -> BoxFuture<'a, Result<Reply, Fault>>;
}

/// The rows in which the results of calls are kept, in the order of the conversation.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Rows(HashMap<CallId, Vec<MessageId>>);

impl Rows {
    pub fn of(results: impl IntoIterator<Item = (CallId, MessageId)>) -> Self {
        let mut rows: HashMap<CallId, Vec<MessageId>> = HashMap::new();
        for (call, row) in results {
            rows.entry(call).or_default().push(row);
        }
        Self(rows)
    }

    /// The row of the `nth` result of this call. Some providers number their calls anew in every reply.
    fn row(&self, call: &CallId, nth: usize) -> Option<MessageId> {
        self.0.get(call)?.get(nth).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_room_is_a_part_of_the_window_unless_the_prompt_takes_most_of_it() {
        let policy = Policy::default();
        let room = Room::of(&policy, 64_000, None, 3_000);
        assert_eq!(room, Room { trigger: 32_000, goal: 20_400, tail: 6_400, fresh: 3_200, summary: 3_200 });
        assert_eq!(Room::of(&policy, 200_000, Some(64_000), 3_000).trigger, 68_000);
        assert_eq!(Room::of(&policy, 8_192, Some(8_192), 3_000).trigger, 6_963, "a cap that leaves nothing is no cap");
        assert_eq!(Room::of(&policy, 1_000_000, None, 3_000).summary, 10_000);
    }
}
