//! What a shell leaves to the next one: a file that bash wrote and bash reads. It is only ever replaced as a whole, and
//! it lives as long as somebody may still start from it, so calls side by side never see half of one.

use super::script::WHOLE;
use std::ffi::OsString;
use std::fs;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A state beyond this is a mistake (a file read into a variable), and would make every later command slow.
const LARGEST: u64 = 16 * 1024 * 1024;

/// A state that is whole, or a script that is too long for an argument. The file goes with the last who knows of it.
#[derive(Debug)]
pub(crate) struct StateFile {
    path: PathBuf,
}

impl StateFile {
    /// A file that goes when nobody needs it any more.
    pub(super) fn new(path: PathBuf) -> Self {
        Self { path }
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// What bash wrote.
    pub(super) fn text(&self) -> String {
        String::from_utf8_lossy(&fs::read(&self.path).unwrap_or_default()).into_owned()
    }
}

impl Drop for StateFile {
    fn drop(&mut self) {
        // The directory goes with the terminal; a file that could not be removed goes then.
        let _ = fs::remove_file(&self.path);
    }
}

/// What a shell said at its end.
#[derive(Debug)]
pub(super) enum Testament {
    /// It said nothing, or not all.
    None,
    Unchanged {
        cwd: PathBuf,
    },
    Changed {
        cwd: PathBuf,
        state: Arc<StateFile>,
    },
}

/// Reads what a shell left in these files. They are gone afterwards, but for a state that is kept.
pub(super) fn collect(state: PathBuf, cwd: &Path, began: Option<&StateFile>) -> Testament {
    let place = fs::read(cwd);
    // It is not there when the shell was killed.
    let _ = fs::remove_file(cwd);
    let state = StateFile::new(state);
    // The directory is written last: where it is whole, the state before it was written too.
    let Some(place) = place.ok().and_then(|place| place.strip_suffix(b"\n").map(<[u8]>::to_vec)) else {
        return Testament::None;
    };
    let cwd = PathBuf::from(OsString::from_vec(place));
    if fs::metadata(&state.path).map_or(0, |file| file.len()) > LARGEST {
        tracing::warn!("a shell wanted to keep more than {LARGEST} bytes of variables and functions; it was not kept");
        return Testament::Unchanged { cwd };
    }
    let text = fs::read(&state.path).unwrap_or_default();
    // A full disk can cut the state and still take the directory.
    let whole = text.strip_suffix(b"\n").is_some_and(|text| text.ends_with(WHOLE.as_bytes()));
    let same = began.is_some_and(|began| fs::read(&began.path).is_ok_and(|before| before == text));
    if same || !whole {
        return Testament::Unchanged { cwd };
    }
    Testament::Changed { cwd, state: Arc::new(state) }
}
