//! What is written on: how wide it is, what inks it takes, and stored text made fit for it.
//!
//! Stored text is foreign: a web page, a program's output, somebody else's message. Before it is shown it loses escape
//! sequences, control characters and characters that turn the direction of what follows. Lines and tabs stay. A file or a
//! pipe has no width: nothing is cut there.

use crate::output::terminal::{self, Attached, Terminal};
use hermes_types::clip;
use serde::Serialize;
use std::fmt::Write;
use unicode_width::UnicodeWidthStr;

/// No cell needs more characters than this, and measuring costs time.
const LONGEST_CELL: usize = 400;
const TAB: &str = "    ";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Paper {
    /// Cells per line; `None` where nobody counts them.
    pub(super) width: Option<usize>,
    pub(super) colour: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ink {
    Bold,
    Dim,
    /// What was looked for.
    Match,
    /// What the person said, and what the model did.
    Person,
    Model,
}

impl Paper {
    pub(super) fn of_process() -> Self {
        let terminal = Terminal::of_process();
        Self {
            width: terminal.out.is_terminal().then(terminal::width),
            colour: terminal.colour && terminal.out == Attached::Terminal,
        }
    }

    /// The same for standard error.
    pub(super) fn of_errors() -> Self {
        let terminal = Terminal::of_process();
        Self {
            width: terminal.err.is_terminal().then(terminal::width),
            colour: terminal.colour && terminal.err == Attached::Terminal,
        }
    }

    pub(super) fn is_terminal(self) -> bool {
        self.width.is_some()
    }

    pub(super) fn ink(self, ink: Ink, text: &str) -> String {
        let code = match ink {
            Ink::Bold => "1",
            Ink::Dim => "2",
            Ink::Match => "1;33",
            Ink::Person => "1;36",
            Ink::Model => "1;32",
        };
        if self.colour && !text.is_empty() { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_owned() }
    }
}

/// The cells a text takes.
pub(super) fn cells(text: &str) -> usize {
    text.width()
}

/// A text in at most `room` cells, with `…` for what is missing.
pub(super) fn cut(text: &str, room: usize) -> String {
    let text = clip(text, LONGEST_CELL);
    if cells(&text) <= room {
        return text;
    }
    let mut kept = String::new();
    for c in text.chars() {
        kept.push(c);
        // Marks that join the character before them take no room of their own.
        if cells(&kept) > room.saturating_sub(1) {
            kept.pop();
            break;
        }
    }
    if room > 0 {
        kept.push('…');
    }
    kept
}

/// A text filled up with spaces to `room` cells.
pub(super) fn padded(text: &str, room: usize) -> String {
    let missing = room.saturating_sub(cells(text));
    format!("{text}{}", " ".repeat(missing))
}

/// A text as it may be shown.
pub(crate) fn shown(text: &str) -> String {
    let text = text.replace("\r\n", "\n");
    let mut out = String::with_capacity(text.len());
    for (place, line) in text.split(['\n', '\r', '\u{2028}', '\u{2029}', '\u{85}']).enumerate() {
        if place > 0 {
            out.push('\n');
        }
        show_line(line, &mut out);
    }
    out
}

/// A text as it may be shown, on one line.
pub(crate) fn one_line(text: &str) -> String {
    let head: String = text.chars().take(LONGEST_CELL * 4).collect();
    shown(&head).split_whitespace().collect::<Vec<_>>().join(" ")
}

/// JSON on one line that is safe to print: what JSON itself leaves in, but a terminal would obey, is escaped.
pub(crate) fn json_line(value: &impl Serialize) -> serde_json::Result<String> {
    serde_json::to_string(value).map(escaped)
}

/// The same, indented.
pub(super) fn json_pretty(value: &impl Serialize) -> serde_json::Result<String> {
    serde_json::to_string_pretty(value).map(escaped)
}

/// Finished JSON, safe to print.
pub(crate) fn escaped(json: String) -> String {
    // Between the values stand only line breaks; everywhere else these are inside of strings.
    let acts = |c: char| c != '\n' && (c.is_control() || turns_direction(c));
    if !json.contains(acts) {
        return json;
    }
    let mut out = String::with_capacity(json.len());
    for c in json.chars() {
        if acts(c) {
            // A string takes whatever is written to it.
            let _ = write!(out, "\\u{:04x}", u32::from(c));
        } else {
            out.push(c);
        }
    }
    out
}

fn turns_direction(c: char) -> bool {
    matches!(c, '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}' | '\u{200E}' | '\u{200F}' | '\u{61C}' | '\u{FEFF}')
}

/// An escape sequence ends with its line, at the latest: what is not closed there is no sequence, and is shown.
fn show_line(line: &str, out: &mut String) {
    let mut rest = line;
    while let Some((before, introducer)) = split_at_control(rest) {
        out.push_str(before);
        let mut after = introducer.chars();
        let control = after.next();
        rest = match control {
            Some('\u{1b}') => after_escape(after.as_str()),
            Some('\u{9b}') => after_parameters(after.as_str()),
            Some('\t') => {
                out.push_str(TAB);
                after.as_str()
            }
            _ => after.as_str(),
        };
    }
    out.push_str(rest);
}

fn split_at_control(text: &str) -> Option<(&str, &str)> {
    let at = text.find(|c: char| c.is_control() || turns_direction(c))?;
    Some((text.get(..at)?, text.get(at..)?))
}

/// What follows the sequence that an escape character began.
fn after_escape(text: &str) -> &str {
    let mut chars = text.chars();
    match chars.next() {
        Some('[') => after_parameters(chars.as_str()),
        // Titles, links, the clipboard: a string up to its terminator.
        Some(']' | 'P' | 'X' | '^' | '_') => {
            let body = chars.as_str();
            let end = body.find(['\u{7}', '\u{1b}', '\u{9c}']).and_then(|at| body.get(at..));
            match end {
                Some(end) => end.strip_prefix("\u{1b}\\").unwrap_or(end),
                None => body,
            }
        }
        Some('(' | ')' | '*' | '+' | '#' | '%' | ' ') => {
            chars.next();
            chars.as_str()
        }
        Some('0'..='~') => chars.as_str(),
        _ => text,
    }
}

/// What follows a control sequence: parameters, and one letter that ends them.
fn after_parameters(text: &str) -> &str {
    let end = text.trim_start_matches(|c| matches!(c, '\u{20}'..='\u{3f}'));
    let mut chars = end.chars();
    match chars.next() {
        Some('\u{40}'..='\u{7e}') => chars.as_str(),
        _ => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn stored_text_cannot_act_on_a_terminal() {
        let table = [
            ("plain ünïcode, ไทย, 汉字, 👩‍🚀", "plain ünïcode, ไทย, 汉字, 👩‍🚀"),
            ("\u{1b}[1;31mred\u{1b}[0m and \u{9b}2Jgone", "red and gone"),
            ("a\u{1b}]52;c;aGk=\u{7}b \u{1b}]8;;http://x\u{1b}\\link\u{1b}]8;;\u{1b}\\", "ab link"),
            ("never closed \u{1b}]0;title", "never closed 0;title"),
            ("cut \u{1b}[31", "cut 31"),
            ("\u{1b}(Bline\u{1b}c\u{1b}7", "line"),
            ("10%\r20%\r\ndone\r", "10%\n20%\ndone\n"),
            ("bell\u{7} back\u{8}\u{7f} nul\u{0}", "bell back nul"),
            ("abc\u{202e}fed\u{2066}\u{feff} עברית", "abcfed עברית"),
            ("a\tb\u{2028}c", "a    b\nc"),
            ("\u{1b}\u{1b}\u{1b}[0mx", "x"),
        ];
        for (stored, seen) in table {
            assert_eq!(shown(stored), seen, "{stored:?}");
        }
    }

    #[test]
    fn text_is_cut_where_the_cells_end() {
        let table = [
            ("short", 5, "short"),
            ("shorter", 5, "shor…"),
            ("汉字汉字", 5, "汉字…"),
            ("汉字汉字", 6, "汉字…"),
            ("สวัสดีครับ", 4, "สวัส…"),
            ("👩‍🚀👩‍🚀👩‍🚀", 5, "👩‍🚀👩‍🚀…"),
            ("anything", 0, ""),
            ("anything", 1, "…"),
        ];
        for (text, room, seen) in table {
            assert_eq!(cut(text, room), seen, "{text} in {room}");
        }
        assert_eq!(padded("汉", 4), "汉  ");
        assert_eq!(one_line(" a\n\n b\tc \u{1b}[0m"), "a b c");
    }

    #[test]
    fn json_is_safe_to_print_and_says_the_same() {
        let value = serde_json::json!({"a": "\u{9b}2J \u{202e}x \u{7f}\n"});
        let line = json_line(&value).expect("json");
        assert_eq!(line, r#"{"a":"\u009b2J \u202ex \u007f\n"}"#);
        assert_eq!(serde_json::from_str::<serde_json::Value>(&line).expect("json"), value);
    }

    proptest! {
        #[test]
        fn nothing_that_acts_is_left_and_no_line_is_lost(text in "[\u{1b}\u{9b}\u{7}\\]\\[0-9;a-zA-Z\r\n\u{202e}ก汉 \\\\]{0,80}") {
            let seen = shown(&text);
            prop_assert!(seen.chars().all(|c| c == '\n' || !(c.is_control() || turns_direction(c))), "{:?}", seen);
            let lines = |text: &str| text.matches('\n').count();
            prop_assert_eq!(lines(&seen), text.replace("\r\n", "\n").replace('\r', "\n").matches('\n').count());
        }

        #[test]
        fn a_cut_text_fits(text in "\\PC{0,60}", room in 0usize..40) {
            prop_assert!(cells(&cut(&text, room)) <= room);
        }
    }
}
