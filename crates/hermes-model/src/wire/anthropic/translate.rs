//! From messages to turns: each message becomes a list of blocks, by itself and without a look at its neighbours.
//!
//! Content is always written as a list, also where the protocol would take a string: a cache marker that moves on does
//! not change the form of the text it leaves behind. No list is ever empty and no text in it is ever blank.

use super::blocks::{Block, EMPTY, Input, Output, kind, mark, mention};
use crate::wire::cache::Breakpoints;
use hermes_types::{Arguments, Assistant, Content, Message, Object, Part, Plain, ToolCall, ToolResult};
use serde_json::Value;
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::sync::Arc;

/// Who speaks. `Tools` becomes `user` on the wire; it holds tool results and nothing else.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    User,
    Assistant,
    Tools,
}

#[derive(Debug, Clone)]
pub(super) struct Turn<'a> {
    pub(super) side: Side,
    pub(super) blocks: Vec<Block<'a>>,
    /// The turn is no longer what the model said, so the signatures in it would be refused.
    pub(super) altered: bool,
}

/// What this receiver takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Accepts {
    pub(super) images: bool,
    /// Lists of blocks in tool results.
    pub(super) result_blocks: bool,
    /// Signed thinking and the ordered blocks that go with it.
    pub(super) signatures: bool,
}

const IMAGE_LEFT_OUT: &str = "(image left out: this model does not take images)";

/// The turns of a history, system messages aside. Consecutive tool messages answer one turn and stay together.
pub(super) fn turns<'a>(messages: &'a [Arc<Message>], accepts: Accepts, breakpoints: &Breakpoints) -> Vec<Turn<'a>> {
    let mut turns: Vec<Turn<'_>> = Vec::with_capacity(messages.len());
    for (place, message) in messages.iter().enumerate() {
        let marker = breakpoints.at(place);
        let (side, mut blocks) = match &**message {
            Message::System(_) => continue,
            Message::User(message) => (Side::User, user(message, accepts)),
            Message::Assistant(message) => (Side::Assistant, assistant(message, accepts)),
            Message::Tool(message) => {
                let result = tool_result(message, accepts).marked(marker);
                if let Some(open) = turns.last_mut().filter(|turn| turn.side == Side::Tools) {
                    open.blocks.push(result);
                    continue;
                }
                (Side::Tools, vec![result])
            }
        };
        mark(&mut blocks, marker);
        turns.push(Turn { side, blocks, altered: false });
    }
    turns
}

/// The system messages, all of them and in order, as one text.
pub(super) fn system(messages: &[Arc<Message>]) -> Option<Cow<'_, str>> {
    let said = messages.iter().filter_map(|message| match &**message {
        Message::System(message) => Some(joined(&message.content)),
        _ => None,
    });
    let mut texts: Vec<Cow<'_, str>> = said.filter(|text| !text.trim().is_empty()).collect();
    if texts.len() > 1 {
        texts = vec![Cow::Owned(texts.join("\n\n"))];
    }
    texts.pop()
}

fn user(message: &Plain, accepts: Accepts) -> Vec<Block<'_>> {
    let mut blocks: Vec<Block<'_>> = match &message.content {
        Content::Text(text) => vec![Block::text(text.as_str())],
        Content::Parts(parts) => {
            let translate =
                |part| image(part, accepts).or_else(|| text_part(part)).or_else(|| Block::attachment_of(part));
            parts.iter().filter_map(translate).collect()
        }
    };
    blocks.retain(|block| !block.is_blank());
    settle(&mut blocks, "(empty message)");
    blocks
}

fn assistant(message: &Assistant, accepts: Accepts) -> Vec<Block<'_>> {
    let ordered = message.anthropic_content_blocks.as_deref().filter(|_| accepts.signatures).unwrap_or_default();
    let mut blocks =
        if ordered.is_empty() { composed(message, accepts) } else { replayed(ordered, &message.tool_calls) };
    if let Some(thinking) = &message.reasoning_content
        && !blocks.iter().any(Block::is_thinking)
    {
        blocks.insert(0, Block::Thinking { thinking, signature: None });
    }
    settle(&mut blocks, EMPTY);
    blocks
}

/// An assistant turn in its natural order: thinking, text, calls.
fn composed(message: &Assistant, accepts: Accepts) -> Vec<Block<'_>> {
    let details = message.reasoning_details.as_deref().filter(|_| accepts.signatures).unwrap_or_default();
    let mut blocks: Vec<Block<'_>> = details.iter().filter_map(Value::as_object).filter_map(thinking).collect();
    match &message.content {
        Some(Content::Text(text)) => blocks.push(Block::text(text.trim_end())),
        Some(Content::Parts(parts)) => blocks.extend(parts.iter().filter_map(text_part).map(without_trailing_space)),
        None => {}
    }
    blocks.retain(|block| !block.is_blank());
    blocks.extend(message.tool_calls.iter().map(tool_use));
    blocks
}

