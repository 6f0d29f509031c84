//! Lists of sessions.
//!
//! A person sees conversations, not rows: what compression continued is shown once, as its newest session with the
//! beginning of the first; sub-agents and the program's own sessions are left out. Long prompts stand in the middle of a
//! row, and reading past one costs pages. So the order comes from indexes alone, and only rows that are about to be shown
//! are read.

use crate::db::Db;
use crate::fault::DbResult;
use crate::lineage::{self, Link};
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
        let Some(session) = session::one(db, "rowid = ?1", &[&row])? else { continue };
        let shows = if filter.all { Some(Face::plain(session)) } else { Face::of(db, session, order)? };
        let Some(face) = shows.filter(|face| face.is_wanted(filter)) else { continue };
        if !shown.insert(face.session.id.clone()) {
            continue;
        }
        if skipped < offset {
            skipped += 1;
        } else {
            list.push(face.summary(db)?);
        }
    }
    Ok(list)
}

/// The rows of all sessions, newest first.
fn in_order(db: &Db, order: ListOrder) -> DbResult<Vec<i64>> {
    let mut started: Vec<(i64, f64)> = pairs(db, "SELECT rowid, started_at FROM sessions")?;
    if order == ListOrder::LastActive {
        let active: HashMap<i64, f64> = pairs(
            db,
            "SELECT rowid, (SELECT timestamp FROM messages m WHERE m.session_id = s.id ORDER BY timestamp DESC LIMIT 1)
             FROM sessions s",
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

/// A conversation as a list shows it.
struct Face {
    session: Session,
    /// When the shown session itself began, which counts as activity.
    began: Moment,
    root: Option<SessionId>,
    archived: bool,
}

impl Face {
    fn plain(session: Session) -> Self {
        Self { began: session.started_at, archived: is_archived(&session), session, root: None }
    }

    /// The conversation a session belongs to; `None` when it is no conversation of a person, or is shown elsewhere.
    fn of(db: &Db, session: Session, order: ListOrder) -> DbResult<Option<Self>> {
        let link = Link::from(&session);
        let parent = lineage::parent_of(db, &link)?;
        match (link.kinship(parent.as_ref()), order) {
            (Kinship::Root | Kinship::Branch, _) => Self::of_root(db, session).map(Some),
            // By activity, whichever session of a conversation comes first speaks for all of it.
            (Kinship::Continuation, ListOrder::LastActive) => {
                let Some(root) = lineage::continued(db, &session.id)?.pop() else { return Ok(None) };
                match session::get(db, &root)? {
                    Some(root) if !is_delegate(db, &root)? => Self::of_root(db, root).map(Some),
                    _ => Ok(None),
                }
            }
            (Kinship::Continuation | Kinship::Delegate, _) => Ok(None),
        }
    }

    fn of_root(db: &Db, root: Session) -> DbResult<Self> {
        let tip = lineage::tip(db, &root.id)?;
        let face = Self::plain(root);
        if tip == face.session.id {
            return Ok(face);
        }
        let Some(tip) = session::get(db, &tip)? else { return Ok(face) };
        Ok(Self {
            began: tip.started_at,
            archived: face.archived || is_archived(&tip),
            session: Session { started_at: face.session.started_at, ..tip },
            root: Some(face.session.id),
        })
    }

    fn is_wanted(&self, filter: &SessionFilter) -> bool {
        let hidden = self.archived || (self.session.source == TOOL && !filter.sources.iter().any(|one| one == TOOL));
        (filter.all || !hidden) && admits(filter, &self.session)
    }

    fn summary(self, db: &Db) -> DbResult<SessionSummary> {
        let id = &self.session.id;
        Ok(SessionSummary {
            preview: first_question(db, id)?,
            last_active: latest_message(db, id)?.unwrap_or(self.began),
            session: self.session,
            root: self.root,
        })
    }
}

fn is_delegate(db: &Db, session: &Session) -> DbResult<bool> {
    let link = Link::from(session);
    let parent = lineage::parent_of(db, &link)?;
    Ok(link.kinship(parent.as_ref()) == Kinship::Delegate)
}

/// Put away by the person, in files that have a place for that.
pub(crate) fn is_archived(session: &Session) -> bool {
    session.extra.get("archived").and_then(serde_json::Value::as_i64).is_some_and(|archived| archived != 0)
}

/// Whether everything a filter asks for holds. Of a directory nothing is below where directories are not known.
pub(crate) fn admits(filter: &SessionFilter, session: &Session) -> bool {
    let named = |names: &[String]| names.contains(&session.source);
    let holds =
        |text: Option<&str>, part: &str| text.is_some_and(|text| text.to_lowercase().contains(&part.to_lowercase()));
    let started = session.started_at;
    (filter.sources.is_empty() || named(&filter.sources))
        && !named(&filter.exclude_sources)
        && filter.started_before.is_none_or(|before| started < before)
        && filter.started_after.is_none_or(|after| started >= after)
        && filter.title.as_ref().is_none_or(|part| holds(session.title.as_deref(), part))
        && filter.model.as_ref().is_none_or(|part| holds(session.model.as_deref(), part))
        && filter
            .end_reason
            .as_ref()
            .is_none_or(|reason| session.end_reason.as_ref().is_some_and(|known| known.as_str() == reason))
        && filter.min_messages.is_none_or(|least| session.message_count >= least)
        && filter.max_messages.is_none_or(|most| session.message_count <= most)
        && filter.cwd.as_ref().is_none_or(|folder| {
            session.extra.get("cwd").and_then(serde_json::Value::as_str).is_some_and(|cwd| is_below(cwd, folder))
        })
}

fn is_below(path: &str, folder: &str) -> bool {
    let separators = ['/', '\\'];
    let folder = folder.trim_end_matches(separators);
    path.strip_prefix(folder).is_some_and(|rest| rest.is_empty() || rest.starts_with(separators))
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
        .prepare_cached("SELECT timestamp FROM messages WHERE session_id = ?1 ORDER BY timestamp DESC LIMIT 1")?
        .query_row([id.as_str()], |row| row.get(0))
        .optional()?;
    Ok(latest.map(Moment::from_seconds))
}
