//! Messages as they are kept.

use crate::{Content, Message, Moment, Object, Plain, Role, SessionId};
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;
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
#[derive(Debug, Clone, PartialEq)]
pub struct StoredMessage {
    pub id: MessageId,
    pub session_id: SessionId,
    pub at: Moment,
    pub token_count: Option<u64>,
    pub sent: Option<Content>,
    pub state: RowState,
    pub message: Message,
    /// The role of a row that another program keeps beside the conversation (`developer`, `session_meta` …). `message`
    /// holds its content then; it is never sent.
    pub foreign_role: Option<String>,
    /// What another program's columns hold besides, where they hold anything.
    pub columns: Object,
}

/// The form of exports: one flat object. What a foreign column is called by is taken from the message on the way back.
#[derive(Serialize, Deserialize)]
struct Written<C, S> {
    id: MessageId,
    session_id: SessionId,
    #[serde(rename = "timestamp")]
    at: Moment,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    token_count: Option<u64>,
    #[serde(rename = "api_content", default = "nothing", skip_serializing_if = "Option::is_none")]
    sent: Option<C>,
    #[serde(default, skip_serializing_if = "RowState::is_live")]
    state: RowState,
    #[serde(flatten)]
    said: S,
}

fn nothing<C>() -> Option<C> {
    None
}

#[derive(Serialize)]
struct Said<'a> {
    #[serde(flatten)]
    message: Worded<'a>,
    #[serde(flatten)]
    columns: &'a Object,
}

#[derive(Serialize)]
#[serde(untagged)]
enum Worded<'a> {
    Ours(&'a Message),
    Foreign { role: &'a str, content: Option<&'a Content> },
}

impl Serialize for StoredMessage {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let message = match &self.foreign_role {
            None => Worded::Ours(&self.message),
            Some(role) => Worded::Foreign { role, content: self.message.content() },
        };
        Written {
            id: self.id,
            session_id: self.session_id.clone(),
            at: self.at,
            token_count: self.token_count,
            sent: self.sent.as_ref(),
            state: self.state,
            said: Said { message, columns: &self.columns },
        }
        .serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for StoredMessage {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let written = Written::<Content, Object>::deserialize(deserializer)?;
        let Written { id, session_id, at, token_count, sent, state, mut said } = written;
        let role = said.get("role").and_then(Value::as_str).ok_or_else(|| D::Error::missing_field("role"))?.to_owned();
        let is_ours = serde_json::from_value::<Role>(role.as_str().into()).is_ok();
        let (message, foreign_role, columns) = if is_ours {
            let taken = FOREIGN_COLUMNS.iter().filter_map(|name| Some(((*name).to_owned(), said.shift_remove(*name)?)));
            let columns = taken.collect();
            (serde_json::from_value(Value::Object(said)).map_err(D::Error::custom)?, None, columns)
        } else {
            said.shift_remove("role");
            let content = said.shift_remove("content").unwrap_or_default();
            let content: Option<Content> = serde_json::from_value(content).map_err(D::Error::custom)?;
            (Message::System(Plain::new(content.unwrap_or_default())), Some(role), said)
        };
        Ok(Self { id, session_id, at, token_count, sent, state, message, foreign_role, columns })
    }
}

/// What the Python program keeps about a message and no other program knows.
const FOREIGN_COLUMNS: [&str; 3] = ["effect_disposition", "platform_message_id", "observed"];

impl StoredMessage {
    /// The role as it is stored.
    pub fn role(&self) -> &str {
        match (&self.foreign_role, self.message.role()) {
            (Some(role), _) => role,
            (None, Role::System) => "system",
            (None, Role::User) => "user",
            (None, Role::Assistant) => "assistant",
            (None, Role::Tool) => "tool",
        }
    }

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

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_row_of_another_program_is_written_as_it_was_and_read_again() {
        let table = [
            json!({"id": 1, "session_id": "s", "timestamp": 2.5, "role": "session_meta", "content": "x", "tool_name": "t"}),
            json!({"id": 2, "session_id": "s", "timestamp": 2.5, "token_count": 3, "api_content": "sent",
                "state": "undone", "role": "developer", "content": [{"type": "text", "text": "x"}], "observed": 1}),
            json!({"id": 3, "session_id": "s", "timestamp": 2.5, "role": "user", "content": "x", "name": "n", "observed": 0}),
        ];
        for row in table {
            let stored: StoredMessage = serde_json::from_value(row.clone()).expect("a message");
            assert_eq!(stored.role(), row["role"]);
            assert_eq!(serde_json::to_value(&stored).expect("json"), row);
        }
    }
}
