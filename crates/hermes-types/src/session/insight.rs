//! What happened over a period, in numbers.

use crate::{Moment, SessionId, Usage, UsageRow, Usd};
use serde::{Deserialize, Serialize};

/// Everything the reports draw. Times are in [`Bucket`]s, so that whoever draws them chooses the time zone.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Insights {
    pub from: Moment,
    pub to: Moment,
    pub source: Option<String>,
    pub sessions: u64,
    /// Of every session; what a branch or a compression copied is counted there again.
    pub messages: u64,
    pub user_messages: u64,
    pub tool_calls: u64,
    #[serde(flatten)]
    pub usage: Usage,
    pub estimated_cost_usd: Option<Usd>,
    pub actual_cost_usd: Option<Usd>,
    /// Sessions whose cost is not known, and those a subscription covers.
    pub sessions_without_cost: u64,
    pub sessions_included: u64,
    /// From beginning to end, of the sessions that ended.
    pub active_seconds: f64,
    pub ended_sessions: u64,
    /// How often a conversation was made shorter, and the tokens it was shorter by.
    pub compressions: u64,
    pub compression_tokens_saved: u64,
    pub models: Vec<ModelUse>,
    pub sources: Vec<SourceUse>,
    pub tools: Vec<Share>,
    /// How turns ended.
    pub exit_reasons: Vec<Share>,
    /// How sessions ended.
    pub end_reasons: Vec<Share>,
    pub buckets: Vec<Bucket>,
    pub notable: Vec<Notable>,
}

impl Insights {
    /// The part of what models read that came from their caches.
    pub fn cache_hit_rate(&self) -> Option<f64> {
        let prompt = self.usage.prompt();
        (prompt > 0).then(|| self.usage.cache_read as f64 / prompt as f64)
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ModelUse {
    pub sessions: u64,
    /// As far as it is known: for each call what the provider said, else what was computed.
    pub cost_usd: Option<Usd>,
    #[serde(flatten)]
    pub sum: UsageRow,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SourceUse {
    pub source: String,
    pub sessions: u64,
    pub messages: u64,
    pub tokens: u64,
}

/// How often something was seen.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Share {
    pub name: String,
    pub count: u64,
}

/// A quarter of an hour in which something happened: fine enough for every time zone.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Bucket {
    pub start: Moment,
    pub sessions: u64,
    pub messages: u64,
    /// Without a cost of its own.
    #[serde(flatten)]
    pub usage: Usage,
    /// As far as it is known: for each call what the provider said, else what was computed.
    pub cost_usd: Option<Usd>,
}

/// A session that stands out.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Notable {
    /// `longest`, `most_messages`, `most_tokens`, `most_tool_calls`, `most_expensive`
    pub what: String,
    pub session: SessionId,
    pub title: Option<String>,
    pub value: f64,
}
