//! Calls of tools that may change the world: written down before they run, so that a crash cannot hide them.

use crate::db::Db;
use crate::fault::DbResult;
use crate::row::text_at;
use crate::session;
use hermes_core::store::StoreError;
use hermes_types::{CallId, EffectRecord, EffectState, Moment, SessionId};
use rusqlite::Row;

/// A call id that a provider uses again begins anew.
pub(super) fn begin(db: &Db, effect: &EffectRecord) -> DbResult<()> {
    session::exists(db, &effect.session)?;
    db.connection
        .prepare_cached(
            "INSERT INTO hermes_effects(session_id, call_id, tool, state, started_at, ended_at)
             VALUES(?1, ?2, ?3, ?4, ?5, ?6)
             ON CONFLICT(session_id, call_id) DO UPDATE SET tool = excluded.tool, state = excluded.state,
                 started_at = excluded.started_at, ended_at = excluded.ended_at",
        )?
        .execute((
            effect.session.as_str(),
            effect.call.as_str(),
            &effect.tool,
            effect.state.as_str(),
            effect.started_at.seconds(),
            effect.ended_at.map(Moment::seconds),
        ))?;
    Ok(())
}

pub(super) fn end(db: &Db, session: &SessionId, call: &CallId, state: EffectState, at: Moment) -> DbResult<()> {
    let ended = db
        .connection
        .prepare_cached("UPDATE hermes_effects SET state = ?3, ended_at = ?4 WHERE session_id = ?1 AND call_id = ?2")?
        .execute((session.as_str(), call.as_str(), state.as_str(), at.seconds()))?;
    if ended == 0 {
        session::exists(db, session)?;
        let reason = format!("the call {} of session {session} ends without having begun", call.as_str());
        return Err(StoreError::Failed(reason).into());
    }
    Ok(())
}

pub(super) fn open(db: &Db, session: &SessionId) -> DbResult<Vec<EffectRecord>> {
    let mut statement = db.connection.prepare_cached(
        "SELECT call_id, tool, started_at, ended_at FROM hermes_effects WHERE session_id = ?1 AND state = ?2
         ORDER BY started_at, call_id",
    )?;
    let mut rows = statement.query((session.as_str(), EffectState::Begun.as_str()))?;
    let mut effects = Vec::new();
    while let Some(row) = rows.next()? {
        effects.push(read(row, session)?);
    }
    Ok(effects)
}

/// What one session has begun is another's to end.
pub(crate) fn hand_over(db: &Db, from: &SessionId, to: &SessionId) -> DbResult<()> {
    db.connection
        .prepare_cached("UPDATE hermes_effects SET session_id = ?2 WHERE session_id = ?1 AND state = ?3")?
        .execute((from.as_str(), to.as_str(), EffectState::Begun.as_str()))?;
    Ok(())
}

fn read(row: &Row<'_>, session: &SessionId) -> DbResult<EffectRecord> {
    Ok(EffectRecord {
        session: session.clone(),
        call: CallId::new(text_at(row, 0)?.unwrap_or_default()),
        tool: text_at(row, 1)?.unwrap_or_default(),
        started_at: Moment::from_seconds(row.get(2)?),
        ended_at: row.get::<_, Option<f64>>(3)?.map(Moment::from_seconds),
        state: EffectState::Begun,
    })
}
