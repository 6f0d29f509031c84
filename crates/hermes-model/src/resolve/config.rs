//! The settings that choose and reach a model, as types.
//!
//! Parsed once from the merged `config.yaml`. Every spelling the Python program accepted is understood here and nowhere
//! else; what is not understood comes back as [`Warning`]s. Secrets are [`Secret`]s from the first moment, so printing
//! a config is harmless. Endpoints stay text until they are used, because only then is a broken one an error.

use super::Ask;
use super::entry::{Entry, entries, normal};
use super::section::{Section, Single, Warning};
use crate::auth::pool::Strategy;
use crate::provider::prices::Prices;
use crate::provider::tariff::Overrides;
use crate::secret::Secret;
use crate::wire::{ApiMode, Ttl};
use hermes_types::{Object, Reasoning};
use serde_json::Value;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::time::Duration;

/// Everything the resolver reads from `config.yaml`.
#[derive(Debug, Clone, Default)]
pub struct ModelConfig {
    pub model: Selected,
    /// `providers`, then `custom_providers`: endpoints the person added, and settings for built-in providers.
    pub entries: Vec<Entry>,
    pub aliases: BTreeMap<String, Alias>,
    /// `fallback_providers`, then `fallback_model`, as written.
    pub fallbacks: Vec<Ask>,
    pub strategies: BTreeMap<String, Strategy>,
    /// The `provider` object that OpenRouter and Nous understand.
    pub routing: Object,
    pub auxiliary: BTreeMap<String, TaskConfig>,
    /// How often an auxiliary call is repeated after a transport failure.
    pub transient_retries: Option<u64>,
    pub reasoning: Option<Reasoning>,
    pub reasoning_by_model: BTreeMap<String, Reasoning>,
    /// `agent.local_stream_stale_timeout`.
    pub local_stale_after: Option<Duration>,
    /// `prompt_caching.cache_ttl`.
    pub cache_ttl: Ttl,
    /// `pricing.overrides`
    pub prices: Overrides,
    /// `model_catalog.enabled`: whether endpoints are asked for their lists by the way.
    pub asks_catalogues: bool,
}

/// `model`: what the person selected.
#[derive(Debug, Clone, Default)]
pub struct Selected {
    pub default: Option<String>,
    pub provider: Option<String>,
    pub base_url: Option<String>,
    pub api_key: Option<Secret>,
    pub key_env: Option<String>,
    pub api_mode: Option<ApiMode>,
    pub context_length: Option<u64>,
    pub max_tokens: Option<u64>,
    pub headers: Vec<(String, Secret)>,
    pub supports_vision: Option<bool>,
    pub ollama_num_ctx: Option<u64>,
    /// Lets `OPENAI_API_KEY` go to a custom endpoint that is not OpenAI's.
    pub allow_openai_key_for_custom: bool,
}

/// A short name for a model, perhaps of another provider.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Alias {
    pub model: String,
    pub provider: Option<String>,
    pub base_url: Option<String>,
}

/// `auxiliary.<task>`.
#[derive(Debug, Clone, Default)]
pub struct TaskConfig {
    /// `auto` and `model: auto` are read as not set.
    pub ask: Ask,
    pub timeout: Option<Duration>,
    pub extra_body: Object,
    pub reasoning: Option<Reasoning>,
    pub enabled: Option<bool>,
    pub fallbacks: Vec<TaskFallback>,
}

/// One place of `auxiliary.<task>.fallback_chain`.
#[derive(Debug, Clone, Default)]
pub struct TaskFallback {
    pub ask: Ask,
    pub timeout: Option<Duration>,
}

const TASK_KEYS: [&str; 14] = [
    "provider",
    "model",
    "base_url",
    "api_key",
    "key_env",
    "api_key_env",
    "api_mode",
    "timeout",
    "extra_body",
    "reasoning_effort",
    "fallback_chain",
    "enabled",
    "language",
    "download_timeout",
];

