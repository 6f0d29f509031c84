//! Scrolling through a conversation, and reading its two ends.

use super::archive::{Archive, failed};
use super::present::Present;
use super::show::{Line, Pen, label, lines, when};
use super::stretch::{Ends, around, ends, said};
use crate::tool::{Output, ToolError};
use hermes_types::{MessageId, Role, Session, SessionId};
use serde::Serialize;

/// Messages from the beginning and from the end of a conversation that is read.
const FIRST: usize = 20;
const LAST: usize = 10;

#[derive(Debug, Serialize)]
struct Meta {
    when: Option<String>,
    source: String,
    model: Option<String>,
    title: Option<String>,
}

impl Meta {
    fn of(session: &Session, pen: &Pen) -> Self {
        Self {
            when: when(session.started_at),
            source: label(&session.source),
            model: session.model.as_deref().map(label),
            title: pen.title(session.title.as_deref()),
        }
    }
}

#[derive(Debug, Serialize)]
struct Scrolled {
    success: bool,
    mode: &'static str,
    session_id: SessionId,
    around_message_id: MessageId,
    session_meta: Meta,
    window: usize,
    messages: Vec<Line>,
    messages_before: usize,
    messages_after: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    warning: Option<String>,
}

#[derive(Debug, Serialize)]
struct Read {
    success: bool,
    mode: &'static str,
    session_id: SessionId,
    session_meta: Meta,
    message_count: usize,
    messages: Vec<Line>,
    truncated: bool,
    /// How to see what was left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<String>,
    /// The session in which the conversation went on.
    #[serde(skip_serializing_if = "Option::is_none")]
    continued_in: Option<SessionId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    warning: Option<String>,
}

/// The messages around one.
pub(super) async fn scroll(
    archive: Archive<'_>,
    pen: &Pen,
    roles: &[Role],
    (name, anchor, window): (&str, MessageId, usize),
) -> Result<Output, ToolError> {
    let mut session = archive.find(name).await?;
    let (mut messages, mut warning) = (archive.messages(&session.id).await?, None);
    if !messages.iter().any(|stored| stored.id == anchor) {
        // Compression and branching move a conversation to another session, and models mix the ids of the two up.
        let family = archive.family(&session.id).await?;
        let holder = archive.holder(&family, anchor).await?.ok_or_else(|| not_there(anchor, &session.id))?;
        warning = Some(format!(
            "Message {anchor} is in session {holder}, which belongs to {}; that one is shown.",
            session.id
        ));
        session = archive.find(holder.as_str()).await?;
        messages = archive.messages(&session.id).await?;
    }
    let present = Present::of(archive).await?;
    if present.family.has(&session.id)
        && present.out_of_sight(archive, [(session.id.clone(), anchor)]).await?.is_empty()
    {
        return Err(ToolError::told(
            "That is the present conversation: its messages are before you. Search for another one.",
        ));
    }
    let messages = said(messages, roles, Some(anchor));
    let Some(stretch) = around(&messages, anchor, window) else { return Err(not_there(anchor, &session.id)) };
    let mut shown = lines(stretch.shown, Some(anchor));
    pen.fit(&mut shown);
    Output::json(&Scrolled {
        success: true,
        mode: "scroll",
        session_meta: Meta::of(&session, pen),
        session_id: session.id,
        around_message_id: anchor,
        window,
        messages: shown,
        messages_before: stretch.before.len(),
        messages_after: stretch.after.len(),
        warning,
    })
}

fn not_there(anchor: MessageId, session: &SessionId) -> ToolError {
    ToolError::told(format!(
        "Message {anchor} is not in session {session}. Take both ids from one result of session_search."
    ))
}

/// The beginning and the end of a conversation.
pub(super) async fn read(
    archive: Archive<'_>,
    pen: &Pen,
    roles: &[Role],
    (name, query): (&str, Option<&str>),
) -> Result<Output, ToolError> {
    let session = archive.find(name).await?;
    let messages = said(archive.messages(&session.id).await?, roles, None);
    let Ends { first, between, last } = ends(&messages, FIRST, LAST);
    let mut shown = lines(first, None);
    shown.extend(lines(last, None));
    pen.fit(&mut shown);
    let tip = archive.store.tip(&session.id).await.map_err(|error| failed(&error))?;
    let hint = between.first().map(|message| {
        format!("{} messages between are left out; scroll from around_message_id={}.", between.len(), message.id)
    });
    Output::json(&Read {
        success: true,
        mode: "read",
        session_meta: Meta::of(&session, pen),
        message_count: messages.len(),
        messages: shown,
        truncated: !between.is_empty(),
        hint,
        continued_in: (tip != session.id).then_some(tip),
        session_id: session.id,
        warning: query.map(|_| "The query was not used: leave session_id out to search.".to_owned()),
    })
}
