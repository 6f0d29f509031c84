//! What SQLite itself says about a file, and what stands in it, read past all code of the store.

use rusqlite::Connection;
use serde_json::Value;
use std::path::Path;

/// Everything `PRAGMA integrity_check` finds wrong; nothing where there is no file.
pub fn integrity(path: &Path) -> Vec<String> {
    if !path.exists() {
        return Vec::new();
    }
    let connection = Connection::open(path).expect("a database");
    let mut check = connection.prepare("PRAGMA integrity_check").expect("a check");
    let lines = check.query_map([], |row| row.get::<_, String>(0)).expect("a check");
    lines.map(|line| line.expect("a line")).filter(|line| line != "ok").collect()
}

/// A row of a conversation, as far as it must fit the others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    pub role: String,
    /// The calls that an assistant makes.
    pub calls: Vec<String>,
    /// The call that a result answers.
    pub answers: Option<String>,
}

/// The rows of a session in the order they were written.
pub fn lines_of(path: &Path, session: &str) -> Vec<Line> {
    let connection = Connection::open(path).expect("a database");
    let sql = "SELECT role, tool_calls, tool_call_id FROM messages WHERE session_id = ?1 ORDER BY id";
    let mut query = connection.prepare(sql).expect("a query");
    let read = |row: &rusqlite::Row<'_>| {
        let calls: Value =
            serde_json::from_str(&row.get::<_, Option<String>>(1)?.unwrap_or_default()).unwrap_or_default();
        let ids = calls.as_array().into_iter().flatten().map(|call| call["id"].as_str().expect("an id").to_owned());
        Ok(Line { role: row.get(0)?, calls: ids.collect(), answers: row.get(2)? })
    };
    query.query_map([session], read).expect("rows").map(|line| line.expect("a row")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_lost_a_page_is_not_whole() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("a.db");
        assert_eq!(integrity(&path), Vec::<String>::new());
        let connection = Connection::open(&path).expect("a database");
        let fill = "CREATE TABLE t(x); CREATE INDEX i ON t(x); INSERT INTO t VALUES('a'), ('b')";
        connection.execute_batch(fill).expect("filled");
        drop(connection);
        assert_eq!(integrity(&path), Vec::<String>::new());
        let mut bytes = std::fs::read(&path).expect("the file");
        let pages = bytes.len() / 4096;
        // The last page is that of the index: one entry less than the table has.
        bytes[(pages - 1) * 4096 + 4] = 1;
        std::fs::write(&path, bytes).expect("damaged");
        assert_ne!(integrity(&path), Vec::<String>::new());
    }
}
