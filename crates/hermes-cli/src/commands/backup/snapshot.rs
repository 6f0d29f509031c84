//! Quick copies of what matters most, inside the home: before something is replaced, or because a person wants one.

use super::super::Trouble;
use super::content::{self, Item, Kind};
use crate::settings::Home;
use crate::settings::disk::{self, DiskError};
use std::fs;
use std::path::{Path, PathBuf};

const FOLDER: &str = "state-snapshots";
/// Older ones make room.
const KEPT: usize = 20;
const LONGEST_LABEL: usize = 40;
/// Settings, keys and what programs know. Databases are copied through SQLite.
const FILES: [&str; 17] = [
    "state.db",
    "config.yaml",
    ".env",
    "auth.json",
    "cron/jobs.json",
    "cron/executions.db",
    "gateway_state.json",
    "channel_directory.json",
    "channel_aliases.json",
    "processes.json",
    "gateway/discord_message_recovery.db",
    "projects.db",
    "response_store.db",
    "memory_store.db",
    "verification_evidence.db",
    "kanban.db",
    "feishu_comment_pairing.json",
];

pub(super) struct Taken {
    pub(super) folder: PathBuf,
    pub(super) files: usize,
    pub(super) troubles: Vec<String>,
}

/// Copies the files that matter.
pub(super) fn take(home: &Home, label: Option<&str>) -> Result<Taken, Trouble> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    if label.is_some_and(|label| label.is_empty() || label.len() > LONGEST_LABEL || !label.chars().all(is_plain)) {
        return Err(Trouble::Usage("A label has letters, digits, `-` and `_`, at most 40 of them.".into()));
    }
    let is_there = |name: &&&str| home.dir().join(name).is_file();
    let names: Vec<String> = FILES.iter().filter(is_there).map(|name| (*name).to_owned()).collect();
    if names.is_empty() {
        let home = home.dir().display();
        return Err(Trouble::Refused(format!(
            "{home} holds neither settings nor keys nor sessions yet; nothing to copy."
        )));
    }
    copy(home, &names, label)
}

/// Copies these files of a home, as far as they are there, and makes room among the older copies.
pub(super) fn copy(home: &Home, names: &[String], label: Option<&str>) -> Result<Taken, Trouble> {
    let folder = new_folder(home, label)?;
    let mut taken = Taken { folder, files: 0, troubles: Vec::new() };
    for name in names {
        let item = Item { name: name.clone(), path: home.dir().join(name), kind: Kind::File };
        if !item.path.is_file() {
            continue;
        }
        let to = taken.folder.join(name);
        if let Some(above) = to.parent() {
            disk::create_folder(above)?;
        }
        let trouble = content::copy(&item, &to).map_err(|reason| DiskError::Write { path: to.clone(), reason })?;
        taken.troubles.extend(trouble);
        taken.files += 1;
    }
    make_room(&home.dir().join(FOLDER));
    Ok(taken)
}

/// Two copies in one second get different names.
fn new_folder(home: &Home, label: Option<&str>) -> Result<PathBuf, Trouble> {
    let time = jiff::Zoned::now().strftime("%Y%m%d-%H%M%S").to_string();
    let label = label.map(|label| format!("-{label}")).unwrap_or_default();
    let above = home.dir().join(FOLDER);
    let free = (1..).map(|number| match number {
        1 => above.join(format!("{time}{label}")),
        number => above.join(format!("{time}{label}-{number}")),
    });
    let folder = free.into_iter().find(|folder| !folder.exists()).unwrap_or(above);
    disk::create_folder(&folder)?;
    Ok(folder)
}

/// Removes the oldest copies; other things in the folder are left alone.
fn make_room(above: &Path) {
    let is_copy = |name: &str| name.len() >= 15 && name.chars().take(8).all(|c| c.is_ascii_digit());
    let entries = fs::read_dir(above).into_iter().flatten().flatten();
    let mut copies: Vec<PathBuf> = entries
        .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()))
        .filter(|entry| entry.file_name().to_str().is_some_and(is_copy))
        .map(|entry| entry.path())
        .collect();
    copies.sort();
    let too_many = copies.len().saturating_sub(KEPT);
    for old in copies.iter().take(too_many) {
        if let Err(error) = fs::remove_dir_all(old) {
            tracing::warn!("{} could not be removed: {error}", old.display());
        }
    }
}
