//! The conversation as input items, borrowed from the messages.
//!
//! A message becomes the same items wherever it stands. Two things look beyond one message, and both only backwards:
//! a reasoning item goes out once, and calls are matched with their results.

use super::{Backend, LONGEST_ID, bounded_id, text_at};
use crate::wire::Target;
use hermes_types::{
    Assistant, CallId, Concession, Content, Message, Object, Part, PartView, Request, ToolCall, ToolResult,
};
use serde::Serialize;
use serde_json::Value;
use std::borrow::Cow;
use std::collections::HashSet;

/// Stands where the result of a call was lost, so that the call can stay.
const NO_RESULT: &str = "(no result was recorded for this call)";
const NO_IMAGE: &str = "(an image was left out here)";
const NO_ATTACHMENT: &str = "(an attachment was left out here)";
/// Parts the API takes besides text and images with an address.
const OWN_PARTS: [&str; 3] = ["input_file", "input_image", "input_audio"];
/// State of other protocols, which is no part of what was said.
const NOT_SAID: [&str; 4] = ["thinking", "redacted_thinking", "tool_use", "tool_result"];
/// A call needs some name to be paired with its result.
const NAMELESS: &str = "invalid_tool_call";
/// Statuses a message may be sent back with.
const STATUSES: [&str; 3] = ["completed", "incomplete", "in_progress"];

#[derive(Debug, Serialize)]
#[serde(untagged)]
pub(super) enum Item<'a> {
    Said { role: &'static str, content: Words<'a> },
    Typed(Typed<'a>),
}

#[derive(Debug, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum Typed<'a> {
    Reasoning {
        encrypted_content: &'a str,
        summary: &'a [Value],
    },
    Message {
        role: &'static str,
        status: &'a str,
        content: Vec<PartItem<'a>>,
        #[serde(skip_serializing_if = "Option::is_none")]
        id: Option<&'a str>,
        #[serde(skip_serializing_if = "Option::is_none")]
        phase: Option<&'a str>,
    },
    FunctionCall {
        call_id: String,
        name: &'a str,
        arguments: &'a str,
    },
    FunctionCallOutput {
        call_id: String,
        output: Words<'a>,
    },
}

#[derive(Debug, Serialize)]
#[serde(untagged)]
pub(super) enum Words<'a> {
    Text(Cow<'a, str>),
    Parts(Vec<PartItem<'a>>),
}

#[derive(Debug, Serialize)]
#[serde(untagged)]
pub(super) enum PartItem<'a> {
    Known(KnownPart<'a>),
    /// A part of the API's own, such as `input_file`.
    Verbatim(&'a Object),
}

#[derive(Debug, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum KnownPart<'a> {
    InputText {
        text: &'a str,
    },
    OutputText {
        text: &'a str,
    },
    InputImage {
        image_url: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        detail: Option<&'a str>,
    },
}

/// The whole conversation but its opening system message.
pub(super) fn input<'a>(request: &'a Request, backend: Backend, target: &Target) -> Vec<Item<'a>> {
    let mut writer = Writer {
        items: Vec::with_capacity(request.messages.len() + 8),
        open: Vec::new(),
        replayed: HashSet::new(),
        issuer: (!request.concedes(Concession::EncryptedReasoning)).then(|| backend.issuer(target)),
        named_messages: backend != Backend::GitHub,
        images: !request.concedes(Concession::Images),
        result_parts: !request.concedes(Concession::ToolResultParts),
    };
    for (place, message) in request.messages.iter().enumerate() {
        match message.as_ref() {
            Message::System(_) if place == 0 => {}
            Message::System(system) => writer.say("developer", &system.content),
            Message::User(user) => writer.say("user", &user.content),
            Message::Assistant(assistant) => writer.assistant(assistant),
            Message::Tool(result) => writer.result(result),
        }
    }
    writer.close_calls();
    writer.items
}

