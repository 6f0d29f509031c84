//! Reading a zip file that anybody may have made: nothing leaves its folder, nothing grows without end.

use super::super::Trouble;
use super::content::{self, Kind, Standing};
use super::{links, times, told};
use crate::settings::disk::{self, DiskError};
use std::collections::HashSet;
use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::time::SystemTime;
use zip::ZipArchive;

const MOST_FILES: usize = 200_000;
const LARGEST: u64 = 64 << 30;
/// More than this from one byte is a bomb; a small backup may be packed well.
const MOST_GROWTH: u64 = 200;
const ALWAYS_FINE: u64 = 256 << 20;
const LONGEST_WAY: u64 = 4096;
/// At least one of these is in every home.
pub(super) const MARKS: [&str; 5] = ["config.yaml", ".env", "state.db", "auth.json", "SOUL.md"];
/// Closed to others, whatever the archive says.
const SECRET: [&str; 4] = [".env", "auth.json", "config.yaml", "state.db"];

/// A file or link in the archive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Packed {
    index: usize,
    /// Its place in the home.
    pub(super) name: String,
    pub(super) kind: Kind,
    mode: u32,
    size: u64,
    modified: Option<SystemTime>,
}

pub(super) struct Archive {
    path: PathBuf,
    zip: ZipArchive<File>,
    /// Logs of databases come last: they are put beside their database when that is in its place.
    pub(super) files: Vec<Packed>,
    /// What no home gets from a backup.
    pub(super) left_out: Vec<String>,
}

/// Why an archive of this much is not unpacked.
pub(super) fn beyond_limits(files: usize, unpacked: u64, packed: u64) -> Option<&'static str> {
    if files > MOST_FILES {
        Some("it holds more files than a home can have")
    } else if unpacked > LARGEST || (unpacked > ALWAYS_FINE && unpacked / MOST_GROWTH > packed) {
        Some("it would unpack to far more than it holds")
    } else {
        None
    }
}

impl Archive {
    /// Reads the list of files and refuses what no backup has.
    pub(super) fn open(path: &Path) -> Result<Self, Trouble> {
        let file = File::open(path).map_err(|reason| DiskError::Read { path: path.to_owned(), reason })?;
        let packed = file.metadata().map_or(0, |file| file.len());
        let refuse = |reason: &str| refused(path, reason);
        let zip = ZipArchive::new(file).map_err(|error| refuse(&format!("it is no zip file ({error})")))?;
        if let Some(reason) = beyond_limits(zip.len(), 0, packed) {
            return Err(refuse(reason));
        }
        let mut archive = Self { path: path.to_owned(), zip, files: Vec::new(), left_out: Vec::new() };
        let total = archive.list()?;
        if let Some(reason) = beyond_limits(archive.files.len(), total, packed) {
            return Err(refuse(reason));
        }
        archive
            .strip_folder()
            .ok_or_else(|| refuse(&format!("it is no backup of a home: none of {} is in it", MARKS.join(", "))))?;
        archive.sort_out();
        archive.check_links()?;
        Ok(archive)
    }

    /// Lists what is inside, and how much it becomes.
    fn list(&mut self) -> Result<u64, Trouble> {
        let refuse = |reason: &str| refused(&self.path, reason);
        let mut seen = HashSet::new();
        let mut total = 0u64;
        for index in 0..self.zip.len() {
            let mut entry =
                self.zip.by_index(index).map_err(|error| refuse(&format!("it cannot be read ({error})")))?;
            let name = entry.name().map_err(|_| refuse("it holds a name that is no text"))?.into_owned();
            if !is_inside(name.strip_suffix('/').unwrap_or(&name)) {
                return Err(refuse(&format!("it holds `{}`, which leads out of the home", told(&name))));
            }
            if !seen.insert(name.clone()) {
                return Err(refuse(&format!("it holds `{}` twice", told(&name))));
            }
            total = total.saturating_add(entry.size());
            if name.ends_with('/') {
                continue;
            }
            let kind = if entry.is_symlink() {
                let mut way = String::new();
                entry
                    .by_ref()
                    .take(LONGEST_WAY)
                    .read_to_string(&mut way)
                    .map_err(|error| refuse(&format!("the link `{}` cannot be read ({error})", told(&name))))?;
                Kind::Link(way)
            } else {
                Kind::File
            };
            let (mode, size) = (entry.unix_mode().unwrap_or(0o600), entry.size());
            self.files.push(Packed { index, name, kind, mode, size, modified: times::of_entry(&entry) });
        }
        Ok(total)
    }

