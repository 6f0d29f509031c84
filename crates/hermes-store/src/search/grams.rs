//! The index of parts of words: what the word index cannot find, in scripts without spaces and inside long words.
//!
//! Each message is the set of its grams: windows of two characters where characters are dense, of three elsewhere, and
//! single ones where scripts have no spaces. A text that contains something contains all its grams, so the index
//! proposes and the text decides. Appending a message does not pay for it: messages up to a mark are indexed, those
//! above it are looked at one by one until [`catch_up`] has moved the mark. The index is ours alone and can be made anew
//! from the messages at any time; its damage costs time, never an answer.

use super::fold::{Kind, fold};
use super::query::{Query, Term};
use super::text;
use crate::db::Db;
use crate::fault::{DbError, DbResult};
use crate::schema::table_exists;
use hermes_types::{MessageId, SessionId};
use rusqlite::ffi::SQLITE_ERROR;
use rusqlite::{Connection, OptionalExtension, Params};
use std::collections::BTreeSet;

/// Raised when folding, the searched text or the grams change: an index by other rules is made anew.
const RULES: i64 = 1;
/// A gram that no text has, in the place of a message that never is: an index without it has lost what it knew.
const PRESENT: &str = "present";
/// More grams do not make a query more exact; the text is looked at anyway.
const MOST_PER_TERM: usize = 12;
/// A transaction of the writer indexes no more than this many bytes, or one message.
const BATCH_BYTES: usize = 1 << 20;

pub(crate) fn create(connection: &Connection) -> DbResult<()> {
    connection.execute_batch(
        "CREATE VIRTUAL TABLE IF NOT EXISTS hermes_grams
             USING fts5(grams, content='', detail=none, columnsize=0, tokenize='ascii')",
    )?;
    if number(connection, "grams_rules")? != Some(RULES) {
        empty(connection)?;
        set_number(connection, "grams_rules", RULES)?;
    }
    Ok(())
}

/// Whether there is an index by the present rules.
pub(crate) fn exists(connection: &Connection) -> DbResult<bool> {
    Ok(table_exists(connection, "hermes_grams")? && number(connection, "grams_rules")? == Some(RULES))
}

/// What can be expected of the index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    /// It knows the messages up to this one.
    Upto(i64),
    /// It is there and cannot be trusted.
    Spoiled,
    /// A file that may only be read may have none.
    Absent,
}

pub(super) fn state(db: &Db) -> DbResult<State> {
    if !exists(&db.connection)? {
        return Ok(State::Absent);
    }
    let present = db
        .connection
        .prepare_cached("SELECT 1 FROM main.hermes_grams WHERE hermes_grams MATCH ?1")
        .and_then(|mut statement| statement.exists([PRESENT]))
        .map_err(DbError::from);
    match present {
        Ok(true) => Ok(State::Upto(number(&db.connection, "grams_upto")?.unwrap_or_default())),
        Ok(false) => Ok(State::Spoiled),
        Err(error) if is_spoiled(&error) => Ok(State::Spoiled),
        Err(error) => Err(error),
    }
}

/// How many messages are not in the index yet.
pub(super) fn backlog(db: &Db) -> DbResult<u64> {
    let indexed = match state(db)? {
        State::Upto(mark) => mark,
        State::Spoiled => 0,
        State::Absent => return Ok(0),
    };
    let newest: Option<i64> = db.connection.query_row("SELECT max(id) FROM main.messages", [], |row| row.get(0))?;
    Ok(u64::try_from(newest.unwrap_or_default() - indexed).unwrap_or_default())
}

/// Indexes the next messages; tells whether there are more. Runs inside a write transaction.
pub(crate) fn catch_up(db: &Db, batch: usize) -> DbResult<bool> {
    let mark = match state(db)? {
        State::Upto(mark) => mark,
        State::Absent => return Ok(false),
        State::Spoiled => {
            reset(db)?;
            return Ok(state(db)? == State::Upto(0));
        }
    };
    match index_after(db, mark, batch) {
        Err(error) if is_spoiled(&error) => reset(db).map(|()| false),
        other => other,
    }
}

fn index_after(db: &Db, mark: i64, batch: usize) -> DbResult<bool> {
    let columns = text::COLUMNS;
    let mut select = db
        .connection
        .prepare_cached(&format!("SELECT m.id, {columns} FROM main.messages m WHERE m.id > ?1 ORDER BY m.id"))?;
    let mut insert = db.connection.prepare_cached("INSERT INTO main.hermes_grams(rowid, grams) VALUES(?1, ?2)")?;
    let (mut reached, mut count, mut bytes) = (mark, 0, 0);
    let mut rows = select.query([mark])?;
    let mut more = false;
    while let Some(row) = rows.next()? {
        if count == batch || bytes >= BATCH_BYTES {
            more = true;
            break;
        }
        let text = text::of_row(row, 1)?;
        reached = row.get(0)?;
        insert.execute((reached, of_text(&text)))?;
        count += 1;
        bytes += text.len();
    }
    if reached > mark {
        set_number(&db.connection, "grams_upto", reached)?;
    }
    Ok(more)
}

