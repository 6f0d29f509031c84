//! Who is asked: from names to one row of the provider table.
//!
//! Names come from the request, the config or the environment, in that order; without any, [`automatic`] looks at what
//! the person has. An endpoint named without a provider is a custom endpoint, whatever keys are lying around.

use super::config::{Alias, ModelConfig};
use super::entry::{Entry, normal};
use super::{Ask, Known, ResolveError, endpoint};
use crate::provider::{AuthKind, Provider, suggestions, table::PROVIDERS};

/// Parts of a model id that look like `provider:model` and are not.
const MODEL_SUFFIXES: [&str; 5] = ["free", "beta", "extended", "fast", "latest"];
/// Set inside other programs, so its presence alone is no wish to use it.
const AMBIENT_VARIABLE: &str = "CLAUDE_CODE_OAUTH_TOKEN";

/// The provider, and what was said about it.
pub(super) struct Choice<'a> {
    pub(super) ask: &'a Ask,
    pub(super) row: &'static Provider,
    /// What the person wrote under this name in `providers` or `custom_providers`.
    pub(super) entry: Option<&'a Entry>,
    /// The row's id, or `custom:<name>`.
    pub(super) name: String,
    /// The model the request names, without its provider.
    pub(super) model: Option<String>,
    /// The configured model, without its provider.
    pub(super) default_model: Option<String>,
    /// The model the environment suggests.
    pub(super) weak_model: Option<String>,
    /// The endpoint the request names.
    pub(super) base_url: Option<String>,
    /// The config names this provider or endpoint under `model`, so its key, headers and protocol apply.
    pub(super) is_configured: bool,
    /// The configured model is meant for this provider: the config names it, or names none.
    pub(super) default_applies: bool,
    /// What the person should hear about how the choice was made.
    pub(super) notes: Vec<String>,
}

/// A provider with its settings, found by name.
struct Identity<'a> {
    row: &'static Provider,
    entry: Option<&'a Entry>,
    name: String,
}

/// Provider, model and endpoint as one place states them.
struct Selection {
    /// What `base_url` is called when it has to be complained about.
    url_name: &'static str,
    provider: Option<String>,
    model: Option<String>,
    base_url: Option<String>,
}

impl<'a> Choice<'a> {
    pub(super) fn make(ask: &'a Ask, known: &Known<'a>) -> Result<Self, ResolveError> {
        let config = known.config;
        let asked = Selection::read(
            "the base URL asked for",
            ask.provider.as_deref(),
            ask.model.as_deref(),
            ask.base_url.as_deref(),
            config,
        );
        let selected = &config.model;
        let configured = Selection::read(
            "model.base_url",
            selected.provider.as_deref(),
            selected.default.as_deref(),
            selected.base_url.as_deref(),
            config,
        );
        let suggested = ["HERMES_INFERENCE_MODEL", "HERMES_MODEL"].iter().find_map(|name| known.env.setting(name));
        let ambient = Selection::read("", known.env.setting("HERMES_INFERENCE_PROVIDER"), suggested, None, config);

        let mut notes = Vec::new();
        let requested = match asked.provider_or_home()? {
            Some(name) => Some(name),
            None => configured.provider_or_home()?.or_else(|| ambient.provider.clone()),
        };
        let identity = match &requested {
            Some(name) => identify(name, config)?,
            None => identify(automatic(ask, known, &mut notes)?, config)?,
        };
        refuse_disabled(&identity, config)?;

        let configured_name = configured.provider_or_home().ok().flatten().map(|name| canonical(&name, config));
        let is_for = |provider: Option<&String>| provider.is_none_or(|name| *name == identity.name);
        let ambient_name = ambient.provider.as_deref().map(|name| canonical(name, config));
        let default_applies = is_for(configured_name.as_ref());
        Ok(Self {
            ask,
            weak_model: ambient.model.filter(|_| default_applies && is_for(ambient_name.as_ref())),
            row: identity.row,
            entry: identity.entry,
            model: asked.model,
            base_url: asked.base_url,
            is_configured: configured_name.as_ref() == Some(&identity.name),
            default_applies,
            default_model: configured.model,
            name: identity.name,
            notes,
        })
    }

    /// An endpoint the person added, as opposed to a built-in provider.
    pub(super) fn is_named_endpoint(&self) -> bool {
        self.name.starts_with("custom:")
    }

