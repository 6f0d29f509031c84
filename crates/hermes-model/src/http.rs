//! The real transport: HTTP over TLS, and the one place where a secret becomes bytes.
//!
//! Redirects are followed by hand, at most a few, and only to origins that every secret of the call is bound to. Answers
//! are handed on as they arrive. There is no retry here: a second send is a decision, and decisions are made in one place.

use crate::resolve::is_local;
use crate::secret::{BoundSecret, WrongOrigin};
use crate::transport::{Answer, Call, Method, Redirects, Tls, Transport};
use crate::wire::AuthHeader;
use futures_util::future::BoxFuture;
use futures_util::{FutureExt, StreamExt};
use hermes_types::{Fault, FaultKind};
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use std::collections::HashMap;
use std::error::Error;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;
use url::Url;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
const MOST_REDIRECTS: usize = 3;
/// How the program names itself to every server. It never claims to be another client.
pub const USER_AGENT: &str = concat!("hermes/", env!("CARGO_PKG_VERSION"));

#[derive(Debug, Clone, Default)]
pub struct HttpOptions {
    /// Trust only the certificates in this PEM file.
    pub ca_bundle: Option<PathBuf>,
}

/// Clients are built on first use: a call to a local server never pays for loading the system's certificates.
#[derive(Debug, Clone, Default)]
pub struct HttpTransport {
    clients: Arc<Clients>,
}

#[derive(Debug, Default)]
struct Clients {
    options: HttpOptions,
    plain: Slots,
    tls: Slots,
    /// For endpoints with a trust of their own.
    special: Mutex<HashMap<(Tls, bool), reqwest::Client>>,
}

/// A proxy is for the world outside: what is said to a server on this network never passes through one.
#[derive(Debug, Default)]
struct Slots {
    local: OnceLock<reqwest::Client>,
    remote: OnceLock<reqwest::Client>,
}

impl HttpTransport {
    pub fn new(options: HttpOptions) -> Self {
        Self { clients: Arc::new(Clients { options, ..Clients::default() }) }
    }
}

impl Transport for HttpTransport {
    fn send(&self, call: Call) -> BoxFuture<'static, Result<Answer, Fault>> {
        let clients = self.clients.clone();
        async move {
            let mut call = call;
            for _ in 0..=MOST_REDIRECTS {
                let response = clients.for_call(&call)?.execute(request(&call)?).await;
                let response = response.map_err(|error| fault(&error, &call.url))?;
                match redirection(&response, &call) {
                    None if loses_the_question(&response, &call) => return Err(points_elsewhere(&response, &call)),
                    None => return Ok(answer(response, &call.url)),
                    Some(next) => call.url = stays_home(&call, next)?,
                }
            }
            Err(Fault::new(FaultKind::BadRequest, format!("{} redirects in circles", origin(&call.url))))
        }
        .boxed()
    }
}

impl Clients {
    /// Clones of a client share its connections.
    fn for_call(&self, call: &Call) -> Result<reqwest::Client, Fault> {
        let (plain, local) = (call.url.scheme() == "http", is_local(&call.url));
        if !plain && call.tls != Tls::default() {
            return self.with_trust(&call.tls, local);
        }
        let slots = if plain { &self.plain } else { &self.tls };
        let slot = if local { &slots.local } else { &slots.remote };
        if let Some(client) = slot.get() {
            return Ok(client.clone());
        }
        let mut builder = builder(local);
        if plain {
            // Plain HTTP needs no certificates, and loading those of the system takes time.
            builder = builder.tls_certs_only([]);
        } else if let Some(path) = &self.options.ca_bundle {
            builder = builder.tls_certs_only(certificates(path)?);
        }
        let client = built(builder)?;
        Ok(slot.get_or_init(|| client).clone())
    }

    fn with_trust(&self, tls: &Tls, local: bool) -> Result<reqwest::Client, Fault> {
        let mut special = self.special.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(client) = special.get(&(tls.clone(), local)) {
            return Ok(client.clone());
        }
        let mut builder = builder(local);
        if let Some(path) = tls.ca_file.as_ref().or(self.options.ca_bundle.as_ref()) {
            builder = builder.tls_certs_only(certificates(path)?);
        }
        if tls.unverified {
            builder = builder.tls_danger_accept_invalid_certs(true);
        }
        let client = built(builder)?;
        special.insert((tls.clone(), local), client.clone());
        Ok(client)
    }
}

fn builder(local: bool) -> reqwest::ClientBuilder {
    let builder = reqwest::Client::builder()
        .connect_timeout(CONNECT_TIMEOUT)
        .redirect(reqwest::redirect::Policy::none())
        .tcp_nodelay(true)
        .user_agent(USER_AGENT);
    if local { builder.no_proxy() } else { builder }
}

