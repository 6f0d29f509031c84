//! What of a home is worth keeping, and how a file is copied out of it.

use super::super::Trouble;
use crate::settings::disk::DiskError;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Programs, caches, other backups: everything that can be had again.
const FOLDERS_LEFT_OUT: [&str; 14] = [
    "hermes-agent",
    "node_modules",
    "venv",
    ".venv",
    "__pycache__",
    "cache",
    ".cache",
    "image_cache",
    "audio_cache",
    "backups",
    "checkpoints",
    "state-snapshots",
    ".git",
    ".pytest_cache",
];
/// What belongs to running programs.
const ENDINGS_LEFT_OUT: [&str; 10] =
    [".pyc", ".pyo", "-wal", "-shm", "-journal", ".pid", ".lock", ".sock", ".db.next", ".db.turn"];
/// Our own unfinished work.
const BEGINNINGS_LEFT_OUT: [&str; 3] = [".hermes-", ".import-", ".recover-"];
/// The mark of damage belongs to one file, not to its copies.
const NAMES_LEFT_OUT: [&str; 1] = ["state.db.damaged"];

/// A file of the home by its place in it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Item {
    /// With `/` between folders.
    pub(super) name: String,
    pub(super) path: PathBuf,
}

#[derive(Debug, Default)]
pub(super) struct Content {
    pub(super) items: Vec<Item>,
    /// What could not be taken along, and why.
    pub(super) troubles: Vec<String>,
}

impl Content {
    /// Everything worth keeping below `home`, in the order of the names.
    pub(super) fn of(home: &Path) -> Result<Self, Trouble> {
        let mut content = Self::default();
        let real = fs::canonicalize(home).map_err(|reason| DiskError::Read { path: home.to_owned(), reason })?;
        content.walk(&real, &real, "");
        content.items.sort();
        Ok(content)
    }

    fn walk(&mut self, home: &Path, folder: &Path, prefix: &str) {
        let entries = match fs::read_dir(folder) {
            Ok(entries) => entries,
            Err(error) => return self.troubles.push(format!("{} cannot be read: {error}", folder.display())),
        };
        for entry in entries.flatten() {
            let path = entry.path();
            let Some(plain) = entry.file_name().to_str().map(str::to_owned) else {
                self.troubles.push(format!("{} has a name that is no text; left out", path.display()));
                continue;
            };
            let name = format!("{prefix}{plain}");
            match fs::metadata(&path) {
                Ok(_) if entry.file_type().is_ok_and(|kind| kind.is_symlink()) => self.link(home, &path, name),
                Ok(there) if there.is_dir() => {
                    if !FOLDERS_LEFT_OUT.contains(&plain.as_str()) && !plain.starts_with(".import-") {
                        self.walk(home, &path, &format!("{name}/"));
                    }
                }
                Ok(there) if there.is_file() && is_kept(&plain) => self.items.push(Item { name, path }),
                // Sockets and pipes hold nothing.
                Ok(_) => {}
                Err(error) => self.troubles.push(format!("{} cannot be read: {error}", path.display())),
            }
        }
    }

    /// A link to a file of the home is that file; what lies elsewhere is not ours to pack.
    fn link(&mut self, home: &Path, path: &Path, name: String) {
        let target = fs::canonicalize(path).unwrap_or_default();
        let plain = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        if !is_kept(plain) {
            return;
        }
        if target.starts_with(home) && target.is_file() {
            self.items.push(Item { name, path: target });
        } else {
            self.troubles.push(format!("{} leads out of the home, to {}; left out", path.display(), target.display()));
        }
    }
}

/// Whether a file of this name belongs into a backup.
pub(super) fn is_kept(name: &str) -> bool {
    !ENDINGS_LEFT_OUT.iter().any(|ending| name.ends_with(ending))
        && !BEGINNINGS_LEFT_OUT.iter().any(|beginning| name.starts_with(beginning))
        && !NAMES_LEFT_OUT.contains(&name)
}

/// Whether any folder on the way to a file is left out of backups.
pub(super) fn is_left_out(name: &str) -> bool {
    let mut parts: Vec<&str> = name.split('/').collect();
    let last = parts.pop().unwrap_or_default();
    !is_kept(last) || parts.iter().any(|part| FOLDERS_LEFT_OUT.contains(part))
}

pub(super) fn is_database(name: &str) -> bool {
    name.ends_with(".db")
}

/// Copies a file, a database through SQLite. One that is damaged is copied as it is; the reason comes back.
pub(super) fn copy(item: &Item, to: &Path) -> io::Result<Option<String>> {
    if !is_database(&item.name) {
        return fs::copy(&item.path, to).map(|_| None);
    }
    let Err(error) = hermes_store::backup(&item.path, to) else { return Ok(None) };
    fs::copy(&item.path, to)?;
    Ok(Some(format!("{} was copied as it is, because it could not be copied as a database: {error}.", item.name)))
}