    pub(super) fn label(&self) -> String {
        match self.entry {
            Some(entry) if self.is_named_endpoint() => entry.label().to_owned(),
            _ => self.row.label.to_owned(),
        }
    }
}

impl Selection {
    /// A provider given by name leaves the model as it is; otherwise an alias or a `provider:` prefix may name one.
    fn read(
        url_name: &'static str,
        provider: Option<&str>,
        model: Option<&str>,
        base_url: Option<&str>,
        config: &ModelConfig,
    ) -> Self {
        let base_url = base_url.and_then(wish);
        let model = model.and_then(wish);
        let (None, Some(word)) = (provider.and_then(wish), &model) else {
            return Self { url_name, provider: provider.and_then(wish), model, base_url };
        };
        if let Some(alias) = config.aliases.get(&word.to_lowercase()) {
            let Alias { model, provider, base_url: alias_url } = alias.clone();
            return Self { url_name, provider, model: Some(model), base_url: alias_url.or(base_url) };
        }
        let (provider, model) = split_model(word, config);
        Self { url_name, provider, model: Some(model), base_url }
    }

    /// The provider's name. An endpoint alone belongs to the vendor who lives there, or is a custom one.
    fn provider_or_home(&self) -> Result<Option<String>, ResolveError> {
        if self.provider.is_some() {
            return Ok(self.provider.clone());
        }
        let Some(text) = &self.base_url else { return Ok(None) };
        let url = endpoint::parse(text, self.url_name)?;
        let row = endpoint::HOMES_THAT_SPEAK_FOR_THEMSELVES
            .iter()
            .filter_map(|id| Provider::find(id))
            .find(|row| endpoint::is_home(row, &url));
        Ok(Some(row.map_or("custom", |row| row.id).to_owned()))
    }
}

/// Splits `provider:model`. The colon counts only behind a name that is known, and never before what looks like a
/// variant (`:free`) or an Ollama tag (`:32b`); `custom:<name>:<model>` names an endpoint of the config.
///
/// ```
/// # use hermes_model::resolve::{ModelConfig, split_model};
/// let config = ModelConfig::default();
/// assert_eq!(split_model("openrouter:qwen/qwen3:free", &config), (Some("openrouter".into()), "qwen/qwen3:free".into()));
/// assert_eq!(split_model("qwen3:32b", &config), (None, "qwen3:32b".into()));
/// ```
pub fn split_model(text: &str, config: &ModelConfig) -> (Option<String>, String) {
    let whole = || (None, text.to_owned());
    let Some((left, right)) = text.split_once(':') else { return whole() };
    let left = left.trim();
    if left.eq_ignore_ascii_case("custom")
        && let Some((name, model)) = right.split_once(':')
        && config.entry(name).is_some()
    {
        return (Some(format!("custom:{}", name.trim())), model.trim().to_owned());
    }
    let is_tag = right.starts_with(|first: char| first.is_ascii_digit()) && !right.contains('/');
    let is_name = !right.trim().is_empty() && !is_tag && !MODEL_SUFFIXES.contains(&right);
    if is_name && (Provider::find(left).is_some() || config.entry(left).is_some()) {
        return (Some(left.to_owned()), right.trim().to_owned());
    }
    whole()
}

/// The provider `name` stands for. A built-in id is the built-in; an alias of one gives way to an endpoint the person
/// gave that name.
fn identify<'a>(name: &str, config: &'a ModelConfig) -> Result<Identity<'a>, ResolveError> {
    let wanted = normal(name);
    let custom = Provider::find("custom");
    let named = |entry: &'a Entry| {
        custom.map(|row| Identity { row, entry: Some(entry), name: format!("custom:{}", normal(&entry.key)) })
    };
    if let Some(key) = wanted.strip_prefix("custom:") {
        return config.entry(key).and_then(named).ok_or_else(|| unknown(name, config));
    }
    let row = Provider::find(&wanted);
    let is_id = row.is_some_and(|row| row.id == wanted);
    if !is_id && let Some(entry) = config.entry(&wanted).filter(|entry| entry.base_url.is_some() || row.is_none()) {
        return named(entry).ok_or_else(|| unknown(name, config));
    }
    let row = row.ok_or_else(|| unknown(name, config))?;
    let entry = config.entry(row.id).or_else(|| config.entry(&wanted));
    Ok(Identity { row, entry, name: row.id.to_owned() })
}

