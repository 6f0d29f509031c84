//! Tool schemas in the dialect of this protocol: an object at the root, no union there, no `null` alternatives anywhere.

use hermes_types::{Object, ToolDefinition};
use serde::Serialize;
use serde_json::{Value, json};
use std::collections::HashSet;

/// Keywords whose value is a schema, a list of schemas, or a map from names to schemas. Everything else is data.
const ONE: [&str; 8] = ["items", "additionalProperties", "contains", "propertyNames", "not", "if", "then", "else"];
const LIST: [&str; 4] = ["anyOf", "oneOf", "allOf", "prefixItems"];
const MAP: [&str; 5] = ["properties", "patternProperties", "dependentSchemas", "$defs", "definitions"];
const UNIONS: [&str; 3] = ["oneOf", "allOf", "anyOf"];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Patterns {
    Kept,
    /// `pattern` and `format` are left out.
    LeftOut,
}

#[derive(Debug, PartialEq, Serialize)]
pub(super) struct Tool<'a> {
    name: &'a str,
    description: &'a str,
    input_schema: Value,
}

/// The tools in their order; of two with one name the first holds.
pub(super) fn tools(definitions: &[ToolDefinition], patterns: Patterns) -> Vec<Tool<'_>> {
    let mut seen = HashSet::new();
    let fresh = definitions.iter().filter(|tool| seen.insert(tool.name.as_str()));
    fresh
        .map(|tool| Tool {
            name: &tool.name,
            description: &tool.description,
            input_schema: root(tool.parameters.clone(), patterns),
        })
        .collect()
}

fn root(schema: Value, patterns: Patterns) -> Value {
    let mut root = match simplified(schema, patterns) {
        Value::Object(schema) => schema,
        _ => Object::new(),
    };
    if UNIONS.iter().any(|union| root.contains_key(*union)) || !root.contains_key("type") {
        root.retain(|key, _| !UNIONS.contains(&key.as_str()));
        root.insert("type".into(), "object".into());
    }
    if !root.get("properties").is_some_and(Value::is_object) {
        root.insert("properties".into(), json!({}));
    }
    Value::Object(root)
}

fn simplified(schema: Value, patterns: Patterns) -> Value {
    let Value::Object(schema) = schema else { return schema };
    let nested = |(key, value): (String, Value)| {
        let value = match value {
            Value::Array(list) if LIST.contains(&key.as_str()) => {
                list.into_iter().map(|item| simplified(item, patterns)).collect()
            }
            Value::Object(map) if MAP.contains(&key.as_str()) => {
                Value::Object(map.into_iter().map(|(name, item)| (name, simplified(item, patterns))).collect())
            }
            value if ONE.contains(&key.as_str()) => simplified(value, patterns),
            value => value,
        };
        (key, value)
    };
    let mut schema: Object = schema.into_iter().map(nested).collect();
    if patterns == Patterns::LeftOut {
        schema.retain(|key, value| !(matches!(key.as_str(), "pattern" | "format") && value.is_string()));
    }
    Value::Object(without_null(schema))
}

/// `anyOf: [X, null]` and `type: [X, null]` say no more than X to a model that may leave the field out.
fn without_null(mut schema: Object) -> Object {
    if let Some(Value::Array(types)) = schema.get_mut("type") {
        types.retain(|kind| kind != "null");
        if let [only] = types.as_mut_slice() {
            let only = only.take();
            schema.insert("type".into(), only);
        }
    }
    for union in ["anyOf", "oneOf"] {
        let Some(Value::Array(options)) = schema.get_mut(union) else { continue };
        let before = options.len();
        options.retain(|option| option.get("type").is_none_or(|kind| kind != "null"));
        if options.len() < before
            && let [Value::Object(only)] = options.as_mut_slice()
        {
            let only = std::mem::take(only);
            schema.remove(union);
            for (key, value) in only {
                schema.entry(key).or_insert(value);
            }
        }
    }
    schema
}
