//! Reads the events of a streamed answer, or one whole message from a server that does not stream.
//!
//! Nearly all events are fragments of text, so those are read in one pass without building a tree. Everything else goes
//! through a JSON value, and so do fragments with something odd beside them. Events and block types nobody knows yet are
//! passed over; text that is not JSON where JSON belongs, and a fragment that is not text, are faults, because a fragment
//! lost in silence would change the answer.

use super::super::{Decoder, End, Target, fault, json, sse};
use super::answer::{Answer, Fragment};
use super::blocks::kind;
use hermes_types::{Delta, Fault, FaultKind, Object, Reply};
use serde::Deserialize;
use serde_json::Value;
use std::borrow::Cow;

/// No model writes more than this in one answer.
const LARGEST_ANSWER: usize = 256 << 20;
const MOST_BLOCKS: usize = 4_096;

/// What is said of a fragment that is there and is no text.
const UNREADABLE: &str = "a fragment that cannot be read";

#[derive(Debug)]
pub struct AnthropicDecoder {
    /// Names the vendor in faults.
    vendor: &'static str,
    answer: Answer,
    bytes: usize,
    /// `message_stop` was seen.
    over: bool,
}

impl AnthropicDecoder {
    pub fn new(target: &Target) -> Self {
        Self { vendor: target.provider.label, answer: Answer::default(), bytes: 0, over: false }
    }
}

impl Decoder for AnthropicDecoder {
    fn event(&mut self, event: sse::Event<'_>, out: &mut Vec<Delta>) -> Result<(), Fault> {
        let before = out.len();
        self.read(event, out)?;
        if out.len() == before {
            out.push(Delta::Alive);
        }
        Ok(())
    }

    fn is_complete(&self) -> bool {
        self.over
    }

    fn finish(self: Box<Self>, _end: End) -> Result<Reply, Fault> {
        let vendor = self.vendor;
        self.answer.into_reply().ok_or_else(|| {
            Fault::new(FaultKind::EmptyStream, format!("{vendor} closed the stream without an answer; try again"))
        })
    }
}

/// The part of a frequent event that matters, borrowed from it.
#[derive(Deserialize)]
struct Frame<'a> {
    #[serde(borrow, default, rename = "type")]
    kind: Cow<'a, str>,
    #[serde(default)]
    index: u64,
    #[serde(borrow)]
    delta: BlockDelta<'a>,
}

impl Frame<'_> {
    /// By the type in the data; servers that leave it out name the event.
    fn is_block_delta(&self, name: &str) -> bool {
        let kind = if self.kind.is_empty() { name } else { &*self.kind };
        kind == "content_block_delta"
    }
}

/// Flat on purpose: a tagged enum would be buffered before it is read.
#[derive(Deserialize)]
struct BlockDelta<'a> {
    #[serde(borrow, rename = "type")]
    kind: Cow<'a, str>,
    #[serde(borrow, default)]
    text: Cow<'a, str>,
    #[serde(borrow, default)]
    thinking: Cow<'a, str>,
    #[serde(borrow, default)]
    partial_json: Cow<'a, str>,
    #[serde(borrow, default)]
    signature: Cow<'a, str>,
}

