//! The private directory of a shell or a script. It goes with its conversation; after a `kill -9` the next one takes it away, together
//! with whoever the dead one's commands left running.
//!
//! The owner holds a lock on the directory. The kernel drops it with the program, whatever that died of and in whatever
//! namespace it lived, so a directory without a lock is nobody's.

use super::family::{Family, Origin, tell_of};
use std::fs::{self, File, Permissions};
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;
use std::time::{Duration, SystemTime};
use tempfile::TempDir;

/// `hermes-shell-<mark>-<random>`.
const PREFIX: &str = "hermes-shell-";
/// Between the directory and its lock there is a moment.
const YOUNGEST: Duration = Duration::from_secs(60);

pub(crate) struct Private {
    dir: TempDir,
    _lock: File,
}

impl Private {
    /// A new one in `temp`, after those that nobody owns any more are gone. Blocks.
    pub(crate) fn make(temp: &Path, mark: &str) -> io::Result<Self> {
        sweep(temp);
        let only_mine = Permissions::from_mode(0o700);
        let prefix = format!("{PREFIX}{mark}-");
        let dir = tempfile::Builder::new().prefix(&prefix).permissions(only_mine).tempdir_in(temp)?;
        let lock = File::open(dir.path())?;
        lock.lock()?;
        Ok(Self { dir, _lock: lock })
    }

    pub(crate) fn path(&self) -> &Path {
        self.dir.path()
    }
}

fn sweep(temp: &Path) {
    for entry in fs::read_dir(temp).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let Some(mark) = name.to_str().and_then(mark_of) else { continue };
        let Some(_lock) = unowned(&entry.path()) else { continue };
        tell_of(&Family::marked(mark, Origin::Earlier).kill());
        if let Err(error) = fs::remove_dir_all(entry.path()) {
            tracing::warn!(path = %entry.path().display(), %error, "what a dead shell left could not be removed");
        }
    }
}

fn mark_of(name: &str) -> Option<&str> {
    let (mark, _) = name.strip_prefix(PREFIX)?.split_once('-')?;
    let whole = mark.len() == Family::new_mark().len() && mark.bytes().all(|byte| byte.is_ascii_hexdigit());
    whole.then_some(mark)
}

/// The lock of a directory that belongs to this user and to no program.
fn unowned(path: &Path) -> Option<File> {
    let there = fs::symlink_metadata(path).ok()?;
    let mine = there.is_dir() && there.uid() == rustix::process::geteuid().as_raw();
    let age = SystemTime::now().duration_since(there.modified().ok()?).ok()?;
    if !mine || age < YOUNGEST {
        return None;
    }
    let lock = File::open(path).ok()?;
    lock.try_lock().ok()?;
    Some(lock)
}
