//! The new file: the tables of the old one where they are known, else the founding ones, filled row by row.

use super::layout::{Layout, Row};
use super::record::Field;
use crate::fault::DbResult;
use crate::health::index;
use crate::schema;
use rusqlite::{Connection, params_from_iter};
use std::collections::HashMap;
use std::path::Path;

/// What describes running programs or the health of the old file is not taken over.
const NOT_TAKEN: [&str; 2] = ["hermes_writers", "compression_locks"];

/// One entry of the list of tables, indexes and triggers.
#[derive(Debug, Clone)]
pub(super) struct Entry {
    kind: String,
    pub(super) name: String,
    table: String,
    sql: String,
}

/// The entries of a file, as far as they can be read.
pub(super) fn entries(source: &Connection) -> Vec<Entry> {
    let read = || -> DbResult<Vec<Entry>> {
        let mut statement = source
            .prepare("SELECT type, name, tbl_name, sql FROM sqlite_master WHERE sql IS NOT NULL ORDER BY rowid")?;
        let rows = statement.query_map([], |row| {
            Ok(Entry { kind: row.get(0)?, name: row.get(1)?, table: row.get(2)?, sql: row.get(3)? })
        })?;
        Ok(rows.map_while(Result::ok).collect())
    };
    read().unwrap_or_default()
}

impl Entry {
    fn is_virtual(&self) -> bool {
        self.sql.trim_start().to_ascii_uppercase().starts_with("CREATE VIRTUAL")
    }

    /// A table of its own. Those behind an index are made anew with it.
    pub(super) fn is_plain_table(&self) -> bool {
        self.kind == "table"
            && !self.is_virtual()
            && !index::is_index_table(&self.name)
            && !self.name.starts_with("sqlite_")
    }

    /// Whether the rows of this table go along.
    pub(super) fn has_rows_to_keep(&self) -> bool {
        self.is_plain_table() && !NOT_TAKEN.contains(&self.name.as_str())
    }

    /// The gram index is made by us when it is missing.
    fn comes_after_rows(&self) -> bool {
        let of_grams = self.table.starts_with("hermes_grams") || self.name.starts_with("hermes_grams");
        !of_grams && (self.kind == "index" || self.kind == "trigger" || (self.kind == "table" && self.is_virtual()))
    }
}

pub(super) struct Target {
    pub(super) connection: Connection,
    after: Vec<Entry>,
    columns: HashMap<String, Vec<String>>,
}

impl Target {
    pub(super) fn create(path: &Path, entries: &[Entry]) -> DbResult<Self> {
        let mut connection = Connection::open(path)?;
        connection.execute_batch("PRAGMA foreign_keys = OFF; PRAGMA synchronous = OFF; BEGIN")?;
        let mut after = Vec::new();
        for entry in entries {
            if entry.is_plain_table() {
                // What the old file declares may be broken; then the founding tables stand in below.
                let _ = connection.execute(&entry.sql, []);
            } else if entry.comes_after_rows() {
                after.push(entry.clone());
            }
        }
        let is_usable = |table: &str, columns: [&str; 3]| {
            let layout = Layout::read(&connection, table).ok().flatten();
            layout.is_some_and(|layout| {
                columns.iter().all(|name| layout.columns.iter().any(|column| column.name == *name))
            })
        };
        let usable =
            is_usable("messages", ["id", "role", "timestamp"]) && is_usable("sessions", ["id", "source", "title"]);
        if usable {
            connection.execute_batch("COMMIT")?;
        } else {
            connection.execute_batch("ROLLBACK")?;
            after.clear();
            schema::prepare(&mut connection)?;
        }
        connection.execute_batch("BEGIN")?;
        Ok(Self { connection, after, columns: HashMap::new() })
    }