fn built(builder: reqwest::ClientBuilder) -> Result<reqwest::Client, Fault> {
    builder.build().map_err(|error| Fault::new(FaultKind::Tls, format!("cannot set up HTTPS: {}", chain(&error))))
}

fn certificates(path: &Path) -> Result<Vec<reqwest::Certificate>, Fault> {
    let unusable = |reason: String| {
        let message = format!("the certificate file {} cannot be used: {reason}", path.display());
        Fault::new(FaultKind::Tls, message)
    };
    let pem = std::fs::read(path).map_err(|error| unusable(error.to_string()))?;
    reqwest::Certificate::from_pem_bundle(&pem).map_err(|error| unusable(chain(&error)))
}

/// The request with its secrets, which open only for this very URL.
fn request(call: &Call) -> Result<reqwest::Request, Fault> {
    let method = match call.method {
        Method::Get => reqwest::Method::GET,
        Method::Post => reqwest::Method::POST,
    };
    let mut request = reqwest::Request::new(method, call.url.clone());
    let headers = request.headers_mut();
    for (name, value) in &call.headers {
        headers.insert(header_name(name)?, header_value(name, value)?);
    }
    for (name, secret) in &call.secret_headers {
        headers.insert(header_name(name)?, secret_value(name, secret, "", &call.url)?);
    }
    if let Some((header, secret)) = &call.credential {
        let (name, prefix) = match header {
            AuthHeader::Bearer => ("authorization", "Bearer "),
            AuthHeader::XApiKey => ("x-api-key", ""),
            AuthHeader::Token => ("authorization", "token "),
        };
        headers.insert(header_name(name)?, secret_value(name, secret, prefix, &call.url)?);
    }
    if call.method == Method::Post {
        *request.body_mut() = Some(call.body.clone().into());
    }
    Ok(request)
}

fn secret_value(name: &str, secret: &BoundSecret, prefix: &str, url: &Url) -> Result<HeaderValue, Fault> {
    let text = secret.for_url(url).map_err(|refused| kept_back(&refused))?;
    let mut value = header_value(name, &format!("{prefix}{text}"))?;
    value.set_sensitive(true);
    Ok(value)
}

fn kept_back(refused: &WrongOrigin) -> Fault {
    let next_step = "give that endpoint a key of its own (`hermes config set model.api_key …` or a `providers:` entry)";
    Fault::new(FaultKind::WrongOrigin, format!("{refused}; {next_step}"))
}

fn header_name(name: &str) -> Result<HeaderName, Fault> {
    HeaderName::try_from(name)
        .map_err(|_| Fault::new(FaultKind::BadRequest, format!("`{name}` is not a header name; check extra_headers")))
}

/// The value is not shown: it may be a secret.
fn header_value(name: &str, value: &str) -> Result<HeaderValue, Fault> {
    HeaderValue::try_from(value).map_err(|_| {
        let message = format!("the value for the header `{name}` has characters that no header may have");
        Fault::new(FaultKind::BadRequest, message)
    })
}

/// Where the server sends us, if the same call may be made there. 301 and 302 turn a POST into a GET, so they count for
/// GET alone.
fn redirection(response: &reqwest::Response, call: &Call) -> Option<Url> {
    let follows = match response.status().as_u16() {
        307 | 308 => true,
        301 | 302 => call.method == Method::Get,
        _ => false,
    } && call.redirects == Redirects::AtHome;
    let location = response.headers().get("location")?.to_str().ok()?;
    follows.then(|| call.url.join(location).ok()).flatten()
}

/// A redirect that would turn our question into a request for a page. It happens to addresses that are almost right
/// (`http` instead of `https`), and trying again cannot help.
fn loses_the_question(response: &reqwest::Response, call: &Call) -> bool {
    call.method == Method::Post && call.redirects == Redirects::AtHome && response.status().is_redirection()
}

fn points_elsewhere(response: &reqwest::Response, call: &Call) -> Fault {
    let location = response.headers().get("location").and_then(|value| value.to_str().ok());
    let there = location.and_then(|location| call.url.join(location).ok()).map(|url| origin(&url));
    let message = match there {
        Some(there) => format!("{} moves requests to {there}; correct the base URL", origin(&call.url)),
        None => format!("{} answered with a redirect to nowhere; check the base URL", origin(&call.url)),
    };
    Fault { status: Some(response.status().as_u16()), ..Fault::new(FaultKind::BadRequest, message) }
}

