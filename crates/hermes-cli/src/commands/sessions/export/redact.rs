//! A conversation without its secrets, as far as they can be told from other text: values under a name that belongs to a
//! secret, whatever they are, and in every text what [`redact::text`] knows. It is no promise: what looks like prose
//! stays.

use hermes_core::redact;
use hermes_types::{Export, Object};
use serde_json::Value;

/// The session with secrets covered wherever text is. What cannot be looked through is not let through.
pub(super) fn redacted(export: &Export) -> serde_json::Result<Export> {
    serde_json::from_value(covered(serde_json::to_value(export)?))
}

fn covered(value: Value) -> Value {
    match value {
        Value::String(text) => Value::String(covered_text(&text)),
        Value::Array(items) => Value::Array(items.into_iter().map(covered).collect()),
        Value::Object(fields) => Value::Object(covered_fields(fields)),
        other => other,
    }
}

fn covered_fields(fields: Object) -> Object {
    // `{"name": "API_KEY", "value": "…"}` says the name beside the value.
    let says_secret = ["name", "key"]
        .iter()
        .any(|field| fields.get(*field).and_then(Value::as_str).is_some_and(redact::is_secret_name));
    let mut shown = Object::new();
    for (name, value) in fields {
        let plain = name.trim();
        let value = match &value {
            Value::String(text) if plain == "key" && redact::is_unlike_words(text) => hidden(value),
            _ if redact::is_secret_name(plain) || (says_secret && plain == "value") => hidden(value),
            _ => covered(value),
        };
        let mut name = redact::text(&name).into_owned();
        // Two covered names may look alike; neither value is lost for it.
        while shown.contains_key(&name) {
            name.push('\'');
        }
        shown.insert(name, value);
    }
    shown
}

/// A value under the name of a secret. Nothing and yes or no hide nothing.
fn hidden(value: Value) -> Value {
    match value {
        Value::Null | Value::Bool(_) => value,
        Value::String(text) if text.is_empty() || redact::is_masked(&text) => Value::String(text),
        Value::String(text) => Value::String(redact::secret(&text)),
        Value::Number(_) => Value::String(redact::secret("")),
        Value::Array(items) => Value::Array(items.into_iter().map(hidden).collect()),
        Value::Object(fields) => Value::Object(
            fields.into_iter().map(|(name, value)| (redact::text(&name).into_owned(), hidden(value))).collect(),
        ),
    }
}

/// JSON inside a text is looked through field by field, so that it stays JSON; other text word by word.
fn covered_text(text: &str) -> String {
    let is_json = text.trim_start().starts_with(['{', '[']);
    match is_json.then(|| serde_json::from_str::<Value>(text)) {
        Some(Ok(inner)) => {
            let shown = covered(inner.clone());
            // Nothing to cover: the text stays as it was spaced.
            if inner == shown { text.to_owned() } else { shown.to_string() }
        }
        _ => redact::text(text).into_owned(),
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
            "function": {
                "name": "sk-proj-Ab3dEf6hIj9kLm2nOp5q",
                "arguments": "{\"url\": \"http://x\", \"api_key\": \"sk-0123456789abcdefgh\", \"n\": 1}",
            },
            "result": " {\"output\": \"password: hunter2\\nfine\"}",
            "hash": "commit 0123456789abcdef0123456789abcdef01234567",
            "plain": "{\"b\":  1, \"a\": \"x\"}",
            "codex_reasoning_items": [{"type": "reasoning", "token": "t0p-secret"}],
            "pin": {"password": 12345678, "secret": ["a", {"b": [7]}], "token": null, "credentials": {"user": "bob"}},
            "env": [{"name": "API_KEY", "value": "hunter2"}, {"name": "SHELL", "value": "bash"}],
            "pressed": {"key": "Enter"},
            "AKIAIOSFODNN7EXAMPLE": 1,
        });
        let shown = json!({
            "id": "20251009_085320_aa0001_long_enough_to_look_like_a_key",
            "content": "Use this:\nexport OPENAI_API_KEY=«redacted:***»\nand go on",
            "function": {
                "name": "«redacted:sk-p…Op5q»",
                "arguments": "{\"url\":\"http://x\",\"api_key\":\"«redacted:sk-0…efgh»\",\"n\":1}",
            },
            "result": "{\"output\":\"password: «redacted:***»\\nfine\"}",
            "hash": "commit 0123456789abcdef0123456789abcdef01234567",
            "plain": "{\"b\":  1, \"a\": \"x\"}",
            "codex_reasoning_items": [{"type": "reasoning", "token": "«redacted:***»"}],
            "pin": {
                "password": "«redacted:***»",
                "secret": ["«redacted:***»", {"b": ["«redacted:***»"]}],
                "token": null,
                "credentials": {"user": "«redacted:***»"},
            },
            "env": [{"name": "API_KEY", "value": "«redacted:***»"}, {"name": "SHELL", "value": "bash"}],
            "pressed": {"key": "Enter"},
            "«redacted:AKIA…MPLE»": 1,
        });
        assert_eq!(covered(said), shown);
    }
}
