//! Reads the entry of one server key by key, and keeps a word about every value that cannot be used.

use hermes_types::switch;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::time::Duration;

/// What is wrong with the entry of a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    pub server: String,
    /// Empty when it concerns the whole entry.
    pub key: String,
    pub message: String,
}

impl Problem {
    pub(super) fn of(server: &str, key: &str, message: impl Into<String>) -> Self {
        Self { server: server.to_owned(), key: key.to_owned(), message: message.into() }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(super::SECTION)?;
        let parts = [self.server.as_str(), self.key.as_str()].into_iter().filter(|part| !part.is_empty());
        parts.into_iter().try_for_each(|part| write!(f, ".{part}"))?;
        write!(f, ": {}", self.message)
    }
}

pub(super) struct Reader<'a> {
    pub(super) server: &'a str,
    entry: &'a Value,
    pub(super) problems: Vec<Problem>,
}

impl<'a> Reader<'a> {
    pub(super) fn new(server: &'a str, entry: &'a Value) -> Self {
        Self { server, entry, problems: Vec::new() }
    }

    pub(super) fn is_section(&self) -> bool {
        self.entry.is_object()
    }

    pub(super) fn has(&self, key: &str) -> bool {
        self.find(key).is_some()
    }

    pub(super) fn object_to(&mut self, key: &str, message: impl Into<String>) {
        self.problems.push(Problem::of(self.server, key, message));
    }

    /// A value by its address; dots lead into sections. `null` is as good as nothing.
    fn find(&self, key: &str) -> Option<&'a Value> {
        key.split('.').try_fold(self.entry, |value, part| value.get(part)).filter(|value| !value.is_null())
    }

    /// Reads a value, or names what it should have been.
    fn read<T>(&mut self, key: &str, expected: &str, read: impl FnOnce(&Value) -> Option<T>) -> Option<T> {
        let value = self.find(key)?;
        let read = read(value);
        if read.is_none() {
            self.object_to(key, format!("it has to be {expected}; its default is used"));
        }
        read
    }

    pub(super) fn text(&mut self, key: &str) -> Option<String> {
        let text = self.read(key, "a text", |value| match value {
            Value::String(text) => Some(text.trim().to_owned()),
            Value::Number(number) => Some(number.to_string()),
            _ => None,
        });
        text.filter(|text| !text.is_empty())
    }

    pub(super) fn flag(&mut self, key: &str, default: bool) -> bool {
        self.read(key, "true or false", switch).unwrap_or(default)
    }

    /// A switch, or the text that stands in its place.
    pub(super) fn switch_or_text(&mut self, key: &str) -> Option<Result<bool, String>> {
        self.read(key, "true, false or a file", |value| {
            switch(value).map(Ok).or_else(|| value.as_str().map(|text| Err(text.to_owned())))
        })
    }

    pub(super) fn whole(&mut self, key: &str) -> Option<u32> {
        self.read(key, "a whole number", |value| number(value).filter(|number| number.fract() == 0.0).map(|n| n as u32))
    }

    /// Seconds; zero and less is none.
    pub(super) fn seconds(&mut self, key: &str) -> Option<Duration> {
        let seconds = self.read(key, "a number of seconds", number)?;
        Duration::try_from_secs_f64(seconds).ok().filter(|duration| !duration.is_zero())
    }

    /// A list of texts; one text alone is a list of one.
    pub(super) fn texts(&mut self, key: &str) -> Option<Vec<String>> {
        self.read(key, "a list of texts", |value| match value {
            Value::Array(items) => items.iter().map(scalar).collect(),
            other => scalar(other).map(|text| vec![text]),
        })
    }

    pub(super) fn names(&mut self, key: &str) -> Option<BTreeSet<String>> {
        let names = self.texts(key)?;
        (!names.is_empty()).then(|| names.into_iter().collect())
    }

    pub(super) fn map(&mut self, key: &str) -> BTreeMap<String, String> {
        let map = self.read(key, "a section of texts", |value| {
            let entries = value.as_object()?.iter();
            entries.map(|(name, value)| Some((name.clone(), scalar(value)?))).collect()
        });
        map.unwrap_or_default()
    }
}

fn scalar(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(flag) => Some(flag.to_string()),
        _ => None,
    }
}

fn number(value: &Value) -> Option<f64> {
    let number = value.as_f64().or_else(|| value.as_str()?.trim().parse().ok())?;
    (number.is_finite() && number >= 0.0).then_some(number)
}
