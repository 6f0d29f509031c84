//! Putting a backup in the place of a home's files.

use super::super::Trouble;
use super::content::{self, Kind};
use super::unpack::{Archive, Packed};
use super::{counted, snapshot, told};
use crate::settings::Home;
use crate::settings::disk::{self, DiskError};
use hermes_core::store::StoreError;
use std::fs;
use std::path::Path;
use tempfile::TempDir;

/// What a person asks for first.
const MOST_IMPORTANT: [&str; 5] = ["state.db", "config.yaml", ".env", "auth.json", "SOUL.md"];

/// An archive that was looked through, and where it goes.
pub(super) struct Plan {
    archive: Archive,
    replaced: Vec<String>,
}

/// An archive that lies unpacked beside the files it replaces. Dropped, it leaves nothing.
pub(super) struct Staged {
    plan: Plan,
    folder: TempDir,
    /// What is wrong with the files that come.
    pub(super) warnings: Vec<String>,
}

pub(super) struct Done {
    pub(super) files: usize,
    /// Where the old files are now.
    pub(super) saved: Option<snapshot::Taken>,
}

impl Plan {
    /// Reads an archive, and refuses it when something in the home is in its way.
    pub(super) fn read(file: &Path, home: &Home) -> Result<Self, Trouble> {
        let archive = Archive::open(file)?;
        for file in &archive.files {
            check_way(home.dir(), file)?;
        }
        let is_replaced = |file: &&Packed| {
            let is_log = content::database_of_log(&file.name).is_some();
            file.kind == Kind::File && !is_log && home.dir().join(&file.name).exists()
        };
        let mut replaced: Vec<String> =
            archive.files.iter().filter(is_replaced).map(|file| file.name.clone()).collect();
        replaced.sort_by_key(|name| MOST_IMPORTANT.iter().position(|known| known == name).unwrap_or(usize::MAX));
        Ok(Self { archive, replaced })
    }

    /// The files of the home that are replaced, the most important ones first.
    pub(super) fn replaced(&self) -> &[String] {
        &self.replaced
    }

    /// What is in the archive and does not come to the home.
    pub(super) fn left_out(&self) -> &[String] {
        &self.archive.left_out
    }

    /// Unpacks and looks through the files. The home keeps what it has.
    pub(super) fn stage(mut self, home: &Home) -> Result<Staged, Trouble> {
        home.create()?;
        self.refuse_users(home)?;
        let unwritable = |reason| DiskError::Write { path: home.dir().to_owned(), reason };
        let folder = tempfile::Builder::new().prefix(".import-").tempdir_in(home.dir()).map_err(unwritable)?;
        let fresh = folder.path().join("new");
        disk::create_folder(&fresh)?;
        self.archive.unpack(&fresh)?;
        let sessions = self.archive.files.iter().filter(|file| is_sessions(&file.name));
        let warnings = sessions.filter_map(|file| {
            let damage = damage(&fresh.join(&file.name))?;
            Some(format!(
                "{}: the backup holds it damaged ({damage}), and it comes back as it is. \
                 `hermes sessions recover` then saves what can be read.",
                told(&home.dir().join(&file.name).to_string_lossy())
            ))
        });
        let warnings = warnings.collect();
        Ok(Staged { plan: self, folder, warnings })
    }

    /// Nobody has a database open that is replaced.
    fn refuse_users(&self, home: &Home) -> Result<(), Trouble> {
        for name in self.replaced.iter().filter(|name| content::is_database(name)) {
            let place = home.dir().join(name);
            if let Some(user) = hermes_store::user_of(&place) {
                return Err(Trouble::Refused(format!(
                    "{} is in use by {user}. Nothing was changed; end it and try again.",
                    told(&place.to_string_lossy())
                )));
            }
        }
        Ok(())
    }
}

