//! An answer whose every word is known, told in each protocol, by servers with different manners.

use crate::mutant::pick;
use crate::reference;
use hermes_model::wire::ApiMode;
use hermes_testkit::Move;
use hermes_types::{Object, ToolCall};
use proptest::prelude::*;
use serde_json::{Value, json};

const NAMES: [&str; 4] = ["terminal", "read_file", "get_weather", "f"];
/// What brackets, quotes, escapes, digits and wide characters do to a careless reader.
const WORDS: [&str; 22] = [
    "a", "path", "{\"", "}", "]", "{", "[1,", "\\", "\"", "'", ",", ":", "12", "true", "None", "é", "上海", "😀", "\n",
    "data: x", " ", "[DONE]",
];

#[derive(Debug, Clone)]
pub struct Tale {
    parts: Vec<Part>,
    /// Characters per delta.
    chunk: u8,
    pub habit: Habit,
}

#[derive(Debug, Clone)]
enum Part {
    Text(Words),
    Call { name: u8, arguments: Vec<(u8, Given)> },
}

#[derive(Debug, Clone)]
enum Given {
    Null,
    Flag(bool),
    Number(i32),
    Text(Words),
    List(Vec<i8>),
}

#[derive(Debug, Clone)]
struct Words(Vec<u8>);

pub fn tales() -> impl Strategy<Value = Tale> {
    let words = || prop::collection::vec(any::<u8>(), 0..=5).prop_map(Words);
    let given = prop_oneof![
        Just(Given::Null),
        any::<bool>().prop_map(Given::Flag),
        any::<i32>().prop_map(Given::Number),
        words().prop_map(Given::Text),
        prop::collection::vec(any::<i8>(), 0..=3).prop_map(Given::List),
    ];
    let arguments = prop::collection::vec((any::<u8>(), given), 0..=3);
    let part = prop_oneof![
        words().prop_map(Part::Text),
        (any::<u8>(), arguments).prop_map(|(name, arguments)| Part::Call { name, arguments }),
    ];
    let habit = prop_oneof![Just(Habit::Proper), Just(Habit::Zero), Just(Habit::Careless)];
    (prop::collection::vec(part, 1..=5), 1..=16u8, habit).prop_map(|(parts, chunk, habit)| Tale { parts, chunk, habit })
}

/// How a server departs from what its protocol's inventor does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Habit {
    Proper,
    /// Every call and block has number 0.
    Zero,
    /// Numbers (chat) or the ends of items (the others) are left out.
    Careless,
}

/// One event and what is known about it.
#[derive(Debug, Clone, PartialEq)]
pub struct Told {
    pub name: String,
    pub data: String,
    /// The call it belongs to.
    pub call: Option<usize>,
    /// The piece of that call's arguments it carries.
    pub arguments: String,
    /// The piece of the answer it carries.
    pub text: String,
    /// It says why the answer ended.
    pub ends: bool,
}

impl Tale {
    /// The calls as every reader should find them.
    pub fn calls(&self) -> Vec<(String, String, String)> {
        let calls = self.parts.iter().filter_map(|part| match part {
            Part::Call { name, arguments } => Some((pick(&NAMES, *name), arguments)),
            Part::Text(_) => None,
        });
        let told = calls.enumerate().map(|(at, (name, arguments))| (id(at), name.to_owned(), written(arguments)));
        told.collect()
    }

    /// The whole text: some protocols divide it into blocks, which become lines.
    pub fn text(&self, mode: ApiMode) -> String {
        let texts: Vec<String> = self.parts.iter().filter_map(Part::text).collect();
        texts.join(if mode == ApiMode::ChatCompletions { "" } else { "\n" })
    }

    pub fn events(&self, mode: ApiMode) -> Vec<Told> {
        let path = match mode {
            ApiMode::ChatCompletions => "/chat/completions",
            ApiMode::CodexResponses => "/responses",
            ApiMode::AnthropicMessages => "/v1/messages",
        };
        let mut spoken = Move::say("");
        let mut calls = 0;
        for part in &self.parts {
            spoken = match part {
                Part::Text(_) => spoken.text(&part.text().unwrap_or_default()),
                Part::Call { name, arguments } => {
                    calls += 1;
                    spoken.call_raw(pick(&NAMES, *name), &written(arguments)).id(&id(calls - 1))
                }
            };
        }
        let bytes = spoken.chunk(self.chunk.into()).events(path).concat();
        reference::events(&bytes).into_iter().filter_map(|(name, data)| self.told(mode, name, &data)).collect()
    }

