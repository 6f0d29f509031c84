//! What went over the wire, kept so that a session can be replayed byte for byte.
//!
//! Requests of a conversation extend each other, so a body is kept as what it shares with the request before it on the
//! same way, and the rest: a session costs what its longest request costs, not the sum of all. Nothing is held in memory
//! for it between two requests; how the shared part is found is told in [`splice`]. Bodies are put together again by
//! going through a session from its beginning.

mod splice;

use crate::db::Db;
use crate::fault::DbResult;
use crate::row::{from_json, text_at, to_json};
use crate::schema::{column_names, table_exists};
use crate::session;
use crate::store::SqliteStore;
use bytes::Bytes;
use hermes_core::prefix;
use hermes_core::store::{Kept, StoreError, Tape};
use hermes_types::{Break, BreakCause, Exchange, Moment, Sent, SessionId};
use rusqlite::{Connection, Row};
pub(crate) use splice::Newest;
use splice::Splice;
use std::collections::HashMap;
use std::ops::ControlFlow;

impl Tape for SqliteStore {
    fn record_exchange(&self, exchange: Exchange) -> Kept<'_, ()> {
        self.write(move |db| record(db, &exchange))
    }

    fn exchanges(&self, session: &SessionId, limit: usize, offset: usize) -> Kept<'_, Vec<Exchange>> {
        let session = session.clone();
        self.read(move |db| exchanges(db, &session, limit, offset))
    }

    fn breaks(&self, session: &SessionId) -> Kept<'_, Vec<Break>> {
        let session = session.clone();
        self.read(move |db| breaks(db, &session))
    }
}

fn record(db: &Db, exchange: &Exchange) -> DbResult<()> {
    session::exists(db, &exchange.session)?;
    let Exchange { session, at, task, provider, model, sent, answer, why, scene } = exchange;
    let splice = Splice::of(db, exchange)?;
    let tail = sent.body.get(splice.shared..).unwrap_or_default();
    db.connection
        .prepare_cached(
            "INSERT INTO hermes_exchanges(session_id, at, task, provider, model, mode, url, cause, base, shared, digest,
                 target, answer, tail, scene)
             VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15)",
        )?
        .execute(rusqlite::params![
            session.as_str(),
            at.seconds(),
            task,
            provider,
            model,
            sent.mode,
            sent.url,
            why.map(BreakCause::as_str),
            splice.base,
            i64::try_from(splice.shared).unwrap_or(i64::MAX),
            splice.digest().as_slice(),
            to_json(&sent.target)?,
            to_json(answer)?,
            tail,
            to_json(scene)?,
        ])?;
    let newest = Newest::joined(db.connection.last_insert_rowid(), *at, sent.body.clone(), splice);
    db.newest_body.replace(Some(newest));
    Ok(())
}

/// The columns [`play`] and [`exchange`] read, in this order.
const COLUMNS: &str = "id, base, shared, tail, at, task, provider, model, mode, url, cause, target, answer";

