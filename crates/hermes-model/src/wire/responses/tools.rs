//! Tool definitions and the choice among them.

use super::Backend;
use hermes_types::{Concession, Object, Request, ToolChoice};
use serde_json::{Value, json};

/// xAI has a search of its own, and refuses a client's tool of the same name.
const WEB_SEARCH: &str = "web_search";

pub(super) fn definitions(request: &Request, backend: Backend) -> Vec<Value> {
    let taste = Taste {
        patterns: backend != Backend::Xai && !request.concedes(Concession::SchemaPatterns),
        slashed_enums: backend != Backend::Xai,
    };
    let definition = |tool: &hermes_types::ToolDefinition| {
        if backend == Backend::Xai && tool.name == WEB_SEARCH {
            return json!({"type": WEB_SEARCH});
        }
        let parameters = match &tool.parameters {
            Value::Object(schema) => Value::Object(taste.schema(schema)),
            _ => json!({"type": "object", "properties": {}}),
        };
        json!({
            "type": "function",
            "name": tool.name,
            "description": tool.description,
            "strict": false,
            "parameters": parameters,
        })
    };
    request.tools.iter().map(definition).collect()
}

pub(super) fn choice(choice: &ToolChoice, backend: Backend) -> Value {
    match choice {
        ToolChoice::Auto => json!("auto"),
        ToolChoice::Required => json!("required"),
        ToolChoice::Forbidden => json!("none"),
        ToolChoice::Named(name) if backend == Backend::Xai && name == WEB_SEARCH => json!({"type": WEB_SEARCH}),
        ToolChoice::Named(name) => json!({"type": "function", "name": name}),
    }
}

/// Which keywords of a schema the receiver can digest.
#[derive(Debug, Clone, Copy)]
struct Taste {
    /// `pattern` and `format`.
    patterns: bool,
    /// `enum` lists with a `/` in a value.
    slashed_enums: bool,
}

impl Taste {
    fn schema(self, schema: &Object) -> Object {
        let kept = schema.iter().filter(|(keyword, value)| self.takes(keyword, value));
        kept.map(|(keyword, value)| (keyword.clone(), self.beneath(keyword, value))).collect()
    }

    fn takes(self, keyword: &str, value: &Value) -> bool {
        match keyword {
            "pattern" | "format" => self.patterns,
            "enum" => self.slashed_enums || !has_slash(value),
            _ => true,
        }
    }

    /// Below these keywords stand names a person chose, not keywords: a parameter may well be called `pattern`.
    fn beneath(self, keyword: &str, value: &Value) -> Value {
        match (keyword, value) {
            (
                "properties" | "patternProperties" | "$defs" | "definitions" | "dependentSchemas",
                Value::Object(named),
            ) => {
                let inner = named.iter().map(|(name, schema)| (name.clone(), self.any(schema)));
                Value::Object(inner.collect())
            }
            ("enum" | "const" | "default" | "example" | "examples" | "required", value) => value.clone(),
            (_, value) => self.any(value),
        }
    }

    fn any(self, value: &Value) -> Value {
        match value {
            Value::Object(schema) => Value::Object(self.schema(schema)),
            Value::Array(schemas) => Value::Array(schemas.iter().map(|schema| self.any(schema)).collect()),
            other => other.clone(),
        }
    }
}

fn has_slash(values: &Value) -> bool {
    let mut texts = values.as_array().into_iter().flatten().filter_map(Value::as_str);
    texts.any(|text| text.contains('/'))
}
