//! The tables: the founding schema (version 6), the ladder up to it, and our own tables beside it.
//!
//! A database that another program raised beyond version 6 keeps its version, its columns and its triggers; we add our
//! own tables and read and write what is there. [`Shape`] is what is there.

mod ladder;
mod shape;
pub(crate) mod states;

pub(crate) use ladder::column_names;
pub(crate) use shape::{Index, Shape};

use crate::fault::DbResult;
use hermes_core::store::StoreError;
use rusqlite::{Connection, OptionalExtension, TransactionBehavior};
use std::path::Path;

/// The version of new databases.
pub(crate) const FOUNDING: u32 = 6;
/// The newest version of the other program that is known to be safe to write to.
pub(crate) const NEWEST: u32 = 22;

pub(crate) const TABLES: &str = include_str!("founding.sql");
const TITLES: &str = include_str!("titles.sql");
pub(crate) const INDEX: &str = include_str!("index.sql");
pub(crate) const PRIVATE: &str = include_str!("private.sql");
/// Raised when something is added to `private.sql`: files that have this version need no look at each table.
const PRIVATE_VERSION: i64 = 4;
/// Columns of our own tables that came after the tables: table, name, declaration.
const LATER: [(&str, &str, &str); 4] = [
    ("hermes_exchanges", "scene", "TEXT NOT NULL DEFAULT '{}'"),
    ("hermes_compressions", "messages_before", "INTEGER"),
    ("hermes_compressions", "messages_after", "INTEGER"),
    ("hermes_compressions", "stopped", "TEXT"),
];

/// Brings a file to a form we can work with: creates the tables, climbs the ladder, adds our own. Costs one read of the
/// schema when nothing is to be done.
pub(crate) fn prepare(connection: &mut Connection) -> DbResult<()> {
    if is_ready(connection)? {
        return Ok(());
    }
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    // Another program may have been faster.
    let found = version(&transaction)?;
    if found.is_none_or(|version| version <= FOUNDING) {
        transaction.execute_batch(TABLES)?;
        ladder::climb(&transaction, found)?;
    }
    transaction.execute_batch(PRIVATE)?;
    for (table, column, declaration) in LATER {
        if !column_names(&transaction, table)?.iter().any(|name| name == column) {
            transaction.execute_batch(&format!("ALTER TABLE {table} ADD COLUMN {column} {declaration}"))?;
        }
    }
    if found.is_none_or(|version| version <= FOUNDING) {
        complete_index(&transaction)?;
    }
    crate::search::grams::create(&transaction)?;
    transaction.execute(
        "INSERT INTO hermes_meta(key, value) VALUES('private_version', ?1)
         ON CONFLICT(key) DO UPDATE SET value = excluded.value",
        [PRIVATE_VERSION],
    )?;
    transaction.commit()?;
    Ok(())
}

/// Creates what is missing of the word index, and fills it when messages were written without it. An index that was left
/// out for its damage stays out.
fn complete_index(connection: &Connection) -> DbResult<()> {
    let count = |sql: &str| connection.query_row(sql, [], |row| row.get::<_, i64>(0));
    if count("SELECT count(*) FROM hermes_meta WHERE key = 'index_off:messages_fts'")? > 0 {
        return Ok(());
    }
    let parts = "SELECT count(*) FROM sqlite_master WHERE name IN
        ('messages_fts', 'messages_fts_insert', 'messages_fts_delete', 'messages_fts_update')";
    let was_whole = count(parts)? == 4;
    connection.execute_batch(INDEX)?;
    if !was_whole && count("SELECT EXISTS (SELECT 1 FROM messages)")? > 0 {
        connection.execute_batch("INSERT INTO messages_fts(messages_fts) VALUES('rebuild')")?;
    }
    Ok(())
}

/// Before anything is written to a file: is it one of those we know?
pub(crate) fn refuse_newer(connection: &Connection, path: &Path) -> DbResult<()> {
    match version(connection)? {
        Some(found) if found > NEWEST => {
            Err(StoreError::TooNew { place: path.display().to_string(), found, known: NEWEST }.into())
        }
        _ => Ok(()),
    }
}

/// The version in the file; `None` when there is none yet.
pub(crate) fn version(connection: &Connection) -> DbResult<Option<u32>> {
    if !table_exists(connection, "schema_version")? {
        return Ok(None);
    }
    let mut select = connection.prepare_cached("SELECT max(version) FROM schema_version")?;
    Ok(select.query_row([], |row| row.get(0)).optional()?.flatten())
}

fn is_ready(connection: &Connection) -> DbResult<bool> {
    if version(connection)?.is_none_or(|version| version < FOUNDING) || !table_exists(connection, "hermes_meta")? {
        return Ok(false);
    }
    let ours: Option<i64> = connection
        .query_row("SELECT value FROM hermes_meta WHERE key = 'private_version'", [], |row| row.get(0))
        .optional()?;
    Ok(ours.is_some_and(|ours| ours >= PRIVATE_VERSION) && crate::search::grams::exists(connection)?)
}

pub(crate) fn table_exists(connection: &Connection, name: &str) -> DbResult<bool> {
    let found = connection.prepare_cached("SELECT 1 FROM sqlite_master WHERE name = ?1")?.exists([name])?;
    Ok(found)
}
