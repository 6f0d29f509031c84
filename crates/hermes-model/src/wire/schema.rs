//! Tool schemas for servers that understand less of JSON Schema than they should.
//!
//! Schemas come from our own tools and from foreign MCP servers. They are sent as they are unless the receiver is known
//! to refuse them; then a copy is rewritten, the same way every time.

use hermes_types::Object;
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
/// What Google's schema language knows.
const GEMINI_KEYWORDS: [&str; 22] = [
    "type",
    "format",
    "title",
    "description",
    "nullable",
    "enum",
    "maxItems",
    "minItems",
    "properties",
    "required",
    "minProperties",
    "maxProperties",
    "minLength",
    "maxLength",
    "pattern",
    "example",
    "anyOf",
    "propertyOrdering",
    "default",
    "items",
    "minimum",
    "maximum",
];

/// References inside what references point at, and references in all, that are followed.
const DEEPEST_REFERENCE: usize = 5;
const MOST_REFERENCES: usize = 500;

/// What the receiver can digest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Dialect {
    /// Everything.
    Whole,
    /// An object at the root, no union there, no `null` alternatives anywhere.
    Anthropic,
    /// A plain object at the root, a reference stands alone, types inside the branches of a union, and everything else
    /// has exactly one type.
    Moonshot,
    /// The keywords of Google's own schema language and no others: one type, `nullable` for null, values of text.
    Gemini,
    /// No patterns, and no `enum` with a `/` in a value.
    Xai,
}

/// The schema as the receiver wants it. `patterns` tells whether `pattern` and `format` may stay.
pub(super) fn adapt(schema: &Value, dialect: Dialect, patterns: bool) -> Cow<'_, Value> {
    let patterns = patterns && dialect != Dialect::Xai;
    if dialect == Dialect::Whole && patterns {
        return Cow::Borrowed(schema);
    }
    let mut schema = schema.clone();
    if !patterns {
        each(&mut schema, &drop_patterns);
    }
    match dialect {
        Dialect::Whole => {}
        Dialect::Anthropic => {
            each(&mut schema, &drop_null);
            settle_root(&mut schema);
        }
        Dialect::Moonshot => {
            each(&mut schema, &moonshot);
            settle_root(&mut schema);
        }
        Dialect::Gemini => {
            inline(&mut schema);
            each(&mut schema, &gemini);
            settle_root(&mut schema);
        }
        Dialect::Xai => each(&mut schema, &drop_slashed_enum),
    }
    Cow::Owned(schema)
}

/// Hands every schema inside this one to `change`, the outer ones first.
fn each(schema: &mut Value, change: &impl Fn(&mut Object)) {
    let Value::Object(node) = schema else { return };
    change(node);
    for_children(node, &mut |inner| each(inner, change));
}

fn for_children(node: &mut Object, visit: &mut dyn FnMut(&mut Value)) {
    for key in NESTED {
        match node.get_mut(key) {
            Some(Value::Array(list)) => list.iter_mut().for_each(&mut *visit),
            Some(inner) => visit(inner),
            None => {}
        }
    }
    for key in NAMED {
        if let Some(Value::Object(named)) = node.get_mut(key) {
            named.values_mut().for_each(&mut *visit);
        }
    }
}

/// Puts what references point at in their places, for receivers that follow none. A schema that holds itself is an object
/// of any kind from some depth on.
fn inline(schema: &mut Value) {
    let root = schema.clone();
    if let Value::Object(node) = schema {
        node.retain(|key, _| !["$defs", "definitions"].contains(&key.as_str()));
    }
    Inliner { root: &root, left: MOST_REFERENCES }.resolve(schema, 0);
}

struct Inliner<'a> {
    root: &'a Value,
    /// How many references may still be followed.
    left: usize,
}

impl Inliner<'_> {
    fn resolve(&mut self, schema: &mut Value, depth: usize) {
        let Value::Object(node) = schema else { return };
        let mut depth = depth;
        if let Some(reference) = node.shift_remove("$ref") {
            depth += 1;
            self.left = self.left.saturating_sub(1);
            let path = reference.as_str().and_then(|reference| reference.strip_prefix('#'));
            let target = path.and_then(|path| self.root.pointer(path)).and_then(Value::as_object);
            match target.filter(|_| self.left > 0 && depth <= DEEPEST_REFERENCE) {
                Some(target) => absorb(node, target.clone()),
                None => *node = Object::from_iter([("type".to_owned(), json!("object"))]),
            }
            // What a reference points at may be a reference.
            if node.contains_key("$ref") {
                return self.resolve(schema, depth);
            }
        }
        let Value::Object(node) = schema else { return };
        for_children(node, &mut |inner| self.resolve(inner, depth));
    }
}

/// What the node does not say itself it takes from the other.
fn absorb(node: &mut Object, other: Object) {
    for (key, value) in other {
        node.entry(key).or_insert(value);
    }
}

