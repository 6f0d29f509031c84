//! The strategies that look for equal text after a harmless change of both sides, one function for each.

use super::fuzzy;
use super::lines::{Block, Lines, occurrences};
use super::mapped::Mapped;
use super::similarity::Budget;
use std::fmt;
use std::ops::Range;

/// How the text to replace was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Strategy {
    Exact,
    LineTrimmed,
    WhitespaceNormalized,
    IndentationFlexible,
    EscapeNormalized,
    TrimmedBoundary,
    UnicodeNormalized,
    BlockAnchor,
    ContextAware,
}

impl fmt::Display for Strategy {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::Exact => "exact",
            Self::LineTrimmed => "line_trimmed",
            Self::WhitespaceNormalized => "whitespace_normalized",
            Self::IndentationFlexible => "indentation_flexible",
            Self::EscapeNormalized => "escape_normalized",
            Self::TrimmedBoundary => "trimmed_boundary",
            Self::UnicodeNormalized => "unicode_normalized",
            Self::BlockAnchor => "block_anchor",
            Self::ContextAware => "context_aware",
        })
    }
}

/// Where a hit may begin and end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// Anywhere in a line: text replaces text.
    Text,
    /// Only whole lines: the text to replace is a list of lines, each with its line break.
    WholeLines,
}

pub(super) struct Haystack<'a> {
    pub(super) lines: Lines<'a>,
    pub(super) scope: Scope,
    pub(super) budget: Budget,
}

type Finder = fn(&Haystack<'_>, &str) -> Vec<Range<usize>>;

/// The first row with a hit decides.
pub(super) const CHAIN: [(Strategy, Finder); 9] = [
    (Strategy::Exact, exact),
    (Strategy::LineTrimmed, line_trimmed),
    (Strategy::WhitespaceNormalized, whitespace_normalized),
    (Strategy::IndentationFlexible, indentation_flexible),
    (Strategy::EscapeNormalized, escape_normalized),
    (Strategy::TrimmedBoundary, trimmed_boundary),
    (Strategy::UnicodeNormalized, unicode_normalized),
    (Strategy::BlockAnchor, fuzzy::block_anchor),
    (Strategy::ContextAware, fuzzy::context_aware),
];

fn exact(haystack: &Haystack<'_>, old: &str) -> Vec<Range<usize>> {
    match haystack.scope {
        Scope::Text => substrings(haystack.lines.text(), old),
        Scope::WholeLines => equal_lines(&haystack.lines, old, |line| line),
    }
}

fn line_trimmed(haystack: &Haystack<'_>, old: &str) -> Vec<Range<usize>> {
    equal_lines(&haystack.lines, old, str::trim)
}

/// A match that ends in a visible character leaves the white space behind it alone, because a run of white space ends
/// where the next character begins.
fn whitespace_normalized(haystack: &Haystack<'_>, old: &str) -> Vec<Range<usize>> {
    let copy = Mapped::collapsed(haystack.lines.text());
    let hits = substrings(&copy.text, &Mapped::collapsed(old).text);
    fitting(haystack, hits.iter().filter_map(|hit| copy.origin(hit)))
}

fn indentation_flexible(haystack: &Haystack<'_>, old: &str) -> Vec<Range<usize>> {
    equal_lines(&haystack.lines, old, str::trim_start)
}

fn escape_normalized(haystack: &Haystack<'_>, old: &str) -> Vec<Range<usize>> {
    let meant = unescaped(old);
    if meant == old || meant.trim().is_empty() {
        return Vec::new();
    }
    fitting(haystack, substrings(haystack.lines.text(), &meant).into_iter())
}

/// `\n`, `\t` and `\r` that were written out, as the characters they name.
pub(super) fn unescaped(text: &str) -> String {
    text.replace("\\r\\n", "\n").replace("\\n", "\n").replace("\\t", "\t").replace("\\r", "\r").replace("\r\n", "\n")
}

fn trimmed_boundary(haystack: &Haystack<'_>, old: &str) -> Vec<Range<usize>> {
    let block = Block::of(old);
    let all = haystack.lines.all();
    let count = block.lines.len();
    let trimmed = |index: usize| all.get(index).map(|line| line.text.trim());
    let (first, last) = (block.lines.first().map(|line| line.trim()), block.lines.last().map(|line| line.trim()));
    let middle = block.lines.get(1..count.saturating_sub(1)).unwrap_or_default();
    let starts: Vec<usize> = if middle.is_empty() {
        (0..(all.len() + 1).saturating_sub(count)).collect()
    } else {
        let texts: Vec<&str> = all.iter().map(|line| line.text).collect();
        occurrences(&texts, middle).into_iter().filter_map(|at| at.checked_sub(1)).collect()
    };
    let hits = starts.into_iter().filter(|at| trimmed(*at) == first && trimmed(at + count - 1) == last);
    hits.map(|at| haystack.lines.span(at, count, block.closing)).collect()
}

fn unicode_normalized(haystack: &Haystack<'_>, old: &str) -> Vec<Range<usize>> {
    let (copy, plain) = (Mapped::typed(haystack.lines.text()), Mapped::typed(old).text);
    if copy.text == haystack.lines.text() && plain == old {
        return Vec::new();
    }
    let hits = fitting(haystack, substrings(&copy.text, &plain).iter().filter_map(|hit| copy.origin(hit)));
    if !hits.is_empty() {
        return hits;
    }
    let lines = Lines::of(&copy.text);
    equal_lines(&lines, &plain, str::trim).iter().filter_map(|hit| copy.origin(hit)).collect()
}

fn substrings(text: &str, old: &str) -> Vec<Range<usize>> {
    text.match_indices(old).map(|(at, hit)| at..at + hit.len()).collect()
}

/// Blocks of lines that are equal after `shape`, overlapping ones too: which of them is meant is not known.
fn equal_lines(lines: &Lines<'_>, old: &str, shape: fn(&str) -> &str) -> Vec<Range<usize>> {
    let block = Block::of(old);
    let needle: Vec<&str> = block.lines.iter().map(|line| shape(line)).collect();
    let texts: Vec<&str> = lines.all().iter().map(|line| shape(line.text)).collect();
    occurrences(&texts, &needle).into_iter().map(|at| lines.span(at, needle.len(), block.closing)).collect()
}

/// Where whole lines are asked for, only white space may stand around a hit in its lines.
fn fitting(haystack: &Haystack<'_>, hits: impl Iterator<Item = Range<usize>>) -> Vec<Range<usize>> {
    match haystack.scope {
        Scope::Text => hits.collect(),
        Scope::WholeLines => {
            let text = haystack.lines.text();
            hits.filter(|hit| {
                let start = haystack.lines.line_start(hit.start);
                let before = text.get(start..hit.start).unwrap_or_default();
                let ends = hit.end == text.len() || text.get(..hit.end).is_some_and(|head| head.ends_with('\n'));
                before.trim().is_empty() && ends
            })
            .collect()
        }
    }
}
