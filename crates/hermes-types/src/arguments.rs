//! The arguments of a tool call, exactly as the model wrote them, and the one way to read them.
//!
//! A tool never runs on arguments that were lost, cut off or guessed. So the reader mends only slips that leave no doubt
//! about what was meant (trailing commas, Python literals, raw line breaks in strings, a code fence, a surplus closing
//! bracket) and refuses everything else: no prefix of a longer text is ever accepted, and no integer is rounded.

use crate::{Object, clip};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;
use std::sync::OnceLock;

/// Raw argument text. Some servers send an object instead of a string; it is kept as its JSON text.
#[derive(Debug, Clone, Default)]
pub struct Arguments {
    written: String,
    /// The canonical form where it is another one: every later request of the conversation repeats it.
    canonical: OnceLock<Option<Box<str>>>,
}

impl PartialEq for Arguments {
    fn eq(&self, other: &Self) -> bool {
        self.written == other.written
    }
}

impl Eq for Arguments {}

impl Serialize for Arguments {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.written)
    }
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ArgumentFault {
    #[error("the arguments end in the middle")]
    Truncated,
    #[error("the arguments are not valid JSON: {0}")]
    Malformed(String),
    #[error("the arguments are {0}, but a JSON object is needed")]
    NotAnObject(&'static str),
    /// Read as a number it would silently become another one.
    #[error("the integer {0} does not fit into 64 bits and would be rounded; it has to be written as a string")]
    OversizedInteger(String),
}

/// How much of an oversized integer is shown.
const SHOWN_DIGITS: usize = 40;

impl Arguments {
    pub fn as_str(&self) -> &str {
        &self.written
    }

    /// The arguments as an object. Nothing at all means no arguments.
    pub fn parse(&self) -> Result<Object, ArgumentFault> {
        let text = self.written.trim();
        if text.is_empty() {
            return Ok(Object::new());
        }
        match serde_json::from_str(text) {
            // Some models encode the object twice.
            Ok(Value::String(inner)) => object_of(read(&inner)?),
            Ok(value) => exact(text, value).and_then(object_of),
            Err(_) => object_of(read(text)?),
        }
    }

    /// The form that is sent back to providers: strict JSON, keys sorted, no white space, so that the same call always has
    /// the same bytes. Servers parse it, so what was mended for us is mended for them; text that cannot be read is sent
    /// as it is.
    pub fn canonical(&self) -> &str {
        let other = self.canonical.get_or_init(|| {
            let canonical = sorted(Value::Object(self.parse().ok()?)).to_string();
            (canonical != self.written).then(|| canonical.into_boxed_str())
        });
        other.as_deref().unwrap_or(&self.written)
    }
}

impl From<String> for Arguments {
    fn from(written: String) -> Self {
        Self { written, canonical: OnceLock::new() }
    }
}

impl From<&str> for Arguments {
    fn from(text: &str) -> Self {
        Self::from(text.to_owned())
    }
}

impl<'de> Deserialize<'de> for Arguments {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(match Value::deserialize(deserializer)? {
            Value::String(text) => Self::from(text),
            Value::Null => Self::default(),
            other => Self::from(other.to_string()),
        })
    }
}

fn object_of(value: Value) -> Result<Object, ArgumentFault> {
    match value {
        Value::Object(object) => Ok(object),
        Value::Null => Ok(Object::new()),
        Value::Bool(_) => Err(ArgumentFault::NotAnObject("true or false")),
        Value::Number(_) => Err(ArgumentFault::NotAnObject("a number")),
        Value::String(_) => Err(ArgumentFault::NotAnObject("a string")),
        Value::Array(_) => Err(ArgumentFault::NotAnObject("a list")),
    }
}

fn sorted(value: Value) -> Value {
    match value {
        Value::Object(object) => {
            let mut entries: Vec<(String, Value)> = object.into_iter().collect();
            entries.sort_by(|a, b| a.0.cmp(&b.0));
            Value::Object(entries.into_iter().map(|(key, value)| (key, sorted(value))).collect())
        }
        Value::Array(items) => Value::Array(items.into_iter().map(sorted).collect()),
        other => other,
    }
}

fn read(text: &str) -> Result<Value, ArgumentFault> {
    let strict = Mender::new(unfenced(text.trim())).mend()?;
    let value = serde_json::from_str(&strict).map_err(|error| ArgumentFault::Malformed(error.to_string()))?;
    exact(&strict, value)
}

/// The value read from this JSON text, unless reading it rounded an integer.
fn exact(json: &str, value: Value) -> Result<Value, ArgumentFault> {
    match oversized_integer(json) {
        Some(digits) => Err(ArgumentFault::OversizedInteger(clip(digits, SHOWN_DIGITS))),
        None => Ok(value),
    }
}

