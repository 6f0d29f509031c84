//! JSON as a server could send it, for properties that hold for all of it.

use proptest::prelude::*;
use serde_json::{Map, Value};

/// Keys that mean something to those who read answers and schemas, besides any other.
const KEYS: &str = "(content|type|text|data|mimeType|resource|blob|uri|name|isError|structuredContent|contents|messages|\
    role|description|resources|arguments|definitions|\\$defs|\\$ref|properties|required|[a-z]{0,3})";
const WORDS: &str = "(text|image|audio|resource|resource_link|object|#/definitions/A|aGVsbG8=|image/png|.{0,12})";

pub(crate) fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        WORDS.prop_map(Value::from),
    ];
    leaf.prop_recursive(5, 48, 6, |inner| {
        let entries = proptest::collection::vec((KEYS, inner.clone()), 0..6);
        prop_oneof![
            proptest::collection::vec(inner, 0..6).prop_map(Value::Array),
            entries.prop_map(|entries| Value::Object(entries.into_iter().collect::<Map<String, Value>>())),
        ]
    })
}