    /// Reads off an event what it is about, then lets the server's habit at it. `None` when the habit leaves it out.
    fn told(&self, mode: ApiMode, name: String, data: &str) -> Option<Told> {
        let Ok(mut json) = serde_json::from_str::<Value>(data) else {
            return Some(Told::new(name, data.to_owned()));
        };
        let text_at = |path: &str| json.pointer(path).and_then(Value::as_str).unwrap_or_default().to_owned();
        let number_at = |path: &str| json.pointer(path).and_then(Value::as_u64).and_then(|n| usize::try_from(n).ok());
        let kind = text_at("/type");
        let mut told = Told::new(name, String::new());
        match mode {
            ApiMode::ChatCompletions => {
                told.call = number_at("/choices/0/delta/tool_calls/0/index");
                told.arguments = text_at("/choices/0/delta/tool_calls/0/function/arguments");
                told.text = text_at("/choices/0/delta/content");
                told.ends = json.pointer("/choices/0/finish_reason").is_some_and(|word| !word.is_null());
            }
            ApiMode::CodexResponses => {
                told.call = number_at("/output_index").and_then(|part| self.call_at(part));
                match kind.as_str() {
                    "response.function_call_arguments.delta" => told.arguments = text_at("/delta"),
                    "response.output_text.delta" => told.text = text_at("/delta"),
                    _ => told.ends = kind == "response.completed",
                }
            }
            ApiMode::AnthropicMessages => {
                told.call = number_at("/index").and_then(|part| self.call_at(part));
                told.arguments = text_at("/delta/partial_json");
                told.text = text_at("/delta/text");
                told.ends = kind == "message_delta";
            }
        }
        let kept = self.habit.shows(mode, &mut json, &kind, || self.name_of(told.call));
        told.data = json.to_string();
        kept.then_some(told)
    }

    /// Which call the part of this number is.
    fn call_at(&self, part: usize) -> Option<usize> {
        let is_call = |part: &&Part| matches!(part, Part::Call { .. });
        self.parts.get(part).filter(is_call).map(|_| self.parts[..part].iter().filter(is_call).count())
    }

    fn name_of(&self, call: Option<usize>) -> Option<String> {
        self.calls().into_iter().nth(call?).map(|(_, name, _)| name)
    }
}

impl Part {
    fn text(&self) -> Option<String> {
        match self {
            // A part without words would not be told at all.
            Self::Text(words) if words.0.is_empty() => Some("x".into()),
            Self::Text(words) => Some(words.joined()),
            Self::Call { .. } => None,
        }
    }
}

impl Words {
    fn joined(&self) -> String {
        self.0.iter().map(|word| pick(&WORDS, *word)).collect()
    }
}

impl Told {
    fn new(name: String, data: String) -> Self {
        Self { name, data, call: None, arguments: String::new(), text: String::new(), ends: false }
    }

    /// As it goes over the wire.
    pub fn bytes(&self) -> Vec<u8> {
        let name = if self.name.is_empty() { String::new() } else { format!("event: {}\n", self.name) };
        format!("{name}data: {}\n\n", self.data).into_bytes()
    }

    pub fn is(&self, (name, data): &(String, String)) -> bool {
        self.name == *name && self.data == *data
    }
}

impl Habit {
    /// Changes the event as the server would; false when the server would not send it.
    fn shows(self, mode: ApiMode, json: &mut Value, kind: &str, name: impl Fn() -> Option<String>) -> bool {
        let number = match mode {
            ApiMode::ChatCompletions => json.pointer_mut("/choices/0/delta/tool_calls/0/index"),
            ApiMode::CodexResponses => json.get_mut("output_index"),
            ApiMode::AnthropicMessages => json.get_mut("index"),
        };
        match (self, mode) {
            (Self::Proper, _) => true,
            (Self::Zero, _) => {
                if let Some(number) = number {
                    *number = json!(0);
                }
                true
            }
            (Self::Careless, ApiMode::ChatCompletions) => {
                if let Some(number) = number {
                    *number = Value::Null;
                    json["choices"][0]["delta"]["tool_calls"][0]["function"]["name"] = json!(name());
                }
                true
            }
            (Self::Careless, ApiMode::CodexResponses) => {
                if let Some(output) = json.pointer_mut("/response/output") {
                    *output = Value::Null;
                }
                !kind.ends_with(".done")
            }
            (Self::Careless, ApiMode::AnthropicMessages) => kind != "content_block_stop",
        }
    }
}

fn id(call: usize) -> String {
    format!("id_{call}")
}

fn written(arguments: &[(u8, Given)]) -> String {
    let value = |given: &Given| match given {
        Given::Null => Value::Null,
        Given::Flag(flag) => json!(flag),
        Given::Number(number) => json!(number),
        Given::Text(words) => json!(words.joined()),
        Given::List(list) => json!(list),
    };
    let object: Object = arguments.iter().map(|(key, given)| (pick(&WORDS, *key).to_owned(), value(given))).collect();
    Value::Object(object).to_string()
}

/// Id, name and arguments, to be compared with what was told.
pub fn facts(call: &ToolCall) -> (String, String, String) {
    (call.id.to_string(), call.function.name.clone(), call.function.arguments.as_str().to_owned())
}
