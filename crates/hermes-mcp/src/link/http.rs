//! Servers behind an address. Headers and tokens go to the origin that the owner named; a redirect leads nowhere else.

use super::bounded::Bounded;
use super::patient::Patient;
use super::{Ear, Unconnected, cause};
use crate::auth;
use crate::server::Server;
use crate::settings::{Auth, Remote, Trust};
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use reqwest::redirect::{Attempt, Policy};
use reqwest::{Certificate, Client, Identity, StatusCode};
use rmcp::service::{RoleClient, RunningService, ServiceExt as _};
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::auth::AuthClient;
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;

const MOST_REDIRECTS: usize = 10;

pub(super) async fn connect(
    server: &Server,
    remote: &Remote,
    ear: Ear,
) -> Result<RunningService<RoleClient, Ear>, Unconnected> {
    let client = Bounded(client(remote, server)?);
    let config = StreamableHttpClientTransportConfig::with_uri(remote.url.as_str()).reinit_on_expired_session(true);
    let running = match &remote.auth {
        Auth::Headers => ear.serve(Patient::new(StreamableHttpClientTransport::with_client(client, config))).await,
        Auth::OAuth(oauth) => {
            let home = &server.shop.settings.around.hermes_home;
            let manager = auth::manager(home, &server.settings.name, &remote.url, oauth).await?;
            let client = AuthClient::new(client, manager);
            ear.serve(Patient::new(StreamableHttpClientTransport::with_client(client, config))).await
        }
    };
    running.map_err(|error| cause::of_start(&error))
}

/// A client that knows the headers of this server and stays with its origin.
pub(super) fn client(remote: &Remote, server: &Server) -> Result<Client, Unconnected> {
    let wrong = |key: &str, reason: String| {
        Unconnected::Unreachable(format!("mcp_servers.{}.{key}: {reason}", server.settings.name))
    };
    let mut headers = HeaderMap::new();
    for (name, value) in &remote.headers {
        let key = format!("headers.{name}");
        let name = HeaderName::try_from(name.as_str()).map_err(|error| wrong(&key, error.to_string()))?;
        let mut value = HeaderValue::from_str(value)
            .map_err(|_| wrong(&key, "its value has characters that no header can have".to_owned()))?;
        value.set_sensitive(true);
        headers.insert(name, value);
    }
    let mut builder = Client::builder()
        .user_agent(concat!("hermes/", env!("CARGO_PKG_VERSION")))
        .default_headers(headers)
        .connect_timeout(server.settings.connect_timeout)
        // A connection whose last answer was not read to its end answers late.
        .pool_max_idle_per_host(0)
        .redirect(Policy::custom(stays));
    builder = match &remote.tls.trust {
        Trust::Usual => builder,
        Trust::Anybody => builder.tls_danger_accept_invalid_certs(true),
        Trust::File(file) => {
            let pem = std::fs::read(file).map_err(|error| wrong("ssl_verify", format!("{file}: {error}")))?;
            let certificates =
                Certificate::from_pem_bundle(&pem).map_err(|error| wrong("ssl_verify", error.to_string()))?;
            certificates.into_iter().fold(builder, reqwest::ClientBuilder::add_root_certificate)
        }
    };
    if let Some((certificate, key)) = &remote.tls.identity {
        let read = |file: &str| std::fs::read(file).map_err(|error| wrong("client_cert", format!("{file}: {error}")));
        let mut pem = read(certificate)?;
        if let Some(key) = key {
            pem.extend(read(key)?);
        }
        builder = builder.identity(Identity::from_pem(&pem).map_err(|error| wrong("client_cert", error.to_string()))?);
    }
    builder.build().map_err(|error| Unconnected::Unreachable(cause::told(&error)))
}

/// Follows what keeps method and body, and only to the origin it came from: headers and sessions belong to that.
fn stays(attempt: Attempt<'_>) -> reqwest::redirect::Action {
    let keeps = matches!(attempt.status(), StatusCode::TEMPORARY_REDIRECT | StatusCode::PERMANENT_REDIRECT);
    let from = attempt.previous().first().map(url::Url::origin);
    if from.as_ref() != Some(&attempt.url().origin()) {
        let to = attempt.url().origin().ascii_serialization();
        return attempt.error(format!("it redirects to {to}, which does not get what belongs to this server; if that is right, set its url to that"));
    }
    if attempt.previous().len() > MOST_REDIRECTS {
        return attempt.error("it redirects in circles");
    }
    if keeps { attempt.follow() } else { attempt.stop() }
}
