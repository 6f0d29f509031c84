//! Another file takes the place of a database, and the database keeps its logs.
//!
//! A log beside the wrong file would destroy it, and a file without its log has lost what was written last. Two names
//! cannot be changed at once; so the old file first gets second names, for itself and its logs, that is noted in the mark
//! beside it, then the logs lose their first names, and then the new file takes the first name of the old one. When that
//! fails everything is put back; when it is cut off, the next recovery does so ([`take_back`]).

use super::hold::{Held, LOGS, busy, identity};
use crate::fault::file_fault;
use crate::health::marker::{self, beside};
use crate::private;
use hermes_core::store::StoreError;
use rusqlite::{Connection, OpenFlags};
use std::fs::{self, File};
use std::io::{self, Read, Seek};
use std::path::{Path, PathBuf};

/// Puts a file in the place of a database that nobody uses. The old one is kept under the name that comes back.
pub fn replace(path: &Path, fresh: &Path, kept_as: &Path) -> Result<PathBuf, StoreError> {
    if super::user_of(path).is_some() {
        return Err(busy(path));
    }
    // What is in the file cannot be parted from it any more. A damaged file may refuse.
    if let Ok(connection) = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_WRITE) {
        let _ = connection.execute_batch("SELECT count(*) FROM sqlite_master; PRAGMA wal_checkpoint(TRUNCATE)");
    }
    Held::take(path)?.replace(fresh, kept_as)
}

/// Takes back a swap that was cut off in the middle: the old file gets its logs back. Tells whether there was one.
pub fn take_back(path: &Path) -> Result<bool, StoreError> {
    let Some(kept) = marker::kept(path) else { return Ok(false) };
    let held = Held::take(path)?;
    let names = Names { real: &held.real, kept: &kept };
    names.reunite(&held.file).map_err(file_fault(path))
}

impl Held {
    /// Puts `fresh` in the place of this file, which is kept under the name that comes back. It may be written from then
    /// on. Refuses when the file is not any more what was copied.
    pub fn replace(mut self, fresh: &Path, kept_as: &Path) -> Result<PathBuf, StoreError> {
        if self.copied.as_ref().is_some_and(|copied| *copied != self.stamp()) {
            let reason = "another program wrote to it after it was copied; it was left as it is, try again".into();
            return Err(StoreError::Unusable { place: self.path.display().to_string(), reason });
        }
        let names = Names { real: &self.real, kept: kept_as };
        names.link(&self.file).map_err(file_fault(kept_as))?;
        if let Err(error) = marker::note_kept(&self.path, kept_as).and_then(|()| names.change(fresh)) {
            if let Err(error) = names.reunite(&self.file) {
                tracing::warn!("the logs of {} are kept beside {}: {error}", self.path.display(), kept_as.display());
            }
            return Err(file_fault(&self.path)(error));
        }
        super::absolve(&self.path)?;
        self.unmark();
        Ok(kept_as.to_owned())
    }
}

/// The first and the second name of a file that is being replaced.
struct Names<'a> {
    real: &'a Path,
    kept: &'a Path,
}

impl Names<'_> {
    /// The logs by their first and second names.
    fn logs(&self) -> [(PathBuf, PathBuf); 2] {
        LOGS.map(|addition| (beside(self.real, addition), beside(self.kept, addition)))
    }

    /// Gives the file and its logs second names.
    fn link(&self, file: &File) -> io::Result<()> {
        match fs::hard_link(self.real, self.kept) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Err(error),
            // A file system without second names. The file is open already; opening it again would cost the lock.
            Err(_) => copy(file, self.kept)?,
            Ok(()) => {}
        }
        for (log, kept_log) in self.logs() {
            if is_filled(&log)
                && let Err(error) = link(&log, &kept_log)
            {
                let _ = fs::remove_file(self.kept);
                return Err(error);
            }
        }
        sync_folder(self.kept);
        Ok(())
    }

    /// Takes the first names from the logs and gives that of the file to another one.
    fn change(&self, fresh: &Path) -> io::Result<()> {
        for (log, _) in self.logs() {
            remove(&log)?;
        }
        remove(&beside(self.real, "-shm"))?;
        fs::rename(fresh, self.real)?;
        sync_folder(self.real);
        Ok(())
    }

    /// Gives the logs their first names back, if the file still has its own, and takes the second ones. `false` when
    /// another file has the name by now, or the file was written since.
    fn reunite(&self, file: &File) -> io::Result<bool> {
        if !self.kept.exists() || !is_same(file, self.kept)? {
            return Ok(false);
        }
        let kept_logs = self.logs().into_iter().filter(|(_, kept_log)| is_filled(kept_log)).collect::<Vec<_>>();
        for (log, kept_log) in &kept_logs {
            if is_filled(log) {
                if !is_same(&File::open(log)?, kept_log)? {
                    return Ok(false);
                }
            } else {
                remove(log)?;
                link(kept_log, log)?;
            }
        }
        sync_folder(self.real);
        for (_, kept_log) in &kept_logs {
            remove(kept_log)?;
        }
        remove(self.kept)?;
        Ok(true)
    }
}

/// Whether a file has another name, or a copy of that name. The other one is only opened when it is another one: closing
/// it would cost the lock.
fn is_same(file: &File, other: &Path) -> io::Result<bool> {
    let (this, there) = (file.metadata()?, fs::metadata(other)?);
    let known = identity(&this);
    Ok(known.is_some() && known == identity(&there)
        || this.len() == there.len() && has_same_bytes(file, &File::open(other)?)?)
}

fn has_same_bytes(mut one: &File, other: &File) -> io::Result<bool> {
    one.rewind()?;
    let (mut one, mut other) = (io::BufReader::new(one).bytes(), io::BufReader::new(other).bytes());
    loop {
        match (one.next().transpose()?, other.next().transpose()?) {
            (None, None) => return Ok(true),
            (left, right) if left != right => return Ok(false),
            _ => {}
        }
    }
}

/// A second name, or where there are none, a copy.
pub(super) fn link(from: &Path, to: &Path) -> io::Result<()> {
    match fs::hard_link(from, to) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => copy(&File::open(from)?, to),
        linked => linked,
    }
}

/// Copies an open file from its beginning into a new one, which is on the disk then.
pub(super) fn copy(mut from: &File, to: &Path) -> io::Result<()> {
    let mut copy = private::create_new(to)?;
    let copied = from.rewind().and_then(|()| io::copy(&mut from, &mut copy)).and_then(|_| copy.sync_all());
    if copied.is_err() {
        let _ = fs::remove_file(to);
    }
    copied
}

fn is_filled(log: &Path) -> bool {
    fs::metadata(log).is_ok_and(|there| there.len() > 0)
}

fn remove(file: &Path) -> io::Result<()> {
    match fs::remove_file(file) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        removed => removed,
    }
}

fn sync_folder(of: &Path) {
    if let Some(folder) = of.parent().and_then(|folder| File::open(folder).ok()) {
        let _ = folder.sync_all();
    }
}
