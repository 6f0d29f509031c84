//! The body, the headers and the address of a call.

use super::message::{Rules, WireMessage, bears_marker};
use super::pages::Pages;
use super::reasoning;
use crate::provider::Quirk;
use crate::provider::context::default_output_cap;
use crate::provider::names::{bare, is_family, wire_name};
use crate::wire::cache::{self, Breakpoints};
use crate::wire::copilot;
use crate::wire::schema::{self, Dialect};
use crate::wire::{ApiMode, AuthHeader, Encoded, Target};
use hermes_types::{Concession, Message, Request, ToolChoice, ToolDefinition};
use serde::ser::{Serialize, SerializeSeq, Serializer};
use serde_json::value::RawValue;
use serde_json::{Value, json};

/// Hosts and model families that know the newer name of the output cap only.
const COMPLETION_TOKEN_HOSTS: [&str; 3] = ["api.openai.com", "openai.azure.com", "githubcopilot.com"];
const COMPLETION_TOKEN_MODELS: [&str; 6] = ["gpt-4o", "gpt-4.1", "gpt-5", "o1", "o3", "o4"];

pub fn encode(request: &Request, target: &Target, pages: &mut Pages) -> Encoded {
    let model = wire_name(target.provider, &request.model);
    let rules = Rules::of(request, target, &model);
    let mut body = Body(Vec::with_capacity(16));
    body.set("model", json!(model));
    if !request.tools.is_empty() {
        let patterns = !request.concedes(Concession::SchemaPatterns);
        let tools = Tools { tools: &request.tools, dialect: dialect(target, &model), patterns };
        body.put("tools", Field::Tools(tools));
    }
    let breakpoints = breakpoints(request, target, &rules);
    pages.write(&request.messages, &rules);
    let messages = Messages { messages: &request.messages, rules: &rules, breakpoints, pages };
    body.put("messages", Field::Messages(messages));
    settings(&mut body, request, target, &model);
    identity(&mut body, request, target);
    body.set("stream", json!(true));
    if !request.concedes(Concession::StreamOptions) {
        body.set("stream_options", json!({"include_usage": true}));
    }
    for (key, value) in &target.extra_body {
        body.put(key, Field::Borrowed(value));
    }
    Encoded {
        url: target.join("chat/completions"),
        headers: headers(request, target, &model),
        auth: AuthHeader::Bearer,
        body: body.bytes(),
    }
}

/// The system prompt that opens the conversation bears the mark for the tools too, which stand before it.
fn breakpoints(request: &Request, target: &Target, rules: &Rules) -> Breakpoints {
    let opening = request.messages.first().filter(|message| matches!(***message, Message::System(_)));
    let has_foundation = opening.is_some_and(|message| bears_marker(message, rules));
    let bears = |message: &Message| bears_marker(message, rules);
    Breakpoints::of(request, target, ApiMode::ChatCompletions, has_foundation, bears)
}

/// How much of JSON Schema is understood behind this target. Routes pass schemas on, so the model's family counts too.
fn dialect(target: &Target, model: &str) -> Dialect {
    if is_family(model, "kimi") || is_family(model, "moonshot") {
        Dialect::Moonshot
    } else if target.provider.has(Quirk::GoogleSchemas) || is_family(model, "gemini") {
        Dialect::Gemini
    } else {
        Dialect::Whole
    }
}

/// What the person may turn: choice of tools, length, temperature, tier, reasoning.
fn settings(body: &mut Body<'_>, request: &Request, target: &Target, model: &str) {
    match &request.tool_choice {
        _ if request.tools.is_empty() => {}
        ToolChoice::Auto => {}
        ToolChoice::Required => body.set("tool_choice", json!("required")),
        ToolChoice::Forbidden => body.set("tool_choice", json!("none")),
        ToolChoice::Named(name) => {
            body.set("tool_choice", json!({"type": "function", "function": {"name": name}}));
        }
    }
    if let Some(cap) = output_cap(request, target, model) {
        body.set(cap_name(target, model), json!(cap));
    }
    let temperature = request
        .temperature
        .filter(|_| !request.concedes(Concession::Temperature) && !target.provider.has(Quirk::NoTemperature));
    if let Some(temperature) = temperature {
        body.set("temperature", json!(temperature));
    }
    if let Some(tier) = &request.service_tier {
        body.set("service_tier", json!(tier));
    }
    if !request.concedes(Concession::ReasoningEffort) {
        for (key, value) in reasoning::fields(target.provider.reasoning, request.reasoning, model) {
            body.set(key, value);
        }
    }
}

/// What tells the vendor which conversation this is, and which others it is like.
fn identity(body: &mut Body<'_>, request: &Request, target: &Target) {
    if cache::takes_key(target)
        && let Some(key) = cache_key(request)
    {
        body.set("prompt_cache_key", json!(key));
    }
    if target.provider.has(Quirk::SessionInBody)
        && let Some(session) = &request.session
    {
        body.set("session_id", json!(session));
    }
    if target.provider.has(Quirk::NousTags) {
        let mut tags =
            vec!["product=hermes-agent".to_owned(), format!("client=hermes-client-v{}", env!("CARGO_PKG_VERSION"))];
        tags.extend(request.session.iter().map(|session| format!("conversation={session}")));
        body.set("tags", json!(tags));
    }
}