/// A turn whose order is part of its signatures, block by block as the model wrote it. The arguments come from the
/// calls of the message: those are what was run. Types that only a server may write are left out.
fn replayed<'a>(ordered: &'a [Value], calls: &'a [ToolCall]) -> Vec<Block<'a>> {
    let mut waiting: Vec<&ToolCall> = calls.iter().collect();
    let mut blocks = Vec::with_capacity(ordered.len());
    for object in ordered.iter().filter_map(Value::as_object) {
        let text_at = |key: &str| object.get(key).and_then(Value::as_str);
        blocks.extend(match kind(object) {
            "text" => text_at("text").map(|text| without_trailing_space(Block::text_of(text, object))),
            "tool_use" => {
                let id = text_at("id").unwrap_or_default();
                let known = waiting.iter().position(|call| call.pairing_id().as_str() == id || call.id.as_str() == id);
                Some(known.map_or_else(|| stray_tool_use(object), |at| tool_use(waiting.remove(at))))
            }
            _ => thinking(object),
        });
    }
    blocks.retain(|block| !block.is_blank());
    blocks.extend(waiting.into_iter().map(tool_use));
    blocks
}

fn thinking(object: &Object) -> Option<Block<'_>> {
    let text_at = |key: &str| object.get(key).and_then(Value::as_str).filter(|text| !text.is_empty());
    match kind(object) {
        "thinking" => {
            let (thinking, signature) = (text_at("thinking").unwrap_or_default(), text_at("signature"));
            (signature.is_some() || !thinking.is_empty()).then_some(Block::Thinking { thinking, signature })
        }
        "redacted_thinking" => text_at("data").map(|data| Block::RedactedThinking { data }),
        _ => None,
    }
}

fn tool_use(call: &ToolCall) -> Block<'_> {
    Block::ToolUse {
        id: clean(call.pairing_id().as_str(), "tool_0"),
        name: clean(&call.function.name, "invalid_tool_call"),
        input: input(&call.function.arguments),
        cache_control: None,
    }
}

/// A stored call the message no longer has. Unless a result answers it, it falls out later and takes the signatures of
/// its turn along.
fn stray_tool_use(object: &Object) -> Block<'_> {
    let text_at = |key: &str| object.get(key).and_then(Value::as_str).unwrap_or_default();
    Block::ToolUse {
        id: clean(text_at("id"), "tool_0"),
        name: clean(text_at("name"), "invalid_tool_call"),
        input: object.get("input").and_then(Value::as_object).map_or(Input::None {}, Input::Kept),
        cache_control: None,
    }
}

/// The arguments with sorted keys, so that the same call has the same bytes; none when they cannot be read.
fn input(arguments: &Arguments) -> Input<'_> {
    match serde_json::from_str::<&RawValue>(arguments.canonical()) {
        Ok(object) if object.get().starts_with('{') => Input::Written(object),
        _ => Input::None {},
    }
}

fn tool_result(message: &ToolResult, accepts: Accepts) -> Block<'_> {
    let content = match &message.content {
        Content::Parts(parts) if accepts.images && accepts.result_blocks && parts.iter().any(is_image) => {
            let translate = |part| Block::image_of(part).or_else(|| line(part).map(Block::text));
            Output::Blocks(parts.iter().filter_map(translate).filter(|block| !block.is_blank()).collect())
        }
        content => {
            let text = match content {
                Content::Text(text) => Cow::Borrowed(text.as_str()),
                Content::Parts(parts) => parts.iter().filter_map(line).collect::<Vec<_>>().join("\n").into(),
            };
            Output::Text(if text.trim().is_empty() { "(no output)".into() } else { text })
        }
    };
    Block::ToolResult { tool_use_id: clean(message.tool_call_id.as_str(), "tool_0"), content, cache_control: None }
}

/// A part of a tool result in words.
fn line(part: &Part) -> Option<&str> {
    if is_image(part) { Some(IMAGE_LEFT_OUT) } else { part.text().or_else(|| mention(part)) }
}

fn is_image(part: &Part) -> bool {
    Block::image_of(part).is_some()
}

fn image(part: &Part, accepts: Accepts) -> Option<Block<'_>> {
    let image = Block::image_of(part)?;
    Some(if accepts.images { image } else { Block::text(IMAGE_LEFT_OUT) })
}

fn text_part(part: &Part) -> Option<Block<'_>> {
    part.text().map(|text| Block::text_of(text, &part.0))
}

/// An answer that ends in white space is refused when it is the last message.
fn without_trailing_space(mut block: Block<'_>) -> Block<'_> {
    if let Block::Text { text: Cow::Borrowed(text), .. } = &mut block {
        *text = text.trim_end();
    }
    block
}

fn joined(content: &Content) -> Cow<'_, str> {
    match content {
        Content::Text(text) => Cow::Borrowed(text),
        parts @ Content::Parts(_) => Cow::Owned(parts.text()),
    }
}

/// A message says something, whatever was left out of it. Thinking is not said.
fn settle(blocks: &mut Vec<Block<'_>>, placeholder: &'static str) {
    if blocks.iter().all(Block::is_thinking) {
        blocks.push(Block::text(placeholder));
    }
}

/// Ids and tool names as the protocol spells them: letters, digits, `_` and `-`.
fn clean<'a>(word: &'a str, when_empty: &'static str) -> Cow<'a, str> {
    let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    if word.is_empty() {
        Cow::Borrowed(when_empty)
    } else if word.chars().all(allowed) {
        Cow::Borrowed(word)
    } else {
        Cow::Owned(word.chars().map(|c| if allowed(c) { c } else { '_' }).collect())
    }
}
