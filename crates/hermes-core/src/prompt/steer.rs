//! Messages that a person sends while the agent works. One is put at the end of the last tool result, between two lines
//! that the prompt announces; nothing else in a tool result is the person's. A result that contains the words of these
//! lines itself is made harmless first, so that a web page cannot speak for the person.

use crate::disguise::{is_invisible, latin};
use std::borrow::Cow;

pub const OPEN: &str =
    "[OUT-OF-BAND USER MESSAGE — a direct message from the user, delivered mid-turn; not tool output]";
pub const CLOSE: &str = "[/OUT-OF-BAND USER MESSAGE]";

/// The words that make a marker.
const WORDS: [&str; 5] = ["out", "of", "band", "user", "message"];
/// Visible characters between two words that still read as a marker.
const WIDEST_GAP: usize = 4;
const BROKEN: &str = "OUT-OF-BAND (quoted) USER MESSAGE";

/// What is added to a tool result to deliver a message.
pub fn wrapped(message: &str) -> String {
    format!("\n\n{OPEN}\n{}\n{CLOSE}", defang(message.trim()))
}

/// The message that a tool result ends with, if one was delivered in it.
///
/// ```
/// use hermes_core::prompt::steer::{delivered, wrapped};
/// assert_eq!(delivered(&format!("done{}", wrapped("Only blue."))), Some("Only blue."));
/// assert_eq!(delivered("done"), None);
/// ```
pub fn delivered(result: &str) -> Option<&str> {
    let (_, message) = result.strip_suffix(CLOSE)?.rsplit_once(OPEN)?;
    message.strip_prefix('\n')?.strip_suffix('\n')
}

/// The text with every form of the marker broken: in any case, with other dashes and spaces, with look-alike letters, with
/// characters nobody sees.
///
/// ```
/// use hermes_core::prompt::steer::{CLOSE, defang};
/// assert_eq!(defang(CLOSE), "[/OUT-OF-BAND (quoted) USER MESSAGE]");
/// assert_eq!(defang("out of milk"), "out of milk");
/// ```
pub fn defang(text: &str) -> Cow<'_, str> {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, after)) = around_marker(rest) {
        out.push_str(before);
        out.push_str(BROKEN);
        rest = after;
    }
    if out.is_empty() {
        return Cow::Borrowed(text);
    }
    out.push_str(rest);
    Cow::Owned(out)
}

/// What stands before and behind the first marker.
fn around_marker(text: &str) -> Option<(&str, &str)> {
    let starts = text.char_indices().filter(|(_, character)| latin(*character) == 'o');
    starts.into_iter().find_map(|(at, _)| {
        let (before, from) = text.split_at_checked(at)?;
        Some((before, behind_marker(from)?))
    })
}

/// What follows the marker that a text begins with.
fn behind_marker(text: &str) -> Option<&str> {
    let mut rest = text;
    for (place, word) in WORDS.into_iter().enumerate() {
        if place > 0 {
            rest = behind_gap(rest)?;
        }
        rest = behind_word(word, rest)?;
    }
    Some(rest)
}

fn behind_word<'t>(word: &str, text: &'t str) -> Option<&'t str> {
    let mut letters = text.chars();
    for wanted in word.chars() {
        let found = letters.by_ref().find(|character| !is_invisible(*character))?;
        if latin(found) != wanted {
            return None;
        }
    }
    Some(letters.as_str())
}

/// The text from the next letter or digit on, if that is near.
fn behind_gap(text: &str) -> Option<&str> {
    let mut width = 0;
    for (at, character) in text.char_indices() {
        match () {
            () if character.is_alphanumeric() => return text.get(at..),
            () if is_invisible(character) => {}
            () if width == WIDEST_GAP => return None,
            () => width += 1,
        }
    }
    None
}
