//! One file of notes on disk: held under its lock, read whole, replaced whole.
//!
//! The lock is `flock` on `<file>.lock`, which the Python program uses too; the system frees it when its holder dies. A
//! link is written through, and then the file it leads to is locked as well, since another home may lead to the same
//! one. A draft that a killed process left behind is removed by the next writer.

use hermes_core::stop::Stop;
use std::ffi::{OsStr, OsString};
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

const PATIENCE: Duration = Duration::from_secs(10);
/// Short: the Python program waits inside of the system and would nearly always be the first.
const POLL: Duration = Duration::from_millis(2);
/// Far above any limit of notes; more is a mistake or an attack.
const LARGEST: u64 = 4 * 1024 * 1024;
const DRAFT_END: &str = ".draft";
const PRIVATE_FILE: u32 = 0o600;
const PRIVATE_FOLDER: u32 = 0o700;

#[derive(Debug, thiserror::Error)]
pub(super) enum DiskError {
    #[error("{} cannot be read: {reason}. Check its owner and its rights", path.display())]
    Read { path: PathBuf, reason: io::Error },
    #[error("{} is not an ordinary file of at most {} MiB. Move it away", path.display(), LARGEST >> 20)]
    NotNotes { path: PathBuf },
    #[error("{} cannot be written: {reason}. Its old content is unchanged; check the folder's owner and the free space", path.display())]
    Write { path: PathBuf, reason: io::Error },
    #[error("another session has been writing {} for {} s. Nothing was changed; try again later", path.display(), PATIENCE.as_secs())]
    Busy { path: PathBuf },
    #[error("interrupted while waiting for another session to write {}. Nothing was changed", path.display())]
    Interrupted { path: PathBuf },
}

/// What became of a new content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Replaced {
    Done,
    /// The file is not as it was read: somebody edited it by hand.
    Overtaken,
}

/// The bytes of a file; none when there is no such file.
pub(super) fn read(path: &Path) -> Result<Option<Vec<u8>>, DiskError> {
    let failed = |reason| DiskError::Read { path: path.to_owned(), reason };
    // Looked at before it is opened: opening a pipe would wait for its other end.
    match fs::metadata(path) {
        Ok(metadata) if metadata.is_file() && metadata.len() <= LARGEST => {}
        Ok(_) => return Err(DiskError::NotNotes { path: path.to_owned() }),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(failed(error)),
    }
    let mut bytes = Vec::new();
    let file = File::open(path).map_err(failed)?;
    file.take(LARGEST + 1).read_to_end(&mut bytes).map_err(failed)?;
    if bytes.len() as u64 > LARGEST {
        return Err(DiskError::NotNotes { path: path.to_owned() });
    }
    Ok(Some(bytes))
}

/// The right to change one file of notes, until dropped.
pub(super) struct Held {
    path: PathBuf,
    /// Where the content lies: elsewhere when `path` is a link.
    place: PathBuf,
    _locks: Vec<File>,
}

impl Held {
    /// Waits for the others, but not for ever. Creates the folder if need be.
    pub(super) fn take(path: &Path, stop: &Stop) -> Result<Self, DiskError> {
        let failed = |reason| DiskError::Write { path: path.to_owned(), reason };
        create_folder(folder_of(path)).map_err(failed)?;
        let mut locks = vec![lock(path, stop)?];
        let place = behind_links(path).map_err(failed)?;
        if place != path {
            locks.push(lock(&place, stop)?);
        }
        Ok(Self { path: path.to_owned(), place, _locks: locks })
    }

    pub(super) fn read(&self) -> Result<Option<Vec<u8>>, DiskError> {
        read(&self.place)
    }

    /// Puts the content in place of these bytes in one step; it is on disk when this returns. An editor takes no lock: what
    /// somebody saved meanwhile stays, and nothing is written.
    pub(super) fn replace(&self, seen: &[u8], content: &str) -> Result<Replaced, DiskError> {
        let write = || {
            self.sweep();
            let mode = fs::metadata(&self.place).map_or(PRIVATE_FILE, |metadata| metadata.mode() & 0o777);
            let mut draft = tempfile::Builder::new()
                .prefix(&self.draft_start())
                .suffix(DRAFT_END)
                .tempfile_in(folder_of(&self.place))?;
            draft.write_all(content.as_bytes())?;
            draft.as_file().set_permissions(fs::Permissions::from_mode(mode))?;
            draft.as_file().sync_all()?;
            // As late as can be: bringing the draft to disk takes longest.
            if !self.read().is_ok_and(|now| now.unwrap_or_default() == seen) {
                return Ok(Replaced::Overtaken);
            }
            draft.persist(&self.place).map_err(|error| error.error)?;
            // Only the folder's own sync makes the new name survive a power cut.
            File::open(folder_of(&self.place))?.sync_all()?;
            Ok(Replaced::Done)
        };
        write().map_err(|reason| DiskError::Write { path: self.path.clone(), reason })
    }

    /// Copies what is there to `<file>.bak.<unix time>`, once: the same bytes are not kept twice.
    pub(super) fn back_up(&self, bytes: &[u8], now: SystemTime) -> Result<PathBuf, DiskError> {
        let write = || {
            if let Some(known) = self.backups().into_iter().find(|known| fs::read(known).is_ok_and(|old| old == bytes))
            {
                return Ok(known);
            }
            let seconds = now.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs();
            let (mut file, path) = self.new_backup(seconds)?;
            file.write_all(bytes)?;
            file.sync_all()?;
            Ok(path)
        };
        write().map_err(|reason| DiskError::Write { path: beside(&self.path, ".bak"), reason })
    }

