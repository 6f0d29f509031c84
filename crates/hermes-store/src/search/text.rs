//! What of a message is searched: its text, the name of the tool that answered, and the calls it makes.

use crate::fault::DbResult;
use crate::row::{decode_content, from_json, text_at};
use hermes_types::Content;
use rusqlite::Row;
use rusqlite::types::ValueRef;
use serde_json::Value;
use std::borrow::Cow;

/// The columns [`of_row`] reads, in this order.
pub(super) const COLUMNS: &str = "m.content, m.tool_name, m.tool_calls";

/// The searched text of a row whose columns begin at `first`. Most messages are nothing but text and are not copied.
pub(super) fn of_row<'a>(row: &'a Row<'_>, first: usize) -> DbResult<Cow<'a, str>> {
    let content = match row.get_ref(first)? {
        ValueRef::Text(bytes) => match std::str::from_utf8(bytes) {
            Ok(text) if !text.starts_with('\0') => Cow::Borrowed(text),
            _ => Cow::Owned(plain(String::from_utf8_lossy(bytes).into_owned())),
        },
        _ => Cow::Owned(text_at(row, first)?.map_or_else(String::new, plain)),
    };
    let name = text_at(row, first + 1)?;
    let calls = text_at(row, first + 2)?.map(|calls| read_calls(&calls));
    let more: Vec<String> = [name, calls].into_iter().flatten().filter(|more| !more.is_empty()).collect();
    if more.is_empty() {
        return Ok(content);
    }
    let mut text = content.into_owned();
    for more in more {
        if !text.is_empty() {
            text.push('\n');
        }
        text.push_str(&more);
    }
    Ok(Cow::Owned(text))
}

/// List content is its text parts.
fn plain(stored: String) -> String {
    match decode_content(stored) {
        Content::Text(text) => text,
        parts @ Content::Parts(_) => parts.text(),
    }
}

/// Calls as a person reads them: names and arguments without the signs and escapes of JSON.
fn read_calls(stored: &str) -> String {
    let Some(Value::Array(calls)) = from_json(stored) else { return stored.to_owned() };
    let mut words = Vec::new();
    for call in &calls {
        let function = call.get("function").unwrap_or(call);
        words.extend(function.get("name").and_then(Value::as_str).map(str::to_owned));
        match function.get("arguments") {
            Some(Value::String(text)) => match from_json::<Value>(text) {
                Some(arguments) => spell(&arguments, &mut words),
                None => words.push(text.clone()),
            },
            Some(arguments) => spell(arguments, &mut words),
            None => {}
        }
    }
    // Found like the rest, but not what a person reads first.
    words.extend(calls.iter().filter_map(|call| call.get("id")?.as_str().map(str::to_owned)));
    words.join(" ")
}

fn spell(value: &Value, words: &mut Vec<String>) {
    match value {
        Value::Null => {}
        Value::String(text) => words.push(text.clone()),
        Value::Bool(_) | Value::Number(_) => words.push(value.to_string()),
        Value::Array(items) => items.iter().for_each(|item| spell(item, words)),
        Value::Object(fields) => fields.iter().for_each(|(name, item)| {
            words.push(name.clone());
            spell(item, words);
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_read_as_words() {
        let calls = r#"[{"id": "c1", "type": "function", "function": {"name": "write", "arguments":
            "{\"path\": \"a.txt\", \"lines\": [\"one\\ntwo\", 3, null], \"zh\": \"\\u90e8\\u7f72\"}"}},
            {"function": {"name": "cut", "arguments": "{\"half"}}]"#;
        assert_eq!(read_calls(calls), "write path a.txt lines one\ntwo 3 zh 部署 cut {\"half c1");
        assert_eq!(read_calls("no json"), "no json");
        assert_eq!(plain("\0json:[{\"type\":\"text\",\"text\":\"hi\"}]".into()), "hi");
    }
}
