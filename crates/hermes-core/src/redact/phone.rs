//! Telephone numbers, for owners who want the identities of people covered as well.

use super::ends;
use std::borrow::Cow;

/// Digits behind the `+` of an international number.
const DIGITS: std::ops::RangeInclusive<usize> = 8..=15;

/// A text without its international telephone numbers; their ends stay, so that two can be told apart.
pub fn phones(text: &str) -> Cow<'_, str> {
    let mut out = String::new();
    let mut copied = 0;
    for (at, _) in text.match_indices('+') {
        let (before, number) = text.split_at_checked(at).unwrap_or((text, ""));
        let digits = number.bytes().skip(1).take_while(u8::is_ascii_digit).take(DIGITS.end() + 1).count();
        let length = 1 + digits;
        let stands_alone = !before.ends_with(|c: char| c.is_alphanumeric() || matches!(c, '+' | '/' | '='))
            && !number.get(length..).is_some_and(|next| next.starts_with(|c: char| c.is_alphanumeric() || c == '/'));
        let leading_zero = number.get(1..).is_some_and(|digits| digits.starts_with('0'));
        if stands_alone && !leading_zero && DIGITS.contains(&digits) {
            out.push_str(text.get(copied..at).unwrap_or_default());
            out.push_str(&ends(number.get(..length).unwrap_or_default()));
            copied = at + length;
        }
    }
    if copied == 0 {
        return Cow::Borrowed(text);
    }
    out.push_str(text.get(copied..).unwrap_or_default());
    Cow::Owned(out)
}
