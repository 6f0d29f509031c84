//! How sessions descend from each other.

use crate::{Moment, SessionId};
use serde::{Deserialize, Serialize};

/// Why a session has a parent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kinship {
    /// It has none.
    Root,
    /// Compression went on here.
    Continuation,
    /// The person tried another way from here.
    Branch,
    /// A sub-agent did a part of the work.
    Delegate,
}

/// One session of a family.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Relative {
    pub id: SessionId,
    #[serde(rename = "parent_session_id")]
    pub parent: Option<SessionId>,
    pub kinship: Kinship,
    pub title: Option<String>,
    pub preview: String,
    pub started_at: Moment,
    pub message_count: u64,
}