/// The first integer in a JSON text that 64 bits cannot hold. With a point or an exponent it is no integer.
fn oversized_integer(json: &str) -> Option<&str> {
    let mut rest = json;
    loop {
        let start = rest.find(|c: char| c == '"' || c == '-' || c.is_ascii_digit())?;
        let (_, from) = rest.split_at_checked(start)?;
        let is_string = from.starts_with('"');
        let end = if is_string { string_end(from) } else { from.find(|c| !is_in_number(c)).unwrap_or(from.len()) };
        let (token, behind) = from.split_at_checked(end)?;
        let is_integer = !is_string && !token.contains(['.', 'e', 'E']);
        if is_integer && token.parse::<i64>().is_err() && token.parse::<u64>().is_err() {
            return Some(token);
        }
        rest = behind;
    }
}

fn is_in_number(c: char) -> bool {
    c.is_ascii_digit() || matches!(c, '-' | '+' | '.' | 'e' | 'E')
}

/// Where the string that opens the text ends.
fn string_end(text: &str) -> usize {
    let mut escaped = false;
    for (at, c) in text.char_indices().skip(1) {
        match c {
            _ if std::mem::take(&mut escaped) => {}
            '\\' => escaped = true,
            '"' => return at + 1,
            _ => {}
        }
    }
    text.len()
}

/// The inside of a Markdown code fence, if the text is one whole fence.
fn unfenced(text: &str) -> &str {
    let inside =
        text.strip_prefix("```").and_then(|rest| rest.strip_suffix("```")).and_then(|rest| rest.split_once('\n'));
    inside.map_or(text, |(_language, body)| body.trim())
}

/// Rewrites the harmless slips of models into strict JSON, one pass, nothing looked up ahead of time.
struct Mender<'a> {
    rest: std::iter::Peekable<std::str::Chars<'a>>,
    open: Vec<char>,
    out: String,
}

impl<'a> Mender<'a> {
    fn new(text: &'a str) -> Self {
        Self { rest: text.chars().peekable(), open: Vec::new(), out: String::with_capacity(text.len()) }
    }

    fn mend(mut self) -> Result<String, ArgumentFault> {
        let mut complete = false;
        while let Some(c) = self.rest.next() {
            if complete {
                // One closing bracket too many is a slip; anything else means there is more than one value.
                if c.is_whitespace() || matches!(c, '}' | ']') {
                    continue;
                }
                return Err(ArgumentFault::Malformed("text after the end".into()));
            }
            match c {
                '"' | '\'' => self.string(c)?,
                '{' => self.enter('{', '}'),
                '[' => self.enter('[', ']'),
                '}' | ']' => {
                    self.leave(c)?;
                    complete = self.open.is_empty();
                }
                ',' => self.comma(),
                c if c.is_alphabetic() => self.word(c),
                c => self.out.push(c),
            }
        }
        if !self.open.is_empty() {
            return Err(ArgumentFault::Truncated);
        }
        Ok(self.out)
    }

    fn enter(&mut self, opener: char, closer: char) {
        self.open.push(closer);
        self.out.push(opener);
    }

    fn leave(&mut self, closer: char) -> Result<(), ArgumentFault> {
        match self.open.pop() {
            Some(expected) if expected == closer => {
                self.out.push(closer);
                Ok(())
            }
            _ => Err(ArgumentFault::Malformed(format!("unexpected `{closer}`"))),
        }
    }

    /// Drops a comma that nothing follows.
    fn comma(&mut self) {
        while self.rest.next_if(|c| c.is_whitespace()).is_some() {}
        if !matches!(self.rest.peek(), Some('}' | ']')) {
            self.out.push(',');
        }
    }

    fn word(&mut self, first: char) {
        let mut word = String::from(first);
        while let Some(c) = self.rest.next_if(|c| c.is_alphanumeric()) {
            word.push(c);
        }
        self.out.push_str(match word.as_str() {
            "True" => "true",
            "False" => "false",
            "None" => "null",
            other => other,
        });
    }

