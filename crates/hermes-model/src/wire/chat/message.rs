//! One message on the wire: what a chat server may see, and nothing else.
//!
//! Messages carry state of other protocols, of other vendors and of this program. All of it stays at home unless the
//! receiver asked for it. What is written depends on the message and on [`Rules`] that hold for the whole request, never
//! on the place of the message. A cache marker alone depends on it; text that is marked is written as a part, because only
//! a part can bear one, and servers read both forms as the same words.

use super::{OPAQUE, STATE};
use crate::provider::Quirk;
use crate::provider::names::is_family;
use crate::wire::Target;
use crate::wire::cache::{self, Marker};
use hermes_types::{
    Assistant, CallId, Concession, Content, Message, Object, Part, PartView, Plain, Request, ToolCall, ToolResult,
};
use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use std::borrow::Cow;

const IMAGE_LEFT_OUT: &str = "[image left out: the model cannot see images]";
const PART_LEFT_OUT: &str = "[attachment left out: the model reads only text here]";

/// A field beyond our own that chat servers know.
const NAME: &str = "name";

/// What stands where reasoning is demanded and there is none to give: blank, because empty counts as missing.
const NO_REASONING: &str = " ";

/// Google documents this word for calls that another model made.
const FOREIGN_CALL: &str = "skip_thought_signature_validator";

/// Who demands reasoning back, besides the rows that say so.
const ECHO_HOSTS: [&str; 5] = ["api.deepseek.com", "api.kimi.com", "moonshot.ai", "moonshot.cn", "api.xiaomimimo.com"];
const ECHO_FAMILIES: [&str; 2] = ["deepseek", "mimo"];

/// What holds for every message of one request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Rules {
    system_role: &'static str,
    signatures: Signatures,
    details: bool,
    opaque: bool,
    echo: bool,
    images: bool,
    list_results: bool,
    nine_character_ids: bool,
}

/// What becomes of the vendor state of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Signatures {
    Drop,
    Keep,
    /// A call without one is refused.
    Demand,
    /// The same, but those at hand were refused too.
    Replace,
}

impl Signatures {
    /// What came with a message or a call is sent back as it is.
    fn go_back(self) -> bool {
        matches!(self, Self::Keep | Self::Demand)
    }
}

impl Rules {
    pub(super) fn of(request: &Request, target: &Target, model: &str) -> Self {
        let provider = target.provider;
        let name = model.to_ascii_lowercase();
        let echo = provider.has(Quirk::EchoReasoning)
            || ECHO_HOSTS.iter().any(|host| target.host_is(host))
            || (!provider.has(Quirk::StrictMessages) && ECHO_FAMILIES.iter().any(|family| name.contains(family)));
        let refused = request.concedes(Concession::Signatures);
        let signatures = match () {
            () if !name.contains("gemini") && !name.contains("gemma") => Signatures::Drop,
            () if provider.has(Quirk::ThoughtSignatures) && demands_signatures(&name) => {
                if refused {
                    Signatures::Replace
                } else {
                    Signatures::Demand
                }
            }
            () if refused => Signatures::Drop,
            () => Signatures::Keep,
        };
        Self {
            system_role: if name.contains("gpt-5") || name.contains("codex") { "developer" } else { "system" },
            signatures,
            details: provider.has(Quirk::TakesReasoningDetails) && !refused,
            opaque: provider.has(Quirk::TakesReasoningOpaque) && !refused,
            echo,
            images: !request.concedes(Concession::Images),
            list_results: !provider.has(Quirk::TextToolResults) && !request.concedes(Concession::ToolResultParts),
            nine_character_ids: provider.has(Quirk::NineCharacterIds),
        }
    }

    fn call_id<'a>(&self, id: &'a CallId) -> Cow<'a, str> {
        let id = id.as_str();
        let fits = id.len() == 9 && id.bytes().all(|byte| byte.is_ascii_alphanumeric());
        if !self.nine_character_ids || fits {
            return Cow::Borrowed(id);
        }
        let mut short = hex::encode(Sha256::digest(id));
        short.truncate(9);
        Cow::Owned(short)
    }
}

/// Signatures are checked from the third generation on.
fn demands_signatures(model: &str) -> bool {
    !["gemini-1", "gemini-2"].iter().any(|older| is_family(model, older)) && model.contains("gemini")
}

pub(super) struct WireMessage<'a> {
    pub(super) message: &'a Message,
    pub(super) rules: &'a Rules,
    /// Only for a message that [`bears_marker`].
    pub(super) marker: Option<Marker>,
}

