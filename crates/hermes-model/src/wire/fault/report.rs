//! What an error body says, whatever shape the vendor gave it: its codes, the request fields it blames, its words.

use super::clean;
use super::wait::{self, Wait};
use hermes_types::{Object, clip};
use serde_json::Value;

/// Where vendors put their codes.
const CODE_KEYS: [&str; 8] = ["code", "type", "status", "reason", "error_code", "error_type", "__type", "status_code"];
/// Where they put their sentences.
const MESSAGE_KEYS: [&str; 10] = [
    "message",
    "msg",
    "Message",
    "detail",
    "error",
    "error_description",
    "error_message",
    "status_msg",
    "errors",
    "raw",
];
/// Where more of the same may hide. `raw` holds an upstream's whole answer as text.
const NESTED_KEYS: [&str; 11] = [
    "error",
    "errors",
    "detail",
    "details",
    "response",
    "metadata",
    "raw",
    "base_resp",
    "innererror",
    "data",
    "message",
];
const DEEPEST: usize = 6;
const MOST_NODES: usize = 100;
const LONGEST_TEXT: usize = 8_000;

/// An error body, taken apart.
#[derive(Debug, Default)]
pub(super) struct Report {
    /// Lower-case, outermost first.
    pub(super) codes: Vec<String>,
    /// Names of the request fields the body blames.
    pub(super) params: Vec<String>,
    /// An HTTP status the body itself names.
    pub(super) status: Option<u16>,
    /// For people, not yet cleaned.
    pub(super) message: String,
    /// Everything that was said, lower-case, for the phrase table.
    pub(super) text: String,
    pub(super) wait: Option<Wait>,
    nodes: usize,
}

impl Report {
    pub(super) fn of_bytes(body: &[u8]) -> Self {
        let text = String::from_utf8_lossy(body);
        match serde_json::from_str::<Value>(&text).ok().or_else(|| first_event(&text)) {
            Some(value) => Self::of_json(&value),
            None => Self::of_text(&clean::page_text(&text)),
        }
    }

    pub(super) fn of_json(body: &Value) -> Self {
        let mut report = Self { wait: wait::in_body(body), ..Self::default() };
        let mut sentences = Vec::new();
        report.visit(body, "", 0, &mut sentences);
        report.settle(&sentences)
    }

    fn of_text(text: &str) -> Self {
        Self::default().settle(&[clip(text.trim(), LONGEST_TEXT)])
    }

    /// The code worth showing: the most telling one, else the first.
    pub(super) fn best_code(&self) -> Option<&str> {
        let telling = |code: &&String| super::rules::by_code(std::slice::from_ref(*code)).is_some();
        let named = |code: &&String| !matches!(code.as_str(), "error" | "failed" | "response.failed");
        let found = self.codes.iter().find(telling).or_else(|| self.codes.iter().find(named));
        found.map(String::as_str)
    }

    fn settle(mut self, sentences: &[String]) -> Self {
        let mut distinct: Vec<&str> = Vec::new();
        for sentence in sentences.iter().map(|sentence| sentence.trim()).filter(|sentence| !sentence.is_empty()) {
            if !distinct.iter().any(|known| known.contains(sentence)) {
                distinct.push(sentence);
            }
        }
        self.message = distinct.join(": ");
        // A code with spaces in it is a sentence in the wrong place.
        let spoken = self.codes.iter().filter(|code| code.contains(' ')).map(String::as_str);
        let all: Vec<&str> = distinct.into_iter().chain(spoken).collect();
        self.text = clip(&all.join("\n"), LONGEST_TEXT).to_lowercase();
        if self.wait.is_none() {
            self.wait = wait::in_text(&self.text);
        }
        self
    }

    fn visit(&mut self, value: &Value, key: &str, depth: usize, sentences: &mut Vec<String>) {
        self.nodes += 1;
        if depth > DEEPEST || self.nodes > MOST_NODES {
            return;
        }
        match value {
            Value::String(text) if MESSAGE_KEYS.contains(&key) || depth == 0 => {
                // An upstream's answer, quoted whole.
                match serde_json::from_str::<Value>(text) {
                    Ok(inner @ (Value::Object(_) | Value::Array(_))) => self.visit(&inner, key, depth + 1, sentences),
                    _ => sentences.push(clip(text, LONGEST_TEXT)),
                }
            }
            Value::Array(items) => {
                for item in items {
                    self.visit(item, key, depth + 1, sentences);
                }
            }
            Value::Object(object) => {
                for name in CODE_KEYS {
                    if let Some(code) = object.get(name) {
                        self.note_code(code, key);
                    }
                }
                self.note_params(object);
                for (name, value) in object {
                    let is_said = value.is_string() && MESSAGE_KEYS.contains(&name.as_str());
                    let is_nested = !value.is_string() && NESTED_KEYS.contains(&name.as_str());
                    if is_said || is_nested {
                        self.visit(value, name, depth + 1, sentences);
                    }
                }
            }
            _ => {}
        }
    }

    /// `param` names a field, `loc` the steps to it.
    fn note_params(&mut self, object: &Object) {
        let steps = object.get("loc").and_then(Value::as_array).into_iter().flatten();
        let named = object.get("param").into_iter().chain(steps).filter_map(Value::as_str);
        self.params.extend(named.take(MOST_NODES).map(str::to_owned));
    }

    /// Numbers inside `base_resp` are one vendor's own and would collide with another's.
    fn note_code(&mut self, code: &Value, key: &str) {
        let code = match code {
            Value::String(text) => clip(text, 200).to_ascii_lowercase(),
            Value::Number(number) => number.to_string(),
            _ => return,
        };
        let status = code.parse::<u16>().ok().filter(|status| (400..600).contains(status));
        self.status = self.status.or(status);
        if status.is_none() && !code.is_empty() {
            self.codes.push(if key == "base_resp" { format!("base_resp:{code}") } else { code });
        }
    }
}

/// The first object of a body that is an event stream after all.
fn first_event(text: &str) -> Option<Value> {
    let mut data = text.lines().filter_map(|line| line.strip_prefix("data:"));
    data.find_map(|data| serde_json::from_str(data.trim()).ok())
}
