//! How long no summary is asked for in a session, so that other programs do not try in vain either.
//!
//! The Python program has columns for it, which both programs honour; elsewhere it is in a table of our own. A file that
//! is raised meanwhile forgets it, which costs one more try.

use super::integer;
use crate::db::Db;
use crate::fault::DbResult;
use crate::schema::table_exists;
use crate::session;
use hermes_types::{Moment, SessionId, SummaryRest};
use rusqlite::{OptionalExtension, Row};

const UNTIL: &str = "compression_failure_cooldown_until";

pub(super) fn get(db: &Db, id: &SessionId) -> DbResult<SummaryRest> {
    session::exists(db, id)?;
    let sql = if db.shape.session_has(UNTIL) {
        "SELECT CAST(compression_failure_cooldown_until AS REAL), compression_fallback_streak, compression_failure_error
         FROM sessions WHERE id = ?1"
    } else if table_exists(&db.connection, "hermes_rests")? {
        "SELECT until, failures, reason FROM hermes_rests WHERE session_id = ?1"
    } else {
        return Ok(SummaryRest::default());
    };
    let rest = db.connection.prepare_cached(sql)?.query_row([id.as_str()], read).optional()?;
    Ok(rest.unwrap_or_default())
}

fn read(row: &Row<'_>) -> rusqlite::Result<SummaryRest> {
    let failures: Option<i64> = row.get(1)?;
    Ok(SummaryRest {
        until: row.get::<_, Option<f64>>(0)?.map(Moment::from_seconds),
        failures: failures.and_then(|failures| u64::try_from(failures).ok()).unwrap_or_default(),
        reason: row.get(2)?,
    })
}

pub(super) fn set(db: &Db, id: &SessionId, rest: &SummaryRest) -> DbResult<()> {
    session::exists(db, id)?;
    let sql = if db.shape.session_has(UNTIL) {
        "UPDATE sessions SET compression_failure_cooldown_until = ?2, compression_fallback_streak = ?3,
             compression_failure_error = ?4 WHERE id = ?1"
    } else {
        "INSERT OR REPLACE INTO hermes_rests(session_id, until, failures, reason) VALUES(?1, ?2, ?3, ?4)"
    };
    db.connection.prepare_cached(sql)?.execute((
        id.as_str(),
        rest.until.map(Moment::seconds),
        integer(rest.failures),
        &rest.reason,
    ))?;
    Ok(())
}

/// The conversation goes on in another session, and rests on there. Columns of the other program are not looked at here.
pub(crate) fn hand_over(db: &Db, from: &SessionId, to: &SessionId) -> DbResult<()> {
    db.connection
        .prepare_cached("UPDATE OR REPLACE hermes_rests SET session_id = ?2 WHERE session_id = ?1")?
        .execute((from.as_str(), to.as_str()))?;
    Ok(())
}
