//! Which credentials may be used, in which order, and where each may go.
//!
//! The order is that of every setting: explicit, config, environment, store. [`origins_for`] is the one place that
//! decides who may see a secret; a credential whose own origins do not include the endpoint is not offered at all.

use super::choice::Choice;
use super::endpoint::{self, By, Site};
use super::entry::{Entry, normal};
use super::{Ask, Known, ResolveError, StoredCredential};
use crate::auth::{self, Renewal, anthropic};
use crate::provider::{AuthKind, Provider, table::PROVIDERS};
use crate::secret::{BoundSecret, Origin, Secret, host_matches};
use crate::wire::Login;
use std::fmt;
use url::{Host, Url};

const ANTHROPIC_KEY: &str = "ANTHROPIC_API_KEY";
const SUBSCRIPTION_TOKEN: &str = "CLAUDE_CODE_OAUTH_TOKEN";
const ANTHROPIC_TOKENS: [&str; 2] = ["ANTHROPIC_TOKEN", SUBSCRIPTION_TOKEN];
const COPILOT_TOKEN: &str = "COPILOT_GITHUB_TOKEN";
const AZURE_ANTHROPIC_KEY: &str = "AZURE_ANTHROPIC_KEY";

/// What goes along with a request.
#[derive(Debug, Clone, PartialEq)]
pub struct Credential {
    /// Names it among the candidates of its provider, across restarts.
    pub id: String,
    pub login: Login,
    /// `None` for servers that ask for nothing.
    pub secret: Option<BoundSecret>,
    pub source: Source,
    /// Seconds since the epoch.
    pub expires_at: Option<u64>,
    /// What the auth store needs to renew it.
    pub renewal: Option<Renewal>,
    /// The account the login acts for, where the vendor wants it named.
    pub account: Option<String>,
    /// It failed a while ago and is not to be used yet.
    pub is_resting: bool,
    /// The endpoint this credential is for.
    pub(super) base_url: Url,
}

/// Where a credential was found. It prints as one word.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    Explicit,
    /// `model.api_key` or `model.key_env`
    Config,
    /// An entry of `providers` or `custom_providers`.
    Entry(String),
    Env(String),
    /// A row of the store, with the word it was stored under.
    Stored(String),
    /// Nothing was needed.
    None,
}

