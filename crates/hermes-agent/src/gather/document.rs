//! One file, read with care: so much of it and no more, only text, and only what lies where it should.

use std::fs::{self, File};
use std::io::{self, ErrorKind, Read as _};
use std::path::Path;

/// More is never read; the largest limit of a file is a quarter of it, and a character has at most four bytes.
const MOST_BYTES: usize = 2 * 1024 * 1024;
const FENCE: &str = "---";
/// What a link may lead to: files that are written to be read.
const READABLE: [&str; 4] = [".md", ".mdc", ".txt", ".cursorrules"];

/// What is at a path.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Found {
    Nothing,
    Document(Document),
    /// Something that is not read, and why.
    Refused(String),
}

#[derive(Debug, PartialEq, Eq)]
pub(super) struct Document {
    pub(super) text: String,
    pub(super) end: End,
}

/// How far a file was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    Reached,
    /// It goes on; how far was not looked at.
    Open,
}

/// Reads a file. Below a `tree` it belongs to somebody else, who may have put a link there to show the model what nobody
/// asked for.
pub(super) fn read(path: &Path, tree: Option<&Path>) -> Found {
    match fs::symlink_metadata(path) {
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => return Found::Nothing,
        _ => {}
    }
    match tree.map_or(Ok(()), |tree| stays(path, tree)).and_then(|()| load(path)) {
        Ok(document) => Found::Document(document),
        Err(reason) => Found::Refused(reason),
    }
}

fn stays(path: &Path, tree: &Path) -> Result<(), String> {
    let target = path.canonicalize().map_err(unreadable)?;
    let tree = tree.canonicalize().map_err(unreadable)?;
    if !target.starts_with(tree) {
        return Err(format!("it leads out of the project, to {}", target.display()));
    }
    let name = target.file_name().unwrap_or_default().to_string_lossy().to_lowercase();
    if !READABLE.iter().any(|ending| name.ends_with(ending)) {
        return Err(format!("it leads to {}, which is no file for agents", target.display()));
    }
    Ok(())
}

fn load(path: &Path) -> Result<Document, String> {
    // Asked before it is opened: opening a pipe would wait for somebody to write.
    if !fs::metadata(path).map_err(unreadable)?.is_file() {
        return Err("it is not a file".to_owned());
    }
    let mut bytes = Vec::new();
    File::open(path).and_then(|file| file.take(MOST_BYTES as u64 + 1).read_to_end(&mut bytes)).map_err(unreadable)?;
    let end = if bytes.len() > MOST_BYTES { End::Open } else { End::Reached };
    bytes.truncate(MOST_BYTES);
    if bytes.contains(&0) {
        return Err("it is not text; there are zero bytes in it".to_owned());
    }
    let text = match (String::from_utf8(bytes), end) {
        (Ok(text), _) => text,
        (Err(error), End::Open) if error.utf8_error().error_len().is_none() => {
            // The last character was cut in two.
            let valid = error.utf8_error().valid_up_to();
            let mut bytes = error.into_bytes();
            bytes.truncate(valid);
            String::from_utf8_lossy(&bytes).into_owned()
        }
        (Err(_), _) => return Err("it is not UTF-8 text; save it as UTF-8".to_owned()),
    };
    let text = text.strip_prefix('\u{feff}').map(str::to_owned).unwrap_or(text);
    Ok(Document { text, end })
}

#[expect(clippy::needless_pass_by_value, reason = "the shape that map_err wants")]
fn unreadable(error: io::Error) -> String {
    format!("it cannot be read ({error})")
}

/// The text without a block of YAML between two lines `---` at its beginning.
pub(super) fn without_front_matter(text: &str) -> &str {
    let mut lines = text.split_inclusive('\n');
    if lines.next().map(str::trim_end) != Some(FENCE) {
        return text;
    }
    let mut length = text.split_inclusive('\n').next().map_or(0, str::len);
    for line in lines {
        length += line.len();
        if line.trim_end() == FENCE {
            return text.get(length..).unwrap_or_default();
        }
    }
    text
}