/// Before the messages of a session are removed.
pub(crate) fn forget(db: &Db, session: &SessionId) -> DbResult<()> {
    let forgotten = match state(db)? {
        State::Upto(mark) => forget_where(db, "m.session_id = ?1 AND m.id <= ?2", (session.as_str(), mark)),
        State::Spoiled => return reset(db),
        State::Absent => return Ok(()),
    };
    forgotten.or_else(|error| if is_spoiled(&error) { reset(db) } else { Err(error) })
}

/// Changes a message; where it is in the index, the index changes with it.
pub(crate) fn over(db: &Db, message: MessageId, change: impl FnOnce() -> DbResult<()>) -> DbResult<()> {
    match state(db)? {
        State::Upto(mark) if message.0 <= mark => {}
        _ => return change(),
    }
    let mended = |error| if is_spoiled(&error) { reset(db) } else { Err(error) };
    forget_where(db, "m.id = ?1", [message.0]).or_else(mended)?;
    change()?;
    match state(db)? {
        State::Upto(mark) if message.0 <= mark => index_one(db, message).or_else(mended),
        // It was made anew meanwhile, and comes to this message by itself.
        _ => Ok(()),
    }
}

fn index_one(db: &Db, message: MessageId) -> DbResult<()> {
    let columns = text::COLUMNS;
    let mut select = db.connection.prepare_cached(&format!("SELECT {columns} FROM main.messages m WHERE m.id = ?1"))?;
    let mut insert = db.connection.prepare_cached("INSERT INTO main.hermes_grams(rowid, grams) VALUES(?1, ?2)")?;
    let mut rows = select.query([message.0])?;
    while let Some(row) = rows.next()? {
        insert.execute((message.0, of_text(&text::of_row(row, 0)?)))?;
    }
    Ok(())
}

fn forget_where(db: &Db, condition: &str, values: impl Params) -> DbResult<()> {
    let columns = text::COLUMNS;
    let mut select =
        db.connection.prepare_cached(&format!("SELECT m.id, {columns} FROM main.messages m WHERE {condition}"))?;
    let mut remove = db
        .connection
        .prepare_cached("INSERT INTO main.hermes_grams(hermes_grams, rowid, grams) VALUES('delete', ?1, ?2)")?;
    let mut rows = select.query(values)?;
    while let Some(row) = rows.next()? {
        let id: i64 = row.get(0)?;
        remove.execute((id, of_text(&text::of_row(row, 1)?)))?;
    }
    Ok(())
}

/// Merges the index after a removal, so that it does not hold what was removed.
pub(crate) fn merge(db: &Db, merge: impl FnOnce(&str) -> DbResult<()>) -> DbResult<()> {
    match state(db)? {
        State::Upto(_) => {
            merge("hermes_grams").or_else(|error| if is_spoiled(&error) { reset(db) } else { Err(error) })
        }
        State::Spoiled => reset(db),
        State::Absent => Ok(()),
    }
}

/// Begins the index anew. When even that fails the log is told and nobody else: nothing depends on this index.
pub(crate) fn reset(db: &Db) -> DbResult<()> {
    tracing::warn!("the index of parts of words is made anew");
    let anew = || -> DbResult<()> {
        db.connection.execute_batch("DROP TABLE IF EXISTS main.hermes_grams")?;
        db.connection.execute("DELETE FROM main.hermes_meta WHERE key = 'grams_rules'", [])?;
        create(&db.connection)
    };
    let done = empty(&db.connection).or_else(|error| if is_spoiled(&error) { anew() } else { Err(error) });
    match done {
        Err(error) if is_spoiled(&error) => {
            tracing::warn!("the index of parts of words cannot be made anew: {error}");
            Ok(())
        }
        other => other,
    }
}

/// Whether an error is about the index itself: its content or its tables. A damaged file, a lock or a full disk is not.
fn is_spoiled(error: &DbError) -> bool {
    let is_refused = matches!(error, DbError::Sql(error)
        if error.sqlite_error().is_some_and(|code| code.extended_code == SQLITE_ERROR));
    is_refused || error.is_index_damage()
}

