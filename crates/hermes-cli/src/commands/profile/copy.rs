//! Copying a home into a new profile. Links are copied as links, and what belongs to a running program stays behind.

use crate::settings::disk::{self, DiskError};
use std::fs;
use std::io;
use std::path::Path;

/// How much of a home a new profile takes over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum What {
    /// Settings, keys, persona, memories and skills.
    Identity,
    /// All of it.
    Everything,
}

const IDENTITY: &[&str] = &["config.yaml", ".env", "SOUL.md", "memories/MEMORY.md", "memories/USER.md", "skills"];
/// The other homes, the installation, and what describes a running process.
const LEFT_BEHIND: &[&str] = &[
    "profiles",
    "active_profile",
    "hermes-agent",
    "node",
    "node_modules",
    "bin",
    "backups",
    "logs",
    "gateway.pid",
    "gateway_state.json",
    "gateway",
    "processes.json",
    "config.lock",
    "auth.lock",
];

pub(super) fn copy_home(from: &Path, to: &Path, what: What) -> Result<(), DiskError> {
    match what {
        What::Identity => IDENTITY.iter().try_for_each(|name| {
            let target = to.join(name);
            if let Some(folder) = target.parent() {
                disk::create_folder(folder)?;
            }
            copy_tree(&from.join(name), &target)
        }),
        What::Everything => {
            for entry in entries(from)? {
                let name = entry.file_name();
                if !LEFT_BEHIND.iter().any(|left| name == *left) {
                    copy_tree(&entry.path(), &to.join(&name))?;
                }
            }
            Ok(())
        }
    }
}

/// Copies a file, a link or a folder. What is not there, or is a socket or pipe, is passed over.
pub(in crate::commands) fn copy_tree(from: &Path, to: &Path) -> Result<(), DiskError> {
    let unreadable = |reason| DiskError::Read { path: from.to_owned(), reason };
    let kind = match fs::symlink_metadata(from) {
        Ok(metadata) => metadata.file_type(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(unreadable(error)),
    };
    if kind.is_dir() {
        disk::create_folder(to)?;
        return entries(from)?.into_iter().try_for_each(|entry| copy_tree(&entry.path(), &to.join(entry.file_name())));
    }
    let unwritable = |reason| DiskError::Write { path: to.to_owned(), reason };
    if kind.is_symlink() {
        return copy_link(from, to).map_err(unwritable);
    }
    if kind.is_file() {
        fs::copy(from, to).map_err(unwritable)?;
    }
    Ok(())
}

fn entries(folder: &Path) -> Result<Vec<fs::DirEntry>, DiskError> {
    let listed = fs::read_dir(folder).and_then(Iterator::collect);
    match listed {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        listed => listed.map_err(|reason| DiskError::Read { path: folder.to_owned(), reason }),
    }
}

#[cfg(unix)]
fn copy_link(from: &Path, to: &Path) -> io::Result<()> {
    std::os::unix::fs::symlink(fs::read_link(from)?, to)
}

#[cfg(not(unix))]
fn copy_link(from: &Path, to: &Path) -> io::Result<()> {
    fs::copy(from, to).map(drop)
}
