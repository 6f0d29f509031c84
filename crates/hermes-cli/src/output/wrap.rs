//! Lines broken between words, as the words arrive. A terminal alone would break them anywhere.
//!
//! Text comes in pieces of any size; what is known to fit goes out at once, and only the word that is still being
//! written is held back. Continuation lines are indented like the list item they belong to. Code fences and tables keep
//! their lines, so that they can be copied. Nothing is dropped but the spaces at a break.

use std::io::{self, Write};
use unicode_width::UnicodeWidthChar;

/// Narrower than this, indenting and breaking would leave nothing to read.
const NARROWEST: usize = 20;

#[derive(Debug, Default)]
pub(super) struct Wrap {
    /// Where the cursor stands, in cells.
    column: usize,
    word: String,
    word_width: usize,
    /// Spaces between the cursor and the word.
    spaces: usize,
    /// Where the continuation of this line begins.
    indent: usize,
    line: Line,
    fenced: bool,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Line {
    /// No word of it is out yet.
    #[default]
    Empty,
    Flowing,
    /// Stays as it is, however long.
    Fixed,
}

impl Wrap {
    /// Takes in a piece of text and gives back what can be shown of everything so far.
    pub(super) fn push(&mut self, text: &str, width: usize) -> String {
        let width = width.max(NARROWEST);
        let mut out = String::with_capacity(text.len());
        for c in text.chars() {
            match c {
                '\n' => {
                    self.end_word(width, &mut out);
                    out.push('\n');
                    *self = Self { fenced: self.fenced, ..Self::default() };
                }
                ' ' | '\t' => {
                    self.end_word(width, &mut out);
                    self.spaces += if c == '\t' { 4 } else { 1 };
                }
                _ => self.grow(c, width, &mut out),
            }
        }
        out
    }

    /// The word that was held back.
    pub(super) fn flush(&mut self, width: usize) -> String {
        let mut out = String::new();
        self.end_word(width.max(NARROWEST), &mut out);
        out
    }

    /// Where the cursor stands, in cells.
    pub(super) fn column(&self) -> usize {
        self.column
    }

    /// Scripts without spaces may break between any two of their characters, which are the wide ones.
    fn grow(&mut self, c: char, width: usize, out: &mut String) {
        let cells = c.width().unwrap_or(0);
        let was_wide = self.word.chars().last().and_then(char::width) == Some(2);
        if cells > 0 && (cells == 2 || was_wide) {
            self.end_word(width, out);
        }
        self.word.push(c);
        self.word_width += cells;
    }

    fn end_word(&mut self, width: usize, out: &mut String) {
        if self.word.is_empty() {
            return;
        }
        if self.line == Line::Empty {
            self.begin_line();
        }
        let end = self.column + self.spaces + self.word_width;
        let fits = end <= width || self.column <= self.indent;
        if fits || self.line == Line::Fixed {
            out.extend(std::iter::repeat_n(' ', self.spaces));
            self.column = end;
        } else {
            out.push('\n');
            out.extend(std::iter::repeat_n(' ', self.indent));
            self.column = self.indent + self.word_width;
        }
        out.push_str(&self.word);
        // What is longer than the line the terminal has broken by itself.
        if self.column > width {
            self.column = (self.column - 1) % width + 1;
        }
        self.word.clear();
        (self.word_width, self.spaces) = (0, 0);
    }

    /// The first word tells what kind of line this is.
    fn begin_line(&mut self) {
        let is_fence = self.word.starts_with("```") || self.word.starts_with("~~~");
        self.line = if is_fence || self.fenced || self.word.starts_with('|') { Line::Fixed } else { Line::Flowing };
        self.fenced ^= is_fence;
        let number = self.word.trim_end_matches(['.', ')']);
        let is_number = number.len() < self.word.len() && number.chars().all(|c| c.is_ascii_digit());
        let is_marker = matches!(self.word.as_str(), "-" | "*" | "+" | "•" | ">") || is_number;
        self.indent = self.spaces + if is_marker { self.word_width + 1 } else { 0 };
    }
}

/// Sentences on their way to a terminal: every whole line goes out broken between words. A question without an end of
/// line goes out as it is, and so does what is coloured, because that was laid out before.
pub(crate) struct Filled<W: Write> {
    inner: W,
    line: Vec<u8>,
}

impl<W: Write> Filled<W> {
    pub(crate) fn new(inner: W) -> Self {
        Self { inner, line: Vec::new() }
    }
}

impl<W: Write> Write for Filled<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.line.extend_from_slice(bytes);
        while let Some(end) = self.line.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = self.line.drain(..=end).collect();
            match std::str::from_utf8(&line) {
                Ok(text) if !text.contains('\u{1b}') => {
                    self.inner.write_all(fill(text, super::terminal::width()).as_bytes())?;
                }
                _ => self.inner.write_all(&line)?,
            }
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.write_all(&std::mem::take(&mut self.line))?;
        self.inner.flush()
    }
}

