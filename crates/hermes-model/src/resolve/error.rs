//! Why there is no runtime, in words a person can act on.

use url::Url;

/// The way to a model is blocked. Each variant has a stable [`code`](Self::code) for machines; the text names the thing,
/// the reason and what to type next.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ResolveError {
    #[error(
        "no model provider is configured. Type `hermes model` to choose one, or save a key, for example \
         `hermes config set OPENROUTER_API_KEY <key>`"
    )]
    NoProvider,
    #[error("`{asked}` is not a provider{}. Type `hermes model` to see all of them", suggest(.near))]
    UnknownProvider { asked: String, near: Vec<String> },
    #[error(
        "the provider `{provider}` is switched off in config.yaml. Type \
         `hermes config set providers.{provider}.enabled true` to use it again"
    )]
    Disabled { provider: String },
    #[error("{provider} needs an API key: {variable} is not set. Type `hermes config set {variable} <key>`{}", keys_at(.keys_page))]
    MissingKey { provider: String, variable: String, keys_page: String },
    #[error("{provider} needs a login. Type `hermes auth add {id}`")]
    MissingLogin { provider: String, id: String },
    #[error("the credential for {provider} ({source_name}) was not used: {reason}")]
    RefusedKey { provider: String, source_name: String, reason: String },
    #[error(
        "every credential for {provider} is resting after an error. Wait, add another with `hermes auth add {id}`, or \
         clear them with `hermes auth reset {id}`"
    )]
    Exhausted { provider: String, id: String },
    #[error("the endpoint of {provider} is not known. Type `hermes config set {setting} <url>`")]
    MissingBaseUrl { provider: String, setting: String },
    #[error("{from} is not a usable endpoint: {reason}")]
    BadBaseUrl { from: String, reason: String },
    #[error("no model is chosen for {provider} at {base_url}. Type `hermes model`, or pass `-m <model>`")]
    NoModel { provider: String, base_url: Url },
}

impl ResolveError {
    pub fn code(&self) -> &'static str {
        match self {
            Self::NoProvider => "no_provider_configured",
            Self::UnknownProvider { .. } => "unknown_provider",
            Self::Disabled { .. } => "disabled",
            Self::MissingKey { .. } => "missing_api_key",
            Self::MissingLogin { .. } => "missing_login",
            Self::RefusedKey { .. } => "refused_credential",
            Self::Exhausted { .. } => "credentials_exhausted",
            Self::MissingBaseUrl { .. } => "custom_base_url_missing",
            Self::BadBaseUrl { .. } => "invalid_base_url",
            Self::NoModel { .. } => "no_model",
        }
    }
}

fn suggest(near: &[String]) -> String {
    if near.is_empty() { String::new() } else { format!(" (did you mean {}?)", near.join(" or ")) }
}

fn keys_at(page: &str) -> String {
    if page.is_empty() { String::new() } else { format!("; keys are made at {page}") }
}