impl ModelConfig {
    /// Reads the merged settings. Never fails: what is wrong is left out and named in the warnings.
    pub fn parse(settings: &Value) -> (Self, Vec<Warning>) {
        let warnings = RefCell::new(Vec::new());
        let root = Section::new("", settings.as_object().cloned().unwrap_or_default(), &warnings);
        let agent = root.section("agent");
        let auxiliary = root.section("auxiliary");
        let config = Self {
            model: selected(&root),
            entries: entries(&root),
            aliases: aliases(&root),
            fallbacks: fallbacks(&root),
            strategies: strategies(&root.section("credential_pool_strategies")),
            routing: routing(&root.section("provider_routing")),
            auxiliary: tasks(&auxiliary),
            transient_retries: auxiliary.number("transient_retries", 0..=6),
            reasoning: agent.reasoning(&["reasoning_effort"]),
            reasoning_by_model: reasoning_by_model(&agent.section("reasoning_overrides")),
            local_stale_after: agent.seconds(&["local_stream_stale_timeout"]),
            cache_ttl: root.section("prompt_caching").ttl(&["cache_ttl"]).unwrap_or_default(),
            prices: prices(&root.section("pricing").section("overrides")),
            asks_catalogues: root.section("model_catalog").flag(&["enabled"]).unwrap_or(true),
        };
        (config, warnings.into_inner())
    }

    /// The entry a person means by `name`: its key or its display name, both also with spaces written as hyphens.
    pub fn entry(&self, name: &str) -> Option<&Entry> {
        let wanted = normal(name);
        self.entries.iter().find(|entry| normal(&entry.key) == wanted).or_else(|| {
            self.entries.iter().find(|entry| entry.name.as_deref().is_some_and(|name| normal(name) == wanted))
        })
    }
}

/// US dollars for a million tokens, and for one request.
fn prices(overrides: &Section<'_>) -> Overrides {
    let read = |(pattern, section): (String, Section<'_>)| {
        let prices = Prices {
            input: section.money("input"),
            output: section.money("output"),
            cache_read: section.money("cache_read"),
            cache_write: section.money("cache_write"),
            cache_write_1h: section.money("cache_write_1h"),
            request: section.money("request"),
        };
        (pattern, prices)
    };
    Overrides(overrides.sections().into_iter().map(read).collect())
}

/// `model` as text or map, and the older places of the same settings at the root.
fn selected(root: &Section<'_>) -> Selected {
    if let Some((_, Value::String(id))) = root.value(&["model"]) {
        return Selected {
            default: Some(id.trim().to_owned()),
            provider: not_auto(root.text(&["provider"])),
            base_url: root.text(&["base_url"]),
            context_length: root.count(&["context_length"]),
            ..Selected::default()
        };
    }
    let model = root.section("model");
    let mut headers = model.headers("default_headers");
    headers.extend(model.headers("extra_headers"));
    Selected {
        default: model.text(&["default", "model", "name"]),
        provider: not_auto(model.text(&["provider"]).or_else(|| root.text(&["provider"]))),
        base_url: model.text(&["base_url", "api_base"]).or_else(|| root.text(&["base_url"])),
        api_key: model.secret(&["api_key"]),
        key_env: model.text(&["key_env", "api_key_env"]),
        api_mode: model.mode(&["api_mode"]),
        context_length: model.count(&["context_length"]).or_else(|| root.count(&["context_length"])),
        max_tokens: model.count(&["max_tokens"]),
        headers,
        supports_vision: model.flag(&["supports_vision"]),
        ollama_num_ctx: model.count(&["ollama_num_ctx"]),
        allow_openai_key_for_custom: model.flag(&["allow_openai_key_for_custom"]).unwrap_or(false),
    }
}

/// `model.aliases.<name>: provider/model` and `model_aliases.<name>: {model, provider, base_url}`.
fn aliases(root: &Section<'_>) -> BTreeMap<String, Alias> {
    let mut found = BTreeMap::new();
    if matches!(root.value(&["model"]), Some((_, Value::Object(_)))) {
        let short = root.section("model").section("aliases");
        for (name, _) in short.entries() {
            if let Some(target) = short.text(&[name]) {
                let (provider, model) = match target.split_once('/') {
                    Some((provider, model)) => (Some(provider.to_owned()), model.to_owned()),
                    None => (None, target),
                };
                found.insert(name.to_lowercase(), Alias { model, provider, base_url: None });
            }
        }
    }
    for (name, section) in root.section("model_aliases").sections() {
        match section.text(&["model"]) {
            Some(model) => {
                let provider = not_auto(section.text(&["provider"]));
                let base_url = section.text(&["base_url"]);
                found.insert(name.to_lowercase(), Alias { model, provider, base_url });
            }
            None => section.warn("model", "is missing; the alias is ignored"),
        }
    }
    found
}

