//! Small readers that settings and skills share: lists in any form, `${NAME}` in a text, a text on one line.

use serde_json::Value;
use std::borrow::Cow;

/// A longer name between braces is no variable.
const LONGEST_NAME: usize = 64;

/// A list, or words with commas between them.
pub(super) fn words(value: &Value) -> Vec<String> {
    let texts: Vec<String> = match value {
        Value::Array(items) => items.iter().filter_map(scalar).collect(),
        other => scalar(other).iter().flat_map(|text| text.split(',')).map(str::to_owned).collect(),
    };
    let trimmed = texts.iter().map(|text| text.trim()).filter(|text| !text.is_empty());
    trimmed.map(str::to_owned).collect()
}

/// A single value as text; nothing for lists, mappings and nothing.
pub(super) fn scalar(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(flag) => Some(flag.to_string()),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

/// The text with every `${NAME}` that has a value filled in. What was filled in is not looked at again.
pub(super) fn fill<'v>(text: &str, value: impl Fn(&str) -> Option<Cow<'v, str>>) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("${") {
        out.push_str(before);
        // Not further than a name is long, so that time grows with the text alone.
        let end = after.char_indices().take(LONGEST_NAME).find(|(_, c)| *c == '}').map(|(at, _)| at);
        let found = end.and_then(|end| Some((value(after.get(..end)?)?, after.get(end + 1..)?)));
        rest = match found {
            Some((value, tail)) => {
                out.push_str(&value);
                tail
            }
            None => {
                out.push_str("${");
                after
            }
        };
    }
    out.push_str(rest);
    out
}

/// The text on one line, without characters that are not seen as such.
pub(super) fn one_line(text: &str) -> String {
    let spoken: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    spoken.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    #[test]
    fn a_list_is_a_list_in_any_form() {
        let table = [
            (json!(["a", " b ", "", 3]), vec!["a", "b", "3"]),
            (json!("a, b ,,c"), vec!["a", "b", "c"]),
            (json!(null), vec![]),
            (json!({"a": 1}), vec![]),
            (json!(true), vec!["true"]),
        ];
        for (value, expected) in table {
            assert_eq!(words(&value), expected, "{value}");
        }
    }

    #[test]
    fn only_known_names_are_filled_in_and_only_once() {
        let value = |name: &str| (name == "A").then_some(Cow::Borrowed("${A}"));
        assert_eq!(fill("${A} ${B} ${A ${A}", value), "${A} ${B} ${A ${A}");
        assert_eq!(fill("é${", value), "é${");
        let known = |name: &str| (name == "DIR").then_some(Cow::Borrowed("/x"));
        assert_eq!(fill("a ${DIR}/b ${${DIR}}", known), "a /x/b ${/x}");
    }

    proptest! {
        #[test]
        fn a_text_without_known_names_stays(text in "(\\$|\\{|\\}|[a-z]|é){0,40}") {
            prop_assert_eq!(fill(&text, |_| None), text);
        }
    }
}
