//! The file beside a damaged database that keeps every program of ours from writing to it.

use std::ffi::OsString;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// More than this nobody reads.
const LONGEST: usize = 2_000;

/// `state.db` and an addition to its name.
pub(crate) fn beside(path: &Path, addition: &str) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(addition);
    PathBuf::from(name)
}

fn place(path: &Path) -> PathBuf {
    beside(path, ".damaged")
}

/// What was found when the marker was set.
pub(crate) fn read(path: &Path) -> Option<String> {
    let text = match fs::read(place(path)) {
        Ok(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return None,
        Err(error) => error.to_string(),
    };
    let found = text.lines().next().unwrap_or_default().chars().take(LONGEST).collect::<String>();
    Some(if found.is_empty() { "found by another program".into() } else { found })
}

/// Where the folder cannot be written the marker is missing, and every program finds the damage by itself.
pub(crate) fn set(path: &Path, found: &str) {
    let found: String = found.chars().map(|c| if c.is_control() { ' ' } else { c }).take(LONGEST).collect();
    let text = format!(
        "{found}\n\nThe session store beside this file is damaged, so nothing is written to it any more.\n\
         `hermes sessions recover` saves what can be read into a new file and removes this one.\n"
    );
    if read(path).is_none()
        && let Err(error) = fs::write(place(path), text)
    {
        tracing::warn!("the damage of {} could not be noted beside it: {error}", path.display());
    }
}

/// The line before the name that a file which is being replaced is kept under.
const KEPT: &str = "kept: ";

/// Adds to a mark where the file is kept that loses its name next. Without a mark there is nothing to add to.
pub(crate) fn note_kept(path: &Path, kept: &Path) -> io::Result<()> {
    let mut mark = match fs::OpenOptions::new().append(true).open(place(path)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        mark => mark?,
    };
    writeln!(mark, "{KEPT}{}", std::path::absolute(kept)?.display())?;
    mark.sync_all()
}

pub(crate) fn kept(path: &Path) -> Option<PathBuf> {
    let text = fs::read_to_string(place(path)).ok()?;
    text.lines().rev().find_map(|line| line.strip_prefix(KEPT)).map(PathBuf::from)
}

pub(crate) fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_file(place(path)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        removed => removed,
    }
}
