//! The one guarded way to fetch what a model, a page or a stranger named.
//!
//! - An address is judged before anything is asked for ([`Target`]), every redirect anew, at most five of them.
//! - A name is looked up once; every address it leads to is judged, and the connection goes to one of those. There is no
//!   second look-up that could give another answer.
//! - What is read is bounded in bytes (after decompression) and in time. Dropping a request ends it.
//! - A key goes to its own origin alone, also when a redirect leads elsewhere. There are no cookies and no referrer.
//! - Behind a proxy (the usual variables) the proxy makes the connection, so it decides where a name leads. Numbers are
//!   judged as ever; names are looked up here too and refused when that leads to a place that is not public; a name that
//!   only the proxy knows is left to it if it looks public (it has a dot and no ending of private networks).
//!
//! ```no_run
//! # async fn example() -> Result<(), hermes_web::fetch::FetchFault> {
//! use hermes_web::fetch::{Ask, Fetcher, Rules};
//! let fetcher = Fetcher::new(Rules::default());
//! let page = fetcher.get(Ask::new("https://example.com/")).await?;
//! let body = page.read(1 << 20).await?;
//! # Ok(())
//! # }
//! ```

mod address;
mod answer;
mod blocklist;
pub(crate) mod client;
mod fault;
mod kind;
mod lookup;
mod proxy;
mod secrets;
mod target;

pub use address::{PrivateNets, Verdict, judge};
pub use answer::{Answer, Body, Extent};
pub use blocklist::{Blocklist, Hit};
pub use fault::FetchFault;
pub use kind::{Kind, SNIFFED, kind};
pub use lookup::{Lookup, SystemLookup};
pub use proxy::{PROXY_VARIABLES, Proxies};
pub use target::Target;

use crate::key::Key;
use client::{CONNECT, by_variables, deepest, kept};
use lookup::{Guard, Guarded};
use reqwest::header::{ACCEPT, HeaderName, HeaderValue, LOCATION};
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use tokio::time::{Instant, timeout_at};
use url::Url;

const MOST_REDIRECTS: usize = 5;
const PATIENCE: Duration = Duration::from_secs(30);
/// Endings of names that only mean something inside of a network.
const INSIDE: [&str; 8] = [".localhost", ".local", ".internal", ".intranet", ".lan", ".home", ".corp", ".home.arpa"];

/// What the owner decided about the network.
#[derive(Debug, Clone, Default)]
pub struct Rules {
    pub private: PrivateNets,
    pub blocklist: Blocklist,
    pub proxies: Proxies,
    /// Trust only the certificates in this PEM file.
    pub ca_bundle: Option<PathBuf>,
}

/// Something to ask for.
#[derive(Debug, Clone)]
pub struct Ask {
    url: String,
    accept: &'static str,
    patience: Duration,
    key: Option<(HeaderName, Key)>,
}

/// Fetches by the rules. Clones share their connections.
#[derive(Clone)]
pub struct Fetcher(Arc<Inner>);

struct Inner {
    guard: Arc<Guard>,
    rules: Arc<Rules>,
    /// Built on first use: loading the certificates of the system takes time.
    direct: OnceLock<reqwest::Client>,
    proxied: OnceLock<reqwest::Client>,
}

impl Ask {
    pub fn new(url: impl Into<String>) -> Self {
        Self { url: url.into(), accept: "*/*", patience: PATIENCE, key: None }
    }

    #[must_use]
    pub fn accepting(self, accept: &'static str) -> Self {
        Self { accept, ..self }
    }

    /// Everything, the body too, has to come within this time.
    #[must_use]
    pub fn within(self, patience: Duration) -> Self {
        Self { patience, ..self }
    }

    /// A key goes along in this header, to its own origin and nowhere else.
    #[must_use]
    pub fn with_key(self, header: HeaderName, key: Key) -> Self {
        Self { key: Some((header, key)), ..self }
    }
}

impl Fetcher {
    pub fn new(rules: Rules) -> Self {
        Self::with_lookup(rules, Arc::new(SystemLookup))
    }

    /// The same with another opinion about where names lead.
    pub fn with_lookup(rules: Rules, lookup: Arc<dyn Lookup>) -> Self {
        let rules = Arc::new(rules);
        let guard = Arc::new(Guard { lookup, rules: rules.clone() });
        Self(Arc::new(Inner { guard, rules, direct: OnceLock::new(), proxied: OnceLock::new() }))
    }

