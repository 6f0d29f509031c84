//! The two ways a text is read, and the short hand the table is written in.
//!
//! Prose is lower-case words with one space before and after each; the end of a sentence is a word `.` of its own. In
//! its patterns `~` stands for up to eight words in between and `%` for up to two; neither goes past the end of a
//! sentence. Code keeps its characters and lines; only runs of spaces become one. Its `\b` and `\w` are those of ASCII.

use hermes_core::disguise::{is_invisible, latin};
use std::iter::Peekable;
use std::str::Chars;
use unicode_normalization::UnicodeNormalization;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum View {
    Prose,
    Code,
}

/// A text in both views.
pub(super) struct Views {
    prose: String,
    code: String,
    /// Code in small letters, for [`Hint`](super::hint::Hint)s.
    small_code: String,
}

impl Views {
    pub(super) fn of(text: &str) -> Self {
        let visible: String = text.nfkc().filter(|character| !is_invisible(*character)).collect();
        let code = code(&visible);
        Self { prose: prose(&visible), small_code: code.to_lowercase(), code }
    }

    pub(super) fn get(&self, view: View) -> &str {
        match view {
            View::Prose => &self.prose,
            View::Code => &self.code,
        }
    }

    /// The same in small letters; prose is written in them.
    pub(super) fn small(&self, view: View) -> &str {
        match view {
            View::Prose => &self.prose,
            View::Code => &self.small_code,
        }
    }
}

fn prose(text: &str) -> String {
    let mut prose = String::with_capacity(text.len() + 2);
    prose.push(' ');
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        let is_end = match character {
            _ if character.is_alphanumeric() => {
                prose.extend(latin(character).to_lowercase());
                continue;
            }
            // A dot inside of a name or a number ends nothing.
            '.' => characters.peek().is_none_or(|next| next.is_whitespace()),
            '!' | '?' | ';' | '。' => true,
            // An empty line does, unless what follows goes on in small letters: an attack may be torn apart by one.
            space if space.is_whitespace() => {
                has_empty_line(space, &mut characters) && !characters.peek().is_some_and(|next| next.is_lowercase())
            }
            _ => false,
        };
        if !prose.ends_with(' ') {
            prose.push(' ');
        }
        if is_end && !prose.ends_with(". ") {
            prose.push_str(". ");
        }
    }
    if !prose.ends_with(' ') {
        prose.push(' ');
    }
    // What ends the text ends a sentence.
    prose.push_str(". ");
    prose
}

/// Goes to the end of the spaces that begin here; whether an empty line is among them.
fn has_empty_line(first: char, rest: &mut Peekable<Chars<'_>>) -> bool {
    let (mut before, mut found) = (first, false);
    while let Some(space) = rest.next_if(|next| next.is_whitespace()) {
        found |= before == '\n' && space == '\n';
        before = space;
    }
    found
}

fn code(text: &str) -> String {
    let mut code = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '\n' => code.push('\n'),
            space if space.is_whitespace() => {
                if !code.ends_with([' ', '\n']) {
                    code.push(' ');
                }
            }
            other => code.push(other),
        }
    }
    code
}

/// The regular expression that a pattern of the table stands for; that of code is read without regard to case.
pub(super) fn expression(view: View, pattern: &str) -> String {
    match view {
        View::Prose => {
            let gaps = pattern.replace('~', "(?: [^ .]+){0,8} ").replace('%', "(?: [^ .]+){0,2} ");
            format!(" (?:{gaps}) ")
        }
        View::Code => pattern.replace(r"\b", r"(?-u:\b)").replace(r"\w", "[A-Za-z0-9_]"),
    }
}
