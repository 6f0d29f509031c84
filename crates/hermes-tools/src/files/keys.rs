//! Private keys in the lines of a file. A page may begin in the middle of one, and a search or a diff may show a single line
//! of it, where nothing tells what it is; so whoever shows lines of a file asks here what stands before them.

use super::lines::line;
use hermes_core::stop::Stop;
use std::borrow::Cow;
use std::collections::BTreeSet;
use std::io::{self, BufRead};

/// What stands for a line of a key.
pub(super) const COVER: &str = "«redacted:…»";
/// The end of the line that opens a key.
const OPENS: &str = "PRIVATE KEY-----";
/// Bytes of a line that are looked at: enough to see where a key begins.
pub(super) const GLANCE: usize = 80;
/// Shorter lines of a key tell nothing, and as the end of another line they would be found everywhere.
const SHORTEST: usize = 4;

/// Where the lines are.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) enum Keys {
    #[default]
    Outside,
    Inside,
}

impl Keys {
    /// Takes the next line. Whether it is part of a key.
    pub(super) fn passes(&mut self, line: &[u8]) -> bool {
        let line = line.trim_ascii();
        let begins = line.starts_with(b"-----BEGIN ") && line.ends_with(b"PRIVATE KEY-----");
        let inside = *self == Self::Inside && is_body(line);
        *self = if begins || inside { Self::Inside } else { Self::Outside };
        inside
    }
}

/// Whether a line on its own could be part of a key.
pub(super) fn is_suspicious(line: &str) -> bool {
    !line.trim().is_empty() && is_body(line.trim().as_bytes())
}

/// Base64, an empty line, or a header such as `Proc-Type: 4,ENCRYPTED`. Anything else ends a key that was not closed.
fn is_body(line: &[u8]) -> bool {
    let is_base64 = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=');
    line.iter().all(is_base64) || line.starts_with(b"Proc-Type:") || line.starts_with(b"DEK-Info:")
}

/// The same lines with those of private keys covered.
pub(super) fn covered(text: &str) -> Cow<'_, str> {
    if !text.contains(OPENS) {
        return Cow::Borrowed(text);
    }
    let mut keys = Keys::default();
    let lines = text.split_inclusive('\n').map(|line| match keys.passes(line.as_bytes()) {
        true if line.ends_with('\n') => Cow::Owned(format!("{COVER}\n")),
        true => Cow::Borrowed(COVER),
        false => Cow::Borrowed(line),
    });
    Cow::Owned(lines.collect())
}

/// One line that was found to be part of a key.
pub(super) fn cover() -> String {
    format!("{COVER}\n")
}

/// The numbers of the lines, up to the last one that matters, that are part of a key.
pub(super) fn inside(mut source: impl BufRead, last: u64) -> io::Result<BTreeSet<u64>> {
    let (mut keys, mut found, never) = (Keys::default(), BTreeSet::new(), Stop::new());
    for number in 1..=last {
        let Some(line) = line(&mut source, GLANCE, &never)? else { break };
        if keys.passes(&line) {
            found.insert(number);
        }
    }
    Ok(found)
}

/// A text that quotes lines of a file, with those of its private keys covered.
pub(super) fn unquoted(shown: String, file: &str) -> String {
    if !file.contains(OPENS) {
        return shown;
    }
    let mut keys = Keys::default();
    let secret = |line: &&str| keys.passes(line.as_bytes());
    let secrets: BTreeSet<&str> =
        file.lines().filter(secret).map(str::trim).filter(|line| line.len() >= SHORTEST).collect();
    let quoted = |line: &str| secrets.iter().find_map(|secret| line.trim_end().strip_suffix(*secret)).map(str::len);
    let lines = shown.split_inclusive('\n').map(|line| match quoted(line) {
        Some(front) => Cow::Owned(format!("{}{}", line.get(..front).unwrap_or_default(), cover())),
        None => Cow::Borrowed(line),
    });
    lines.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lines_of_a_key_are_covered_one_by_one() {
        let text = "a\n-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\n\nMIIEow+/==\n-----END RSA PRIVATE KEY-----\nb\n";
        let expected = format!(
            "a\n-----BEGIN RSA PRIVATE KEY-----\n{COVER}\n{COVER}\n{COVER}\n-----END RSA PRIVATE KEY-----\nb\n"
        );
        assert_eq!(covered(text), expected);
        let code = "-----BEGIN PRIVATE KEY-----\nfn main() {}\nlet\n";
        assert_eq!(covered(code), code);
    }
}
