//! Every setting the program knows, as data: its address, its default and what it means.
//!
//! One table serves defaults, `config show`, type checks and the advice for a misspelt key. A `*` in an address stands for
//! any name or list place. Keys that are not in the table are kept in files and reported, never dropped.

mod table;

use super::key_path::{KeyPath, leaves};
use serde_json::Value;
pub use table::KEYS;

/// One row: a setting with its default.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Key {
    /// Segments joined by dots; `*` is any segment.
    pub pattern: &'static str,
    /// The default as JSON; empty when there is none.
    pub default: &'static str,
    pub meaning: &'static str,
}

/// What a setting's value has to be, judged by its default.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Bool,
    Whole,
    Number,
    /// A text; several of these also take true, false, a number or a list, so nothing is refused.
    Text,
    List,
    Map,
    Any,
}

/// What is known about an address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Known {
    /// The row of the setting itself.
    Key(&'static Key),
    /// A section that holds settings.
    Section,
    /// Something inside a setting that takes any content, such as one personality.
    Inside(&'static Key),
    No,
}

impl Key {
    pub fn segments(&self) -> impl DoubleEndedIterator<Item = &'static str> {
        self.pattern.split('.')
    }

    pub fn kind(&self) -> Kind {
        match self.default.chars().next() {
            Some('t' | 'f') => Kind::Bool,
            Some('"') => Kind::Text,
            Some('[') => Kind::List,
            Some('{') => Kind::Map,
            Some(c) if c.is_ascii_digit() || c == '-' => {
                if self.default.contains('.') {
                    Kind::Number
                } else {
                    Kind::Whole
                }
            }
            _ => Kind::Any,
        }
    }

    pub fn default_value(&self) -> Option<Value> {
        serde_json::from_str(self.default).ok()
    }

    fn is_template(&self) -> bool {
        self.segments().any(|segment| segment == "*")
    }

    /// True when the row's address and `path` agree as far as both go.
    fn agrees(&self, path: &[String]) -> bool {
        self.segments().zip(path).all(|(known, asked)| known == "*" || known == asked)
    }

    fn depth(&self) -> usize {
        self.segments().count()
    }
}

impl Kind {
    pub fn admits(self, value: &Value) -> bool {
        match self {
            // `key:` with nothing behind it means the default.
            _ if value.is_null() => true,
            Self::Bool => value.is_boolean(),
            Self::Whole => value.is_u64(),
            Self::Number => value.is_number(),
            Self::List => value.is_array(),
            Self::Map => value.is_object(),
            Self::Text | Self::Any => true,
        }
    }

    pub fn expectation(self) -> &'static str {
        match self {
            Self::Bool => "true or false",
            Self::Whole => "a whole number",
            Self::Number => "a number",
            Self::Text => "a text",
            Self::List => "a list",
            Self::Map => "a section of `key: value` lines",
            Self::Any => "any value",
        }
    }
}

pub fn known(path: &KeyPath) -> Known {
    let asked = path.segments();
    let mut section = false;
    let mut container: Option<&'static Key> = None;
    for key in KEYS.iter().filter(|key| key.agrees(asked)) {
        let depth = key.depth();
        if depth == asked.len() {
            return Known::Key(key);
        }
        section |= depth > asked.len();
        if depth < asked.len() && container.is_none_or(|row| row.depth() < depth) {
            container = Some(key);
        }
    }
    match container {
        _ if section => Known::Section,
        Some(row) if matches!(row.kind(), Kind::Any | Kind::Map | Kind::List) && !has_rows_below(row) => {
            Known::Inside(row)
        }
        _ => Known::No,
    }
}

/// A container with rows of its own below it takes only those.
fn has_rows_below(row: &Key) -> bool {
    let depth = row.depth();
    KEYS.iter()
        .any(|key| key.depth() > depth && key.segments().zip(row.segments()).all(|(below, above)| below == above))
}

