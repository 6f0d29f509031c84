//! One event of the stream, read in a single pass and borrowed from its text. Fields of the wrong type count as absent;
//! large parts stay unread until somebody needs them.

use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::fmt;

#[derive(Debug, Deserialize)]
pub(super) struct Wire<'a> {
    #[serde(rename = "type", default, borrow)]
    pub(super) kind: Scalar<'a>,
    #[serde(default, borrow)]
    pub(super) delta: Scalar<'a>,
    /// The whole text, in events that end a part.
    #[serde(default, borrow)]
    pub(super) text: Scalar<'a>,
    #[serde(default, borrow)]
    pub(super) arguments: Scalar<'a>,
    #[serde(default, borrow)]
    pub(super) input: Scalar<'a>,
    #[serde(default, borrow)]
    pub(super) refusal: Scalar<'a>,
    #[serde(default, borrow)]
    pub(super) item_id: Scalar<'a>,
    #[serde(default)]
    pub(super) output_index: Scalar<'a>,
    #[serde(default)]
    pub(super) summary_index: Scalar<'a>,
    #[serde(default, borrow)]
    pub(super) item: Option<&'a RawValue>,
    #[serde(default, borrow)]
    pub(super) response: Option<&'a RawValue>,
    #[serde(default, borrow)]
    pub(super) error: Option<&'a RawValue>,
    #[serde(default, borrow)]
    pub(super) output: Option<&'a RawValue>,
    #[serde(default, borrow)]
    pub(super) detail: Option<&'a RawValue>,
}

/// Text or a count; anything else is skipped over.
#[derive(Debug, Default, PartialEq)]
pub(super) enum Scalar<'a> {
    #[default]
    Absent,
    Text(Cow<'a, str>),
    Count(u64),
}

impl Scalar<'_> {
    /// Text that is there and not empty.
    pub(super) fn text(&self) -> Option<&str> {
        match self {
            Self::Text(text) if !text.is_empty() => Some(text),
            _ => None,
        }
    }

    pub(super) fn count(&self) -> Option<u64> {
        match self {
            Self::Count(count) => Some(*count),
            _ => None,
        }
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Scalar<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ScalarVisitor)
    }
}

struct ScalarVisitor;

impl<'de> Visitor<'de> for ScalarVisitor {
    type Value = Scalar<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any JSON value")
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Self::Value, E> {
        Ok(Scalar::Text(Cow::Borrowed(text)))
    }

    fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
        Ok(Scalar::Text(Cow::Owned(text.to_owned())))
    }

    fn visit_u64<E>(self, count: u64) -> Result<Self::Value, E> {
        Ok(Scalar::Count(count))
    }

    fn visit_i64<E>(self, _: i64) -> Result<Self::Value, E> {
        Ok(Scalar::Absent)
    }

    fn visit_f64<E>(self, _: f64) -> Result<Self::Value, E> {
        Ok(Scalar::Absent)
    }

    fn visit_bool<E>(self, _: bool) -> Result<Self::Value, E> {
        Ok(Scalar::Absent)
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(Scalar::Absent)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
        while seq.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Scalar::Absent)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(Scalar::Absent)
    }
}
