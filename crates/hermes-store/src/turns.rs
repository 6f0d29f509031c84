//! Which program is in the middle of a turn of a session.
//!
//! A turn that ends lets go; one that was killed leaves a name behind that nobody answers to, and the next program takes
//! over. Another program that lives is respected: two at once would answer each other's calls.

use crate::db::Db;
use crate::fault::DbResult;
use crate::health::process::Process;
use crate::lineage;
use hermes_core::store::StoreError;
use hermes_types::{MessageId, SessionId};
use rusqlite::OptionalExtension;

pub(crate) fn take(db: &Db, id: &SessionId) -> DbResult<Option<MessageId>> {
    lineage::refuse_continued(db, id)?;
    refuse_taken(db, id)?;
    db.connection
        .prepare_cached("INSERT OR REPLACE INTO hermes_meta(key, value) VALUES(?1, ?2)")?
        .execute((key(id), written(&Process::this())))?;
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

/// Nobody will ask for the session any more.
pub(crate) fn forget(db: &Db, id: &SessionId) -> DbResult<()> {
    db.connection.prepare_cached("DELETE FROM hermes_meta WHERE key = ?1")?.execute([key(id)])?;
    Ok(())
}

/// Refuses when another program that lives is in the middle of a turn.
pub(crate) fn refuse_taken(db: &Db, id: &SessionId) -> DbResult<()> {
    let holder: Option<String> = db
        .connection
        .prepare_cached("SELECT value FROM hermes_meta WHERE key = ?1")?
        .query_row([key(id)], |row| row.get(0))
        .optional()?;
    let this = Process::this();
    match holder.as_deref().and_then(read).filter(|other| *other != this && other.is_alive()) {
        Some(other) => Err(StoreError::Taken { session: id.clone(), process: other.pid }.into()),
        None => Ok(()),
    }
}

/// The turn of one session goes on as the turn of another.
pub(crate) fn hand_over(db: &Db, from: &SessionId, to: &SessionId) -> DbResult<()> {
    db.connection
        .prepare_cached("UPDATE OR REPLACE hermes_meta SET key = ?2 WHERE key = ?1")?
        .execute((key(from), key(to)))?;
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::db::Access;
    use crate::patience::Patience;
    use crate::session;
    use hermes_types::{Message, Moment, NewSession};

    #[test]
    fn another_program_is_respected_as_long_as_it_lives() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("state.db");
        let db = Db::open(&path, Access::Write, &Patience::default()).expect("a file");
        let id = SessionId::new("20260102_030405_5ce4e0");
        let taken = || take(&db, &id).map_err(|error| error.told(&path));
        assert_eq!(taken(), Err(StoreError::NoSession(id.to_string())));
        session::create(&db, &NewSession::new(id.clone(), "cli"), Moment::from_seconds(0.0)).expect("a session");
        assert_eq!((taken(), taken()), (Ok(None), Ok(None)), "taking twice is taking once");

        let mut other = std::process::Command::new("sleep").arg("60").spawn().expect("another program");
        let name = written(&Process::of(other.id()));
        db.connection.execute("UPDATE hermes_meta SET value = ?2 WHERE key = ?1", (key(&id), name)).expect("theirs");
        let refused = Err(StoreError::Taken { session: id.clone(), process: other.id() });
        assert_eq!(taken(), refused);
        let_go(&db, &id).expect("nothing of ours");
        assert_eq!(taken(), refused, "only the holder lets go");

        other.kill().and_then(|()| other.wait()).expect("killed");
        let said = crate::row::insert(&db, &id, &Message::user("hi").into(), Moment::from_seconds(1.0)).expect("said");
        assert_eq!(taken(), Ok(Some(said)), "nobody answers to the name that is left");
        let_go(&db, &id).expect("let go");
        let left: i64 = db
            .connection
            .query_row("SELECT count(*) FROM hermes_meta WHERE key = ?1", [key(&id)], |row| row.get(0))
            .expect("a count");
        assert_eq!(left, 0);
    }
}