struct Writer<'a> {
    items: Vec<Item<'a>>,
    /// Calls that wait for their results.
    open: Vec<OpenCall<'a>>,
    /// Ids of the reasoning items that went out.
    replayed: HashSet<&'a str>,
    /// Whose reasoning goes back; nobody's when replay was refused.
    issuer: Option<String>,
    /// Whether messages keep their ids.
    named_messages: bool,
    images: bool,
    /// Whether results may be more than text.
    result_parts: bool,
}

struct OpenCall<'a> {
    /// How the conversation may name the call.
    names: [&'a str; 2],
    wire_id: String,
}

impl<'a> Writer<'a> {
    fn say(&mut self, role: &'static str, content: &'a Content) {
        self.close_calls();
        let content = words(content, Takes { images: self.images, own_parts: true });
        self.items.push(Item::Said { role, content });
    }

    fn assistant(&mut self, assistant: &'a Assistant) {
        self.close_calls();
        let before = self.items.len();
        self.reasoning(assistant);
        let reasoned = self.items.len() > before;
        let spoke = self.message_items(assistant) || self.plain_text(assistant);
        if reasoned && !spoke && assistant.tool_calls.is_empty() {
            // A reasoning item must not stand alone, but nothing may come between it and the call it led to.
            self.items.push(Item::Said { role: "assistant", content: Words::Text(Cow::Borrowed("")) });
        }
        for (index, call) in assistant.tool_calls.iter().enumerate() {
            self.call(call, index);
        }
    }

    fn reasoning(&mut self, assistant: &'a Assistant) {
        let Some(issuer) = &self.issuer else { return };
        for item in assistant.codex_reasoning_items.iter().flatten() {
            let is_ours = item.get("_issuer_kind").and_then(Value::as_str).is_none_or(|stamp| stamp == issuer);
            let Some(encrypted_content) = text_at(item, "encrypted_content").filter(|_| is_ours) else { continue };
            if text_at(item, "id").is_some_and(|id| !self.replayed.insert(id)) {
                continue;
            }
            let summary = item.get("summary").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
            self.items.push(Item::Typed(Typed::Reasoning { encrypted_content, summary }));
        }
    }

    /// The messages as the model divided them, where that was recorded.
    fn message_items(&mut self, assistant: &'a Assistant) -> bool {
        let before = self.items.len();
        for item in assistant.codex_message_items.iter().flatten() {
            let parts = item.get("content").and_then(Value::as_array).into_iter().flatten();
            let content: Vec<PartItem<'a>> = parts
                .filter_map(|part| text_at(part, "text"))
                .map(|text| PartItem::Known(KnownPart::OutputText { text }))
                .collect();
            if content.is_empty() {
                continue;
            }
            let status = text_at(item, "status").filter(|status| STATUSES.contains(status)).unwrap_or("completed");
            let id = text_at(item, "id").filter(|id| self.named_messages && id.len() <= LONGEST_ID);
            let phase = text_at(item, "phase");
            self.items.push(Item::Typed(Typed::Message { role: "assistant", status, content, id, phase }));
        }
        self.items.len() > before
    }

    fn plain_text(&mut self, assistant: &'a Assistant) -> bool {
        let text = match &assistant.content {
            Some(Content::Text(text)) => Cow::Borrowed(text.as_str()),
            Some(parts @ Content::Parts(_)) => Cow::Owned(parts.text()),
            None => return false,
        };
        if text.is_empty() {
            return false;
        }
        self.items.push(Item::Said { role: "assistant", content: Words::Text(text) });
        true
    }

    fn call(&mut self, call: &'a ToolCall, index: usize) {
        let wire_id = wire_id(call, index);
        if self.open.iter().any(|open| open.wire_id == wire_id) {
            return;
        }
        let name = call.function.name.trim();
        let arguments = call.function.arguments.canonical();
        let name = if name.is_empty() { NAMELESS } else { name };
        self.items.push(Item::Typed(Typed::FunctionCall { call_id: wire_id.clone(), name, arguments }));
        self.open.push(OpenCall { names: [call.id.as_str(), call.pairing_id().as_str()], wire_id });
    }