impl<'a> BlockDelta<'a> {
    fn fragment(&'a self) -> Option<Fragment<'a>> {
        match &*self.kind {
            "text_delta" => Some(Fragment::Text(&self.text)),
            "thinking_delta" => Some(Fragment::Thinking(&self.thinking)),
            "input_json_delta" => Some(Fragment::Json(&self.partial_json)),
            "signature_delta" => Some(Fragment::Signature(&self.signature)),
            _ => None,
        }
    }
}

impl AnthropicDecoder {
    fn read(&mut self, event: sse::Event<'_>, out: &mut Vec<Delta>) -> Result<(), Fault> {
        self.bytes += event.data.len();
        if self.bytes > LARGEST_ANSWER || self.answer.blocks() > MOST_BLOCKS {
            return Err(self.malformed("an answer without end"));
        }
        // `[DONE]` and other bare words of proxies carry nothing.
        if event.name == "ping" || !event.data.trim_start().starts_with('{') {
            return Ok(());
        }
        if let Ok(frame) = serde_json::from_str::<Frame<'_>>(event.data)
            && frame.is_block_delta(event.name)
            && let Some(fragment) = frame.delta.fragment()
        {
            self.answer.append(frame.index, fragment, out);
            return Ok(());
        }
        match json::parse(event.data) {
            Ok(Value::Object(object)) => self.rare(event.name, &object, out),
            _ => Err(self.malformed("an event that is not JSON")),
        }
    }

    fn rare(&mut self, name: &str, event: &Object, out: &mut Vec<Delta>) -> Result<(), Fault> {
        let part = |key: &str| event.get(key).and_then(Value::as_object);
        match event.get("type").and_then(Value::as_str).unwrap_or(name) {
            "error" => return Err(announced(event)),
            "message_start" => part("message").into_iter().for_each(|message| self.answer.describe(message)),
            "message_delta" => {
                self.answer.describe(event);
                part("delta").into_iter().for_each(|delta| self.answer.describe(delta));
            }
            "content_block_start" => {
                let index = self.index(event)?;
                part("content_block").into_iter().for_each(|block| self.answer.open(index, block, out));
            }
            "content_block_delta" => {
                let delta = part("delta").ok_or_else(|| self.malformed(UNREADABLE))?;
                if let Some(fragment) = self.fragment(delta)? {
                    self.answer.append(self.index(event)?, fragment, out);
                }
            }
            "content_block_stop" => self.answer.close(self.index(event)?),
            "message_stop" => self.over = true,
            _ if event.get("error").is_some_and(|error| !error.is_null()) => return Err(announced(event)),
            _ => self.whole(event, out),
        }
        Ok(())
    }

    /// Servers with one block may leave the index out.
    fn index(&self, event: &Object) -> Result<u64, Fault> {
        match event.get("index") {
            None | Some(Value::Null) => Ok(0),
            Some(index) => index.as_u64().ok_or_else(|| self.malformed("a block without a place")),
        }
    }

    /// A fragment the quick reader did not take. Where it is null or left out nothing was said.
    fn fragment<'a>(&self, delta: &'a Object) -> Result<Option<Fragment<'a>>, Fault> {
        let (key, of): (_, fn(&'a str) -> Fragment<'a>) = match kind(delta) {
            "text_delta" => ("text", Fragment::Text),
            "thinking_delta" => ("thinking", Fragment::Thinking),
            "input_json_delta" => ("partial_json", Fragment::Json),
            "signature_delta" => ("signature", Fragment::Signature),
            _ => return Ok(delta.get("citation").map(Fragment::Citation)),
        };
        match delta.get(key) {
            Some(Value::String(text)) => Ok(Some(of(text))),
            Some(Value::Null) | None => Ok(None),
            Some(_) => Err(self.malformed(UNREADABLE)),
        }
    }

    /// A message that was not streamed; anything else unknown has no list of content and leaves no trace.
    fn whole(&mut self, message: &Object, out: &mut Vec<Delta>) {
        let Some(Value::Array(content)) = message.get("content") else { return };
        self.answer.describe(message);
        for (index, block) in (0..).zip(content.iter().filter_map(Value::as_object).take(MOST_BLOCKS)) {
            self.answer.open(index, block, out);
            self.answer.close(index);
        }
    }

    fn malformed(&self, what: &str) -> Fault {
        Fault::new(FaultKind::Malformed, format!("{} sent {what}; try again or choose another provider", self.vendor))
    }
}

/// The fault a server announces in the middle of its stream.
fn announced(event: &Object) -> Fault {
    fault::from_error_body(None, &Value::Object(event.clone()))
}
