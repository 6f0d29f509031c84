//! Private keys in the lines of a file. A page may begin in the middle of one, where nothing tells what it is; so whoever
//! reads lines keeps this beside them.

use std::borrow::Cow;

/// What stands for a line of a key.
const COVER: &str = "«redacted:…»";

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

/// Base64, an empty line, or a header such as `Proc-Type: 4,ENCRYPTED`. Anything else ends a key that was not closed.
fn is_body(line: &[u8]) -> bool {
    let is_base64 = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=');
    line.iter().all(is_base64) || line.starts_with(b"Proc-Type:") || line.starts_with(b"DEK-Info:")
}

/// The same lines with those of private keys covered.
pub(super) fn covered(text: &str) -> Cow<'_, str> {
    if !text.contains("PRIVATE KEY-----") {
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
