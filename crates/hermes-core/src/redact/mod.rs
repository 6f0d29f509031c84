//! Secrets in free text: what people paste, what programs print, code and logs.
//!
//! A text is read once, word by word, in time that grows with its length alone. Covered are words that begin like the key
//! of a known vendor, signed tokens, passwords and tokens in addresses, private keys, what follows `Bearer`, and, where
//! names count, the value that stands behind the name of a secret (`password=…`, `"api_key": …`, `--token …`). Everything
//! else stays byte for byte, hashes and ids with it: without a name or a known beginning nothing tells a secret from them.
//!
//! A covered secret reads `«redacted:…»`, a form that nobody can mistake for a usable value and that nothing here covers
//! again. Plain functions; they keep nothing.

mod dump;
mod key;
mod named;
mod phone;
mod reader;

pub use named::{is_secret_name, is_unlike_words};
pub use phone::phones;

use reader::{Reader, Sight};
use std::borrow::Cow;

const MARK: &str = "«redacted:";
/// Stands for a secret whose ends would give too much of it away.
const NOTHING: &str = "***";
const SHORTEST_SHOWN: usize = 18;
const ENDS: usize = 4;

/// What the name of a variable with a credential ends in.
const VARIABLE_ENDINGS: &[&str] =
    &["_KEY", "_TOKEN", "_SECRET", "_PASSWORD", "_PASS", "_CREDENTIALS", "_ACCESS_KEY_ID", "_WEBHOOK_URL"];

/// A text that is shown, logged or handed on.
pub fn text(text: &str) -> Cow<'_, str> {
    Reader::new(text, Sight::Names).read()
}

/// What a file holds. Values behind names stay, so that code and settings can be read and edited; what is a secret by
/// its own form does not.
pub fn file(text: &str) -> Cow<'_, str> {
    Reader::new(text, Sight::Forms).read()
}

/// What a command printed. Names count where the command prints variables; elsewhere it may have printed code.
pub fn terminal<'a>(command: &str, output: &'a str) -> Cow<'a, str> {
    let sight = if dump::prints_variables(command) { Sight::Names } else { Sight::Forms };
    Reader::new(output, sight).read()
}

/// A secret as it may be shown.
pub fn secret(text: &str) -> String {
    if text.chars().nth(SHORTEST_SHOWN - 1).is_none() { format!("{MARK}{NOTHING}»") } else { ends(text) }
}

/// True for text that once was a masked secret; it must never be stored as one.
pub fn is_masked(text: &str) -> bool {
    text.contains(MARK)
}

/// True for the name of an environment variable that holds a credential.
pub fn is_credential(variable: &str) -> bool {
    VARIABLE_ENDINGS.iter().any(|ending| variable.ends_with(ending))
}

fn ends(text: &str) -> String {
    let head: String = text.chars().take(ENDS).collect();
    let tail: Vec<char> = text.chars().rev().take(ENDS).collect();
    let tail: String = tail.into_iter().rev().collect();
    format!("{MARK}{head}…{tail}»")
}

/// Bytes of the covered secret that a text begins with. Exactly what [`secret`] writes counts, so that a mark somebody
/// else wrote hides nothing behind it.
fn mark_length(text: &str) -> Option<usize> {
    let inside = text.strip_prefix(MARK)?;
    if inside.strip_prefix(NOTHING).is_some_and(|rest| rest.starts_with('»')) {
        return Some(MARK.len() + NOTHING.len() + '»'.len_utf8());
    }
    let mut chars = inside.char_indices().skip(ENDS);
    let middle = chars.next().is_some_and(|(_, c)| c == '…');
    let (at, close) = chars.nth(ENDS)?;
    (middle && close == '»').then_some(MARK.len() + at + close.len_utf8())
}

/// At most this many bytes of a text, up to the end of a character.
fn head(text: &str, most: usize) -> &str {
    text.get(..text.floor_char_boundary(most)).unwrap_or(text)
}

fn in_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.')
}

#[cfg(test)]
mod tests;
