//! `config.yaml` as a value: parsed once, with the order of its keys, or refused with the place and the reason.
//!
//! The parser has a small budget, so that a file of a few lines cannot grow into gigabytes through aliases. Nothing here
//! writes. A refusal shows the line at fault, with anything secret in it covered.

use super::disk::{self, DiskError};
use super::mask;
use hermes_types::clip;
use serde_json::{Map, Value};
use serde_saphyr::Error as YamlError;
use std::fmt;
use std::path::{Path, PathBuf};

const MOST_NODES: usize = 50_000;
const DEEPEST: usize = 48;
const MOST_ALIASES: usize = 1_000;
const SNIPPET_WIDTH: usize = 100;

#[derive(Debug, thiserror::Error)]
pub enum DocumentError {
    #[error(transparent)]
    Disk(#[from] DiskError),
    #[error("{0}")]
    Broken(Box<Broken>),
}

/// Why a file is not a settings document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Broken {
    pub file: PathBuf,
    pub place: Option<Place>,
    pub reason: String,
    pub hint: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    pub line: u64,
    pub column: u64,
    /// The text of the line, secrets covered.
    pub text: String,
}

/// The settings in a file; no file is no settings.
pub fn load(path: &Path) -> Result<Map<String, Value>, DocumentError> {
    match disk::read(path)? {
        Some(bytes) => parse(path, &bytes).map_err(|broken| DocumentError::Broken(Box::new(broken))),
        None => Ok(Map::new()),
    }
}

/// The settings in the bytes of `file`.
pub fn parse(file: &Path, bytes: &[u8]) -> Result<Map<String, Value>, Broken> {
    let refuse = |place, reason: String, hint| Broken { file: file.to_owned(), place, reason, hint };
    let text = std::str::from_utf8(bytes).map_err(|error| {
        let line = bytes.iter().take(error.valid_up_to()).filter(|byte| **byte == b'\n').count() as u64 + 1;
        refuse(
            Some(Place { line, column: 1, text: String::new() }),
            "the text is not UTF-8".into(),
            "Save it as UTF-8 in your editor.",
        )
    })?;
    match parse_text(text) {
        Ok(Value::Null) => Ok(Map::new()),
        Ok(Value::Object(map)) => Ok(map),
        Ok(_) => Err(refuse(
            None,
            "it holds a single value or a list, but settings are lines of `key: value`".into(),
            "Write it like `agent:` with `  max_turns: 50` below.",
        )),
        Err(error) => {
            let place = error.location().map(|at| Place {
                line: at.line(),
                column: at.column(),
                text: snippet(text, at.line()),
            });
            let (reason, hint) = explain(error.without_snippet());
            Err(refuse(place, reason, hint))
        }
    }
}

/// The value of a YAML text. Also reads back what an edit is about to write.
pub fn parse_text(text: &str) -> Result<Value, YamlError> {
    let options = serde_saphyr::options! {
        with_snippet: false,
        budget: serde_saphyr::budget! {
            max_nodes: MOST_NODES,
            max_events: 2 * MOST_NODES,
            max_depth: DEEPEST,
            flow_nesting_limit: DEEPEST,
            max_aliases: MOST_ALIASES,
            max_anchors: MOST_ALIASES,
            max_recorded_anchor_events: MOST_NODES,
        },
    };
    serde_saphyr::from_str_with_options(text, options)
}

/// Lays `over` on top of `under`: mappings are merged key by key, everything else is replaced.
pub fn merge(under: &mut Value, over: Value) {
    match (under, over) {
        (Value::Object(under), Value::Object(over)) => {
            for (key, value) in over {
                match under.get_mut(&key) {
                    Some(slot) => merge(slot, value),
                    None => {
                        under.insert(key, value);
                    }
                }
            }
        }
        (under, over) => *under = over,
    }
}

/// Replaces every `${NAME}` in texts by what `lookup` knows; an unknown one stays as it is written.
pub fn expand(value: &mut Value, lookup: &dyn Fn(&str) -> Option<String>) {
    match value {
        Value::String(text) if text.contains("${") => *text = expand_text(text, lookup),
        Value::Array(items) => items.iter_mut().for_each(|item| expand(item, lookup)),
        Value::Object(map) => map.values_mut().for_each(|item| expand(item, lookup)),
        _ => {}
    }
}

pub fn expand_text(text: &str, lookup: &dyn Fn(&str) -> Option<String>) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("${") {
        out.push_str(before);
        match after.split_once('}') {
            Some((name, tail)) => {
                match lookup(name) {
                    Some(value) => out.push_str(&value),
                    None => out.extend(["${", name, "}"]),
                }
                rest = tail;
            }
            None => {
                out.push_str("${");
                rest = after;
            }
        }
    }
    out.push_str(rest);
    out
}

/// What went wrong in a person's words, and what to do about it.
fn explain(error: &YamlError) -> (String, &'static str) {
    match error {
        YamlError::DuplicateMappingKey { key, .. } => (
            format!("`{}` is there twice in the same section", key.as_deref().unwrap_or("a key")),
            "Keep one of the two and delete the other.",
        ),
        YamlError::MultipleDocuments { .. } => {
            ("it holds more than one document".into(), "Delete the second `---` line and join the two parts.")
        }
        YamlError::Budget { .. }
        | YamlError::AliasReplayLimitExceeded { .. }
        | YamlError::AliasReplayStackDepthExceeded { .. } => (
            "it nests deeper or expands to more than any settings file needs".into(),
            "Look for aliases (`*name`) that repeat each other, and write the values out.",
        ),
        YamlError::AliasError { error, .. } => explain(error),
        YamlError::NullIntoString { .. } => ("a key is empty".into(), "Give the line a name before its colon."),
        other => {
            let text = other.render();
            let reason = text.split(" at line ").next().unwrap_or_default().to_owned();
            let hint = if reason.contains("tab") {
                "Replace the tabs at the start of the line by spaces."
            } else if reason.contains("unexpected character") {
                "Put the value in quotes."
            } else {
                "Check the indentation, the quotes and the brackets there."
            };
            (reason, hint)
        }
    }
}

