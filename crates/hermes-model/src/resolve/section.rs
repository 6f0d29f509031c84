//! Reads one map of the settings, forgivingly.
//!
//! A value of the wrong type is not a crash and not silence: it counts as absent, and a [`Warning`] names the key and
//! what was expected. Empty strings and `null` mean "not set", as they do in the files people write by hand.

use crate::secret::Secret;
use crate::wire::{ApiMode, Ttl};
use hermes_types::{Object, Reasoning, Usd};
use serde_json::Value;
use std::cell::RefCell;
use std::ops::RangeInclusive;
use std::time::Duration;

/// Something in the settings that was not understood. It never contains a value, which might be a secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Warning {
    /// The full path of the key (`providers.my-proxy.timeout`).
    pub key: String,
    pub message: String,
}

/// One map of the settings, where it stands in the file, and the list its complaints go to.
pub(super) struct Section<'w> {
    path: String,
    map: Object,
    warnings: &'w RefCell<Vec<Warning>>,
}

impl<'w> Section<'w> {
    pub(super) fn new(path: impl Into<String>, map: Object, warnings: &'w RefCell<Vec<Warning>>) -> Self {
        Self { path: path.into(), map, warnings }
    }

    pub(super) fn warn(&self, key: &str, message: impl Into<String>) {
        self.warnings.borrow_mut().push(Warning { key: self.path_of(key), message: message.into() });
    }

    /// The sub-map `key`; absent is empty, anything else is reported.
    pub(super) fn section(&self, key: &str) -> Self {
        let map = match self.value(&[key]) {
            Some((_, Value::Object(map))) => map.clone(),
            Some(_) => {
                self.warn(key, "expected a map; ignored");
                Object::new()
            }
            None => Object::new(),
        };
        self.below(key, map)
    }

    /// A map found under `key`.
    pub(super) fn below(&self, key: &str, map: Object) -> Self {
        Self::new(self.path_of(key), map, self.warnings)
    }

    /// The maps below this one by name; other values are reported.
    pub(super) fn sections(&self) -> Vec<(String, Self)> {
        self.map
            .iter()
            .filter(|(_, value)| !value.is_null())
            .filter_map(|(key, value)| match value {
                Value::Object(map) => Some((key.clone(), self.below(key, map.clone()))),
                _ => {
                    self.warn(key, "expected a map; ignored");
                    None
                }
            })
            .collect()
    }

    /// A list of maps under `key`. With `single`, one map stands for a list of one.
    pub(super) fn list(&self, key: &str, single: Single) -> Vec<Self> {
        let items: Vec<&Value> = match self.value(&[key]) {
            None => return Vec::new(),
            Some((_, Value::Array(items))) => items.iter().collect(),
            Some((_, value @ Value::Object(_))) if single == Single::Allowed => vec![value],
            Some(_) => {
                self.warn(key, "expected a list; ignored");
                return Vec::new();
            }
        };
        let mut sections = Vec::new();
        for (index, item) in items.into_iter().enumerate() {
            let path = format!("{key}[{index}]");
            match item {
                Value::Object(map) => sections.push(self.below(&path, map.clone())),
                _ => self.warn(&path, "expected a map; ignored"),
            }
        }
        sections
    }

    /// The value under the first of `keys` that is set.
    pub(super) fn value(&self, keys: &[&str]) -> Option<(&str, &Value)> {
        keys.iter().find_map(|key| {
            let (key, value) = self.map.get_key_value(*key)?;
            let blank = value.is_null() || value.as_str().is_some_and(|text| text.trim().is_empty());
            (!blank).then_some((key.as_str(), value))
        })
    }

    pub(super) fn entries(&self) -> impl Iterator<Item = (&String, &Value)> {
        self.map.iter()
    }

    pub(super) fn text(&self, keys: &[&str]) -> Option<String> {
        self.read(keys, "text", |value| value.as_str().map(|text| text.trim().to_owned()))
    }

    pub(super) fn number(&self, key: &str, range: RangeInclusive<u64>) -> Option<u64> {
        let expected = format!("a whole number from {} to {}", range.start(), range.end());
        self.read(&[key], &expected, |value| value.as_u64().filter(|number| range.contains(number)))
    }

    pub(super) fn count(&self, keys: &[&str]) -> Option<u64> {
        self.read(keys, "a whole number above 0", |value| {
            let number = value.as_u64().or_else(|| value.as_str()?.trim().parse().ok());
            number.filter(|number| *number > 0)
        })
    }

    /// A span of time; 0 is the same as leaving it out.
    pub(super) fn seconds(&self, keys: &[&str]) -> Option<Duration> {
        let span = self.read(keys, "a number of seconds", |value| {
            let number = value.as_f64().or_else(|| value.as_str()?.trim().parse().ok())?;
            Duration::try_from_secs_f64(number).ok()
        });
        span.filter(|span| !span.is_zero())
    }

