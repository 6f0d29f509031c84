//! What is put in the place of a hit that was not exact: the new text with the habits of the old place.
//!
//! A hit that needed leniency says that the writer of the edit saw the text in another shape. The new text has the same
//! bias, so it is bent the same way: escapes, indentation, and typographic characters that the edit did not touch.

use super::lines::{Lines, indent};
use super::mapped::Mapped;
use super::strategies::{Scope, Strategy, unescaped};
use similar::{Algorithm, DiffOp, DiffTag};
use std::borrow::Cow;
use std::collections::HashMap;
use std::ops::Range;

/// Above this many characters an edit is compared by lines.
const FINE: usize = 4_000;

/// A piece of the text and what stands there afterwards.
#[derive(Debug)]
pub(super) struct Replacement {
    pub(super) span: Range<usize>,
    pub(super) text: String,
}

/// A quote that both sides of the edit escape and the file does not.
#[derive(Debug)]
pub(super) struct Drift {
    pub(super) escape: &'static str,
    pub(super) at: usize,
}

/// Where hits were found, and how.
#[derive(Clone, Copy)]
pub(super) struct Place<'a> {
    pub(super) lines: &'a Lines<'a>,
    pub(super) scope: Scope,
    pub(super) strategy: Strategy,
}

impl Place<'_> {
    /// Whether a line that the edit has on both sides stays as the file has it. In a list of lines it is context and
    /// always does; in a text that replaces another it is part of the text, and only its shape is the file's.
    fn keeps(&self, line: &str, own: &str) -> bool {
        let similar = matches!(self.strategy, Strategy::BlockAnchor | Strategy::ContextAware);
        self.scope == Scope::WholeLines || !similar || line.trim() == own.trim()
    }
}

pub(super) fn fit(place: &Place<'_>, span: Range<usize>, old: &str, new: &str) -> Result<Replacement, Drift> {
    let Place { lines, strategy, .. } = *place;
    let matched = lines.text().get(span.clone()).unwrap_or_default();
    if strategy == Strategy::Exact {
        let text = closed_like(matched, old, new).to_owned();
        return Ok(Replacement { span, text });
    }
    let drifted = ["\\'", "\\\""]
        .into_iter()
        .find(|escape| old.contains(escape) && new.contains(escape) && !matched.contains(escape));
    if let Some(escape) = drifted {
        return Err(Drift { escape, at: span.start });
    }
    let (old, new) = match strategy {
        Strategy::EscapeNormalized => (Cow::Owned(unescaped(old)), broken_like(old, new)),
        _ => (Cow::Borrowed(old), Cow::Borrowed(new)),
    };
    let new = blanks_like(matched, &new);
    let (span, text) = settled(place, span, &old, &new);
    let text = match strategy {
        Strategy::UnicodeNormalized => typeset(lines, &span, &old, &text).unwrap_or(text),
        _ => text,
    };
    let matched = lines.text().get(span.clone()).unwrap_or_default();
    let mut text = closed_like(matched, &old, &text).to_owned();
    // Whole lines were found by their shape: what replaces them must not run into the next one.
    let by_lines =
        !matches!(strategy, Strategy::WhitespaceNormalized | Strategy::EscapeNormalized | Strategy::UnicodeNormalized);
    if by_lines && matched.ends_with('\n') && !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
    Ok(Replacement { text, span })
}

/// A last line without a line break keeps having none.
fn closed_like<'n>(matched: &str, old: &str, new: &'n str) -> &'n str {
    if old.ends_with('\n') && !matched.ends_with('\n') { new.strip_suffix('\n').unwrap_or(new) } else { new }
}

/// Line breaks that the old text spelled out are spelled out in the new one too.
fn broken_like<'n>(old: &str, new: &'n str) -> Cow<'n, str> {
    if old.contains("\\n") { Cow::Owned(new.replace("\\r\\n", "\n").replace("\\n", "\n")) } else { Cow::Borrowed(new) }
}

/// A spelled-out tab or carriage return becomes real where the file has real ones and no spelled-out ones.
fn blanks_like<'n>(matched: &str, new: &'n str) -> Cow<'n, str> {
    let mut new = Cow::Borrowed(new);
    for (spelled, real) in [("\\t", "\t"), ("\\r", "\r")] {
        if new.contains(spelled) && matched.contains(real) && !matched.contains(spelled) {
            new = Cow::Owned(new.replace(spelled, real));
        }
    }
    new
}

/// How deep the edit and the file have the same lines.
struct Indents<'a> {
    /// Of the first line that is not blank, in the edit and in the file.
    first: (&'a str, &'a str),
    /// The file's indentation for an indentation of the edit.
    known: HashMap<&'a str, &'a str>,
}

impl<'a> Indents<'a> {
    fn of(old: &[&'a str], file: &[&'a str]) -> Option<Self> {
        let mut known = HashMap::new();
        let mut first = None;
        for (edit, file) in old.iter().zip(file).filter(|(edit, _)| !edit.trim().is_empty()) {
            known.entry(indent(edit)).or_insert(indent(file));
            first = first.or(Some((indent(edit), indent(file))));
        }
        first.map(|first| Self { first, known })
    }

