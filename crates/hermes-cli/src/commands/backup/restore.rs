//! Putting a backup in the place of a home's files.

use super::super::Trouble;
use super::content;
use super::snapshot;
use super::unpack::Archive;
use crate::settings::Home;
use crate::settings::disk::{self, DiskError};
use std::fs;
use std::path::{Path, PathBuf};

/// An archive that was looked through, and where it goes.
pub(super) struct Plan {
    archive: Archive,
    replaced: Vec<String>,
}

pub(super) struct Done {
    pub(super) files: usize,
    /// Where the old files are now.
    pub(super) saved: Option<PathBuf>,
}

impl Plan {
    pub(super) fn read(file: &Path, home: &Home) -> Result<Self, Trouble> {
        let archive = Archive::open(file)?;
        let names = archive.files.iter().map(|file| &file.name);
        let replaced = names.filter(|name| home.dir().join(name).symlink_metadata().is_ok()).cloned().collect();
        Ok(Self { archive, replaced })
    }

    /// The files of the home that are in the way.
    pub(super) fn replaced(&self) -> &[String] {
        &self.replaced
    }

    pub(super) fn carry_out(mut self, home: &Home) -> Result<Done, Trouble> {
        home.create()?;
        for file in &self.archive.files {
            refuse_links(home.dir(), &file.name)?;
        }
        let unwritable = |reason| DiskError::Write { path: home.dir().to_owned(), reason };
        let staging = tempfile::Builder::new().prefix(".import-").tempdir_in(home.dir()).map_err(unwritable)?;
        let (fresh, old) = (staging.path().join("new"), staging.path().join("old"));
        disk::create_folder(&fresh)?;
        disk::create_folder(&old)?;
        self.archive.unpack(&fresh)?;
        check_databases(&self.archive, &fresh, home.dir())?;
        let saved = match self.replaced.is_empty() {
            true => None,
            false => Some(snapshot::copy(home, &self.replaced, Some("before-import"))?.folder),
        };
        for (number, file) in self.archive.files.iter().enumerate() {
            let (from, to) = (fresh.join(&file.name), home.dir().join(&file.name));
            if let Some(above) = to.parent() {
                disk::create_folder(above)?;
            }
            if content::is_database(&file.name) && to.exists() {
                hermes_store::replace(&to, &from, &old.join(format!("{number}.db")))?;
            } else {
                fs::rename(&from, &to).map_err(|reason| DiskError::Write { path: to.clone(), reason })?;
            }
        }
        Ok(Done { files: self.archive.files.len(), saved })
    }
}

/// Nothing is written through a link: it may lead anywhere.
fn refuse_links(home: &Path, name: &str) -> Result<(), Trouble> {
    let mut place = home.to_owned();
    for part in name.split('/') {
        place.push(part);
        if place.symlink_metadata().is_ok_and(|there| there.is_symlink()) {
            return Err(Trouble::Refused(format!(
                "{} is a link, and an import writes files. Nothing was changed; move it away and try again.",
                place.display()
            )));
        }
    }
    Ok(())
}

/// The databases of the archive are sound, and nobody writes to those they replace.
fn check_databases(archive: &Archive, fresh: &Path, home: &Path) -> Result<(), Trouble> {
    for file in archive.files.iter().filter(|file| content::is_database(&file.name)) {
        let place = home.join(&file.name);
        if place.exists()
            && let Some(user) = hermes_store::user_of(&place)
        {
            return Err(Trouble::Refused(format!(
                "{} is in use by {user}. Nothing was changed; end it and try again.",
                place.display()
            )));
        }
        if file.name == "state.db"
            && let Some(found) = hermes_store::diagnose_tables(&fresh.join(&file.name))?
        {
            return Err(Trouble::Refused(format!(
                "The sessions in the backup are damaged ({found}). Nothing was changed."
            )));
        }
    }
    Ok(())
}
