//! Where an edit belongs in a text, and the text after it.
//!
//! Nine strategies, from equal text to similar blocks, look for the text to replace; the first one that finds anything
//! decides, and more than one hit is an error unless all of them are wanted. Spans are bytes of the original and lie on
//! characters. A byte order mark, line endings and everything outside of the changed text keep their bytes. Time is
//! bounded: similarity is paid from a budget that depends on the input alone, and when it is spent there is no hit.

mod endings;
mod fuzzy;
mod lines;
mod mapped;
mod near;
mod rewrite;
mod similarity;
mod strategies;
#[cfg(test)]
mod tests;

pub use near::Near;
pub use strategies::{Scope, Strategy};

use endings::{View, unix};
use lines::Lines;
use rewrite::Replacement;
use similarity::Budget;
use std::fmt::Write as _;
use std::ops::Range;
use strategies::{CHAIN, Haystack};

/// Steps of comparing that one search may cost, about a nanosecond each.
const SEARCH: u64 = 12_000_000;
/// The same for the places that are named after a miss.
const NEARBY: u64 = 8_000_000;
/// Lines of ambiguous hits that are named.
const NAMED: usize = 10;

/// Which of several hits are replaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Occurrences {
    /// There must be exactly one.
    Only,
    All,
}

/// Text to replace and what to put there.
#[derive(Debug, Clone, Copy)]
pub struct Edit<'a> {
    pub old: &'a str,
    pub new: &'a str,
    pub occurrences: Occurrences,
    pub scope: Scope,
}

/// A text after an edit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Edited {
    pub text: String,
    pub strategy: Strategy,
    pub count: usize,
}

/// Hits in a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    pub strategy: Strategy,
    /// Bytes of the text, ascending. Lenient hits may overlap: then it is not clear which lines are meant.
    pub spans: Vec<Range<usize>>,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MatchError {
    #[error("The text to replace is empty. Give the lines that should change, or write the whole file.")]
    EmptyOld,
    #[error("The text to replace and the new text are the same, so there is nothing to change. Check both.")]
    Same,
    #[error(
        "The file would stay as it is: it has the new text already, or the edit changes nothing but line endings, \
         which are kept. Read the file again before the next edit."
    )]
    NoEffect,
    #[error("{}", not_found(near))]
    NotFound { near: Vec<Near> },
    #[error("{}", ambiguous(*count, *strategy, lines))]
    Ambiguous { count: usize, strategy: Strategy, lines: Vec<usize> },
    #[error(
        "Line {line} of the file has no {escape} where both the old and the new text have it: the backslash is not in \
         the file. Read the file again and give both texts with plain quotes."
    )]
    EscapeDrift { escape: &'static str, line: usize },
}

fn not_found(near: &[Near]) -> String {
    let mut text = String::from("The text to replace is not in the file. ");
    if near.is_empty() {
        text.push_str("Nothing in it is similar: check the path, and read the file before editing it.");
        return text;
    }
    text.push_str("Copy it from the file as it is now. Did you mean one of these places?");
    for place in near {
        // Writing to a string does not fail.
        let _ = write!(text, "\n\n{place}");
    }
    text
}

fn ambiguous(count: usize, strategy: Strategy, lines: &[usize]) -> String {
    let named = lines.iter().map(usize::to_string).collect::<Vec<_>>().join(", ");
    let more = if count > lines.len() { ", …" } else { "" };
    format!(
        "The text to replace was found {count} times ({strategy}; lines {named}{more}). \
         Add lines around it until it is unique, or ask for all of them to be replaced."
    )
}

/// The hits of the first strategy that has any, in bytes of `text`.
pub fn find(text: &str, old: &str, scope: Scope) -> Option<Found> {
    let view = View::of(text);
    let haystack = Haystack { lines: Lines::of(view.text()), scope, budget: Budget::of(SEARCH) };
    let found = search(&haystack, &unix(old))?;
    let spans = found.spans.iter().map(|span| view.origin(span.start)..view.origin(span.end)).collect();
    Some(Found { strategy: found.strategy, spans })
}

