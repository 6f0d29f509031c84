//! The rules of providers that keep what is marked: at most four marks, all of one kind, each on something that can bear
//! one. A provider refuses the whole request otherwise, so a body that breaks a rule fails its test.

use crate::render_sse::Protocol;
use serde_json::Value;

const FIELD: &str = "cache_control";
const MOST: usize = 4;

/// What is wrong with the marks in this body.
pub(crate) fn complaints(protocol: Protocol, body: &Value) -> Vec<String> {
    let mut marks = Vec::new();
    for field in ["tools", "system", "instructions", "messages", "input"] {
        find(&body[field], field, &mut marks);
    }
    let mut complaints: Vec<String> =
        marks.iter().filter_map(|mark| Some(format!("{} {}", mark.place, mark.fault(protocol)?))).collect();
    if marks.len() > MOST {
        complaints.push(format!("{} cache markers are more than {MOST}", marks.len()));
    }
    let kinds = |mark: &Mark<'_>| mark.bearer[FIELD].clone();
    if marks.windows(2).any(|pair| kinds(&pair[0]) != kinds(&pair[1])) {
        complaints.push("cache markers must all be of one kind".into());
    }
    complaints
}

/// Something that bears a mark, and where it stands: `messages[3].content[0]`.
struct Mark<'a> {
    place: String,
    bearer: &'a Value,
}

impl Mark<'_> {
    fn fault(&self, protocol: Protocol) -> Option<String> {
        let marker = &self.bearer[FIELD];
        if marker["type"] != "ephemeral" || !matches!(marker["ttl"].as_str(), None | Some("5m" | "1h")) {
            return Some(format!("has an odd cache marker: {marker}"));
        }
        let kind = self.bearer["type"].as_str().unwrap_or("nothing");
        let is_tool = self.place.starts_with("tools[");
        let is_inside_result = self.place.matches(".content").count() > 1;
        let can = match protocol {
            Protocol::Chat => kind == "text",
            Protocol::Anthropic if is_tool => true,
            Protocol::Anthropic => {
                matches!(kind, "text" | "image" | "document" | "tool_use" | "tool_result") && !is_inside_result
            }
            Protocol::Responses => false,
        };
        if !can {
            return Some(format!("has a cache marker, and {kind} cannot bear one"));
        }
        let is_blank = kind == "text" && self.bearer["text"].as_str().is_none_or(|text| text.trim().is_empty());
        is_blank.then(|| "has a cache marker on empty text".into())
    }
}

/// Looks everywhere but into schemas and arguments, which are other people's words.
fn find<'a>(value: &'a Value, place: &str, marks: &mut Vec<Mark<'a>>) {
    match value {
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                find(item, &format!("{place}[{index}]"), marks);
            }
        }
        Value::Object(fields) => {
            if fields.contains_key(FIELD) {
                marks.push(Mark { place: place.to_owned(), bearer: value });
            }
            let foreign = ["input", "input_schema", "parameters", FIELD];
            for (key, field) in fields.iter().filter(|(key, _)| !foreign.contains(&key.as_str())) {
                find(field, &format!("{place}.{key}"), marks);
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn marked(mut block: Value) -> Value {
        block[FIELD] = json!({"type": "ephemeral"});
        block
    }

    fn text(words: &str) -> Value {
        json!({"type": "text", "text": words})
    }

    fn said(blocks: &Value) -> Value {
        json!({"messages": [{"role": "user", "content": blocks}]})
    }

    #[test]
    fn marks_where_they_belong_are_nobodys_business() {
        let call = json!({"type": "tool_use", "id": "a", "name": "look", "input": {"cache_control": 1}});
        let native = json!({
            "tools": [marked(json!({"name": "look", "input_schema": {"properties": {"cache_control": {}}}}))],
            "system": [marked(text("s"))],
            "messages": [
                {"role": "assistant", "content": [marked(call)]},
                {"role": "user", "content": [marked(json!({"type": "tool_result", "tool_use_id": "a", "content": "x"}))]},
            ],
        });
        let hour = json!([{"type": "text", "text": "w", "cache_control": {"type": "ephemeral", "ttl": "1h"}}]);
        for (protocol, body) in [
            (Protocol::Anthropic, native),
            (Protocol::Chat, said(&json!([text("a"), marked(text("b"))]))),
            (Protocol::Chat, said(&hour)),
            (Protocol::Responses, json!({"input": [{"role": "user", "content": "cache_control"}]})),
        ] {
            assert_eq!(complaints(protocol, &body), [""; 0], "{body}");
        }
    }

    #[test]
    fn every_broken_rule_is_named() {
        let (native, chat, responses) = (Protocol::Anthropic, Protocol::Chat, Protocol::Responses);
        let inner = json!([{"type": "tool_result", "tool_use_id": "a", "content": [marked(text("x"))]}]);
        let hour = json!({"type": "text", "text": "w", "cache_control": {"type": "ephemeral", "ttl": "1h"}});
        let day = json!({"type": "text", "text": "w", "cache_control": {"type": "ephemeral", "ttl": "1d"}});
        let on_message = json!({"messages": [marked(json!({"role": "user", "content": "a"}))]});
        let table = [
            (native, said(&json!(vec![marked(text("w")); 5])), "5 cache markers are more than 4"),
            (native, said(&json!([marked(text("w")), hour])), "cache markers must all be of one kind"),
            (native, said(&json!([marked(json!({"type": "thinking", "thinking": "t"}))])), "thinking cannot bear one"),
            (native, said(&json!([marked(text(" \n"))])), "has a cache marker on empty text"),
            (native, said(&inner), "messages[0].content[0].content[0] has a cache marker, and text cannot bear one"),
            (native, said(&json!([day])), "has an odd cache marker"),
            (native, on_message.clone(), "messages[0] has a cache marker, and nothing cannot bear one"),
            (chat, on_message, "messages[0] has a cache marker, and nothing cannot bear one"),
            (chat, said(&json!([marked(json!({"type": "image_url"}))])), "image_url cannot bear one"),
            (chat, said(&json!([marked(text(""))])), "has a cache marker on empty text"),
            (responses, json!({"input": [{"content": [marked(text("w"))]}]}), "text cannot bear one"),
        ];
        for (protocol, body, expected) in table {
            let found = complaints(protocol, &body);
            assert!(found.len() == 1 && found[0].contains(expected), "{expected}: {found:?}");
        }
    }
}
