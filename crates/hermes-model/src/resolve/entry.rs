//! Endpoints the person added, and what they set for built-in providers.
//!
//! `providers` is a map and `custom_providers` a list of the same entries. The spellings of several generations are
//! accepted; the ones that are on their way out earn a warning.

use super::section::{Section, Single};
use crate::secret::Secret;
use crate::transport::Tls;
use crate::wire::ApiMode;
use hermes_types::Object;
use serde_json::Value;
use std::path::PathBuf;
use std::time::Duration;

/// One endpoint of `providers` or `custom_providers`.
#[derive(Debug, Clone)]
pub struct Entry {
    /// The key in the map, or the name in the list.
    pub key: String,
    pub name: Option<String>,
    pub base_url: Option<String>,
    pub api_key: Option<Secret>,
    pub key_env: Option<String>,
    pub api_mode: Option<ApiMode>,
    pub default_model: Option<String>,
    /// In the order written; the first is the default where `default_model` is not set.
    pub models: Vec<EntryModel>,
    pub extra_body: Object,
    pub headers: Vec<(String, Secret)>,
    pub context_length: Option<u64>,
    pub max_output_tokens: Option<u64>,
    pub request_timeout: Option<Duration>,
    pub stale_after: Option<Duration>,
    pub tls: Tls,
    pub enabled: bool,
}

/// What an entry says about one of its models.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EntryModel {
    pub id: String,
    pub context_length: Option<u64>,
    pub max_output_tokens: Option<u64>,
    pub request_timeout: Option<Duration>,
    pub stale_after: Option<Duration>,
}

const CAMEL_CASE: [(&str, &str); 8] = [
    ("apiKey", "api_key"),
    ("baseUrl", "base_url"),
    ("apiMode", "api_mode"),
    ("keyEnv", "key_env"),
    ("apiKeyEnv", "api_key_env"),
    ("defaultModel", "default_model"),
    ("contextLength", "context_length"),
    ("rateLimitDelay", "rate_limit_delay"),
];

const ENTRY_KEYS: [&str; 29] = [
    "name",
    "base_url",
    "url",
    "api",
    "api_key",
    "key_env",
    "api_key_env",
    "api_mode",
    "transport",
    "default_model",
    "model",
    "models",
    "extra_body",
    "extra_headers",
    "headers",
    "context_length",
    "max_output_tokens",
    "max_tokens",
    "request_timeout_seconds",
    "timeout_seconds",
    "stale_timeout_seconds",
    "rate_limit_delay",
    "discover_models",
    "ssl_ca_cert",
    "ssl_verify",
    "enabled",
    "provider",
    "provider_key",
    "description",
];

impl Entry {
    pub fn model(&self, id: &str) -> Option<&EntryModel> {
        self.models.iter().find(|model| model.id == id)
    }

    pub fn first_model(&self) -> Option<&str> {
        self.default_model.as_deref().or_else(|| self.models.first().map(|model| model.id.as_str()))
    }

    pub fn label(&self) -> &str {
        self.name.as_deref().unwrap_or(&self.key)
    }
}

/// How names of entries are compared.
pub(super) fn normal(name: &str) -> String {
    name.trim().to_lowercase().replace(' ', "-")
}

/// All entries, `providers` first.
pub(super) fn entries(root: &Section<'_>) -> Vec<Entry> {
    let mut found: Vec<Entry> =
        root.section("providers").sections().into_iter().map(|(key, section)| entry(key, section)).collect();
    for section in root.list("custom_providers", Single::Refused) {
        match section.text(&["name"]) {
            Some(name) => found.push(entry(name, section)),
            None => section.warn("name", "is missing; the endpoint cannot be chosen and is ignored"),
        }
    }
    found
}

fn entry(key: String, mut section: Section<'_>) -> Entry {
    section.respell(&CAMEL_CASE);
    section.report_unknown(&ENTRY_KEYS);
    if section.seconds(&["rate_limit_delay"]).is_some() {
        section.warn("rate_limit_delay", "has no effect yet");
    }
    if section.flag(&["discover_models"]) == Some(false) {
        section.warn("discover_models", "has no effect yet; models are still looked up");
    }
    let mut headers = section.headers("extra_headers");
    headers.extend(section.headers("headers"));
    Entry {
        key,
        name: section.text(&["name"]),
        base_url: section.text(&["base_url", "url", "api"]),
        api_key: section.secret(&["api_key"]),
        key_env: section.text(&["key_env", "api_key_env"]),
        api_mode: section.mode(&["api_mode", "transport"]),
        default_model: section.text(&["default_model", "model"]),
        models: entry_models(&section),
        extra_body: section.object(&["extra_body"]),
        headers,
        context_length: section.count(&["context_length"]),
        max_output_tokens: section.count(&["max_output_tokens", "max_tokens"]),
        request_timeout: section.seconds(&["request_timeout_seconds", "timeout_seconds"]),
        stale_after: section.seconds(&["stale_timeout_seconds"]),
        tls: tls(&section),
        enabled: section.flag(&["enabled"]).unwrap_or(true),
    }
}

fn tls(section: &Section<'_>) -> Tls {
    let verify = section.flag(&["ssl_verify"]).unwrap_or(true);
    if !verify {
        let danger = "is false: anybody on the way to this endpoint can read and change what is said, the key included. \
                      Name the server's certificate in ssl_ca_cert instead";
        section.warn("ssl_verify", danger);
    }
    Tls { ca_file: section.text(&["ssl_ca_cert"]).map(PathBuf::from), unverified: !verify }
}

/// `models` as a map by id, a list of ids, or a list of maps with an `id`.
fn entry_models(section: &Section<'_>) -> Vec<EntryModel> {
    match section.value(&["models"]) {
        Some((_, Value::Object(_))) => section
            .section("models")
            .entries()
            .map(|(id, value)| {
                let details = value.as_object().cloned().unwrap_or_default();
                entry_model(id.clone(), &section.below(&format!("models.{id}"), details))
            })
            .collect(),
        Some((_, Value::Array(items))) => items
            .iter()
            .filter_map(|item| match item {
                Value::String(id) => Some(EntryModel { id: id.clone(), ..EntryModel::default() }),
                Value::Object(details) => {
                    let details = section.below("models", details.clone());
                    Some(entry_model(details.text(&["id", "name"])?, &details))
                }
                _ => None,
            })
            .collect(),
        Some(_) => {
            section.warn("models", "expected a map or a list; ignored");
            Vec::new()
        }
        None => Vec::new(),
    }
}

fn entry_model(id: String, details: &Section<'_>) -> EntryModel {
    EntryModel {
        id,
        context_length: details.count(&["context_length", "contextLength"]),
        max_output_tokens: details.count(&["max_output_tokens", "max_tokens"]),
        request_timeout: details.seconds(&["timeout_seconds", "request_timeout_seconds"]),
        stale_after: details.seconds(&["stale_timeout_seconds"]),
    }
}
