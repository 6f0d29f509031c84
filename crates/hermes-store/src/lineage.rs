//! How sessions descend from each other.
//!
//! A parent is a fact of the row; why a session has one ([`Kinship`]) follows from marks in its configuration and from
//! how the parent ended. Other programs write these rows too, so nothing here trusts them: a parent that is gone counts
//! as none, and a circle ends every walk instead of prolonging it.

use crate::db::Db;
use crate::fault::DbResult;
use crate::listing;
use crate::row::{from_json, text_at, texts};
use hermes_core::store::StoreError;
use hermes_types::{EndReason, Kinship, Moment, Object, Relative, SessionId};
use rusqlite::{Row, ToSql};
use std::collections::{HashMap, HashSet};

/// The longest chain of continuations that is followed.
pub(crate) const LONGEST: usize = 100;
/// The marks in `model_config`.
pub(crate) const BRANCHED_FROM: &str = "_branched_from";
pub(crate) const DELEGATED_FROM: &str = "_delegate_from";
/// Sessions of these sources are never the conversation of a person, whatever their marks.
const OF_TOOLS: [&str; 2] = ["tool", "subagent"];

/// What decides over the descent of a session.
#[derive(Debug, Clone)]
pub(crate) struct Link {
    pub(crate) id: SessionId,
    pub(crate) parent: Option<SessionId>,
    pub(crate) source: String,
    mark: Option<Mark>,
    pub(crate) started_at: Moment,
    ended_at: Option<Moment>,
    pub(crate) end_reason: Option<EndReason>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mark {
    Branch,
    Delegate,
}

impl Mark {
    /// A session that was branched off a sub-agent is the person's own.
    fn of(config: Option<&Object>) -> Option<Self> {
        let has = |key: &str| config.and_then(|config| config.get(key)).is_some_and(|value| !value.is_null());
        if has(BRANCHED_FROM) { Some(Self::Branch) } else { has(DELEGATED_FROM).then_some(Self::Delegate) }
    }
}

impl Link {
    pub(crate) const COLUMNS: &str = "id, parent_session_id, source, model_config, CAST(started_at AS REAL), \
        CAST(ended_at AS REAL), end_reason";
    /// As many columns [`read`](Self::read) takes from the beginning of a row.
    pub(crate) const WIDTH: usize = 7;

    pub(crate) fn read(row: &Row<'_>) -> DbResult<Self> {
        let config: Option<Object> = text_at(row, 3)?.and_then(|text| from_json(&text));
        Ok(Self {
            id: SessionId::new(text_at(row, 0)?.unwrap_or_default()),
            parent: text_at(row, 1)?.map(SessionId::new),
            source: text_at(row, 2)?.unwrap_or_default(),
            mark: Mark::of(config.as_ref()),
            started_at: Moment::from_seconds(row.get(4)?),
            ended_at: row.get::<_, Option<f64>>(5)?.map(Moment::from_seconds),
            end_reason: text_at(row, 6)?.map(EndReason::new),
        })
    }

    pub(crate) fn has_ended(&self) -> bool {
        self.ended_at.is_some()
    }

    pub(crate) fn was_compressed(&self) -> bool {
        self.end_reason == Some(EndReason::COMPRESSION)
    }

    /// Begun by the program for itself, and marked so.
    pub(crate) fn is_marked_delegate(&self) -> bool {
        self.mark == Some(Mark::Delegate)
    }

