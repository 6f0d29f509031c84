//! Writes the body: a few settings first, then what the prompt cache reads (tools, system, messages).

use super::super::{ApiMode, Encoded, Target};
use super::effort::Thinking;
use super::endpoint::{self, Extras, Vendor};
use super::model::{self, Cap, Generation};
use super::thinking::Policy;
use super::translate::{self, Accepts, Side, Turn};
use super::{arrange, blocks};
use crate::provider::Quirk;
use crate::provider::names::{is_family, wire_name};
use crate::wire::cache::{Breakpoints, Marker};
use crate::wire::schema::{self, Dialect};
use hermes_types::{Concession, Object, Request, ToolChoice};
use serde::Serialize;
use serde::ser::{SerializeMap, SerializeStruct, Serializer};
use serde_json::{Value, json};
use std::borrow::Cow;
use std::collections::HashSet;

/// A request in the Messages protocol, as `target` wants it.
pub fn encode(request: &Request, target: &Target) -> Encoded {
    let vendor = Vendor::of(target, &request.model);
    let fast = is_fast(request, vendor);
    let accepts = Accepts {
        images: vendor.sees(target) && !request.concedes(Concession::Images),
        result_blocks: !request.concedes(Concession::ToolResultParts) && !target.provider.has(Quirk::TextToolResults),
        signatures: !request.concedes(Concession::Signatures),
    };
    let (mut tools, system) = (tools(request), translate::system(&request.messages));
    let has_foundation = system.is_some() || !tools.is_empty();
    // Every message is written with a block that can be marked.
    let breakpoints = Breakpoints::of(request, target, ApiMode::AnthropicMessages, has_foundation, |_| true);
    // Tools come before the system prompt, so a mark behind the prompt holds both.
    if let Some(last) = tools.last_mut().filter(|_| system.is_none()) {
        last.cache_control = breakpoints.foundation();
    }
    let policy = Policy::of(vendor, &request.model);
    let body = Body {
        settings: settings(request, target, vendor, fast),
        tools,
        system: system.map(|text| written(text, breakpoints.foundation())),
        messages: arrange::conversation(&request.messages, accepts, policy, &breakpoints),
    };
    let extras = Extras { long_context: !request.concedes(Concession::LongContext), fast };
    Encoded {
        url: endpoint::url(target),
        headers: endpoint::headers(request, target, vendor, extras),
        auth: endpoint::auth(target, vendor),
        // Strings, numbers and lists under string keys always have a JSON form.
        body: serde_json::to_vec(&body).unwrap_or_default(),
    }
}

/// The system prompt: plain text, or a list when a mark has to sit somewhere.
fn written(system: Cow<'_, str>, marker: Option<Marker>) -> blocks::Output<'_> {
    match marker {
        None => blocks::Output::Text(system),
        marker => blocks::Output::Blocks(vec![blocks::Block::text(system).marked(marker)]),
    }
}

struct Body<'a> {
    settings: Object,
    tools: Vec<Tool<'a>>,
    system: Option<blocks::Output<'a>>,
    messages: Vec<Turn<'a>>,
}

/// What the person adds to every body is part of the settings and takes the place of anything of the same name.
impl Serialize for Body<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let ours = |key: &str| !self.settings.contains_key(key);
        let mut map = serializer.serialize_map(None)?;
        for (key, value) in &self.settings {
            map.serialize_entry(key, value)?;
        }
        if !self.tools.is_empty() && ours("tools") {
            map.serialize_entry("tools", &self.tools)?;
        }
        if let Some(system) = self.system.as_ref().filter(|_| ours("system")) {
            map.serialize_entry("system", system)?;
        }
        if ours("messages") {
            map.serialize_entry("messages", &self.messages)?;
        }
        map.end()
    }
}

impl Serialize for Turn<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let role = if self.side == Side::Assistant { "assistant" } else { "user" };
        let mut turn = serializer.serialize_struct("message", 2)?;
        turn.serialize_field("role", role)?;
        turn.serialize_field("content", &self.blocks)?;
        turn.end()
    }
}

