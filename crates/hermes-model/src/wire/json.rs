//! Reading the JSON of an event, tolerant of the one slip that real servers make: half a surrogate pair.
//!
//! A character outside the basic plane is two `\u` escapes; some servers cut an answer between them. Such a half cannot
//! be text, so it becomes the replacement character instead of costing the whole answer.

use serde_json::Value;
use std::borrow::Cow;

pub(crate) fn parse(text: &str) -> Result<Value, serde_json::Error> {
    serde_json::from_str(text).or_else(|error| match whole_pairs(text) {
        Cow::Borrowed(_) => Err(error),
        Cow::Owned(mended) => serde_json::from_str(&mended),
    })
}

/// The text with every lone surrogate escape replaced; borrowed when there is none.
fn whole_pairs(text: &str) -> Cow<'_, str> {
    const REPLACEMENT: &str = "\\ufffd";
    let mut mended = String::new();
    let mut rest = text;
    while let Some(at) = rest.find('\\') {
        let (before, escape) = rest.split_at(at);
        mended.push_str(before);
        let length = match (unit(escape), escape.get(6..).and_then(unit)) {
            (Some(0xD800..=0xDBFF), Some(0xDC00..=0xDFFF)) => 12,
            (Some(0xD800..=0xDFFF), _) => {
                mended.push_str(REPLACEMENT);
                rest = escape.get(6..).unwrap_or_default();
                continue;
            }
            _ => 1 + escape.chars().nth(1).map_or(0, char::len_utf8),
        };
        let (kept, after) = escape.split_at_checked(length).unwrap_or((escape, ""));
        mended.push_str(kept);
        rest = after;
    }
    mended.push_str(rest);
    if mended == text { Cow::Borrowed(text) } else { Cow::Owned(mended) }
}

/// The code unit of a `\uXXXX` at the start of the text.
fn unit(text: &str) -> Option<u16> {
    let digits = text.strip_prefix("\\u")?.get(..4)?;
    u16::from_str_radix(digits, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn half_a_pair_costs_one_character_and_not_the_answer() {
        assert_eq!(parse(r#"{"a":"x\ud83d"}"#).expect("mended"), json!({"a": "x\u{fffd}"}));
        assert_eq!(parse(r#"{"a":"\ude00y"}"#).expect("mended"), json!({"a": "\u{fffd}y"}));
        assert_eq!(parse(r#"{"a":"\ud83d\ude00"}"#).expect("whole"), json!({"a": "😀"}));
        assert_eq!(parse(r#"{"a":"\\ud83d \ud83d"}"#).expect("mended"), json!({"a": "\\ud83d \u{fffd}"}));
        assert!(parse("{oops").is_err());
        assert!(parse("{\"a\":\"\\").is_err());
    }
}