    /// Whether an address may be asked for, as far as that is known now. A later connection is judged again.
    pub async fn check(&self, url: &str) -> Result<Target, FetchFault> {
        let target = Target::read(url, &self.0.rules)?;
        if let Some(name) = target.name() {
            match self.0.guard.addresses(name).await {
                Err(FetchFault::Unresolved(_))
                    if self.0.rules.proxies.route(target.url()).is_some() && looks_public(name) => {}
                judged => drop(judged?),
            }
        }
        Ok(target)
    }

    /// Asks for a page and follows where it leads. The body is read from the answer.
    pub async fn get(&self, ask: Ask) -> Result<Answer, FetchFault> {
        let until = Instant::now() + ask.patience;
        let mut target = Target::read(&ask.url, &self.0.rules)?;
        for _ in 0..=MOST_REDIRECTS {
            let response = match timeout_at(until, self.send(&target, &ask)).await {
                Ok(answered) => answered?,
                Err(_late) => return Err(FetchFault::TooSlow { host: target.host(), limit: ask.patience }),
            };
            match redirection(&response, &target)? {
                None => return Ok(Answer::new(response, target.url().clone(), until, ask.patience)),
                Some(next) => target = Target::read(next.as_str(), &self.0.rules)?,
            }
        }
        Err(FetchFault::Circles(target.host()))
    }

    async fn send(&self, target: &Target, ask: &Ask) -> Result<reqwest::Response, FetchFault> {
        let client = match self.0.rules.proxies.route(target.url()) {
            None => self.direct()?,
            Some(_) => {
                self.check(target.url().as_str()).await?;
                self.proxied()?
            }
        };
        let mut request = reqwest::Request::new(reqwest::Method::GET, target.url().clone());
        let headers = request.headers_mut();
        headers.insert(ACCEPT, HeaderValue::from_static(ask.accept));
        if let Some((name, key)) = &ask.key
            && let Some(value) = key.header_for(target.url())
        {
            headers.insert(name.clone(), value);
        }
        client.execute(request).await.map_err(|error| fault(&error, target))
    }

    fn direct(&self) -> Result<reqwest::Client, FetchFault> {
        kept(&self.0.direct, || Ok(client::builder(&self.0.rules)?.dns_resolver(self.guarded(Vec::new()))))
    }

    /// Whether there is a proxy was decided before: a host that is reached without one never gets here. Some kinds of
    /// proxies are given addresses instead of names, so names are guarded here too.
    fn proxied(&self) -> Result<reqwest::Client, FetchFault> {
        let trusted = self.0.rules.proxies.hosts();
        kept(&self.0.proxied, || Ok(by_variables(&self.0.rules)?.dns_resolver(self.guarded(trusted))))
    }

    fn guarded(&self, trusted: Vec<String>) -> Arc<Guarded> {
        Arc::new(Guarded { guard: self.0.guard.clone(), trusted })
    }
}

/// Where the server sends us.
fn redirection(response: &reqwest::Response, target: &Target) -> Result<Option<Url>, FetchFault> {
    if !matches!(response.status().as_u16(), 301 | 302 | 303 | 307 | 308) {
        return Ok(None);
    }
    let Some(location) = response.headers().get(LOCATION) else { return Ok(None) };
    let bad = |why: String| FetchFault::BadRedirect { host: target.host(), why };
    let location = location.to_str().map_err(|_| bad("it is no text".into()))?;
    target.url().join(location).map(Some).map_err(|error| bad(error.to_string()))
}

/// What our own guard said is in the chain of causes.
fn fault(error: &reqwest::Error, target: &Target) -> FetchFault {
    let mut cause: Option<&(dyn std::error::Error + 'static)> = Some(error);
    while let Some(found) = cause {
        if let Some(ours) = found.downcast_ref::<FetchFault>() {
            return ours.clone();
        }
        cause = found.source();
    }
    if error.is_timeout() {
        return FetchFault::TooSlow { host: target.host(), limit: CONNECT };
    }
    FetchFault::Unreachable { host: target.host(), why: deepest(error) }
}

fn looks_public(name: &str) -> bool {
    let name = name.trim_end_matches('.');
    name.contains('.') && !INSIDE.iter().any(|ending| name.ends_with(ending))
}
