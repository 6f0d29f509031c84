//! What a file has beside its content, its mode and its owner: access lists and the attributes of programs.
//!
//! Without its access list the rights of a file would grow: its mode shows the mask of the list as the rights of the group.
//! Attributes of the system (labels, capabilities) are its own affair and belong to the old content.

use rustix::fd::AsFd;
use rustix::fs::{XattrFlags, fgetxattr, flistxattr, fsetxattr};

/// The most that Linux knows, for all names and for one value.
const LARGEST: usize = 64 << 10;
const OF_SYSTEM: [&[u8]; 2] = [b"security.", b"trusted."];

/// Gives a new file what the old one has. The names of what could not be kept.
pub(super) fn carry(from: impl AsFd, to: impl AsFd) -> Vec<String> {
    let mut names = vec![0; LARGEST];
    // A disk that knows no attributes has none to keep.
    let length = flistxattr(from.as_fd(), names.as_mut_slice()).unwrap_or_default();
    names.truncate(length);
    let own = |name: &&[u8]| !name.is_empty() && !OF_SYSTEM.iter().any(|system| name.starts_with(system));
    let lost = names.split(|byte| *byte == 0).filter(own).filter(|name| {
        let mut value = vec![0; LARGEST];
        let copied = fgetxattr(from.as_fd(), *name, value.as_mut_slice()).and_then(|length| {
            value.truncate(length);
            fsetxattr(to.as_fd(), *name, &value, XattrFlags::empty())
        });
        copied.is_err()
    });
    lost.map(|name| String::from_utf8_lossy(name).into_owned()).collect()
}