    /// Two in one second are told apart by counting on.
    fn new_backup(&self, seconds: u64) -> io::Result<(File, PathBuf)> {
        let mut second = seconds;
        loop {
            let path = beside(&self.path, &format!(".bak.{second}"));
            match OpenOptions::new().write(true).create_new(true).mode(PRIVATE_FILE).open(&path) {
                Ok(file) => return Ok((file, path)),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => second += 1,
                Err(error) => return Err(error),
            }
        }
    }

    fn backups(&self) -> Vec<PathBuf> {
        let start = beside(Path::new(self.path.file_name().unwrap_or_default()), ".bak.");
        siblings(&self.path, |name| name.as_encoded_bytes().starts_with(start.as_os_str().as_encoded_bytes()))
    }

    fn draft_start(&self) -> OsString {
        let mut start = OsString::from(".");
        start.push(self.place.file_name().unwrap_or_default());
        start.push(".");
        start
    }

    /// Whoever holds the lock is the only one with a draft: another one lost its writer.
    fn sweep(&self) {
        let start = self.draft_start();
        let is_draft = |name: &OsStr| {
            let name = name.as_encoded_bytes();
            name.starts_with(start.as_encoded_bytes()) && name.ends_with(DRAFT_END.as_bytes())
        };
        for draft in siblings(&self.place, is_draft) {
            if let Err(error) = fs::remove_file(&draft) {
                tracing::warn!(draft = %draft.display(), %error, "a leftover draft cannot be removed");
            }
        }
    }
}

/// Creates a folder and what is missing above it, closed to everyone else.
pub(super) fn create_folder(folder: &Path) -> io::Result<()> {
    fs::DirBuilder::new().recursive(true).mode(PRIVATE_FOLDER).create(folder)
}

/// A whole new file that is on disk when this returns; never over an old one.
pub(super) fn create(path: &Path, content: &[u8]) -> io::Result<()> {
    let mut draft = tempfile::Builder::new().prefix(".").suffix(DRAFT_END).tempfile_in(folder_of(path))?;
    draft.write_all(content)?;
    draft.as_file().sync_all()?;
    draft.persist_noclobber(path).map_err(|error| error.error)?;
    File::open(folder_of(path))?.sync_all()
}

fn lock(path: &Path, stop: &Stop) -> Result<File, DiskError> {
    let path_of_lock = beside(path, ".lock");
    let failed = |reason| DiskError::Write { path: path_of_lock.clone(), reason };
    let start = Instant::now();
    loop {
        let mut options = OpenOptions::new();
        options.create(true).truncate(false).write(true).mode(PRIVATE_FILE);
        // A pipe of that name would keep us waiting for a reader.
        options.custom_flags(rustix::fs::OFlags::NONBLOCK.bits().cast_signed());
        let file = options.open(&path_of_lock).map_err(failed)?;
        match file.try_lock() {
            Ok(()) if is_still_there(&file, &path_of_lock) => return Ok(file),
            // Somebody deleted the file we waited for; the next writer would lock another one.
            Ok(()) => {}
            Err(TryLockError::Error(reason)) => return Err(failed(reason)),
            Err(TryLockError::WouldBlock) if stop.stopped() => {
                return Err(DiskError::Interrupted { path: path.to_owned() });
            }
            Err(TryLockError::WouldBlock) if start.elapsed() >= PATIENCE => {
                return Err(DiskError::Busy { path: path.to_owned() });
            }
            Err(TryLockError::WouldBlock) => std::thread::sleep(POLL),
        }
    }
}

fn is_still_there(file: &File, path: &Path) -> bool {
    match (file.metadata(), fs::metadata(path)) {
        (Ok(held), Ok(named)) => held.dev() == named.dev() && held.ino() == named.ino(),
        _ => false,
    }
}

/// Where a path leads. A link to nothing leads to the place it names.
fn behind_links(path: &Path) -> io::Result<PathBuf> {
    match fs::symlink_metadata(path) {
        Ok(metadata) if metadata.is_symlink() => match fs::canonicalize(path) {
            Ok(place) => Ok(place),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(folder_of(path).join(fs::read_link(path)?)),
            Err(error) => Err(error),
        },
        Ok(_) => Ok(path.to_owned()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(path.to_owned()),
        Err(error) => Err(error),
    }
}

fn siblings(path: &Path, wanted: impl Fn(&OsStr) -> bool) -> Vec<PathBuf> {
    let Ok(folder) = fs::read_dir(folder_of(path)) else { return Vec::new() };
    folder.flatten().filter(|entry| wanted(&entry.file_name())).map(|entry| entry.path()).collect()
}

/// `MEMORY.md` and `.lock` is `MEMORY.md.lock`.
fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}

fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_an_editor_saved_meanwhile_is_not_overwritten() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("MEMORY.md");
        fs::write(&path, "old").unwrap();
        let held = Held::take(&path, &Stop::new()).unwrap();
        let seen = held.read().unwrap().unwrap();
        fs::write(&path, "by hand").unwrap();
        assert_eq!(held.replace(&seen, "new").unwrap(), Replaced::Overtaken);
        assert_eq!(fs::read_to_string(&path).unwrap(), "by hand");
        assert_eq!(held.replace(b"by hand", "new").unwrap(), Replaced::Done);
        assert_eq!(fs::read_to_string(&path).unwrap(), "new");
        let mut names: Vec<_> = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        names.sort();
        assert_eq!(names, ["MEMORY.md", "MEMORY.md.lock"], "no draft stays");
    }
}
