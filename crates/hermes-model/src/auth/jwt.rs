//! What a token says about itself. Signatures are the vendor's business; we only plan by these claims.

use super::moment;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use hermes_types::Object;
use jiff::Timestamp;
use serde_json::Value;
use std::fmt;

const LONGEST: usize = 64 * 1024;

/// The unverified claims of a JSON Web Token.
#[derive(Clone, PartialEq)]
pub struct Claims(Object);

impl Claims {
    /// `None` for an opaque token.
    pub fn of(token: &str) -> Option<Self> {
        let mut parts = token.split('.');
        let (_header, payload, _signature) = (parts.next()?, parts.next()?, parts.next()?);
        if parts.next().is_some() || payload.len() > LONGEST {
            return None;
        }
        let bytes = URL_SAFE_NO_PAD.decode(payload.trim_end_matches('=')).ok()?;
        serde_json::from_slice(&bytes).ok().map(Self)
    }

    pub fn expires_at(&self) -> Option<Timestamp> {
        self.0.get("exp").and_then(moment::parse)
    }

    /// Scopes are one string of words or a list, under either of two names.
    pub fn has_scope(&self, wanted: &str) -> bool {
        ["scope", "scp"].iter().filter_map(|key| self.0.get(*key)).any(|scopes| match scopes {
            Value::String(words) => words.split_whitespace().any(|word| word == wanted),
            Value::Array(list) => list.iter().any(|word| word == wanted),
            _ => false,
        })
    }

    /// The ChatGPT account a Codex token belongs to.
    pub fn chatgpt_account_id(&self) -> Option<&str> {
        self.0.get("https://api.openai.com/auth")?.get("chatgpt_account_id")?.as_str().filter(|id| !id.is_empty())
    }
}

/// Claims name a person; a log shows only that they are there.
impl fmt::Debug for Claims {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Claims").field("expires_at", &self.expires_at()).finish_non_exhaustive()
    }
}

#[cfg(test)]
pub(super) fn token(claims: &Value) -> String {
    format!("eyJhbGciOiJub25lIn0.{}.c2ln", URL_SAFE_NO_PAD.encode(claims.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn claims_are_read_without_trusting_them() {
        let claims = Claims::of(&token(&json!({
            "exp": 1_772_366_400, "scope": "openid inference:invoke",
            "https://api.openai.com/auth": {"chatgpt_account_id": "acc-1"},
        })))
        .expect("claims");
        assert_eq!(claims.expires_at(), Some("2026-03-01T12:00:00Z".parse().expect("a time")));
        assert_eq!(claims.chatgpt_account_id(), Some("acc-1"));
        assert!(claims.has_scope("inference:invoke"));
        assert!(!claims.has_scope("inference"));
        assert!(Claims::of(&token(&json!({"scp": ["a", "b"]}))).expect("claims").has_scope("b"));
    }

    #[test]
    fn other_tokens_are_opaque() {
        for text in ["", "sk-ant-api03-x", "a.b", "a.b.c", "a.!!.c", "a.b.c.d", &token(&json!([1]))] {
            assert_eq!(Claims::of(text), None, "{text}");
        }
    }
}
