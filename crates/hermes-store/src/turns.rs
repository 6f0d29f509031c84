//! Which program is in the middle of a turn of a session.
//!
//! A turn that ends lets go; one that was killed leaves a name behind that nobody answers to, and the next program takes
//! over. Another program that lives is respected: two at once would answer each other's calls.

use crate::db::Db;
use crate::fault::DbResult;
use crate::health::process::Process;
use crate::session;
use hermes_core::store::StoreError;
use hermes_types::{MessageId, SessionId};
use rusqlite::OptionalExtension;

pub(crate) fn take(db: &Db, id: &SessionId) -> DbResult<Option<MessageId>> {
    session::exists(db, id)?;
    let this = Process::this();
    let holder: Option<String> = db
        .connection
        .prepare_cached("SELECT value FROM hermes_meta WHERE key = ?1")?
        .query_row([key(id)], |row| row.get(0))
        .optional()?;
    if let Some(other) = holder.as_deref().and_then(read).filter(|other| *other != this && other.is_alive()) {
        return Err(StoreError::Taken { session: id.clone(), process: other.pid }.into());
    }
    db.connection
        .prepare_cached("INSERT OR REPLACE INTO hermes_meta(key, value) VALUES(?1, ?2)")?
        .execute((key(id), written(&this)))?;
    let newest: Option<i64> = db
        .connection
        .prepare_cached("SELECT max(id) FROM every_message WHERE session_id = ?1 AND state = 0")?
        .query_row([id.as_str()], |row| row.get(0))?;
    Ok(newest.map(MessageId))
}

pub(crate) fn let_go(db: &Db, id: &SessionId) -> DbResult<()> {
    db.connection
        .prepare_cached("DELETE FROM hermes_meta WHERE key = ?1 AND value = ?2")?
        .execute((key(id), written(&Process::this())))?;
    Ok(())
}

fn key(id: &SessionId) -> String {
    format!("turn:{id}")
}

fn written(process: &Process) -> String {
    format!("{} {}", process.pid, process.born)
}

fn read(text: &str) -> Option<Process> {
    let (pid, born) = text.split_once(' ')?;
    Some(Process { pid: pid.parse().ok()?, born: born.to_owned() })
}
