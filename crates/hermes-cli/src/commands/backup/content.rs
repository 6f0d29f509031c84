//! What of a home is worth keeping, and how a file is copied out of it.
//!
//! Left out is what can be had again, what is a copy itself, and what belongs to running programs: most of it at the top of
//! a home (or of a profile's) only, because further down a folder called `cache` is the person's own. Links are not
//! followed: one that stays in the home is kept as a link, another one is named and left out.

use super::super::Trouble;
use super::{links, told};
use crate::settings::disk::DiskError;
use hermes_core::store::StoreError;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Programs and what they make again; the person's own work is never in a folder of such a name.
const FOLDERS_MADE_AGAIN: [&str; 5] = ["node_modules", "venv", ".venv", "__pycache__", ".pytest_cache"];
const ENDINGS_MADE_AGAIN: [&str; 2] = [".pyc", ".pyo"];
/// The installation, caches and other copies, at the top of a home.
const FOLDERS_AT_TOP: [&str; 8] =
    ["hermes-agent", "cache", ".cache", "image_cache", "audio_cache", "backups", "checkpoints", "state-snapshots"];
/// Copies that recovery leaves, at the top of a home.
const COPIES_AT_TOP: [&str; 2] = ["state.db.damaged-", "state.db.recovered-"];
/// Locks, and the mark that belongs to one damaged file.
const RUNNING_AT_TOP: [&str; 4] = ["config.lock", "auth.lock", "gateway.lock", "state.db.damaged"];
/// Work that was cut off: one of these, and six letters or digits.
const UNFINISHED_AT_TOP: [&str; 4] = [".hermes-", ".hermes-backup-", ".import-", ".recover-"];
const LETTERS_OF_UNFINISHED: usize = 6;
const LOG: &str = "-wal";
const BESIDE_DATABASES: [&str; 3] = [LOG, "-shm", "-journal"];

/// Whether something belongs into a backup.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Standing {
    Kept,
    /// The person is told.
    LeftOut,
    /// It means nothing without the program that made it, and is passed over.
    Running,
}

/// What an entry of a backup is.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    File,
    /// With the way it leads, which stays in the home.
    Link(String),
}

/// A file or link of the home by its place in it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Item {
    /// With `/` between folders.
    pub(super) name: String,
    pub(super) path: PathBuf,
    pub(super) kind: Kind,
}

#[derive(Debug, Default)]
pub(super) struct Content {
    pub(super) items: Vec<Item>,
    /// What can be had again; folders end in `/`.
    pub(super) left_out: Vec<String>,
    /// What is worth knowing, though nothing is missing.
    pub(super) notes: Vec<String>,
    /// What is missing in the backup, or not as it should be.
    pub(super) troubles: Vec<String>,
}

impl Content {
    /// Everything worth keeping below `home`, in the order of the names.
    pub(super) fn of(home: &Path) -> Result<Self, Trouble> {
        let mut content = Self::default();
        let real = fs::canonicalize(home).and_then(|real| fs::read_dir(&real).map(|_| real));
        let real = real.map_err(|reason| DiskError::Read { path: home.to_owned(), reason })?;
        content.walk(&real, &real, "");
        content.items.sort();
        content.left_out.sort();
        Ok(content)
    }

    fn walk(&mut self, home: &Path, folder: &Path, prefix: &str) {
        let unreadable =
            |name: &str, error: &io::Error| format!("{} cannot be read, and is left out: {error}.", told(name));
        let entries = match fs::read_dir(folder) {
            Ok(entries) => entries,
            Err(error) => return self.troubles.push(unreadable(prefix, &error)),
        };
        for entry in entries {
            let (entry, kind) = match entry.and_then(|entry| entry.file_type().map(|kind| (entry, kind))) {
                Ok(found) => found,
                Err(error) => {
                    self.troubles.push(unreadable(prefix, &error));
                    continue;
                }
            };
            let path = entry.path();
            let plain = entry.file_name();
            let name = format!("{prefix}{}", plain.to_string_lossy());
            if plain.to_str().is_none() {
                self.troubles.push(format!("{} is left out: its name is no text.", told(&name)));
            } else if kind.is_symlink() {
                self.link(home, path, name);
            } else if kind.is_dir() {
                self.folder(home, &path, &name);
            } else if kind.is_file() {
                self.file(path, name);
            }
            // Sockets and pipes hold nothing.
        }
    }

    fn folder(&mut self, home: &Path, path: &Path, name: &str) {
        if folder_is_left_out(name) {
            return self.left_out.push(format!("{name}/"));
        }
        if is_database(name) {
            self.notes.push(format!("{} is a folder, where a database is expected; its files are packed.", told(name)));
        }
        self.walk(home, path, &format!("{name}/"));
    }

    fn file(&mut self, path: PathBuf, name: String) {
        match file_standing(&name) {
            Standing::Kept => self.items.push(Item { name, path, kind: Kind::File }),
            Standing::LeftOut => self.left_out.push(name),
            // What a log holds comes with its database.
            Standing::Running => {
                let is_alone = |database| !path.with_file_name(last(database)).exists();
                if database_of_log(&name).is_some_and(is_alone) {
                    self.troubles.push(format!("{} is left out: it has no database.", told(&name)));
                }
            }
        }
    }

    fn link(&mut self, home: &Path, path: PathBuf, name: String) {
        match file_standing(&name) {
            Standing::Running => return,
            Standing::LeftOut => return self.left_out.push(name),
            Standing::Kept if folder_is_left_out(&name) => return self.left_out.push(name),
            Standing::Kept => {}
        }
        let target = fs::read_link(&path).unwrap_or_default();
        if let Some(way) = links::way_inside(home, &name, &target) {
            return self.items.push(Item { name, path, kind: Kind::Link(way) });
        }
        let (name, target) = (told(&name), told(&target.to_string_lossy()));
        if path.exists() {
            self.troubles.push(format!("{name} is left out: it is a link out of the home, to {target}."));
        } else {
            self.notes.push(format!("{name} is left out: it is a link to {target}, where nothing is."));
        }
    }
}

