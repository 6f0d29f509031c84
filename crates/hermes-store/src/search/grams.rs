//! The index of parts of words.

use crate::db::Db;
use crate::fault::DbResult;
use hermes_types::SessionId;
use rusqlite::Connection;

pub(crate) fn create(_connection: &Connection) -> DbResult<()> {
    Ok(())
}

pub(crate) fn exists(_connection: &Connection) -> DbResult<bool> {
    Ok(true)
}

/// Before the messages of a session are removed.
pub(crate) fn forget(_db: &Db, _session: &SessionId) -> DbResult<()> {
    Ok(())
}

/// Indexes the next messages; tells whether there are more.
pub(crate) fn catch_up(_db: &Db, _batch: usize) -> DbResult<bool> {
    Ok(false)
}

/// Empties a damaged index, to be filled again.
pub(crate) fn reset(_db: &Db) -> DbResult<()> {
    Ok(())
}
