//! The end of a call: its one result, and what is known of its effects.

use crate::{CallId, Content, Message, ToolCall, ToolStatus};
use serde_json::json;
use std::time::Duration;

/// The one result of one call.
#[derive(Debug, Clone, PartialEq)]
pub struct Finished {
    pub call: CallId,
    pub name: String,
    pub content: Content,
    pub status: ToolStatus,
    pub disposition: Disposition,
    pub took: Duration,
}

/// What is known about the effects of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Disposition {
    /// Nothing happened.
    None,
    /// The call ran to its end.
    Complete,
    /// It was cut off: something may have happened.
    Unknown,
}

/// What a call does to the world while it runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum Touch {
    /// It looks, or keeps to itself: running it again changes nothing.
    #[default]
    Reads,
    /// It changes something; running it twice may do it twice.
    Changes,
}

impl Finished {
    /// A call that never began.
    pub fn refused(call: &ToolCall, status: ToolStatus, content: impl Into<Content>) -> Self {
        Self {
            call: call.id.clone(),
            name: call.function.name.clone(),
            content: content.into(),
            status,
            disposition: Disposition::None,
            took: Duration::ZERO,
        }
    }

    /// A call that an interrupt came before.
    pub fn skipped(call: &ToolCall) -> Self {
        let message = format!("[{} was not run: the person interrupted]", call.function.name);
        let content = json!({"error": message, "status": "cancelled"}).to_string();
        Self::refused(call, ToolStatus::Cancelled, content)
    }

    pub fn message(&self) -> Message {
        Message::tool(&self.call, self.name.clone(), self.content.clone())
    }

    pub fn into_message(self) -> Message {
        Message::tool(&self.call, self.name, self.content)
    }
}