/// The provider a person means by `name`, whether or not it can be used: its row, and the name it is stored under (its id,
/// or `custom:<name>` for an endpoint of the config).
pub fn whois(name: &str, config: &ModelConfig) -> Result<(&'static Provider, String), ResolveError> {
    identify(name, config).map(|identity| (identity.row, identity.name))
}

/// The canonical name of a provider, for comparing two of them; an unknown name is only normalised.
pub(super) fn canonical(name: &str, config: &ModelConfig) -> String {
    identify(name, config).map_or_else(|_| normal(name), |identity| identity.name)
}

fn unknown(asked: &str, config: &ModelConfig) -> ResolveError {
    let wanted = normal(asked);
    let wanted = wanted.strip_prefix("custom:").unwrap_or(&wanted);
    let added = config.entries.iter().map(|entry| normal(&entry.key));
    let added = added.filter(|name| strsim::jaro_winkler(name, wanted) >= 0.8);
    let near = added.chain(suggestions(wanted).into_iter().map(str::to_owned)).take(3).collect();
    ResolveError::UnknownProvider { asked: asked.trim().to_owned(), near }
}

fn refuse_disabled(identity: &Identity<'_>, config: &ModelConfig) -> Result<(), ResolveError> {
    match identity.entry.or_else(|| config.entry(identity.row.id)) {
        Some(entry) if !entry.enabled => Err(ResolveError::Disabled { provider: entry.key.clone() }),
        _ => Ok(()),
    }
}

/// The provider to use when nobody named one: an endpoint of its own in the environment, a key in the environment
/// (OpenRouter first, also with a stored key, then OpenAI, then table order), `OPENAI_BASE_URL` alone, then the provider
/// the person logged in to last. Logins that other programs left behind are never used without being asked for.
fn automatic<'a>(ask: &Ask, known: &Known<'a>, notes: &mut Vec<String>) -> Result<&'a str, ResolveError> {
    if ask.api_key.is_some() {
        // A key alone does not say whose it is, and guessing would show it to a stranger.
        return owner_by_shape(ask).ok_or(ResolveError::NoProvider);
    }
    let env = known.env;
    if env.setting("CUSTOM_BASE_URL").is_some() {
        return Ok("custom");
    }
    let enabled = |id: &str| known.config.entry(id).is_none_or(|entry| entry.enabled);
    let has_key = |row: &Provider| {
        row.key_env.iter().filter(|name| **name != AMBIENT_VARIABLE).any(|name| env.credential(name).is_some())
    };
    let logged_in = |id: &str| known.stored.rows.iter().any(|row| row.provider == id);
    let active = known.stored.active_provider.as_deref().filter(|id| logged_in(id) && enabled(id));

    let first = ["openrouter", "openai-api"].iter().filter_map(|id| Provider::find(id));
    let guessable = |row: &&Provider| {
        enabled(row.id)
            && !matches!(row.auth, AuthKind::CopilotToken | AuthKind::OptionalKey | AuthKind::ExternalProcess)
    };
    let by_key = first
        .chain(PROVIDERS.iter())
        .filter(guessable)
        .find(|row| has_key(row) || (row.id == "openrouter" && logged_in(row.id)));
    if let Some(row) = by_key {
        if let Some(active) = active.filter(|active| *active != row.id) {
            notes.push(format!(
                "using {} because its key is set; you are logged in to {active}, type `hermes model` to choose it",
                row.label
            ));
        }
        return Ok(row.id);
    }
    if env.setting("OPENAI_BASE_URL").is_some() {
        return Ok("custom");
    }
    active.ok_or(ResolveError::NoProvider)
}

/// Whose key this is, where its shape is public knowledge.
fn owner_by_shape(ask: &Ask) -> Option<&'static str> {
    const SHAPES: [(&str, &str); 2] = [("sk-or-", "openrouter"), ("sk-ant-", "anthropic")];
    let key = ask.api_key.as_ref()?;
    SHAPES.iter().find(|(prefix, _)| key.has_prefix(prefix)).map(|(_, id)| *id)
}

/// A word somebody wrote; blank and `auto` are no wish.
fn wish(word: &str) -> Option<String> {
    let word = word.trim();
    (!word.is_empty() && !word.eq_ignore_ascii_case("auto")).then(|| word.to_owned())
}
