//! A search over all conversations, and what it found.

use crate::{MessageId, Moment, Role, SessionId};
use serde::{Deserialize, Serialize};

const DEFAULT_LIMIT: usize = 20;

/// What to look for. An empty list does not filter.
#[derive(Debug, Clone, PartialEq)]
pub struct SearchQuery {
    /// Words, `"phrases"`, `OR`, `NOT`, `prefix*`; hostile text is harmless.
    pub text: String,
    pub sources: Vec<String>,
    pub exclude_sources: Vec<String>,
    pub roles: Vec<Role>,
    pub session: Option<SessionId>,
    pub since: Option<Moment>,
    pub until: Option<Moment>,
    pub order: SearchOrder,
    pub limit: usize,
    pub offset: usize,
    /// Also what the person took back.
    pub undone_too: bool,
}

impl SearchQuery {
    pub fn new(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            sources: Vec::new(),
            exclude_sources: Vec::new(),
            roles: Vec::new(),
            session: None,
            since: None,
            until: None,
            order: SearchOrder::Best,
            limit: DEFAULT_LIMIT,
            offset: 0,
            undone_too: false,
        }
    }
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum SearchOrder {
    /// Relevance and recency together.
    #[default]
    Best,
    Newest,
    Oldest,
}

/// What a search came to.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Found {
    pub hits: Vec<Hit>,
    pub manner: Manner,
    /// How many matches were ranked.
    pub considered: usize,
    /// There are older matches that were not ranked: the words are too common.
    pub more: bool,
    /// Not all messages were looked through: there are some that are not indexed yet, and too many to read one by one.
    /// Asking again later finds what is in them.
    #[serde(default)]
    pub unseen: bool,
    /// Hits follow after this page.
    #[serde(default)]
    pub has_next: bool,
}

/// How the text was matched.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Manner {
    /// Whole words.
    #[default]
    Words,
    /// Anywhere inside words: scripts without spaces, and words that were not found whole.
    Inside,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Hit {
    pub id: MessageId,
    pub session_id: SessionId,
    pub role: Role,
    /// The place, with the match between `>>>` and `<<<`.
    pub snippet: String,
    #[serde(rename = "timestamp")]
    pub at: Moment,
    pub tool_name: Option<String>,
    pub source: String,
    pub model: Option<String>,
    pub session_started: Moment,
    pub title: Option<String>,
    /// The message before and the one after, cut.
    pub context: Vec<Neighbour>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Neighbour {
    pub id: MessageId,
    pub role: Role,
    pub content: String,
}
