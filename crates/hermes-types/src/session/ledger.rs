//! What was asked of models and tools, and what it cost. Every record is written once and never changed, but for the
//! outcome of an effect.

use crate::{CallId, Moment, Object, SessionId, Usage, Usd};
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// One call of a model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CallRecord {
    pub session: SessionId,
    pub at: Moment,
    pub provider: String,
    pub base_url: String,
    pub billing_mode: String,
    pub model: String,
    /// What it was for: empty for the conversation itself, else `vision`, `compression`, `title_generation` …
    pub task: String,
    pub usage: Usage,
    pub cost: Cost,
    pub took: Duration,
    /// Whatever else is worth keeping about it.
    pub facts: Object,
}

/// What a call cost, as far as anybody knows.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Cost {
    pub estimated: Option<Usd>,
    pub actual: Option<Usd>,
    pub status: CostStatus,
    pub source: String,
    pub pricing_version: Option<String>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CostStatus {
    /// The provider said so.
    Actual,
    /// Computed from a price list.
    Estimated,
    /// Covered by a subscription.
    Included,
    #[default]
    Unknown,
}

impl CostStatus {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Actual => "actual",
            Self::Estimated => "estimated",
            Self::Included => "included",
            Self::Unknown => "unknown",
        }
    }
}

/// The sum of calls of one model for one task.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct UsageRow {
    pub model: String,
    pub provider: String,
    pub task: String,
    pub calls: u64,
    /// Without a cost of its own: the two below tell more.
    #[serde(flatten)]
    pub usage: Usage,
    pub estimated_cost_usd: Option<Usd>,
    pub actual_cost_usd: Option<Usd>,
}

/// The sum of calls in a stretch of time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spent {
    pub calls: u64,
    /// Everything the models read and wrote.
    pub tokens: u64,
    /// What the calls with a known price cost: what the provider said, else what was computed.
    pub cost: Usd,
    /// Calls that nobody knows the price of; while there are any, `cost` is not the whole bill.
    pub unpriced: u64,
}

/// How a turn ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TurnRecord {
    pub session: SessionId,
    pub started_at: Moment,
    pub ended_at: Moment,
    pub exit_reason: String,
    pub model_calls: u64,
    pub tool_calls: u64,
    pub error: Option<String>,
}

/// What a compression did, or why it did nothing.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CompressionRecord {
    pub session: SessionId,
    /// Where the conversation went on, when not in place.
    pub child: Option<SessionId>,
    pub at: Moment,
    pub messages_before: u64,
    pub messages_after: u64,
    pub tokens_before: u64,
    pub tokens_after: u64,
    pub took: Duration,
    /// Who wrote the summary, where there is one.
    pub model: Option<String>,
    /// The phase that sufficed, or the one it stopped in.
    pub phase: String,
    pub trigger: String,
    /// Why it stopped without making the conversation shorter.
    pub stopped: Option<String>,
}

impl CompressionRecord {
    /// The tokens that every request since is shorter by; `None` when nothing became shorter.
    pub fn saved(&self) -> Option<u64> {
        self.tokens_before.checked_sub(self.tokens_after).filter(|saved| *saved > 0 && self.stopped.is_none())
    }
}

/// How long no summary is asked for in a conversation, after asking failed.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct SummaryRest {
    pub until: Option<Moment>,
    /// Failures in a row.
    pub failures: u64,
    /// What the last one was.
    pub reason: Option<String>,
}

/// A call of a tool that may change the world, known before it runs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EffectRecord {
    pub session: SessionId,
    pub call: CallId,
    pub tool: String,
    pub started_at: Moment,
    pub ended_at: Option<Moment>,
    pub state: EffectState,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum EffectState {
    /// It was about to run. Found after a crash, nobody knows what it did.
    Begun,
    Done,
    Failed,
    /// It was found begun after a crash, and the model was told that its outcome is unknown.
    Unknown,
}

impl EffectState {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Begun => "begun",
            Self::Done => "done",
            Self::Failed => "failed",
            Self::Unknown => "unknown",
        }
    }
}
