//! Tool schemas for servers that understand less of JSON Schema than they should.
//!
//! Schemas come from our own tools and from foreign MCP servers. They are sent as they are unless the receiver is known
//! to refuse them; then a copy is rewritten, the same way every time.

use crate::provider::names::is_family;
use hermes_types::{Concession, Object, Request};
use serde_json::{Value, json};
use std::borrow::Cow;

/// Keywords whose value is one schema or a list of schemas.
const NESTED: [&str; 13] = [
    "items",
    "prefixItems",
    "additionalProperties",
    "contains",
    "propertyNames",
    "not",
    "if",
    "then",
    "else",
    "anyOf",
    "oneOf",
    "allOf",
    "unevaluatedProperties",
];
/// Keywords whose value maps names to schemas. The names are data: a property called `pattern` is no pattern.
const NAMED: [&str; 5] = ["properties", "patternProperties", "$defs", "definitions", "dependentSchemas"];
const UNIONS: [&str; 3] = ["anyOf", "oneOf", "allOf"];

/// What has to be done to the schemas of one request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Cleaning {
    moonshot: bool,
    patterns: bool,
}

impl Cleaning {
    pub(super) fn of(request: &Request, model: &str) -> Self {
        Self {
            moonshot: is_family(model, "kimi") || is_family(model, "moonshot"),
            patterns: request.concedes(Concession::SchemaPatterns),
        }
    }

    pub(super) fn apply<'a>(&self, schema: &'a Value) -> Cow<'a, Value> {
        if !self.moonshot && !self.patterns {
            return Cow::Borrowed(schema);
        }
        let mut schema = schema.clone();
        if self.patterns {
            each(&mut schema, &|node| {
                node.shift_remove("pattern");
                node.shift_remove("format");
            });
        }
        if self.moonshot {
            moonshot(&mut schema);
        }
        Cow::Owned(schema)
    }
}

/// Hands every schema inside this one to `change`, the outer ones first.
fn each(schema: &mut Value, change: &impl Fn(&mut Object)) {
    let Value::Object(node) = schema else { return };
    change(node);
    for key in NESTED {
        match node.get_mut(key) {
            Some(Value::Array(list)) => list.iter_mut().for_each(|inner| each(inner, change)),
            Some(inner) => each(inner, change),
            None => {}
        }
    }
    for key in NAMED {
        if let Some(Value::Object(named)) = node.get_mut(key) {
            named.values_mut().for_each(|inner| each(inner, change));
        }
    }
}

/// Moonshot's rules: the root is a plain object, a reference stands alone, a union has its types inside its branches,
/// and everything else has exactly one type.
fn moonshot(schema: &mut Value) {
    each(schema, &|node| {
        if let Some(reference) = node.shift_remove("$ref") {
            node.clear();
            node.insert("$ref".into(), reference);
            return;
        }
        node.shift_remove("nullable");
        drop_null(node);
        match UNIONS.iter().find(|key| node.get(**key).is_some_and(Value::is_array)) {
            Some(union) => push_type_into_branches(node, union),
            None => give_type(node),
        }
    });
    if let Value::Object(root) = schema {
        for key in UNIONS {
            root.shift_remove(key);
        }
        root.insert("type".into(), json!("object"));
        root.entry("properties").or_insert_with(|| json!({}));
    }
}

/// Optional things are left out of `required`; saying "or null" besides is refused.
fn drop_null(node: &mut Object) {
    if let Some(Value::Array(values)) = node.get_mut("enum") {
        values.retain(|value| !value.is_null());
    }
    if let Some(Value::Array(types)) = node.get("type") {
        let first = types.iter().find(|name| *name != "null").cloned();
        node.insert("type".into(), first.unwrap_or_else(|| json!("string")));
    }
    for key in UNIONS {
        let Some(Value::Array(branches)) = node.get_mut(key) else { continue };
        branches.retain(|branch| branch.get("type") != Some(&json!("null")));
        if let [only] = branches.as_slice() {
            let only = only.clone();
            node.shift_remove(key);
            for (key, value) in only.as_object().into_iter().flatten() {
                node.entry(key).or_insert_with(|| value.clone());
            }
        }
    }
}

fn push_type_into_branches(node: &mut Object, union: &str) {
    let Some(kind) = node.shift_remove("type") else { return };
    let Some(Value::Array(branches)) = node.get_mut(union) else { return };
    for branch in branches.iter_mut().filter_map(Value::as_object_mut) {
        branch.entry("type").or_insert_with(|| kind.clone());
    }
}

fn give_type(node: &mut Object) {
    if node.contains_key("type") {
        return;
    }
    let kind = if node.contains_key("properties") {
        "object"
    } else if node.contains_key("items") {
        "array"
    } else {
        match node.get("enum").and_then(Value::as_array).and_then(|values| values.first()) {
            Some(Value::Number(_)) => "number",
            Some(Value::Bool(_)) => "boolean",
            _ => "string",
        }
    };
    node.insert("type".into(), json!(kind));
}
