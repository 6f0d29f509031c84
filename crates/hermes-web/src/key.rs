//! Keys of services, each tied to the one origin that may see it.
//!
//! A key cannot be read and prints as `«redacted:…»`. It becomes the value of a header for a URL of its own origin, at the
//! moment a request is written, and for no other.

use reqwest::header::HeaderValue;
use secrecy::{ExposeSecret, SecretString};
use std::fmt;
use url::{Origin, Url};

#[derive(Clone)]
pub struct Key {
    secret: SecretString,
    prefix: &'static str,
    origin: Origin,
}

impl Key {
    /// The key in `text` for everything at the origin of `home`; nothing when there is only white space.
    pub fn new(text: &str, home: &Url) -> Option<Self> {
        let text = text.trim();
        (!text.is_empty()).then(|| Self { secret: SecretString::from(text), prefix: "", origin: home.origin() })
    }

    /// The same with a word in front of it, such as `Bearer `.
    #[must_use]
    pub fn after(self, prefix: &'static str) -> Self {
        Self { prefix, ..self }
    }

    /// The key as a header for this URL, if it may see it.
    pub fn header_for(&self, url: &Url) -> Option<HeaderValue> {
        if url.origin() != self.origin {
            return None;
        }
        let mut value = HeaderValue::try_from(format!("{}{}", self.prefix, self.secret.expose_secret())).ok()?;
        value.set_sensitive(true);
        Some(value)
    }

    /// A text in which the key, should a server have repeated it, cannot be read.
    pub fn covered(&self, text: &str) -> String {
        text.replace(self.secret.expose_secret(), "«redacted:…»")
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "«redacted:{}»", self.origin.ascii_serialization())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_shows_itself_at_home_and_nowhere_else() {
        let url = |text: &str| Url::parse(text).expect(text);
        let key = Key::new(" tvly-secret ", &url("https://api.tavily.com/search")).expect("a key").after("Bearer ");
        let shown = key.header_for(&url("https://api.tavily.com/extract?x=1")).expect("at home");
        assert_eq!(shown.to_str().ok(), Some("Bearer tvly-secret"));
        assert!(shown.is_sensitive());
        for elsewhere in [
            "http://api.tavily.com/",
            "https://api.tavily.com:8443/",
            "https://x.api.tavily.com/",
            "https://evil.test/api.tavily.com",
        ] {
            assert_eq!(key.header_for(&url(elsewhere)), None, "{elsewhere}");
        }
        assert_eq!(format!("{key:?}"), "«redacted:https://api.tavily.com»");
        assert_eq!(key.covered("wrong key tvly-secret!"), "wrong key «redacted:…»!");
        assert!(Key::new("  ", &url("https://a.test")).is_none());
    }
}
