//! What tools of servers are called here, and their schemas with the old spelling of shared parts mended.

use serde_json::{Map, Value};

/// The toolset of a server, and what its tools begin with.
const TOOLSET: &str = "mcp-";
const TOOL: &str = "mcp__";

pub(crate) fn toolset(server: &str) -> String {
    format!("{TOOLSET}{server}")
}

/// `mcp__<server>__<tool>`, with nothing in it that a provider would refuse in a name.
pub(crate) fn tool(server: &str, tool: &str) -> String {
    format!("{TOOL}{}__{}", plain(server), plain(tool))
}

/// A name of a file or a tool: letters, digits and underscores.
pub(crate) fn plain(name: &str) -> String {
    name.chars().map(|c| if c.is_ascii_alphanumeric() || c == '_' { c } else { '_' }).collect()
}

/// The schema with `definitions` under the name that everybody knows today. The registry repairs the rest of what
/// providers refuse when it shows a tool to a model.
pub(crate) fn schema(schema: Map<String, Value>) -> Value {
    renamed(Value::Object(schema))
}

fn renamed(value: Value) -> Value {
    match value {
        Value::Object(map) => {
            let has_both = map.contains_key("$defs");
            let entries = map.into_iter().map(|(key, value)| {
                let key = if key == "definitions" && value.is_object() && !has_both { "$defs".to_owned() } else { key };
                let value = match value {
                    Value::String(place) if key == "$ref" => {
                        Value::String(place.replacen("#/definitions/", "#/$defs/", 1))
                    }
                    other => renamed(other),
                };
                (key, value)
            });
            Value::Object(entries.collect())
        }
        Value::Array(items) => Value::Array(items.into_iter().map(renamed).collect()),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn names_hold_only_what_every_provider_takes() {
        assert_eq!(tool("my-server", "read.file"), "mcp__my_server__read_file");
        assert_eq!(tool("größe", "a/b c"), "mcp__gr__e__a_b_c");
        assert_eq!(toolset("my-server"), "mcp-my-server");
    }

    #[test]
    fn shared_parts_of_schemas_are_found_under_their_new_name() {
        let old = json!({
            "type": "object",
            "properties": {"a": {"$ref": "#/definitions/A"}, "b": {"type": "array", "items": {"$ref": "#/definitions/A"}}},
            "definitions": {"A": {"type": "string"}}
        });
        let new = json!({
            "type": "object",
            "properties": {"a": {"$ref": "#/$defs/A"}, "b": {"type": "array", "items": {"$ref": "#/$defs/A"}}},
            "$defs": {"A": {"type": "string"}}
        });
        let Value::Object(old) = old else { panic!("no object") };
        assert_eq!(schema(old), new);
    }
}