/// Whether a file of an archive belongs into a home, by its whole place.
pub(super) fn standing(name: &str) -> Standing {
    let mut folders = name.match_indices('/').filter_map(|(end, _)| name.get(..end));
    if folders.any(folder_is_left_out) { Standing::LeftOut } else { file_standing(name) }
}

fn folder_is_left_out(name: &str) -> bool {
    FOLDERS_MADE_AGAIN.contains(&last(name))
        || at_top(name).is_some_and(|name| FOLDERS_AT_TOP.contains(&name) || is_unfinished(name))
}

fn file_standing(name: &str) -> Standing {
    if is_beside_database(name) || is_gate(last(name)) {
        return Standing::Running;
    }
    if ENDINGS_MADE_AGAIN.iter().any(|ending| name.ends_with(ending)) {
        return Standing::LeftOut;
    }
    match at_top(name) {
        Some(name) if RUNNING_AT_TOP.contains(&name) || name.ends_with(".pid") => Standing::Running,
        Some(name) if COPIES_AT_TOP.iter().any(|copy| name.starts_with(copy)) => Standing::LeftOut,
        Some(name) if is_unfinished(name) => Standing::LeftOut,
        _ => Standing::Kept,
    }
}

/// The name of what lies directly in a home, or in the home of a profile.
fn at_top(name: &str) -> Option<&str> {
    let of_profile = name.strip_prefix("profiles/").and_then(|rest| rest.split_once('/'));
    let name = of_profile.map_or(name, |(_, name)| name);
    (!name.contains('/')).then_some(name)
}

fn is_unfinished(name: &str) -> bool {
    UNFINISHED_AT_TOP
        .iter()
        .filter_map(|beginning| name.strip_prefix(beginning))
        .any(|rest| rest.len() == LETTERS_OF_UNFINISHED && rest.chars().all(|c| c.is_ascii_alphanumeric()))
}

/// The two files where writers of a database wait for their turn.
fn is_gate(name: &str) -> bool {
    let stem = name.strip_suffix(".turn").or_else(|| name.strip_suffix(".next"));
    name.starts_with('.') && stem.is_some_and(is_database)
}

fn last(name: &str) -> &str {
    name.rsplit('/').next().unwrap_or_default()
}

pub(super) fn is_database(name: &str) -> bool {
    name.ends_with(".db")
}

/// Whether a database keeps this beside itself: its log, or what it finds its way in the log with.
fn is_beside_database(name: &str) -> bool {
    BESIDE_DATABASES.iter().filter_map(|ending| name.strip_suffix(ending)).any(is_database)
}

/// The database that a log belongs to.
pub(super) fn database_of_log(name: &str) -> Option<&str> {
    name.strip_suffix(LOG).filter(|name| is_database(name))
}

/// The name of the log of a database.
pub(super) fn log_of(database: &str) -> String {
    format!("{database}{LOG}")
}

/// Where the log of a database is.
pub(super) fn log_beside(database: &Path) -> PathBuf {
    let mut path = database.as_os_str().to_owned();
    path.push(LOG);
    path.into()
}

/// Copies a file, a database through SQLite. One that is damaged is copied as it is, with its log beside it; the reason
/// comes back.
pub(super) fn copy(item: &Item, to: &Path) -> io::Result<Option<String>> {
    if !is_database(&item.name) {
        return fs::copy(&item.path, to).map(|_| None);
    }
    let error = match hermes_store::backup(&item.path, to) {
        Ok(()) => return Ok(None),
        Err(StoreError::Full { .. }) => return Err(io::ErrorKind::StorageFull.into()),
        Err(error) => error,
    };
    fs::copy(&item.path, to)?;
    let log = log_beside(&item.path);
    if fs::metadata(&log).is_ok_and(|log| log.len() > 0) {
        fs::copy(&log, log_beside(to))?;
    }
    Ok(Some(format!(
        "{} was copied as it is, because it could not be copied as a database: {error}.",
        told(&item.name)
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_can_be_had_again_is_left_out() {
        let table = [
            ("skills/a/Cargo.lock", Standing::Kept),
            ("skills/a/cache/data.txt", Standing::Kept),
            ("skills/a/.git/HEAD", Standing::Kept),
            ("memories/backups/x", Standing::Kept),
            ("profiles/cache/config.yaml", Standing::Kept),
            ("notes-journal", Standing::Kept),
            ("skills/a.pid", Standing::Kept),
            (".hermes-notes.md", Standing::Kept),
            ("logs/agent.log", Standing::Kept),
            ("cache/x", Standing::LeftOut),
            ("profiles/work/cache/x", Standing::LeftOut),
            ("skills/a/node_modules/b/c.js", Standing::LeftOut),
            ("skills/a/run.pyc", Standing::LeftOut),
            ("state.db.damaged-20260102_030405", Standing::LeftOut),
            ("profiles/work/state.db.recovered-20260102_030405", Standing::LeftOut),
            (".import-a1B2c3/new/config.yaml", Standing::LeftOut),
            ("state.db.damaged", Standing::Running),
            ("state.db-wal", Standing::Running),
            (".state.db.turn", Standing::Running),
            ("config.lock", Standing::Running),
            ("profiles/work/auth.lock", Standing::Running),
            ("gateway.pid", Standing::Running),
        ];
        for (name, expected) in table {
            assert_eq!(standing(name), expected, "{name}");
        }
    }
}