    /// An amount of dollars.
    pub(super) fn money(&self, key: &str) -> Option<Usd> {
        self.read(&[key], "dollars for a million tokens, like 2.50", |value| {
            let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            text.parse().ok().filter(|amount: &Usd| amount.pico() >= 0)
        })
    }

    pub(super) fn flag(&self, keys: &[&str]) -> Option<bool> {
        self.read(keys, "true or false", |value| match value {
            Value::Bool(flag) => Some(*flag),
            Value::String(word) => match word.trim().to_ascii_lowercase().as_str() {
                "true" | "yes" | "on" => Some(true),
                "false" | "no" | "off" => Some(false),
                _ => None,
            },
            _ => None,
        })
    }

    pub(super) fn object(&self, keys: &[&str]) -> Object {
        self.read(keys, "a map", |value| value.as_object().cloned()).unwrap_or_default()
    }

    /// An inline key. A placeholder counts as none; a reference to a variable that is not set is reported.
    pub(super) fn secret(&self, keys: &[&str]) -> Option<Secret> {
        let text = self.text(keys)?;
        if text.starts_with("${") && text.ends_with('}') {
            let key = keys.first().copied().unwrap_or_default();
            self.warn(key, "names an environment variable that is not set; treated as no key");
            return None;
        }
        Secret::usable(&text)
    }

    /// An unknown protocol name is reported and treated as not set.
    pub(super) fn mode(&self, keys: &[&str]) -> Option<ApiMode> {
        self.read(keys, "chat_completions, codex_responses or anthropic_messages", |value| {
            ApiMode::parse(value.as_str()?)
        })
    }

    pub(super) fn reasoning(&self, keys: &[&str]) -> Option<Reasoning> {
        self.read(keys, "none, minimal, low, medium, high, xhigh, max or ultra", |value| match value {
            Value::Bool(flag) => Some(if *flag { Reasoning::On } else { Reasoning::Off }),
            _ => value.as_str()?.parse().ok(),
        })
    }

    pub(super) fn ttl(&self, keys: &[&str]) -> Option<Ttl> {
        self.read(keys, "5m or 1h", |value| Ttl::parse(value.as_str()?))
    }

    /// Extra headers. Their values count as secrets, so a bad one is named but not shown.
    pub(super) fn headers(&self, key: &str) -> Vec<(String, Secret)> {
        let section = self.section(key);
        let mut headers = Vec::new();
        for (name, value) in &section.map {
            let text = match value {
                Value::String(text) => text.trim().to_owned(),
                Value::Number(number) => number.to_string(),
                Value::Bool(flag) => flag.to_string(),
                _ => String::new(),
            };
            if !is_header_name(name) || text.is_empty() || text.chars().any(char::is_control) {
                section.warn(name, "is not a header that can be sent; ignored");
            } else {
                headers.push((name.clone(), Secret::verbatim(&text)));
            }
        }
        headers
    }

    /// Renames old spellings to the current ones, with a warning each. A current key that is also there wins.
    pub(super) fn respell(&mut self, spellings: &[(&str, &str)]) {
        for (old, new) in spellings {
            if let Some(value) = self.map.shift_remove(*old) {
                self.warn(old, format!("is spelled `{new}`; it was understood, but please rename it"));
                self.map.entry(*new).or_insert(value);
            }
        }
    }

    /// Reports keys nobody reads, with the nearest known one.
    pub(super) fn report_unknown(&self, known: &[&str]) {
        for key in self.map.keys().filter(|key| !known.contains(&key.as_str())) {
            let nearest =
                known.iter().max_by(|a, b| strsim::jaro_winkler(a, key).total_cmp(&strsim::jaro_winkler(b, key)));
            match nearest.filter(|near| strsim::jaro_winkler(near, key) > 0.8) {
                Some(near) => self.warn(key, format!("is not a known key; did you mean `{near}`?")),
                None => self.warn(key, "is not a known key; it has no effect"),
            }
        }
    }

    fn read<T>(&self, keys: &[&str], expected: &str, parse: impl FnOnce(&Value) -> Option<T>) -> Option<T> {
        let (key, value) = self.value(keys)?;
        let parsed = parse(value);
        if parsed.is_none() {
            self.warn(key, format!("expected {expected}; ignored"));
        }
        parsed
    }

    fn path_of(&self, key: &str) -> String {
        if self.path.is_empty() { key.to_owned() } else { format!("{}.{key}", self.path) }
    }
}

/// Whether one map may stand where a list is expected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Single {
    Allowed,
    Refused,
}

fn is_header_name(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte))
}
