//! Which state of a file somebody saw.

use std::fs::Metadata;
use std::hash::{DefaultHasher, Hasher};
use std::os::unix::fs::MetadataExt;
use std::time::{Duration, SystemTime};

/// A change this soon before a look may be followed by another one that the clock of the disk cannot tell apart.
const UNSETTLED: Duration = Duration::from_millis(50);

/// What the system says about a file. Two equal stamps are the same bytes, unless somebody set the clock back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Stamp {
    device: u64,
    inode: u64,
    size: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

impl Stamp {
    pub(crate) fn of(about: &Metadata) -> Self {
        Self {
            device: about.dev(),
            inode: about.ino(),
            size: about.size(),
            modified: (about.mtime(), about.mtime_nsec()),
            changed: (about.ctime(), about.ctime_nsec()),
        }
    }

    /// The same file with the same content, whatever became of its name and its mode.
    pub(crate) fn same_content(&self, other: &Self) -> bool {
        Self { changed: other.changed, ..*self } == *other
    }
}

/// Whether a file rests: what was written a moment ago may change again under the same time.
pub(crate) fn is_settled(about: &Metadata) -> bool {
    let since = about.modified().ok().and_then(|then| SystemTime::now().duration_since(then).ok());
    since.is_some_and(|since| since > UNSETTLED)
}

/// Tells two contents apart; no protection against anybody who wants them to look the same.
pub(crate) fn fingerprint(bytes: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    hasher.write(bytes);
    hasher.finish()
}
