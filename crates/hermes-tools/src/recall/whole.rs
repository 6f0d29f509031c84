//! One message in full, wherever it is kept. A compressed conversation names messages like this.

use super::archive::Archive;
use super::show::{Pen, when};
use crate::tool::{Output, ToolError};
use hermes_types::{Message, MessageId, RowState, SessionId, StoredMessage};
use serde::Serialize;

#[derive(Debug, Serialize)]
struct Whole {
    success: bool,
    mode: &'static str,
    message_id: MessageId,
    session_id: SessionId,
    role: String,
    when: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_name: Option<String>,
    content: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    offset: Option<usize>,
    /// The length of a text that does not fit.
    #[serde(skip_serializing_if = "Option::is_none")]
    full_length: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    next_offset: Option<usize>,
}

pub(super) async fn whole(
    archive: Archive<'_>,
    pen: &Pen,
    (id, offset): (MessageId, usize),
) -> Result<Output, ToolError> {
    let stored = archive.message(id).await?;
    let said = stored.filter(|stored| stored.foreign_role.is_none() && stored.state != RowState::Undone);
    let Some(stored) = said else {
        return Err(ToolError::told(format!(
            "There is no message {id}. Take the number from where it says that something is kept as a message, or from \
             a result of session_search."
        )));
    };
    let page = pen.page(&stored.message, offset);
    if offset > 0 && offset >= page.length {
        return Err(ToolError::told(format!(
            "Message {id} has {} characters; offset {offset} is behind them.",
            page.length
        )));
    }
    let end = offset + page.text.chars().count();
    let is_part = page.length > page.text.chars().count();
    Output::json(&Whole {
        success: true,
        mode: "message",
        message_id: id,
        role: stored.role().to_owned(),
        when: when(stored.at),
        tool_name: tool_name(&stored),
        content: page.text,
        offset: is_part.then_some(offset),
        full_length: is_part.then_some(page.length),
        next_offset: (end < page.length).then_some(end),
        session_id: stored.session_id,
    })
}

fn tool_name(stored: &StoredMessage) -> Option<String> {
    match &stored.message {
        Message::Tool(result) => result.name.as_deref().map(super::show::label),
        _ => None,
    }
}
