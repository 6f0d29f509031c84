//! The promise that prompt caches live on: each request of a conversation starts with the bytes of the one before.
//!
//! Compared are tools, system prompt and messages, in the order in which providers hash them. Cache markers are taken
//! out first: they move with every request and are no part of what is hashed. A lone text part is the same as its text,
//! because a marker can only hang on a part.

use crate::checks::message_field;
use crate::render_sse::Protocol;
use serde_json::Value;

/// The part of a request that must not move, piece by piece.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Prefix {
    pieces: Vec<Piece>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Piece {
    name: String,
    bytes: String,
}

impl Prefix {
    pub(crate) fn of(protocol: Protocol, body: &Value) -> Self {
        let fixed = match protocol {
            Protocol::Chat => &["tools"][..],
            Protocol::Responses => &["tools", "instructions"],
            Protocol::Anthropic => &["tools", "system"],
        };
        let field = message_field(protocol);
        let fixed = fixed.iter().map(|name| ((*name).to_owned(), &body[*name]));
        let messages = body[field].as_array().into_iter().flatten();
        let messages = messages.enumerate().map(|(index, message)| (format!("{field}[{index}]"), message));
        let pieces = fixed.chain(messages).map(|(name, value)| Piece { name, bytes: unmarked(value).to_string() });
        Self { pieces: pieces.collect() }
    }

    /// Where `next` fails to begin with `self`, if it does.
    pub(crate) fn break_in(&self, next: &Self) -> Option<String> {
        for (index, old) in self.pieces.iter().enumerate() {
            let Some(new) = next.pieces.get(index) else {
                return Some(format!("{} of the request before is gone", old.name));
            };
            if old.bytes != new.bytes {
                let at = old.bytes.chars().zip(new.bytes.chars()).take_while(|(a, b)| a == b).count();
                let (was, is) = (excerpt(&old.bytes, at), excerpt(&new.bytes, at));
                return Some(format!("{} changed at character {at}: it was `{was}` and is `{is}`", old.name));
            }
        }
        None
    }
}

/// What names a conversation that has no explicit key: its first user message.
pub(crate) fn first_user_message(protocol: Protocol, body: &Value) -> String {
    let messages = body[message_field(protocol)].as_array().into_iter().flatten();
    let first = messages.into_iter().find(|message| message["role"] == "user");
    first.map(|message| unmarked(&message["content"]).to_string()).unwrap_or_default()
}

fn excerpt(text: &str, at: usize) -> String {
    let start = at.saturating_sub(20);
    let middle: String = text.chars().skip(start).take(60).collect();
    let before = if start > 0 { "…" } else { "" };
    let after = if text.chars().count() > start + 60 { "…" } else { "" };
    format!("{before}{middle}{after}")
}

fn unmarked(value: &Value) -> Value {
    match value {
        Value::Array(items) => {
            let items: Vec<Value> = items.iter().map(unmarked).collect();
            match lone_text(&items) {
                Some(text) => text.clone(),
                None => Value::Array(items),
            }
        }
        Value::Object(fields) => {
            let kept = fields.iter().filter(|(key, _)| *key != "cache_control");
            Value::Object(kept.map(|(key, field)| (key.clone(), unmarked(field))).collect())
        }
        other => other.clone(),
    }
}

/// The text of a list that is nothing but one text part.
fn lone_text(items: &[Value]) -> Option<&Value> {
    let [Value::Object(part)] = items else { return None };
    (part.len() == 2 && part.get("type")? == "text").then(|| part.get("text")).flatten()
}
