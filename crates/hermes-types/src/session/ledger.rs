//! What was asked of models and tools, and what it cost. Every record is written once and never changed, but for the
//! outcome of an effect.

use crate::{CallId, Moment, Object, SessionId, Usage, Usd};
use serde::{Deserialize, Serialize};
use std::ops::AddAssign;
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

/// What a call cost, as far as anybody knows. An amount is either what the provider said or what was computed.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Cost {
    pub estimated: Option<Usd>,
    pub actual: Option<Usd>,
    pub status: CostStatus,
    /// Who says so: `provider_cost_api`, `provider_models_api`, `official_docs_snapshot`, `user_override`, `none`. Behind
    /// [`PARTIAL`] stands what has no price: the amount is the least that was paid.
    pub source: String,
    pub pricing_version: Option<String>,
}

/// Marks the source of a price list that lacks a price for something the call used.
pub const PARTIAL: &str = ":partial";

impl Cost {
    /// What the provider itself charged.
    pub fn actual(amount: Usd) -> Self {
        Self {
            actual: Some(amount),
            status: CostStatus::Actual,
            source: "provider_cost_api".to_owned(),
            ..Self::default()
        }
    }

    /// A subscription covers it.
    pub fn included() -> Self {
        Self {
            estimated: Some(Usd::default()),
            status: CostStatus::Included,
            source: "none".to_owned(),
            ..Self::default()
        }
    }

    /// Nobody knows, which is not the same as nothing.
    pub fn unknown() -> Self {
        Self { source: "none".to_owned(), ..Self::default() }
    }

    /// What the counted call says about itself.
    pub fn stated(usage: &Usage) -> Self {
        usage.cost.map_or_else(Self::unknown, Self::actual)
    }

    /// The amount as far as it is known: what the provider said, else what was computed.
    pub fn known(&self) -> Option<Usd> {
        self.actual.or(self.estimated)
    }

    /// Whether the amount is all there is to pay.
    pub fn is_whole(&self) -> bool {
        self.known().is_some() && !self.source.ends_with(PARTIAL)
    }
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

/// The sum of some calls.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spent {
    pub calls: u64,
    /// Everything the models read and wrote.
    pub tokens: u64,
    /// What the calls with a known price cost: what the provider said, else what was computed.
    pub cost: Usd,
    /// Calls whose price is not known, or only in part; while there are any, `cost` is not the whole bill.
    pub unpriced: u64,
    /// Calls whose cost was computed from a price list.
    pub estimated: u64,
    /// Calls that a subscription covers.
    pub included: u64,
}

impl Spent {
    /// One call. One that used nothing, such as a refused one, leaves no bill.
    pub fn on(usage: &Usage, cost: &Cost) -> Self {
        let counts = |is: bool| u64::from(is && usage.total() > 0);
        Self {
            calls: 1,
            tokens: usage.total(),
            cost: cost.known().unwrap_or_default(),
            unpriced: counts(!cost.is_whole()),
            estimated: counts(cost.status == CostStatus::Estimated),
            included: counts(cost.status == CostStatus::Included),
        }
    }

    /// How sure the sum is: as sure as the least sure of its calls.
    pub fn status(&self) -> CostStatus {
        match self {
            Self { calls: 0, .. } | Self { unpriced: 1.., .. } => CostStatus::Unknown,
            Self { estimated: 1.., .. } => CostStatus::Estimated,
            Self { calls, included, .. } if calls == included => CostStatus::Included,
            _ => CostStatus::Actual,
        }
    }
}

impl AddAssign for Spent {
    fn add_assign(&mut self, other: Self) {
        self.calls = self.calls.saturating_add(other.calls);
        self.tokens = self.tokens.saturating_add(other.tokens);
        self.cost = self.cost + other.cost;
        self.unpriced = self.unpriced.saturating_add(other.unpriced);
        self.estimated = self.estimated.saturating_add(other.estimated);
        self.included = self.included.saturating_add(other.included);
    }
}

/// What a conversation cost: a session with all that compression continued it in or from, and their sub-agents.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Bill {
    /// The first session of the conversation at the beginning.
    pub sessions: Vec<SessionId>,
    /// By model and task, the dearest first.
    pub rows: Vec<BillRow>,
    pub usage: Usage,
    pub spent: Spent,
}

/// The calls of one model for one purpose.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct BillRow {
    pub model: String,
    pub provider: String,
    /// Empty for what was said in a conversation.
    pub task: String,
    pub payer: Payer,
    pub usage: Usage,
    pub spent: Spent,
}

/// Whose calls they were.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Payer {
    #[default]
    Conversation,
    SubAgent,
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
