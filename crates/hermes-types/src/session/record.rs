//! The record of a session, and how sessions are chosen and listed.

use crate::{Moment, Object, SessionId, StoredMessage, Usage, Usd};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;

/// A list shows this much of the first question.
const PREVIEW: usize = 60;

/// Everything known about a session but its messages. The field names are those of exports.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Session {
    pub id: SessionId,
    /// Where it was held: `cli`, `telegram`, `cron` …
    pub source: String,
    pub user_id: Option<String>,
    pub model: Option<String>,
    pub model_config: Option<Object>,
    pub system_prompt: Option<String>,
    #[serde(rename = "parent_session_id")]
    pub parent: Option<SessionId>,
    pub started_at: Moment,
    pub ended_at: Option<Moment>,
    pub end_reason: Option<EndReason>,
    pub message_count: u64,
    pub tool_call_count: u64,
    #[serde(flatten)]
    pub usage: Usage,
    #[serde(flatten)]
    pub billing: Billing,
    pub title: Option<String>,
    /// What another program's newer tables hold besides.
    #[serde(flatten)]
    pub extra: Object,
}

impl Session {
    /// The working directory, wherever the database keeps it.
    pub fn cwd(&self) -> Option<&str> {
        let beside = || self.model_config.as_ref().and_then(|config| config.get("cwd"));
        self.extra.get("cwd").filter(|cwd| !cwd.is_null()).or_else(beside).and_then(|cwd| cwd.as_str())
    }
}

/// Who was paid, and what is known of the price.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Billing {
    #[serde(rename = "billing_provider")]
    pub provider: Option<String>,
    #[serde(rename = "billing_base_url")]
    pub base_url: Option<String>,
    #[serde(rename = "billing_mode")]
    pub mode: Option<String>,
    #[serde(rename = "estimated_cost_usd")]
    pub estimated: Option<Usd>,
    #[serde(rename = "actual_cost_usd")]
    pub actual: Option<Usd>,
    #[serde(rename = "cost_status")]
    pub status: Option<String>,
    #[serde(rename = "cost_source")]
    pub source: Option<String>,
    pub pricing_version: Option<String>,
}

/// Why a session ended; the first reason stays. Other programs have reasons of their own.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct EndReason(Cow<'static, str>);

impl EndReason {
    pub const CLI_CLOSE: Self = Self(Cow::Borrowed("cli_close"));
    pub const USER_EXIT: Self = Self(Cow::Borrowed("user_exit"));
    pub const NEW_SESSION: Self = Self(Cow::Borrowed("new_session"));
    pub const RESUMED_OTHER: Self = Self(Cow::Borrowed("resumed_other"));
    pub const BRANCHED: Self = Self(Cow::Borrowed("branched"));
    pub const COMPRESSION: Self = Self(Cow::Borrowed("compression"));

    pub fn new(reason: impl Into<String>) -> Self {
        Self(Cow::Owned(reason.into()))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// What is needed to begin a session. An id that exists already only gets what it lacks.
#[derive(Debug, Clone, PartialEq)]
pub struct NewSession {
    pub id: SessionId,
    pub source: String,
    pub user_id: Option<String>,
    pub model: Option<String>,
    pub model_config: Option<Object>,
    pub system_prompt: Option<String>,
    pub parent: Option<SessionId>,
    pub started_at: Option<Moment>,
    /// The working directory; in `model_config` where the database has no column for it.
    pub cwd: Option<String>,
}

impl NewSession {
    pub fn new(id: SessionId, source: impl Into<String>) -> Self {
        Self {
            id,
            source: source.into(),
            user_id: None,
            model: None,
            model_config: None,
            system_prompt: None,
            parent: None,
            started_at: None,
            cwd: None,
        }
    }
}

/// A line of a list of sessions.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SessionSummary {
    #[serde(flatten)]
    pub session: Session,
    /// The beginning of the first question.
    pub preview: String,
    pub last_active: Moment,
    /// The session this conversation began in, where compression went on in another one.
    #[serde(rename = "_lineage_root_id", default, skip_serializing_if = "Option::is_none")]
    pub root: Option<SessionId>,
}

/// Which sessions are meant. Everything that is set must hold.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SessionFilter {
    pub sources: Vec<String>,
    pub exclude_sources: Vec<String>,
    /// Began before / at or after this. What is pruned was also last active before it.
    pub started_before: Option<Moment>,
    pub started_after: Option<Moment>,
    /// Part of the title, whatever its case.
    pub title: Option<String>,
    pub model: Option<String>,
    pub end_reason: Option<String>,
    pub min_messages: Option<u64>,
    pub max_messages: Option<u64>,
    /// Below this directory.
    pub cwd: Option<String>,
    /// Also sub-agents and the inner links of compressed conversations.
    pub all: bool,
    /// Prune also what never ended, when nothing was said in it for a day: its program was killed, or nobody went on.
    pub abandoned_too: bool,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ListOrder {
    #[default]
    Started,
    LastActive,
}

/// What a pruning removed, or would remove.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Pruned {
    pub sessions: Vec<SessionId>,
    pub messages: u64,
}

/// The store in numbers.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct StoreFacts {
    pub schema_version: u32,
    pub sessions: u64,
    pub ended: u64,
    pub messages: u64,
    pub by_source: Vec<(String, u64)>,
    pub oldest: Option<Moment>,
    pub newest: Option<Moment>,
    /// All messages' text, in bytes, and what the store takes on disk.
    pub text_bytes: u64,
    pub disk_bytes: u64,
}

/// The beginning of a text on one line.
pub fn preview(text: &str) -> String {
    let line = text.trim_start().chars().map(|c| if c.is_whitespace() { ' ' } else { c });
    let head: String = line.clone().take(PREVIEW).collect();
    if line.count() > PREVIEW { format!("{}...", head.trim_end()) } else { head.trim_end().to_owned() }
}

/// A whole session as one value, the form of exports.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Export {
    #[serde(flatten)]
    pub session: Session,
    pub messages: Vec<StoredMessage>,
}
