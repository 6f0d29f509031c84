//! What a message costs in tokens, roughly: four bytes each, a flat price for an image. The [`Meter`](super::Meter)
//! corrects it by what the provider counted.

use hermes_types::{Content, Message, Object, Part, PartView, ToolDefinition};
use serde::Serialize;
use serde_json::Value;
use std::io::Write;

const BYTES_PER_TOKEN: u64 = 4;
/// Whatever its size, as providers count it on average.
const IMAGE: u64 = 1_500;
/// The frame around a message: its role, its ids.
const FRAME: u64 = 8;
/// The frame around a call.
const CALL: u64 = 12;

pub fn of_text(text: &str) -> u64 {
    u64::try_from(text.len()).unwrap_or(u64::MAX).div_ceil(BYTES_PER_TOKEN)
}

pub fn of(message: &Message) -> u64 {
    let said = message.content().map_or(0, content);
    let more = match message {
        Message::Assistant(said) => {
            let calls = said.tool_calls.iter().map(|call| {
                let function = &call.function;
                CALL + of_text(&function.name) + of_text(function.arguments.as_str()) + optional(&call.extra_content)
            });
            let state = [
                &said.reasoning_details,
                &said.codex_reasoning_items,
                &said.codex_message_items,
                &said.anthropic_content_blocks,
            ];
            calls.sum::<u64>() + state.into_iter().map(optional).sum::<u64>()
        }
        Message::Tool(_) | Message::System(_) | Message::User(_) => 0,
    };
    FRAME + said + more
}

pub fn of_all<'a>(messages: impl IntoIterator<Item = &'a std::sync::Arc<Message>>) -> u64 {
    messages.into_iter().map(|message| of(message)).sum()
}

pub fn of_tools(tools: &[ToolDefinition]) -> u64 {
    tools.iter().map(|tool| of_text(&tool.name) + of_text(&tool.description) + json(&tool.parameters)).sum()
}

fn content(content: &Content) -> u64 {
    match content {
        Content::Text(text) => of_text(text),
        Content::Parts(parts) => parts.iter().map(part).sum(),
    }
}

fn part(part: &Part) -> u64 {
    match part.view() {
        PartView::Text(text) => of_text(text),
        PartView::Image { .. } => IMAGE,
        PartView::Other => foreign(&part.0),
    }
}

/// A part of some vendor: its text counts, its data does as an image.
fn foreign(part: &Object) -> u64 {
    let holds_data = part.values().any(|value| value.get("data").is_some() || value.get("url").is_some());
    if holds_data { IMAGE } else { json(part) }
}

fn optional(value: &Option<impl Serialize>) -> u64 {
    value.as_ref().map_or(0, json)
}

fn json(value: &impl Serialize) -> u64 {
    let mut counter = Counter(0);
    // Counting cannot fail; what has no JSON form is never sent.
    let _ = serde_json::to_writer(&mut counter, value);
    counter.0.div_ceil(BYTES_PER_TOKEN)
}

/// Counts what is written.
struct Counter(u64);

impl Write for Counter {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0 = self.0.saturating_add(u64::try_from(bytes.len()).unwrap_or(u64::MAX));
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// The value of a field, where it is text.
pub(super) fn text_at<'a>(object: &'a Object, key: &str) -> Option<&'a str> {
    object.get(key).and_then(Value::as_str)
}
