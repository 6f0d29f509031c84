//! `plugins.*`: which plugins run, and what the owner lets each of them do.

use serde_json::Value;
use std::collections::BTreeSet;

/// The variable that lets plugins of the project in.
pub const PROJECT_VARIABLE: &str = "HERMES_ENABLE_PROJECT_PLUGINS";

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PluginSettings {
    pub enabled: BTreeSet<String>,
    /// Wins over `enabled`.
    pub disabled: BTreeSet<String>,
    /// Those that may put their tools in the place of others (`plugins.entries.<name>.allow_tool_override`).
    pub may_override: BTreeSet<String>,
}

impl PluginSettings {
    /// Reads a whole `config.yaml`. What cannot be read is named and counts as not said.
    pub fn read(config: &Value, odd: &mut Vec<String>) -> Self {
        let entries = config.pointer("/plugins/entries").and_then(Value::as_object);
        let overriding =
            entries.into_iter().flatten().filter(|(_, entry)| entry.get("allow_tool_override") == Some(&true.into()));
        Self {
            enabled: names(config, "enabled", odd),
            disabled: names(config, "disabled", odd),
            may_override: overriding.map(|(name, _)| name.clone()).collect(),
        }
    }
}

fn names(config: &Value, list: &str, odd: &mut Vec<String>) -> BTreeSet<String> {
    match config.pointer(&format!("/plugins/{list}")) {
        None | Some(Value::Null) => BTreeSet::new(),
        Some(Value::Array(items)) => items.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
        Some(other) => {
            odd.push(format!("plugins.{list}: a list of names is wanted, not {other}; it counts as empty"));
            BTreeSet::new()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn lists_are_read_and_anything_else_is_named() {
        let config = json!({"plugins": {
            "enabled": ["a", "b"], "disabled": "b",
            "entries": {"a": {"allow_tool_override": true}, "b": {"allow_tool_override": "true"}},
        }});
        let mut odd = Vec::new();
        let read = PluginSettings::read(&config, &mut odd);
        assert_eq!(read.enabled, BTreeSet::from(["a".to_owned(), "b".to_owned()]));
        assert_eq!((read.disabled.len(), odd.len()), (0, 1));
        assert_eq!(read.may_override, BTreeSet::from(["a".to_owned()]), "only a plain yes lets a tool be replaced");
    }
}