    /// Keeps a row, unless one of its name is there already. `true` when it was kept.
    pub(super) fn keep(&mut self, layout: &Layout, row: &Row) -> DbResult<bool> {
        let rowid = Field::Integer(row.rowid);
        let (mut names, mut values) = (Vec::new(), Vec::new());
        for (column, field) in layout.columns.iter().zip(&row.fields) {
            let field = if column.is_row_id() { &rowid } else { field };
            if *field != Field::Null && self.provide(layout, &column.name, &column.declaration)? {
                names.push(format!("\"{}\"", column.name.replace('"', "\"\"")));
                values.push(field);
            }
        }
        let marks = vec!["?"; names.len()].join(", ");
        let sql = format!("INSERT OR IGNORE INTO \"{}\"({}) VALUES({marks})", layout.table, names.join(", "));
        let kept = self.connection.prepare_cached(&sql)?.execute(params_from_iter(values))?;
        Ok(kept > 0)
    }

    /// Makes sure that there is a place for a value. `false` when the whole table has none.
    fn provide(&mut self, layout: &Layout, column: &str, declaration: &str) -> DbResult<bool> {
        if !self.columns.contains_key(&layout.table) {
            let there = Layout::read(&self.connection, &layout.table)?;
            let names = there.map(|there| there.columns.into_iter().map(|column| column.name).collect());
            self.columns.insert(layout.table.clone(), names.unwrap_or_default());
        }
        let Some(there) = self.columns.get_mut(&layout.table).filter(|there| !there.is_empty()) else {
            return Ok(false);
        };
        if !there.iter().any(|name| name == column) {
            let (table, name) = (&layout.table, column.replace('"', "\"\""));
            self.connection.execute_batch(&format!("ALTER TABLE \"{table}\" ADD COLUMN \"{name}\" {declaration}"))?;
            there.push(column.to_owned());
        }
        Ok(true)
    }

    /// Ties everything together: sessions for messages that lost theirs, indexes, triggers, counters.
    pub(super) fn finish(mut self) -> DbResult<Made> {
        let unknown_before = self.count("sessions")?;
        self.connection.execute_batch(
            "INSERT OR IGNORE INTO sessions(id, source, started_at)
                 SELECT session_id, 'unknown', min(timestamp) FROM messages
                 WHERE session_id NOT IN (SELECT id FROM sessions) GROUP BY session_id;
             INSERT OR IGNORE INTO sessions(id, source, started_at)
                 SELECT parent_session_id, 'unknown', min(started_at) FROM sessions
                 WHERE parent_session_id NOT IN (SELECT id FROM sessions) GROUP BY parent_session_id;
             UPDATE sessions SET title = NULL WHERE title IS NOT NULL AND rowid NOT IN
                 (SELECT max(rowid) FROM sessions WHERE title IS NOT NULL GROUP BY title);",
        )?;
        let made_up = self.count("sessions")? - unknown_before;
        for entry in &self.after {
            if let Err(error) = self.connection.execute_batch(&entry.sql) {
                tracing::warn!("{} could not be made anew: {error}", entry.name);
            }
        }
        if schema::table_exists(&self.connection, "hermes_meta")? {
            // Tables of ours whose names were destroyed are made again.
            self.connection.execute_batch("DELETE FROM hermes_meta WHERE key = 'private_version'")?;
        }
        self.connection.execute_batch("COMMIT")?;
        schema::prepare(&mut self.connection)?;
        self.connection.execute_batch(
            "BEGIN;
             DELETE FROM hermes_message_extra WHERE message_id NOT IN (SELECT id FROM messages);
             DELETE FROM hermes_exchanges WHERE session_id NOT IN (SELECT id FROM sessions);
             DELETE FROM hermes_meta WHERE key = 'check_due' OR key LIKE 'index_off:%';",
        )?;
        crate::tape::drop_fragments(&self.connection)?;
        for table in index::tables(&self.connection)? {
            table.rebuild(&self.connection)?;
        }
        self.connection.execute_batch("COMMIT")?;
        Ok(Made { connection: self.connection, sessions_made_up: made_up })
    }

    fn count(&self, table: &str) -> DbResult<u64> {
        Ok(self.connection.query_row(&format!("SELECT count(*) FROM {table}"), [], |row| row.get(0))?)
    }
}

/// The new file, complete but for its counters.
pub(super) struct Made {
    pub(super) connection: Connection,
    pub(super) sessions_made_up: u64,
}
