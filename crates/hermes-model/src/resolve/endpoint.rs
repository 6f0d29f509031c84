//! Where a provider is reached.
//!
//! A [`Site`] is an endpoint somebody chose *for this provider*: in the same request, under the same name in the
//! config, or in the provider's own `*_BASE_URL` variable. Only such a pairing lets a vendor's key travel to a host that
//! is not the vendor's; everything else stays at home.

use super::choice::Choice;
use super::{Known, ResolveError};
use crate::provider::{AuthKind, Provider, mode, table::PROVIDERS};
use crate::secret::{Origin, Secret, host_matches};
use crate::wire::ApiMode;
use std::net::IpAddr;
use url::{Host, Url};

/// Vendors that are recognised by their endpoint when nobody names the provider.
pub(super) const HOMES_THAT_SPEAK_FOR_THEMSELVES: [&str; 3] = ["openrouter", "anthropic", "openai-api"];
/// Hosts besides its own that may stand in for Anthropic in a saved selection.
const ANTHROPIC_HOSTS: [&str; 3] = ["anthropic.com", "claude.com", "azure.com"];
/// Keys of this provider and shape are served somewhere else.
const BY_KEY: [(&str, &str, &str); 1] = [("kimi-coding", "sk-kimi-", "https://api.kimi.com/coding")];

/// An endpoint chosen for a provider.
#[derive(Debug, Clone)]
pub(super) struct Site {
    pub(super) url: Url,
    pub(super) by: By,
}

/// Who chose it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum By {
    Ask,
    /// `model.base_url`
    Config,
    /// `providers.<name>.base_url`
    Entry,
    Environment,
}

/// The chosen endpoint, if anybody chose one; `None` leaves it to the vendor's default.
pub(super) fn site(choice: &mut Choice<'_>, known: &Known<'_>) -> Result<Option<Site>, ResolveError> {
    let row = choice.row;
    if let Some(text) = &choice.base_url {
        return Ok(Some(Site { url: read(row, text, "the base URL asked for")?, by: By::Ask }));
    }
    if !choice.is_named_endpoint()
        && let Some(site) = configured(choice, known)?
    {
        return Ok(Some(site));
    }
    if let Some(entry) = choice.entry
        && let Some(text) = &entry.base_url
    {
        let url = read(row, text, &format!("providers.{}.base_url", entry.key))?;
        return Ok(Some(Site { url, by: By::Entry }));
    }
    if choice.is_named_endpoint() {
        return Ok(None);
    }
    for variable in base_variables(row) {
        if let Some(text) = known.env.setting(variable) {
            return Ok(Some(Site { url: read(row, text, variable)?, by: By::Environment }));
        }
    }
    Ok(None)
}

/// `model.base_url`, where it belongs to this provider and not to an earlier choice.
fn configured(choice: &mut Choice<'_>, known: &Known<'_>) -> Result<Option<Site>, ResolveError> {
    let Some(text) = &known.config.model.base_url else { return Ok(None) };
    if !choice.is_configured && choice.row.id != "custom" {
        return Ok(None);
    }
    let url = read(choice.row, text, "model.base_url")?;
    if !choice.is_configured && !is_loopback(&url) {
        return Ok(None);
    }
    if let Some(reason) = leftover(choice.row, &url) {
        choice.notes.push(format!("model.base_url was ignored: {reason}"));
        return Ok(None);
    }
    Ok(Some(Site { url, by: By::Config }))
}

/// Why a saved endpoint cannot be this provider's: it is another vendor's home, or does not speak its protocol.
fn leftover(row: &Provider, url: &Url) -> Option<String> {
    if row.id == "custom" || is_home(row, url) {
        return None;
    }
    if row.auth == AuthKind::Anthropic {
        // A server of the person's own may well speak it; a path need not say so.
        let plausible = is_local(url)
            || ANTHROPIC_HOSTS.iter().any(|host| host_matches(url, host))
            || mode::by_url(url) == Some(ApiMode::AnthropicMessages);
        return (!plausible)
            .then(|| format!("{} does not speak Anthropic's protocol", url.host_str().unwrap_or_default()));
    }
    let family = |id: &'static str| id.split('-').next();
    let owner = PROVIDERS.iter().find(|other| family(other.id) != family(row.id) && is_home(other, url))?;
    Some(format!("it belongs to {}", owner.label))
}

