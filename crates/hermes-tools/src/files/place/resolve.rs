//! From the text of a path to the one name of the file.

use super::{Kind, Why};
use std::collections::VecDeque;
use std::ffi::OsString;
use std::path::{Component, Path, PathBuf};

/// As many links as the system follows before it calls them a circle.
const LINKS: usize = 40;

/// A resolved path, not yet judged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Place {
    path: PathBuf,
    named: PathBuf,
}

impl Place {
    /// Resolves what a model wrote.
    pub(crate) fn find(given: &str, cwd: &Path, home: &Path) -> Result<Self, Why> {
        if given.trim().is_empty() {
            return Err(Why::new(Kind::Unusable, "The path is empty. Name a file."));
        }
        if given.contains('\0') {
            return Err(Why::new(Kind::Unusable, "The path contains a null character, which no file name has."));
        }
        let absolute = match given.strip_prefix('~') {
            Some("") => home.to_path_buf(),
            Some(rest) if rest.starts_with('/') => home.join(rest.trim_start_matches('/')),
            _ => cwd.join(given),
        };
        Ok(Self::of(&absolute))
    }

    /// Resolves an absolute path.
    pub(crate) fn of(absolute: &Path) -> Self {
        Self { path: real(absolute), named: lexical(absolute) }
    }

    /// Absolute and without links, as far as it exists.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// The same place as it was called: absolute, with its links.
    pub(super) fn named(&self) -> &Path {
        &self.named
    }

    pub(crate) fn into_path(self) -> PathBuf {
        self.path
    }
}

enum Step {
    Up,
    Into(OsString),
}

/// The path with every link followed. What does not exist keeps its name, so the target of a link that leads to nothing
/// is the place where a file would be made.
pub(crate) fn real(absolute: &Path) -> PathBuf {
    let mut path = PathBuf::from("/");
    let mut steps = steps(absolute);
    let mut links = 0;
    while let Some(step) = steps.pop_front() {
        let name = match step {
            Step::Up => {
                path.pop();
                continue;
            }
            Step::Into(name) => name,
        };
        path.push(name);
        let target = match std::fs::read_link(&path) {
            Ok(target) if links < LINKS => target,
            // No link, not there, or a circle: opening it says which.
            _ => continue,
        };
        links += 1;
        path.pop();
        if target.is_absolute() {
            path = PathBuf::from("/");
        }
        for step in self::steps(&target).into_iter().rev() {
            steps.push_front(step);
        }
    }
    path
}

/// The path without `.` and `..`, by its text alone.
fn lexical(absolute: &Path) -> PathBuf {
    let mut path = PathBuf::from("/");
    for step in steps(absolute) {
        match step {
            Step::Up => {
                path.pop();
            }
            Step::Into(name) => path.push(name),
        }
    }
    path
}

fn steps(path: &Path) -> VecDeque<Step> {
    let parts = path.components().filter_map(|part| match part {
        Component::ParentDir => Some(Step::Up),
        Component::Normal(name) => Some(Step::Into(name.to_os_string())),
        Component::CurDir | Component::RootDir | Component::Prefix(_) => None,
    });
    parts.collect()
}
