//! The address of one setting: `agent.max_turns`, `custom_providers.0.name`, `providers."my.host".base_url`.
//!
//! A segment in double quotes may hold anything, dots too. A segment of digits means a place in a list when a list is
//! there, and a key otherwise (chat ids are numbers and live in mappings).

use serde_json::Value;
use std::fmt;

#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct KeyPath(Vec<String>);

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PathFault {
    #[error("a key has to be named, for example `agent.max_turns`")]
    Empty,
    #[error("`{0}` has an empty part; write it like `agent.max_turns`")]
    EmptySegment(String),
    #[error("`{0}` opens a quote and does not close it; write it like `providers.\"my.host\".base_url`")]
    OpenQuote(String),
}

impl KeyPath {
    pub fn parse(text: &str) -> Result<Self, PathFault> {
        let text = text.trim();
        if text.is_empty() {
            return Err(PathFault::Empty);
        }
        let mut segments = Vec::new();
        let mut segment = String::new();
        let mut quoted = false;
        let mut was_quoted = false;
        for c in text.chars().chain(['.']) {
            match c {
                '"' if quoted || segment.is_empty() => {
                    quoted = !quoted;
                    was_quoted = true;
                }
                '.' if !quoted => {
                    if segment.is_empty() && !was_quoted {
                        return Err(PathFault::EmptySegment(text.to_owned()));
                    }
                    segments.push(std::mem::take(&mut segment));
                    was_quoted = false;
                }
                c => segment.push(c),
            }
        }
        if quoted {
            return Err(PathFault::OpenQuote(text.to_owned()));
        }
        Ok(Self(segments))
    }

    pub fn of(segments: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Self(segments.into_iter().map(Into::into).collect())
    }

    pub fn segments(&self) -> &[String] {
        &self.0
    }

    pub fn last(&self) -> &str {
        self.0.last().map_or("", String::as_str)
    }

    pub fn parent(&self) -> Option<Self> {
        match self.0.split_last() {
            Some((_, rest)) if !rest.is_empty() => Some(Self(rest.to_vec())),
            _ => None,
        }
    }

    #[must_use]
    pub fn child(&self, segment: impl Into<String>) -> Self {
        let mut segments = self.0.clone();
        segments.push(segment.into());
        Self(segments)
    }

    pub fn starts_with(&self, other: &Self) -> bool {
        self.0.starts_with(&other.0)
    }

    /// The value at this address.
    pub fn find<'v>(&self, root: &'v Value) -> Option<&'v Value> {
        self.0.iter().try_fold(root, |value, segment| step(value, segment))
    }

    /// Puts a value at this address, making mappings on the way. False when something else than a mapping or a list is in
    /// the way, or a list has no such place.
    pub fn put(&self, root: &mut Value, new: Value) -> bool {
        let mut slot = root;
        for segment in &self.0 {
            if slot.is_null() {
                *slot = Value::Object(serde_json::Map::new());
            }
            slot = match slot {
                Value::Object(map) => map.entry(segment.as_str()).or_insert(Value::Null),
                Value::Array(items) => {
                    let Ok(index) = segment.parse::<usize>() else { return false };
                    if index == items.len() {
                        items.push(Value::Null);
                    }
                    match items.get_mut(index) {
                        Some(item) => item,
                        None => return false,
                    }
                }
                _ => return false,
            };
        }
        *slot = new;
        true
    }

    /// Takes the value away. `None` when there was none.
    pub fn take(&self, root: &mut Value) -> Option<Value> {
        let (last, above) = self.0.split_last()?;
        let holder = above.iter().try_fold(root, |value, segment| match value {
            Value::Object(map) => map.get_mut(segment),
            Value::Array(items) => items.get_mut(segment.parse::<usize>().ok()?),
            _ => None,
        })?;
        match holder {
            Value::Object(map) => map.shift_remove(last),
            Value::Array(items) => {
                let index = last.parse::<usize>().ok()?;
                (index < items.len()).then(|| items.remove(index))
            }
            _ => None,
        }
    }
}

fn step<'v>(value: &'v Value, segment: &str) -> Option<&'v Value> {
    match value {
        Value::Object(map) => map.get(segment),
        Value::Array(items) => items.get(segment.parse::<usize>().ok()?),
        _ => None,
    }
}

/// Every scalar, list of scalars and empty collection below `root`, with its address, in the order of the file.
pub fn leaves(root: &Value) -> Vec<(KeyPath, &Value)> {
    fn walk<'v>(here: &KeyPath, value: &'v Value, out: &mut Vec<(KeyPath, &'v Value)>) {
        match value {
            Value::Object(map) if !map.is_empty() => {
                for (key, value) in map {
                    walk(&here.child(key.as_str()), value, out);
                }
            }
            Value::Array(items) if items.iter().any(|item| item.is_object() || item.is_array()) => {
                for (index, item) in items.iter().enumerate() {
                    walk(&here.child(index.to_string()), item, out);
                }
            }
            value => out.push((here.clone(), value)),
        }
    }
    let mut out = Vec::new();
    if let Value::Object(map) = root {
        for (key, value) in map {
            walk(&KeyPath::of([key.as_str()]), value, &mut out);
        }
    }
    out
}

impl fmt::Display for KeyPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, segment) in self.0.iter().enumerate() {
            if index > 0 {
                f.write_str(".")?;
            }
            if segment.is_empty() || segment.contains(['.', '"']) {
                write!(f, "\"{segment}\"")?;
            } else {
                f.write_str(segment)?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn addresses_are_read_and_written_back() {
        for (text, segments) in [
            ("agent.max_turns", vec!["agent", "max_turns"]),
            ("custom_providers.0.name", vec!["custom_providers", "0", "name"]),
            ("providers.\"my.host\".base_url", vec!["providers", "my.host", "base_url"]),
        ] {
            let path = KeyPath::parse(text).expect(text);
            assert_eq!(path.segments(), segments);
            assert_eq!(path.to_string(), text);
        }
        assert_eq!(KeyPath::parse(" "), Err(PathFault::Empty));
        assert_eq!(KeyPath::parse("a..b"), Err(PathFault::EmptySegment("a..b".into())));
        assert_eq!(KeyPath::parse("a.\"b"), Err(PathFault::OpenQuote("a.\"b".into())));
    }

    #[test]
    fn digits_address_lists_where_lists_are_and_keys_elsewhere() {
        let mut value = json!({"list": ["x"], "prompts": {}});
        let path = |text| KeyPath::parse(text).expect("a path");
        assert!(path("list.1").put(&mut value, json!("y")));
        assert!(!path("list.9").put(&mut value, json!("z")));
        assert!(path("prompts.123456").put(&mut value, json!("hi")));
        assert_eq!(value, json!({"list": ["x", "y"], "prompts": {"123456": "hi"}}));
        assert_eq!(path("list.0").find(&value), Some(&json!("x")));
        assert_eq!(path("list.0").take(&mut value), Some(json!("x")));
        assert_eq!(path("list.7").take(&mut value), None);
        assert_eq!(value, json!({"list": ["y"], "prompts": {"123456": "hi"}}));
    }
}