/// The default of a setting, or the defaults of a whole section.
pub fn default_at(path: &KeyPath) -> Option<Value> {
    match known(path) {
        Known::Key(key) => key.default_value().or(Some(Value::Null)),
        Known::Section => {
            let mut section = Value::Null;
            for key in KEYS.iter().filter(|key| !key.is_template() && key.agrees(path.segments())) {
                let below = KeyPath::of(key.segments().skip(path.segments().len()));
                if let Some(value) = key.default_value() {
                    below.put(&mut section, value);
                }
            }
            Some(section)
        }
        Known::Inside(_) | Known::No => None,
    }
}

/// The known address a person most likely meant: one spelt nearly the same, else the right name in another section.
pub fn suggest(path: &KeyPath) -> Option<String> {
    const CLOSE: f64 = 0.7;
    /// More homes than this and a name says nothing.
    const FEW: usize = 2;
    let asked = path.to_string().to_ascii_lowercase();
    let (score, best) = KEYS
        .iter()
        .map(|key| in_the_words_of(path, key))
        .map(|candidate| (strsim::normalized_damerau_levenshtein(&asked, &candidate), candidate))
        .reduce(|best, next| if next.0 > best.0 { next } else { best })?;
    if score >= CLOSE {
        return Some(best);
    }
    let mut same_name = KEYS.iter().filter(|key| !key.is_template() && key.segments().next_back() == Some(path.last()));
    let first = same_name.next()?;
    (same_name.count() < FEW).then(|| first.pattern.to_owned())
}

/// The row's address as deep as `path`, with the person's own names in place of `*`.
fn in_the_words_of(path: &KeyPath, key: &Key) -> String {
    let parts: Vec<&str> = key
        .segments()
        .zip(path.segments())
        .map(|(known, own)| if known == "*" { own.as_str() } else { known })
        .collect();
    parts.join(".")
}

/// One thing about a file of settings that a person should look at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Remark {
    Unknown { path: KeyPath, suggestion: Option<String> },
    WrongKind { path: KeyPath, expected: Kind, got: String },
}

/// Everything in `settings` that is unknown or of the wrong kind, in the order of the file.
pub fn review(settings: &Value) -> Vec<Remark> {
    let mut remarks: Vec<Remark> = Vec::new();
    for (path, value) in leaves(settings) {
        // A section that is a plain value hides what belongs below it; name the section, once.
        let remark = match known(&path) {
            Known::Key(key) if key.kind().admits(value) => continue,
            Known::Key(key) => Remark::WrongKind { path, expected: key.kind(), got: describe(value) },
            Known::Section if value.is_object() || value.is_null() => continue,
            Known::Section => Remark::WrongKind { path, expected: Kind::Map, got: describe(value) },
            Known::Inside(_) => continue,
            Known::No => {
                let root = first_unknown(&path);
                Remark::Unknown { suggestion: suggest(&root), path: root }
            }
        };
        if !remarks.contains(&remark) {
            remarks.push(remark);
        }
    }
    remarks
}

/// The shortest beginning of the address that is unknown already.
fn first_unknown(path: &KeyPath) -> KeyPath {
    let count = path.segments().len();
    (1..=count)
        .map(|length| KeyPath::of(path.segments().iter().take(length).cloned()))
        .find(|start| known(start) == Known::No)
        .unwrap_or_else(|| path.clone())
}

