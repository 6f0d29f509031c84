//! Arguments in the types that a tool declares.
//!
//! Models write `"5"` for 5 and `"[1]"` for `[1]`. What says the same in the declared type is turned into it; everything
//! else stays as it was given, for the tool to refuse. No integer is rounded, nothing is cut or invented, and coercing twice is the
//! same as coercing once.

use hermes_types::Object;
use serde_json::{Number, Value};

/// Integers up to here are exact as floating-point numbers.
const EXACT: f64 = 9_007_199_254_740_992.0;

/// Arguments after coercion.
#[derive(Debug, Clone, PartialEq)]
pub struct Coerced {
    pub arguments: Object,
    /// What looks like a mistake of the caller, in sentences.
    pub warnings: Vec<String>,
}

/// Coerces the arguments of a call by the `properties` of a parameter schema. What is no object has no arguments.
pub fn coerce(arguments: Value, parameters: &Value) -> Coerced {
    let mut warnings = Vec::new();
    let Value::Object(mut arguments) = arguments else { return Coerced { arguments: Object::new(), warnings } };
    for (name, value) in &mut arguments {
        if let Some(schema) = property(parameters, name) {
            let given = value.take();
            let listed = given.as_str().is_some_and(looks_like_a_list);
            *value = nested(top(given, schema), schema);
            if listed && holds_a_broken_list(value) {
                warnings.push(format!(
                    "{name} looks like a JSON array that cannot be read; it was taken as a list of one text."
                ));
            }
        }
    }
    Coerced { arguments, warnings }
}

fn looks_like_a_list(text: &str) -> bool {
    text.trim_start().starts_with('[')
}

fn holds_a_broken_list(value: &Value) -> bool {
    match value.as_array().map(Vec::as_slice) {
        Some([Value::String(text)]) => looks_like_a_list(text) && read(text, Kind::Array).is_none(),
        _ => false,
    }
}

fn property<'s>(schema: &'s Value, name: &str) -> Option<&'s Value> {
    schema.get("properties")?.get(name)
}

/// The kinds of value that a schema can ask for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    String,
    Integer,
    Number,
    Boolean,
    Array,
    Object,
    Null,
}

impl Kind {
    fn named(name: &str) -> Option<Self> {
        Some(match name {
            "string" => Self::String,
            "integer" => Self::Integer,
            "number" => Self::Number,
            "boolean" => Self::Boolean,
            "array" => Self::Array,
            "object" => Self::Object,
            "null" => Self::Null,
            _ => return None,
        })
    }
}

/// What a schema accepts, in its order. Branches of `anyOf` and `oneOf` count like a list of types.
fn kinds(schema: &Value) -> Vec<Kind> {
    let mut kinds: Vec<Kind> = match schema.get("type") {
        Some(Value::String(name)) => Kind::named(name).into_iter().collect(),
        Some(Value::Array(names)) => names.iter().filter_map(Value::as_str).filter_map(Kind::named).collect(),
        _ => Vec::new(),
    };
    if kinds.is_empty() {
        let branches = ["anyOf", "oneOf"].into_iter().filter_map(|key| schema.get(key)?.as_array()).flatten();
        let named = |branch: &Value| Kind::named(branch.get("type")?.as_str()?);
        kinds = branches.filter_map(named).collect();
    }
    if schema.get("nullable") == Some(&Value::Bool(true)) && !kinds.is_empty() {
        kinds.push(Kind::Null);
    }
    kinds
}

/// A value of an argument itself.
fn top(value: Value, schema: &Value) -> Value {
    let kinds = kinds(schema);
    if schema.get("enum").and_then(Value::as_array).is_some_and(|allowed| allowed.contains(&value)) {
        return value;
    }
    match &value {
        Value::String(text) => {
            if kinds.contains(&Kind::Null) && text.eq_ignore_ascii_case("null") {
                return Value::Null;
            }
            // The order of a list is the author's preference: behind "string", a text is already right.
            let tried = kinds.iter().take_while(|kind| **kind != Kind::String);
            if let Some(read) = tried.filter_map(|kind| read(text, *kind)).next() {
                return read;
            }
            if kinds.contains(&Kind::Array) && !kinds.contains(&Kind::String) { one(value) } else { value }
        }
        Value::Null | Value::Array(_) => value,
        Value::Bool(_) | Value::Number(_) | Value::Object(_) => {
            if kinds.contains(&Kind::Array) && !kinds.iter().any(|kind| is_of(&value, *kind)) {
                one(value)
            } else {
                value
            }
        }
    }
}

fn one(value: Value) -> Value {
    Value::Array(vec![value])
}

