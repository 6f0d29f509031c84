//! Events as bytes, and what the three renderers share.

use crate::say::{Call, Say};
use crate::script::Framing;
use bytes::Bytes;
use serde_json::{Value, json};

/// Which protocol a request speaks, told by the end of its path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Protocol {
    Chat,
    Responses,
    Anthropic,
}

impl Protocol {
    pub(crate) fn of(path: &str) -> Option<Self> {
        let table =
            [("/chat/completions", Self::Chat), ("/responses", Self::Responses), ("/v1/messages", Self::Anthropic)];
        table.into_iter().find(|(suffix, _)| path.ends_with(suffix)).map(|(_, protocol)| protocol)
    }

    pub(crate) fn stream(self, say: &Say, cue: &Cue) -> Vec<SseEvent> {
        match self {
            Self::Chat => crate::render_chat::stream(say, cue),
            Self::Responses => crate::render_responses::stream(say, cue),
            Self::Anthropic => crate::render_anthropic::stream(say, cue),
        }
    }

    pub(crate) fn whole(self, say: &Say, cue: &Cue) -> Value {
        match self {
            Self::Chat => crate::render_chat::whole(say, cue),
            Self::Responses => crate::render_responses::whole(say, cue),
            Self::Anthropic => crate::render_anthropic::whole(say, cue),
        }
    }

    /// An error the vendor announces inside a stream, behind so many events.
    pub(crate) fn failure(self, cue: &Cue, after: usize, code: &str, message: &str) -> SseEvent {
        match self {
            Self::Chat => SseEvent::data(&json!({"error": openai_error(code, message)})),
            Self::Responses => crate::render_responses::failure(cue, after, code, message),
            Self::Anthropic => SseEvent::named("error", &anthropic_error(code, message)),
        }
    }

    /// The usual body of an HTTP error.
    pub(crate) fn error_body(self, status: u16) -> Value {
        let message = format!("scripted status {status}");
        match self {
            Self::Chat | Self::Responses => json!({"error": openai_error(openai_error_type(status), &message)}),
            Self::Anthropic => anthropic_error(anthropic_error_type(status), &message),
        }
    }
}

fn openai_error(code: &str, message: &str) -> Value {
    json!({"message": message, "type": code, "param": null, "code": code})
}

fn anthropic_error(kind: &str, message: &str) -> Value {
    json!({"type": "error", "error": {"type": kind, "message": message}})
}

fn openai_error_type(status: u16) -> &'static str {
    match status {
        401 => "invalid_api_key",
        402 => "insufficient_quota",
        404 => "model_not_found",
        429 => "rate_limit_exceeded",
        400..=499 => "invalid_request_error",
        _ => "server_error",
    }
}

fn anthropic_error_type(status: u16) -> &'static str {
    match status {
        401 => "authentication_error",
        402 => "billing_error",
        403 => "permission_error",
        404 => "not_found_error",
        413 => "request_too_large",
        429 => "rate_limit_error",
        529 => "overloaded_error",
        400..=499 => "invalid_request_error",
        _ => "api_error",
    }
}

/// What of the request shows in the answer.
#[derive(Debug, Clone)]
pub(crate) struct Cue {
    /// The place of the move in the script, from 1: it makes the ids of an answer unique.
    pub(crate) number: usize,
    pub(crate) model: String,
    /// The client asked for a usage chunk.
    pub(crate) include_usage: bool,
    /// The client asked for encrypted reasoning.
    pub(crate) include_encrypted: bool,
}

impl Cue {
    pub(crate) fn of(number: usize, body: &Value) -> Self {
        let included = body["include"].as_array().into_iter().flatten();
        Self {
            number,
            model: body["model"].as_str().unwrap_or("unnamed-model").to_owned(),
            include_usage: body["stream_options"]["include_usage"] == true,
            include_encrypted: included.into_iter().any(|item| item == "reasoning.encrypted_content"),
        }
    }

    pub(crate) fn model_for<'a>(&'a self, say: &'a Say) -> &'a str {
        say.model.as_deref().unwrap_or(&self.model)
    }

    /// An id in the vendor's manner: `call_1_0`, `toolu_1_0`.
    pub(crate) fn id(&self, prefix: &str, index: usize) -> String {
        format!("{prefix}_{}_{index}", self.number)
    }

    pub(crate) fn call_id(&self, prefix: &str, call: &Call, index: usize) -> String {
        call.id.clone().unwrap_or_else(|| self.id(prefix, index))
    }
}

/// One server-sent event before it is laid out.
#[derive(Debug, Clone)]
pub(crate) struct SseEvent {
    name: Option<String>,
    data: String,
    /// Carries a piece of the answer, and so is what careless servers send twice.
    delta: bool,
}

impl SseEvent {
    pub(crate) fn data(data: &Value) -> Self {
        Self::text(&data.to_string())
    }

    pub(crate) fn text(data: &str) -> Self {
        Self { name: None, data: data.to_owned(), delta: false }
    }

    pub(crate) fn named(name: &str, data: &Value) -> Self {
        Self { name: Some(name.to_owned()), ..Self::data(data) }
    }

    pub(crate) fn delta(self) -> Self {
        Self { delta: true, ..self }
    }

    /// What a careless server makes of a delta.
    pub(crate) fn twice_if_delta(self) -> impl Iterator<Item = Self> {
        let times = if self.delta { 2 } else { 1 };
        std::iter::repeat_n(self, times)
    }

    /// What a server with a broken serializer sends.
    pub(crate) fn malformed() -> Self {
        Self::text(r#"{"type": "broken", "choices": [{"delta": {"content": "half a"#)
    }

    fn layout(&self, line_end: &str) -> String {
        let name = self.name.as_ref().map(|name| format!("event: {name}{line_end}")).unwrap_or_default();
        format!("{name}data: {}{line_end}{line_end}", self.data)
    }
}

/// The events as the bytes of one HTTP chunk each.
pub(crate) fn lay_out(events: &[SseEvent], framing: &Framing) -> Vec<Bytes> {
    let line_end = if framing.crlf { "\r\n" } else { "\n" };
    let mut chunks: Vec<String> = events.iter().map(|event| event.layout(line_end)).collect();
    if let Some(first) = chunks.first_mut().filter(|_| framing.bom) {
        first.insert(0, '\u{feff}');
    }
    if let Some(last) = chunks.last_mut().filter(|_| framing.no_last_blank_line) {
        last.truncate(last.trim_end().len());
        last.push_str(line_end);
    }
    chunks.into_iter().map(Bytes::from).collect()
}

/// The text in pieces of so many characters.
pub(crate) fn pieces(text: &str, size: usize) -> Vec<String> {
    let characters: Vec<char> = text.chars().collect();
    characters.chunks(size).map(|piece| piece.iter().collect()).collect()
}