/// The variables that may move this provider. A custom endpoint also listens to OpenAI's, as every client does.
fn base_variables(row: &'static Provider) -> impl Iterator<Item = &'static str> {
    row.base_env.iter().copied().chain((row.id == "custom").then_some("OPENAI_BASE_URL"))
}

/// The endpoint for one credential. Without a chosen site the credential may know better than the table, but only
/// within the vendor's own hosts.
pub(super) fn reach(
    choice: &Choice<'_>,
    site: Option<&Site>,
    secret: Option<&Secret>,
    served_at: Option<&Url>,
) -> Result<Url, ResolveError> {
    let row = choice.row;
    if let Some(site) = site {
        return Ok(site.url.clone());
    }
    if let Some(url) = served_at.filter(|url| is_home(row, url)) {
        return Ok(url.clone());
    }
    if let Some(secret) = secret {
        let shaped = |(id, prefix, _): &&(&str, &str, &str)| *id == row.id && secret.has_prefix(prefix);
        if let Some((_, _, url)) = BY_KEY.iter().find(shaped) {
            return parse(url, row.id);
        }
    }
    if row.base_url.is_empty() {
        let setting = match choice.entry {
            Some(entry) if choice.is_named_endpoint() => format!("providers.{}.base_url", entry.key),
            _ => "model.base_url".to_owned(),
        };
        return Err(ResolveError::MissingBaseUrl { provider: choice.label(), setting });
    }
    parse(row.base_url, row.id)
}

/// The hosts of a vendor: the only places its keys go without a pairing.
pub(super) fn homes(row: &Provider) -> Vec<Origin> {
    let default = Url::parse(row.base_url).ok().map(|url| match (url.scheme(), url.host_str()) {
        ("https", Some(host)) => Origin::host(host),
        _ => Origin::of(&url),
    });
    default.into_iter().chain(row.key_hosts.iter().map(|host| Origin::host(*host))).collect()
}

pub(super) fn is_home(row: &Provider, url: &Url) -> bool {
    homes(row).iter().any(|home| home.admits(url))
}

/// Reads an endpoint as it is written for this provider: local servers are often named without a scheme.
fn read(row: &Provider, text: &str, from: &str) -> Result<Url, ResolveError> {
    let is_server = row.is_self_hosted() && !row.base_url.is_empty();
    if is_server && !text.contains("://") {
        let reason =
            |error: url::ParseError| ResolveError::BadBaseUrl { from: from.to_owned(), reason: error.to_string() };
        return parse(mode::read_base_url(row, text).map_err(reason)?.as_str(), from);
    }
    parse(text, from)
}

/// Reads an endpoint. The text is not repeated in the error: it may contain a password.
pub(super) fn parse(text: &str, from: &str) -> Result<Url, ResolveError> {
    let bad = |reason: &str| ResolveError::BadBaseUrl { from: from.to_owned(), reason: reason.to_owned() };
    let text = text.trim();
    if !text.contains("://") {
        return Err(bad("it has no scheme; write it with http:// or https:// in front"));
    }
    if text.contains('{') {
        return Err(bad("it still contains a placeholder in braces; fill it in"));
    }
    let mut url = Url::parse(text).map_err(|error| bad(&error.to_string()))?;
    if !matches!(url.scheme(), "http" | "https" | "acp" | "acp+tcp") {
        return Err(bad("only http and https can be called"));
    }
    if url.host_str().is_none_or(str::is_empty) {
        return Err(bad("it names no host"));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(bad("it contains a user name or password; put the credential into api_key or key_env instead"));
    }
    url.set_fragment(None);
    let path = url.path().trim_end_matches('/').to_owned();
    url.set_path(&path);
    Ok(url)
}

/// An address on this machine or in a private network, where servers are slow to start and keys are optional.
pub fn is_local(url: &Url) -> bool {
    match url.host() {
        Some(Host::Ipv4(ip)) => {
            let [first, second, ..] = ip.octets();
            let shared = first == 100 && (64..128).contains(&second);
            ip.is_loopback() || ip.is_private() || ip.is_link_local() || ip.is_unspecified() || shared
        }
        Some(Host::Ipv6(ip)) => {
            ip.is_loopback() || ip.is_unspecified() || ip.is_unique_local() || ip.is_unicast_link_local()
        }
        Some(Host::Domain(name)) => {
            let name = name.trim_end_matches('.');
            !name.contains('.') || [".localhost", ".local", ".internal", ".lan"].iter().any(|end| name.ends_with(end))
        }
        None => false,
    }
}

pub(super) fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(Host::Domain(name)) => name == "localhost",
        Some(Host::Ipv4(ip)) => IpAddr::V4(ip).is_loopback() || ip.is_unspecified(),
        Some(Host::Ipv6(ip)) => ip.is_loopback(),
        None => false,
    }
}