/// Goes through the exchanges of a session in their order, each with its number, from 1 on, and its whole body.
fn play(
    db: &Db,
    session: &SessionId,
    mut visit: impl FnMut(u64, &Row<'_>, &Bytes) -> DbResult<ControlFlow<()>>,
) -> DbResult<()> {
    // A file that may only be read may be older than this table, or than its last column.
    if !table_exists(&db.connection, "hermes_exchanges")? {
        return Ok(());
    }
    let scene = if column_names(&db.connection, "hermes_exchanges")?.iter().any(|name| name == "scene") {
        "scene"
    } else {
        "NULL"
    };
    let sql = format!("SELECT {COLUMNS}, {scene} FROM hermes_exchanges WHERE session_id = ?1 ORDER BY id");
    let mut statement = db.connection.prepare_cached(&sql)?;
    let mut rows = statement.query([session.as_str()])?;
    // Each body is the base of at most one other, so that only the newest of every way is held.
    let mut bodies: HashMap<i64, Bytes> = HashMap::new();
    let mut number = 0;
    while let Some(row) = rows.next()? {
        number += 1;
        let base = row.get::<_, Option<i64>>(1)?.and_then(|base| bodies.remove(&base)).unwrap_or_default();
        let shared: usize = row.get(2)?;
        let shared = base.get(..shared).ok_or_else(|| unreadable(session, number, "a part of it is gone"))?;
        let body = Bytes::from([shared, &row.get::<_, Vec<u8>>(3)?].concat());
        if visit(number, row, &body)?.is_break() {
            break;
        }
        bodies.insert(row.get(0)?, body);
    }
    Ok(())
}

fn exchanges(db: &Db, session: &SessionId, limit: usize, offset: usize) -> DbResult<Vec<Exchange>> {
    let mut found = Vec::new();
    if limit == 0 {
        return Ok(found);
    }
    let before = u64::try_from(offset).unwrap_or(u64::MAX);
    play(db, session, |number, row, body| {
        if number > before {
            found.push(exchange(session, number, row, body)?);
        }
        Ok(if found.len() < limit { ControlFlow::Continue(()) } else { ControlFlow::Break(()) })
    })?;
    Ok(found)
}

fn exchange(session: &SessionId, number: u64, row: &Row<'_>, body: &Bytes) -> DbResult<Exchange> {
    let text = |column| text_at(row, column).map(Option::unwrap_or_default);
    let Some(answer) = from_json(&text(12)?) else {
        return Err(unreadable(session, number, "its answer is in no form that is known here").into());
    };
    Ok(Exchange {
        session: session.clone(),
        at: Moment::from_seconds(row.get(4)?),
        task: text(5)?,
        provider: text(6)?,
        model: text(7)?,
        sent: Sent {
            mode: text(8)?,
            url: text(9)?,
            target: from_json(&text(11)?).unwrap_or_default(),
            body: body.clone(),
        },
        answer,
        why: cause(row)?,
        scene: from_json(&text(13)?).unwrap_or_default(),
    })
}

fn cause(row: &Row<'_>) -> DbResult<Option<BreakCause>> {
    // A cause that a newer program knows is still a cause.
    Ok(text_at(row, 10)?.map(|word| BreakCause::parse(&word).unwrap_or(BreakCause::Other)))
}

fn unreadable(session: &SessionId, number: u64, why: &str) -> StoreError {
    StoreError::Failed(format!("exchange {number} of session {session} cannot be read: {why}"))
}

/// A request of the conversation, as far as the next one is held against it.
struct Before {
    way: [String; 3],
    body: Bytes,
}

fn breaks(db: &Db, session: &SessionId) -> DbResult<Vec<Break>> {
    let mut breaks = Vec::new();
    let mut before: Option<Before> = None;
    play(db, session, |number, row, body| {
        let text = |column| text_at(row, column).map(Option::unwrap_or_default);
        if !text(5)?.is_empty() {
            return Ok(ControlFlow::Continue(()));
        }
        let way = [text(6)?, text(7)?, text(8)?];
        if let Some(before) = &before
            && !(before.way == way && prefix::extends(&before.body, body))
        {
            let [provider, model, _] = way.clone();
            breaks.push(Break {
                number,
                at: Moment::from_seconds(row.get(4)?),
                provider,
                model,
                length: u64::try_from(body.len()).unwrap_or(u64::MAX),
                shared: u64::try_from(prefix::shared(&before.body, body)).unwrap_or(u64::MAX),
                cause: cause(row)?,
            });
        }
        before = Some(Before { way, body: body.clone() });
        Ok(ControlFlow::Continue(()))
    })?;
    Ok(breaks)
}

/// After a recovery: what lost the beginning of its body cannot be put together any more.
pub(crate) fn drop_fragments(connection: &Connection) -> DbResult<()> {
    connection.execute(
        "WITH RECURSIVE whole(id) AS (
             SELECT id FROM hermes_exchanges WHERE base IS NULL
             UNION SELECT e.id FROM hermes_exchanges e JOIN whole ON e.base = whole.id)
         DELETE FROM hermes_exchanges WHERE id NOT IN (SELECT id FROM whole)",
        [],
    )?;
    Ok(())
}
