//! A text without its byte order mark and with `\n` as the only line ending, and the way back.
//!
//! Edits are found in the view and made in the original, so a line nobody touched keeps its bytes, even in a file that
//! mixes both endings. New lines take the ending that most lines of the file have.

use std::borrow::Cow;

const MARK: &str = "\u{feff}";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ending {
    Lf,
    CrLf,
}

#[derive(Debug)]
pub(super) struct View<'a> {
    text: Cow<'a, str>,
    /// Bytes of the mark in front.
    skipped: usize,
    /// Where in the view a `\n` stands for `\r\n`, ascending.
    folded: Vec<usize>,
    ending: Ending,
}

impl<'a> View<'a> {
    pub(super) fn of(original: &'a str) -> Self {
        let body = original.strip_prefix(MARK).unwrap_or(original);
        let skipped = original.len() - body.len();
        let folded: Vec<usize> =
            body.match_indices("\r\n").enumerate().map(|(earlier, (at, _))| at - earlier).collect();
        let breaks = body.matches('\n').count();
        let ending = if !folded.is_empty() && folded.len() * 2 >= breaks { Ending::CrLf } else { Ending::Lf };
        Self { text: unix(body), skipped, folded, ending }
    }

    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// The place in the original. A place before a line break is before both of its characters.
    pub(super) fn origin(&self, at: usize) -> usize {
        self.skipped + at + self.folded.partition_point(|folded| *folded < at)
    }

    /// Text with `\n` as it is written in this file.
    pub(super) fn written<'t>(&self, text: &'t str) -> Cow<'t, str> {
        match self.ending {
            Ending::CrLf if text.contains('\n') => Cow::Owned(text.replace('\n', "\r\n")),
            Ending::CrLf | Ending::Lf => Cow::Borrowed(text),
        }
    }
}

pub(super) fn unix(text: &str) -> Cow<'_, str> {
    if text.contains("\r\n") { Cow::Owned(text.replace("\r\n", "\n")) } else { Cow::Borrowed(text) }
}