/// A value in a person's words; texts in quotes, cut short.
pub fn describe(value: &Value) -> String {
    match value {
        Value::Null => "nothing".into(),
        Value::Bool(flag) => flag.to_string(),
        Value::Number(number) => number.to_string(),
        Value::String(text) => format!("\"{}\"", hermes_types::clip(text, 40)),
        Value::Array(_) => "a list".into(),
        Value::Object(_) => "a section".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn path(text: &str) -> KeyPath {
        KeyPath::parse(text).expect("a path")
    }

    #[test]
    fn every_row_is_well_formed_and_there_once() {
        let mut seen = std::collections::BTreeSet::new();
        for key in KEYS {
            assert!(seen.insert(key.pattern), "{} is there twice", key.pattern);
            assert!(key.default.is_empty() || key.default_value().is_some(), "{} has no JSON default", key.pattern);
            assert!(!key.meaning.is_empty() && !key.meaning.ends_with('.'), "{}", key.pattern);
            assert!(
                !key.is_template() || key.default.is_empty() || key.pattern.starts_with("auxiliary."),
                "{}",
                key.pattern
            );
            assert_eq!(known(&path(key.pattern)), Known::Key(key), "{} is hidden by an earlier row", key.pattern);
        }
    }

    #[test]
    fn known_addresses_are_told_from_unknown_ones() {
        assert!(matches!(known(&path("agent.max_turns")), Known::Key(_)));
        assert_eq!(known(&path("agent")), Known::Section);
        assert!(matches!(known(&path("providers.my-proxy.base_url")), Known::Key(_)));
        assert!(matches!(known(&path("providers.my-proxy.models.foo.context_length")), Known::Inside(_)));
        assert!(matches!(known(&path("custom_providers.0.name")), Known::Inside(_)));
        assert!(matches!(known(&path("discord.voice_fx.volume")), Known::Inside(_)));
        assert!(matches!(known(&path("personalities.pirate")), Known::Inside(_)));
        assert!(matches!(known(&path("auxiliary.vision.model")), Known::Key(_)));
        for unknown in ["agent.max_turn", "providers.my-proxy.bas_url", "nonsense", "agent.max_turns.deeper"] {
            assert_eq!(known(&path(unknown)), Known::No, "{unknown}");
        }
    }

    #[test]
    fn a_misspelt_key_gets_the_likely_one() {
        let table = [
            ("agent.max_turn", Some("agent.max_turns")),
            ("max_turns", Some("agent.max_turns")),
            ("save_json", None),
            ("browser.headedd", Some("browser.headed")),
            ("providers.my-proxy.bas_url", Some("providers.my-proxy.base_url")),
            ("reasoning_effort_default", None),
            ("cache_ttl", Some("prompt_caching.cache_ttl")),
            ("zzz", None),
        ];
        for (asked, expected) in table {
            assert_eq!(suggest(&path(asked)).as_deref(), expected, "{asked}");
        }
    }

    #[test]
    fn defaults_are_found_for_keys_and_sections() {
        assert_eq!(default_at(&path("agent.max_turns")), Some(json!(90)));
        assert_eq!(default_at(&path("prompt_caching")), Some(json!({"cache_ttl": "5m"})));
        assert_eq!(default_at(&path("model.api_key")), Some(Value::Null));
        assert_eq!(default_at(&path("nonsense")), None);
    }

    #[test]
    fn a_review_reports_each_thing_once() {
        let settings = json!({
            "agent": {"max_turns": "many", "max_turnz": 1},
            "compresion": {"enabled": true, "threshold": 0.5},
            "display": "big",
            "terminal": {"timeout": -5},
            "toolsets": "web",
            "discord": {"channel_prompts": {"123": "hi"}},
            "model": "gpt",
        });
        assert_eq!(
            review(&settings),
            [
                Remark::WrongKind { path: path("agent.max_turns"), expected: Kind::Whole, got: "\"many\"".into() },
                Remark::Unknown { path: path("agent.max_turnz"), suggestion: Some("agent.max_turns".into()) },
                Remark::Unknown { path: path("compresion"), suggestion: Some("compression".into()) },
                Remark::WrongKind { path: path("display"), expected: Kind::Map, got: "\"big\"".into() },
                Remark::WrongKind { path: path("terminal.timeout"), expected: Kind::Whole, got: "-5".into() },
                Remark::WrongKind { path: path("toolsets"), expected: Kind::List, got: "\"web\"".into() },
            ]
        );
    }
}
