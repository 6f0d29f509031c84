//! What is shown of the matches on one page: the place, the session, the messages before and after.

use super::gather::Match;
use super::query::Query;
use super::text;
use crate::db::Db;
use crate::fault::DbResult;
use crate::row::text_at;
use hermes_types::{Hit, Manner, MessageId, Moment, Neighbour, Role, SessionId, clip};
use rusqlite::Row;

/// Characters of a neighbour.
const NEIGHBOUR: usize = 200;

pub(super) fn show(db: &Db, query: &Query, manner: Manner, page: &[Match]) -> DbResult<Vec<Hit>> {
    let columns = text::COLUMNS;
    let mut statement = db.connection.prepare_cached(&format!(
        "SELECT m.session_id, m.role, m.timestamp, s.source, s.model, s.started_at, s.title, {columns}
         FROM main.messages m LEFT JOIN main.sessions s ON s.id = m.session_id WHERE m.id = ?1"
    ))?;
    let mut hits = Vec::with_capacity(page.len());
    for found in page {
        let mut rows = statement.query([found.id])?;
        let Some(row) = rows.next()? else { continue };
        let Some(role) = role_at(row, 1)? else { continue };
        let text = text::of_row(row, 7)?;
        let session = text_at(row, 0)?.unwrap_or_default();
        let at: f64 = row.get(2)?;
        hits.push(Hit {
            id: MessageId(found.id),
            role,
            snippet: query.snippet_by(&text, manner).unwrap_or_else(|| clip(&text, NEIGHBOUR)),
            at: Moment::from_seconds(at),
            tool_name: text_at(row, 8)?,
            source: text_at(row, 3)?.unwrap_or_default(),
            model: text_at(row, 4)?,
            session_started: Moment::from_seconds(row.get::<_, Option<f64>>(5)?.unwrap_or_default()),
            title: text_at(row, 6)?,
            context: neighbours(db, &session, found.id, at)?,
            session_id: SessionId::new(session),
        });
    }
    Ok(hits)
}

fn neighbours(db: &Db, session: &str, id: i64, at: f64) -> DbResult<Vec<Neighbour>> {
    let before = "m.timestamp <= ?2 AND (m.timestamp < ?2 OR m.id < ?3) ORDER BY m.timestamp DESC, m.id DESC";
    let after = "m.timestamp >= ?2 AND (m.timestamp > ?2 OR m.id > ?3) ORDER BY m.timestamp, m.id";
    let mut found = Vec::with_capacity(2);
    for side in [before, after] {
        let mut statement = db.connection.prepare_cached(&format!(
            "SELECT m.id, m.role, {} FROM every_message m
             WHERE m.session_id = ?1 AND m.state < 2 AND m.role IN ('system', 'user', 'assistant', 'tool') AND {side} LIMIT 1",
            text::COLUMNS
        ))?;
        let mut rows = statement.query((session, at, id))?;
        if let Some(row) = rows.next()?
            && let Some(role) = role_at(row, 1)?
        {
            let content = clip(&text::of_row(row, 2)?, NEIGHBOUR);
            found.push(Neighbour { id: MessageId(row.get(0)?), role, content });
        }
    }
    Ok(found)
}

/// `None` for a role that is no part of a conversation.
fn role_at(row: &Row<'_>, column: usize) -> DbResult<Option<Role>> {
    Ok(text_at(row, column)?.and_then(|role| match role.as_str() {
        "system" => Some(Role::System),
        "user" => Some(Role::User),
        "assistant" => Some(Role::Assistant),
        "tool" => Some(Role::Tool),
        _ => None,
    }))
}
