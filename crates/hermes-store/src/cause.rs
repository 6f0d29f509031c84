//! Why the system refused, asked of the system again: SQLite has one word for many causes.
//!
//! The database itself is never opened here. Closing it would cost the locks that this process holds on it.

use crate::health::marker::beside;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::Path;

/// Every file that belongs to a database, by what is added to its name.
const FILES: [&str; 4] = ["", "-wal", "-shm", "-journal"];
/// SQLite writes no more than this at once.
const LARGEST_PAGE: usize = 64 * 1024;

/// Whether a write failed for want of room: on the disk, in a quota, or within the size a file may have.
pub(crate) fn is_want_of_room(path: &Path) -> bool {
    at_size_limit(path) || try_to_write(folder_of(path)).is_err_and(|error| is_full(&error))
}

pub(crate) fn is_full(error: &io::Error) -> bool {
    use io::ErrorKind::{FileTooLarge, QuotaExceeded, StorageFull};
    matches!(error.kind(), StorageFull | QuotaExceeded | FileTooLarge)
}

/// Why a file cannot be opened; `None` when nothing is known against it.
pub(crate) fn of_closed_door(path: &Path) -> Option<String> {
    let folder = folder_of(path);
    if File::open(folder).is_err_and(|error| is_too_many(&error)) {
        return Some("too many files are open at the same time".into());
    }
    match fs::metadata(path) {
        Ok(there) if there.is_dir() => Some("it is a folder".into()),
        Ok(_) => {
            let closed = FILES.iter().map(|addition| beside(path, addition)).find(|file| !is_readable(file))?;
            Some(format!("this user may not read {}", closed.display()))
        }
        Err(_) if !folder.is_dir() => Some("its folder does not exist".into()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            Some("it does not exist and its folder cannot be written".into())
        }
        Err(error) => Some(error.to_string()),
    }
}

fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

fn try_to_write(folder: &Path) -> io::Result<()> {
    let mut file = tempfile::tempfile_in(folder)?;
    file.write_all(&[0; LARGEST_PAGE])?;
    file.sync_data()
}

#[cfg(unix)]
fn at_size_limit(path: &Path) -> bool {
    use rustix::process::{Resource, getrlimit};
    let length = |addition: &str| fs::metadata(beside(path, addition)).map_or(0, |file| file.len());
    let longest = FILES.iter().map(|addition| length(addition)).max().unwrap_or_default();
    getrlimit(Resource::Fsize).current.is_some_and(|limit| longest + LARGEST_PAGE as u64 > limit)
}

#[cfg(unix)]
fn is_too_many(error: &io::Error) -> bool {
    use rustix::io::Errno;
    matches!(Errno::from_io_error(error), Some(Errno::MFILE | Errno::NFILE))
}

/// A file that does not exist is in nobody's way.
#[cfg(unix)]
fn is_readable(path: &Path) -> bool {
    use rustix::io::Errno;
    !matches!(rustix::fs::access(path, rustix::fs::Access::READ_OK), Err(Errno::ACCESS | Errno::PERM))
}

#[cfg(not(unix))]
fn at_size_limit(_path: &Path) -> bool {
    false
}

#[cfg(not(unix))]
fn is_too_many(_error: &io::Error) -> bool {
    false
}

#[cfg(not(unix))]
fn is_readable(_path: &Path) -> bool {
    true
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use super::*;
    use crate::fault::DbError;
    use hermes_core::store::StoreError;
    use rusqlite::ffi::{Error, SQLITE_CANTOPEN, SQLITE_IOERR_WRITE};
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    use std::process::Command;

    const CHILD: &str = "HERMES_STORE_TEST_OF_LIMITS";

    fn told(code: i32, path: &Path) -> StoreError {
        DbError::Sql(rusqlite::Error::SqliteFailure(Error::new(code), None)).told(path)
    }

    fn limit(resource: Resource, to: u64) {
        setrlimit(resource, Rlimit { current: Some(to), ..getrlimit(resource) }).expect("a limit");
    }

    #[test]
    fn a_failed_write_is_want_of_room_only_where_there_is_none() {
        let folder = tempfile::tempdir().expect("a folder");
        let told = told(SQLITE_IOERR_WRITE, &folder.path().join("state.db"));
        assert!(matches!(told, StoreError::Failed(_)), "{told:?}");
    }

    #[test]
    fn a_door_is_closed_for_a_reason_that_is_true() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("state.db");
        fs::write(&path, "").expect("a file");
        let StoreError::Unusable { reason, .. } = told(SQLITE_CANTOPEN, &path) else { panic!("another word") };
        assert!(!reason.contains("may not"), "{reason}");
    }

    /// Limits hold for a whole process, so they are tried out in one of their own.
    #[test]
    fn limits_of_the_process_are_named() {
        if std::env::var_os(CHILD).is_none() {
            let mut child = Command::new(std::env::current_exe().expect("this program"));
            child.args(["--exact", "cause::tests::limits_of_the_process_are_named"]).env(CHILD, "1");
            let ran = child.output().expect("a process");
            assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stdout));
            return;
        }
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("state.db");
        fs::write(&path, [0; 50_000]).expect("a file");
        limit(Resource::Fsize, 100_000);
        assert_eq!(told(SQLITE_IOERR_WRITE, &path), StoreError::Full { place: path.display().to_string() });
        limit(Resource::Nofile, 30);
        let open: Vec<File> = std::iter::from_fn(|| File::open("/dev/null").ok()).collect();
        let told = told(SQLITE_CANTOPEN, &path);
        drop(open);
        let reason = "too many files are open at the same time".to_owned();
        assert_eq!(told, StoreError::Unusable { place: path.display().to_string(), reason });
    }
}