/// Makes an edit. See the module for what is promised.
///
/// ```
/// use hermes_tools::files::matching::{Edit, Occurrences, Scope, replace};
/// let edit = Edit { old: "a = 1", new: "a = 2", occurrences: Occurrences::Only, scope: Scope::Text };
/// let edited = replace("if x:\r\n    a  =  1\r\n", &edit).unwrap();
/// assert_eq!(edited.text, "if x:\r\n    a = 2\r\n");
/// ```
pub fn replace(text: &str, edit: &Edit<'_>) -> Result<Edited, MatchError> {
    if edit.old.is_empty() {
        return Err(MatchError::EmptyOld);
    }
    if edit.old == edit.new {
        return Err(MatchError::Same);
    }
    let (old, new) = (unix(edit.old), unix(edit.new));
    let view = View::of(text);
    let haystack = Haystack { lines: Lines::of(view.text()), scope: edit.scope, budget: Budget::of(SEARCH) };
    let lines = &haystack.lines;
    let Some(Found { strategy, spans }) = search(&haystack, &old) else {
        return Err(MatchError::NotFound { near: near::nearest(lines, &old, &Budget::of(NEARBY)) });
    };
    let chosen = match edit.occurrences {
        Occurrences::Only => spans.clone(),
        Occurrences::All => apart(&spans),
    };
    // Similar blocks that overlap leave open which lines are meant; equal ones are taken from the first on.
    let similar = matches!(strategy, Strategy::BlockAnchor | Strategy::ContextAware);
    let unclear = similar && chosen.len() < spans.len();
    if unclear || (chosen.len() > 1 && edit.occurrences == Occurrences::Only) {
        let lines = spans.iter().take(NAMED).map(|span| lines.number(span.start)).collect();
        return Err(MatchError::Ambiguous { count: spans.len(), strategy, lines });
    }
    let place = rewrite::Place { lines, scope: edit.scope, strategy };
    let fitted: Result<Vec<Replacement>, rewrite::Drift> =
        chosen.into_iter().map(|span| rewrite::fit(&place, span, &old, &new)).collect();
    let replacements =
        fitted.map_err(|drift| MatchError::EscapeDrift { escape: drift.escape, line: lines.number(drift.at) })?;
    let edited = spliced(text, &view, &replacements);
    if edited == text {
        return Err(MatchError::NoEffect);
    }
    Ok(Edited { text: edited, strategy, count: replacements.len() })
}

/// The hits that do not overlap, from the first on.
fn apart(spans: &[Range<usize>]) -> Vec<Range<usize>> {
    let mut chosen: Vec<Range<usize>> = Vec::new();
    for span in spans {
        if chosen.last().is_none_or(|last| last.end <= span.start) {
            chosen.push(span.clone());
        }
    }
    chosen
}

fn search(haystack: &Haystack<'_>, old: &str) -> Option<Found> {
    if old.is_empty() {
        return None;
    }
    // White space alone is only ever found as it is: every lenient comparison would take it for any other.
    let lenient = !old.trim().is_empty();
    let mut chain = CHAIN.iter().filter(|(strategy, _)| lenient || *strategy == Strategy::Exact);
    chain.find_map(|(strategy, finder)| {
        let spans = finder(haystack, old);
        (!spans.is_empty()).then_some(Found { strategy: *strategy, spans })
    })
}

/// The original with all replacements made, from the last one to the first, so that no place moves before its turn.
fn spliced(text: &str, view: &View<'_>, replacements: &[Replacement]) -> String {
    let mut pieces: Vec<&str> = Vec::new();
    let written: Vec<(Range<usize>, String)> = replacements.iter().map(|made| narrowed(view, made)).collect();
    let mut end = text.len();
    for (span, new) in written.iter().rev() {
        pieces.push(text.get(span.end..end).unwrap_or_default());
        pieces.push(new);
        end = span.start;
    }
    pieces.push(text.get(..end).unwrap_or_default());
    pieces.into_iter().rev().collect()
}

/// Only what differs is written, so that kept lines keep their line endings.
fn narrowed(view: &View<'_>, made: &Replacement) -> (Range<usize>, String) {
    let old = view.text().get(made.span.clone()).unwrap_or_default();
    let new = made.text.as_str();
    let same = |pairs: &mut dyn Iterator<Item = (char, char)>| -> usize {
        pairs.take_while(|(left, right)| left == right).map(|(left, _)| left.len_utf8()).sum()
    };
    let head = same(&mut old.chars().zip(new.chars()));
    let (old_rest, new_rest) = (old.get(head..).unwrap_or_default(), new.get(head..).unwrap_or_default());
    let tail = same(&mut old_rest.chars().rev().zip(new_rest.chars().rev()));
    let kept = new_rest.get(..new_rest.len() - tail).unwrap_or_default();
    let span = view.origin(made.span.start + head)..view.origin(made.span.end - tail);
    (span, view.written(kept).into_owned())
}
