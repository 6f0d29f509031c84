//! The result: one immutable description of whom to ask, how, with what and within which limits.
//!
//! A runtime never changes; another model, credential or endpoint is another runtime. Printing one shows no secret.

use super::choice::Choice;
use super::endpoint::{By, Site};
use super::timeouts::{self, Staleness};
use super::{Credential, Entry, Known, ResolveError};
use crate::provider::{ModeRule, Provider, context, mode, names};
use crate::secret::Secret;
use crate::transport::Tls;
use crate::wire::{ApiMode, Target, Ttl};
use hermes_types::{Object, Reasoning};
use serde_json::{Value, json};
use std::time::Duration;
use url::Url;

/// Providers whose protocol is not for the settings to choose; a saved one is a leftover of another provider.
const MODE_IS_FIXED: [&str; 2] = ["xai", "openai-codex"];
/// Providers that understand `provider_routing`.
const ROUTERS: [&str; 2] = ["openrouter", "nous"];

#[derive(Debug, Clone, PartialEq)]
pub struct Runtime {
    pub provider: &'static Provider,
    /// The row's id, or `custom:<name>` for an endpoint of the config; what a session stores.
    pub name: String,
    /// For people.
    pub label: String,
    pub api_mode: ApiMode,
    pub base_url: Url,
    pub credential: Credential,
    /// As the provider wants it named.
    pub model: String,
    /// Headers the person configured. They count as secrets and go to this endpoint only: they are bound when a request
    /// is about to go there, because a vendor may move a session among its own hosts.
    pub headers: Vec<(String, Secret)>,
    /// Fields the person adds to every body.
    pub extra_body: Object,
    pub limits: Limits,
    /// How hard the model should think when a request does not say; what the person set for this very model.
    pub reasoning: Option<Reasoning>,
    pub tls: Tls,
    /// How long the provider should keep prompts, where it can be asked to.
    pub cache_ttl: Ttl,
    /// What the person should hear about how this was resolved.
    pub notes: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// The tokens the model can read and write in one go.
    pub context_window: u64,
    /// `None` leaves it to the provider.
    pub max_output_tokens: Option<u32>,
    pub stale: Staleness,
    pub request_timeout: Duration,
    /// How long to wait for the first byte, where a backend is known to hang without sending one.
    pub first_byte_timeout: Option<Duration>,
}

impl Runtime {
    /// What the encoders need to know.
    pub fn target(&self) -> Target {
        Target {
            provider: self.provider,
            base_url: self.base_url.clone(),
            login: self.credential.login,
            extra_body: self.extra_body.clone(),
            cache: Some(self.cache_ttl),
        }
    }

    /// The same endpoint and credential with another model. Vendors that serve several protocols may answer this one
    /// in another.
    pub fn with_model(&self, model: &str, known: &Known<'_>) -> Self {
        let entry = known.config.entry(self.name.strip_prefix("custom:").unwrap_or(&self.name));
        let wire = names::wire_name(self.provider, model);
        let api_mode = match self.provider.mode {
            ModeRule::Always(_) | ModeRule::ByUrl => self.api_mode,
            _ => mode::api_mode(self.provider, &self.base_url, model),
        };
        let base_url = mode::settle(self.provider, api_mode, self.base_url.clone());
        let limits = limits(self.provider, entry, &base_url, model, &Overrides::default(), known);
        let reasoning = reasoning(&wire, model, known);
        Self { model: wire, api_mode, base_url, limits, reasoning, ..self.clone() }
    }
}

/// What the selection in the config says about its own model.
#[derive(Default)]
struct Overrides {
    context_window: Option<u64>,
    max_output_tokens: Option<u64>,
}

/// The model: the one asked for, the configured one, the environment's, the entry's own, the vendor's first. Servers
/// the person runs have no first model; whoever can look may ask them.
pub(super) fn model(choice: &Choice<'_>, base_url: &Url) -> Result<String, ResolveError> {
    let configured = choice.default_model.clone().filter(|_| choice.default_applies);
    let entry = || choice.entry.and_then(Entry::first_model).map(str::to_owned);
    let curated = || {
        let first = choice.row.models.first().filter(|_| !choice.row.is_self_hosted());
        first.map(|first| (*first).to_owned())
    };
    choice
        .model
        .clone()
        .or(configured)
        .or_else(|| choice.weak_model.clone())
        .or_else(entry)
        .or_else(curated)
        .ok_or_else(|| ResolveError::NoModel { provider: choice.label(), base_url: base_url.clone() })
}

/// The protocol: asked for, set for the endpoint, saved with the selection, else what row, URL and model say.
pub(super) fn api_mode(choice: &Choice<'_>, base_url: &Url, model: &str, known: &Known<'_>) -> ApiMode {
    let by_model = matches!(choice.row.mode, ModeRule::Copilot | ModeRule::OpencodeZen | ModeRule::OpencodeGo);
    let is_fixed = by_model || MODE_IS_FIXED.contains(&choice.row.id);
    let saved = known.config.model.api_mode.filter(|mode| {
        // Responses was once saved for every custom endpoint, and few of them speak it.
        let doubtful = choice.row.id == "custom" && *mode == ApiMode::CodexResponses;
        choice.is_configured && !is_fixed && (!doubtful || mode::by_url(base_url) == Some(*mode))
    });
    choice
        .ask
        .api_mode
        .or_else(|| choice.entry.and_then(|entry| entry.api_mode))
        .or(saved)
        .unwrap_or_else(|| mode::api_mode(choice.row, base_url, model))
}

