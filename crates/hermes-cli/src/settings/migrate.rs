//! Older layouts of `config.yaml` and `.env`, and the way from each to the present one.
//!
//! The ladder is data: one row per step, each a pure function from what is there to the changes it asks for. Steps that
//! only move a key are also taken in memory whenever settings are read, so an old file works without being rewritten;
//! files change only through `hermes config migrate`. A newer value is never replaced by an older one.

use super::edit::Change;
use super::key_path::KeyPath;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt;

/// The newest layout this program knows. The number in a file is never raised here: another program that shares the home
/// counts its own steps by it and would skip them.
pub const NEWEST: u64 = 33;

/// A step that has something to do.
#[derive(Debug, Clone, PartialEq)]
pub struct Step {
    pub version: u64,
    pub title: &'static str,
    pub actions: Vec<Action>,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Action {
    Config(Change),
    /// Removes a variable from `.env`.
    DropVariable(&'static str),
}

struct Rung {
    version: u64,
    title: &'static str,
    reading: Reading,
    plan: fn(&Value, &BTreeMap<String, String>) -> Vec<Action>,
}

/// Whether a step is also taken in memory when settings are read.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Reading {
    /// The old place has no other meaning, whatever version the file says it has.
    Always,
    Never,
}

const LADDER: &[Rung] = &[
    Rung {
        version: 0,
        title: "provider, base_url and model names move into the section `model`",
        reading: Reading::Always,
        plan: fold_model,
    },
    Rung {
        version: 4,
        title: "the tool progress variable becomes `display.tool_progress`",
        reading: Reading::Never,
        plan: tool_progress,
    },
    Rung { version: 5, title: "HERMES_TIMEZONE becomes `timezone`", reading: Reading::Never, plan: timezone },
    Rung {
        version: 12,
        title: "the list `custom_providers` becomes the section `providers`",
        reading: Reading::Never,
        plan: custom_providers,
    },
    Rung {
        version: 13,
        title: "model variables that are no longer read go",
        reading: Reading::Never,
        plan: model_variables,
    },
    Rung { version: 14, title: "`stt.model` moves to its engine", reading: Reading::Always, plan: stt_model },
    Rung {
        version: 16,
        title: "tool progress per platform moves to `display.platforms`",
        reading: Reading::Always,
        plan: progress_overrides,
    },
    Rung {
        version: 17,
        title: "`compression.summary_*` moves to `auxiliary.compression`",
        reading: Reading::Always,
        plan: summary_model,
    },
    Rung { version: 25, title: "the model list is refreshed hourly", reading: Reading::Never, plan: catalog_ttl },
    Rung { version: 29, title: "`write_mode` becomes `write_approval`", reading: Reading::Always, plan: write_mode },
];

/// The steps an old file still has to take.
pub fn plan(config: &Value, variables: &BTreeMap<String, String>) -> Vec<Step> {
    let stored = version(config);
    let mut config = config.clone();
    let mut steps = Vec::new();
    for rung in LADDER.iter().filter(|rung| rung.version > stored || rung.reading == Reading::Always) {
        let actions = (rung.plan)(&config, variables);
        apply_in_memory(&mut config, &actions);
        if !actions.is_empty() {
            steps.push(Step { version: rung.version, title: rung.title, actions });
        }
    }
    steps
}

/// The changes that bring the section `model` into the present layout, and the settings after them: for whoever is about
/// to change something below it.
pub fn model_section(config: &Value) -> (Vec<Change>, Value) {
    let mut present = config.clone();
    let actions = fold_model(config, &BTreeMap::new());
    apply_in_memory(&mut present, &actions);
    unfold_bare_id(&mut present);
    let change = |action| if let Action::Config(change) = action { Some(change) } else { None };
    (actions.into_iter().filter_map(change).collect(), present)
}

/// Brings settings just read into the present layout, in memory only.
pub fn fold(config: &mut Value) {
    let none = BTreeMap::new();
    for rung in LADDER.iter().filter(|rung| rung.reading == Reading::Always) {
        let actions = (rung.plan)(config, &none);
        apply_in_memory(config, &actions);
    }
    unfold_bare_id(config);
}

/// A bare id is the short form of the section.
fn unfold_bare_id(config: &mut Value) {
    if let Some(Value::String(id)) = at(config, "model") {
        let section =
            if id.is_empty() { Value::Object(serde_json::Map::new()) } else { serde_json::json!({ "default": id }) };
        path("model").put(config, section);
    }
}

/// The version a file says it has.
pub fn version(config: &Value) -> u64 {
    at(config, "_config_version").and_then(Value::as_u64).unwrap_or(0)
}

fn apply_in_memory(config: &mut Value, actions: &[Action]) {
    for action in actions {
        match action {
            Action::Config(Change::Set(path, value)) => {
                path.put(config, value.clone());
            }
            Action::Config(Change::Unset(path)) => {
                path.take(config);
            }
            Action::DropVariable(_) => {}
        }
    }
}

fn fold_model(config: &Value, _: &BTreeMap<String, String>) -> Vec<Action> {
    const MOVES: [(&str, &str); 6] = [
        ("provider", "model.provider"),
        ("base_url", "model.base_url"),
        ("context_length", "model.context_length"),
        ("model.api_base", "model.base_url"),
        ("model.model", "model.default"),
        ("model.name", "model.default"),
    ];
    let mut actions = Vec::new();
    let moved = MOVES.iter().any(|(from, _)| at(config, from).is_some());
    if let Some(Value::String(id)) = at(config, "model").filter(|_| moved) {
        actions.push(set(path("model"), serde_json::json!({ "default": id })));
    }
    // Two old names of one setting: the first one counts.
    let mut taken: Vec<&str> = Vec::new();
    for (from, to) in MOVES {
        if let Some(value) = at(config, from) {
            if is_open(config, to) && !taken.contains(&to) {
                actions.push(set(path(to), value.clone()));
                taken.push(to);
            }
            actions.push(unset(path(from)));
        }
    }
    actions
}

fn tool_progress(config: &Value, variables: &BTreeMap<String, String>) -> Vec<Action> {
    const NAMES: [&str; 2] = ["HERMES_TOOL_PROGRESS_MODE", "HERMES_TOOL_PROGRESS"];
    let mut actions = Vec::new();
    let value = NAMES.iter().find_map(|name| variables.get(*name));
    if let Some(value) = value.filter(|_| is_open(config, "display.tool_progress")) {
        let mode = match value.trim().to_ascii_lowercase().as_str() {
            "false" | "0" | "no" | "off" => "off",
            "new" => "new",
            "verbose" => "verbose",
            _ => "all",
        };
        actions.push(set(path("display.tool_progress"), mode.into()));
    }
    actions.extend(dropped(variables, &NAMES));
    actions
}

fn timezone(config: &Value, variables: &BTreeMap<String, String>) -> Vec<Action> {
    let zone = variables.get("HERMES_TIMEZONE").filter(|zone| !zone.trim().is_empty() && is_open(config, "timezone"));
    let mut actions: Vec<Action> = zone.map(|zone| set(path("timezone"), zone.trim().into())).into_iter().collect();
    actions.extend(dropped(variables, &["HERMES_TIMEZONE"]));
    actions
}

fn custom_providers(config: &Value, _: &BTreeMap<String, String>) -> Vec<Action> {
    let Some(Value::Array(entries)) = at(config, "custom_providers") else { return Vec::new() };
    let mut actions: Vec<Action> = Vec::new();
    for entry in entries {
        let Some(name) = entry.get("name").and_then(Value::as_str).map(endpoint_id).filter(|name| !name.is_empty())
        else {
            // An entry without a name has no place in the new form; the list stays as it is.
            return Vec::new();
        };
        let target = path("providers").child(name);
        let taken = actions.iter().any(|action| matches!(action, Action::Config(change) if *change.path() == target));
        if !taken && target.find(config).is_none() {
            actions.push(set(target, entry.clone()));
        }
    }
    actions.push(unset(path("custom_providers")));
    actions
}

fn model_variables(_: &Value, variables: &BTreeMap<String, String>) -> Vec<Action> {
    dropped(variables, &["LLM_MODEL", "OPENAI_MODEL"])
}

fn stt_model(config: &Value, _: &BTreeMap<String, String>) -> Vec<Action> {
    let Some(model) = at(config, "stt.model") else { return Vec::new() };
    let engine =
        at(config, "stt.provider").and_then(Value::as_str).filter(|engine| !engine.is_empty()).unwrap_or("local");
    let target = KeyPath::of(["stt", engine, "model"]);
    let mut actions = Vec::new();
    if target.find(config).is_none() {
        actions.push(set(target, model.clone()));
    }
    actions.push(unset(path("stt.model")));
    actions
}

fn progress_overrides(config: &Value, _: &BTreeMap<String, String>) -> Vec<Action> {
    let Some(Value::Object(overrides)) = at(config, "display.tool_progress_overrides") else { return Vec::new() };
    let mut actions = Vec::new();
    for (platform, mode) in overrides {
        let target = KeyPath::of(["display", "platforms", platform.as_str(), "tool_progress"]);
        if target.find(config).is_none() {
            actions.push(set(target, mode.clone()));
        }
    }
    actions.push(unset(path("display.tool_progress_overrides")));
    actions
}

fn summary_model(config: &Value, _: &BTreeMap<String, String>) -> Vec<Action> {
    const MOVES: [(&str, &str); 3] = [
        ("compression.summary_model", "auxiliary.compression.model"),
        ("compression.summary_provider", "auxiliary.compression.provider"),
        ("compression.summary_base_url", "auxiliary.compression.base_url"),
    ];
    let mut actions = Vec::new();
    for (from, to) in MOVES {
        let Some(value) = at(config, from) else { continue };
        let says_something = !matches!(value.as_str(), Some("" | "auto")) && !value.is_null();
        if says_something && (is_open(config, to) || at(config, to).and_then(Value::as_str) == Some("auto")) {
            actions.push(set(path(to), value.clone()));
        }
        actions.push(unset(path(from)));
    }
    actions
}

fn catalog_ttl(config: &Value, _: &BTreeMap<String, String>) -> Vec<Action> {
    const OLD_DEFAULT: u64 = 24;
    let ttl = "model_catalog.ttl_hours";
    match at(config, ttl).and_then(Value::as_u64) {
        Some(OLD_DEFAULT) => vec![set(path(ttl), 1.into())],
        _ => Vec::new(),
    }
}

fn write_mode(config: &Value, _: &BTreeMap<String, String>) -> Vec<Action> {
    let mut actions = Vec::new();
    for (from, to) in [("memory.write_mode", "memory.write_approval"), ("skills.write_mode", "skills.write_approval")] {
        let Some(mode) = at(config, from) else { continue };
        if is_open(config, to) {
            // `on` (which YAML reads as true) was free writing. `off` forbade it, and asking comes closest to that.
            let free = *mode == Value::Bool(true) || mode.as_str() == Some("on");
            actions.push(set(path(to), Value::Bool(!free)));
        }
        actions.push(unset(path(from)));
    }
    actions
}

/// How an endpoint's name is spelt as a key.
fn endpoint_id(name: &str) -> String {
    name.trim().to_lowercase().replace(' ', "-")
}

fn dropped(variables: &BTreeMap<String, String>, names: &[&'static str]) -> Vec<Action> {
    names.iter().filter(|name| variables.contains_key(**name)).map(|name| Action::DropVariable(name)).collect()
}

fn at<'v>(config: &'v Value, dotted: &str) -> Option<&'v Value> {
    path(dotted).find(config)
}

