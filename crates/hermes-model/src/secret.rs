//! Secrets that know where they may go.
//!
//! A [`Secret`] cannot be read. It can only be bound to origins, and a [`BoundSecret`] shows itself only to a URL of one
//! of them, at the moment the request is written. Redirects, custom endpoints, fallbacks and auxiliary calls all come
//! through the same door, so sending a key to the wrong host is refused before a byte leaves.

use secrecy::{ExposeSecret, SecretString};
use sha2::{Digest, Sha256};
use std::fmt;
use url::Url;

/// Words that stand in for a key in templates and examples.
const PLACEHOLDERS: [&str; 12] = [
    "*",
    "**",
    "***",
    "changeme",
    "your_api_key",
    "your_api_key_here",
    "your-api-key",
    "placeholder",
    "example",
    "dummy",
    "null",
    "none",
];
const SHORTEST_SECRET: usize = 4;

/// A secret read from somewhere and not yet tied to a host. There is no way to see it.
#[derive(Clone)]
pub struct Secret(SecretString);

/// A secret and the only origins that may see it.
#[derive(Clone)]
pub struct BoundSecret {
    secret: SecretString,
    origins: Vec<Origin>,
}

/// Where a secret may go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    /// HTTPS at this host or any host below it. Never plain HTTP.
    Host(String),
    /// Exactly this scheme, host and port.
    Exact { scheme: String, host: String, port: Option<u16> },
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the credential belongs to {allowed}, so it was not sent to {asked}")]
pub struct WrongOrigin {
    allowed: String,
    asked: String,
}

impl Secret {
    /// The secret in `text`, unless it is empty, too short or a placeholder.
    pub fn usable(text: &str) -> Option<Self> {
        Self::flaw(text).is_none().then(|| Self(SecretString::from(text.trim())))
    }

    /// Why `text` cannot be a secret, to be read after "this".
    pub fn flaw(text: &str) -> Option<&'static str> {
        let text = text.trim();
        if text.is_empty() {
            Some("is empty")
        } else if PLACEHOLDERS.contains(&text.to_ascii_lowercase().as_str()) {
            Some("is a placeholder from an example, not a key")
        } else if text.chars().count() < SHORTEST_SECRET {
            Some("is too short for a key; copy the whole of it")
        } else {
            None
        }
    }

    /// A value that counts as a secret whatever it looks like: a header the person configured may well be `1` or `none`.
    pub fn verbatim(text: &str) -> Self {
        Self(SecretString::from(text))
    }

    /// Ties the secret to its origins. Without any, it goes nowhere.
    pub fn bind(self, origins: impl IntoIterator<Item = Origin>) -> BoundSecret {
        BoundSecret { secret: self.0, origins: origins.into_iter().collect() }
    }

    /// Tests of a key's public shape (`sk-kimi-`, `sk-ant-api`) that choose an endpoint, without showing the key.
    pub fn has_prefix(&self, prefix: &str) -> bool {
        self.0.expose_secret().starts_with(prefix)
    }

    /// Names the secret in logs and caches without revealing it.
    pub fn fingerprint(&self) -> String {
        fingerprint(&self.0)
    }
}

impl BoundSecret {
    /// Whether the secret may be shown to `url`.
    pub fn admits(&self, url: &Url) -> bool {
        self.origins.iter().any(|origin| origin.admits(url))
    }

    /// The secret itself, for a request to `url` and nobody else. For transports alone.
    pub fn for_url(&self, url: &Url) -> Result<&str, WrongOrigin> {
        if self.admits(url) {
            return Ok(self.secret.expose_secret());
        }
        let allowed: Vec<String> = self.origins.iter().map(ToString::to_string).collect();
        Err(WrongOrigin {
            allowed: if allowed.is_empty() { "no host".into() } else { allowed.join(" or ") },
            asked: Origin::of(url).to_string(),
        })
    }

    pub fn fingerprint(&self) -> String {
        fingerprint(&self.secret)
    }

    pub fn origins(&self) -> &[Origin] {
        &self.origins
    }
}

impl Origin {
    /// The exact origin of a URL.
    pub fn of(url: &Url) -> Self {
        Self::Exact {
            scheme: url.scheme().to_owned(),
            host: url.host_str().unwrap_or_default().to_owned(),
            port: url.port_or_known_default(),
        }
    }

    pub fn host(name: impl Into<String>) -> Self {
        Self::Host(name.into())
    }

    pub fn admits(&self, url: &Url) -> bool {
        match self {
            Self::Host(host) => url.scheme() == "https" && host_matches(url, host),
            Self::Exact { .. } => *self == Self::of(url),
        }
    }
}

/// True when the URL's host is `host` or lies below it. Never a substring match.
pub fn host_matches(url: &Url, host: &str) -> bool {
    url.host_str().and_then(|name| name.strip_suffix(host)).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
}

fn fingerprint(secret: &SecretString) -> String {
    let mut hex = hex::encode(Sha256::digest(secret.expose_secret()));
    hex.truncate(12);
    hex
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Host(host) => write!(f, "{host}"),
            Self::Exact { scheme, host, port: Some(port) } => write!(f, "{scheme}://{host}:{port}"),
            Self::Exact { scheme, host, port: None } => write!(f, "{scheme}://{host}"),
        }
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "«redacted:{}»", self.fingerprint())
    }
}

impl fmt::Debug for BoundSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "«redacted:{}»", self.fingerprint())
    }
}

impl PartialEq for Secret {
    fn eq(&self, other: &Self) -> bool {
        self.0.expose_secret() == other.0.expose_secret()
    }
}

impl PartialEq for BoundSecret {
    fn eq(&self, other: &Self) -> bool {
        self.secret.expose_secret() == other.secret.expose_secret() && self.origins == other.origins
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn url(text: &str) -> Url {
        Url::parse(text).expect("a URL")
    }

    #[test]
    fn a_secret_shows_itself_only_at_home() {
        let key = Secret::usable("sk-or-12345").expect("usable").bind([Origin::host("openrouter.ai")]);
        assert_eq!(key.for_url(&url("https://openrouter.ai/api/v1")), Ok("sk-or-12345"));
        assert_eq!(key.for_url(&url("https://eu.openrouter.ai/api/v1")), Ok("sk-or-12345"));
        for elsewhere in [
            "http://openrouter.ai/api/v1",
            "https://openrouter.ai.evil.test/",
            "https://evilopenrouter.ai/",
            "https://user@evil.test/openrouter.ai",
        ] {
            let refused = key.for_url(&url(elsewhere)).expect_err(elsewhere);
            assert!(!refused.to_string().contains("sk-or"), "{refused}");
        }
    }

    #[test]
    fn an_exact_origin_pins_scheme_and_port() {
        let key = Secret::usable("local-key").expect("usable").bind([Origin::of(&url("http://10.0.0.5:8000/v1"))]);
        assert!(key.for_url(&url("http://10.0.0.5:8000/v1/models")).is_ok());
        assert!(key.for_url(&url("http://10.0.0.5:8001/v1")).is_err());
        assert!(key.for_url(&url("https://10.0.0.5:8000/v1")).is_err());
    }

    #[test]
    fn placeholders_are_not_secrets_and_debug_shows_none() {
        for word in ["", "abc", "  ***  ", "CHANGEME", "your_api_key_here", "None"] {
            assert!(Secret::usable(word).is_none(), "{word}");
        }
        let secret = Secret::usable("sk-very-secret").expect("usable");
        assert!(!format!("{secret:?}").contains("very"), "{secret:?}");
    }
}