/// Whether something is written of a message that a cache marker can sit on: text that is not blank.
pub(super) fn bears_marker(message: &Message, rules: &Rules) -> bool {
    // A result that has to be a plain text cannot have parts.
    let is_plain = matches!(message, Message::Tool(_)) && !rules.list_results;
    !is_plain
        && message.content().is_some_and(|content| match content {
            Content::Text(text) => !text.trim().is_empty(),
            Content::Parts(parts) => parts.iter().any(|part| is_words(part, rules.images)),
        })
}

/// A part that is written as text, and not as blank text.
fn is_words(part: &Part, images: bool) -> bool {
    match part.view() {
        PartView::Text(text) => !text.trim().is_empty(),
        PartView::Image { .. } => !images,
        PartView::Other => false,
    }
}

impl Serialize for WireMessage<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        match self.message {
            Message::System(plain) => self.plain(&mut map, self.rules.system_role, plain)?,
            Message::User(plain) => self.plain(&mut map, "user", plain)?,
            Message::Assistant(assistant) => self.assistant(&mut map, assistant)?,
            Message::Tool(result) => self.result(&mut map, result)?,
        }
        map.end()
    }
}

impl WireMessage<'_> {
    fn plain<M: SerializeMap>(&self, map: &mut M, role: &str, plain: &Plain) -> Result<(), M::Error> {
        map.serialize_entry("role", role)?;
        map.serialize_entry("content", &self.content(&plain.content))?;
        name(map, &plain.extra)
    }

    fn content<'a>(&self, content: &'a Content) -> WireContent<'a> {
        WireContent { content, images: self.rules.images, marker: self.marker }
    }

    fn assistant<M: SerializeMap>(&self, map: &mut M, message: &Assistant) -> Result<(), M::Error> {
        map.serialize_entry("role", "assistant")?;
        match &message.content {
            Some(content) => map.serialize_entry("content", &self.content(content))?,
            // Null is allowed beside calls only.
            None if message.tool_calls.is_empty() => map.serialize_entry("content", "")?,
            None => map.serialize_entry("content", &Value::Null)?,
        }
        if self.rules.echo {
            map.serialize_entry("reasoning_content", echoed(message))?;
        }
        if self.rules.details
            && let Some(details) = message.reasoning_details.as_deref().filter(|details| are_portable(details))
        {
            map.serialize_entry("reasoning_details", details)?;
        }
        self.sealed(map, message)?;
        if !message.tool_calls.is_empty() {
            let calls: Vec<WireCall<'_>> = message
                .tool_calls
                .iter()
                .enumerate()
                .map(|(at, call)| WireCall { call, rules: self.rules, opens: at == 0 })
                .collect();
            map.serialize_entry("tool_calls", &calls)?;
        }
        name(map, &message.extra)
    }

    /// State of the message as a whole that goes back to the vendor it came from.
    fn sealed<M: SerializeMap>(&self, map: &mut M, message: &Assistant) -> Result<(), M::Error> {
        if let Some(seal) = message.extra.get(OPAQUE).filter(|_| self.rules.opaque) {
            if let Some(text) = &message.reasoning {
                map.serialize_entry("reasoning_text", text)?;
            }
            map.serialize_entry(OPAQUE, seal)?;
        }
        match message.extra.get(STATE) {
            Some(state) if self.rules.signatures.go_back() => map.serialize_entry(STATE, state),
            _ => Ok(()),
        }
    }

    fn result<M: SerializeMap>(&self, map: &mut M, result: &ToolResult) -> Result<(), M::Error> {
        map.serialize_entry("role", "tool")?;
        map.serialize_entry("tool_call_id", &self.rules.call_id(&result.tool_call_id))?;
        if let Some(name) = &result.name {
            map.serialize_entry("name", name)?;
        }
        match &result.content {
            Content::Parts(parts) if !self.rules.list_results => map.serialize_entry("content", &flattened(parts))?,
            content => map.serialize_entry("content", &self.content(content))?,
        }
        name(map, &result.extra)
    }
}

fn name<M: SerializeMap>(map: &mut M, extra: &Object) -> Result<(), M::Error> {
    extra.get(NAME).map_or(Ok(()), |name| map.serialize_entry(NAME, name))
}

/// The reasoning a demanding provider gets back: its own words. Beside calls, words of another provider stay private.
fn echoed(message: &Assistant) -> &str {
    let own = message.reasoning_content.as_deref();
    let borrowed = message.reasoning.as_deref().filter(|_| own.is_none() && message.tool_calls.is_empty());
    own.or(borrowed).filter(|text| !text.is_empty()).unwrap_or(NO_REASONING)
}

