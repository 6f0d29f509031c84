//! Tool definitions and the choice among them.

use super::Backend;
use crate::wire::schema::{self, Dialect};
use hermes_types::{Concession, Request, ToolChoice};
use serde_json::{Value, json};

/// xAI has a search of its own, and refuses a client's tool of the same name.
const WEB_SEARCH: &str = "web_search";

pub(super) fn definitions(request: &Request, backend: Backend) -> Vec<Value> {
    let dialect = if backend == Backend::Xai { Dialect::Xai } else { Dialect::Whole };
    let patterns = !request.concedes(Concession::SchemaPatterns);
    let definition = |tool: &hermes_types::ToolDefinition| {
        if backend == Backend::Xai && tool.name == WEB_SEARCH {
            return json!({"type": WEB_SEARCH});
        }
        let parameters = match &tool.parameters {
            schema @ Value::Object(_) => schema::adapt(schema, dialect, patterns).into_owned(),
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
