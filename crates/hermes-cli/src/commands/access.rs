//! Who could be asked with what the person has: each provider, and what opens it.

use super::Trouble;
use crate::app::App;
use crate::settings::Environment;
use hermes_model::auth::{AuthType, Row, Source as RowSource};
use hermes_model::auth::{Standing, edit, pool};
use hermes_model::provider::{Provider, table::PROVIDERS};
use hermes_model::resolve::{self, Ask, Credential, ModelConfig, ResolveError, Source};
use hermes_model::secret::Secret;
use hermes_model::wire::Login;
use std::collections::BTreeSet;
use url::Url;

/// A provider as the person means it.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Who {
    pub(super) row: &'static Provider,
    /// Its id, or `custom:<name>` for an endpoint of the config.
    pub(super) name: String,
    pub(super) label: String,
}

/// What opens a provider.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Access {
    /// A credential; the text says which.
    Ready(String),
    /// Nothing is needed: a server at home, a program of its own.
    Open,
    Missing(ResolveError),
}

impl Who {
    pub(super) fn find(name: &str, config: &ModelConfig) -> Result<Self, Trouble> {
        let (row, name) = resolve::whois(name, config).map_err(|error| Trouble::of_choice(error, Some(name)))?;
        Ok(Self::of(row, name, config))
    }

    fn of(row: &'static Provider, name: String, config: &ModelConfig) -> Self {
        let entry = name.strip_prefix("custom:").and_then(|key| config.entry(key));
        let label = entry.map_or(row.label, |entry| entry.label()).to_owned();
        Self { row, name, label }
    }

    /// Every provider there is: the table, then the endpoints of the config.
    pub(super) fn all(config: &ModelConfig) -> Vec<Self> {
        let built_in = PROVIDERS.iter().map(|row| Self::of(row, row.id.to_owned(), config));
        let entries = config.entries.iter().filter_map(|entry| resolve::whois(&entry.key, config).ok());
        let added = entries.filter(|(_, name)| name.starts_with("custom:"));
        let added = added.map(|(row, name)| Self::of(row, name, config));
        built_in.chain(added).collect()
    }

    /// True when the person has to say where it is.
    pub(super) fn needs_address(&self) -> bool {
        self.row.base_url.is_empty() && self.name == self.row.id
    }

    /// `model.base_url`, when it stands beside this provider.
    pub(super) fn configured_address<'c>(&self, config: &'c ModelConfig) -> Option<&'c str> {
        let chosen = config.model.provider.as_deref().and_then(|name| Self::find(name, config).ok());
        let is_chosen = chosen.map_or(self.name == "custom", |chosen| chosen.name == self.name);
        config.model.base_url.as_deref().filter(|_| is_chosen)
    }

    /// A question to this provider at `base_url`. The configured address is left to the config, whose key goes with it.
    pub(super) fn ask(&self, model: &str, base_url: Option<&Url>, config: &ModelConfig) -> Ask {
        let configured = self.configured_address(config).and_then(|text| Url::parse(text).ok());
        let elsewhere = base_url.filter(|url| configured.as_ref() != Some(url));
        Ask {
            provider: Some(self.name.clone()),
            model: Some(model.to_owned()),
            base_url: elsewhere.map(ToString::to_string),
            ..Ask::default()
        }
    }

    pub(super) fn access(&self, app: &App) -> Access {
        let ask = Ask { provider: Some(self.name.clone()), ..Ask::default() };
        match resolve::candidates(&ask, &app.knowledge.known()) {
            Ok(found) => match found.iter().find(|credential| !credential.is_resting) {
                Some(Credential { source: Source::None | Source::Entry(_), secret: None, .. }) => Access::Open,
                Some(credential) => Access::Ready(origin(credential, &app.environment)),
                // Resolving anything tells what is missing.
                None => Access::Missing(missing(&ask, app)),
            },
            Err(error) => Access::Missing(error),
        }
    }

    /// Its credentials as they are now: stored ones, logins of other programs, variables.
    pub(super) fn credentials(&self, app: &App) -> Vec<Row> {
        let built_in = self.row.key_env.iter().copied().filter(|_| self.name == self.row.id);
        let mut variables: Vec<&str> = self.named_variables(&app.knowledge.config).chain(built_in).collect();
        let mut seen = BTreeSet::new();
        variables.retain(|name| seen.insert(*name));
        let live = variables.into_iter().filter_map(|name| Some(from_variable(name, app.env().credential(name)?)));
        app.knowledge.logins.pool(&self.name, live.collect())
    }

    /// The variables the config names for its key, under the provider's own name and beside the choice.
    fn named_variables<'c>(&self, config: &'c ModelConfig) -> impl Iterator<Item = &'c str> {
        let entry = config.entry(self.name.strip_prefix("custom:").unwrap_or(&self.name));
        let chosen = config.model.provider.as_deref().and_then(|name| Self::find(name, config).ok());
        let is_chosen = chosen.is_some_and(|chosen| chosen.name == self.name);
        let beside_choice = config.model.key_env.as_deref().filter(|_| is_chosen);
        beside_choice.into_iter().chain(entry.and_then(|entry| entry.key_env.as_deref()))
    }
}

