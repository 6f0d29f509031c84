//! A conversation tried another way: its live messages in a new session. The old one stays as it is.

use crate::db::Db;
use crate::fault::DbResult;
use crate::lineage::{BRANCHED_FROM, DELEGATED_FROM};
use crate::{session, titles, transcript};
use hermes_core::store::StoreError;
use hermes_types::{MessageId, Moment, NewSession, Session, SessionId};

pub(crate) fn branch(db: &Db, from: &SessionId, new: NewSession, upto: Option<MessageId>, now: Moment) -> DbResult<()> {
    if new.id == *from {
        return Err(StoreError::Circle(new.id).into());
    }
    let source = session::get(db, from)?.ok_or_else(|| StoreError::NoSession(from.to_string()))?;
    if session::is_known(db, &new.id)? {
        return Err(StoreError::Exists(new.id).into());
    }
    let messages = live_messages(db, from, upto)?;
    let title = source.title.clone();
    let mut new = inherit(new, source);
    new.model_config.get_or_insert_default().insert(BRANCHED_FROM.into(), from.as_str().into());
    session::create(db, &new, now)?;
    for message in messages {
        copy(db, message, &new.id)?;
    }
    transcript::recount(db, &new.id)?;
    titles::pass_on(db, title.as_deref(), &new.id)
}

/// What the new session was not given it has from the old one: the same model and prompt keep a prompt cache warm. Why
/// the old one had a parent is no fact about the new one.
pub(crate) fn inherit(new: NewSession, source: Session) -> NewSession {
    let cwd = new.cwd.or_else(|| source.cwd().map(str::to_owned));
    let mut config = new.model_config.or(source.model_config).unwrap_or_default();
    config.shift_remove(DELEGATED_FROM);
    config.shift_remove(BRANCHED_FROM);
    // The directory of the old session does not stand in the way of another one.
    if let (Some(held), Some(cwd)) = (config.get_mut("cwd"), &cwd) {
        *held = cwd.as_str().into();
    }
    NewSession {
        user_id: new.user_id.or(source.user_id),
        model: new.model.or(source.model),
        system_prompt: new.system_prompt.or(source.system_prompt),
        cwd,
        model_config: (!config.is_empty()).then_some(config),
        parent: Some(source.id),
        ..new
    }
}

fn live_messages(db: &Db, id: &SessionId, upto: Option<MessageId>) -> DbResult<Vec<MessageId>> {
    let mut statement = db
        .connection
        .prepare_cached("SELECT id FROM every_message WHERE session_id = ?1 AND state = 0 AND id <= ?2 ORDER BY id")?;
    let last = upto.map_or(i64::MAX, |message| message.0);
    let found = statement.query_map((id.as_str(), last), |row| row.get(0).map(MessageId))?;
    let messages: Vec<MessageId> = found.collect::<Result<_, _>>()?;
    match upto {
        Some(message) if messages.last() != Some(&message) => {
            Err(StoreError::NoMessage { session: id.clone(), message }.into())
        }
        _ => Ok(messages),
    }
}

/// Row by row and column by column, so that what other programs keep in a message comes along.
fn copy(db: &Db, message: MessageId, to: &SessionId) -> DbResult<()> {
    let columns = db.shape.messages.iter().filter(|name| !matches!(name.as_str(), "id" | "session_id"));
    let columns: Vec<String> = columns.map(|name| format!("\"{}\"", name.replace('"', "\"\""))).collect();
    let columns = columns.join(", ");
    db.connection
        .prepare_cached(&format!(
            "INSERT INTO messages(session_id, {columns}) SELECT ?2, {columns} FROM messages WHERE id = ?1"
        ))?
        .execute((message.0, to.as_str()))?;
    db.connection
        .prepare_cached(
            "INSERT INTO hermes_message_extra(message_id, state, sent, fields)
             SELECT ?2, state, sent, fields FROM hermes_message_extra WHERE message_id = ?1",
        )?
        .execute((message.0, db.connection.last_insert_rowid()))?;
    Ok(())
}
