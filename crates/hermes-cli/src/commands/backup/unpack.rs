//! Reading a zip file that anybody may have made: nothing leaves its folder, nothing grows without end.

use super::super::Trouble;
use super::content;
use crate::settings::disk::{self, DiskError};
use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::path::{Component, Path};
use zip::ZipArchive;

const MOST_FILES: usize = 200_000;
const LARGEST: u64 = 64 << 30;
/// More than this from one byte is a bomb; a small backup may be packed well.
const MOST_GROWTH: u64 = 200;
const ALWAYS_FINE: u64 = 256 << 20;
/// At least one of these is in every home.
const MARKS: [&str; 5] = ["config.yaml", ".env", "state.db", "auth.json", "SOUL.md"];
/// Closed to others, whatever the archive says.
const SECRET: [&str; 4] = [".env", "auth.json", "config.yaml", "state.db"];
const LINK: u32 = 0o120_000;
const KIND: u32 = 0o170_000;

/// A file in the archive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Packed {
    index: usize,
    /// Its place in the home.
    pub(super) name: String,
    mode: u32,
    size: u64,
}

pub(super) struct Archive {
    zip: ZipArchive<File>,
    pub(super) files: Vec<Packed>,
}

impl Archive {
    /// Reads the list of files and refuses what no backup has.
    pub(super) fn open(path: &Path) -> Result<Self, Trouble> {
        let file = File::open(path).map_err(|reason| DiskError::Read { path: path.to_owned(), reason })?;
        let packed = file.metadata().map_or(0, |file| file.len());
        let refuse = |reason: &str| Trouble::Refused(format!("{}: {reason}. Nothing was changed.", path.display()));
        let mut zip = ZipArchive::new(file).map_err(|error| refuse(&format!("it is no zip file ({error})")))?;
        if zip.len() > MOST_FILES {
            return Err(refuse("it holds more files than a home can have"));
        }
        let mut files = Vec::with_capacity(zip.len());
        let mut total = 0u64;
        for index in 0..zip.len() {
            let entry = zip.by_index(index).map_err(|error| refuse(&format!("it cannot be read ({error})")))?;
            let name = entry.name().map_err(|_| refuse("it holds a name that is no text"))?.into_owned();
            if !is_inside(&name) {
                return Err(refuse(&format!("it holds `{}`, which leads out of the home", name.escape_debug())));
            }
            let mode = entry.unix_mode().unwrap_or(0o600);
            if mode & KIND == LINK || entry.is_symlink() {
                return Err(refuse(&format!("it holds the link `{}`; backups hold files only", name.escape_debug())));
            }
            total = total.saturating_add(entry.size());
            if !entry.is_dir() {
                files.push(Packed { index, name, mode, size: entry.size() });
            }
        }
        if total > LARGEST || (total > ALWAYS_FINE && total / MOST_GROWTH > packed) {
            return Err(refuse("it would unpack to far more than it holds"));
        }
        let mut archive = Self { zip, files };
        archive
            .find_home()
            .ok_or_else(|| refuse(&format!("it is no backup of a home: none of {} is in it", MARKS.join(", "))))?;
        Ok(archive)
    }

    /// Takes a folder that everything lies in away, and what no backup should hold.
    fn find_home(&mut self) -> Option<()> {
        let has_mark = |prefix: &str| {
            let is_mark = |file: &Packed| file.name.strip_prefix(prefix).is_some_and(|name| MARKS.contains(&name));
            self.files.iter().any(is_mark)
        };
        let prefix = if has_mark("") {
            String::new()
        } else {
            let (folder, _) = self.files.first()?.name.split_once('/')?;
            let prefix = format!("{folder}/");
            let all_inside = self.files.iter().all(|file| file.name.starts_with(&prefix));
            (all_inside && has_mark(&prefix)).then_some(prefix)?
        };
        for file in &mut self.files {
            file.name = file.name.strip_prefix(&prefix).unwrap_or_default().to_owned();
        }
        self.files.retain(|file| !content::is_left_out(&file.name));
        let mut seen = std::collections::HashSet::new();
        self.files.iter().all(|file| seen.insert(file.name.clone())).then_some(())
    }

    /// Unpacks everything into an empty folder. A file that is larger than it said, or altered, is refused.
    pub(super) fn unpack(&mut self, folder: &Path) -> Result<(), Trouble> {
        for file in &self.files {
            let to = folder.join(&file.name);
            let unwritable = |reason: io::Error| DiskError::Write { path: to.clone(), reason };
            if let Some(above) = to.parent() {
                disk::create_folder(above)?;
            }
            let entry = self.zip.by_index(file.index).map_err(|error| unwritable(error.into()))?;
            let mut options = OpenOptions::new();
            options.write(true).create_new(true);
            #[cfg(unix)]
            std::os::unix::fs::OpenOptionsExt::mode(&mut options, file.final_mode());
            let mut target = options.open(&to).map_err(unwritable)?;
            let written = io::copy(&mut entry.take(file.size.saturating_add(1)), &mut target).map_err(unwritable)?;
            if written != file.size {
                return Err(unwritable(io::Error::other("its size in the archive is a lie")).into());
            }
            target.sync_all().map_err(unwritable)?;
        }
        Ok(())
    }
}

impl Packed {
    fn final_mode(&self) -> u32 {
        if SECRET.contains(&self.name.rsplit('/').next().unwrap_or_default()) {
            0o600
        } else {
            (self.mode & 0o755) | 0o600
        }
    }
}

/// Plain names below the folder, as every system reads them.
fn is_inside(name: &str) -> bool {
    let plain = !name.is_empty() && !name.contains(['\\', '\0', ':']) && !name.contains(char::is_control);
    plain && Path::new(name).components().all(|part| matches!(part, Component::Normal(_)))
}
