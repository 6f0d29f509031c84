//! An open directory. Names are used relative to it, so that nobody can put another directory in its place meanwhile.

use crate::files::place::open::straight;
use crate::files::stamp::Stamp;
use rand::RngExt as _;
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::{AtFlags, Mode, OFlags, RenameFlags};
use rustix::io::Errno;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

#[derive(Debug, Clone)]
pub(super) struct Folder(Arc<OwnedFd>);

impl AsFd for Folder {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

const DIRECTORY: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY);

impl Folder {
    /// Opens a resolved directory, making what is missing; what was made is added to the list.
    pub(super) fn reach(path: &Path, made: &mut Vec<PathBuf>) -> io::Result<Self> {
        match straight(path, DIRECTORY) {
            Ok(fd) => return Ok(Self(Arc::new(fd))),
            Err(Errno::NOENT) => {}
            Err(error) => return Err(error.into()),
        }
        let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
            return Err(io::ErrorKind::NotFound.into());
        };
        let above = Self::reach(parent, made)?;
        match rustix::fs::mkdirat(&above, name, Mode::from_raw_mode(0o777)) {
            Ok(()) => made.push(path.to_path_buf()),
            // Somebody else made it in the meantime.
            Err(Errno::EXIST) => {}
            Err(error) => return Err(error.into()),
        }
        let fd = rustix::fs::openat(&above, name, DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty())?;
        Ok(Self(Arc::new(fd)))
    }

    pub(super) fn free_name(&self) -> OsString {
        let mut rng = rand::rng();
        let mut name = String::from(".hermes-tmp.");
        name.extend((0..10).map(|_| char::from(rng.sample(rand::distr::Alphanumeric))));
        name.into()
    }

    pub(super) fn temporary(&self, mode: Mode) -> io::Result<(OsString, File)> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let name = self.free_name();
        let fd = rustix::fs::openat(self, &name, flags, mode)?;
        Ok((name, File::from(fd)))
    }

    /// Gives a file a name that is free, in one step.
    pub(super) fn place(&self, name: &OsStr, to: &Self, free: &OsStr) -> io::Result<()> {
        match rustix::fs::renameat_with(self, name, to, free, RenameFlags::NOREPLACE) {
            Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => {
                // A second name fails when the name is taken, which a plain rename does not.
                rustix::fs::linkat(self, name, to, free, AtFlags::empty())?;
                Ok(rustix::fs::unlinkat(self, name, AtFlags::empty())?)
            }
            result => Ok(result?),
        }
    }

    /// Puts a file in the place of another one and says under which name that one is now.
    pub(super) fn swap(&self, new: &OsStr, place: &OsStr) -> io::Result<OsString> {
        match rustix::fs::renameat_with(self, new, self, place, RenameFlags::EXCHANGE) {
            Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => {
                let aside = self.free_name();
                rustix::fs::linkat(self, place, self, &aside, AtFlags::empty())?;
                rustix::fs::renameat(self, new, self, place)?;
                Ok(aside)
            }
            result => result.map(|()| new.to_owned()).map_err(io::Error::from),
        }
    }

    pub(super) fn rename(&self, name: &OsStr, to: &Self, place: &OsStr) -> io::Result<()> {
        Ok(rustix::fs::renameat(self, name, to, place)?)
    }

    /// A file in this directory, to be looked at.
    pub(super) fn open(&self, name: &OsStr) -> io::Result<File> {
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        Ok(File::from(rustix::fs::openat(self, name, flags, Mode::empty())?))
    }

    pub(super) fn stamp(&self, name: &OsStr) -> io::Result<Stamp> {
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        #[cfg(target_os = "linux")]
        let flags = flags | OFlags::PATH;
        let fd = rustix::fs::openat(self, name, flags, Mode::empty())?;
        Ok(Stamp::of(&File::from(fd).metadata()?))
    }

    pub(super) fn remove(&self, name: &OsStr) -> io::Result<()> {
        Ok(rustix::fs::unlinkat(self, name, AtFlags::empty())?)
    }

    /// Removes a name of ours. It may be gone already, and what stays is harmless.
    pub(super) fn unlink(&self, name: &OsStr) {
        if let Err(error) = self.remove(name)
            && error.kind() != io::ErrorKind::NotFound
        {
            tracing::warn!(name = %name.to_string_lossy(), %error, "a temporary file stays behind");
        }
    }

    /// A rename that is not on disk yet is lost by a power failure at worst; the file is whole in both cases.
    pub(super) fn sync(&self) {
        if let Err(error) = rustix::fs::fsync(self) {
            tracing::debug!(%error, "a directory could not be flushed");
        }
    }
}
