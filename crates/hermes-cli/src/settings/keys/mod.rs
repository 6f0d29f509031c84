//! Every setting the program knows, as data: its address, its default and what it means.
//!
//! One table serves defaults, `config show`, type checks and the advice for a misspelt key. A `*` in an address stands for
//! any name or list place. Keys that are not in the table are kept in files and reported, never dropped.

mod table;

use super::key_path::{KeyPath, leaves};
use super::mask;
use hermes_types::switch;
use serde_json::Value;
use std::sync::LazyLock;
pub use table::KEYS;

/// One row: a setting with its default.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Key {
    /// Segments joined by dots; `*` is any segment.
    pub pattern: &'static str,
    /// The default as JSON; empty when there is none.
    pub default: &'static str,
    pub meaning: &'static str,
    /// The only words it takes; empty when it takes others too.
    pub words: &'static [&'static str],
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

    /// Whether the value is one of the words, where there are any. Where one of them switches
    /// something off, YAML's own `off` and `on` fit too; an empty text means the default.
    fn is_one_of_its_words(&self, value: &Value) -> bool {
        let word = match value {
            Value::Bool(_) => ["off", "none"].into_iter().find(|word| self.words.contains(word)),
            Value::String(text) => Some(text.trim()),
            Value::Null => return true,
            _ => None,
        };
        let fits = |word: &str| {
            word.is_empty() || word.contains("${") || self.words.iter().any(|known| known.eq_ignore_ascii_case(word))
        };
        self.words.is_empty() || word.is_some_and(fits)
    }

    /// What a value has to be, when this one cannot be used.
    fn objection(&self, value: &Value) -> Option<String> {
        if !self.kind().admits(value) {
            return Some(self.kind().expectation().to_owned());
        }
        (!self.is_one_of_its_words(value)).then(|| match self.words.split_last() {
            Some((last, [])) => (*last).to_owned(),
            Some((last, first)) => format!("{} or {last}", first.join(", ")),
            None => String::new(),
        })
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
    /// Whether the typed readers below can use the value. A text with a variable in it is judged when it is expanded.
    pub fn admits(self, value: &Value) -> bool {
        match self {
            // `key:` with nothing behind it means the default.
            _ if value.is_null() => true,
            _ if value.as_str().is_some_and(|text| text.contains("${")) => true,
            Self::Bool => switch(value).is_some(),
            Self::Whole => whole(value).is_some(),
            Self::Number => number(value).is_some(),
            Self::List => value.is_array() || value.is_string(),
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

/// A whole number, zero or more.
pub fn whole(value: &Value) -> Option<u64> {
    match value {
        Value::String(text) => text.trim().parse().ok(),
        value => value.as_u64(),
    }
}

pub fn number(value: &Value) -> Option<f64> {
    match value {
        Value::String(text) => text.trim().parse().ok().filter(|number: &f64| number.is_finite()),
        value => value.as_f64(),
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

/// All defaults as one tree: sections are asked for many times in the life of a program.
static DEFAULTS: LazyLock<Value> = LazyLock::new(|| {
    let mut tree = Value::Null;
    for key in KEYS.iter().filter(|key| !key.is_template()) {
        if let Some(value) = key.default_value() {
            KeyPath::of(key.segments()).put(&mut tree, value);
        }
    }
    tree
});

/// The default of a setting, or the defaults of a whole section.
pub fn default_at(path: &KeyPath) -> Option<Value> {
    match known(path) {
        Known::Key(key) => key.default_value().or(Some(Value::Null)),
        Known::Section => Some(path.find(&DEFAULTS).cloned().unwrap_or_default()),
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
    WrongValue { path: KeyPath, expected: String, got: String },
}

/// Everything in `settings` that is unknown or wrong, in the order of the file. Each cause is named once, at
/// the highest place it shows.
pub fn review(settings: &Value) -> Vec<Remark> {
    let mut remarks: Vec<Remark> = Vec::new();
    for (path, _) in leaves(settings) {
        let depth = path.segments().len();
        let starts = (1..=depth).map(|length| KeyPath::of(path.segments().iter().take(length).cloned()));
        let remark = starts.filter_map(|start| judge(start.find(settings)?, start)).next();
        remarks.extend(remark.filter(|remark| !remarks.contains(remark)));
    }
    remarks
}

fn judge(value: &Value, path: KeyPath) -> Option<Remark> {
    match known(&path) {
        Known::No => Some(Remark::Unknown { suggestion: suggest(&path), path }),
        known => objection(known, value).map(|expected| Remark::WrongValue { path, expected, got: describe(value) }),
    }
}

/// What a value has to be to be used at this place, when this one cannot be.
pub fn objection(place: Known, value: &Value) -> Option<String> {
    match place {
        Known::Key(key) => key.objection(value),
        Known::Section => (!Kind::Map.admits(value)).then(|| Kind::Map.expectation().to_owned()),
        Known::Inside(_) | Known::No => None,
    }
}

/// A value in a person's words; texts in quotes, cut short, and covered where they look like a key.
pub fn describe(value: &Value) -> String {
    match value {
        Value::Null => "nothing".into(),
        Value::Bool(flag) => flag.to_string(),
        Value::Number(number) => number.to_string(),
        Value::String(text) => format!("\"{}\"", hermes_types::clip(&mask::line(text), 40)),
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
    fn a_setting_of_a_few_words_takes_no_other() {
        let table = [
            ("agent.reasoning_effort", json!("hgih"), false),
            ("agent.reasoning_effort", json!("High"), true),
            ("agent.reasoning_effort", json!(false), true),
            ("agent.reasoning_effort", json!(""), true),
            ("approvals.mode", json!("sometimes"), false),
            ("approvals.mode", json!(false), true),
            ("approvals.mode", json!("${MODE}"), true),
            ("terminal.backend", json!(7), false),
            ("terminal.backend", json!("docker"), true),
        ];
        for (key, value, fits) in table {
            assert_eq!(objection(known(&path(key)), &value).is_none(), fits, "{key}: {value}");
        }
        let expected = objection(known(&path("approvals.mode")), &json!("sometimes"));
        assert_eq!(expected.as_deref(), Some("manual, smart or off"));
    }

    #[test]
    fn a_review_reports_each_thing_once() {
        let settings = json!({
            "agent": {"max_turns": "many", "max_turnz": 1},
            "compresion": {"enabled": true, "threshold": 0.5},
            "display": "big",
            "terminal": {"timeout": -5},
            "toolsets": {"web": true},
            "browser": {"headed": "${HEADED}", "command_timeout": "45"},
            "discord": {"channel_prompts": {"123": "hi"}},
            "model": "gpt",
        });
        assert_eq!(
            review(&settings),
            [
                Remark::WrongValue {
                    path: path("agent.max_turns"),
                    expected: Kind::Whole.expectation().into(),
                    got: "\"many\"".into()
                },
                Remark::Unknown { path: path("agent.max_turnz"), suggestion: Some("agent.max_turns".into()) },
                Remark::Unknown { path: path("compresion"), suggestion: Some("compression".into()) },
                Remark::WrongValue {
                    path: path("display"),
                    expected: Kind::Map.expectation().into(),
                    got: "\"big\"".into()
                },
                Remark::WrongValue {
                    path: path("terminal.timeout"),
                    expected: Kind::Whole.expectation().into(),
                    got: "-5".into()
                },
                Remark::WrongValue {
                    path: path("toolsets"),
                    expected: Kind::List.expectation().into(),
                    got: "a section".into()
                },
            ]
        );
    }
}
