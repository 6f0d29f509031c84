//! From version 1 to the founding schema. Each step adds what it adds and tolerates what is already there, so that a
//! file that was left between two steps, or has no version at all, arrives as well.

use super::{FOUNDING, TITLES, table_exists};
use crate::fault::DbResult;
use rusqlite::Connection;

/// The columns each version added, and to which table.
const STEPS: [(u32, &str, &[&str]); 4] = [
    (2, "messages", &["finish_reason TEXT"]),
    (3, "sessions", &["title TEXT"]),
    // Version 4 added the unique index on titles.
    (
        5,
        "sessions",
        &[
            "cache_read_tokens INTEGER DEFAULT 0",
            "cache_write_tokens INTEGER DEFAULT 0",
            "reasoning_tokens INTEGER DEFAULT 0",
            "billing_provider TEXT",
            "billing_base_url TEXT",
            "billing_mode TEXT",
            "estimated_cost_usd REAL",
            "actual_cost_usd REAL",
            "cost_status TEXT",
            "cost_source TEXT",
            "pricing_version TEXT",
        ],
    ),
    (6, "messages", &["reasoning TEXT", "reasoning_details TEXT", "codex_reasoning_items TEXT"]),
];

/// Climbs from the version found, or from the bottom when there is none.
pub(super) fn climb(connection: &Connection, found: Option<u32>) -> DbResult<()> {
    for (version, table, columns) in STEPS {
        if found.is_some_and(|found| found >= version) {
            continue;
        }
        let present = column_names(connection, table)?;
        for column in columns {
            let name = column.split(' ').next().unwrap_or_default();
            if !present.iter().any(|present| present == name) {
                connection.execute_batch(&format!("ALTER TABLE {table} ADD COLUMN {column}"))?;
            }
        }
    }
    if !table_exists(connection, "idx_sessions_title_unique")? {
        // Titles were not unique so far: the newest holder keeps its own.
        connection.execute_batch(
            "UPDATE sessions SET title = NULL WHERE title IS NOT NULL AND rowid NOT IN
                 (SELECT max(rowid) FROM sessions WHERE title IS NOT NULL GROUP BY title)",
        )?;
    }
    connection.execute_batch(TITLES)?;
    match found {
        None => connection.execute("INSERT INTO schema_version(version) VALUES(?1)", [FOUNDING])?,
        Some(_) => connection.execute("UPDATE schema_version SET version = ?1 WHERE version < ?1", [FOUNDING])?,
    };
    Ok(())
}

pub(crate) fn column_names(connection: &Connection, table: &str) -> DbResult<Vec<String>> {
    let mut columns = connection.prepare("SELECT name FROM pragma_table_info(?1)")?;
    let names = columns.query_map([table], |row| row.get(0))?.collect::<Result<_, _>>()?;
    Ok(names)
}
