//! A request as the blocks that caches are made of, in the order in which providers read them: tools, system, messages.
//!
//! A tool, a part of a content, a call and a result are a block each. A text is the same block whether it stands alone or
//! as the only part of a list, because a marker can only hang on a part.

use serde_json::{Map, Value, json};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::time::Duration;

const MARK: &str = "cache_control";
pub(super) const BYTES_PER_TOKEN: usize = 4;

/// The parts of a request. What changes in one makes the ones behind it unknown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Section {
    Tools,
    System,
    Messages,
}

/// How long something marked is kept after it was last used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Ttl {
    FiveMinutes,
    Hour,
}

impl Ttl {
    /// What writing costs, in tokens of plain input.
    pub(super) fn price(self) -> f64 {
        match self {
            Self::FiveMinutes => 1.25,
            Self::Hour => 2.0,
        }
    }

    pub(super) fn lasts(self) -> Duration {
        match self {
            Self::FiveMinutes => Duration::from_secs(300),
            Self::Hour => Duration::from_secs(3_600),
        }
    }
}

/// The smallest thing a cached beginning can end with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Block {
    pub section: Section,
    /// Its JSON text without a marker.
    pub text: String,
    pub tokens: u64,
    /// What makes it the same block elsewhere: who says it, and the text.
    pub key: u64,
    /// A cached beginning shall end here.
    pub mark: Option<Ttl>,
}

impl Block {
    fn new(section: Section, role: &str, text: String, mark: Option<Ttl>) -> Self {
        let tokens = text.len().div_ceil(BYTES_PER_TOKEN) as u64;
        Self { section, tokens, key: digest(&(role, &text)), text, mark }
    }

    /// A value with its own marker, if it bears one.
    fn of(section: Section, role: &str, value: &Value) -> Self {
        Self::new(section, role, unmarked(value).to_string(), mark_of(value))
    }
}

/// A whole request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Layout {
    pub model: String,
    pub blocks: Vec<Block>,
    /// The settings that stand in front of the messages, though nobody sees them there.
    pub(super) settings: u64,
}

/// What a request has in common with another at its beginning.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Shared {
    pub tokens: u64,
    /// Something that was sent before does not stand where it stood.
    pub broke: bool,
}

impl Layout {
    /// Reads a body of any of the three protocols.
    pub fn of(body: &Value) -> Self {
        let mut blocks: Vec<Block> = Vec::new();
        blocks.extend(list(&body["tools"]).map(|tool| Block::of(Section::Tools, "", tool)));
        for system in [&body["system"], &body["instructions"]] {
            blocks.extend(parts(system).iter().map(|part| Block::of(Section::System, "system", part)));
        }
        blocks.extend(list(&body["messages"]).flat_map(message));
        blocks.extend(list(&body["input"]).map(|item| Block::of(Section::Messages, "", item)));
        // In chat completions the prompt is a message; it belongs in front all the same.
        blocks.sort_by_key(|block| block.section);
        let has_images = blocks.iter().any(|block| block.text.contains(r#""type":"image"#));
        let settings = ["tool_choice", "thinking", "reasoning"].map(|name| body[name].to_string());
        let model = body["model"].as_str().unwrap_or_default().to_owned();
        Self { model, blocks, settings: digest(&(settings, has_images)) }
    }

    pub fn tokens(&self) -> u64 {
        self.blocks.iter().map(|block| block.tokens).sum()
    }

    /// What `next` has in common with this request.
    pub fn shared_with(&self, next: &Self) -> Shared {
        let same = self.blocks.iter().zip(&next.blocks).take_while(|(before, now)| before.key == now.key);
        let (blocks, tokens) = same.fold((0, 0), |(blocks, tokens), (block, _)| (blocks + 1, tokens + block.tokens));
        Shared { tokens, broke: blocks < self.blocks.len() || self.model != next.model }
    }

    pub(super) fn longest_mark(&self) -> Option<Ttl> {
        self.blocks.iter().filter_map(|block| block.mark).max()
    }
}

/// The blocks of a message in the Messages protocol or in chat completions.
fn message(message: &Value) -> Vec<Block> {
    let role = message["role"].as_str().unwrap_or_default();
    let section = if matches!(role, "system" | "developer") { Section::System } else { Section::Messages };
    let content = parts(&message["content"]);
    if role == "tool" {
        let mark = mark_of(message).or_else(|| content.iter().rev().find_map(mark_of));
        return vec![Block::new(section, role, result(message, &content).to_string(), mark)];
    }
    let mut blocks: Vec<Block> = content.iter().map(|part| Block::of(section, role, part)).collect();
    let is_more = |name: &str| !matches!(name, "role" | "content" | "tool_calls" | MARK);
    let more = message.as_object().into_iter().flatten().filter(|(name, value)| is_more(name) && !value.is_null());
    let more: Map<String, Value> = more.map(|(name, value)| (name.clone(), value.clone())).collect();
    if !more.is_empty() {
        blocks.push(Block::of(section, role, &Value::Object(more)));
    }
    blocks.extend(list(&message["tool_calls"]).map(|call| Block::of(section, role, call)));
    if let Some(last) = blocks.last_mut() {
        last.mark = last.mark.or_else(|| mark_of(message));
    }
    blocks
}

/// A result of chat completions: one block, however its content is written.
fn result(message: &Value, content: &[Value]) -> Value {
    let mut bare = unmarked(message);
    bare["content"] = match content {
        [only] if only["type"] == "text" => only["text"].clone(),
        several => several.iter().map(unmarked).collect(),
    };
    bare
}

/// A content as parts: a text is its only part, nothing has none.
fn parts(content: &Value) -> Vec<Value> {
    match content {
        Value::String(text) if !text.is_empty() => vec![json!({"type": "text", "text": text})],
        Value::Array(parts) => parts.clone(),
        _ => Vec::new(),
    }
}

fn unmarked(value: &Value) -> Value {
    let mut bare = value.clone();
    if let Some(fields) = bare.as_object_mut() {
        fields.remove(MARK);
    }
    bare
}

fn mark_of(bearer: &Value) -> Option<Ttl> {
    let mark = bearer.get(MARK)?;
    Some(if mark["ttl"] == "1h" { Ttl::Hour } else { Ttl::FiveMinutes })
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

pub(super) fn digest(value: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}
