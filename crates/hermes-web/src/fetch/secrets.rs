//! Addresses that carry secrets. A page that is asked for by such an address reads them, and so does its log.
//!
//! Two ways to notice: text that is a key by its own form, in the address as it is and with its escapes undone, and
//! parameters whose name says what they carry.

use super::FetchFault;
use hermes_core::redact;
use std::borrow::Cow;
use url::Url;

/// An escape may hide another; nobody honest goes deeper.
const LAYERS: usize = 3;

/// Names of parameters, in lower case with `-` for every `_`.
const NAMES: [&str; 35] = [
    "access-key",
    "access-token",
    "api-key",
    "api-secret",
    "api-token",
    "apikey",
    "auth-token",
    "authorization",
    "awsaccesskeyid",
    "bearer",
    "client-secret",
    "credential",
    "credentials",
    "id-token",
    "jwt",
    "oauth-token",
    "passwd",
    "password",
    "private-key",
    "private-token",
    "pwd",
    "refresh-token",
    "secret",
    "secret-key",
    "session-id",
    "session-token",
    "sig",
    "signature",
    "token",
    "x-amz-credential",
    "x-amz-security-token",
    "x-amz-signature",
    "x-api-key",
    "x-goog-credential",
    "x-goog-signature",
];

/// An address without secrets in it.
pub(super) fn checked(written: &str, url: &Url) -> Result<(), FetchFault> {
    for text in [written, url.as_str()] {
        if layers(text).iter().any(|layer| holds_key(layer)) {
            return Err(FetchFault::Secret("by its form"));
        }
    }
    // Some servers read what is behind `#` too, and their scripts send it on.
    let queries = [url.query(), url.fragment()];
    for query in queries.into_iter().flatten() {
        let named =
            url::form_urlencoded::parse(query.as_bytes()).find(|(name, value)| !value.is_empty() && is_name(name));
        if let Some((name, _)) = named {
            return Err(FetchFault::Credential(name.into_owned()));
        }
    }
    Ok(())
}

fn is_name(name: &str) -> bool {
    let name = name.trim().to_lowercase().replace('_', "-");
    NAMES.contains(&name.as_str())
}

fn holds_key(text: &str) -> bool {
    matches!(redact::file(text), Cow::Owned(_))
}

/// The text as it is and with one, two, three layers of escapes undone.
fn layers(text: &str) -> Vec<String> {
    let mut layers = vec![text.to_owned()];
    for _ in 0..LAYERS {
        let Some(last) = layers.last() else { break };
        let undone = unescaped(last);
        if undone == *last {
            break;
        }
        layers.push(undone);
    }
    layers
}

fn unescaped(text: &str) -> String {
    let mut out = Vec::with_capacity(text.len());
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        let mut ahead = bytes.clone();
        let digit = |byte: Option<u8>| {
            byte.and_then(|byte| char::from(byte).to_digit(16)).and_then(|value| u8::try_from(value).ok())
        };
        match (byte, digit(ahead.next()), digit(ahead.next())) {
            (b'%', Some(high), Some(low)) => {
                out.push(high << 4 | low);
                bytes = ahead;
            }
            _ => out.push(byte),
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict(text: &str) -> Result<(), FetchFault> {
        checked(text, &Url::parse(text).expect(text))
    }

    #[test]
    fn keys_are_noticed_however_they_are_escaped() {
        let key = "sk-proj-a1B2c3D4e5F6g7H8a1B2c3D4e5F6g7H8";
        let once: String = key.bytes().map(|byte| format!("%{byte:02x}")).collect();
        let twice = once.replace('%', "%25");
        for url in [
            format!("https://evil.test/?q={key}"),
            format!("https://evil.test/{key}/x"),
            format!("https://evil.test/?q={once}"),
            format!("https://evil.test/?q={twice}"),
            format!("https://{key}.evil.test/"),
        ] {
            assert_eq!(verdict(&url), Err(FetchFault::Secret("by its form")), "{url}");
        }
    }

    #[test]
    fn parameters_are_known_by_their_names_and_empty_ones_carry_nothing() {
        for (url, name) in [
            ("https://a.test/?access_token=1", "access_token"),
            ("https://a.test/?x=1&API-Key=abc", "API-Key"),
            ("https://a.test/?%74oken=abc", "token"),
            ("https://a.test/?X-Amz-Signature=abc", "X-Amz-Signature"),
            ("https://a.test/#id_token=abc", "id_token"),
            ("https://a.test/?private_token=abc", "private_token"),
            ("https://a.test/?X-Goog-Signature=abc", "X-Goog-Signature"),
        ] {
            assert_eq!(verdict(url), Err(FetchFault::Credential(name.into())), "{url}");
        }
        for url in ["https://a.test/?token=", "https://a.test/?tokens=3&q=password", "https://a.test/token/abc#top"] {
            assert_eq!(verdict(url), Ok(()), "{url}");
        }
    }
}