/// The line at fault as it may be shown.
fn snippet(text: &str, line: u64) -> String {
    let index = usize::try_from(line).unwrap_or(usize::MAX).saturating_sub(1);
    let line = text.lines().nth(index).unwrap_or_default().replace('\t', "→");
    clip(&mask::line(&line), SNIPPET_WIDTH)
}

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.file.display())?;
        if let Some(place) = &self.place {
            write!(f, ", line {}, column {}", place.line, place.column)?;
        }
        write!(f, ": {}.", self.reason)?;
        if let Some(place) = self.place.as_ref().filter(|place| !place.text.is_empty()) {
            write!(f, "\n  {} | {}", place.line, place.text)?;
        }
        write!(f, "\n{} `hermes config edit` opens the file. It was not changed.", self.hint)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn refusal(text: &str) -> String {
        parse(Path::new("config.yaml"), text.as_bytes()).expect_err(text).to_string()
    }

    #[test]
    fn an_empty_file_is_no_settings_and_order_is_kept() {
        for text in ["", "# nothing yet\n", "---\n"] {
            assert_eq!(parse(Path::new("c"), text.as_bytes()), Ok(Map::new()), "{text:?}");
        }
        let map = parse(Path::new("c"), b"zeta: 1\nalpha: yes\nmid: {<<: {x: 1}, y: 2.5}\n").expect("read");
        assert_eq!(Value::Object(map).to_string(), r#"{"zeta":1,"alpha":true,"mid":{"y":2.5,"x":1}}"#);
    }

    #[test]
    fn a_refusal_names_place_reason_and_next_step() {
        let table = [
            (
                "agent:\n\tmax_turns: 5\n",
                "config.yaml, line 2, column 2: tabs disallowed within this context (block indentation).\n  2 | →max_turns: \
                 5\nReplace the tabs at the start of the line by spaces. `hermes config edit` opens the file. It was not changed.",
            ),
            (
                "a: 1\na: 2\n",
                "config.yaml, line 2, column 1: `a` is there twice in the same section.\n  2 | a: 2\nKeep one of the two and \
                 delete the other. `hermes config edit` opens the file. It was not changed.",
            ),
            (
                "- one\n- two\n",
                "config.yaml: it holds a single value or a list, but settings are lines of `key: value`.\nWrite it like \
                 `agent:` with `  max_turns: 50` below. `hermes config edit` opens the file. It was not changed.",
            ),
            (
                "toolsets: [web, file\n",
                "config.yaml, line 1, column 11: unclosed bracket '['.\n  1 | toolsets: [web, file\nCheck the indentation, the \
                 quotes and the brackets there. `hermes config edit` opens the file. It was not changed.",
            ),
            (
                "a: 1\n---\nb: 2\n",
                "config.yaml, line 3, column 1: it holds more than one document.\n  3 | b: 2\nDelete the second `---` line and \
                 join the two parts. `hermes config edit` opens the file. It was not changed.",
            ),
        ];
        for (text, expected) in table {
            assert_eq!(refusal(text), expected);
        }
        let latin = parse(Path::new("config.yaml"), b"a: 1\nb: \xe9\n").expect_err("not UTF-8").to_string();
        assert!(
            latin.starts_with("config.yaml, line 2, column 1: the text is not UTF-8.\nSave it as UTF-8"),
            "{latin}"
        );
    }

    #[test]
    fn a_broken_line_never_shows_its_secret() {
        let message = refusal("model:\n  api_key: \"sk-live-0123456789abcdef\n  default: x\n");
        assert!(!message.contains("0123456789"), "{message}");
        let message = refusal("model: {api_key: sk-live-0123456789abcdef\n");
        assert!(!message.contains("0123456789"), "{message}");
    }

    #[test]
    fn an_alias_bomb_costs_little_and_is_refused() {
        let mut bomb = String::from("a0: &a0 [x, x, x, x, x, x, x, x, x]\n");
        for level in 1..12 {
            let below = vec![format!("*a{}", level - 1); 9].join(", ");
            bomb.push_str(&format!("a{level}: &a{level} [{below}]\n"));
        }
        assert!(refusal(&bomb).contains("expands to more than any settings file needs"));
        let deep = format!("a: {}{}\n", "[".repeat(500), "]".repeat(500));
        assert!(parse(Path::new("c"), deep.as_bytes()).is_err());
    }

    #[test]
    fn variables_are_expanded_and_unknown_ones_stay() {
        let mut value =
            json!({"url": "http://${HOST}:${PORT}/v1", "list": ["${HOST}"], "n": 1, "odd": "a ${ b", "not": "$HOST"});
        expand(&mut value, &|name| (name == "HOST").then(|| "box".to_owned()));
        assert_eq!(
            value,
            json!({"url": "http://box:${PORT}/v1", "list": ["box"], "n": 1, "odd": "a ${ b", "not": "$HOST"})
        );
    }
}
