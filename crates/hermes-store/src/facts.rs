//! The store in numbers.

use crate::db::Db;
use crate::fault::DbResult;
use crate::row::text_at;
use hermes_types::{Moment, StoreFacts};
use std::path::Path;

pub(crate) fn facts(db: &Db, path: &Path) -> DbResult<StoreFacts> {
    let (sessions, ended, oldest, newest) = db.connection.query_row(
        "SELECT count(*), count(ended_at), CAST(min(started_at) AS REAL), CAST(max(started_at) AS REAL) FROM sessions",
        [],
        |row| Ok((row.get(0)?, row.get(1)?, row.get::<_, Option<f64>>(2)?, row.get::<_, Option<f64>>(3)?)),
    )?;
    // The length of a text stands before it: this reads no text.
    let (messages, text_bytes) = db.connection.query_row(
        "SELECT count(*), coalesce(sum(octet_length(content)), 0) FROM messages",
        [],
        |row| Ok((row.get(0)?, row.get(1)?)),
    )?;
    let mut sources = db
        .connection
        .prepare("SELECT source, count(*) FROM sessions GROUP BY source ORDER BY count(*) DESC, source")?;
    let mut rows = sources.query([])?;
    let mut by_source = Vec::new();
    while let Some(row) = rows.next()? {
        by_source.push((text_at(row, 0)?.unwrap_or_default(), row.get(1)?));
    }
    Ok(StoreFacts {
        schema_version: db.shape.version,
        sessions,
        ended,
        messages,
        by_source,
        oldest: oldest.map(Moment::from_seconds),
        newest: newest.map(Moment::from_seconds),
        text_bytes,
        disk_bytes: size_of(path) + size_of(&log_of(path)),
    })
}

/// The log that is not yet part of the file.
fn log_of(path: &Path) -> std::path::PathBuf {
    let mut log = path.as_os_str().to_owned();
    log.push("-wal");
    log.into()
}

fn size_of(path: &Path) -> u64 {
    std::fs::metadata(path).map_or(0, |facts| facts.len())
}