    fn of_line(&self, line: &str) -> String {
        let (own, body) = (indent(line), line.trim_start());
        if body.is_empty() {
            return line.to_owned();
        }
        // As deep as its neighbours: measured from the deepest indentation that both sides know.
        let known = self.known.iter().filter_map(|(edit, file)| Some((own.strip_prefix(edit)?, *file)));
        match known.min_by_key(|(deeper, _)| deeper.len()) {
            Some((deeper, file)) => format!("{file}{deeper}{body}"),
            None if self.first.0 == self.first.1 => line.to_owned(),
            None => format!("{}{body}", self.first.1),
        }
    }
}

/// The new lines as they would stand in this file: a line that the edit keeps is the file's own, the others are as deep
/// as the lines they replace. The span grows to the beginning of its line when the first new line does not begin with
/// what stands in front of it.
fn settled(place: &Place<'_>, span: Range<usize>, old: &str, new: &str) -> (Range<usize>, String) {
    let (lines, text) = (place.lines, place.lines.text());
    let start = lines.line_start(span.start);
    let front = text.get(start..span.start).unwrap_or_default();
    let whole = front.trim().is_empty();
    let from = if whole { start } else { span.start };
    let file: Vec<&str> = text.get(from..span.end).unwrap_or_default().split('\n').collect();
    let (old, new): (Vec<&str>, Vec<&str>) = (old.split('\n').collect(), new.split('\n').collect());
    let indents = if whole { Indents::of(&old, &file) } else { None };
    let mut made: Vec<Cow<'_, str>> = Vec::with_capacity(new.len());
    for operation in similar::capture_diff_slices(Algorithm::Myers, &old, &new) {
        let (tag, olds, news) = operation.as_tag_tuple();
        for (index, line) in new.iter().enumerate().skip(news.start).take(news.len()) {
            let own = || file.get(olds.start + index - news.start).copied();
            let kept = if tag == DiffTag::Equal { own().filter(|own| place.keeps(line, own)) } else { None };
            made.push(match (kept, &indents) {
                (Some(own), _) => Cow::Borrowed(own),
                (None, Some(indents)) => Cow::Owned(indents.of_line(line)),
                (None, None) => Cow::Borrowed(*line),
            });
        }
    }
    let text = made.join("\n");
    match text.strip_prefix(if whole { front } else { "" }) {
        Some(rest) => (span, rest.to_owned()),
        None => (start..span.end, text),
    }
}

/// The file's own characters wherever the edit keeps what was there.
fn typeset(lines: &Lines<'_>, span: &Range<usize>, old: &str, new: &str) -> Option<String> {
    let matched = lines.text().get(span.clone())?;
    let shown = Mapped::typed(matched);
    let old = if Mapped::typed(old).text == shown.text { old.to_owned() } else { placed(matched, old) };
    let plain = Mapped::typed(&old);
    if plain.text != shown.text {
        return None;
    }
    let (before, after) = (pieces(&old, &old, new), pieces(new, &old, new));
    let mut starts = Vec::with_capacity(before.len() + 1);
    let mut at = 0;
    for piece in &before {
        starts.push(at);
        at += Mapped::typed(piece).text.len();
    }
    starts.push(at);
    let mut text = String::new();
    for operation in similar::capture_diff_slices(Algorithm::Myers, &before, &after) {
        match operation {
            DiffOp::Equal { old_index, new_index, len } => {
                for step in 0..len {
                    let kept = starts.get(old_index + step).zip(starts.get(old_index + step + 1));
                    let own = kept.and_then(|(from, to)| shown.origin(&(*from..*to)));
                    let piece = own.and_then(|own| matched.get(own)).or(after.get(new_index + step).copied());
                    text.push_str(piece.unwrap_or_default());
                }
            }
            DiffOp::Insert { new_index, new_len, .. } | DiffOp::Replace { new_index, new_len, .. } => {
                text.extend(after.iter().skip(new_index).take(new_len).copied());
            }
            DiffOp::Delete { .. } => {}
        }
    }
    Some(text)
}

/// Characters, or lines when there are many characters. A run of dots or dashes is one piece: one character of the
/// file can stand for it.
fn pieces<'t>(text: &'t str, old: &str, new: &str) -> Vec<&'t str> {
    if old.len() + new.len() > FINE {
        return text.split_inclusive('\n').collect();
    }
    let mut rest = text;
    let mut pieces = Vec::new();
    while let Some(first) = rest.chars().next() {
        let run = match first {
            '.' | '-' => rest.len() - rest.trim_start_matches(first).len(),
            _ => first.len_utf8(),
        };
        let (piece, after) = rest.split_at(run);
        pieces.push(piece);
        rest = after;
    }
    pieces
}

/// The old text with the white space that its lines have in the file.
fn placed(matched: &str, old: &str) -> String {
    let pair = |(edit, file): (&str, &str)| {
        let tail = file.strip_prefix(file.trim_end()).unwrap_or_default();
        let front = if file.trim().is_empty() { "" } else { indent(file) };
        format!("{front}{}{tail}", edit.trim())
    };
    old.split('\n').zip(matched.split('\n')).map(pair).collect::<Vec<_>>().join("\n")
}