/// Whose secret it is, which decides where it may go.
#[derive(Debug, Clone, Copy)]
enum Owner {
    /// Given for exactly this endpoint.
    Endpoint,
    /// The chosen vendor's.
    Vendor(&'static Provider),
    /// A vendor's who happens to live at the endpoint.
    Resident(&'static Provider),
}

/// A secret somebody offers, before it is bound.
struct Offer {
    id: String,
    secret: Secret,
    source: Source,
    owner: Owner,
    login: Option<Login>,
    expires_at: Option<u64>,
    renewal: Option<Renewal>,
    account: Option<String>,
    served_at: Option<Url>,
    is_resting: bool,
}

/// Every credential that could serve the choice, best first, bound and with its endpoint.
pub(super) fn list(
    choice: &Choice<'_>,
    site: Option<&Site>,
    known: &Known<'_>,
) -> Result<Vec<Credential>, ResolveError> {
    let mut listed = Vec::new();
    let mut kept_back = None;
    for offer in offers(choice, site, known)? {
        let url = endpoint::reach(choice, site, Some(&offer.secret), offer.served_at.as_ref())?;
        let login = offer.login.unwrap_or_else(|| login_of(choice.row, &offer.secret, &url));
        let origins = origins_for(&offer, site, login, &url);
        let secret = offer.secret.bind(origins);
        if !secret.admits(&url) {
            kept_back = kept_back.or_else(|| is_open_line(&url).then(|| unencrypted(choice, &offer.source, &url)));
        } else {
            listed.push(Credential {
                id: offer.id,
                login,
                secret: Some(secret),
                source: offer.source,
                expires_at: offer.expires_at,
                renewal: offer.renewal,
                account: offer.account,
                is_resting: offer.is_resting,
                base_url: url,
            });
        }
    }
    if let (true, Some(refusal)) = (listed.is_empty(), kept_back) {
        return Err(refusal);
    }
    if listed.is_empty() && needs_nothing(choice, known) {
        let url = endpoint::reach(choice, site, None, None)?;
        listed.push(Credential {
            id: "none".into(),
            login: Login::None,
            secret: None,
            source: choice.entry.filter(|_| choice.is_named_endpoint()).map_or(Source::None, entry_source),
            expires_at: None,
            renewal: None,
            account: None,
            is_resting: false,
            base_url: url,
        });
    }
    Ok(listed)
}

/// The first that is not resting.
pub(super) fn pick(
    choice: &Choice<'_>,
    listed: Vec<Credential>,
    known: &Known<'_>,
) -> Result<Credential, ResolveError> {
    if listed.is_empty() {
        return Err(missing(choice, known));
    }
    let Ask { avoid, rested, .. } = choice.ask;
    listed
        .into_iter()
        .find(|one| (!one.is_resting || rested.contains(&one.id)) && !avoid.contains(&one.id))
        .ok_or_else(|| ResolveError::Exhausted { provider: choice.label(), id: choice.name.clone() })
}

/// Who may see a secret: a key given for an endpoint, that endpoint; a vendor's key, the vendor's own hosts and the
/// endpoint the person paired with the vendor, unless the way there is open for everybody to read. A Claude subscription is a person's whole account, so its token goes to
/// Anthropic itself or to a server on this machine, whatever else is paired.
fn origins_for(offer: &Offer, site: Option<&Site>, login: Login, url: &Url) -> Vec<Origin> {
    match offer.owner {
        Owner::Endpoint => vec![Origin::of(url)],
        Owner::Resident(row) => endpoint::homes(row),
        Owner::Vendor(row) => {
            let at_home_only = row.auth == AuthKind::Anthropic && is_subscription(offer, login);
            let paired = site.map(|site| &site.url).filter(|url| !endpoint::is_home(row, url));
            let paired = paired.filter(|url| !at_home_only || endpoint::is_loopback(url));
            let paired = paired.filter(|url| !is_open_line(url)).map(Origin::of);
            endpoint::homes(row).into_iter().chain(paired).collect()
        }
    }
}

/// Plain HTTP through other people's networks.
fn is_open_line(url: &Url) -> bool {
    url.scheme() == "http" && !endpoint::is_local(url)
}

fn unencrypted(choice: &Choice<'_>, source: &Source, url: &Url) -> ResolveError {
    let place = Origin::of(url);
    ResolveError::RefusedKey {
        provider: choice.label(),
        source_name: source.to_string(),
        reason: format!(
            "{place} is not encrypted, so it would travel for everybody to read. Use https, remove the address \
             (`hermes config unset model.base_url`), or give that endpoint a key of its own"
        ),
    }
}

/// Whether a secret for Anthropic is the login of a subscription. Elsewhere other vendors hand out tokens that look like
/// one, so only the unmistakable counts there.
fn is_subscription(offer: &Offer, login: Login) -> bool {
    let by_name = matches!(&offer.source, Source::Env(variable) if variable == SUBSCRIPTION_TOKEN);
    login == Login::OAuth || by_name || offer.secret.has_prefix("sk-ant-oat")
}

fn offers(choice: &Choice<'_>, site: Option<&Site>, known: &Known<'_>) -> Result<Vec<Offer>, ResolveError> {
    let ask = choice.ask;
    if let Some(secret) = &ask.api_key {
        return Ok(vec![Offer::new("explicit", secret.clone(), Source::Explicit, Owner::Endpoint)]);
    }
    if let Some(variable) = &ask.key_env {
        let secret = known.env.credential(variable).ok_or_else(|| unset(choice, variable))?;
        return Ok(vec![Offer::env(variable, secret, Owner::Endpoint)]);
    }
    let mut offers = from_config(choice, site, known);
    let stored = from_store(choice, site, known);
    if choice.row.auth == AuthKind::Anthropic {
        offers.extend(for_anthropic(Owner::Vendor(choice.row), site, known, stored));
    } else if choice.row.id == "custom" {
        offers.extend(site.map(|site| from_host(&site.url, known)).unwrap_or_default());
        offers.extend(stored);
    } else if choice.row.auth == AuthKind::CopilotToken {
        offers.extend(copilot(choice.row, known, stored));
    } else {
        offers.extend(from_environment(Owner::Vendor(choice.row), choice.row.key_env, known));
        offers.extend(stored);
    }
    refuse_classic_tokens(choice, offers)
}

/// Keys the person wrote under this provider's name. One that stands beside an endpoint goes only there.
fn from_config(choice: &Choice<'_>, site: Option<&Site>, known: &Known<'_>) -> Vec<Offer> {
    let by = site.map(|site| site.by);
    let selected = &known.config.model;
    let mut offers = Vec::new();
    if choice.is_configured
        && !choice.is_named_endpoint()
        && let Some(owner) = config_owner(choice, selected.base_url.as_deref(), by == Some(By::Config))
    {
        let inline = selected.api_key.clone();
        offers.extend(inline.map(|secret| Offer::new("config:model.api_key", secret, Source::Config, owner)));
        let named = selected.key_env.as_deref().and_then(|name| Some((name, known.env.credential(name)?)));
        offers.extend(named.map(|(name, secret)| {
            // A person mends a key where it is, not where its name is written.
            Offer::new("config:model.key_env", secret, Source::Env(name.to_owned()), owner)
        }));
    }
    if let Some(entry) = choice.entry
        && let Some(owner) = config_owner(choice, entry.base_url.as_deref(), by == Some(By::Entry))
    {
        let inline = entry.api_key.clone();
        let id = format!("config:{}", entry.key);
        offers.extend(inline.map(|secret| Offer::new(&id, secret, entry_source(entry), owner)));
        let named = entry.key_env.as_deref().and_then(|name| Some((name, known.env.credential(name)?)));
        offers.extend(named.map(|(name, secret)| Offer::env(name, secret, owner)));
    }
    offers
}

/// Whose a configured key is: that of the endpoint beside it, if that one is in use; without an endpoint, the vendor's.
fn config_owner(choice: &Choice<'_>, endpoint: Option<&str>, in_use: bool) -> Option<Owner> {
    match endpoint {
        Some(_) => in_use.then_some(Owner::Endpoint),
        None => (choice.row.id != "custom").then_some(Owner::Vendor(choice.row)),
    }
}

fn from_environment(owner: Owner, variables: &[&str], known: &Known<'_>) -> Vec<Offer> {
    variables.iter().filter_map(|name| Some(Offer::env(name, known.env.credential(name)?, owner))).collect()
}

/// Rows of the store under this name. A row of a custom endpoint goes only where that endpoint is: to the entry's own
/// address, or to the one it was stored with.
fn from_store(choice: &Choice<'_>, site: Option<&Site>, known: &Known<'_>) -> Vec<Offer> {
    let rows = known.stored.rows.iter().filter(|row| row.provider == choice.name);
    if choice.row.id != "custom" {
        return rows.map(|row| Offer::stored(row, Owner::Vendor(choice.row))).collect();
    }
    let is_at = |row: &&StoredCredential| {
        site.is_some_and(|site| match &row.base_url {
            Some(url) => Origin::of(url) == Origin::of(&site.url),
            None => site.by == By::Entry,
        })
    };
    rows.filter(is_at).map(|row| Offer::stored(row, Owner::Endpoint)).collect()
}

/// A login that can be renewed beats a copy of it in the environment; a lone API key says that the person does not
/// want the subscription used.
fn for_anthropic(owner: Owner, site: Option<&Site>, known: &Known<'_>, stored: Vec<Offer>) -> Vec<Offer> {
    if site.is_some_and(|site| host_matches(&site.url, "azure.com")) {
        return from_environment(owner, &[AZURE_ANTHROPIC_KEY, ANTHROPIC_KEY], known);
    }
    let tokens = from_environment(owner, &ANTHROPIC_TOKENS, known);
    let keys = from_environment(owner, &[ANTHROPIC_KEY], known);
    if tokens.is_empty() && !keys.is_empty() {
        let stored_keys = stored.into_iter().filter(|offer| offer.login == Some(Login::ApiKey));
        return keys.into_iter().chain(stored_keys).collect();
    }
    let copied = tokens.iter().any(|token| anthropic::shape(&token.secret) == auth::AuthType::OAuth);
    let (renewable, fixed): (Vec<_>, Vec<_>) =
        stored.into_iter().partition(|offer| copied && offer.login == Some(Login::OAuth) && offer.renewal.is_some());
    renewable.into_iter().chain(tokens).chain(fixed).chain(keys).collect()
}

/// A token set for Copilot, then stored logins, then tokens that are set for GitHub in general. None of those in the
/// environment is shown to Copilot itself: it buys a session first.
fn copilot(row: &'static Provider, known: &Known<'_>, stored: Vec<Offer>) -> Vec<Offer> {
    let tokens =
        from_environment(Owner::Vendor(row), row.key_env, known).into_iter().map(|offer| match &offer.source {
            Source::Env(variable) => {
                Offer { renewal: Some(Renewal::Copilot(auth::Source::Env(variable.clone()))), ..offer }
            }
            _ => offer,
        });
    let is_meant = |offer: &Offer| matches!(&offer.source, Source::Env(variable) if variable == COPILOT_TOKEN);
    let (meant, general): (Vec<_>, Vec<_>) = tokens.partition(is_meant);
    meant.into_iter().chain(stored).chain(general).collect()
}

/// Keys for an endpoint nobody gave a key for: that of the vendor who lives there, or the variable its host suggests
/// (`api.groq.com` → `GROQ_API_KEY`).
fn from_host(url: &Url, known: &Known<'_>) -> Vec<Offer> {
    let residents = PROVIDERS.iter().filter(|row| row.id != "custom" && endpoint::is_home(row, url));
    let mut offers: Vec<Offer> =
        residents.flat_map(|row| from_environment(Owner::Resident(row), row.key_env, known)).collect();
    if let Some(variable) = host_variable(url)
        && let Some(secret) = known.env.credential(&variable)
    {
        offers.push(Offer::env(&variable, secret, Owner::Endpoint));
    }
    if known.config.model.allow_openai_key_for_custom
        && let Some(secret) = known.env.credential("OPENAI_API_KEY")
    {
        offers.push(Offer::env("OPENAI_API_KEY", secret, Owner::Endpoint));
    }
    offers
}

/// `<VENDOR>_API_KEY` by the last label before the top-level domain. Never a variable of the table: `api.deepseek.xyz`
/// may call itself DeepSeek, the key knows better. Never without TLS.
fn host_variable(url: &Url) -> Option<String> {
    let Some(Host::Domain(name)) = url.host() else { return None };
    let (rest, _top) = name.trim_end_matches('.').rsplit_once('.')?;
    let vendor = rest.rsplit('.').next()?;
    let word: String = vendor
        .chars()
        .map(|letter| if letter.is_ascii_alphanumeric() { letter.to_ascii_uppercase() } else { '_' })
        .collect();
    let variable = format!("{word}_API_KEY");
    let is_taken = PROVIDERS.iter().any(|row| row.key_env.contains(&variable.as_str()));
    (url.scheme() == "https" && !is_taken).then_some(variable)
}

/// GitHub's classic tokens are refused by Copilot after a round trip; say so before.
fn refuse_classic_tokens(choice: &Choice<'_>, offers: Vec<Offer>) -> Result<Vec<Offer>, ResolveError> {
    if choice.row.auth != AuthKind::CopilotToken {
        return Ok(offers);
    }
    let (classic, usable): (Vec<_>, Vec<_>) = offers.into_iter().partition(|offer| offer.secret.has_prefix("ghp_"));
    match classic.first() {
        Some(offer) if usable.is_empty() => Err(ResolveError::RefusedKey {
            provider: choice.label(),
            source_name: offer.source.to_string(),
            reason: "classic personal access tokens (ghp_…) do not work; type `hermes auth add copilot`".into(),
        }),
        _ => Ok(usable),
    }
}

/// Whether a key is a key or a login in disguise; only Anthropic's own hosts know the difference.
fn login_of(row: &Provider, secret: &Secret, url: &Url) -> Login {
    if row.auth == AuthKind::Anthropic && host_matches(url, "anthropic.com") {
        anthropic::shape(secret).into()
    } else {
        Login::ApiKey
    }
}

/// A server that may be called without a key, unless the person named a variable that should hold one.
fn needs_nothing(choice: &Choice<'_>, known: &Known<'_>) -> bool {
    matches!(choice.row.auth, AuthKind::OptionalKey | AuthKind::ExternalProcess)
        && named_variable(choice, known).is_none()
}

/// The variable the config names for this provider's key.
fn named_variable<'a>(choice: &Choice<'a>, known: &Known<'a>) -> Option<&'a str> {
    let selected = known.config.model.key_env.as_deref().filter(|_| choice.is_configured);
    choice.entry.and_then(|entry| entry.key_env.as_deref()).or(selected)
}

fn missing(choice: &Choice<'_>, known: &Known<'_>) -> ResolveError {
    if let Some(variable) = named_variable(choice, known) {
        return unset(choice, variable);
    }
    match (choice.row.auth, choice.row.key_env.first()) {
        (AuthKind::ApiKey | AuthKind::Anthropic, Some(variable)) => unset(choice, variable),
        _ => ResolveError::MissingLogin { provider: choice.label(), id: choice.row.id.into() },
    }
}

fn unset(choice: &Choice<'_>, variable: &str) -> ResolveError {
    ResolveError::MissingKey {
        provider: choice.label(),
        variable: variable.to_owned(),
        keys_page: choice.row.keys_page.to_owned(),
    }
}

fn entry_source(entry: &Entry) -> Source {
    Source::Entry(normal(&entry.key))
}

impl Offer {
    fn new(id: &str, secret: Secret, source: Source, owner: Owner) -> Self {
        Self {
            id: id.to_owned(),
            secret,
            source,
            owner,
            login: None,
            expires_at: None,
            renewal: None,
            account: None,
            served_at: None,
            is_resting: false,
        }
    }

    fn env(variable: &str, secret: Secret, owner: Owner) -> Self {
        Self::new(&format!("env:{variable}"), secret, Source::Env(variable.to_owned()), owner)
    }

    fn stored(row: &StoredCredential, owner: Owner) -> Self {
        Self {
            login: Some(row.login),
            expires_at: row.expires_at,
            renewal: row.renewal.clone(),
            account: row.account.clone(),
            served_at: row.base_url.clone(),
            is_resting: row.rests_until.is_some(),
            ..Self::new(&row.id, row.secret.clone(), Source::Stored(row.source.clone()), owner)
        }
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Explicit => f.write_str("explicit"),
            Self::Config => f.write_str("config"),
            Self::Entry(name) => write!(f, "custom_provider:{name}"),
            Self::Env(variable) => write!(f, "env:{variable}"),
            Self::Stored(source) => f.write_str(source),
            Self::None => f.write_str("none"),
        }
    }
}
