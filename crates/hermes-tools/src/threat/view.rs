//! The two ways a text is read, and the short hand the table is written in.
//!
//! Prose is lower-case words with one space before and after each; the end of a sentence is a word `.` of its own. In
//! its patterns `~` stands for up to eight words in between and `%` for up to two; neither goes past the end of a
//! sentence. Code keeps its characters and lines; only runs of spaces become one. Its `\b` and `\w` are those of ASCII.

use hermes_core::disguise::{is_invisible, latin};
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
}

impl Views {
    pub(super) fn of(text: &str) -> Self {
        let visible: String = text.nfkc().filter(|character| !is_invisible(*character)).collect();
        Self { prose: prose(&visible), code: code(&visible) }
    }

    pub(super) fn get(&self, view: View) -> &str {
        match view {
            View::Prose => &self.prose,
            View::Code => &self.code,
        }
    }
}

fn prose(text: &str) -> String {
    let mut prose = String::with_capacity(text.len() + 2);
    prose.push(' ');
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        let next = characters.peek().copied();
        if character.is_alphanumeric() {
            prose.extend(latin(character).to_lowercase());
        } else if ends_sentence(character, next) {
            if !prose.ends_with(' ') {
                prose.push(' ');
            }
            if !prose.ends_with(". ") {
                prose.push_str(". ");
            }
        } else if !prose.ends_with(' ') {
            prose.push(' ');
        }
    }
    if !prose.ends_with(' ') {
        prose.push(' ');
    }
    // What ends the text ends a sentence.
    prose.push_str(". ");
    prose
}

/// A dot inside of a name or a number ends nothing; an empty line does.
fn ends_sentence(character: char, next: Option<char>) -> bool {
    match character {
        '.' => next.is_none_or(char::is_whitespace),
        '!' | '?' | ';' | '。' => true,
        '\n' => next == Some('\n'),
        _ => false,
    }
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

/// The regular expression that a pattern of the table stands for.
pub(super) fn expression(view: View, pattern: &str) -> String {
    match view {
        View::Prose => {
            let gaps = pattern.replace('~', "(?: [^ .]+){0,8} ").replace('%', "(?: [^ .]+){0,2} ");
            format!(" (?:{gaps}) ")
        }
        View::Code => {
            let ascii = pattern.replace(r"\b", r"(?-u:\b)").replace(r"\w", "[A-Za-z0-9_]");
            format!("(?i){ascii}")
        }
    }
}