fn fallbacks(root: &Section<'_>) -> Vec<Ask> {
    let mut chain = root.list("fallback_providers", Single::Refused);
    chain.extend(root.list("fallback_model", Single::Allowed));
    chain.iter().filter_map(fallback).collect()
}

fn fallback(section: &Section<'_>) -> Option<Ask> {
    let ask = target(section);
    if ask.provider.is_none() || ask.model.is_none() {
        section.warn("provider", "and `model` are both needed; the fallback is ignored");
        return None;
    }
    Some(ask)
}

/// The keys that name a target wherever one can be named.
fn target(section: &Section<'_>) -> Ask {
    Ask {
        provider: not_auto(section.text(&["provider"])),
        model: not_auto(section.text(&["model"])),
        base_url: section.text(&["base_url"]),
        api_key: section.secret(&["api_key"]),
        key_env: section.text(&["key_env", "api_key_env"]),
        api_mode: section.mode(&["api_mode"]),
        ..Ask::default()
    }
}

fn tasks(auxiliary: &Section<'_>) -> BTreeMap<String, TaskConfig> {
    auxiliary
        .entries()
        .filter(|(name, _)| *name != "transient_retries")
        .map(|(name, _)| {
            let section = auxiliary.section(name);
            section.report_unknown(&TASK_KEYS);
            let task = TaskConfig {
                ask: target(&section),
                timeout: section.seconds(&["timeout"]),
                extra_body: section.object(&["extra_body"]),
                reasoning: section.reasoning(&["reasoning_effort"]),
                enabled: section.flag(&["enabled"]),
                fallbacks: section
                    .list("fallback_chain", Single::Allowed)
                    .iter()
                    .filter_map(|place| {
                        Some(TaskFallback { ask: fallback(place)?, timeout: place.seconds(&["timeout"]) })
                    })
                    .collect(),
            };
            (name.clone(), task)
        })
        .collect()
}

fn strategies(section: &Section<'_>) -> BTreeMap<String, Strategy> {
    let mut found = BTreeMap::new();
    for (provider, _) in section.entries() {
        let Some(word) = section.text(&[provider]) else { continue };
        match Strategy::parse(&word) {
            Some(strategy) => _ = found.insert(provider.clone(), strategy),
            None => section.warn(provider, "expected fill_first, round_robin, random or least_used; ignored"),
        }
    }
    found
}

/// Only what the routers accept, and only well-formed values: a bad `sort` would refuse every request.
fn routing(section: &Section<'_>) -> Object {
    section.report_unknown(&["sort", "only", "ignore", "order", "require_parameters", "data_collection"]);
    let mut routing = Object::new();
    let words = [("sort", &["throughput", "latency", "price"][..]), ("data_collection", &["allow", "deny"][..])];
    for (key, allowed) in words {
        match section.text(&[key]) {
            Some(word) if allowed.contains(&word.as_str()) => _ = routing.insert(key.into(), Value::String(word)),
            Some(_) => section.warn(key, format!("expected one of {}; ignored", allowed.join(", "))),
            None => {}
        }
    }
    for key in ["only", "ignore", "order"] {
        match section.value(&[key]) {
            Some((_, Value::Array(items))) if items.is_empty() => {}
            Some((_, list @ Value::Array(items))) if items.iter().all(Value::is_string) => {
                routing.insert(key.into(), list.clone());
            }
            Some(_) => section.warn(key, "expected a list of provider names; ignored"),
            None => {}
        }
    }
    if section.flag(&["require_parameters"]) == Some(true) {
        routing.insert("require_parameters".into(), Value::Bool(true));
    }
    routing
}

fn reasoning_by_model(section: &Section<'_>) -> BTreeMap<String, Reasoning> {
    section.entries().filter_map(|(model, _)| Some((model.clone(), section.reasoning(&[model])?))).collect()
}

fn not_auto(word: Option<String>) -> Option<String> {
    word.filter(|word| !word.eq_ignore_ascii_case("auto"))
}
