//! One chunk of a stream, as far as we read it.
//!
//! Two ways lead to a [`Chunk`]. The fast one borrows from the event's text and skips what we do not read; it fits what
//! well-behaved servers send and copies nothing. Whatever it stumbles over (a list where text belongs, an object of
//! arguments, a repeated key) is read again as a tree by [`Chunk::of`], which accepts any JSON at all.

use crate::wire::json;
use serde::de::{Deserialize, Deserializer, Error, IgnoredAny, SeqAccess, Visitor};
use serde_json::Value;
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::fmt;

#[derive(Debug, Default, serde::Deserialize)]
#[serde(default)]
pub(super) struct Chunk<'a> {
    #[serde(borrow)]
    pub(super) id: Loose<'a>,
    #[serde(borrow)]
    pub(super) object: Loose<'a>,
    #[serde(borrow)]
    pub(super) model: Loose<'a>,
    #[serde(borrow, rename = "choices")]
    pub(super) choice: First<'a>,
    #[serde(borrow)]
    pub(super) usage: Option<Json<'a>>,
    #[serde(borrow)]
    pub(super) error: Option<Json<'a>>,
    /// MiniMax says here how the call went.
    #[serde(borrow)]
    pub(super) base_resp: Option<Json<'a>>,
}

/// The choice with index 0; we never ask for others.
#[derive(Debug, Default)]
pub(super) struct First<'a>(pub(super) Option<Choice<'a>>);

#[derive(Debug, Default, serde::Deserialize)]
#[serde(default)]
pub(super) struct Choice<'a> {
    index: Option<u64>,
    #[serde(borrow)]
    pub(super) delta: Option<Said<'a>>,
    /// The whole message, from servers that do not stream. It is rare, and a chunk is moved about: it takes no room here.
    #[serde(borrow)]
    pub(super) message: Option<Box<Said<'a>>>,
    #[serde(borrow)]
    pub(super) finish_reason: Loose<'a>,
    /// Moonshot counts here.
    #[serde(borrow)]
    pub(super) usage: Option<Json<'a>>,
    /// OpenRouter puts the failure of an upstream here.
    #[serde(borrow)]
    pub(super) error: Option<Json<'a>>,
}

/// What the model said in this chunk.
#[derive(Debug, Default, serde::Deserialize)]
#[serde(default)]
pub(super) struct Said<'a> {
    #[serde(borrow)]
    pub(super) content: Loose<'a>,
    #[serde(borrow)]
    pub(super) reasoning_content: Loose<'a>,
    #[serde(borrow)]
    pub(super) reasoning: Loose<'a>,
    /// Copilot's word for the same, and what it wants back sealed.
    #[serde(borrow)]
    pub(super) reasoning_text: Loose<'a>,
    #[serde(borrow)]
    pub(super) reasoning_opaque: Loose<'a>,
    /// Google's state of the message as a whole.
    #[serde(borrow)]
    pub(super) extra_content: Option<Json<'a>>,
    #[serde(borrow)]
    pub(super) refusal: Loose<'a>,
    #[serde(borrow)]
    pub(super) reasoning_details: Option<Json<'a>>,
    #[serde(borrow)]
    pub(super) tool_calls: Option<Vec<Call<'a>>>,
    /// The form of 2023, without an id.
    #[serde(borrow)]
    pub(super) function_call: Option<Function<'a>>,
}

#[derive(Debug, Default, serde::Deserialize)]
#[serde(default)]
pub(super) struct Call<'a> {
    pub(super) index: Option<u64>,
    #[serde(borrow)]
    pub(super) id: Loose<'a>,
    #[serde(borrow)]
    pub(super) function: Option<Function<'a>>,
    #[serde(borrow)]
    pub(super) extra_content: Option<Json<'a>>,
}

#[derive(Debug, Default, serde::Deserialize)]
#[serde(default)]
pub(super) struct Function<'a> {
    #[serde(borrow)]
    pub(super) name: Loose<'a>,
    #[serde(borrow)]
    pub(super) arguments: Loose<'a>,
}

