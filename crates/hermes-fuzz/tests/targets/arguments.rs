//! The arguments of tool calls: nothing is accepted that could be a part of something else, and what is mended means
//! what was written.

use hermes_fuzz::{explore, mutants};
use hermes_types::{ArgumentFault, Arguments, Object};
use proptest::prelude::*;
use serde_json::{Value, json};

const CORPUS: [&[u8]; 9] = [
    br#"{"path": "/tmp/x", "lines": [1, 2, -3.5e2], "deep": {"a": {"b": [true, false, null]}}}"#,
    br#"{'command': 'echo "it\'s"', 'background': False, 'timeout': None,}"#,
    b"```json\n{\"a\": 1}\n```",
    br#""{\"a\": \"b\\n\"}""#,
    b"{\"text\": \"two\nlines\tand a tab\"}}",
    "{\"ключ\": \"значение 😀 \\ud83d\\ude00\"}".as_bytes(),
    b"null",
    b"[1, 2]",
    b"",
];
const DICTIONARY: [&str; 20] = [
    "{",
    "}",
    "[",
    "]",
    "\"",
    "'",
    "\\",
    ",",
    ":",
    "True",
    "None",
    "null",
    "```",
    "\n",
    " ",
    "\\u",
    "1",
    "e9",
    "\u{0}",
    "{\"a\":1}",
];

fn parse(text: &str) -> Result<Object, ArgumentFault> {
    Arguments::from(text).parse()
}

/// P5: a text that was cut off is refused, or nothing of its meaning was cut off (white space, a bracket too many).
#[test]
fn a_part_is_never_taken_for_the_whole() {
    explore(mutants(), |mutant| {
        let bytes = mutant.of(&CORPUS, &DICTIONARY);
        let text = String::from_utf8_lossy(&bytes);
        let Ok(whole) = parse(&text) else { return Ok(()) };
        for (cut, _) in text.char_indices() {
            let part = text.get(..cut).unwrap_or_default();
            if !part.trim().is_empty()
                && let Ok(read) = parse(part)
            {
                prop_assert_eq!(&read, &whole, "{:?} was taken for {:?}", part, text);
            }
        }
        Ok(())
    });
}

/// Where strict JSON has an opinion, ours is the same. The canonical form has one form, and means the same.
#[test]
fn valid_json_is_read_as_everybody_reads_it() {
    explore(mutants(), |mutant| {
        let bytes = mutant.of(&CORPUS, &DICTIONARY);
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let arguments = Arguments::from(text.clone());
        match serde_json::from_str::<Value>(&text) {
            Ok(Value::Object(object)) => prop_assert_eq!(arguments.parse(), Ok(object), "{}", text),
            Ok(Value::Null) => prop_assert_eq!(arguments.parse(), Ok(Object::new())),
            Ok(Value::String(_)) | Err(_) => {}
            Ok(_) => prop_assert!(matches!(arguments.parse(), Err(ArgumentFault::NotAnObject(_))), "{text}"),
        }
        let canonical = Arguments::from(arguments.canonical().to_owned());
        prop_assert_eq!(canonical.canonical(), canonical.as_str());
        prop_assert_eq!(canonical.parse(), arguments.parse(), "{}", text);
        Ok(())
    });
}

/// The slips that models make.
#[derive(Debug, Clone, Copy)]
struct Slips {
    single_quotes: bool,
    raw_line_breaks: bool,
    python_words: bool,
    trailing_commas: bool,
    fence: bool,
    bracket_too_many: bool,
}

impl Slips {
    fn write(self, object: &Value) -> String {
        let text = self.value(object) + if self.bracket_too_many { "}" } else { "" };
        if self.fence { format!("```json\n{text}\n```") } else { text }
    }

    fn value(self, value: &Value) -> String {
        let closing = if self.trailing_commas { ", " } else { "" };
        match value {
            Value::Object(map) if map.is_empty() => "{}".into(),
            Value::Object(map) => {
                let entries: Vec<String> =
                    map.iter().map(|(key, value)| format!("{}: {}", self.string(key), self.value(value))).collect();
                format!("{{{}{closing}}}", entries.join(", "))
            }
            Value::Array(items) if items.is_empty() => "[]".into(),
            Value::Array(items) => {
                let items: Vec<String> = items.iter().map(|item| self.value(item)).collect();
                format!("[{}{closing}]", items.join(", "))
            }
            Value::String(text) => self.string(text),
            Value::Bool(true) if self.python_words => "True".into(),
            Value::Bool(false) if self.python_words => "False".into(),
            Value::Null if self.python_words => "None".into(),
            other => other.to_string(),
        }
    }

    fn string(self, text: &str) -> String {
        let strict = json!(text).to_string();
        let inside = strict.get(1..strict.len() - 1).unwrap_or_default();
        let inside = if self.raw_line_breaks { unescaped_breaks(inside) } else { inside.to_owned() };
        if self.single_quotes {
            format!("'{}'", inside.replace("\\\"", "\"").replace('\'', "\\'"))
        } else {
            format!("\"{inside}\"")
        }
    }
}

/// `\n` and `\t` as the characters they stand for; an escaped backslash is left alone.
fn unescaped_breaks(inside: &str) -> String {
    let mut out = String::new();
    let mut rest = inside.chars();
    while let Some(c) = rest.next() {
        match (c, if c == '\\' { rest.next() } else { None }) {
            ('\\', Some('n')) => out.push('\n'),
            ('\\', Some('t')) => out.push('\t'),
            (c, escaped) => out.extend([c].into_iter().chain(escaped)),
        }
    }
    out
}

fn objects() -> impl Strategy<Value = Value> {
    let text = "[a-z\"'\\\\{}\\[\\],:\n\té😀 ]{0,6}";
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        text.prop_map(Value::from),
    ];
    let tree = leaf.prop_recursive(3, 16, 4, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec((text, inner), 0..4).prop_map(|list| Value::Object(list.into_iter().collect())),
        ]
    });
    prop::collection::vec((text, tree), 0..4).prop_map(|list| Value::Object(list.into_iter().collect()))
}

fn slips() -> impl Strategy<Value = Slips> {
    any::<[bool; 6]>().prop_map(|[single_quotes, raw_line_breaks, python_words, trailing_commas, fence, more]| Slips {
        single_quotes,
        raw_line_breaks,
        python_words,
        trailing_commas,
        fence,
        bracket_too_many: more,
    })
}

/// P5: what was mended is what was meant.
#[test]
fn slips_do_not_change_the_meaning() {
    explore((objects(), slips()), |(object, slips)| {
        let text = slips.write(&object);
        prop_assert_eq!(parse(&text).map(Value::Object), Ok(object), "{}", text);
        Ok(())
    });
}