    /// A result without its call, and a second result, have no place on the wire.
    fn result(&mut self, result: &'a ToolResult) {
        let name = result.tool_call_id.as_str();
        let paired = pairing_part(name).map(|id| bounded_id("call_", &id));
        let names_it = |open: &OpenCall<'_>| open.names.contains(&name) || paired.as_ref() == Some(&open.wire_id);
        let Some(place) = self.open.iter().position(names_it) else { return };
        let call_id = self.open.remove(place).wire_id;
        let takes = Takes { images: self.images && self.result_parts, own_parts: self.result_parts };
        let output = match words(&result.content, takes) {
            Words::Parts(parts) => only_text(&parts).map_or(Words::Parts(parts), |text| Words::Text(Cow::Owned(text))),
            output => output,
        };
        self.items.push(Item::Typed(Typed::FunctionCallOutput { call_id, output }));
    }

    /// Calls that nobody answered before the conversation went on get a placeholder.
    fn close_calls(&mut self) {
        for open in std::mem::take(&mut self.open) {
            let output = Words::Text(Cow::Borrowed(NO_RESULT));
            self.items.push(Item::Typed(Typed::FunctionCallOutput { call_id: open.wire_id, output }));
        }
    }
}

/// What may stand in a list of parts besides text.
#[derive(Debug, Clone, Copy)]
struct Takes {
    images: bool,
    own_parts: bool,
}

/// A list with nothing in it is refused, an empty text is not.
fn words(content: &Content, takes: Takes) -> Words<'_> {
    match content {
        Content::Text(text) => Words::Text(Cow::Borrowed(text)),
        Content::Parts(parts) => {
            let parts: Vec<PartItem<'_>> = parts.iter().filter_map(|part| part_item(part, takes)).collect();
            if parts.is_empty() { Words::Text(Cow::Borrowed("")) } else { Words::Parts(parts) }
        }
    }
}

fn part_item(part: &Part, takes: Takes) -> Option<PartItem<'_>> {
    let kind = part.0.get("type").and_then(Value::as_str).unwrap_or_default();
    let known = match part.view() {
        PartView::Text(text) => KnownPart::InputText { text },
        PartView::Image { url, detail } if takes.images => KnownPart::InputImage { image_url: url, detail },
        PartView::Image { .. } => KnownPart::InputText { text: NO_IMAGE },
        PartView::Other if kind == "input_image" && !takes.images => KnownPart::InputText { text: NO_IMAGE },
        PartView::Other if NOT_SAID.contains(&kind) => return None,
        PartView::Other if takes.own_parts && OWN_PARTS.contains(&kind) => return Some(PartItem::Verbatim(&part.0)),
        PartView::Other => KnownPart::InputText { text: NO_ATTACHMENT },
    };
    Some(PartItem::Known(known))
}

/// The parts as one text; `None` when there is more than text among them.
fn only_text(parts: &[PartItem<'_>]) -> Option<String> {
    let texts: Option<Vec<&str>> = parts
        .iter()
        .map(|part| match part {
            PartItem::Known(KnownPart::InputText { text }) => Some(*text),
            _ => None,
        })
        .collect();
    texts.map(|texts| texts.join("\n"))
}

/// The id that pairs a call with its output: the provider's own where there is one, else one that never moves.
fn wire_id(call: &ToolCall, index: usize) -> String {
    let given = call.call_id.as_ref().map(CallId::as_str).filter(|id| !id.trim().is_empty());
    let id = match given.map(str::to_owned).or_else(|| pairing_part(call.id.as_str())) {
        Some(id) => id,
        None => {
            let function = &call.function;
            CallId::deterministic(&function.name, function.arguments.as_str(), index).as_str().to_owned()
        }
    };
    bounded_id("call_", id.trim())
}

/// The pairing half of `call|item`; an item id (`fc_…`) names its call under another prefix.
fn pairing_part(id: &str) -> Option<String> {
    let id = id.split('|').next().unwrap_or(id).trim();
    if id.is_empty() {
        return None;
    }
    Some(match id.strip_prefix("fc_") {
        Some(rest) => format!("call_{rest}"),
        None => id.to_owned(),
    })
}
