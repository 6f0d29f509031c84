//! The wire protocols: pure functions between our nouns and a provider's bytes.
//!
//! Each protocol is an encoder (request → JSON body) and a streaming decoder (server-sent events → deltas, then one
//! reply). Neither opens a socket, reads a clock or knows a secret, so each can be fuzzed, replayed and compared with
//! golden text. Streaming is the only path; a server that answers with one whole JSON object is decoded as a stream of
//! one.

pub mod anthropic;
mod cache;
pub mod chat;
mod copilot;
pub mod fault;
mod json;
pub mod responses;
mod schema;
pub mod sse;

pub use cache::Ttl;

pub use chat::Pages;

use crate::provider::Provider;
use hermes_types::{Delta, Fault, Object, Reply, Request};
use serde::{Deserialize, Serialize};
use std::fmt;
use url::Url;

/// Which protocol a runtime speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ApiMode {
    ChatCompletions,
    CodexResponses,
    AnthropicMessages,
}

/// To whom a request is encoded: everything about the receiver that changes the bytes.
#[derive(Debug, Clone)]
pub struct Target {
    pub provider: &'static Provider,
    /// Without a trailing slash.
    pub base_url: Url,
    pub login: Login,
    /// Fields the person adds to every body; they are merged last and win.
    pub extra_body: Object,
    /// How long prompts are to be kept between requests; `None` asks for nothing.
    pub cache: Option<Ttl>,
}

/// What kind of credential goes along. Some bodies and headers depend on it; the secret itself is not known here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Login {
    None,
    ApiKey,
    OAuth,
}

impl Login {
    pub const ALL: [Self; 3] = [Self::None, Self::ApiKey, Self::OAuth];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::ApiKey => "api_key",
            Self::OAuth => "oauth",
        }
    }

    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|login| login.as_str() == word)
    }
}

/// A request on the wire, less the secret.
#[derive(Debug, Clone, PartialEq)]
pub struct Encoded {
    /// The full URL of the call.
    pub url: Url,
    /// Protocol headers beyond `content-type`, without any secret.
    pub headers: Vec<(&'static str, String)>,
    pub auth: AuthHeader,
    pub body: Vec<u8>,
}

/// In which header the credential travels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AuthHeader {
    /// `Authorization: Bearer …`
    Bearer,
    /// `x-api-key: …`
    XApiKey,
    /// `Authorization: token …`, as GitHub wants it.
    Token,
}

/// How the bytes of an answer ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// The server closed the body properly.
    Whole,
    /// The connection broke.
    Cut,
}

/// Turns the events of one answer into deltas. A decoder never panics on foreign bytes and never loses a call in
/// silence: what it cannot complete is named in the reply.
pub trait Decoder: Send {
    /// One server-sent event. A fault the server announces inside the stream is returned as such.
    fn event(&mut self, event: sse::Event<'_>, out: &mut Vec<Delta>) -> Result<(), Fault>;

    /// The protocol's own end mark was seen: whatever may follow is not part of the answer.
    fn is_complete(&self) -> bool;

    /// After the last event: the whole reply, or why there is none.
    fn finish(self: Box<Self>, end: End) -> Result<Reply, Fault>;
}

/// How a call is named to a person when the model's own name for it never came.
const NAMELESS: &str = "(a call without a name)";

impl ApiMode {
    pub const ALL: [Self; 3] = [Self::ChatCompletions, Self::CodexResponses, Self::AnthropicMessages];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::ChatCompletions => "chat_completions",
            Self::CodexResponses => "codex_responses",
            Self::AnthropicMessages => "anthropic_messages",
        }
    }

    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|mode| mode.as_str() == word.trim())
    }

    pub fn encode(self, request: &Request, target: &Target) -> Encoded {
        self.encode_on(&mut Pages::default(), request, target)
    }

    /// The same, with what was written of the conversation before.
    pub fn encode_on(self, pages: &mut Pages, request: &Request, target: &Target) -> Encoded {
        match self {
            Self::ChatCompletions => chat::encode(request, target, pages),
            Self::CodexResponses => responses::encode(request, target),
            Self::AnthropicMessages => anthropic::encode(request, target),
        }
    }

    pub fn decoder(self, target: &Target) -> Box<dyn Decoder> {
        match self {
            Self::ChatCompletions => Box::new(chat::ChatDecoder::new(target)),
            Self::CodexResponses => Box::new(responses::ResponsesDecoder::new(target)),
            Self::AnthropicMessages => Box::new(anthropic::AnthropicDecoder::new(target)),
        }
    }
}

impl fmt::Display for ApiMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Target {
    pub fn host(&self) -> &str {
        self.base_url.host_str().unwrap_or_default()
    }

    /// True when the endpoint's host is `host` or below it.
    pub fn host_is(&self, host: &str) -> bool {
        crate::secret::host_matches(&self.base_url, host)
    }

    /// What the vendor wants in every request, whatever the protocol.
    pub fn vendor_headers(&self) -> Vec<(&'static str, String)> {
        self.provider.headers.iter().map(|(name, value)| (*name, (*value).to_owned())).collect()
    }

    /// `base_url` with more path segments behind it (`chat/completions`).
    pub fn join(&self, path: &str) -> Url {
        let mut url = self.base_url.clone();
        let base = url.path().trim_end_matches('/').to_owned();
        url.set_path(&format!("{base}/{path}"));
        url
    }
}
