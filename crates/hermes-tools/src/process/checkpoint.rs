//! `processes.json`: what runs in the background, so that a later run of the program finds it again.
//!
//! Several programs share the file. Each replaces its own records under a lock and keeps those of the others; a record
//! whose program is gone belongs to whoever reads it next, if the process still is the one that was started. The file is
//! replaced as a whole, and only the owner may read it.

use crate::terminal::family::Identity;
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io::{self, Write};
use std::path::Path;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Record {
    pub(super) session_id: String,
    pub(super) command: String,
    pub(super) cwd: String,
    pub(super) pid: u32,
    /// The kernel's.
    pub(super) host_start_time: u64,
    /// Seconds since 1970.
    pub(super) started_at: f64,
    /// The conversation it belongs to.
    pub(super) session_key: String,
    pub(super) mark: String,
    pub(super) owner_pid: u32,
    pub(super) owner_start_time: u64,
}

impl Record {
    pub(super) fn process(&self) -> Identity {
        Identity { pid: self.pid, born: self.host_start_time }
    }

    fn owner(&self) -> Identity {
        Identity { pid: self.owner_pid, born: self.owner_start_time }
    }
}

/// Records whose program is gone but whose process is not.
pub(super) fn orphans(path: &Path) -> Vec<Record> {
    let found = read(path).unwrap_or_else(|error| {
        tracing::warn!(path = %path.display(), %error, "background processes of earlier runs cannot be read");
        Vec::new()
    });
    found.into_iter().filter(|record| !record.owner().lives() && record.process().lives()).collect()
}

/// Replaces the records of `owner`, and those it adopted, by `mine`.
pub(super) fn replace(path: &Path, owner: Identity, mine: &[Record]) -> io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    let lock = File::options().create(true).truncate(false).write(true).open(path.with_extension("json.lock"))?;
    lock.lock()?;
    let adopted = |record: &Record| mine.iter().any(|own| own.session_id == record.session_id);
    // What cannot be read is no reason to lose what runs now.
    let others = read(path).unwrap_or_default().into_iter();
    let others = others.filter(|record| record.owner() != owner && !adopted(record) && record.process().lives());
    let all: Vec<Record> = others.chain(mine.iter().cloned()).collect();
    let mut file = tempfile::NamedTempFile::new_in(folder)?;
    serde_json::to_writer_pretty(&mut file, &all)?;
    file.write_all(b"\n")?;
    file.as_file().sync_all()?;
    file.persist(path).map_err(|error| error.error)?;
    Ok(())
}

/// Records of another shape, such as the Python program's, are passed over.
fn read(path: &Path) -> io::Result<Vec<Record>> {
    let text = match std::fs::read(path) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let values: Vec<serde_json::Value> = serde_json::from_slice(&text)?;
    Ok(values.into_iter().filter_map(|value| serde_json::from_value(value).ok()).collect())
}
