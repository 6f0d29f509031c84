//! Collects the messages that match, newest first (or oldest first), from an index or from the messages themselves.
//!
//! Filters are part of the SQL; whether a message matches is decided on its text. Every walk ends: after enough matches,
//! after enough messages, or after enough bytes. Rows and bytes are counted instead of time, so that the same search on
//! the same file always answers the same.

use super::fold::fold_into;
use super::query::Query;
use super::text;
use crate::db::Db;
use crate::fault::DbResult;
use hermes_types::{Manner, Role, SearchOrder, SearchQuery};
use rusqlite::params_from_iter;
use rusqlite::types::Value;
use std::ops::ControlFlow;

/// So many matches are ranked.
const MOST_RANKED: usize = 1000;
/// Pages by time reach further: nothing has to be ranked for them.
const MOST_LISTED: usize = 10_000;
const MOST_BYTES: usize = 32 << 20;

/// A message that matches.
#[derive(Debug, Clone)]
pub(super) struct Match {
    pub(super) id: i64,
    pub(super) at: f64,
    /// How often each wanted term is in it.
    pub(super) counts: Vec<usize>,
    /// Its text in bytes.
    pub(super) length: usize,
}

/// How far a walk came before it had to end; one that found enough is whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Walked {
    Wholly,
    Partly,
}

pub(super) struct Gatherer<'a> {
    db: &'a Db,
    query: &'a Query,
    manner: Manner,
    direction: &'static str,
    filter: Filter,
    most: usize,
    bytes: usize,
    folded: String,
    pub(super) found: Vec<Match>,
    /// Of what an index proposes, not all was looked at.
    pub(super) more: bool,
    /// Of the messages that were read one by one, not all were.
    pub(super) unseen: bool,
}

impl<'a> Gatherer<'a> {
    pub(super) fn new(db: &'a Db, query: &'a Query, manner: Manner, asked: &SearchQuery) -> Self {
        let most = match asked.order {
            SearchOrder::Best => MOST_RANKED,
            SearchOrder::Newest | SearchOrder::Oldest => {
                asked.offset.saturating_add(asked.limit).clamp(MOST_RANKED, MOST_LISTED)
            }
        };
        Self {
            db,
            query,
            manner,
            direction: if asked.order == SearchOrder::Oldest { "ASC" } else { "DESC" },
            filter: Filter::of(asked),
            most,
            bytes: 0,
            folded: String::new(),
            found: Vec::new(),
            more: false,
            unseen: false,
        }
    }

    /// From the word index.
    pub(super) fn words(&mut self) -> DbResult<()> {
        let expression = Value::from(self.query.to_fts5());
        let walked = self.walk(
            "main.messages_fts f CROSS JOIN every_message m ON m.id = f.rowid",
            "f.messages_fts MATCH ?1",
            "f.rowid",
            &expression,
            usize::MAX,
        )?;
        self.proposed(walked);
        Ok(())
    }

    /// From the index of parts of words.
    pub(super) fn parts(&mut self, plan: &str, most_rows: usize) -> DbResult<()> {
        let walked = self.walk(
            "main.hermes_grams f CROSS JOIN every_message m ON m.id = f.rowid",
            "f.hermes_grams MATCH ?1",
            "f.rowid",
            &Value::from(plan.to_owned()),
            most_rows,
        )?;
        self.proposed(walked);
        Ok(())
    }

    /// From the messages after one.
    pub(super) fn rows(&mut self, after: i64, most_rows: usize) -> DbResult<()> {
        let walked = self.walk("every_message m", "m.id > ?1", "m.id", &Value::from(after), most_rows)?;
        self.unseen |= walked == Walked::Partly;
        Ok(())
    }

    /// From the messages of one session.
    pub(super) fn session(&mut self, id: &str, most_rows: usize) -> DbResult<()> {
        let id = Value::from(id.to_owned());
        let walked = self.walk("every_message m", "m.session_id = ?1", "m.timestamp", &id, most_rows)?;
        self.unseen |= walked == Walked::Partly;
        Ok(())
    }

    fn proposed(&mut self, walked: Walked) {
        self.more |= walked == Walked::Partly;
    }

    fn walk(&mut self, from: &str, condition: &str, key: &str, value: &Value, most_rows: usize) -> DbResult<Walked> {
        if self.more && self.found.len() >= self.most {
            return Ok(Walked::Wholly);
        }
        let (columns, direction, filter) = (text::COLUMNS, self.direction, &self.filter.sql);
        let sql = format!(
            "SELECT m.id, m.timestamp, {columns} FROM {from}
             WHERE {condition}{filter} ORDER BY {key} {direction}"
        );
        let mut statement = self.db.connection.prepare_cached(&sql)?;
        let values = std::iter::once(value).chain(&self.filter.values);
        let mut rows = statement.query(params_from_iter(values))?;
        let mut examined = 0;
        while let Some(row) = rows.next()? {
            if examined >= most_rows || self.bytes >= MOST_BYTES {
                return Ok(Walked::Partly);
            }
            examined += 1;
            let text = text::of_row(row, 2)?;
            if self.offer(row.get(0)?, row.get(1)?, &text).is_break() {
                break;
            }
        }
        Ok(Walked::Wholly)
    }

    fn offer(&mut self, id: i64, at: f64, text: &str) -> ControlFlow<()> {
        self.bytes += text.len();
        self.folded.clear();
        fold_into(text, &mut self.folded);
        let Some(counts) = self.query.tally(&self.folded, self.manner) else { return ControlFlow::Continue(()) };
        if self.found.len() >= self.most {
            self.more = true;
            return ControlFlow::Break(());
        }
        self.found.push(Match { id, at, counts, length: text.len() });
        ControlFlow::Continue(())
    }
}

/// The conditions of a search beside its text.
struct Filter {
    sql: String,
    values: Vec<Value>,
}

impl Filter {
    fn of(asked: &SearchQuery) -> Self {
        let mut filter = Self { sql: String::new(), values: Vec::new() };
        let roles: &[Role] = if asked.roles.is_empty() {
            &[Role::System, Role::User, Role::Assistant, Role::Tool]
        } else {
            &asked.roles
        };
        let list = |items: serde_json::Result<String>| Value::from(items.unwrap_or_default());
        filter.also("m.role IN (SELECT value FROM json_each(?))", list(serde_json::to_string(roles)));
        if !asked.undone_too {
            filter.sql.push_str(" AND m.state < 2");
        }
        let of_sources =
            "m.session_id IN (SELECT id FROM main.sessions WHERE source IN (SELECT value FROM json_each(?)))";
        if !asked.sources.is_empty() {
            filter.also(of_sources, list(serde_json::to_string(&asked.sources)));
        }
        if !asked.exclude_sources.is_empty() {
            filter.also(&format!("NOT {of_sources}"), list(serde_json::to_string(&asked.exclude_sources)));
        }
        if let Some(since) = asked.since {
            filter.also("m.timestamp >= ?", Value::from(since.seconds()));
        }
        if let Some(until) = asked.until {
            filter.also("m.timestamp <= ?", Value::from(until.seconds()));
        }
        filter
    }

    fn also(&mut self, condition: &str, value: Value) {
        self.sql.push_str(" AND ");
        self.sql.push_str(condition);
        self.values.push(value);
    }
}
