//! What SQLite itself says about a file.

use rusqlite::Connection;
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