/// Text, or a number that should have been text, or nothing.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Loose<'a>(Option<Cow<'a, str>>);

/// JSON that is kept as it is until somebody needs it.
#[derive(Debug, Clone, Copy)]
pub(super) enum Json<'a> {
    Raw(&'a RawValue),
    Tree(&'a Value),
}

impl<'a> Loose<'a> {
    /// Empty when there is nothing.
    pub(super) fn as_str(&self) -> &str {
        self.0.as_deref().unwrap_or_default()
    }

    /// The text, unless it is empty.
    pub(super) fn filled(self) -> Option<Cow<'a, str>> {
        self.0.filter(|text| !text.is_empty())
    }

    fn of(value: Option<&'a Value>) -> Self {
        Self(match value {
            Some(Value::String(text)) => Some(Cow::Borrowed(text)),
            Some(value @ (Value::Number(_) | Value::Bool(_))) => Some(Cow::Owned(value.to_string())),
            _ => None,
        })
    }
}

impl<'a> Json<'a> {
    pub(super) fn tree(self) -> Cow<'a, Value> {
        match self {
            // Nobody has looked inside yet, so half a surrogate pair may still hide here.
            Self::Raw(raw) => Cow::Owned(json::parse(raw.get()).unwrap_or_default()),
            Self::Tree(value) => Cow::Borrowed(value),
        }
    }

    fn of(value: Option<&'a Value>) -> Option<Self> {
        value.filter(|value| !value.is_null()).map(Self::Tree)
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Json<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        <&'a RawValue>::deserialize(deserializer).map(Self::Raw)
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Loose<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reader;

        impl<'de> Visitor<'de> for Reader {
            type Value = Loose<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("text")
            }

            fn visit_borrowed_str<E: Error>(self, text: &'de str) -> Result<Self::Value, E> {
                Ok(Loose(Some(Cow::Borrowed(text))))
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<Self::Value, E> {
                Ok(Loose(Some(Cow::Owned(text.to_owned()))))
            }

            fn visit_unit<E: Error>(self) -> Result<Self::Value, E> {
                Ok(Loose(None))
            }

            fn visit_i64<E: Error>(self, number: i64) -> Result<Self::Value, E> {
                Ok(Loose(Some(Cow::Owned(number.to_string()))))
            }

            fn visit_u64<E: Error>(self, number: u64) -> Result<Self::Value, E> {
                Ok(Loose(Some(Cow::Owned(number.to_string()))))
            }
        }

        deserializer.deserialize_any(Reader)
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for First<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reader;

        impl<'de> Visitor<'de> for Reader {
            type Value = First<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list of choices")
            }

            fn visit_unit<E: Error>(self) -> Result<Self::Value, E> {
                Ok(First(None))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
                while let Some(choice) = list.next_element::<Choice<'de>>()? {
                    if choice.is_first() {
                        while list.next_element::<IgnoredAny>()?.is_some() {}
                        return Ok(First(Some(choice)));
                    }
                }
                Ok(First(None))
            }
        }

        deserializer.deserialize_any(Reader)
    }
}

impl Choice<'_> {
    fn is_first(&self) -> bool {
        self.index.unwrap_or_default() == 0
    }
}

impl<'a> Chunk<'a> {
    /// Reads any JSON at all. What has an unexpected shape counts as absent.
    pub(super) fn of(value: &'a Value) -> Self {
        // Google wraps an error into a list of one.
        let value = value.as_array().and_then(|list| list.first()).unwrap_or(value);
        let choices = value.get("choices").and_then(Value::as_array);
        Self {
            id: Loose::of(value.get("id")),
            object: Loose::of(value.get("object")),
            model: Loose::of(value.get("model")),
            choice: First(choices.into_iter().flatten().map(Choice::of).find(Choice::is_first)),
            usage: Json::of(value.get("usage")),
            error: Json::of(value.get("error")),
            base_resp: Json::of(value.get("base_resp")),
        }
    }
}