pub(super) fn assemble(
    choice: Choice<'_>,
    site: Option<&Site>,
    credential: Credential,
    model: &str,
    api_mode: ApiMode,
    known: &Known<'_>,
) -> Runtime {
    let row = choice.row;
    let base_url = mode::settle(row, api_mode, credential.base_url.clone());
    let wire = names::wire_name(row, model);
    let selected = &known.config.model;
    let is_selected_model = choice.default_applies && choice.default_model.as_deref() == Some(model);
    let overrides = Overrides {
        context_window: selected.context_length.filter(|_| is_selected_model),
        max_output_tokens: selected.max_tokens.filter(|_| is_selected_model),
    };
    Runtime {
        provider: row,
        label: choice.label(),
        api_mode,
        reasoning: reasoning(&wire, model, known),
        tls: tls(&choice, site),
        cache_ttl: known.config.cache_ttl,
        model: wire,
        headers: headers(&choice, site, known),
        extra_body: extra_body(&choice, known),
        limits: limits(row, choice.entry, &base_url, model, &overrides, known),
        notes: choice.notes,
        name: choice.name,
        base_url,
        credential,
    }
}

/// The effort the person set for a model, under either of its names.
fn reasoning(wire: &str, model: &str, known: &Known<'_>) -> Option<Reasoning> {
    let own = |name: &str| known.config.reasoning_by_model.get(name).copied();
    own(model).or_else(|| own(wire)).or(known.config.reasoning)
}

/// Whether a setting that stands beside `own` endpoint, or beside none, is meant for the one in use.
fn belongs(own: Option<&String>, here: By, site: Option<&Site>) -> bool {
    let by = site.map(|site| site.by);
    if own.is_some() { by == Some(here) } else { by != Some(By::Ask) }
}

fn tls(choice: &Choice<'_>, site: Option<&Site>) -> Tls {
    let entry = choice.entry.filter(|entry| belongs(entry.base_url.as_ref(), By::Entry, site));
    entry.map(|entry| entry.tls.clone()).unwrap_or_default()
}

/// The selection's headers, then those of the entry, which win. Headers that stand beside an endpoint go only there, and
/// none go to an endpoint that came with the request.
fn headers(choice: &Choice<'_>, site: Option<&Site>, known: &Known<'_>) -> Vec<(String, Secret)> {
    let selected = Some(&known.config.model)
        .filter(|selected| choice.is_configured && belongs(selected.base_url.as_ref(), By::Config, site))
        .map(|selected| &selected.headers);
    let entry = choice.entry.filter(|entry| belongs(entry.base_url.as_ref(), By::Entry, site));
    let entry = entry.map(|entry| &entry.headers);
    let mut headers: Vec<(String, Secret)> = Vec::new();
    for (name, value) in selected.into_iter().chain(entry).flatten() {
        headers.retain(|(earlier, _)| !earlier.eq_ignore_ascii_case(name));
        headers.push((name.clone(), value.clone()));
    }
    headers
}

fn extra_body(choice: &Choice<'_>, known: &Known<'_>) -> Object {
    let mut body = Object::new();
    if ROUTERS.contains(&choice.row.id) && !known.config.routing.is_empty() {
        body.insert("provider".into(), Value::Object(known.config.routing.clone()));
    }
    if let Some(size) =
        known.config.model.ollama_num_ctx.filter(|_| choice.is_configured && choice.row.is_self_hosted())
    {
        body.insert("options".into(), json!({"num_ctx": size}));
    }
    body.extend(choice.entry.map(|entry| entry.extra_body.clone()).unwrap_or_default());
    body
}

/// Limits, each from the nearest place that states it.
fn limits(
    row: &Provider,
    entry: Option<&Entry>,
    base_url: &Url,
    model: &str,
    overrides: &Overrides,
    known: &Known<'_>,
) -> Limits {
    let of_model = entry.and_then(|entry| entry.model(model));
    let context_window = overrides
        .context_window
        .or_else(|| of_model.and_then(|model| model.context_length))
        .or_else(|| entry.and_then(|entry| entry.context_length))
        .or_else(|| known.almanac.window(row, base_url, &names::wire_name(row, model)))
        .unwrap_or_else(|| context::context_window(model));
    let weak =
        || known.env.setting("HERMES_MAX_TOKENS").and_then(|text| text.parse().ok()).filter(|tokens| *tokens > 0);
    let max_output_tokens = overrides
        .max_output_tokens
        .or_else(|| of_model.and_then(|model| model.max_output_tokens))
        .or_else(|| entry.and_then(|entry| entry.max_output_tokens))
        .or_else(weak)
        .map(|tokens| u32::try_from(tokens).unwrap_or(u32::MAX))
        .or(row.max_tokens);
    let request_timeout = timeouts::request_timeout(entry, model, known.env);
    Limits {
        context_window,
        max_output_tokens,
        stale: timeouts::staleness(row, entry, base_url, model, known.config, known.env),
        request_timeout,
        first_byte_timeout: timeouts::first_byte_timeout(row, known.env),
    }
}
