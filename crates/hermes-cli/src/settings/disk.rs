//! The files of a home: read whole or not at all, replaced whole or not at all.
//!
//! A reader never sees half a file and a crash never leaves one: a write goes to a temporary file in the same folder, is
//! synced, and takes the old one's place in one step. Files are readable by their owner only. Two processes that change the
//! same home wait for each other on a lock file, so that neither undoes the other's edit. A link is written through, not
//! replaced.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use tempfile::NamedTempFile;

/// Far above any settings file; a file above it is a mistake.
pub const LARGEST_FILE: u64 = 4 * 1024 * 1024;
const LOCK_PATIENCE: Duration = Duration::from_secs(10);
const LOCK_POLL: Duration = Duration::from_millis(20);

#[derive(Debug, thiserror::Error)]
pub enum DiskError {
    #[error("{} cannot be read: {reason}.\n{}", path.display(), read_hint(reason))]
    Read { path: PathBuf, reason: io::Error },
    #[error(
        "{} is larger than {} MiB, so it cannot be a settings file. Nothing was read.\n\
         Move it away and start again with `hermes config edit`.",
        path.display(),
        LARGEST_FILE >> 20
    )]
    TooLarge { path: PathBuf },
    #[error(
        "{} cannot be written: {reason}.\nThe old content is unchanged. Check the folder's owner and the free space.",
        path.display()
    )]
    Write { path: PathBuf, reason: io::Error },
    #[error(
        "Another hermes has been changing {} for {} seconds. Nothing was written; try again when it is done.",
        path.display(),
        LOCK_PATIENCE.as_secs()
    )]
    Busy { path: PathBuf },
}

fn read_hint(reason: &io::Error) -> &'static str {
    match reason.kind() {
        io::ErrorKind::PermissionDenied => "Make yourself its owner, for example with `sudo chown $USER` on that path.",
        io::ErrorKind::IsADirectory => "A folder has that name; move it away.",
        _ => "Check that the path and the disk are healthy, then try again.",
    }
}

/// The content of a file, or `None` when there is no such file.
pub fn read(path: &Path) -> Result<Option<Vec<u8>>, DiskError> {
    let failed = |reason| DiskError::Read { path: path.to_owned(), reason };
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            return Ok(None);
        }
        Err(error) => return Err(failed(error)),
    };
    let mut bytes = Vec::new();
    file.take(LARGEST_FILE + 1).read_to_end(&mut bytes).map_err(failed)?;
    if bytes.len() as u64 > LARGEST_FILE {
        return Err(DiskError::TooLarge { path: path.to_owned() });
    }
    Ok(Some(bytes))
}

/// Puts `content` in the place of the file, in one step. The folder must exist.
pub fn replace(path: &Path, content: &[u8]) -> Result<(), DiskError> {
    let write = || {
        let mut draft = Draft::of(path)?;
        draft.write_all(content)?;
        draft.publish()
    };
    write().map_err(|reason| DiskError::Write { path: path.to_owned(), reason })
}

/// A file in the making, beside the one whose place it takes. Dropped before it is published, it leaves nothing.
#[derive(Debug)]
pub struct Draft {
    temporary: NamedTempFile,
    target: PathBuf,
}

impl Draft {
    pub fn of(path: &Path) -> io::Result<Self> {
        let target = through_links(path);
        let temporary = tempfile::Builder::new().prefix(".hermes-").tempfile_in(folder_of(&target))?;
        Ok(Self { temporary, target })
    }

    /// Puts it in the place of the file, in one step.
    pub fn publish(self) -> io::Result<()> {
        self.temporary.as_file().sync_all()?;
        self.temporary.persist(&self.target).map_err(|error| error.error)?;
        // Only the folder's own sync makes the new name survive a power cut.
        File::open(folder_of(&self.target))?.sync_all()
    }
}

impl Write for Draft {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.temporary.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.temporary.flush()
    }
}

/// The folder of a file; `file` alone lies in this one.
fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Creates a folder and what is missing above it, closed to everyone else.
pub fn create_folder(path: &Path) -> Result<(), DiskError> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path).map_err(|reason| DiskError::Write { path: path.to_owned(), reason })
}

/// Holds the right to change a home; given back when dropped, also by a crash.
#[derive(Debug)]
pub struct Lock {
    _file: File,
}

impl Lock {
    /// Waits for the lock, but not for ever.
    pub fn acquire(path: &Path) -> Result<Self, DiskError> {
        let failed = |reason| DiskError::Write { path: path.to_owned(), reason };
        let mut options = OpenOptions::new();
        options.create(true).truncate(false).write(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let file = options.open(path).map_err(failed)?;
        let start = Instant::now();
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(Self { _file: file }),
                Err(TryLockError::Error(reason)) => return Err(failed(reason)),
                Err(TryLockError::WouldBlock) if start.elapsed() < LOCK_PATIENCE => std::thread::sleep(LOCK_POLL),
                Err(TryLockError::WouldBlock) => return Err(DiskError::Busy { path: path.to_owned() }),
            }
        }
    }
}

fn through_links(path: &Path) -> PathBuf {
    match fs::symlink_metadata(path) {
        Ok(metadata) if metadata.is_symlink() => fs::canonicalize(path).unwrap_or_else(|_| path.to_owned()),
        _ => path.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_replaced_file_is_private_and_leaves_nothing_behind() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("config.yaml");
        assert_eq!(read(&path).expect("readable"), None);
        replace(&path, b"a: 1\n").expect("written");
        replace(&path, b"a: 2\n").expect("written");
        assert_eq!(read(&path).expect("readable").as_deref(), Some(b"a: 2\n".as_slice()));
        let names: Vec<_> = fs::read_dir(folder.path()).expect("a folder").flatten().map(|e| e.file_name()).collect();
        assert_eq!(names, ["config.yaml"]);
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            assert_eq!(fs::metadata(&path).expect("there").permissions().mode() & 0o777, 0o600);
        }
    }

    #[cfg(unix)]
    #[test]
    fn a_link_is_written_through() {
        let folder = tempfile::tempdir().expect("a folder");
        let real = folder.path().join("dotfiles.yaml");
        let link = folder.path().join("config.yaml");
        fs::write(&real, "a: 1\n").expect("written");
        std::os::unix::fs::symlink(&real, &link).expect("linked");
        replace(&link, b"a: 2\n").expect("written");
        assert!(fs::symlink_metadata(&link).expect("there").is_symlink());
        assert_eq!(fs::read_to_string(&real).expect("readable"), "a: 2\n");
    }

    #[test]
    fn a_file_that_cannot_be_a_settings_file_is_refused() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("config.yaml");
        File::create(&path).expect("created").set_len(LARGEST_FILE + 1).expect("grown");
        let message = read(&path).expect_err("too large").to_string();
        assert!(message.contains("is larger than 4 MiB"), "{message}");
    }
}