impl<'a> Choice<'a> {
    fn of(value: &'a Value) -> Self {
        let said = |key: &str| value.get(key).filter(|said| said.is_object()).map(Said::of);
        Self {
            index: number(value.get("index")),
            delta: said("delta"),
            message: said("message").map(Box::new),
            finish_reason: Loose::of(value.get("finish_reason")),
            usage: Json::of(value.get("usage")),
            error: Json::of(value.get("error")),
        }
    }
}

impl<'a> Said<'a> {
    fn of(value: &'a Value) -> Self {
        let mut said = Self {
            content: Loose::of(value.get("content")),
            reasoning_content: Loose::of(value.get("reasoning_content")),
            reasoning: Loose::of(value.get("reasoning")),
            reasoning_text: Loose::of(value.get("reasoning_text")),
            reasoning_opaque: Loose::of(value.get("reasoning_opaque")),
            extra_content: Json::of(value.get("extra_content")),
            refusal: Loose::of(value.get("refusal")),
            reasoning_details: Json::of(value.get("reasoning_details")),
            tool_calls: value
                .get("tool_calls")
                .and_then(Value::as_array)
                .map(|list| list.iter().filter(|call| call.is_object()).map(Call::of).collect()),
            function_call: value.get("function_call").filter(|call| call.is_object()).map(Function::of),
        };
        if let Some(Value::Array(parts)) = value.get("content") {
            said.read_parts(parts);
        }
        said
    }

    /// A whole message lists whole calls: their places tell them apart, whatever numbers and ids they carry.
    pub(super) fn number_calls(&mut self) {
        for (place, call) in (0..).zip(self.tool_calls.iter_mut().flatten()) {
            call.index = Some(place);
        }
    }

    /// Content in parts: text and thinking side by side, as Mistral sends them.
    fn read_parts(&mut self, parts: &[Value]) {
        let (mut text, mut thinking) = (String::new(), String::new());
        for part in parts {
            match part.get("type").and_then(Value::as_str) {
                Some("thinking") => append_text(&mut thinking, part.get("thinking")),
                Some("text" | "output_text") => append_text(&mut text, part.get("text")),
                _ => append_text(&mut text, Some(part)),
            }
        }
        self.content = Loose(Some(Cow::Owned(text)));
        if self.reasoning.as_str().is_empty() && !thinking.is_empty() {
            self.reasoning = Loose(Some(Cow::Owned(thinking)));
        }
    }
}

/// Text that may itself be a list of text parts.
fn append_text(whole: &mut String, value: Option<&Value>) {
    match value {
        Some(Value::String(text)) => whole.push_str(text),
        Some(Value::Array(parts)) => {
            let texts = parts.iter().filter_map(|part| part.get("text").and_then(Value::as_str));
            texts.for_each(|text| whole.push_str(text));
        }
        _ => {}
    }
}

impl<'a> Call<'a> {
    fn of(value: &'a Value) -> Self {
        Self {
            index: number(value.get("index")),
            id: Loose::of(value.get("id")),
            function: value.get("function").filter(|function| function.is_object()).map(Function::of),
            extra_content: Json::of(value.get("extra_content")),
        }
    }
}

impl<'a> Function<'a> {
    fn of(value: &'a Value) -> Self {
        let arguments = match value.get("arguments") {
            Some(tree @ (Value::Object(_) | Value::Array(_))) => Loose(Some(Cow::Owned(tree.to_string()))),
            other => Loose::of(other),
        };
        Self { name: Loose::of(value.get("name")), arguments }
    }
}

/// A number, also in quotes.
fn number(value: Option<&Value>) -> Option<u64> {
    let value = value?;
    value.as_u64().or_else(|| value.as_str()?.trim().parse().ok())
}