fn is_of(value: &Value, kind: Kind) -> bool {
    match value {
        Value::Null => kind == Kind::Null,
        Value::Bool(_) => kind == Kind::Boolean,
        Value::Number(_) => matches!(kind, Kind::Integer | Kind::Number),
        Value::String(_) => kind == Kind::String,
        Value::Array(_) => kind == Kind::Array,
        Value::Object(_) => kind == Kind::Object,
    }
}

/// What a text says in another type, when it says exactly that.
fn read(text: &str, kind: Kind) -> Option<Value> {
    match kind {
        Kind::Integer => number(text).filter(|number| !number.is_f64()).map(Value::Number),
        Kind::Number => number(text).map(Value::Number),
        Kind::Boolean if text.trim().eq_ignore_ascii_case("true") => Some(Value::Bool(true)),
        Kind::Boolean if text.trim().eq_ignore_ascii_case("false") => Some(Value::Bool(false)),
        Kind::Array => serde_json::from_str(text).ok().filter(Value::is_array),
        Kind::Object => serde_json::from_str(text).ok().filter(Value::is_object),
        Kind::Boolean | Kind::String | Kind::Null => None,
    }
}

/// A number as an integer when it has no fraction. Digits that would be lost make it no number at all.
fn number(text: &str) -> Option<Number> {
    let text = text.trim();
    // Words such as "inf" and "nan" are numbers for the standard library and texts for everybody else.
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    if !digits.starts_with(|char: char| char.is_ascii_digit() || char == '.') {
        return None;
    }
    if let Ok(number) = text.parse::<i64>() {
        return Some(number.into());
    }
    if let Ok(number) = text.parse::<u64>() {
        return Some(number.into());
    }
    let value = text.parse::<f64>().ok().filter(|value| value.is_finite())?;
    if value.fract() != 0.0 {
        return Number::from_f64(value);
    }
    let exact = value.abs() < EXACT;
    #[expect(clippy::cast_possible_truncation, reason = "it has no fraction and is smaller than 2^53")]
    exact.then(|| Number::from(value as i64))
}

/// Inside of lists and objects only texts that hold a list or an object are read, where the schema wants one.
fn nested(value: Value, schema: &Value) -> Value {
    match value {
        Value::Array(items) => {
            let inner = schema.get("items");
            Value::Array(items.into_iter().map(|item| opened(item, inner)).collect())
        }
        Value::Object(mut fields) => {
            for (name, field) in &mut fields {
                *field = opened(field.take(), property(schema, name));
            }
            Value::Object(fields)
        }
        other => other,
    }
}

