//! `reasoning_details`: structured reasoning that is stored and sent back exactly as it was, signatures and all.
//!
//! In a stream it arrives in pieces. Pieces of one item have its index and kind; their texts are joined, and of every
//! other field the latest value counts.

use hermes_types::Object;
use serde_json::Value;

/// Fields that arrive bit by bit.
const JOINED: [&str; 2] = ["text", "summary"];
/// Where the readable part of an item may stand, best first.
const READABLE: [&str; 4] = ["summary", "thinking", "content", "text"];
/// No answer has more.
const MOST_ITEMS: usize = 512;

#[derive(Debug, Default)]
pub(super) struct Details {
    items: Vec<Object>,
    text: usize,
}

impl Details {
    /// Bytes of text held.
    pub(super) fn size(&self) -> usize {
        self.text
    }

    pub(super) fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// Takes in the details of one chunk and returns their readable text.
    pub(super) fn push(&mut self, pieces: &Value) -> String {
        let mut readable = String::new();
        for piece in pieces.as_array().into_iter().flatten().filter_map(Value::as_object) {
            readable.push_str(text_of(piece));
            self.text += piece.values().filter_map(Value::as_str).map(str::len).sum::<usize>();
            let full = self.items.len() >= MOST_ITEMS;
            match self.items.iter_mut().rev().find(|item| continues(item, piece)) {
                Some(item) => merge(item, piece),
                None if full => {}
                None => self.items.push(piece.clone()),
            }
        }
        readable
    }

    pub(super) fn finish(self) -> Option<Vec<Value>> {
        (!self.items.is_empty()).then(|| self.items.into_iter().map(Value::Object).collect())
    }
}

fn text_of(item: &Object) -> &str {
    let texts = READABLE.iter().filter_map(|key| item.get(*key).and_then(Value::as_str));
    texts.into_iter().find(|text| !text.is_empty()).unwrap_or_default()
}

fn continues(item: &Object, piece: &Object) -> bool {
    let same = |key: &str| item.get(key) == piece.get(key);
    let compatible = |key: &str| same(key) || !is_set(item, key) || !is_set(piece, key);
    let numbered = is_set(item, "index") && is_set(piece, "index");
    // Without numbers, only running text can be a continuation, and a signature ends it.
    let runs_on = || !is_set(item, "signature") && JOINED.iter().any(|key| is_set(item, key) && is_set(piece, key));
    compatible("type") && compatible("id") && if numbered { same("index") } else { same("index") && runs_on() }
}

fn is_set(item: &Object, key: &str) -> bool {
    item.get(key).is_some_and(|value| !value.is_null())
}

fn merge(item: &mut Object, piece: &Object) {
    for (key, value) in piece.iter().filter(|(_, value)| !value.is_null()) {
        match (item.get_mut(key), value) {
            (Some(Value::String(whole)), Value::String(more)) if JOINED.contains(&key.as_str()) => whole.push_str(more),
            (Some(old), new) => *old = new.clone(),
            (None, new) => {
                item.insert(key.clone(), new.clone());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn pieces_grow_into_items() {
        let mut details = Details::default();
        let chunks = [
            json!([{"type": "reasoning.text", "text": "Let me ", "index": 0, "format": null}]),
            json!([{"type": "reasoning.text", "text": "see.", "index": 0, "format": "anthropic-claude-v1"}]),
            json!([{"type": "reasoning.text", "signature": "sig", "index": 0}]),
            json!([{"type": "reasoning.encrypted", "data": "xyz", "id": "rs_1", "index": 0}]),
            json!([{"type": "reasoning.encrypted", "data": "uvw", "id": "rs_2", "index": 0}]),
            json!([{"type": "reasoning.summary", "summary": "a"}, {"type": "reasoning.summary", "summary": "b"}]),
            json!("nonsense"),
        ];
        let read: String = chunks.iter().map(|chunk| details.push(chunk)).collect();
        assert_eq!(read, "Let me see.ab");
        assert_eq!(
            details.finish(),
            Some(vec![
                json!({"type": "reasoning.text", "text": "Let me see.", "index": 0, "format": "anthropic-claude-v1",
                    "signature": "sig"}),
                json!({"type": "reasoning.encrypted", "data": "xyz", "id": "rs_1", "index": 0}),
                json!({"type": "reasoning.encrypted", "data": "uvw", "id": "rs_2", "index": 0}),
                json!({"type": "reasoning.summary", "summary": "ab"}),
            ])
        );
    }
}
