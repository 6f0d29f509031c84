//! The request: body, headers and address.

use super::items::{self, Item};
use super::{Backend, bounded_id, text_at, tools};
use crate::provider::Quirk;
use crate::provider::effort::openai_effort;
use crate::provider::names::wire_name;
use crate::wire::{AuthHeader, Encoded, Target, cache, copilot};
use hermes_types::{Concession, Effort, Message, Object, Reasoning, Request};
use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::{Value, json};

/// The API refuses a request without instructions.
const DEFAULT_INSTRUCTIONS: &str = "You are a helpful assistant.";
const ENCRYPTED_REASONING: &str = "reasoning.encrypted_content";

/// The Grok models that take an effort; the others reason as they like.
const GROK_WITH_EFFORT: [&str; 4] = ["grok-3-mini", "grok-4.20-multi-agent", "grok-4.3", "grok-4.5"];

/// Writes a request for a Responses endpoint.
pub fn encode(request: &Request, target: &Target) -> Encoded {
    let backend = Backend::of(target);
    let body = Body { head: head(request, target, backend), input: items::input(request, backend, target) };
    Encoded {
        url: target.join("responses"),
        headers: headers(request, target, backend),
        auth: AuthHeader::Bearer,
        // Maps with text keys and finite depth always have a JSON form.
        body: serde_json::to_vec(&body).unwrap_or_default(),
    }
}

/// `head` first: what stays the same from request to request must not stand behind what grows.
struct Body<'a> {
    head: Object,
    input: Vec<Item<'a>>,
}

impl Serialize for Body<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        for (key, value) in &self.head {
            map.serialize_entry(key, value)?;
        }
        if !self.head.contains_key("input") {
            map.serialize_entry("input", &self.input)?;
        }
        map.end()
    }
}

/// Every field but the input, in the order it is sent.
fn head(request: &Request, target: &Target, backend: Backend) -> Object {
    let system = instructions(request);
    let definitions = tools::definitions(request, backend);
    let cache_key = cache_key(request, backend, &system, &definitions);
    let mut head = Object::new();
    let mut set = |key: &str, value: Value| {
        if !value.is_null() {
            head.insert(key.to_owned(), value);
        }
    };
    set("model", json!(wire_name(target.provider, &request.model)));
    set("instructions", if system.trim().is_empty() { json!(DEFAULT_INSTRUCTIONS) } else { json!(system) });
    if !definitions.is_empty() {
        set("tools", Value::Array(definitions));
        set("tool_choice", tools::choice(&request.tool_choice, backend));
        set("parallel_tool_calls", json!(true));
    }
    set("store", json!(false));
    set("stream", json!(true));
    set("reasoning", reasoning(request, backend));
    set("include", include(request, backend));
    set("prompt_cache_key", json!(cache_key));
    if backend != Backend::Xai {
        set("service_tier", json!(request.service_tier));
    }
    if backend != Backend::Codex && !target.provider.has(Quirk::NoMaxTokens) && !request.concedes(Concession::MaxTokens)
    {
        set("max_output_tokens", json!(request.max_output_tokens));
    }
    if !target.provider.has(Quirk::NoTemperature) && !request.concedes(Concession::Temperature) {
        set("temperature", json!(request.temperature));
    }
    head.extend(target.extra_body.clone());
    head
}

/// The text of the system message that opens the conversation.
fn instructions(request: &Request) -> String {
    match request.messages.first().map(AsRef::as_ref) {
        Some(Message::System(system)) => system.content.text(),
        _ => String::new(),
    }
}

/// `null` leaves the field out. These endpoints are told an effort even when the person named none, because only then do
/// they summarise what they thought.
fn reasoning(request: &Request, backend: Backend) -> Value {
    if request.concedes(Concession::ReasoningEffort) {
        return Value::Null;
    }
    let usual = Reasoning::Effort(Effort::Medium);
    let wanted = request.reasoning.filter(|wanted| *wanted != Reasoning::On).unwrap_or(usual);
    match backend {
        Backend::Codex | Backend::Other => match openai_effort(&request.model, wanted) {
            None => Value::Null,
            Some(effort) if wanted == Reasoning::Off => json!({"effort": effort}),
            Some(effort) => json!({"effort": effort, "summary": "auto"}),
        },
        // What the catalogue of the endpoint allows is not known here, so only an explicit wish is passed on.
        Backend::Xai if begins_with_any(&request.model, &GROK_WITH_EFFORT) => {
            explicit(request).map_or(Value::Null, |effort| json!({"effort": effort}))
        }
        Backend::Xai => Value::Null,
        Backend::GitHub => explicit(request).map_or(Value::Null, |effort| json!({"effort": effort, "summary": "auto"})),
    }
}

fn explicit(request: &Request) -> Option<&'static str> {
    let effort = request.reasoning.and_then(Reasoning::effort)?;
    Some(effort.clamp(Effort::Low, Effort::High).as_str())
}

/// The list is sent even when empty: it says that no reasoning is wanted back.
fn include(request: &Request, backend: Backend) -> Value {
    let off = request.reasoning == Some(Reasoning::Off) || request.concedes(Concession::EncryptedReasoning);
    let reasons = backend == Backend::Xai || openai_effort(&request.model, Reasoning::Effort(Effort::Medium)).is_some();
    match backend {
        Backend::GitHub => Value::Null,
        _ if off || !reasons => json!([]),
        _ => json!([ENCRYPTED_REASONING]),
    }
}

fn begins_with_any(model: &str, prefixes: &[&str]) -> bool {
    let name = model.rsplit('/').next().unwrap_or(model).to_ascii_lowercase();
    prefixes.iter().any(|prefix| name.starts_with(prefix))
}

fn cache_key(request: &Request, backend: Backend, system: &str, definitions: &[Value]) -> Option<String> {
    if backend == Backend::GitHub {
        return None;
    }
    cache::key(request, system, definitions, |definition| text_at(definition, "name"))
}

fn headers(request: &Request, target: &Target, backend: Backend) -> Vec<(&'static str, String)> {
    let session = request.session.as_ref().map(|session| bounded_id("sid_", session.as_str()));
    let mut headers = target.vendor_headers();
    match backend {
        Backend::Codex => {
            headers.push(("originator", "hermes".to_owned()));
            if let Some(session) = session {
                headers.push(("session_id", session.clone()));
                headers.push(("x-client-request-id", session));
            }
        }
        Backend::Xai => headers.extend(session.map(|session| ("x-grok-conv-id", session))),
        Backend::GitHub | Backend::Other => {}
    }
    headers.extend(copilot::headers(request, target));
    headers
}