fn opened(value: Value, schema: Option<&Value>) -> Value {
    let Some(schema) = schema else { return value };
    let value = match &value {
        Value::String(text) => {
            let kinds = kinds(schema);
            let wanted = kinds.iter().take_while(|kind| **kind != Kind::String);
            let read =
                wanted.filter(|kind| matches!(kind, Kind::Array | Kind::Object)).find_map(|kind| read(text, *kind));
            read.unwrap_or(value)
        }
        _ => value,
    };
    nested(value, schema)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    fn coerced(value: &Value, schema: &Value) -> Value {
        let parameters = json!({"type": "object", "properties": {"x": schema}});
        Value::Object(coerce(json!({"x": value}), &parameters).arguments).get_mut("x").unwrap().take()
    }

    /// Schema, what the model wrote, what the tool gets.
    #[test]
    fn each_row_of_the_table() {
        let nullable = [
            json!({"type": "null"}),
            json!({"type": ["string", "null"]}),
            json!({"type": "integer", "nullable": true}),
            json!({"anyOf": [{"type": "string"}, {"type": "null"}]}),
            json!({"oneOf": [{"type": "null"}, {"type": "array"}]}),
        ];
        for schema in nullable {
            assert_eq!(coerced(&json!("NULL"), &schema), Value::Null, "{schema}");
        }
        let rows = [
            ("string", json!("null"), json!("null")),
            ("integer", json!("5"), json!(5)),
            ("integer", json!(" -7 "), json!(-7)),
            ("integer", json!("5.0"), json!(5)),
            ("integer", json!("1e3"), json!(1000)),
            ("integer", json!("5.5"), json!("5.5")),
            ("integer", json!("18446744073709551615"), json!(u64::MAX)),
            ("integer", json!("123456789012345678901"), json!("123456789012345678901")),
            ("integer", json!("five"), json!("five")),
            ("integer", json!(""), json!("")),
            ("integer", json!("+5"), json!(5)),
            ("integer", json!("+-5"), json!("+-5")),
            ("integer", json!(true), json!(true)),
            ("number", json!("5"), json!(5)),
            ("number", json!("5.25"), json!(5.25)),
            ("number", json!("inf"), json!("inf")),
            ("number", json!("-NaN"), json!("-NaN")),
            ("number", json!("1e999"), json!("1e999")),
            ("boolean", json!(" TRUE "), json!(true)),
            ("boolean", json!("false"), json!(false)),
            ("boolean", json!("yes"), json!("yes")),
            ("boolean", json!(1), json!(1)),
            ("array", json!("[1, \"a\"]"), json!([1, "a"])),
            ("array", json!("a"), json!(["a"])),
            ("array", json!(3), json!([3])),
            ("array", json!({"a": 1}), json!([{"a": 1}])),
            ("array", Value::Null, Value::Null),
            ("array", json!("{\"a\": 1}"), json!(["{\"a\": 1}"])),
            ("object", json!("{\"a\": [1]}"), json!({"a": [1]})),
            ("object", json!("[1]"), json!("[1]")),
            ("object", json!("{broken"), json!("{broken")),
            ("odd", json!("5"), json!("5")),
        ];
        for (kind, given, expected) in rows {
            assert_eq!(coerced(&given, &json!({"type": kind})), expected, "{kind} from {given}");
        }
    }

    #[test]
    fn in_a_list_of_types_the_first_that_reads_the_text_wins() {
        let rows = [
            (json!(["integer", "boolean"]), json!("true"), json!(true)),
            (json!(["integer", "string"]), json!("5"), json!(5)),
            (json!(["string", "integer"]), json!("007"), json!("007")),
            (json!(["array", "string"]), json!("a"), json!("a")),
            (json!(["array", "string"]), json!("[1]"), json!([1])),
            (json!(["array", "integer"]), json!(4), json!(4)),
        ];
        for (kinds, given, expected) in rows {
            assert_eq!(coerced(&given, &json!({"type": kinds})), expected, "{kinds} from {given}");
        }
        assert_eq!(coerced(&json!("5"), &json!({"type": "integer", "enum": ["5"]})), json!("5"));
    }

    #[test]
    fn inside_only_lists_and_objects_are_read() {
        let schema = json!({"type": "array", "items": {"type": "object", "properties": {
            "list": {"type": "array"}, "count": {"type": "integer"}, "text": {"type": "string"}
        }}});
        let given = json!(["{\"list\": \"[1]\", \"count\": \"5\"}", {"text": "[1]", "other": "{}"}, "plain"]);
        let expected = json!([{"list": [1], "count": "5"}, {"text": "[1]", "other": "{}"}, "plain"]);
        assert_eq!(coerced(&given, &schema), expected);
    }

    #[test]
    fn a_broken_list_is_warned_about() {
        let parameters = json!({"properties": {"x": {"type": "array"}}});
        let made = coerce(json!({"x": "[1, 2", "y": "3"}), &parameters);
        let arguments = json!({"x": ["[1, 2"], "y": "3"});
        assert_eq!(Value::Object(made.arguments), arguments);
        let warning = "x looks like a JSON array that cannot be read; it was taken as a list of one text.";
        assert_eq!(made.warnings, [warning]);
        assert_eq!(coerce(json!([1]), &parameters), Coerced { arguments: Object::new(), warnings: Vec::new() });
    }

    fn values() -> impl Strategy<Value = Value> {
        let text = prop_oneof![
            Just("null"),
            Just("5"),
            Just("5.0"),
            Just("1e400"),
            Just("true"),
            Just("[\"[1]\", \"5\"]"),
            Just("[1"),
            Just("{\"a\": \"[\\\"{}\\\"]\"}"),
            Just("\"[]\""),
            Just(""),
            Just("a")
        ];
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            text.prop_map(Value::from)
        ];
        leaf.prop_recursive(3, 12, 3, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
                prop::collection::vec(("[ab]", inner), 0..3)
                    .prop_map(|fields| Value::Object(fields.into_iter().collect()))
            ]
        })
    }

    fn schemas() -> impl Strategy<Value = Value> {
        let name = || prop::sample::select(vec!["string", "integer", "number", "boolean", "array", "object", "null"]);
        let kind = move || {
            prop_oneof![
                name().prop_map(|name| json!({"type": name})),
                prop::collection::vec(name(), 0..4).prop_map(|names| json!({"type": names})),
                (name(), any::<bool>()).prop_map(|(name, nullable)| json!({"type": name, "nullable": nullable})),
                (name(), name()).prop_map(|(one, two)| json!({"anyOf": [{"type": one}, {"type": two}]})),
            ]
        };
        kind().prop_recursive(3, 12, 3, move |inner| {
            (kind(), inner.clone(), inner).prop_map(|(mut schema, items, a)| {
                schema["items"] = items;
                schema["properties"] = json!({"a": a});
                schema
            })
        })
    }

    proptest! {
        #[test]
        fn twice_is_once(value in values(), schema in schemas()) {
            let parameters = json!({"properties": {"x": schema}});
            let once = coerce(json!({"x": value}), &parameters).arguments;
            let twice = coerce(Value::Object(once.clone()), &parameters).arguments;
            prop_assert_eq!(twice, once);
        }
    }
}
