//! Opening what was resolved, and nothing else.
//!
//! On Linux the kernel is told to follow no link at all on the way (`openat2`), so whatever is swapped after the check,
//! the file that opens is the one that was checked or none. Where that call is missing only the last part of the path is
//! held; a directory above it that is replaced by a link in that moment would be followed.

use super::{Readable, Writable};
use rustix::fd::OwnedFd;
use rustix::fs::{CWD, Mode, OFlags};
use std::fs::{File, Metadata};
use std::io;
use std::path::Path;

/// What is at the place.
#[derive(Debug)]
pub(crate) enum Opened {
    File(File, Metadata),
    Directory,
    /// A pipe, a socket or a device: reading it may never end.
    Special,
    Absent,
}

impl Readable {
    pub(crate) fn open(&self) -> io::Result<Opened> {
        opened(self.path())
    }
}

impl Writable {
    /// Opens it to see what is there; the change itself goes through the directory.
    pub(crate) fn open(&self) -> io::Result<Opened> {
        opened(self.path())
    }
}

fn opened(path: &Path) -> io::Result<Opened> {
    // Without NONBLOCK the opening of a pipe waits for somebody who writes to it.
    let fd = match straight(path, OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY) {
        Ok(fd) => fd,
        Err(rustix::io::Errno::NOENT | rustix::io::Errno::NOTDIR) => return Ok(Opened::Absent),
        // A socket cannot be opened at all.
        Err(rustix::io::Errno::NXIO) => return Ok(Opened::Special),
        Err(error) => return Err(error.into()),
    };
    let file = File::from(fd);
    let about = file.metadata()?;
    Ok(match about.file_type() {
        kind if kind.is_file() => Opened::File(file, about),
        kind if kind.is_dir() => Opened::Directory,
        _ => Opened::Special,
    })
}

/// Opens a path that has no links, following none.
pub(crate) fn straight(path: &Path, flags: OFlags) -> rustix::io::Result<OwnedFd> {
    let flags = flags | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    #[cfg(target_os = "linux")]
    {
        use rustix::fs::{ResolveFlags, openat2};
        use rustix::io::Errno;
        match openat2(CWD, path, flags, Mode::empty(), ResolveFlags::NO_SYMLINKS) {
            // Old kernels and some sandboxes do not have the call.
            Err(Errno::NOSYS | Errno::PERM) => {}
            result => return result,
        }
    }
    rustix::fs::openat(CWD, path, flags, Mode::empty())
}
