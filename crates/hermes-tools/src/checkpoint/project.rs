//! Which directory a change belongs to, and which of its files are worth keeping.

use ignore::WalkBuilder;
use rustix::fs::{Access, AtFlags, CWD, accessat};
use sha2::{Digest as _, Sha256};
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

/// A directory with one of these is a project.
const MARKERS: [&str; 9] =
    [".git", "pyproject.toml", "package.json", "Cargo.toml", "go.mod", "Makefile", "pom.xml", ".hg", "Gemfile"];
/// Larger projects have no checkpoints.
const MOST_FILES: usize = 50_000;

/// Directories that can be made again: dependencies, builds, caches, and what versions are kept in.
const SKIPPED_DIRECTORIES: [&str; 31] = [
    ".git",
    ".hg",
    ".svn",
    ".jj",
    "node_modules",
    "bower_components",
    "site-packages",
    "target",
    "dist",
    "build",
    ".next",
    ".nuxt",
    ".svelte-kit",
    ".turbo",
    ".parcel-cache",
    ".gradle",
    ".terraform",
    "__pycache__",
    ".pytest_cache",
    ".mypy_cache",
    ".ruff_cache",
    ".hypothesis",
    ".tox",
    ".nox",
    ".venv",
    "venv",
    ".cache",
    "coverage",
    ".nyc_output",
    ".eggs",
    ".ipynb_checkpoints",
];
/// Endings of files that no text edit changes, and of logs.
const SKIPPED_ENDINGS: [&str; 49] = [
    "o", "a", "so", "dylib", "dll", "exe", "lib", "obj", "class", "jar", "war", "pyc", "pyo", "wasm", "bin", "png",
    "jpg", "jpeg", "gif", "webp", "bmp", "ico", "tiff", "mp3", "mp4", "mov", "avi", "mkv", "wav", "flac", "ogg", "webm",
    "pdf", "zip", "tar", "gz", "tgz", "bz2", "xz", "7z", "rar", "zst", "iso", "dmg", "sqlite", "sqlite3", "db", "log",
    "swp",
];

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Project {
    pub(super) root: PathBuf,
    /// Sixteen hexadecimal digits of its path: its name in the store.
    pub(super) key: String,
}

/// Why there is no checkpoint of a place.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NoProject {
    #[error("{0} does not exist")]
    Missing(String),
    #[error("{0} is too wide: checkpoints are taken of projects, not of a whole home or disk")]
    TooWide(String),
    #[error("{0} has more than {MOST_FILES} files")]
    TooLarge(String),
}

impl Project {
    /// The project around a file or directory. What does not exist yet belongs to the nearest directory that does.
    pub(super) fn around(path: &Path, home: &Path) -> Result<Self, NoProject> {
        let told = || path.display().to_string();
        let existing = path.ancestors().find(|place| place.is_dir()).ok_or_else(|| NoProject::Missing(told()))?;
        let start = existing.canonicalize().map_err(|_| NoProject::Missing(told()))?;
        let home = home.canonicalize().unwrap_or_else(|_| home.to_owned());
        let too_wide = |place: &Path| home.starts_with(place);
        let marked = |place: &&Path| MARKERS.iter().any(|marker| place.join(marker).symlink_metadata().is_ok());
        let root = start.ancestors().take_while(|place| !too_wide(place)).find(marked).unwrap_or(&start);
        if too_wide(root) || root.parent().is_none() {
            return Err(NoProject::TooWide(root.display().to_string()));
        }
        Ok(Self::at(root.to_owned()))
    }

    fn at(root: PathBuf) -> Self {
        let digest = hex::encode(Sha256::digest(root.as_os_str().as_bytes()));
        Self { key: digest.chars().take(16).collect(), root }
    }

    pub(super) fn reference(&self) -> String {
        format!("refs/hermes/{}", self.key)
    }

    /// The files to keep, below the root. Links are files; what they lead to is not looked at.
    pub(super) fn files(&self, largest: u64, store: &Path) -> Result<BTreeSet<Vec<u8>>, NoProject> {
        let mut walk = WalkBuilder::new(&self.root);
        // The rules of git for a work tree at the root: its .gitignore files, with or without a repository.
        walk.hidden(false).parents(false).ignore(false).git_global(false).git_exclude(false).require_git(false);
        let store = store.to_owned();
        walk.filter_entry(move |entry| {
            let directory = entry.file_type().is_some_and(|kind| kind.is_dir());
            entry.depth() == 0 || !(skipped(entry.file_name(), directory) || entry.path() == store)
        });
        let mut files = BTreeSet::new();
        for entry in walk.build().flatten() {
            let Some(kind) = entry.file_type().filter(|kind| kind.is_file() || kind.is_symlink()) else { continue };
            let Ok(below) = entry.path().strip_prefix(&self.root) else { continue };
            if kind.is_file() && !(small(&entry, largest) && readable(entry.path())) {
                continue;
            }
            files.insert(below.as_os_str().as_bytes().to_vec());
            if files.len() > MOST_FILES {
                return Err(NoProject::TooLarge(self.root.display().to_string()));
            }
        }
        Ok(files)
    }
}

fn small(entry: &ignore::DirEntry, largest: u64) -> bool {
    entry.metadata().is_ok_and(|known| known.len() <= largest)
}

/// One file that git may not open would fail the whole snapshot.
fn readable(path: &Path) -> bool {
    accessat(CWD, path, Access::READ_OK, AtFlags::empty()).is_ok()
}

fn skipped(name: &OsStr, directory: bool) -> bool {
    let is = |known: &&str| name.eq_ignore_ascii_case(known);
    // A `.git` may be a file that points elsewhere.
    if directory || name.eq_ignore_ascii_case(".git") {
        return SKIPPED_DIRECTORIES.iter().any(|known| is(&known));
    }
    let ending = Path::new(name).extension();
    let secret = name.as_bytes().starts_with(b".env");
    secret
        || name == ".DS_Store"
        || ending.is_some_and(|ending| SKIPPED_ENDINGS.iter().any(|known| ending.eq_ignore_ascii_case(known)))
}
