//! Lists of sessions.
//!
//! A person sees conversations, not rows: what compression continued is shown once, as its newest session with the
//! beginning of the first; sub-agents and the program's own sessions are left out. Long prompts stand in the middle of a
//! row, and reading past one costs pages. So the order comes from indexes alone, rows are looked at one by one until the
//! list is full, and only those that are shown are read as a whole.

use crate::db::Db;
use crate::fault::DbResult;
use crate::lineage::{self, Link};
use crate::outline::{Outline, outlines};
use crate::row::{decode_content, text_at};
use crate::session;
use hermes_types::{Kinship, ListOrder, Moment, Session, SessionFilter, SessionId, SessionSummary, preview};
use rusqlite::OptionalExtension;
use std::collections::{HashMap, HashSet};

/// The program's own sessions.
const TOOL: &str = "tool";

pub(crate) fn list(
    db: &Db,
    filter: &SessionFilter,
    order: ListOrder,
    limit: usize,
    offset: usize,
) -> DbResult<Vec<SessionSummary>> {
    let (mut shown, mut skipped, mut list) = (HashSet::new(), 0, Vec::new());
    for row in in_order(db, order)? {
        if list.len() == limit {
            break;
        }
        let Some(outline) = outlines(db, "rowid = ?1", &[&row])?.pop() else { continue };
        let face = if filter.all { Some(Face::plain(outline)) } else { Face::of(db, outline, order)? };
        let Some(face) = face.filter(|face| face.is_meant(filter)) else { continue };
        if !shown.insert(face.outline.link.id.clone()) {
            continue;
        }
        if skipped < offset {
            skipped += 1;
        } else {
            list.extend(face.summary(db)?);
        }
    }
    Ok(list)
}

/// The rows of all sessions, newest first.
fn in_order(db: &Db, order: ListOrder) -> DbResult<Vec<i64>> {
    let mut started: Vec<(i64, f64)> = pairs(db, "SELECT rowid, CAST(started_at AS REAL) FROM sessions")?;
    if order == ListOrder::LastActive {
        let active: HashMap<i64, f64> = pairs(
            db,
            "SELECT rowid, (SELECT CAST(timestamp AS REAL) FROM messages m WHERE m.session_id = s.id
                 ORDER BY timestamp DESC LIMIT 1) FROM sessions s",
        )?
        .into_iter()
        .collect();
        for (row, time) in &mut started {
            *time = active.get(row).copied().unwrap_or(*time);
        }
    }
    started.sort_by(|(row, time), (other, later)| later.total_cmp(time).then(other.cmp(row)));
    Ok(started.into_iter().map(|(row, _)| row).collect())
}

/// Rows with a time; those without one are left out.
fn pairs(db: &Db, sql: &str) -> DbResult<Vec<(i64, f64)>> {
    let mut statement = db.connection.prepare_cached(sql)?;
    let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get::<_, Option<f64>>(1)?)))?;
    let rows: Vec<(i64, Option<f64>)> = rows.collect::<Result<_, _>>()?;
    Ok(rows.into_iter().filter_map(|(row, time)| Some((row, time?))).collect())
}

/// A conversation as a list shows it: the outline of its newest session, with the beginning of its first.
struct Face {
    outline: Outline,
    root: Option<SessionId>,
}

impl Face {
    fn plain(outline: Outline) -> Self {
        Self { outline, root: None }
    }

    /// The conversation a session belongs to; `None` when it is no conversation of a person, or is shown elsewhere.
    fn of(db: &Db, outline: Outline, order: ListOrder) -> DbResult<Option<Self>> {
        let parent = lineage::parent_of(db, &outline.link)?;
        match (outline.link.kinship(parent.as_ref()), order) {
            (Kinship::Root | Kinship::Branch, _) => Self::of_root(db, outline).map(Some),
            // By activity, whichever session of a conversation comes first speaks for all of it.
            (Kinship::Continuation, ListOrder::LastActive) => {
                let Some(root) = lineage::continued(db, &outline.link.id)?.pop() else { return Ok(None) };
                let Some(root) = outline_of(db, &root)? else { return Ok(None) };
                let parent = lineage::parent_of(db, &root.link)?;
                match root.link.kinship(parent.as_ref()) {
                    Kinship::Root | Kinship::Branch => Self::of_root(db, root).map(Some),
                    // A sub-agent that was compressed; or a circle, which has no beginning.
                    Kinship::Delegate | Kinship::Continuation => Ok(None),
                }
            }
            (Kinship::Continuation | Kinship::Delegate, _) => Ok(None),
        }
    }

    fn of_root(db: &Db, root: Outline) -> DbResult<Self> {
        let tip = lineage::tip(db, &root.link.id)?;
        if tip == root.link.id {
            return Ok(Self::plain(root));
        }
        let Some(mut tip) = outline_of(db, &tip)? else { return Ok(Self::plain(root)) };
        tip.link.started_at = root.link.started_at;
        tip.archived |= root.archived;
        Ok(Self { outline: tip, root: Some(root.link.id) })
    }

    fn is_meant(&self, filter: &SessionFilter) -> bool {
        let of_tools = self.outline.link.source == TOOL && !filter.sources.iter().any(|source| source == TOOL);
        let hidden = self.outline.archived || of_tools;
        (filter.all || !hidden) && self.outline.is_meant(filter)
    }

    fn summary(self, db: &Db) -> DbResult<Option<SessionSummary>> {
        let Link { id, started_at, .. } = self.outline.link;
        let Some(session) = session::get(db, &id)? else { return Ok(None) };
        Ok(Some(SessionSummary {
            // What the conversation began with, not the summary it goes on from.
            preview: first_question(db, self.root.as_ref().unwrap_or(&id))?,
            last_active: latest_message(db, &id)?.unwrap_or(session.started_at),
            session: Session { started_at, ..session },
            root: self.root,
        }))
    }
}

fn outline_of(db: &Db, id: &SessionId) -> DbResult<Option<Outline>> {
    Ok(outlines(db, "id = ?1", &[&id.as_str()])?.pop())
}

/// The beginning of the first thing the person said and did not take back.
pub(crate) fn first_question(db: &Db, id: &SessionId) -> DbResult<String> {
    // By time, because that is the index; the first user message is found after one or two rows.
    let mut statement = db.connection.prepare_cached(
        "SELECT content FROM every_message WHERE session_id = ?1 AND role = 'user' AND state < 2
         ORDER BY timestamp, id LIMIT 1",
    )?;
    let mut rows = statement.query([id.as_str()])?;
    let Some(row) = rows.next()? else { return Ok(String::new()) };
    Ok(text_at(row, 0)?.map(|stored| preview(&decode_content(stored).text())).unwrap_or_default())
}

pub(crate) fn latest_message(db: &Db, id: &SessionId) -> DbResult<Option<Moment>> {
    let latest = db
        .connection
        .prepare_cached(
            "SELECT CAST(timestamp AS REAL) FROM messages WHERE session_id = ?1 ORDER BY timestamp DESC LIMIT 1",
        )?
        .query_row([id.as_str()], |row| row.get(0))
        .optional()?;
    Ok(latest.map(Moment::from_seconds))
}
