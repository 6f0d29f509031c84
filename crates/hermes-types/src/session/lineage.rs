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

/// What a title stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Meant {
    /// The session that is called exactly so; the newest of its numbered lineage where none is. For what is done to a
    /// session: showing, renaming, deleting.
    Exactly,
    /// The newest of its numbered lineage. For going on.
    Newest,
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
