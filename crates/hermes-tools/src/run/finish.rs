//! How a call ended.

pub use hermes_types::ToolStatus as Status;
use hermes_types::{CallId, Content, Message, ToolCall};
use serde_json::json;
use std::time::Duration;

/// The one result of one call.
#[derive(Debug, Clone, PartialEq)]
pub struct Finished {
    pub call: CallId,
    pub name: String,
    pub content: Content,
    pub status: Status,
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

impl Finished {
    /// A call that never began.
    pub(super) fn refused(call: &ToolCall, status: Status, content: impl Into<Content>) -> Self {
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
    pub(super) fn skipped(call: &ToolCall) -> Self {
        let message = format!("[{} was not run: the person interrupted]", call.function.name);
        let content = json!({"error": message, "status": "cancelled"}).to_string();
        Self::refused(call, Status::Cancelled, content)
    }

    pub fn into_message(self) -> Message {
        Message::tool(&self.call, self.name, self.content)
    }
}
