//! A file that nobody else can write, from the moment it is copied until another one is in its place.
//!
//! Three things see to that: a lock over the whole file, which no program that uses SQLite gets past, whatever the state
//! of the file; the mark of damage, which our programs heed where locks do not work; and a look, before the files are
//! swapped, whether it is still what was copied. The lock belongs to the process: it goes when this process opens and
//! closes the file elsewhere, so that nobody does while it is held.

use crate::fault::file_fault;
use crate::health::marker::{self, beside};
use hermes_core::store::StoreError;
use std::fs::{self, File, Metadata, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// What may hold a part of a database, by the addition to its name.
pub(super) const LOGS: [&str; 2] = ["-wal", "-journal"];

/// A database that is ours alone, to be [recovered](Self::recover) and [replaced](Self::replace).
pub struct Held {
    /// The name that programs know; the mark is beside it.
    pub(super) path: PathBuf,
    /// Where the file and its logs are: the name may be a link.
    pub(super) real: PathBuf,
    pub(super) file: File,
    /// What the file was when it was copied.
    pub(super) copied: Option<Stamp>,
    /// The mark is ours to remove.
    marked: bool,
}

/// Changes when anybody writes to a database.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Stamp([Option<(u64, SystemTime)>; 3]);

impl Held {
    /// Refuses when another process has the file open. This process must not have it open.
    pub fn take(path: &Path) -> Result<Self, StoreError> {
        let real = fs::canonicalize(path).map_err(file_fault(path))?;
        let file = match OpenOptions::new().read(true).write(true).open(&real) {
            Ok(file) => {
                lock(&file).map_err(|InUse| busy(path))?;
                file
            }
            // Whoever may not write may not lock either.
            Err(_) => File::open(&real).map_err(file_fault(path))?,
        };
        let is_current = || -> io::Result<bool> { Ok(identity(&file.metadata()?) == identity(&fs::metadata(&real)?)) };
        if !is_current().map_err(file_fault(path))? {
            return Err(busy(path));
        }
        Ok(Self { path: path.to_owned(), real, file, copied: None, marked: false })
    }

    /// Keeps our programs from writing, also after a crash. Without a replacement the mark goes at the end.
    pub fn mark(&mut self, why: &str) {
        if marker::read(&self.path).is_none() {
            marker::set(&self.path, why);
            self.marked = true;
        }
    }

    /// Somebody else took the mark away.
    pub(super) fn unmark(&mut self) {
        self.marked = false;
    }

    pub(super) fn stamp(&self) -> Stamp {
        let of = |addition: &str| {
            // Readers leave an empty log behind.
            let there = fs::metadata(beside(&self.real, addition)).ok().filter(|there| there.len() > 0)?;
            Some((there.len(), there.modified().unwrap_or(SystemTime::UNIX_EPOCH)))
        };
        let [log, journal] = LOGS.map(of);
        Stamp([of(""), log, journal])
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        if self.marked
            && let Err(error) = marker::remove(&self.path)
        {
            tracing::warn!("the mark of damage beside {} stays: {error}", self.path.display());
        }
    }
}

pub(super) fn busy(path: &Path) -> StoreError {
    StoreError::Busy { place: path.display().to_string() }
}

/// Another process holds a lock.
struct InUse;

/// SQLite locks bytes of the file as long as it uses it, and all the time where there is a log: this lock covers them all.
/// Where there are no locks, it goes without.
#[cfg(unix)]
fn lock(file: &File) -> Result<(), InUse> {
    use rustix::fs::{FlockOperation, fcntl_lock};
    use rustix::io::Errno;
    match fcntl_lock(file, FlockOperation::NonBlockingLockExclusive) {
        Err(Errno::AGAIN | Errno::ACCESS) => Err(InUse),
        _ => Ok(()),
    }
}

#[cfg(not(unix))]
fn lock(file: &File) -> Result<(), InUse> {
    match file.try_lock() {
        Err(fs::TryLockError::WouldBlock) => Err(InUse),
        _ => Ok(()),
    }
}

/// Which file this is, whatever its names; `None` where that is not told.
#[cfg(unix)]
pub(super) fn identity(file: &Metadata) -> Option<(u64, u64)> {
    use std::os::unix::fs::MetadataExt;
    Some((file.dev(), file.ino()))
}

#[cfg(not(unix))]
pub(super) fn identity(_file: &Metadata) -> Option<(u64, u64)> {
    None
}