fn drop_patterns(node: &mut Object) {
    node.shift_remove("pattern");
    node.shift_remove("format");
}

fn drop_slashed_enum(node: &mut Object) {
    let values = node.get("enum").and_then(Value::as_array).into_iter().flatten();
    if values.filter_map(Value::as_str).any(|text| text.contains('/')) {
        node.shift_remove("enum");
    }
}

/// The root of a tool's parameters is an object with properties; a union there is refused.
fn settle_root(schema: &mut Value) {
    if !schema.is_object() {
        *schema = json!({});
    }
    let Value::Object(root) = schema else { return };
    let has_union = UNIONS.iter().any(|key| root.contains_key(*key));
    root.retain(|key, _| !UNIONS.contains(&key.as_str()));
    if has_union || !root.contains_key("type") {
        root.insert("type".into(), json!("object"));
    }
    if !root.get("properties").is_some_and(Value::is_object) {
        root.insert("properties".into(), json!({}));
    }
}

/// "X or null" says no more than X to a model that may leave the field out.
fn drop_null(node: &mut Object) {
    if let Some(Value::Array(types)) = node.get_mut("type") {
        types.retain(|kind| kind != "null");
        if let [only] = types.as_mut_slice() {
            let only = only.take();
            node.insert("type".into(), only);
        }
    }
    for union in ["anyOf", "oneOf"] {
        let Some(Value::Array(options)) = node.get_mut(union) else { continue };
        let before = options.len();
        options.retain(|option| option.get("type").is_none_or(|kind| kind != "null"));
        if options.len() < before
            && let [Value::Object(only)] = options.as_mut_slice()
        {
            let only = std::mem::take(only);
            node.shift_remove(union);
            absorb(node, only);
        }
    }
}

fn gemini(node: &mut Object) {
    if let Some(Value::Array(parts)) = node.shift_remove("allOf") {
        parts.into_iter().filter_map(object).for_each(|part| absorb(node, part));
    }
    for (ours, theirs) in [("oneOf", "anyOf"), ("const", "enum")] {
        if let Some(value) = node.shift_remove(ours) {
            let value = if ours == "const" { json!([value]) } else { value };
            node.entry(theirs).or_insert(value);
        }
    }
    if allows_null(node) {
        node.insert("nullable".into(), json!(true));
    }
    drop_null(node);
    keep_first_type(node);
    drop_null_value(node);
    if !node.contains_key("anyOf") {
        give_type(node);
    }
    let is_text = |values: &Value| values.as_array().is_some_and(|values| values.iter().all(Value::is_string));
    node.retain(|key, value| GEMINI_KEYWORDS.contains(&key.as_str()) && (key != "enum" || is_text(value)));
    keep_known_required(node);
}

fn object(value: Value) -> Option<Object> {
    match value {
        Value::Object(object) => Some(object),
        _ => None,
    }
}

/// True when a type, a branch or a value of this schema is null.
fn allows_null(node: &Object) -> bool {
    let lists_null = |list: &Value| list.as_array().is_some_and(|list| list.iter().any(|item| item == "null"));
    let is_null = |branch: &Value| branch.get("type").is_some_and(|kind| kind == "null");
    let branches = node.get("anyOf").and_then(Value::as_array).into_iter().flatten();
    let values = node.get("enum").and_then(Value::as_array).into_iter().flatten();
    node.get("type").is_some_and(lists_null)
        || branches.into_iter().any(is_null)
        || values.into_iter().any(Value::is_null)
}

/// A property that is demanded has to exist.
fn keep_known_required(node: &mut Object) {
    let Some(Value::Array(mut required)) = node.shift_remove("required") else { return };
    let known = node.get("properties").and_then(Value::as_object);
    required.retain(|name| name.as_str().is_some_and(|name| known.is_some_and(|known| known.contains_key(name))));
    if !required.is_empty() {
        node.insert("required".into(), Value::Array(required));
    }
}

fn keep_first_type(node: &mut Object) {
    if let Some(Value::Array(types)) = node.get("type") {
        let first = types.first().cloned().unwrap_or_else(|| json!("string"));
        node.insert("type".into(), first);
    }
}

fn drop_null_value(node: &mut Object) {
    if let Some(Value::Array(values)) = node.get_mut("enum") {
        values.retain(|value| !value.is_null());
    }
}

fn moonshot(node: &mut Object) {
    if let Some(reference) = node.shift_remove("$ref") {
        node.clear();
        node.insert("$ref".into(), reference);
        return;
    }
    node.shift_remove("nullable");
    drop_null(node);
    keep_first_type(node);
    drop_null_value(node);
    match UNIONS.iter().find(|key| node.get(**key).is_some_and(Value::is_array)) {
        Some(union) => push_type_into_branches(node, union),
        None => give_type(node),
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
