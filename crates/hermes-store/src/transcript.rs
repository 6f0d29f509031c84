//! The messages of sessions.

use crate::db::Db;
use crate::fault::DbResult;
use crate::oblivion;
use crate::removal;
use crate::row;
use crate::search::grams;
use crate::session;
use crate::store::SqliteStore;
use hermes_core::store::{Kept, StoreError, Transcript};
use hermes_types::{Export, Message, MessageId, Moment, NewMessage, RowState, SessionId, Span, StoredMessage};
use rusqlite::ToSql;

impl Transcript for SqliteStore {
    fn append(&self, id: &SessionId, messages: Vec<NewMessage>) -> Kept<'_, Vec<MessageId>> {
        let (id, now) = (id.clone(), self.now());
        self.write(move |db| append(db, &id, &messages, now))
    }

    fn messages(&self, id: &SessionId) -> Kept<'_, Vec<StoredMessage>> {
        let id = id.clone();
        self.read(move |db| of_session(db, &id))
    }

    fn conversation(&self, id: &SessionId, span: Span) -> Kept<'_, Vec<(MessageId, Message)>> {
        let id = id.clone();
        self.read(move |db| conversation(db, &id, span))
    }

    fn message(&self, message: MessageId) -> Kept<'_, Option<StoredMessage>> {
        self.read(move |db| Ok(select(db, "id = ?1", &[&message.0])?.pop()))
    }

    fn around(&self, id: &SessionId, message: MessageId, window: usize) -> Kept<'_, Vec<StoredMessage>> {
        let id = id.clone();
        self.read(move |db| around(db, &id, message, window))
    }

    fn revise(&self, id: &SessionId, message: MessageId, new: NewMessage) -> Kept<'_, ()> {
        let id = id.clone();
        self.write(move |db| revise(db, &id, message, &new))
    }

    fn compact(&self, id: &SessionId, upto: MessageId, messages: Vec<NewMessage>) -> Kept<'_, Vec<MessageId>> {
        let (id, now) = (id.clone(), self.now());
        self.write(move |db| {
            refuse_newer(db, &id, upto)?;
            set_state(db, &id, MessageId(0), RowState::Compacted)?;
            zero_counters(db, &id)?;
            append(db, &id, &messages, now)
        })
    }

    fn rewind(&self, id: &SessionId, to: MessageId) -> Kept<'_, u64> {
        let id = id.clone();
        self.write(move |db| rewind(db, &id, to))
    }

    fn clear(&self, id: &SessionId) -> Kept<'_, u64> {
        let id = id.clone();
        self.write(move |db| clear(db, &id))
    }

    fn export(&self, id: &SessionId) -> Kept<'_, Option<Export>> {
        let id = id.clone();
        self.read(move |db| {
            let Some(session) = session::get(db, &id)? else { return Ok(None) };
            Ok(Some(Export { session, messages: of_session(db, &id)? }))
        })
    }
}

pub(crate) fn append(db: &Db, id: &SessionId, messages: &[NewMessage], now: Moment) -> DbResult<Vec<MessageId>> {
    let calls: usize = messages.iter().map(|new| row::calls(&new.message)).sum();
    let counted = db
        .connection
        .prepare_cached(
            "UPDATE sessions SET message_count = coalesce(message_count, 0) + ?2,
                 tool_call_count = coalesce(tool_call_count, 0) + ?3 WHERE id = ?1",
        )?
        .execute((id.as_str(), messages.len(), calls))?;
    if counted == 0 {
        return Err(StoreError::NoSession(id.to_string()).into());
    }
    let mut ids = Vec::with_capacity(messages.len());
    let mut last: Option<Moment> = None;
    for message in messages {
        let at = message.at.unwrap_or_else(|| last.map_or(now, |last| now.after(last)));
        ids.push(row::insert(db, id, message, at)?);
        last = Some(at);
    }
    Ok(ids)
}

/// Whether a model has read a message shows in an answer behind it.
fn revise(db: &Db, id: &SessionId, message: MessageId, new: &NewMessage) -> DbResult<()> {
    let here = "session_id = ?1 AND id = ?2 AND state = 0";
    let found = select(db, here, &[&id.as_str(), &message.0])?;
    let same_role =
        |stored: &StoredMessage| stored.foreign_role.is_none() && stored.message.role() == new.message.role();
    if !found.first().is_some_and(same_role) {
        return Err(StoreError::NoMessage { session: id.clone(), message }.into());
    }
    let answered = db
        .connection
        .prepare_cached(
            "SELECT 1 FROM every_message WHERE session_id = ?1 AND id > ?2 AND state = 0 AND role = 'assistant'",
        )?
        .exists((id.as_str(), message.0))?;
    if answered {
        return Err(StoreError::Seen { session: id.clone(), message }.into());
    }
    grams::over(db, message, || row::replace(db, message, new))?;
    recount(db, id)
}

pub(crate) fn of_session(db: &Db, id: &SessionId) -> DbResult<Vec<StoredMessage>> {
    select(db, "session_id = ?1 ORDER BY id", &[&id.as_str()])
}

/// Messages by a condition on `every_message`.
pub(crate) fn select(db: &Db, condition: &str, values: &[&dyn ToSql]) -> DbResult<Vec<StoredMessage>> {
    let mut statement = db
        .connection
        .prepare_cached(&format!("SELECT {} FROM every_message WHERE {condition}", row::columns(&db.shape)))?;
    let mut rows = statement.query(values)?;
    let mut messages = Vec::new();
    while let Some(found) = rows.next()? {
        messages.push(row::read(found)?);
    }
    Ok(messages)
}

