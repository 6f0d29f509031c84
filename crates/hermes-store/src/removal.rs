//! Conversations that go, and everything that is only about them. What was spent stays spent: `hermes_calls` is left
//! alone.
//!
//! A conversation is a session with all that compression continued it in. It goes as a whole: a link that stayed behind
//! would be half a conversation that nobody asked for. What other people's ways started from it become roots.

use crate::db::Db;
use crate::fault::DbResult;
use crate::lineage::{self, Link};
use crate::oblivion;
use crate::outline::{Outline, outlines};
use crate::search::grams;
use crate::{listing, session, turns};
use hermes_types::{Kinship, Moment, Pruned, SessionFilter, SessionId};
use std::collections::HashMap;

/// Tables whose rows are about a session and worth nothing without it.
const BESIDE: [&str; 5] = ["hermes_effects", "hermes_turns", "hermes_compressions", "hermes_exchanges", "hermes_rests"];
/// A session that never ended may still be in use when something was said in it within this time.
const STILL_WARM: f64 = 86_400.0;

/// Removes the conversation a session belongs to, with its sub-agents; `false` when there is none.
pub(crate) fn delete(db: &Db, id: &SessionId) -> DbResult<bool> {
    if !session::is_known(db, id)? {
        return Ok(false);
    }
    let root = lineage::continued(db, id)?.pop().unwrap_or_else(|| id.clone());
    remove(db, &with_delegates(db, &root)?)?;
    Ok(true)
}

/// A conversation from its first session on, and the sub-agents that are marked as its own, theirs, and so on.
pub(crate) fn with_delegates(db: &Db, root: &SessionId) -> DbResult<Vec<SessionId>> {
    let mut all = vec![root.clone()];
    let mut open: Vec<Link> = lineage::link(db, root)?.into_iter().collect();
    while let Some(parent) = open.pop() {
        for child in lineage::children(db, &parent.id)? {
            let goes_on = child.kinship(Some(&parent)) == Kinship::Continuation;
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

pub(crate) fn prune(db: &Db, filter: &SessionFilter, now: Moment) -> DbResult<Pruned> {
    let pruned = prunable(db, filter, now)?;
    if !pruned.sessions.is_empty() {
        remove(db, &pruned.sessions)?;
    }
    Ok(pruned)
}

/// The sessions of conversations that have ended and match, those that began first at the beginning.
pub(crate) fn prunable(db: &Db, filter: &SessionFilter, now: Moment) -> DbResult<Pruned> {
    let mut count = db.connection.prepare_cached("SELECT count(*) FROM messages WHERE session_id = ?1")?;
    let mut pruned = Pruned::default();
    for conversation in conversations(outlines(db, "1 ORDER BY started_at, id", &[])?) {
        if goes(db, &conversation, filter, now)? {
            for Outline { link, .. } in conversation {
                pruned.messages += count.query_row([link.id.as_str()], |row| row.get::<_, u64>(0))?;
                pruned.sessions.push(link.id);
            }
        }
    }
    Ok(pruned)
}

/// Sessions in the order they were given, each followed by what compression continued it in. A circle has no first
/// session: its members stand alone.
fn conversations(sessions: Vec<Outline>) -> Vec<Vec<Outline>> {
    let links: HashMap<SessionId, Link> =
        sessions.iter().map(|session| (session.link.id.clone(), session.link.clone())).collect();
    let continues = |link: &Link| {
        let parent = link.parent.as_ref().and_then(|parent| links.get(parent))?;
        (link.kinship(Some(parent)) == Kinship::Continuation).then_some(parent)
    };
    let first_of = |link: &Link| {
        let mut first = link;
        for _ in 0..=links.len().min(lineage::LONGEST) {
            match continues(first) {
                Some(parent) => first = parent,
                None => return first.id.clone(),
            }
        }
        link.id.clone()
    };
    let mut places: HashMap<SessionId, usize> = HashMap::new();
    let mut all: Vec<Vec<Outline>> = Vec::new();
    for session in sessions {
        let place = *places.entry(first_of(&session.link)).or_insert(all.len());
        match all.get_mut(place) {
            Some(conversation) => conversation.push(session),
            None => all.push(vec![session]),
        }
    }
    all
}

/// Whether a conversation is meant and over: every link has ended, or was abandoned where those count too. What the
/// person archived is kept unless everything is meant.
fn goes(db: &Db, conversation: &[Outline], filter: &SessionFilter, now: Moment) -> DbResult<bool> {
    let archived = conversation.iter().any(|session| session.archived);
    // As lists show it: its newest session, with the beginning of the first.
    let (Some(first), Some(newest)) = (conversation.first(), conversation.last()) else { return Ok(false) };
    let mut face = newest.clone();
    face.link.started_at = first.link.started_at;
    if (archived && !filter.all) || !face.is_meant(filter) {
        return Ok(false);
    }
    let mut last_active = f64::NEG_INFINITY;
    for Outline { link, .. } in conversation {
        let latest = listing::latest_message(db, &link.id)?.map_or(f64::NEG_INFINITY, |latest| latest.seconds());
        last_active = last_active.max(link.started_at.seconds()).max(latest);
    }
    let is_old = filter.started_before.is_none_or(|cut| last_active < cut.seconds());
    let has_ended = conversation.iter().all(|session| session.link.has_ended());
    let is_abandoned = filter.abandoned_too && last_active <= now.seconds() - STILL_WARM;
    Ok(is_old && (has_ended || is_abandoned))
}

fn remove(db: &Db, sessions: &[SessionId]) -> DbResult<()> {
    oblivion::for_good(db, || {
        // First of all every tie is cut: parents may go before their children then, and children that stay become roots.
        let mut orphan = db
            .connection
            .prepare_cached("UPDATE sessions SET parent_session_id = NULL WHERE parent_session_id = ?1")?;
        for id in sessions {
            orphan.execute([id.as_str()])?;
        }
        let mut messages = 0;
        for id in sessions {
            grams::forget(db, id)?;
            messages += delete_from(db, "messages", id)?;
            for table in BESIDE {
                delete_from(db, table, id)?;
            }
            turns::forget(db, id)?;
            db.connection.prepare_cached("DELETE FROM sessions WHERE id = ?1")?.execute([id.as_str()])?;
        }
        Ok(messages)
    })?;
    Ok(())
}

pub(crate) fn delete_from(db: &Db, table: &str, session: &SessionId) -> DbResult<u64> {
    let sql = format!("DELETE FROM {table} WHERE session_id = ?1");
    let removed = db.connection.prepare_cached(&sql)?.execute([session.as_str()])?;
    Ok(u64::try_from(removed).unwrap_or_default())
}
