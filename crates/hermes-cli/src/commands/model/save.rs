//! Writing the choice to `config.yaml`: the three keys it consists of, and nothing left behind that belonged to the
//! choice before. A key of one vendor that stays beside the name of another would be sent to the wrong one.

use super::super::access::{Access, Who};
use super::super::{Console, Exit, Trouble};
use crate::app::App;
use crate::settings::edit::{self, Change, EditError};
use crate::settings::{KeyPath, mask, migrate};
use hermes_model::resolve::{self, ModelConfig};
use serde_json::Value;
use url::Url;

/// What belongs to an endpoint and goes when another is chosen.
const OF_THE_ENDPOINT: [&str; 6] =
    ["api_key", "key_env", "api_key_env", "api_mode", "default_headers", "extra_headers"];
/// What belongs to a model.
const OF_THE_MODEL: [&str; 2] = ["context_length", "supports_vision"];

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Choice {
    pub(super) who: Who,
    /// As the provider names it.
    pub(super) model: String,
    /// Where the person says it is; `None` leaves it where it is.
    pub(super) base_url: Option<Url>,
}

pub(super) fn write(app: &App, choice: &Choice, console: &mut Console<'_>) -> Result<Exit, Trouble> {
    let mut planned = Vec::new();
    let file = edit::change_config(&app.home, |raw| {
        planned = plan(raw, choice, &app.knowledge.config);
        Ok::<_, EditError>(planned.clone())
    })?;
    if planned.is_empty() {
        writeln!(console.out, "{} at {} was chosen already.", choice.model, choice.who.label)?;
    } else {
        writeln!(console.out, "Chose {} at {} ({}):", choice.model, choice.who.label, file.display())?;
    }
    for change in &planned {
        match change {
            Change::Set(path, value) => writeln!(console.out, "  {path}: {}", shown(path, value))?,
            Change::Unset(path) => writeln!(console.out, "  {path} removed, it belonged to the choice before")?,
        }
    }
    match choice.who.access(app) {
        Access::Missing(error) if !is_about_address(&error) => {
            writeln!(console.err, "Still missing: {error}.")?;
        }
        _ => writeln!(console.out, "Try it: hermes -z \"why is the sky blue?\"")?,
    }
    Ok(Exit::Done)
}

/// The address was written just now, after the settings were read.
fn is_about_address(error: &resolve::ResolveError) -> bool {
    matches!(error, resolve::ResolveError::MissingBaseUrl { .. })
}

fn shown(path: &KeyPath, value: &Value) -> String {
    match mask::settings(path, value) {
        Value::String(text) => text,
        other => other.to_string(),
    }
}