fn empty(connection: &Connection) -> DbResult<()> {
    connection.execute("INSERT INTO main.hermes_grams(hermes_grams) VALUES('delete-all')", [])?;
    connection.execute("INSERT INTO main.hermes_grams(rowid, grams) VALUES(0, ?1)", [PRESENT])?;
    set_number(connection, "grams_upto", 0)
}

fn number(connection: &Connection, key: &str) -> DbResult<Option<i64>> {
    let mut statement = connection.prepare_cached("SELECT value FROM hermes_meta WHERE key = ?1")?;
    Ok(statement.query_row([key], |row| row.get(0)).optional()?)
}

fn set_number(connection: &Connection, key: &str, value: i64) -> DbResult<()> {
    connection
        .prepare_cached(
            "INSERT INTO main.hermes_meta(key, value) VALUES(?1, ?2)
             ON CONFLICT(key) DO UPDATE SET value = excluded.value",
        )?
        .execute((key, value))?;
    Ok(())
}

/// The distinct grams of a text, with spaces between them.
fn of_text(text: &str) -> String {
    let folded = fold(text);
    let mut grams: Vec<&str> = Vec::with_capacity(folded.len());
    for (kind, run) in runs(&folded) {
        windows(kind, run, &mut grams);
        if kind.is_unspaced() {
            grams.extend(run.char_indices().filter_map(|(at, found)| run.get(at..at + found.len_utf8())));
        }
    }
    grams.sort_unstable();
    grams.dedup();
    grams.join(" ")
}

/// What the index is asked for a query: all messages that may match, as an expression of FTS5. `None` when some
/// alternative has no gram at all.
pub(super) fn plan(query: &Query) -> Option<String> {
    let alternatives: Option<Vec<String>> = query
        .any
        .iter()
        .map(|clauses| {
            let grams: BTreeSet<String> = clauses.iter().flat_map(|clause| &clause.all).flat_map(of_term).collect();
            let quoted: Vec<String> = grams.into_iter().map(|gram| format!("\"{gram}\"")).collect();
            (!quoted.is_empty()).then(|| format!("({})", quoted.join(" AND ")))
        })
        .collect();
    Some(alternatives?.join(" OR "))
}

fn of_term(term: &Term) -> Vec<String> {
    let mut grams = Vec::new();
    for (kind, run) in term.words.iter().flat_map(|word| runs(word)) {
        let before = grams.len();
        windows(kind, run, &mut grams);
        if grams.len() == before && kind.is_unspaced() {
            grams.extend(run.char_indices().filter_map(|(at, found)| run.get(at..at + found.len_utf8())));
        }
    }
    // Spread over the whole term, the last one included.
    let step = grams.len().div_ceil(MOST_PER_TERM).max(1);
    grams.iter().rev().step_by(step).map(|gram| (*gram).to_owned()).collect()
}

fn windows<'a>(kind: Kind, run: &'a str, grams: &mut Vec<&'a str>) {
    let width = if kind == Kind::Dense { 2 } else { 3 };
    let ends = run.char_indices().map(|(at, _)| at).chain([run.len()]).skip(width);
    grams.extend(run.char_indices().zip(ends).filter_map(|((start, _), end)| run.get(start..end)));
}

/// Stretches of one kind of writing.
fn runs(folded: &str) -> impl Iterator<Item = (Kind, &str)> {
    let mut rest = folded;
    std::iter::from_fn(move || {
        let kind = Kind::of(rest.chars().next()?);
        let length = rest.find(|found| Kind::of(found) != kind).unwrap_or(rest.len());
        let (run, after) = rest.split_at_checked(length)?;
        rest = after;
        Some((kind, run))
    })
    .filter(|(kind, _)| *kind != Kind::Gap)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn grams_are_windows_by_script() {
        let table = [
            ("Config ab", "con fig nfi onf"),
            ("数据库", "库 据 据库 数 数据"),
            ("ไป", "ป ไ"),
            ("กรุง", "ก กรุ ง ร รุง ุ"),
            ("go部署", "署 部 部署"),
            ("é — 1", ""),
        ];
        for (text, grams) in table {
            assert_eq!(of_text(text), grams, "{text}");
        }
    }

    #[test]
    fn a_query_asks_for_grams_its_matches_have() {
        let table = [
            ("config", Some(r#"("con" AND "fig" AND "nfi" AND "onf")"#)),
            ("部 NOT 测试", Some(r#"("部")"#)),
            ("go 部署", Some(r#"("部署")"#)),
            ("go OR 部署", None),
            ("\"chat send\" OR ไป", Some(r#"("cha" AND "end" AND "hat" AND "sen") OR ("ป" AND "ไ")"#)),
        ];
        for (text, plan_of) in table {
            assert_eq!(plan(&Query::parse(text).expect("a query")).as_deref(), plan_of, "{text}");
        }
    }
}