/// Details in the aggregators' own shape; thinking blocks of other protocols are not theirs to read.
fn are_portable(details: &[Value]) -> bool {
    let is_portable =
        |detail: &Value| detail.get("type").and_then(Value::as_str).is_some_and(|kind| kind.starts_with("reasoning."));
    !details.is_empty() && details.iter().all(is_portable)
}

/// List content as text, for providers that take only that.
fn flattened(parts: &[Part]) -> String {
    let lines: Vec<&str> = parts
        .iter()
        .map(|part| match part.view() {
            PartView::Text(text) => text,
            PartView::Image { .. } => IMAGE_LEFT_OUT,
            PartView::Other => PART_LEFT_OUT,
        })
        .collect();
    lines.join("\n")
}

struct WireContent<'a> {
    content: &'a Content,
    images: bool,
    marker: Option<Marker>,
}

impl Serialize for WireContent<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.content {
            Content::Text(text) if self.marker.is_none() => serializer.serialize_str(text),
            Content::Text(text) => serializer.collect_seq([TextPart { text, marker: self.marker }]),
            Content::Parts(parts) => {
                let bearer =
                    parts.iter().rposition(|part| is_words(part, self.images)).filter(|_| self.marker.is_some());
                let spoken = parts.iter().enumerate().filter(|(_, part)| !is_thinking(part));
                serializer.collect_seq(spoken.map(|(at, part)| {
                    let marker = self.marker.filter(|_| bearer == Some(at));
                    WirePart { part, images: self.images, marker }
                }))
            }
        }
    }
}

/// Thinking blocks of the Messages API, which may stand in content written by other programs.
fn is_thinking(part: &Part) -> bool {
    matches!(part.0.get("type").and_then(Value::as_str), Some("thinking" | "redacted_thinking"))
}

struct WirePart<'a> {
    part: &'a Part,
    images: bool,
    marker: Option<Marker>,
}

impl Serialize for WirePart<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let kind = self.part.0.get("type").and_then(Value::as_str);
        match self.part.view() {
            PartView::Image { .. } if !self.images => {
                TextPart { text: IMAGE_LEFT_OUT, marker: self.marker }.serialize(serializer)
            }
            // Parts of the Responses API say the same in other words.
            PartView::Text(text) if kind != Some("text") => {
                TextPart { text, marker: self.marker }.serialize(serializer)
            }
            PartView::Image { url, detail } if kind != Some("image_url") => {
                #[derive(serde::Serialize)]
                struct Image<'a> {
                    url: &'a str,
                    #[serde(skip_serializing_if = "Option::is_none")]
                    detail: Option<&'a str>,
                }
                let mut map = serializer.serialize_map(Some(2))?;
                map.serialize_entry("type", "image_url")?;
                map.serialize_entry("image_url", &Image { url, detail })?;
                map.end()
            }
            _ => {
                let mut map = serializer.serialize_map(None)?;
                // A marker that somebody else left there would be one too many.
                for (key, value) in self.part.0.iter().filter(|(key, _)| *key != cache::FIELD) {
                    map.serialize_entry(key, value)?;
                }
                if let Some(marker) = self.marker {
                    map.serialize_entry(cache::FIELD, &marker)?;
                }
                map.end()
            }
        }
    }
}

/// Text as a part.
struct TextPart<'a> {
    text: &'a str,
    marker: Option<Marker>,
}

impl Serialize for TextPart<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("type", "text")?;
        map.serialize_entry("text", self.text)?;
        if let Some(marker) = self.marker {
            map.serialize_entry(cache::FIELD, &marker)?;
        }
        map.end()
    }
}

struct WireCall<'a> {
    call: &'a ToolCall,
    rules: &'a Rules,
    /// The first call of its message.
    opens: bool,
}

impl Serialize for WireCall<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(serde::Serialize)]
        struct Function<'a> {
            name: &'a str,
            arguments: &'a str,
        }
        let function = &self.call.function;
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("id", &self.rules.call_id(self.call.pairing_id()))?;
        map.serialize_entry("type", &self.call.kind)?;
        let function = Function { name: &function.name, arguments: function.arguments.canonical() };
        map.serialize_entry("function", &function)?;
        match (&self.call.extra_content, self.rules.signatures) {
            (Some(state), signatures) if signatures.go_back() => map.serialize_entry(STATE, state)?,
            (_, Signatures::Demand | Signatures::Replace) if self.opens => {
                map.serialize_entry(STATE, &json!({"google": {"thought_signature": FOREIGN_CALL}}))?;
            }
            _ => {}
        }
        map.end()
    }
}