/// The providers something is stored or set for, with their credentials.
pub(super) fn with_credentials(app: &App) -> Vec<(Who, Vec<Row>)> {
    let known = Who::all(&app.knowledge.config).into_iter();
    known
        .map(|who| (who.credentials(app), who))
        .filter(|(rows, _)| !rows.is_empty())
        .map(|(rows, who)| (who, rows))
        .collect()
}

fn from_variable(name: &str, secret: Secret) -> pool::Live {
    pool::Live {
        source: RowSource::Env(name.to_owned()),
        label: name.to_owned(),
        auth_type: AuthType::ApiKey,
        secret,
        base_url: None,
        expires_at: None,
    }
}

fn missing(ask: &Ask, app: &App) -> ResolveError {
    let ask = Ask { model: Some("any".into()), ..ask.clone() };
    app.knowledge.resolve(&ask).err().unwrap_or(ResolveError::NoProvider)
}

/// Why a provider cannot be asked, for a line of a table.
pub(super) fn brief(error: &ResolveError, who: Option<&Who>) -> String {
    match (error, who) {
        (ResolveError::Exhausted { id, .. }, _) => format!("resting after an error: hermes auth reset {id}"),
        (ResolveError::MissingKey { .. }, Some(who)) => format!("needs a key: hermes auth add {}", who.name),
        (ResolveError::MissingLogin { .. }, Some(who)) => format!("needs a login: hermes auth add {}", who.name),
        _ => error.to_string(),
    }
}

/// Where a credential is from, in words.
pub(super) fn origin(credential: &Credential, environment: &Environment) -> String {
    let kind = if credential.login == Login::OAuth { "login" } else { "key" };
    match &credential.source {
        Source::Explicit => "given for this run".into(),
        Source::Config => "model.api_key in config.yaml".into(),
        Source::Entry(_) if credential.secret.is_none() => "none needed".into(),
        Source::Entry(name) => format!("providers.{name} in config.yaml"),
        Source::Env(name) => match environment.source(name) {
            Some(place) => format!("{name} ({place})"),
            None => name.clone(),
        },
        Source::Stored(word) => stored(word, kind),
        Source::None => "none needed".into(),
    }
}

/// What the word a credential is stored under means.
pub(super) fn stored(word: &str, kind: &str) -> String {
    match word {
        "claude_code" => "login of Claude Code".into(),
        "gh_cli" => "login of GitHub's own program".into(),
        "manual" | "device_code" | "hermes_pkce" => format!("{kind} stored by `hermes auth add`"),
        other => format!("{kind} stored as {other}"),
    }
}

/// How a credential stands, in words.
pub(super) fn standing(listed: &edit::Listed) -> String {
    let rest = |time: Option<std::time::Duration>| super::table::span(time.unwrap_or_default());
    match (&listed.standing, listed.life) {
        (Standing::Resting { .. }, _) => format!("resting for {}", rest(listed.rest)),
        (Standing::Dead { reason }, _) => format!("dead ({reason}), has to be replaced"),
        (Standing::Ready, Some(life)) if life.is_zero() => "ready, renewed when used".into(),
        (Standing::Ready, Some(life)) => format!("ready, renewed after {}", rest(Some(life))),
        (Standing::Ready, None) => "ready".into(),
    }
}
