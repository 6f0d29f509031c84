//! A changed copy of a text that knows for each of its bytes where it came from.

use std::ops::Range;

#[derive(Debug, Default)]
pub(super) struct Mapped {
    pub(super) text: String,
    /// What was replaced, in order. Everything between is the same on both sides.
    replaced: Vec<Replaced>,
    /// How much of the original was taken over.
    taken: usize,
}

#[derive(Debug)]
struct Replaced {
    copy: Range<usize>,
    origin: Range<usize>,
}

impl Mapped {
    fn keep(&mut self, piece: &str) {
        self.text.push_str(piece);
        self.taken += piece.len();
    }

    fn replace(&mut self, length: usize, piece: &str) {
        let copy = self.text.len()..self.text.len() + piece.len();
        self.replaced.push(Replaced { copy, origin: self.taken..self.taken + length });
        self.text.push_str(piece);
        self.taken += length;
    }

    /// The original bytes of a span of the copy, unless it begins or ends inside something that was replaced.
    pub(super) fn origin(&self, span: &Range<usize>) -> Option<Range<usize>> {
        Some(self.place(span.start)?..self.place(span.end)?)
    }

    fn place(&self, at: usize) -> Option<usize> {
        let after = self.replaced.partition_point(|replaced| replaced.copy.start <= at);
        let Some(last) = after.checked_sub(1).and_then(|index| self.replaced.get(index)) else { return Some(at) };
        if at == last.copy.start {
            return Some(last.origin.start);
        }
        at.checked_sub(last.copy.end).map(|beyond| last.origin.end + beyond)
    }

    /// Every run of spaces and tabs as one space.
    pub(super) fn collapsed(text: &str) -> Self {
        let blank = |char: char| matches!(char, ' ' | '\t');
        let mut copy = Self::default();
        let mut rest = text;
        while !rest.is_empty() {
            let (word, after) = rest.split_at(rest.find(blank).unwrap_or(rest.len()));
            let next = after.trim_start_matches(blank);
            copy.keep(word);
            if next.len() < after.len() {
                copy.replace(after.len() - next.len(), " ");
            }
            rest = next;
        }
        copy
    }

    /// Typographic characters as the ones on a keyboard.
    pub(super) fn typed(text: &str) -> Self {
        let mut copy = Self::default();
        for piece in text.split_inclusive(|char| typed(char).is_some()) {
            match piece.chars().next_back().and_then(|last| Some((last, typed(last)?))) {
                Some((last, plain)) => {
                    copy.keep(piece.strip_suffix(last).unwrap_or_default());
                    copy.replace(last.len_utf8(), plain);
                }
                None => copy.keep(piece),
            }
        }
        copy
    }
}

/// What people type for a typographic character.
fn typed(char: char) -> Option<&'static str> {
    TYPED.iter().find(|(typographic, _)| *typographic == char).map(|(_, plain)| *plain)
}

const TYPED: [(char, &str); 8] = [
    ('\u{2018}', "'"),
    ('\u{2019}', "'"),
    ('\u{201c}', "\""),
    ('\u{201d}', "\""),
    ('\u{2013}', "-"),
    ('\u{2014}', "--"),
    ('\u{2026}', "..."),
    ('\u{a0}', " "),
];