    /// A string in either quote, rewritten with double quotes and escaped control characters.
    fn string(&mut self, quote: char) -> Result<(), ArgumentFault> {
        self.out.push('"');
        while let Some(c) = self.rest.next() {
            match c {
                c if c == quote => {
                    self.out.push('"');
                    return Ok(());
                }
                '\\' => match self.rest.next() {
                    Some('\'') => self.out.push('\''),
                    Some(escaped) => self.out.extend(['\\', escaped]),
                    None => return Err(ArgumentFault::Truncated),
                },
                '"' => self.out.push_str("\\\""),
                '\n' => self.out.push_str("\\n"),
                '\r' => self.out.push_str("\\r"),
                '\t' => self.out.push_str("\\t"),
                c if c.is_control() && c.is_ascii() => {
                    self.out.push_str(&format!("\\u{:04x}", u32::from(c)));
                }
                c => self.out.push(c),
            }
        }
        Err(ArgumentFault::Truncated)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    fn parse(text: &str) -> Result<Value, ArgumentFault> {
        Arguments::from(text).parse().map(Value::Object)
    }

    #[test]
    fn slips_that_leave_no_doubt_are_mended() {
        let table = [
            ("", json!({})),
            ("null", json!({})),
            (r#"{"a": [1, 2,], }"#, json!({"a": [1, 2]})),
            (r#"{'a': 'it\'s', "b": True, "c": None}"#, json!({"a": "it's", "b": true, "c": null})),
            ("{\"a\": \"two\nlines\"}", json!({"a": "two\nlines"})),
            ("```json\n{\"a\": 1}\n```", json!({"a": 1})),
            (r#"{"a": 1}}"#, json!({"a": 1})),
            (r#""{\"a\": 1}""#, json!({"a": 1})),
            (r#"{"a": "True, None,}"}"#, json!({"a": "True, None,}"})),
        ];
        for (text, expected) in table {
            assert_eq!(parse(text), Ok(expected), "{text}");
        }
    }

    #[test]
    fn doubt_is_refused() {
        assert_eq!(parse(r#"{"path": "/tmp/x"#), Err(ArgumentFault::Truncated));
        assert_eq!(parse(r#"{"a": [1, 2"#), Err(ArgumentFault::Truncated));
        assert_eq!(parse(r#"{"a": 1"#), Err(ArgumentFault::Truncated));
        assert_eq!(parse("[1]"), Err(ArgumentFault::NotAnObject("a list")));
        for text in [r#"{"a": 1} {"b": 2}"#, r#"{"a": [1}"#, r#"{"a": }"#, "rm -rf", r#"{"a" 1}"#] {
            assert!(matches!(parse(text), Err(ArgumentFault::Malformed(_))), "{text}");
        }
    }

    #[test]
    fn no_integer_is_rounded() {
        let fits = format!(r#"{{"a": [{}, {}, 1e30, 2.5, "18446744073709551616 \" -9"]}}"#, u64::MAX, i64::MIN);
        assert!(parse(&fits).is_ok(), "{fits}");
        let oversized = |digits: &str| Err(ArgumentFault::OversizedInteger(digits.to_owned()));
        let table = [
            (r#"{"id": 18446744073709551616}"#, "18446744073709551616"),
            (r#"{"a": "\"", "b": [-9223372036854775809]}"#, "-9223372036854775809"),
            (r#"{'id': 123456789012345678901234567890,}"#, "123456789012345678901234567890"),
            (r#""{\"id\": 18446744073709551616}""#, "18446744073709551616"),
        ];
        for (text, digits) in table {
            assert_eq!(parse(text), oversized(digits), "{text}");
            assert_eq!(Arguments::from(text).canonical(), text, "what would be rounded is sent as it is");
        }
        let told = parse(r#"{"id": 18446744073709551616}"#).expect_err("oversized").to_string();
        assert!(told.contains("18446744073709551616 does not fit into 64 bits"), "{told}");
    }

    #[test]
    fn the_canonical_form_is_strict_and_sorted_and_keeps_what_it_cannot_read() {
        let table = [
            (r#"{"b": 1, "a": {"d": 2, "c": 3}}"#, r#"{"a":{"c":3,"d":2},"b":1}"#),
            ("{'b': True, 'a': 1,}", r#"{"a":1,"b":true}"#),
            (r#""{\"a\": 1}""#, r#"{"a":1}"#),
            ("", "{}"),
            ("{oops", "{oops"),
            ("[1]", "[1]"),
        ];
        for (text, canonical) in table {
            assert_eq!(Arguments::from(text).canonical(), canonical, "{text}");
        }
    }

    fn any_json() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            ".*".prop_map(Value::from),
        ];
        leaf.prop_recursive(3, 24, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                prop::collection::vec((".*", inner), 0..4)
                    .prop_map(|entries| Value::Object(entries.into_iter().collect())),
            ]
        })
    }

    proptest! {
        /// P5: what was written whole is read whole; what was cut anywhere is never read at all.
        #[test]
        fn whole_text_is_read_and_no_prefix_ever_is(entries in prop::collection::vec((".*", any_json()), 0..4)) {
            let object: Object = entries.into_iter().collect();
            let text = Value::Object(object.clone()).to_string();
            prop_assert_eq!(Arguments::from(text.as_str()).parse(), Ok(object));
            for (cut, _) in text.char_indices().skip(1) {
                let prefix: String = text.char_indices().take_while(|(at, _)| *at < cut).map(|(_, c)| c).collect();
                prop_assert!(Arguments::from(prefix.as_str()).parse().is_err(), "accepted `{}` of `{}`", prefix, text);
            }
        }
    }
}