/// The changes that make `raw` say the choice. Pure; empty when it says so already.
fn plan(raw: &Value, choice: &Choice, config: &ModelConfig) -> Vec<Change> {
    let (mut changes, present) = migrate::model_section(raw);
    let path = |key: &str| KeyPath::of(["model", key]);
    let text = |key: &str| path(key).find(&present).and_then(Value::as_str).filter(|text| !text.is_empty());
    let before = text("provider").and_then(|name| resolve::whois(name, config).ok()).map(|(_, name)| name);
    // An address without a provider's name beside it is that of the endpoint nobody else has.
    let same_provider = before.as_deref().unwrap_or("custom") == choice.who.name;

    // The usual place needs no mention.
    let usual = |url: &&Url| url.as_str().trim_end_matches('/') != choice.who.row.base_url.trim_end_matches('/');
    let address = choice.base_url.as_ref().filter(usual).map(|url| url.as_str().trim_end_matches('/').to_owned());
    let keeps_address = same_provider && choice.base_url.is_none();
    let same_endpoint = keeps_address || (same_provider && text("base_url") == address.as_deref());

    let mut set = |key: &str, value: String| {
        if text(key) != Some(value.as_str()) {
            changes.push(Change::Set(path(key), value.into()));
        }
    };
    set("provider", choice.who.name.clone());
    set("default", choice.model.clone());
    if let Some(address) = &address {
        set("base_url", address.clone());
    }
    let mut stale: Vec<&str> = Vec::new();
    if address.is_none() && !keeps_address {
        stale.push("base_url");
    }
    if !same_endpoint {
        stale.extend(OF_THE_ENDPOINT);
    }
    if text("default") != Some(choice.model.as_str()) || !same_endpoint {
        stale.extend(OF_THE_MODEL);
    }
    changes.extend(stale.into_iter().map(path).filter(|path| path.find(&present).is_some()).map(Change::Unset));
    changes
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn after(yaml: &str, provider: &str, model: &str, base_url: Option<&str>) -> String {
        let config = ModelConfig::default();
        let choice = Choice {
            who: Who::find(provider, &config).expect("a provider"),
            model: model.into(),
            base_url: base_url.map(|url| url.parse().expect("a URL")),
        };
        let raw = crate::settings::document::parse_text(yaml).expect("YAML");
        let raw = if raw.is_null() { json!({}) } else { raw };
        edit::apply(yaml, &plan(&raw, &choice, &config)).expect("applied")
    }

    #[test]
    fn a_first_choice_is_two_lines() {
        assert_eq!(
            after("", "openrouter", "z-ai/glm-5.2", None),
            "model:\n  provider: openrouter\n  default: z-ai/glm-5.2\n"
        );
        assert_eq!(
            after("", "openrouter", "a/b", Some("https://openrouter.ai/api/v1/")),
            "model:\n  provider: openrouter\n  default: a/b\n"
        );
    }

    #[test]
    fn another_provider_leaves_nothing_of_the_one_before() {
        let before = "# mine\nmodel:\n  default: m # good\n  provider: custom\n  base_url: http://box:8000/v1\n  api_key: sk-secret\n  \
                      context_length: 9000\n  max_tokens: 100\nagent:\n  max_turns: 3\n";
        assert_eq!(
            after(before, "anthropic", "claude-sonnet-4-6", None),
            "# mine\nmodel:\n  default: claude-sonnet-4-6 # good\n  provider: anthropic\n  max_tokens: 100\nagent:\n  max_turns: 3\n"
        );
    }

    #[test]
    fn another_model_at_the_same_place_keeps_the_place() {
        let before = "model:\n  default: m\n  provider: local\n  base_url: http://box:8000/v1\n  api_key: sk-secret\n  context_length: 9\n";
        assert_eq!(
            after(before, "custom", "other", None),
            "model:\n  default: other\n  provider: custom\n  base_url: http://box:8000/v1\n  api_key: sk-secret\n"
        );
        assert_eq!(
            after(before, "custom", "other", Some("http://other:1/v1")),
            "model:\n  default: other\n  provider: custom\n  base_url: http://other:1/v1\n"
        );
    }

    #[test]
    fn an_address_that_names_no_provider_stays_with_the_custom_endpoint() {
        let before = "model:\n  default: m\n  base_url: http://box:8000/v1\n  api_key: sk-secret\n";
        assert_eq!(
            after(before, "custom", "m2", None),
            "model:\n  default: m2\n  base_url: http://box:8000/v1\n  api_key: sk-secret\n  provider: custom\n"
        );
        let auto = before.replace("model:\n", "model:\n  provider: auto\n");
        assert_eq!(after(&auto, "custom", "m", None), auto.replace("auto", "custom"));
    }

    #[test]
    fn older_layouts_are_brought_along() {
        assert_eq!(
            after("model: gpt-4.1\nprovider: openai\nbase_url: https://proxy.test/v1\n", "openai-api", "gpt-5.4", None),
            "model:\n  default: gpt-5.4\n  provider: openai-api\n  base_url: https://proxy.test/v1\n"
        );
        assert_eq!(
            after("model: gpt-4.1\nbase_url: https://proxy.test/v1\n", "groq", "x", None),
            "model:\n  default: x\n  provider: groq\n"
        );
    }

    #[test]
    fn the_same_choice_changes_nothing() {
        let config = ModelConfig::default();
        let who = Who::find("groq", &config).expect("a provider");
        let raw = json!({"model": {"default": "x", "provider": "groq"}});
        assert_eq!(plan(&raw, &Choice { who, model: "x".into(), base_url: None }, &config), []);
    }
}
