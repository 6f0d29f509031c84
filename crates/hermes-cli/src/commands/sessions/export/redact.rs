//! A conversation without its secrets, as far as they can be told from other text: values under a name that belongs to a
//! secret, and words that look like a key. It covers rather too much than too little, and it is no promise: what looks
//! like prose stays.

use crate::settings::key_path::KeyPath;
use crate::settings::mask;
use hermes_types::Export;
use serde_json::Value;

/// Names of fields whose texts hold a conversation together. They are no secrets, though some look like one.
const KEPT: &[&str] = &[
    "id",
    "session_id",
    "parent_session_id",
    "source",
    "model",
    "role",
    "type",
    "name",
    "tool_name",
    "tool_call_id",
    "call_id",
    "response_item_id",
    "finish_reason",
    "end_reason",
    "cwd",
];

/// The session with secrets covered wherever text is. What cannot be looked through is not let through.
pub(super) fn redacted(export: &Export) -> serde_json::Result<Export> {
    serde_json::from_value(covered(serde_json::to_value(export)?))
}

fn covered(value: Value) -> Value {
    match value {
        Value::String(text) => Value::String(covered_text(&text)),
        Value::Array(items) => Value::Array(items.into_iter().map(covered).collect()),
        Value::Object(fields) => Value::Object(
            fields
                .into_iter()
                .map(|(name, value)| {
                    let value = covered_field(&name, value);
                    (name, value)
                })
                .collect(),
        ),
        other => other,
    }
}

fn covered_field(name: &str, value: Value) -> Value {
    match value {
        Value::String(text) if KEPT.contains(&name) => Value::String(text),
        Value::String(text) if !text.is_empty() && mask::is_secret(&KeyPath::of([name])) => {
            Value::String(mask::secret(&text))
        }
        other => covered(other),
    }
}

/// JSON inside a text is looked through field by field, so that it stays JSON; other text line by line.
fn covered_text(text: &str) -> String {
    let inner = Some(text).filter(|text| text.starts_with(['{', '['])).and_then(|text| serde_json::from_str(text).ok());
    match inner {
        Some(inner) => {
            let shown: Value = covered(inner);
            // Nothing to cover: the text stays as it was spaced.
            if serde_json::from_str::<Value>(text).is_ok_and(|before| before == shown) {
                text.to_owned()
            } else {
                shown.to_string()
            }
        }
        None => text.split('\n').map(mask::line).collect::<Vec<_>>().join("\n"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn secrets_are_covered_in_text_and_in_json_inside_text() {
        let said = json!({
            "id": "20251009_085320_aa0001_long_enough_to_look_like_a_key",
            "content": "Use this:\nexport OPENAI_API_KEY=sk-abc\nand go on",
            "function": {"name": "http", "arguments": "{\"url\": \"http://x\", \"api_key\": \"sk-0123456789abcdefgh\", \"n\": 1}"},
            "result": "{\"output\": \"password: hunter2\\nfine\"}",
            "plain": "{\"b\":  1, \"a\": \"x\"}",
            "codex_reasoning_items": [{"type": "reasoning", "token": "t0p-secret"}],
        });
        let shown = json!({
            "id": "20251009_085320_aa0001_long_enough_to_look_like_a_key",
            "content": "Use this:\nexport OPENAI_API_KEY= «redacted:***»\nand go on",
            "function": {"name": "http", "arguments": "{\"url\":\"http://x\",\"api_key\":\"«redacted:sk-0…efgh»\",\"n\":1}"},
            "result": "{\"output\":\"password: «redacted:***»\\nfine\"}",
            "plain": "{\"b\":  1, \"a\": \"x\"}",
            "codex_reasoning_items": [{"type": "reasoning", "token": "«redacted:***»"}],
        });
        assert_eq!(covered(said), shown);
    }
}
