//! Sessions that go, and everything that is only about them. What was spent stays spent: `hermes_calls` is left alone.

use crate::db::Db;
use crate::fault::DbResult;
use crate::lineage::{self, Link};
use crate::outline::outlines;
use crate::search::grams;
use crate::session;
use hermes_types::{Kinship, Pruned, SessionFilter, SessionId};

/// Tables whose rows are about a session and worth nothing without it.
const BESIDE: [&str; 3] = ["hermes_effects", "hermes_turns", "hermes_compressions"];

/// Removes a session with its sub-agents; `false` when there is none.
pub(crate) fn delete(db: &Db, id: &SessionId) -> DbResult<bool> {
    if !session::is_known(db, id)? {
        return Ok(false);
    }
    remove(db, &with_delegates(db, id)?)?;
    Ok(true)
}

/// A session and the sub-agents that are marked as its own, theirs, and so on, each with what compression continued it
/// in.
fn with_delegates(db: &Db, id: &SessionId) -> DbResult<Vec<SessionId>> {
    let mut all = vec![id.clone()];
    let mut open: Vec<Link> = lineage::link(db, id)?.into_iter().collect();
    while let Some(parent) = open.pop() {
        for child in lineage::children(db, &parent.id)? {
            let goes_on = parent.id != *id && child.kinship(Some(&parent)) == Kinship::Continuation;
            if (child.is_marked_delegate() || goes_on) && !all.contains(&child.id) {
                all.push(child.id.clone());
                open.push(child);
            }
        }
    }
    Ok(all)
}

/// Removes a session that is as empty as it began: no message, not even one that was taken back, no name, no child.
pub(crate) fn delete_if_empty(db: &Db, id: &SessionId) -> DbResult<bool> {
    let empty = db
        .connection
        .prepare_cached(
            "SELECT 1 FROM sessions s WHERE s.id = ?1 AND coalesce(s.title, '') = ''
                 AND NOT EXISTS (SELECT 1 FROM messages m WHERE m.session_id = s.id)
                 AND NOT EXISTS (SELECT 1 FROM sessions c WHERE c.parent_session_id = s.id)",
        )?
        .exists([id.as_str()])?;
    if empty {
        remove(db, std::slice::from_ref(id))?;
    }
    Ok(empty)
}

pub(crate) fn prune(db: &Db, filter: &SessionFilter) -> DbResult<Pruned> {
    let pruned = prunable(db, filter)?;
    remove(db, &pruned.sessions)?;
    Ok(pruned)
}

/// Sessions that have ended and match, oldest first. What the person archived is kept unless everything is meant.
pub(crate) fn prunable(db: &Db, filter: &SessionFilter) -> DbResult<Pruned> {
    let mut count = db.connection.prepare_cached("SELECT count(*) FROM messages WHERE session_id = ?1")?;
    let mut pruned = Pruned::default();
    for session in outlines(db, "ended_at IS NOT NULL ORDER BY started_at, id", &[])? {
        if session.is_meant(filter) && (filter.all || !session.archived) {
            let id = session.link.id;
            pruned.messages += count.query_row([id.as_str()], |row| row.get::<_, u64>(0))?;
            pruned.sessions.push(id);
        }
    }
    Ok(pruned)
}

fn remove(db: &Db, sessions: &[SessionId]) -> DbResult<()> {
    // First of all every tie is cut: parents may go before their children then, and children that stay become roots.
    let mut orphan =
        db.connection.prepare_cached("UPDATE sessions SET parent_session_id = NULL WHERE parent_session_id = ?1")?;
    for id in sessions {
        orphan.execute([id.as_str()])?;
    }
    for id in sessions {
        grams::forget(db, id)?;
        for table in ["messages"].iter().chain(&BESIDE) {
            db.connection
                .prepare_cached(&format!("DELETE FROM {table} WHERE session_id = ?1"))?
                .execute([id.as_str()])?;
        }
        db.connection.prepare_cached("DELETE FROM sessions WHERE id = ?1")?.execute([id.as_str()])?;
    }
    Ok(())
}
