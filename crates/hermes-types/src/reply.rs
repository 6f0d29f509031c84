//! What comes back from a model: deltas while it speaks, one complete reply at the end.

use crate::{Assistant, Sent, StopReason, ToolCall, Usage};
use serde::{Deserialize, Serialize};

/// A step of a streamed answer. `Done` is always last and complete by itself: whoever needs only the answer ignores
/// the rest, whoever shows progress never has to assemble anything.
#[derive(Debug, Clone, PartialEq)]
pub enum Delta {
    /// The request is on its way, in these bytes. Comes first, and is nothing that the model said.
    Sent(Box<Sent>),
    Text(String),
    Reasoning(String),
    /// The model began to write a call of this tool.
    ToolCallStarted(String),
    /// Bytes arrived that carry nothing to show (pings, argument fragments): the stream is alive.
    Alive,
    Done(Box<Reply>),
}

/// A complete answer. Tool calls in it have whole, parsable arguments; what could not be completed is in `dropped`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Reply {
    /// `message.finish_reason` is always set.
    pub message: Assistant,
    pub usage: Option<Usage>,
    /// The model that answered, by its own account.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// Names of calls whose arguments were cut off or unreadable. They are not in the message and must not be run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub dropped: Vec<String>,
    /// The stream ended without the provider saying why.
    #[serde(default)]
    pub cut_off: bool,
}

impl Reply {
    pub fn stop_reason(&self) -> StopReason {
        self.message.finish_reason.clone().unwrap_or(StopReason::Stop)
    }

    pub fn tool_calls(&self) -> &[ToolCall] {
        &self.message.tool_calls
    }

    pub fn text(&self) -> String {
        self.message.content.as_ref().map(crate::Content::text).unwrap_or_default()
    }
}
