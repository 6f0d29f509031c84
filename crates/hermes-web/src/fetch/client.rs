//! How HTTP clients are built here: no redirects of their own, no referrer, an honest name, the owner's certificates.

use super::{FetchFault, Rules};
use std::error::Error as _;
use std::path::Path;
use std::sync::OnceLock;
use std::time::Duration;
use url::Url;

pub(super) const CONNECT: Duration = Duration::from_secs(10);
/// How the program names itself. It never claims to be a browser.
const USER_AGENT: &str = concat!("hermes/", env!("CARGO_PKG_VERSION"));

pub(crate) fn builder(rules: &Rules) -> Result<reqwest::ClientBuilder, FetchFault> {
    let builder = reqwest::Client::builder()
        .connect_timeout(CONNECT)
        .redirect(reqwest::redirect::Policy::none())
        .referer(false)
        .no_proxy()
        .user_agent(USER_AGENT);
    match &rules.ca_bundle {
        None => Ok(builder),
        Some(path) => Ok(builder.tls_certs_only(certificates(path)?)),
    }
}

/// One that goes through the proxy that the variables name for an address.
pub(crate) fn by_variables(rules: &Rules) -> Result<reqwest::ClientBuilder, FetchFault> {
    let proxies = rules.proxies.clone();
    let route = move |url: &Url| proxies.route(url).map(str::to_owned);
    Ok(builder(rules)?.proxy(reqwest::Proxy::custom(route)))
}

/// Built on first use: loading the certificates of the system takes time.
pub(crate) fn kept(
    slot: &OnceLock<reqwest::Client>,
    builder: impl FnOnce() -> Result<reqwest::ClientBuilder, FetchFault>,
) -> Result<reqwest::Client, FetchFault> {
    if let Some(client) = slot.get() {
        return Ok(client.clone());
    }
    let client = builder()?.build().map_err(|error| FetchFault::Setup(deepest(&error)))?;
    Ok(slot.get_or_init(|| client).clone())
}

fn certificates(path: &Path) -> Result<Vec<reqwest::Certificate>, FetchFault> {
    let unusable =
        |why: String| FetchFault::Setup(format!("the certificate file {} cannot be used: {why}", path.display()));
    let pem = std::fs::read(path).map_err(|error| unusable(error.to_string()))?;
    reqwest::Certificate::from_pem_bundle(&pem).map_err(|error| unusable(deepest(&error)))
}

/// The last cause of an error, which is the one that says something. Never the address, which may hold a secret.
pub(crate) fn deepest(error: &reqwest::Error) -> String {
    let mut cause: Option<&dyn std::error::Error> = error.source();
    while let Some(deeper) = cause.and_then(|cause| cause.source()) {
        cause = Some(deeper);
    }
    match cause {
        Some(cause) => cause.to_string().trim_end_matches('.').to_owned(),
        None if error.is_decode() => "the answer is damaged".to_owned(),
        None => "the answer is no HTTP".to_owned(),
    }
}
