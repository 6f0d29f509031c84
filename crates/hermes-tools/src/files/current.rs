//! A file as it is now, before it is changed, and what the conversation knows of it.

use super::history::Known;
use super::place::Writable;
use super::place::open::Opened;
use super::stamp::{Stamp, fingerprint};
use super::text::{Decoded, Encoding, decode};
use super::write::syntax::Language;
use crate::desk::Desk;
use std::fs::Metadata;
use std::io::Read as _;
use std::path::Path;

/// Larger files are overwritten, moved and removed, but not edited.
const EDITED: u64 = 64 << 20;

#[derive(Debug)]
pub(crate) enum Current {
    Absent,
    Text {
        decoded: Decoded,
        print: u64,
        about: Box<Metadata>,
    },
    /// No text, or too large to be edited.
    Other {
        about: Box<Metadata>,
    },
}

impl Current {
    pub(crate) fn text(&self) -> Option<&str> {
        match self {
            Self::Text { decoded, .. } => Some(&decoded.text),
            Self::Absent | Self::Other { .. } => None,
        }
    }

    pub(crate) fn encoding(&self) -> Option<Encoding> {
        match self {
            Self::Text { decoded, .. } => Some(decoded.encoding),
            Self::Absent | Self::Other { .. } => None,
        }
    }

    pub(crate) fn about(&self) -> Option<&Metadata> {
        match self {
            Self::Absent => None,
            Self::Text { about, .. } | Self::Other { about } => Some(about),
        }
    }
}

/// What is at a place. The error says why nothing can be put there.
pub(crate) fn look(target: &Writable) -> Result<Current, String> {
    let name = target.path().display();
    let (file, about) = match target.open() {
        Ok(Opened::File(file, about)) => (file, Box::new(about)),
        Ok(Opened::Absent) => return Ok(Current::Absent),
        Ok(Opened::Directory) => return Err(format!("{name} is a directory. Name a file in it.")),
        Ok(Opened::Special) => return Err(format!("{name} is a device, a pipe or a socket, not a file.")),
        Err(error) => return Err(format!("{name} cannot be opened: {error}.")),
    };
    if about.len() > EDITED {
        return Ok(Current::Other { about });
    }
    let mut bytes = Vec::new();
    file.take(EDITED + 1).read_to_end(&mut bytes).map_err(|error| format!("{name} cannot be read: {error}."))?;
    let print = fingerprint(&bytes);
    Ok(match decode(&bytes) {
        // A null character is legal in a text and never meant.
        Some(decoded) if !decoded.text.contains('\0') => Current::Text { decoded, print, about },
        _ => Current::Other { about },
    })
}

/// Why a data file would no longer parse. One that does not parse today may be written as it likes: its readers are
/// others than we think.
pub(crate) fn broken_data(path: &Path, before: Option<&str>, after: &str) -> Option<String> {
    let language = Language::of(path)?;
    if before.is_some_and(|before| !before.trim().is_empty() && language.fault(before).is_some()) {
        return None;
    }
    let fault = language.fault(after)?;
    Some(format!("the content is not valid {}: {fault}.", language.name()))
}

/// What the conversation may not know about a file it is about to change.
pub(crate) fn stale(desk: &Desk, given: &str, path: &Path, now: &Current) -> Option<String> {
    let known = desk.history.known(path);
    let since = known.map_or(0, |known| known.at);
    if now.about().is_some()
        && let Some(other) = desk.shop.traffic.other_writer(path, &desk.session, since)
    {
        return Some(format!(
            "{given} was written by another agent (session {other}) after you last saw it. Read it again and check that \
             nothing of theirs is lost."
        ));
    }
    if let (Some(known), Some(about)) = (known, now.about())
        && !Stamp::of(about).same_content(&known.stamp)
        && !matches!(now, Current::Text { print, .. } if known.print == Some(*print))
    {
        return Some(format!(
            "{given} was changed on disk after you last saw it. Read it again and check that nothing is lost."
        ));
    }
    let outside = !given.starts_with(['/', '~']) && !path.starts_with(super::place::real(&desk.cwd()));
    outside.then(|| format!("{given} leads out of the working directory, to {}.", path.display()))
}

/// Remembers a file that was just written, and says how large it is on disk.
pub(crate) fn landed(desk: &Desk, target: &Writable) -> Result<u64, String> {
    let path = target.path();
    desk.shop.traffic.wrote(path, &desk.session);
    let at = desk.shop.traffic.now();
    match target.open() {
        Ok(Opened::File(_, about)) => {
            desk.history.knows(path, Known { stamp: Stamp::of(&about), print: None, at });
            Ok(about.len())
        }
        Ok(_) => Err(format!("{} was written, and is gone again: another program removed it.", path.display())),
        Err(error) => Err(format!("{} was written, and cannot be read back: {error}.", path.display())),
    }
}
