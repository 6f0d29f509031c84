//! Why a model stopped, in one vocabulary for all wire protocols.

use serde::{Deserialize, Serialize};
use std::fmt;

/// The finish reason of an answer. `Other` keeps words from foreign databases that we store but never act on.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub enum StopReason {
    /// The model said all it wanted to say.
    Stop,
    /// The model waits for the results of its tool calls.
    ToolCalls,
    /// The output cap or the context window ended the answer.
    Length,
    /// The provider withheld the answer.
    ContentFilter,
    /// The provider says the answer goes on in another request.
    Incomplete,
    Other(String),
}

impl StopReason {
    pub fn as_str(&self) -> &str {
        match self {
            Self::Stop => "stop",
            Self::ToolCalls => "tool_calls",
            Self::Length => "length",
            Self::ContentFilter => "content_filter",
            Self::Incomplete => "incomplete",
            Self::Other(word) => word,
        }
    }
}

impl From<String> for StopReason {
    fn from(word: String) -> Self {
        match word.as_str() {
            "stop" => Self::Stop,
            "tool_calls" => Self::ToolCalls,
            "length" => Self::Length,
            "content_filter" => Self::ContentFilter,
            "incomplete" => Self::Incomplete,
            _ => Self::Other(word),
        }
    }
}

impl From<StopReason> for String {
    fn from(reason: StopReason) -> Self {
        reason.as_str().to_owned()
    }
}

impl fmt::Display for StopReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