    /// Why this session has its parent. A sub-agent stays one when its parent is gone. A child without marks under a
    /// parent that just ended is a sub-agent of the time before there were marks.
    pub(crate) fn kinship(&self, parent: Option<&Self>) -> Kinship {
        if self.is_marked_delegate() {
            return Kinship::Delegate;
        }
        let Some(parent) = parent else { return Kinship::Root };
        if self.mark == Some(Mark::Branch) {
            return Kinship::Branch;
        }
        // What continues a session of the program is one too, so that their sources are the same.
        if OF_TOOLS.contains(&self.source.as_str()) && !(parent.was_compressed() && parent.source == self.source) {
            return Kinship::Delegate;
        }
        let began_after = parent.ended_at.is_none_or(|ended| self.started_at >= ended);
        match parent.end_reason.as_ref().map(EndReason::as_str) {
            Some("compression") => Kinship::Continuation,
            Some("branched") if began_after => Kinship::Branch,
            _ => Kinship::Delegate,
        }
    }
}

/// The links a condition on `sessions` holds for.
fn links(db: &Db, condition: &str, values: &[&dyn ToSql]) -> DbResult<Vec<Link>> {
    let sql = format!("SELECT {} FROM sessions WHERE {condition}", Link::COLUMNS);
    let mut statement = db.connection.prepare_cached(&sql)?;
    let mut rows = statement.query(values)?;
    let mut links = Vec::new();
    while let Some(row) = rows.next()? {
        links.push(Link::read(row)?);
    }
    Ok(links)
}

pub(crate) fn link(db: &Db, id: &SessionId) -> DbResult<Option<Link>> {
    Ok(links(db, "id = ?1", &[&id.as_str()])?.pop())
}

pub(crate) fn children(db: &Db, id: &SessionId) -> DbResult<Vec<Link>> {
    links(db, "parent_session_id = ?1", &[&id.as_str()])
}

/// The parent, where there is one and it still exists.
pub(crate) fn parent_of(db: &Db, of: &Link) -> DbResult<Option<Link>> {
    match &of.parent {
        Some(parent) => link(db, parent),
        None => Ok(None),
    }
}

/// A session and those it continues, youngest first: up to the session the person began, branched or delegated.
pub(crate) fn continued(db: &Db, id: &SessionId) -> DbResult<Vec<SessionId>> {
    let mut chain = vec![id.clone()];
    let mut current = link(db, id)?;
    while let Some(here) = current
        && chain.len() < LONGEST
    {
        let parent = parent_of(db, &here)?;
        current =
            parent.filter(|parent| here.kinship(Some(parent)) == Kinship::Continuation && !chain.contains(&parent.id));
        chain.extend(current.as_ref().map(|parent| parent.id.clone()));
    }
    Ok(chain)
}

/// Where compression went on: of the continuations the one that was compressed itself, else one that is still open,
/// else the one with the latest message.
pub(crate) fn tip(db: &Db, id: &SessionId) -> DbResult<SessionId> {
    let mut seen = vec![id.clone()];
    let mut current = link(db, id)?;
    while let Some(here) = current
        && here.was_compressed()
        && seen.len() <= LONGEST
    {
        let mut best: Option<(_, Link)> = None;
        for child in children(db, &here.id)? {
            if child.kinship(Some(&here)) != Kinship::Continuation || seen.contains(&child.id) {
                continue;
            }
            let latest = listing::latest_message(db, &child.id)?;
            let rank = (child.was_compressed(), child.ended_at.is_none(), latest, child.started_at);
            if best.as_ref().is_none_or(|(top, _)| rank > *top) {
                best = Some((rank, child));
            }
        }
        current = best.map(|(_, child)| child);
        seen.extend(current.as_ref().map(|child| child.id.clone()));
    }
    Ok(seen.pop().unwrap_or_else(|| id.clone()))
}

/// Refuses when there is no such session, or when compression continued it elsewhere.
pub(crate) fn refuse_continued(db: &Db, id: &SessionId) -> DbResult<()> {
    let here = link(db, id)?.ok_or_else(|| StoreError::NoSession(id.to_string()))?;
    let next = if here.was_compressed() { tip(db, id)? } else { here.id };
    if next == *id { Ok(()) } else { Err(StoreError::GoesOn { session: id.clone(), next }.into()) }
}

/// Whether `id` is `ancestor` or descends from it.
pub(crate) fn descends(db: &Db, id: &SessionId, ancestor: &SessionId) -> DbResult<bool> {
    let found = db
        .connection
        .prepare_cached(
            // UNION drops what was seen before, so that a circle ends.
            "WITH RECURSIVE up(id) AS (
                 SELECT ?1 UNION SELECT s.parent_session_id FROM sessions s JOIN up ON s.id = up.id
                     WHERE s.parent_session_id IS NOT NULL)
             SELECT 1 FROM up WHERE id = ?2",
        )?
        .exists([id.as_str(), ancestor.as_str()])?;
    Ok(found)
}