    /// Takes a folder that everything lies in away.
    fn strip_folder(&mut self) -> Option<()> {
        let has_mark = |prefix: &str| {
            let is_mark = |file: &Packed| file.name.strip_prefix(prefix).is_some_and(|name| MARKS.contains(&name));
            self.files.iter().any(is_mark)
        };
        if has_mark("") {
            return Some(());
        }
        let (folder, _) = self.files.first()?.name.split_once('/')?;
        let prefix = format!("{folder}/");
        if !has_mark(&prefix) {
            return None;
        }
        for file in &mut self.files {
            file.name = file.name.strip_prefix(&prefix)?.to_owned();
        }
        Some(())
    }

    /// Takes away what no backup should hold. A log stays with its database.
    fn sort_out(&mut self) {
        let names: HashSet<String> = self.files.iter().map(|file| file.name.clone()).collect();
        let left_out = &mut self.left_out;
        self.files.retain(|file| match content::standing(&file.name) {
            Standing::Kept => true,
            Standing::LeftOut => {
                left_out.push(file.name.clone());
                false
            }
            Standing::Running => content::database_of_log(&file.name).is_some_and(|database| names.contains(database)),
        });
        self.files.sort_by_key(|file| content::database_of_log(&file.name).is_some());
    }

    fn check_links(&self) -> Result<(), Trouble> {
        for file in &self.files {
            if let Kind::Link(way) = &file.kind
                && !links::stays_inside(&file.name, way)
            {
                let reason = format!("it holds the link `{}`, which leads out of the home", told(&file.name));
                return Err(refused(&self.path, &reason));
            }
        }
        Ok(())
    }

    /// Unpacks everything into an empty folder. A file that is larger than it said, or altered, is refused.
    pub(super) fn unpack(&mut self, folder: &Path) -> Result<(), Trouble> {
        // Links come when all folders are made: no file is written through one.
        let (files, links): (Vec<&Packed>, Vec<&Packed>) = self.files.iter().partition(|file| file.kind == Kind::File);
        for file in files.into_iter().chain(links) {
            unpack_one(&mut self.zip, file, folder).map_err(|error| {
                refused(&self.path, &format!("`{}` cannot be unpacked ({error})", told(&file.name)))
            })?;
        }
        Ok(())
    }
}

fn refused(path: &Path, reason: &str) -> Trouble {
    Trouble::Refused(format!("{}: {reason}. Nothing was changed.", path.display()))
}

fn unpack_one(zip: &mut ZipArchive<File>, file: &Packed, folder: &Path) -> io::Result<()> {
    let to = folder.join(&file.name);
    if let Some(above) = to.parent() {
        disk::create_folder(above).map_err(|error| match error {
            DiskError::Write { reason, .. } => reason,
            other => io::Error::other(other),
        })?;
    }
    if let Kind::Link(way) = &file.kind {
        return links::make(way, &to);
    }
    let entry = zip.by_index(file.index)?;
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, file.final_mode());
    let mut target = options.open(&to)?;
    if io::copy(&mut entry.take(file.size.saturating_add(1)), &mut target)? != file.size {
        return Err(io::Error::other("its size in the archive is a lie"));
    }
    if let Some(modified) = file.modified {
        target.set_modified(modified)?;
    }
    target.sync_all()
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

/// A name below the folder, by the rules of this system: whatever a file here may be called can come back.
fn is_inside(name: &str) -> bool {
    let is_plain = |part: &str| !matches!(part, "" | "." | "..");
    let foreign: &[char] = if cfg!(windows) { &['\0', '\\', ':'] } else { &['\0'] };
    !name.contains(foreign) && name.split('/').all(is_plain)
}
