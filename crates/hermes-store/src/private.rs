//! Conversations are nobody else's business: what we create, only its owner can read.

use std::fs::{File, OpenOptions};
use std::io;
use std::path::Path;

/// Opens a file for writing; where there is none, an empty one that is private.
pub(crate) fn open_or_create(path: &Path) -> io::Result<File> {
    private().create(true).truncate(false).open(path)
}

/// A new and empty file that is private; an error where there is one already.
pub(crate) fn create_new(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.create_new(true).write(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

/// Makes sure that a database which is about to be created will be private; its log takes after it. A file that exists
/// is not opened: beside SQLite that would cost the locks of this process.
pub(crate) fn create_before_opening(path: &Path) {
    // What is wrong with the place is told by whoever opens the file next.
    drop(private().create_new(true).open(path));
}

fn private() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.write(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}