fn conversation(db: &Db, id: &SessionId, span: Span) -> DbResult<Vec<(MessageId, Message)>> {
    let sessions = match span {
        Span::Own => vec![id.clone()],
        Span::WithAncestors => {
            let mut sessions = crate::lineage::continued(db, id)?;
            sessions.reverse();
            sessions
        }
    };
    let mut messages = Vec::new();
    for session in sessions {
        let live = select(db, "session_id = ?1 AND state = 0 ORDER BY id", &[&session.as_str()])?;
        let said = live.into_iter().filter(|stored| stored.foreign_role.is_none());
        messages.extend(said.map(|stored| (stored.id, stored.into_replay())));
    }
    Ok(messages)
}

fn around(db: &Db, id: &SessionId, message: MessageId, window: usize) -> DbResult<Vec<StoredMessage>> {
    let (session, window) = (id.as_str(), i64::try_from(window).unwrap_or(i64::MAX));
    let before = "session_id = ?1 AND id < ?2 AND state < 2 ORDER BY id DESC LIMIT ?3";
    let from = "session_id = ?1 AND id >= ?2 AND state < 2 ORDER BY id LIMIT ?3 + 1";
    let mut messages = select(db, before, &[&session, &message.0, &window])?;
    messages.reverse();
    messages.extend(select(db, from, &[&session, &message.0, &window])?);
    if messages.iter().any(|found| found.id == message) {
        Ok(messages)
    } else {
        Err(StoreError::NoMessage { session: id.clone(), message }.into())
    }
}

/// A summary covers what its author read; what came since would be lost in it.
pub(crate) fn refuse_newer(db: &Db, id: &SessionId, upto: MessageId) -> DbResult<()> {
    let newest: Option<i64> = db
        .connection
        .prepare_cached("SELECT max(id) FROM every_message WHERE session_id = ?1 AND state = 0")?
        .query_row([id.as_str()], |row| row.get(0))?;
    match newest.map(MessageId) {
        Some(newest) if newest > upto => Err(StoreError::Moved { session: id.clone(), newest }.into()),
        _ => Ok(()),
    }
}

/// Gives live messages from `from` on another state; tells how many.
fn set_state(db: &Db, id: &SessionId, from: MessageId, state: RowState) -> DbResult<u64> {
    let changed = if db.shape.has_states() {
        db.connection
            .prepare_cached(
                "UPDATE messages SET active = 0, compacted = ?3
                 WHERE id IN (SELECT id FROM every_message WHERE session_id = ?1 AND id >= ?2 AND state = 0)",
            )?
            .execute((id.as_str(), from.0, i64::from(state == RowState::Compacted)))?
    } else {
        db.connection
            .prepare_cached(
                "INSERT INTO hermes_message_extra(message_id, state)
                     SELECT id, ?3 FROM every_message WHERE session_id = ?1 AND id >= ?2 AND state = 0
                 ON CONFLICT(message_id) DO UPDATE SET state = excluded.state",
            )?
            .execute((id.as_str(), from.0, if state == RowState::Compacted { 1 } else { 2 }))?
    };
    Ok(u64::try_from(changed).unwrap_or_default())
}

fn rewind(db: &Db, id: &SessionId, to: MessageId) -> DbResult<u64> {
    let target = select(db, "session_id = ?1 AND id = ?2 AND state = 0", &[&id.as_str(), &to.0])?;
    if !matches!(target.first(), Some(StoredMessage { message: Message::User(_), .. })) {
        return Err(StoreError::NoMessage { session: id.clone(), message: to }.into());
    }
    let undone = set_state(db, id, to, RowState::Undone)?;
    if db.shape.session_has("rewind_count") {
        db.connection.execute("UPDATE sessions SET rewind_count = rewind_count + 1 WHERE id = ?1", [id.as_str()])?;
    }
    recount(db, id)?;
    Ok(undone)
}

fn clear(db: &Db, id: &SessionId) -> DbResult<u64> {
    oblivion::for_good(db, || {
        grams::forget(db, id)?;
        removal::delete_from(db, "hermes_exchanges", id)?;
        let removed = db.connection.execute("DELETE FROM messages WHERE session_id = ?1", [id.as_str()])?;
        zero_counters(db, id)?;
        Ok(u64::try_from(removed).unwrap_or_default())
    })
}

fn zero_counters(db: &Db, id: &SessionId) -> DbResult<()> {
    let zero = "UPDATE sessions SET message_count = 0, tool_call_count = 0 WHERE id = ?1";
    match db.connection.execute(zero, [id.as_str()])? {
        0 => Err(StoreError::NoSession(id.to_string()).into()),
        _ => Ok(()),
    }
}

/// The counters of a session count its live messages.
pub(crate) fn recount(db: &Db, id: &SessionId) -> DbResult<()> {
    db.connection
        .prepare_cached(
            "UPDATE sessions SET (message_count, tool_call_count) = (
                 SELECT count(*), coalesce(sum(CASE
                     WHEN role <> 'assistant' OR tool_calls IS NULL OR NOT json_valid(tool_calls) THEN 0
                     WHEN json_type(tool_calls) = 'array' THEN json_array_length(tool_calls) ELSE 0 END), 0)
                 FROM every_message WHERE session_id = ?1 AND state = 0)
             WHERE id = ?1",
        )?
        .execute([id.as_str()])?;
    Ok(())
}
