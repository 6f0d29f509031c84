//! Words for yes and no, as people write them into settings and variables.

use serde_json::Value;

/// What a word means, in any case and with spaces around it; nothing for every other word.
///
/// ```
/// use hermes_types::yes_or_no;
/// assert_eq!([yes_or_no(" On "), yes_or_no("0"), yes_or_no("perhaps")], [Some(true), Some(false), None]);
/// ```
pub fn yes_or_no(word: &str) -> Option<bool> {
    match word.trim().to_ascii_lowercase().as_str() {
        "true" | "yes" | "on" | "1" => Some(true),
        "false" | "no" | "off" | "0" => Some(false),
        _ => None,
    }
}

/// Whether a variable that only makes things safer is set: to anything but a no, also to a word that nobody knows.
pub fn anything_but_no(word: &str) -> bool {
    !word.trim().is_empty() && yes_or_no(word) != Some(false)
}

/// A switch of the settings, also one that came as text out of a variable.
pub fn switch(value: &Value) -> Option<bool> {
    match value {
        Value::Bool(flag) => Some(*flag),
        Value::String(word) => yes_or_no(word),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn only_words_that_everybody_reads_the_same_way_count() {
        for (written, meant) in [
            (json!(true), Some(true)),
            (json!("YES"), Some(true)),
            (json!(" off\n"), Some(false)),
            (json!("1"), Some(true)),
            (json!(1), None),
            (json!("y"), None),
            (json!(""), None),
            (json!(null), None),
        ] {
            assert_eq!(switch(&written), meant, "{written}");
        }
    }

    #[test]
    fn caution_is_taken_from_any_word_but_a_no() {
        for (word, set) in [("1", true), ("y", true), ("strict", true), ("", false), (" ", false), ("Off", false)] {
            assert_eq!(anything_but_no(word), set, "{word:?}");
        }
    }
}
