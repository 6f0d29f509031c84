//! `tools.tool_search.*`, and who is announced by settings: MCP servers and plugins that are on.

use super::MCP;
use hermes_types::Object;
use serde_json::Value;
use std::collections::BTreeSet;
use std::time::Duration;

const DEFAULT_LIMIT: usize = 5;
const MAX_LIMIT: usize = 20;
const LARGEST_LIMIT: usize = 50;
const PATIENCE: Duration = Duration::from_millis(1_500);
/// A turn that hangs on servers for longer would look broken.
const LONGEST_PATIENCE: Duration = Duration::from_secs(120);

/// `tools.tool_search.enabled`
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Switch {
    /// Where something stands behind the loader, or could join.
    #[default]
    Auto,
    Always,
    /// Every tool is in every request.
    Never,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoaderSettings {
    pub enabled: Switch,
    /// Tools that a search gives where it does not say how many.
    pub default_limit: usize,
    pub max_limit: usize,
    /// Toolsets that may register while a conversation runs: `mcp-<server>`, and those of plugins.
    pub expected: BTreeSet<String>,
    /// `mcp_discovery_timeout`: how long the first who miss a tool wait for servers that are being connected to.
    pub patience: Duration,
}

impl Default for LoaderSettings {
    fn default() -> Self {
        Self {
            enabled: Switch::Auto,
            default_limit: DEFAULT_LIMIT,
            max_limit: MAX_LIMIT,
            expected: BTreeSet::new(),
            patience: PATIENCE,
        }
    }
}

impl LoaderSettings {
    /// Reads a whole `config.yaml`. `threshold_pct` of the Python program is accepted and does not count: what a first
    /// request costs must not depend on how many tools a server has today.
    pub(crate) fn read(config: &Value, odd: &mut Vec<String>) -> Self {
        let own = config.get("tools").and_then(|tools| tools.get("tool_search"));
        // The whole section may be one word.
        let word = own.filter(|own| !own.is_object()).or_else(|| own.and_then(|own| own.get("enabled")));
        let max_limit = limit(own, "max_search_limit", MAX_LIMIT, odd).clamp(1, LARGEST_LIMIT);
        Self {
            enabled: switch(word, odd),
            default_limit: limit(own, "search_default_limit", DEFAULT_LIMIT, odd).clamp(1, max_limit),
            max_limit,
            expected: servers(config).chain(plugins(config)).collect(),
            patience: patience(config.get("mcp_discovery_timeout"), odd),
        }
    }

    /// As many as were asked for, within the limits.
    pub(super) fn granted(&self, limit: Option<usize>) -> usize {
        limit.unwrap_or(self.default_limit).clamp(1, self.max_limit)
    }
}

fn switch(word: Option<&Value>, odd: &mut Vec<String>) -> Switch {
    let Some(word) = word.filter(|word| !word.is_null()) else { return Switch::Auto };
    match hermes_types::switch(word) {
        Some(true) => Switch::Always,
        Some(false) => Switch::Never,
        None => {
            if !word.as_str().is_some_and(|word| word.trim().eq_ignore_ascii_case("auto")) {
                odd.push(format!("tools.tool_search.enabled: {word} is not auto, true or false; auto is used"));
            }
            Switch::Auto
        }
    }
}

fn limit(own: Option<&Value>, key: &str, usual: usize, odd: &mut Vec<String>) -> usize {
    let Some(value) = own.and_then(|own| own.get(key)).filter(|value| !value.is_null()) else { return usual };
    value.as_u64().and_then(|number| usize::try_from(number).ok()).unwrap_or_else(|| {
        odd.push(format!("tools.tool_search.{key}: {value} is not a number of tools; {usual} is used"));
        usual
    })
}

fn patience(value: Option<&Value>, odd: &mut Vec<String>) -> Duration {
    let Some(value) = value.filter(|value| !value.is_null()) else { return PATIENCE };
    let seconds = value.as_f64().and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    seconds.map_or_else(
        || {
            odd.push(format!("mcp_discovery_timeout: {value} is not a number of seconds; 1.5 is used"));
            PATIENCE
        },
        |seconds| seconds.min(LONGEST_PATIENCE),
    )
}

/// The toolset of each server that is not switched off.
fn servers(config: &Value) -> impl Iterator<Item = String> {
    let servers = config.get("mcp_servers").and_then(Value::as_object).into_iter().flat_map(Object::iter);
    let is_on = |entry: &Value| entry.get("enabled").and_then(hermes_types::switch) != Some(false);
    servers.filter(move |(_, entry)| is_on(entry)).map(|(name, _)| format!("{MCP}{name}"))
}

/// A plugin's toolset has the name of the plugin unless it says otherwise.
fn plugins(config: &Value) -> impl Iterator<Item = String> {
    let named = |key: &str| -> BTreeSet<String> {
        let list = config.get("plugins").and_then(|plugins| plugins.get(key)).and_then(Value::as_array);
        list.into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
    };
    let disabled = named("disabled");
    named("enabled").into_iter().filter(move |name| !disabled.contains(name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn read(config: &Value) -> (LoaderSettings, Vec<String>) {
        let mut odd = Vec::new();
        (LoaderSettings::read(config, &mut odd), odd)
    }

    #[test]
    fn the_switch_is_a_word_or_a_bool_at_either_place() {
        let table = [
            (json!("auto"), Switch::Auto),
            (json!("AUTO"), Switch::Auto),
            (json!(null), Switch::Auto),
            (json!(true), Switch::Always),
            (json!("on"), Switch::Always),
            (json!(false), Switch::Never),
            (json!("false"), Switch::Never),
        ];
        for (word, expected) in table {
            for config in
                [json!({"tools": {"tool_search": {"enabled": word}}}), json!({"tools": {"tool_search": word}})]
            {
                let (settings, odd) = read(&config);
                assert_eq!((settings.enabled, odd), (expected, vec![]), "{config}");
            }
        }
        assert_eq!(read(&Value::Null).0, LoaderSettings::default());
        let (settings, odd) = read(&json!({"tools": {"tool_search": {"enabled": "often", "max_search_limit": "x"}}}));
        assert_eq!((settings, odd.len()), (LoaderSettings::default(), 2), "{odd:?}");
    }

    #[test]
    fn limits_hold_each_other() {
        let limits = |default: u64, most: u64| {
            let config = json!({"tools": {"tool_search": {"search_default_limit": default, "max_search_limit": most}}});
            let settings = read(&config).0;
            (settings.default_limit, settings.max_limit, settings.granted(Some(1_000)), settings.granted(Some(0)))
        };
        assert_eq!([limits(5, 20), limits(9, 0), limits(99, 99)], [(5, 20, 20, 1), (1, 1, 1, 1), (50, 50, 50, 1)]);
    }

    #[test]
    fn patience_is_a_number_of_seconds() {
        let table = [(json!(0), 0), (json!(0.25), 250), (json!(null), 1_500), (json!(9_999), 120_000)];
        for (value, milliseconds) in table {
            let (settings, odd) = read(&json!({ "mcp_discovery_timeout": value }));
            assert_eq!((settings.patience.as_millis(), odd), (milliseconds, vec![]), "{value}");
        }
        for value in [json!(-1), json!("soon"), json!([])] {
            let (settings, odd) = read(&json!({ "mcp_discovery_timeout": value }));
            assert_eq!((settings.patience, odd.len()), (PATIENCE, 1), "{value}");
        }
    }

    #[test]
    fn what_settings_announce_is_expected() {
        let config = json!({
            "mcp_servers": {"github": {"command": "x"}, "files": {"url": "y", "enabled": true}, "old": {"enabled": false}},
            "plugins": {"enabled": ["weather", "art"], "disabled": ["art"]},
        });
        let expected: Vec<String> = read(&config).0.expected.into_iter().collect();
        assert_eq!(expected, ["mcp-files", "mcp-github", "weather"]);
    }
}
