//! Messages as they are kept.

use crate::{Content, Message, Moment, SessionId};
use serde::{Deserialize, Serialize};
use std::fmt;

/// The place of a message in the store; later messages have larger ones, and none is ever used twice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct MessageId(pub i64);

impl fmt::Display for MessageId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A message to be kept.
#[derive(Debug, Clone, PartialEq)]
pub struct NewMessage {
    pub message: Message,
    /// What the model was given instead of the content, where that differs: replaying it keeps prompt caches warm.
    pub sent: Option<Content>,
    /// Now, when not given.
    pub at: Option<Moment>,
    pub token_count: Option<u64>,
}

impl From<Message> for NewMessage {
    fn from(message: Message) -> Self {
        Self { message, sent: None, at: None, token_count: None }
    }
}

/// A message that was kept.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StoredMessage {
    pub id: MessageId,
    pub session_id: SessionId,
    #[serde(rename = "timestamp")]
    pub at: Moment,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token_count: Option<u64>,
    #[serde(rename = "api_content", default, skip_serializing_if = "Option::is_none")]
    pub sent: Option<Content>,
    #[serde(default, skip_serializing_if = "RowState::is_live")]
    pub state: RowState,
    #[serde(flatten)]
    pub message: Message,
}

impl StoredMessage {
    /// The message as the model was given it.
    pub fn into_replay(self) -> Message {
        let Self { mut message, sent, .. } = self;
        if let Some(sent) = sent {
            match &mut message {
                Message::System(plain) | Message::User(plain) => plain.content = sent,
                Message::Assistant(assistant) => assistant.content = Some(sent),
                Message::Tool(result) => result.content = sent,
            }
        }
        message
    }
}

/// What became of a message.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RowState {
    /// Part of the conversation.
    #[default]
    Live,
    /// Summarised away: no longer sent, still found.
    Compacted,
    /// Taken back by the person: neither sent nor found.
    Undone,
}

impl RowState {
    fn is_live(&self) -> bool {
        *self == Self::Live
    }
}

/// How far back a conversation is read.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Span {
    #[default]
    Own,
    /// With the sessions it continues, oldest first.
    WithAncestors,
}