fn settings(request: &Request, target: &Target, vendor: Vendor, fast: bool) -> Object {
    let generation = model::generation(&request.model);
    let (thinking, max_tokens) = thinking(request, vendor, generation).fit(Cap::of(request, target.provider));

    let mut settings = Object::new();
    let mut set = |key: &str, value: Value| settings.insert(key.to_owned(), value);
    set("model", wire_name(target.provider, &request.model).into());
    set("max_tokens", max_tokens.into());
    set("stream", true.into());
    for (key, value) in thinking.fields() {
        set(key, value);
    }
    if let Some(temperature) = temperature(request, target, thinking, generation) {
        set("temperature", temperature);
    }
    if fast {
        set("speed", "fast".into());
    }
    if let Some(choice) = tool_choice(request) {
        set("tool_choice", choice);
    }
    settings.extend(target.extra_body.clone());
    settings
}

fn thinking(request: &Request, vendor: Vendor, generation: Generation) -> Thinking {
    // The protocol refuses thinking together with a forced call.
    let forced =
        matches!(request.tool_choice, ToolChoice::Required | ToolChoice::Named(_)) && !request.tools.is_empty();
    if forced || request.concedes(Concession::ReasoningEffort) {
        return Thinking::Unset;
    }
    Thinking::of(request.reasoning, &request.model, generation, vendor)
}

/// Thinking models sample as they like; with a budget the protocol wants to hear exactly 1.
fn temperature(request: &Request, target: &Target, thinking: Thinking, generation: Generation) -> Option<Value> {
    let refused = request.concedes(Concession::Temperature) || target.provider.has(Quirk::NoTemperature);
    match thinking {
        _ if refused || generation == Generation::Later => None,
        Thinking::Adaptive(_) => None,
        Thinking::Budget(_) => Some(1.into()),
        Thinking::Unset => request.temperature.filter(|value| value.is_finite()).map(Value::from),
    }
}

/// Faster output for more money, where it exists: Opus 4.6 at Anthropic itself.
fn is_fast(request: &Request, vendor: Vendor) -> bool {
    let asked = matches!(request.service_tier.as_deref(), Some("fast" | "priority"));
    let opus = request.model.to_ascii_lowercase().contains("opus");
    asked && opus && vendor == Vendor::Anthropic && model::generation(&request.model) == Generation::Adaptive
}

fn tools(request: &Request) -> Vec<Tool<'_>> {
    let patterns = !request.concedes(Concession::SchemaPatterns);
    let is_moonshot = is_family(&request.model, "kimi") || is_family(&request.model, "moonshot");
    let dialect = if is_moonshot { Dialect::Moonshot } else { Dialect::Anthropic };
    let mut seen = HashSet::new();
    // Of two tools with one name the first holds.
    let fresh = request.tools.iter().filter(|tool| seen.insert(tool.name.as_str()));
    fresh
        .map(|tool| Tool {
            name: &tool.name,
            description: &tool.description,
            input_schema: schema::adapt(&tool.parameters, dialect, patterns),
            cache_control: None,
        })
        .collect()
}

#[derive(Serialize)]
struct Tool<'a> {
    name: &'a str,
    description: &'a str,
    input_schema: Cow<'a, Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cache_control: Option<Marker>,
}

fn tool_choice(request: &Request) -> Option<Value> {
    if request.tools.is_empty() {
        return None;
    }
    match &request.tool_choice {
        ToolChoice::Auto => Some(json!({"type": "auto"})),
        ToolChoice::Required => Some(json!({"type": "any"})),
        ToolChoice::Named(name) => Some(json!({"type": "tool", "name": name})),
        // The tools stay: the cache begins with them, and calls in the history are refused without them.
        ToolChoice::Forbidden => Some(json!({"type": "none"})),
    }
}