/// Not set, or set to nothing.
fn is_open(config: &Value, dotted: &str) -> bool {
    at(config, dotted).is_none_or(|value| value.is_null() || value.as_str() == Some(""))
}

fn path(dotted: &str) -> KeyPath {
    KeyPath::of(dotted.split('.'))
}

fn set(path: KeyPath, value: Value) -> Action {
    Action::Config(Change::Set(path, value))
}

fn unset(path: KeyPath) -> Action {
    Action::Config(Change::Unset(path))
}

impl fmt::Display for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Config(Change::Set(path, value)) => write!(f, "set {path} to {}", super::mask::settings(path, value)),
            Self::Config(Change::Unset(path)) => write!(f, "remove {path}"),
            Self::DropVariable(name) => write!(f, "remove {name} from .env"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn folded(mut config: Value) -> Value {
        fold(&mut config);
        config
    }

    #[test]
    fn old_places_are_read_as_the_new_ones() {
        let table = [
            (json!({"model": "gpt"}), json!({"model": {"default": "gpt"}})),
            (
                json!({"model": "gpt", "provider": "openai", "context_length": 9}),
                json!({"model": {"default": "gpt", "provider": "openai", "context_length": 9}}),
            ),
            (
                json!({"model": {"name": "a", "api_base": "http://x"}}),
                json!({"model": {"default": "a", "base_url": "http://x"}}),
            ),
            (json!({"model": {"default": "new", "model": "old"}}), json!({"model": {"default": "new"}})),
            (json!({"model": {"model": "a", "name": "b"}}), json!({"model": {"default": "a"}})),
            (json!({"base_url": "http://x", "model": {"base_url": ""}}), json!({"model": {"base_url": "http://x"}})),
            (
                json!({"compression": {"summary_model": "m", "summary_provider": "auto"}}),
                json!({"compression": {}, "auxiliary": {"compression": {"model": "m"}}}),
            ),
            (json!({"stt": {"model": "tiny"}}), json!({"stt": {"local": {"model": "tiny"}}})),
            (
                json!({"memory": {"write_mode": "approve"}, "skills": {"write_mode": true}}),
                json!({"memory": {"write_approval": true}, "skills": {"write_approval": false}}),
            ),
            (json!({"custom_providers": [{"name": "x"}]}), json!({"custom_providers": [{"name": "x"}]})),
        ];
        for (old, new) in table {
            assert_eq!(folded(old.clone()), new, "{old}");
        }
    }

    #[test]
    fn the_ladder_lists_what_it_would_do() {
        let config = json!({
            "_config_version": 11,
            "custom_providers": [{"name": "My Box", "base_url": "http://box", "api_key": "sk-0123456789abcdefgh"}],
            "display": {"tool_progress_overrides": {"telegram": "off"}},
            "model_catalog": {"ttl_hours": 24},
        });
        let variables = BTreeMap::from([
            ("LLM_MODEL".to_owned(), "x".to_owned()),
            ("HERMES_TIMEZONE".to_owned(), "UTC".to_owned()),
        ]);
        let lines: Vec<String> = plan(&config, &variables)
            .iter()
            .flat_map(|step| step.actions.iter().map(|action| format!("{} {action}", step.version)))
            .collect();
        assert_eq!(
            lines,
            [
                r#"12 set providers.my-box to {"name":"My Box","base_url":"http://box","api_key":"«redacted:sk-0…efgh»"}"#,
                "12 remove custom_providers",
                "13 remove LLM_MODEL from .env",
                r#"16 set display.platforms.telegram.tool_progress to "off""#,
                "16 remove display.tool_progress_overrides",
                "25 set model_catalog.ttl_hours to 1",
            ]
        );
        assert_eq!(plan(&json!({"_config_version": NEWEST}), &variables), []);
    }

    #[test]
    fn variables_become_settings_once() {
        let variables = BTreeMap::from([
            ("HERMES_TOOL_PROGRESS".to_owned(), "false".to_owned()),
            ("HERMES_TIMEZONE".to_owned(), "Asia/Tokyo".to_owned()),
        ]);
        let actions: Vec<Action> =
            plan(&json!({"timezone": "UTC"}), &variables).into_iter().flat_map(|step| step.actions).collect();
        assert_eq!(
            actions,
            [
                set(path("display.tool_progress"), json!("off")),
                Action::DropVariable("HERMES_TOOL_PROGRESS"),
                Action::DropVariable("HERMES_TIMEZONE"),
            ]
        );
    }
}