/// The whole family: the first ancestor, each session followed by what descends from it, the older child first.
pub(crate) fn family(db: &Db, id: &SessionId) -> DbResult<Vec<Relative>> {
    let first = first_ancestor(db, id)?;
    let mut offspring: HashMap<SessionId, Vec<Link>> = HashMap::new();
    for member in descendants(db, &first.id)? {
        if let Some(parent) = member.parent.clone().filter(|_| member.id != first.id) {
            offspring.entry(parent).or_default().push(member);
        }
    }
    let mut family = Vec::new();
    let mut waiting: Vec<(Link, Option<Link>)> = vec![(first, None)];
    while let Some((member, parent)) = waiting.pop() {
        family.push(relative(db, &member, parent.as_ref())?);
        let mut children = offspring.remove(&member.id).unwrap_or_default();
        // The youngest goes onto the pile first, so that the oldest is taken first.
        children.sort_by(|a, b| b.started_at.seconds().total_cmp(&a.started_at.seconds()).then(b.id.cmp(&a.id)));
        waiting.extend(children.into_iter().map(|child| (child, Some(member.clone()))));
    }
    Ok(family)
}

/// The end of the way up. Where that is a circle, its oldest member is as good a beginning as any, and the same for all.
fn first_ancestor(db: &Db, id: &SessionId) -> DbResult<Link> {
    let mut here = link(db, id)?.ok_or_else(|| StoreError::NoSession(id.to_string()))?;
    let mut seen = HashSet::from([here.id.clone()]);
    while let Some(parent) = parent_of(db, &here)? {
        if !seen.insert(parent.id.clone()) {
            return oldest_of_circle(db, &parent);
        }
        here = parent;
    }
    Ok(here)
}

fn oldest_of_circle(db: &Db, entry: &Link) -> DbResult<Link> {
    let mut oldest = entry.clone();
    let mut here = entry.clone();
    while let Some(parent) = parent_of(db, &here)?.filter(|parent| parent.id != entry.id) {
        let order = parent.started_at.seconds().total_cmp(&oldest.started_at.seconds());
        if order.then_with(|| parent.id.cmp(&oldest.id)).is_lt() {
            oldest = parent.clone();
        }
        here = parent;
    }
    Ok(oldest)
}

fn descendants(db: &Db, first: &SessionId) -> DbResult<Vec<Link>> {
    let family = "id IN (WITH RECURSIVE down(id) AS (
                      SELECT ?1 UNION SELECT s.id FROM sessions s JOIN down ON s.parent_session_id = down.id)
                  SELECT id FROM down)";
    links(db, family, &[&first.as_str()])
}

fn relative(db: &Db, link: &Link, parent: Option<&Link>) -> DbResult<Relative> {
    let of_link: [&dyn ToSql; 1] = [&link.id.as_str()];
    let count = db
        .connection
        .prepare_cached("SELECT CAST(message_count AS INTEGER) FROM sessions WHERE id = ?1")?
        .query_row(of_link.as_slice(), |row| row.get::<_, Option<i64>>(0))?;
    Ok(Relative {
        id: link.id.clone(),
        parent: parent.map(|parent| parent.id.clone()),
        kinship: if parent.is_some() { link.kinship(parent) } else { Kinship::Root },
        title: texts(db, "SELECT title FROM sessions WHERE id = ?1", &of_link)?.pop(),
        preview: listing::first_question(db, &link.id)?,
        started_at: link.started_at,
        message_count: count.and_then(|count| u64::try_from(count).ok()).unwrap_or_default(),
    })
}