impl<W: Write> Drop for Filled<W> {
    fn drop(&mut self) {
        // A stream that takes nothing any more has nobody behind it.
        let _ = self.flush();
    }
}

/// One line in pieces that fit, broken wherever one is full.
pub(crate) fn folded(line: &str, room: usize) -> Vec<String> {
    let room = room.max(NARROWEST);
    let (mut pieces, mut taken) = (vec![String::new()], 0);
    for found in line.chars() {
        let cells = found.width().unwrap_or(0);
        if taken + cells > room {
            pieces.push(String::new());
            taken = 0;
        }
        taken += cells;
        if let Some(piece) = pieces.last_mut() {
            piece.push(found);
        }
    }
    pieces
}

/// A finished text in lines of at most `width` cells.
pub(crate) fn fill(text: &str, width: usize) -> String {
    let mut wrap = Wrap::default();
    let mut filled = wrap.push(text, width);
    filled.push_str(&wrap.flush(width));
    filled
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn lines_break_between_words_and_continue_under_their_item() {
        let text = "The sky is blue because air scatters light.\n\n- first item that is long\n12. numbered and long too\n  \
                    - deep inside the list\n";
        let filled = "The sky is blue\nbecause air scatters\nlight.\n\n- first item that is\n  long\n12. numbered and\n    \
                      long too\n  - deep inside the\n    list\n";
        assert_eq!(fill(text, 20), filled);
    }

    #[test]
    fn code_tables_and_endless_words_keep_their_lines() {
        let code = "```sh\ncurl --location --output file http://example\n```\nand then prose goes on again\n";
        let filled = "```sh\ncurl --location --output file http://example\n```\nand then prose goes\non again\n";
        assert_eq!(fill(code, 20), filled);
        let table = "| a | b | c | d | e | f | g |\n";
        assert_eq!(fill(table, 20), table);
        let address = "see http://example.com/a/very/long/path now";
        assert_eq!(fill(address, 20), "see\nhttp://example.com/a/very/long/path now");
    }

    #[test]
    fn scripts_without_spaces_break_where_the_line_is_full() {
        let line = "吾輩は猫である。名前はまだ無い。どこで";
        assert_eq!(fill(line, 20), "吾輩は猫である。名前\nはまだ無い。どこで");
    }

    #[test]
    fn what_has_no_spaces_can_be_folded() {
        assert_eq!(folded("汉字汉字汉字汉字汉字汉字    x", 0), ["汉字汉字汉字汉字汉字", "汉字    x"]);
        assert_eq!(folded("", 30), [""]);
    }

    #[test]
    fn a_word_waits_for_its_end_and_nothing_else_does() {
        let mut wrap = Wrap::default();
        assert_eq!(wrap.push("one two thr", 20), "one two");
        assert_eq!(wrap.push("ee", 20), "");
        assert_eq!(wrap.push(" ", 20), " three");
        assert_eq!(wrap.column(), 13);
        assert_eq!(wrap.flush(20), "");
    }

    proptest! {
        #[test]
        fn pieces_do_not_matter_and_no_word_is_lost(text in "[a-z0-9 \\n猫|`.-]{0,120}", cut in 0usize..120, width in 20usize..40) {
            let whole = fill(&text, width);
            let mut wrap = Wrap::default();
            let head: String = text.chars().take(cut).collect();
            let tail: String = text.chars().skip(cut).collect();
            let pieces = [wrap.push(&head, width), wrap.push(&tail, width), wrap.flush(width)].concat();
            prop_assert_eq!(&pieces, &whole);
            let letters = |text: &str| text.chars().filter(|c| !c.is_whitespace()).collect::<String>();
            prop_assert_eq!(letters(&whole), letters(&text));
        }
    }
}