fn cache_key(request: &Request) -> Option<String> {
    let system = match request.messages.first().map(AsRef::as_ref) {
        Some(Message::System(system)) => system.content.text(),
        _ => String::new(),
    };
    cache::key(request, &system, &request.tools, |tool| Some(tool.name.as_str()))
}

fn headers(request: &Request, target: &Target, model: &str) -> Vec<(&'static str, String)> {
    let mut headers: Vec<(&'static str, String)> = target.vendor_headers();
    let is_routed_grok = ["x-ai/grok-", "xai/grok-"].iter().any(|prefix| model.starts_with(prefix));
    if target.provider.has(Quirk::SessionInBody)
        && is_routed_grok
        && let Some(session) = &request.session
    {
        headers.push(("x-grok-conv-id", session.to_string()));
    }
    headers.extend(copilot::headers(request, target));
    headers
}

fn output_cap(request: &Request, target: &Target, model: &str) -> Option<u32> {
    if request.concedes(Concession::MaxTokens) || target.provider.has(Quirk::NoMaxTokens) {
        return None;
    }
    request.max_output_tokens.or_else(|| default_output_cap(target.provider, model))
}

fn cap_name(target: &Target, model: &str) -> &'static str {
    let model = bare(model);
    let newer = COMPLETION_TOKEN_HOSTS.iter().any(|host| target.host_is(host))
        || COMPLETION_TOKEN_MODELS.iter().any(|family| model.starts_with(family));
    if newer { "max_completion_tokens" } else { "max_tokens" }
}

/// The fields of the body in their order. Messages and tools are written straight from the request: an image of ten
/// megabytes is copied once, into the bytes that are sent.
struct Body<'a>(Vec<(&'a str, Field<'a>)>);

enum Field<'a> {
    Owned(Value),
    Borrowed(&'a Value),
    Messages(Messages<'a>),
    Tools(Tools<'a>),
}

struct Messages<'a> {
    messages: &'a [std::sync::Arc<Message>],
    rules: &'a Rules,
    breakpoints: Breakpoints,
    pages: &'a Pages,
}

struct Tools<'a> {
    tools: &'a [ToolDefinition],
    dialect: Dialect,
    /// `pattern` and `format` may stay.
    patterns: bool,
}

impl<'a> Body<'a> {
    fn set(&mut self, key: &'a str, value: Value) {
        self.put(key, Field::Owned(value));
    }

    /// A field that is there already keeps its place and changes its value.
    fn put(&mut self, key: &'a str, field: Field<'a>) {
        match self.0.iter_mut().find(|(known, _)| *known == key) {
            Some((_, old)) => *old = field,
            None => self.0.push((key, field)),
        }
    }

    #[expect(clippy::expect_used, reason = "string keys and plain values written into memory leave nothing to fail")]
    fn bytes(&self) -> Vec<u8> {
        serde_json::to_vec(self).expect("a body is always JSON")
    }
}

impl Serialize for Body<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(key, field)| (key, field)))
    }
}

impl Serialize for Field<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Owned(value) => value.serialize(serializer),
            Self::Borrowed(value) => value.serialize(serializer),
            Self::Messages(messages) => messages.serialize(serializer),
            Self::Tools(tools) => tools.serialize(serializer),
        }
    }
}

/// A message in the body.
#[derive(serde::Serialize)]
#[serde(untagged)]
enum Piece<'a> {
    Written(&'a RawValue),
    New(WireMessage<'a>),
}

impl Serialize for Messages<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self { messages, rules, breakpoints, pages } = self;
        serializer.collect_seq(messages.iter().enumerate().map(|(place, message)| {
            let foundation = breakpoints.foundation().filter(|_| place == 0);
            let marker = foundation.or_else(|| breakpoints.at(place));
            match pages.at(place).filter(|_| marker.is_none()) {
                Some(written) => Piece::Written(written),
                None => Piece::New(WireMessage { message, rules, marker }),
            }
        }))
    }
}

impl Serialize for Tools<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(serde::Serialize)]
        struct Wire<'a> {
            r#type: &'static str,
            function: WireFunction<'a>,
        }
        #[derive(serde::Serialize)]
        struct WireFunction<'a> {
            name: &'a str,
            description: &'a str,
            parameters: &'a Value,
        }
        let mut list = serializer.serialize_seq(Some(self.tools.len()))?;
        for tool in self.tools {
            let parameters = schema::adapt(&tool.parameters, self.dialect, self.patterns);
            let function = WireFunction { name: &tool.name, description: &tool.description, parameters: &parameters };
            list.serialize_element(&Wire { r#type: "function", function })?;
        }
        list.end()
    }
}