/// A conversation goes only where the person sent it: to the same host, or to one its credential belongs to.
fn stays_home(call: &Call, next: Url) -> Result<Url, Fault> {
    let same_host = next.host() == call.url.host() && next.scheme() == call.url.scheme();
    let credential_admits = call.credential.as_ref().is_some_and(|(_, secret)| secret.admits(&next));
    if same_host || credential_admits {
        return Ok(next);
    }
    let message =
        format!("{} redirects to {}, which nobody here chose; nothing was sent", origin(&call.url), origin(&next));
    Err(Fault::new(FaultKind::WrongOrigin, message))
}

fn answer(response: reqwest::Response, url: &Url) -> Answer {
    let url = url.clone();
    Answer {
        status: response.status().as_u16(),
        headers: readable(response.headers()),
        body: response.bytes_stream().map(move |chunk| chunk.map_err(|error| fault(&error, &url))).boxed(),
    }
}

fn readable(headers: &HeaderMap) -> Vec<(String, String)> {
    let text = |value: &HeaderValue| value.to_str().ok().map(str::to_owned);
    headers.iter().filter_map(|(name, value)| Some((name.as_str().to_owned(), text(value)?))).collect()
}

/// What went wrong below HTTP, by type and never by text.
fn fault(error: &reqwest::Error, url: &Url) -> Fault {
    let place = origin(url);
    if let Some(rustls::Error::InvalidMessage(_)) = cause::<rustls::Error>(error) {
        let message =
            format!("{place} does not speak TLS; if it is a plain HTTP server, write http:// instead of https://");
        return Fault::new(FaultKind::Tls, message);
    }
    if let Some(tls) = cause::<rustls::Error>(error) {
        let message =
            format!("the TLS connection to {place} failed: {tls}; behind a company proxy set HERMES_CA_BUNDLE");
        return Fault::new(FaultKind::Tls, message);
    }
    let io = cause::<io::Error>(error).map(io::Error::kind);
    if error.is_connect() {
        return match (is_local(url), io) {
            (true, Some(io::ErrorKind::ConnectionRefused)) => Fault::new(
                FaultKind::Unreachable,
                format!(
                    "nothing listens at {place}; start the server or change the address (`hermes config set model.base_url …`)"
                ),
            ),
            (_, Some(io::ErrorKind::ConnectionRefused)) => {
                Fault::new(FaultKind::NoRoute, format!("{place} refused the connection"))
            }
            _ if error.is_timeout() => Fault::new(
                FaultKind::NoRoute,
                format!("{place} did not accept a connection within {} s", CONNECT_TIMEOUT.as_secs()),
            ),
            _ => Fault::new(FaultKind::NoRoute, format!("cannot reach {place}: {}; is the network up?", chain(error))),
        };
    }
    Fault::new(FaultKind::Timeout, format!("the connection to {place} was lost: {}", chain(error)))
}

/// The first error of type `E` among the causes; I/O errors are looked into.
fn cause<'a, E: Error + 'static>(error: &'a (dyn Error + 'static)) -> Option<&'a E> {
    let mut next = Some(error);
    while let Some(current) = next {
        if let Some(found) = current.downcast_ref::<E>() {
            return Some(found);
        }
        let inner = current.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
        next = match inner {
            Some(inner) => Some(inner as &(dyn Error + 'static)),
            None => current.source(),
        };
    }
    None
}

/// The last cause in words; the outer ones only repeat the URL.
fn chain(error: &dyn Error) -> String {
    let mut last = error;
    while let Some(source) = last.source() {
        last = source;
    }
    hermes_types::clip(&last.to_string(), 200)
}

/// Scheme, host and port: enough to name an endpoint without showing a path or query that may hold a secret.
fn origin(url: &Url) -> String {
    crate::secret::Origin::of(url).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each endpoint is trusted by its own rule: a certificate file that is named is the one that is read.
    #[tokio::test]
    async fn an_endpoint_may_have_a_trust_of_its_own() {
        let transport = HttpTransport::default();
        let fault = async |ca_file: Option<&str>| {
            let mut call = Call::get(Url::parse("https://127.0.0.1:9/v1").expect("a URL"));
            call.tls.ca_file = ca_file.map(PathBuf::from);
            transport.send(call).await.map(|answer| answer.status).expect_err("nobody is there")
        };
        let missing = fault(Some("/nonexistent/mine.pem")).await;
        assert_eq!(missing.kind, FaultKind::Tls);
        assert!(missing.message.contains("/nonexistent/mine.pem"), "{missing}");
        assert_eq!(fault(None).await.kind, FaultKind::Unreachable, "others do not depend on it");
    }
}
