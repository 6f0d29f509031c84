//! Schemas of parameters in the form that every provider takes.
//!
//! Servers and plugins write JSON Schema as they like. What providers refuse is said in another way, or left out where
//! it says nothing about the names of the arguments. A schema that has been through here comes out of it unchanged.

use hermes_types::Object;
use serde_json::{Map, Value, json};

/// At the top of a schema these are refused by some providers.
const NOT_AT_TOP: &[&str] = &["allOf", "anyOf", "oneOf", "enum", "not"];
const CHOICES: &[&str] = &["anyOf", "oneOf"];
/// What a choice says about itself and not about its branches.
const CARRIED: &[&str] = &["title", "description", "default", "examples"];
/// Keys whose value is a schema, a list of schemas, or schemas by name.
const ONE: &[&str] = &["items", "additionalProperties", "not", "contains", "propertyNames", "if", "then", "else"];
const LISTS: &[&str] = &["anyOf", "oneOf", "allOf", "prefixItems"];
const MAPS: &[&str] = &["properties", "patternProperties", "$defs", "definitions", "dependentSchemas"];
const NULL: &str = "null";

/// The schema of the parameters of a tool as it is sent.
pub fn sanitised(parameters: Value) -> Value {
    let Value::Object(mut schema) = node(parameters) else { return json!({"type": "object", "properties": {}}) };
    for key in NOT_AT_TOP {
        schema.shift_remove(*key);
    }
    schema.insert("type".to_owned(), "object".into());
    Value::Object(complete(schema))
}

/// One schema and all below it.
fn node(schema: Value) -> Value {
    let mut schema = match schema {
        // `"string"` for `{"type": "string"}`.
        Value::String(kind) => return Value::Object(complete(Map::from_iter([("type".to_owned(), kind.into())]))),
        Value::Object(schema) => schema,
        other => return other,
    };
    for (key, value) in &mut schema {
        let inner = value.take();
        *value = match inner {
            Value::Array(items) if LISTS.contains(&key.as_str()) || key == "items" => {
                Value::Array(items.into_iter().map(node).collect())
            }
            Value::Object(named) if MAPS.contains(&key.as_str()) => {
                Value::Object(named.into_iter().map(|(name, schema)| (name, node(schema))).collect())
            }
            inner if ONE.contains(&key.as_str()) => node(inner),
            inner => inner,
        };
    }
    if schema.contains_key("$ref") {
        schema.shift_remove("default");
    }
    one_type(&mut schema);
    Value::Object(complete(one_choice(schema)))
}

/// `["string", "null"]` is a text that may be missing; several types are a choice.
fn one_type(schema: &mut Object) {
    let Some(Value::Array(kinds)) = schema.get("type").cloned() else { return };
    let nullable = kinds.iter().any(|kind| kind == NULL);
    let kinds: Vec<Value> = kinds.into_iter().filter(|kind| kind != NULL).collect();
    match kinds.as_slice() {
        [] if nullable => drop(schema.insert("type".to_owned(), NULL.into())),
        [] => drop(schema.shift_remove("type")),
        [kind] => drop(schema.insert("type".to_owned(), kind.clone())),
        several => {
            schema.shift_remove("type");
            if !schema.contains_key("anyOf") {
                let branches = several.iter().map(|kind| branch(kind, schema)).collect();
                schema.insert("anyOf".to_owned(), Value::Array(branches));
                ["items", "properties", "required"].iter().for_each(|key| drop(schema.shift_remove(*key)));
            }
        }
    }
    if nullable && schema.get("type").is_none_or(|kind| kind != NULL) {
        schema.insert("nullable".to_owned(), true.into());
    }
}

/// One type of several, with what concerns it alone.
fn branch(kind: &Value, schema: &Object) -> Value {
    let own: &[&str] = match kind.as_str() {
        Some("array") => &["items"],
        Some("object") => &["properties", "required"],
        _ => &[],
    };
    let mut branch = Map::from_iter([("type".to_owned(), kind.clone())]);
    branch.extend(own.iter().filter_map(|key| Some(((*key).to_owned(), schema.get(*key)?.clone()))));
    Value::Object(complete(branch))
}

/// A choice between one thing and nothing is that thing.
fn one_choice(mut schema: Object) -> Object {
    // Beside a type of its own a choice only narrows it, and none of it may get lost.
    if schema.contains_key("type") || schema.contains_key("properties") {
        return schema;
    }
    for key in CHOICES {
        let Some(Value::Array(branches)) = schema.get(*key) else { continue };
        let is_null = |branch: &&Value| branch.get("type").is_some_and(|kind| kind == NULL);
        let nullable = branches.iter().any(|branch| is_null(&branch));
        let left: Vec<&Value> = branches.iter().filter(|branch| !is_null(branch)).collect();
        let [Value::Object(only)] = left.as_slice() else { continue };
        let mut merged = only.clone();
        // What the choice says of itself wins over its branch.
        let carried = CARRIED.iter().filter_map(|key| Some(((*key).to_owned(), schema.get(*key)?.clone())));
        merged.extend(carried.filter(|(key, _)| key != "default" || !only.contains_key("$ref")));
        if nullable || schema.get("nullable") == Some(&Value::Bool(true)) {
            merged.insert("nullable".to_owned(), true.into());
        }
        schema = merged;
        break;
    }
    schema
}

