//! The OpenAI Responses protocol, as OpenAI, the Codex backend, xAI, GitHub Copilot and compatible servers speak it.
//!
//! A conversation goes out as flat items: words, reasoning, calls and their outputs. The stable part of the body comes
//! first and `input` last, so each request extends the one before it byte for byte. On the wire every call has exactly
//! one output and every output its call. Encrypted reasoning goes back only to the backend that issued it.

mod decode;
mod encode;
mod event;
mod items;
mod reply;
mod slots;
mod tools;

#[cfg(test)]
mod tests;

pub use decode::ResponsesDecoder;
pub use encode::encode;

use super::Target;
use serde_json::Value;
use sha2::{Digest, Sha256};

/// Whose Responses API it is; the differences are many and small.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Backend {
    /// ChatGPT's own, behind a subscription.
    Codex,
    Xai,
    /// Copilot and GitHub Models.
    GitHub,
    Other,
}

impl Backend {
    fn of(target: &Target) -> Self {
        let is_codex_path = target.host_is("chatgpt.com") && target.base_url.path().starts_with("/backend-api/codex");
        match target.provider.id {
            "openai-codex" => Self::Codex,
            _ if is_codex_path => Self::Codex,
            "xai" | "xai-oauth" => Self::Xai,
            _ if target.host_is("x.ai") => Self::Xai,
            "copilot" => Self::GitHub,
            _ if target.host_is("githubcopilot.com") || target.host_is("models.github.ai") => Self::GitHub,
            _ => Self::Other,
        }
    }

    /// The stamp on reasoning items: who can read them again.
    fn issuer(self, target: &Target) -> String {
        match self {
            Self::Codex => "codex_backend".into(),
            Self::Xai => "xai_responses".into(),
            Self::GitHub => "github_responses".into(),
            Self::Other => {
                let base = &target.base_url;
                let port = base.port().map(|port| format!(":{port}")).unwrap_or_default();
                let path = base.path().trim_end_matches('/');
                format!("other:{}://{}{port}{path}", base.scheme(), target.host())
            }
        }
    }
}

/// The longest id or key the API takes.
const LONGEST_ID: usize = 64;

/// An id as it is when it fits, else a stable stand-in.
fn bounded_id(prefix: &str, id: &str) -> String {
    if id.len() <= LONGEST_ID && id.bytes().all(|byte| byte.is_ascii_graphic()) {
        return id.to_owned();
    }
    format!("{prefix}{}", short_hash(id.as_bytes()))
}

fn short_hash(bytes: &[u8]) -> String {
    let mut hex = hex::encode(Sha256::digest(bytes));
    hex.truncate(24);
    hex
}

/// Text under a key, unless it is empty.
fn text_at<'a>(value: &'a Value, key: &str) -> Option<&'a str> {
    value.get(key).and_then(Value::as_str).filter(|text| !text.is_empty())
}
