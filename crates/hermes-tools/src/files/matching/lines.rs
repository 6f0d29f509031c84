//! A text as lines, blocks of lines to look for, and the search of one list inside another in linear time.

use std::ops::Range;

#[derive(Debug, Clone, Copy)]
pub(super) struct Line<'a> {
    pub(super) start: usize,
    pub(super) text: &'a str,
}

#[derive(Debug)]
pub(super) struct Lines<'a> {
    text: &'a str,
    lines: Vec<Line<'a>>,
}

impl<'a> Lines<'a> {
    /// The empty rest after a last line break is no line.
    pub(super) fn of(text: &'a str) -> Self {
        let mut start = 0;
        let lines = text.split_inclusive('\n').map(|piece| {
            let line = Line { start, text: piece.strip_suffix('\n').unwrap_or(piece) };
            start += piece.len();
            line
        });
        Self { text, lines: lines.collect() }
    }

    pub(super) fn text(&self) -> &'a str {
        self.text
    }

    pub(super) fn all(&self) -> &[Line<'a>] {
        &self.lines
    }

    /// The bytes of `count` lines, with the last line break when the block asks for it and the text has it.
    pub(super) fn span(&self, first: usize, count: usize, closing: Closing) -> Range<usize> {
        let start = self.lines.get(first).map_or(self.text.len(), |line| line.start);
        let Some(last) = (first + count).checked_sub(1).and_then(|last| self.lines.get(last)) else {
            return start..start;
        };
        let end = last.start + last.text.len();
        let broken = self.text.as_bytes().get(end) == Some(&b'\n');
        start..end + usize::from(broken && closing == Closing::Break)
    }

    /// Where the line that holds this place begins.
    pub(super) fn line_start(&self, at: usize) -> usize {
        let after = self.lines.partition_point(|line| line.start <= at);
        after.checked_sub(1).and_then(|index| self.lines.get(index)).map_or(0, |line| line.start)
    }

    /// The number people use for the line that holds this place.
    pub(super) fn number(&self, at: usize) -> usize {
        self.lines.partition_point(|line| line.start <= at).max(1)
    }
}

/// Whether the block that is looked for ends with a line break of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Closing {
    Break,
    Open,
}

/// Lines to look for.
#[derive(Debug)]
pub(super) struct Block<'a> {
    pub(super) lines: Vec<&'a str>,
    pub(super) closing: Closing,
}

impl<'a> Block<'a> {
    pub(super) fn of(old: &'a str) -> Self {
        match old.strip_suffix('\n') {
            Some(body) => Self { lines: body.split('\n').collect(), closing: Closing::Break },
            None => Self { lines: old.split('\n').collect(), closing: Closing::Open },
        }
    }
}

/// Every place where the needle stands, overlapping ones too (Knuth, Morris and Pratt).
pub(super) fn occurrences<T: PartialEq>(haystack: &[T], needle: &[T]) -> Vec<usize> {
    if needle.is_empty() || needle.len() > haystack.len() {
        return Vec::new();
    }
    let mut borders: Vec<usize> = vec![0];
    let mut border = 0;
    for item in needle.iter().skip(1) {
        border = advance(needle, &borders, border, item);
        borders.push(border);
    }
    let mut found = Vec::new();
    let mut matched = 0;
    for (at, item) in haystack.iter().enumerate() {
        matched = advance(needle, &borders, matched, item);
        if matched == needle.len() {
            found.push(at + 1 - matched);
            matched = borders.last().copied().unwrap_or_default();
        }
    }
    found
}

/// How much of the needle is matched after one more item.
fn advance<T: PartialEq>(needle: &[T], borders: &[usize], mut matched: usize, item: &T) -> usize {
    while matched > 0 && needle.get(matched) != Some(item) {
        matched = borders.get(matched - 1).copied().unwrap_or_default();
    }
    matched + usize::from(needle.get(matched) == Some(item))
}

/// The white space a line begins with.
pub(super) fn indent(line: &str) -> &str {
    line.strip_suffix(line.trim_start()).unwrap_or_default()
}
