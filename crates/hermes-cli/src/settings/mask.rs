//! What may be shown of settings. A secret is printed as `«redacted:…»`, a form that nobody can mistake for a usable value
//! and that no command accepts back. What counts as a secret is decided by its name: the last part of a key, or the name
//! of a variable. Free text is the business of `hermes_core::redact`.

pub use hermes_core::redact::{is_credential, is_masked, secret};

use super::key_path::KeyPath;
use serde_json::Value;
use url::Url;

/// A word this long with letters and digits is taken for a key where names give no help.
const KEY_LIKE: usize = 24;

/// Names of settings that hold a secret, whatever section they are in.
const SECRET_NAMES: &[&str] = &[
    "api_key",
    "apikey",
    "key",
    "token",
    "secret",
    "password",
    "passphrase",
    "password_hash",
    "authorization",
    "bearer",
    "cookie",
    "session_key",
];
const SECRET_ENDINGS: &[&str] =
    &["_api_key", "_token", "_secret", "_password", "_passphrase", "_credentials", "_private_key"];
/// Sections whose every value may be one: headers people add, variables handed to other programs.
const SECRET_SECTIONS: &[&str] = &["headers", "default_headers", "extra_headers", "env", "docker_env"];

/// True for a setting whose value must not be shown.
pub fn is_secret(path: &KeyPath) -> bool {
    let name = path.last().to_ascii_lowercase().replace('-', "_");
    let above = path.segments().iter().rev().skip(1);
    SECRET_NAMES.contains(&name.as_str())
        || SECRET_ENDINGS.iter().any(|ending| name.ends_with(ending))
        || above.clone().any(|section| SECRET_SECTIONS.contains(&section.as_str()))
}

/// A whole tree of settings as it may be shown.
pub fn settings(path: &KeyPath, value: &Value) -> Value {
    match value {
        Value::Object(map) => Value::Object(
            map.iter().map(|(key, item)| (key.clone(), settings(&path.child(key.as_str()), item))).collect(),
        ),
        Value::Array(items) if is_secret(path) => Value::Array(items.iter().map(covered).collect()),
        Value::Array(items) => {
            let shown = items.iter().enumerate().map(|(index, item)| settings(&path.child(index.to_string()), item));
            Value::Array(shown.collect())
        }
        scalar if is_secret(path) => covered(scalar),
        Value::String(text) => Value::String(url(text)),
        other => other.clone(),
    }
}

/// One line of a file that could not be parsed: what follows a secret's name is covered up to the end of the line, and so
/// is any long word that looks like a key.
pub fn line(text: &str) -> String {
    let is_word = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-');
    let mut name = String::new();
    let mut name_ended = false;
    for (at, c) in text.char_indices() {
        if is_word(c) {
            if std::mem::take(&mut name_ended) {
                name.clear();
            }
            name.push(c);
        } else if matches!(c, ':' | '=') && (is_secret(&KeyPath::of([name.as_str()])) || is_credential(&name)) {
            return format!("{}{c} {}", text.get(..at).unwrap_or_default(), secret(""));
        } else {
            name_ended = true;
        }
    }
    let looks_like_key = |word: &str| {
        word.len() >= KEY_LIKE
            && word.contains(|c: char| c.is_ascii_digit())
            && word.contains(|c: char| c.is_alphabetic())
    };
    match text.split(|c| !is_word(c)).find(|word| looks_like_key(word)).and_then(|word| text.split_once(word)) {
        Some((before, _)) => format!("{before}{}", secret("")),
        None => text.to_owned(),
    }
}

fn covered(value: &Value) -> Value {
    match value {
        // Nothing to hide, and it matters to see that nothing is set.
        Value::Null => Value::Null,
        Value::String(text) if text.is_empty() => value.clone(),
        // A reference names its variable and shows no value.
        Value::String(text) if text.starts_with("${") && text.ends_with('}') => value.clone(),
        Value::String(text) => Value::String(secret(text)),
        _ => Value::String(secret("")),
    }
}

/// A URL without the password in it.
fn url(text: &str) -> String {
    if !text.contains('@') {
        return text.to_owned();
    }
    match Url::parse(text) {
        Ok(mut url) if url.password().is_some() => {
            // Fails only for URLs that cannot have a password.
            let _ = url.set_password(Some("***"));
            url.to_string()
        }
        _ => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn long_secrets_show_their_ends_and_short_ones_nothing() {
        assert_eq!(secret("sk-or-v1-0123456789abcdef"), "«redacted:sk-o…cdef»");
        assert_eq!(secret("hunter2"), "«redacted:***»");
        assert!(is_masked(&secret("hunter2")));
    }

    #[test]
    fn secrets_are_known_by_name_and_section() {
        let shown = |value: Value| settings(&KeyPath::of(Vec::<String>::new()), &value);
        assert_eq!(
            shown(json!({
                "model": {"api_key": "sk-0123456789abcdefgh", "key_env": "MY_KEY", "max_tokens": 5, "default": "m"},
                "mcp_servers": {"x": {"env": {"A": "secret-value"}, "headers": {"X-Thing": "v"}}},
                "auxiliary": {"vision": {"api_key": ""}, "other": {"api_key": "${MY_KEY}"}},
                "proxy": "http://ann:hunter2@box:80/",
                "voice": {"record_key": "ctrl+b"},
            })),
            json!({
                "model": {"api_key": "«redacted:sk-0…efgh»", "key_env": "MY_KEY", "max_tokens": 5, "default": "m"},
                "mcp_servers": {"x": {"env": {"A": "«redacted:***»"}, "headers": {"X-Thing": "«redacted:***»"}}},
                "auxiliary": {"vision": {"api_key": ""}, "other": {"api_key": "${MY_KEY}"}},
                "proxy": "http://ann:***@box/",
                "voice": {"record_key": "ctrl+b"},
            })
        );
        for name in ["OPENAI_API_KEY", "HF_TOKEN", "WEBHOOK_SECRET", "SUDO_PASSWORD", "FAL_KEY"] {
            assert!(is_credential(name), "{name}");
        }
        for name in ["HERMES_HOME", "OPENAI_BASE_URL", "KEY_ROTATION"] {
            assert!(!is_credential(name), "{name}");
        }
    }

    #[test]
    fn a_line_is_covered_from_the_secret_on() {
        assert_eq!(line("  api_key: abc # x"), "  api_key: «redacted:***»");
        assert_eq!(line("{name: a, token: abc}"), "{name: a, token: «redacted:***»");
        assert_eq!(line("OPENAI_API_KEY=abc"), "OPENAI_API_KEY= «redacted:***»");
        assert_eq!(line(r#"{"api_key" : "abc"}"#), r#"{"api_key" : «redacted:***»"#);
        assert_eq!(line("  sk-or-v1-0123456789abcdef0123 rest"), "  «redacted:***»");
        assert_eq!(line("  base_url: http://x"), "  base_url: http://x");
    }
}
