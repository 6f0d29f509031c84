//! The search indexes of a file: telling a damaged one from damaged messages, and building one anew from the messages.
//!
//! An index is only a copy. When it is damaged the messages are untouched, and a new index is made from them; when even
//! that fails its triggers are removed, so that messages can be written without it. Messages are never changed here.

use crate::fault::{DbError, DbResult};
use rusqlite::{Connection, OptionalExtension};

/// Everything of these names is an index of ours or of the other program.
const FAMILIES: [&str; 2] = ["messages_fts", "hermes_grams"];
const TRIGGERS: [&str; 3] = ["insert", "delete", "update"];

/// A full-text table over messages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Table {
    pub(crate) name: String,
    sql: String,
}

pub(crate) fn tables(connection: &Connection) -> DbResult<Vec<Table>> {
    let mut found = connection.prepare(
        "SELECT name, sql FROM sqlite_master WHERE type = 'table' AND name IN ('messages_fts', 'messages_fts_trigram')
             AND sql LIKE 'CREATE VIRTUAL TABLE%' ORDER BY name",
    )?;
    let tables = found.query_map([], |row| Ok(Table { name: row.get(0)?, sql: row.get(1)? }))?;
    Ok(tables.collect::<Result<_, _>>()?)
}

impl Table {
    /// Reads the messages themselves instead of a copy of them.
    fn is_over_messages(&self) -> bool {
        self.sql.contains("content_rowid")
    }

    /// An error when it cannot be known: a file that is busy says nothing about its index.
    pub(crate) fn is_sound(&self, connection: &Connection) -> DbResult<bool> {
        let name = &self.name;
        let check = format!("INSERT INTO {name}({name}, rank) VALUES('integrity-check', 1)");
        match connection.execute(&check, []).map_err(DbError::from) {
            Ok(_) => Ok(true),
            Err(error) if error.is_damage() => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Fills the index from the messages: the quick way where there is one, else in a new table of the same definition.
    /// Belongs into a transaction, so that an index which could not be filled is what it was before.
    pub(crate) fn rebuild(&self, connection: &Connection) -> DbResult<()> {
        let name = &self.name;
        let rebuild = format!("INSERT INTO {name}({name}) VALUES('rebuild')");
        if self.is_over_messages() {
            let quickly =
                connection.execute(&rebuild, []).map_err(DbError::from).and_then(|_| self.is_sound(connection));
            match quickly {
                Ok(true) => return Ok(()),
                // An error may have ended the transaction; without one the old table would be gone for good.
                Err(error) if !error.is_damage() || connection.is_autocommit() => return Err(error),
                Ok(false) | Err(_) => {}
            }
        }
        connection.execute_batch(&format!("DROP TABLE {name}; {}", self.sql))?;
        if self.is_over_messages() {
            connection.execute(&rebuild, [])?;
        } else {
            connection.execute(
                &format!(
                    "INSERT INTO {name}(rowid, content) SELECT id, coalesce(content, '') || ' ' ||
                         coalesce(tool_name, '') || ' ' || coalesce(tool_calls, '') FROM messages"
                ),
                [],
            )?;
        }
        Ok(())
    }

    /// Lets messages be written without this index.
    pub(crate) fn silence(&self, connection: &Connection) -> DbResult<()> {
        for event in TRIGGERS {
            connection.execute_batch(&format!("DROP TRIGGER IF EXISTS {}_{event}", self.name))?;
        }
        Ok(())
    }
}

/// What a check says: nothing, something about indexes alone, or damage.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Verdict {
    Sound,
    Index,
    Damage(String),
}

/// Reads the lines of `PRAGMA quick_check`. Lines about full-text tables, and about pages that belong to their tables,
/// are about an index.
pub(crate) fn judge(connection: &Connection, lines: &[String]) -> DbResult<Verdict> {
    let mut verdict = Verdict::Sound;
    for line in lines.iter().flat_map(|text| text.lines()) {
        if line == "ok" || line.starts_with("***") {
            continue;
        }
        if !is_about_index(connection, line)? {
            return Ok(Verdict::Damage(line.to_owned()));
        }
        verdict = Verdict::Index;
    }
    Ok(verdict)
}

fn is_about_index(connection: &Connection, line: &str) -> DbResult<bool> {
    if line.contains("FTS5 table") {
        return Ok(true);
    }
    let Some(root) = line.strip_prefix("Tree ").and_then(|rest| rest.split(' ').next()?.parse::<i64>().ok()) else {
        return Ok(FAMILIES.iter().any(|family| line.contains(&format!(" {family}"))));
    };
    let owner = connection
        .query_row("SELECT tbl_name FROM sqlite_master WHERE rootpage = ?1", [root], |row| row.get::<_, String>(0))
        .optional()
        .map_err(DbError::from);
    match owner {
        Ok(owner) => Ok(owner.is_some_and(|owner| is_index_table(&owner))),
        Err(error) if error.is_damage() => Ok(false),
        Err(error) => Err(error),
    }
}

pub(crate) fn is_index_table(name: &str) -> bool {
    FAMILIES.iter().any(|family| name.starts_with(family))
}