/// An object says which properties it has, and requires only those.
fn complete(mut schema: Object) -> Object {
    if schema.get("type").is_none_or(|kind| kind != "object") {
        return schema;
    }
    if !schema.get("properties").is_some_and(Value::is_object) {
        schema.insert("properties".to_owned(), json!({}));
    }
    let Some(required) = schema.shift_remove("required") else { return schema };
    let Some(Value::Object(properties)) = schema.get("properties") else { return schema };
    let known = |name: &&Value| name.as_str().is_some_and(|name| properties.contains_key(name));
    let kept: Vec<Value> = required.as_array().into_iter().flatten().filter(known).cloned().collect();
    if !kept.is_empty() {
        schema.insert("required".to_owned(), Value::Array(kept));
    }
    schema
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// What one property becomes.
    fn property(schema: Value) -> Value {
        let whole = sanitised(json!({"type": "object", "properties": {"x": schema}}));
        whole["properties"]["x"].clone()
    }

    #[test]
    fn what_providers_refuse_is_said_in_another_way() {
        let table = [
            (json!("string"), json!({"type": "string"})),
            (json!("object"), json!({"type": "object", "properties": {}})),
            (json!({"type": "object"}), json!({"type": "object", "properties": {}})),
            (json!({"type": ["string", "null"]}), json!({"type": "string", "nullable": true})),
            (json!({"type": ["null"]}), json!({"type": "null"})),
            (
                json!({"type": ["string", "array", "null"], "items": "integer", "description": "d"}),
                json!({
                    "description": "d",
                    "anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "integer"}}],
                    "nullable": true,
                }),
            ),
            (
                json!({"anyOf": [{"type": "integer", "title": "b"}, {"type": "null"}], "title": "a", "default": null}),
                json!({"type": "integer", "title": "a", "default": null, "nullable": true}),
            ),
            (json!({"oneOf": [{"type": "integer"}]}), json!({"type": "integer"})),
            (
                json!({"type": "object", "properties": {"a": {}}, "anyOf": [{"required": ["a"]}]}),
                json!({"type": "object", "properties": {"a": {}}, "anyOf": [{"required": ["a"]}]}),
            ),
            (
                json!({"anyOf": [{"type": "integer"}, "string"]}),
                json!({"anyOf": [{"type": "integer"}, {"type": "string"}]}),
            ),
            (json!({"$ref": "#/$defs/a", "default": 1}), json!({"$ref": "#/$defs/a"})),
            (
                json!({"anyOf": [{"$ref": "#/$defs/a"}, {"type": "null"}], "default": null, "title": "t"}),
                json!({"$ref": "#/$defs/a", "title": "t", "nullable": true}),
            ),
            (
                json!({"type": "array", "items": {"type": ["integer", "null"]}}),
                json!({"type": "array", "items": {"type": "integer", "nullable": true}}),
            ),
            (
                json!({"type": "object", "properties": {"a": "string"}, "required": ["a", "b", 3]}),
                json!({"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}),
            ),
            (json!({"enum": ["a", "b"], "default": "a"}), json!({"enum": ["a", "b"], "default": "a"})),
            (
                json!({"type": "object", "additionalProperties": "string"}),
                json!({
                    "type": "object", "additionalProperties": {"type": "string"}, "properties": {},
                }),
            ),
            (json!(true), json!(true)),
        ];
        for (written, sent) in table {
            assert_eq!(property(written.clone()), sent, "{written}");
        }
    }

    #[test]
    fn the_top_is_always_an_object_without_conditions() {
        let empty = json!({"type": "object", "properties": {}});
        for nothing in [Value::Null, json!([]), json!(7), json!({}), json!("object"), json!({"properties": null})] {
            assert_eq!(sanitised(nothing.clone()), empty, "{nothing}");
        }
        let written = json!({
            "properties": {"type": {"type": "string"}, "default": {"type": "string", "default": "x"}},
            "required": ["gone"],
            "anyOf": [{"required": ["type"]}, {"required": ["default"]}],
            "not": {}, "enum": [], "allOf": [], "oneOf": [],
            "$defs": {"a": "string"},
        });
        let sent = json!({
            "properties": {"type": {"type": "string"}, "default": {"type": "string", "default": "x"}},
            "$defs": {"a": {"type": "string"}},
            "type": "object",
        });
        assert_eq!(sanitised(written), sent);
    }

    fn any_schema() -> impl Strategy<Value = Value> {
        let kind = prop_oneof![Just("string"), Just("null"), Just("object"), Just("array"), Just("integer")];
        let leaf = prop_oneof![
            kind.clone().prop_map(|kind| json!(kind)),
            kind.clone().prop_map(|kind| json!({"type": kind})),
            proptest::collection::vec(kind, 0..4).prop_map(|kinds| json!({"type": kinds, "items": "string"})),
            Just(json!({"$ref": "#/a", "default": 1})),
            Just(json!(true)),
        ];
        leaf.prop_recursive(3, 24, 4, |inner| {
            prop_oneof![
                proptest::collection::vec(inner.clone(), 0..4).prop_map(|list| json!({"anyOf": list, "title": "t"})),
                (inner.clone(), inner.clone()).prop_map(
                    |(a, b)| json!({"type": "object", "properties": {"a": a, "b": b}, "required": ["a", "z"]})
                ),
                inner.prop_map(|items| json!({"type": "array", "items": items})),
            ]
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(128))]
        #[test]
        fn a_schema_that_was_sent_once_is_sent_the_same_again(schema in any_schema()) {
            let once = sanitised(json!({"type": "object", "properties": {"x": schema}}));
            prop_assert_eq!(sanitised(once.clone()), once);
        }
    }
}