impl Staged {
    pub(super) fn carry_out(self, home: &Home) -> Result<Done, Trouble> {
        // Somebody may have come while the person thought about it.
        self.plan.refuse_users(home)?;
        let Plan { archive, replaced } = &self.plan;
        let (fresh, old) = (self.folder.path().join("new"), self.folder.path().join("old"));
        disk::create_folder(&old)?;
        let saved = match replaced.is_empty() {
            true => None,
            false => Some(snapshot::copy(home, replaced, Some("before-import"))?),
        };
        for (number, file) in archive.files.iter().enumerate() {
            let (from, to) = (fresh.join(&file.name), home.dir().join(&file.name));
            put_in_place(file, &from, &to, &old.join(format!("{number}.db"))).map_err(|error| {
                let (name, done) = (told(&file.name), counted(number, "file"));
                let saved = saved.as_ref().map(|saved| format!(" What was replaced is in {}.", saved.folder.display()));
                let saved = saved.unwrap_or_default();
                Trouble::Refused(format!("{name} did not come back: {error}\nBefore that {done} came back.{saved}"))
            })?;
        }
        Ok(Done { files: archive.files.len(), saved })
    }
}

/// Moves a file to its place. A database that is there gets a second name first, so that nobody mixes up their logs.
fn put_in_place(file: &Packed, from: &Path, to: &Path, old_as: &Path) -> Result<(), Trouble> {
    if let Some(above) = to.parent() {
        disk::create_folder(above)?;
    }
    if file.kind == Kind::File && content::is_database(&file.name) && to.exists() {
        hermes_store::replace(to, from, old_as)?;
    } else {
        fs::rename(from, to).map_err(|reason| DiskError::Write { path: to.to_owned(), reason })?;
    }
    Ok(())
}

/// Nothing is written through a link, which may lead anywhere, and no folder gives way to a file.
fn check_way(home: &Path, file: &Packed) -> Result<(), Trouble> {
    let mut place = home.to_owned();
    let refuse = |place: &Path, what: &str| {
        Err(Trouble::Refused(format!(
            "{} is {what}. Nothing was changed; move it away and try again.",
            told(&place.to_string_lossy())
        )))
    };
    let mut parts = file.name.split('/').peekable();
    while let Some(part) = parts.next() {
        place.push(part);
        let Ok(there) = place.symlink_metadata() else { break };
        let is_last = parts.peek().is_none();
        match &file.kind {
            Kind::Link(way) if is_last && fs::read_link(&place).is_ok_and(|there| there == Path::new(way)) => {}
            Kind::Link(_) if is_last => return refuse(&place, "in the way of a link of the same name in the backup"),
            _ if there.is_symlink() => return refuse(&place, "a link, and an import writes files"),
            _ if is_last && there.is_dir() => {
                return refuse(&place, "a folder, and in the backup a file has that name");
            }
            _ if !is_last && !there.is_dir() => {
                return refuse(&place, "a file, and in the backup a folder has that name");
            }
            _ => {}
        }
    }
    let whole = home.join(&file.name);
    let log = content::log_beside(&whole);
    if content::is_database(&file.name) && !whole.exists() && log.exists() {
        return refuse(&log, "the log of a database that is gone, and would be taken for a log of the new one");
    }
    Ok(())
}

/// The sessions of the home, or of a profile in it.
fn is_sessions(name: &str) -> bool {
    name.rsplit('/').next() == Some("state.db")
}

/// What is wrong with the sessions in a file. Where it lies is nobody's business.
fn damage(path: &Path) -> Option<String> {
    match hermes_store::diagnose_tables(path) {
        Ok(found) => found,
        Err(StoreError::Damaged { detail, .. }) => Some(detail),
        // What to do about it is told once.
        Err(StoreError::Unusable { reason, .. }) => reason.split(';').next().map(str::to_owned),
        Err(StoreError::Failed(reason)) => Some(reason),
        // A newer program's file, for example: it is not for us to judge.
        Err(_) => None,
    }
}
