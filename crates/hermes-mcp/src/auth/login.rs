//! A person logs in: the address they open, and the way back. The tokens are on disk when it is done.

use super::callback;
use super::tokens::Tokens;
use crate::settings::{Auth, OAuthSettings, Place, ServerSettings};
use hermes_core::redact;
use hermes_types::clip;
use rmcp::transport::auth::{AuthError, AuthorizationManager, AuthorizationRequest, AuthorizationSession};
use std::path::Path;
use std::time::Duration;
use tokio::net::TcpListener;
use url::{Host, Url};

const PATIENCE: Duration = Duration::from_secs(300);
const PATH: &str = "/callback";
const HOST: &str = "127.0.0.1";
const CLIENT: &str = "Hermes Agent";

#[derive(Debug, thiserror::Error)]
pub enum LoginError {
    #[error("the server {0} is a program of this machine; there is nothing to log in to")]
    NotRemote(String),
    #[error(
        "nobody logs in at the server {0}: its entry does not say `auth: oauth` (`hermes mcp add {0} --url … --oauth --replace` writes that)"
    )]
    NotOAuth(String),
    #[error("no port of this machine could be opened for the way back: {0}")]
    NoWayBack(std::io::Error),
    #[error("the login could not be kept: {0}")]
    NotKept(std::io::Error),
    #[error("nobody came back within {} minutes; try again", PATIENCE.as_secs() / 60)]
    NobodyCame,
    #[error("the login was refused: {0}")]
    Refused(String),
    #[error("the server sends people to `{0}` to log in, which is no page that can be trusted; nothing was opened")]
    NoPage(String),
    #[error("{0}")]
    Failed(String),
}

impl From<AuthError> for LoginError {
    fn from(error: AuthError) -> Self {
        Self::Failed(redact::text(&error.to_string()).into_owned())
    }
}

/// A login that has begun.
pub struct Login {
    session: AuthorizationSession,
    listener: TcpListener,
    back: Url,
    /// The word by which the way back is known to belong to this login.
    state: String,
    tokens: Tokens,
    /// Where it is made.
    server: Url,
}

impl Login {
    /// Finds out where one logs in, and makes this program known there.
    pub async fn begin(server: &ServerSettings, hermes_home: &Path) -> Result<Self, LoginError> {
        let Place::Remote(remote) = &server.place else { return Err(LoginError::NotRemote(server.name.clone())) };
        let Auth::OAuth(oauth) = &remote.auth else { return Err(LoginError::NotOAuth(server.name.clone())) };
        let tokens = Tokens::of(hermes_home, &server.name);
        let (listener, back) = way_back(oauth, &tokens).await.map_err(LoginError::NoWayBack)?;
        tokens.remember_redirect(back.as_str()).map_err(LoginError::NotKept)?;
        let mut manager = AuthorizationManager::new(remote.url.as_str()).await?;
        manager.set_credential_store(tokens.clone());
        let resolved = manager.resolve_metadata().await?;
        manager.set_metadata(resolved.metadata);
        let mut request = AuthorizationRequest::new(back.as_str());
        request = request.with_client_name(oauth.client_name.as_deref().unwrap_or(CLIENT));
        request = match oauth.scopes.is_empty() {
            true => request.with_initial_scope_selection(),
            false => request.with_scopes(oauth.scopes.clone()),
        };
        if let Some(id) = &oauth.client_id {
            request = request.with_preregistered_client(id);
        }
        if let Some(secret) = oauth.client_secret.as_ref().filter(|_| oauth.client_id.is_some()) {
            request = request.with_client_secret(secret);
        }
        let session = AuthorizationSession::new(manager, request).await.map_err(|(_, error)| error)?;
        let state = page(session.get_authorization_url(), &remote.url)?;
        Ok(Self { session, listener, back, state, tokens, server: remote.url.clone() })
    }

    /// What the person opens in a browser.
    pub fn address(&self) -> &str {
        self.session.get_authorization_url()
    }

    /// Waits for the browser to come back, or for the address it was sent to as the person pastes it.
    pub async fn finish(self, pasted: impl Future<Output = String>) -> Result<(), LoginError> {
        let returned = tokio::select! {
            visited = callback::visited(&self.listener, self.back.path(), &self.state) => visited.map_err(LoginError::NoWayBack)?,
            pasted = pasted => pasted,
            () = tokio::time::sleep(PATIENCE) => return Err(LoginError::NobodyCame),
        };
        let address = complete(&self.back, returned.trim()).map_err(LoginError::Refused)?;
        self.tokens.belong_to(&self.server).map_err(LoginError::NotKept)?;
        self.session.handle_callback_url(address.as_str()).await?;
        Ok(())
    }
}

/// Looks at the page that a server wants to have opened, and gives the word of the login in it. Whoever opens an address
/// starts whatever program its scheme belongs to, so only pages are opened, and no secret is typed into one that others can
/// read along; a server of this machine is its own affair.
fn page(address: &str, server: &Url) -> Result<String, LoginError> {
    let url = Url::parse(address).map_err(|error| LoginError::Failed(error.to_string()))?;
    let is_here = |url: &Url| match url.host() {
        Some(Host::Ipv4(ip)) => ip.is_loopback(),
        Some(Host::Ipv6(ip)) => ip.is_loopback(),
        Some(Host::Domain(name)) => name == "localhost",
        None => false,
    };
    let is_page = match url.scheme() {
        "https" => true,
        "http" => is_here(&url) || (server.scheme() == "http" && server.origin() == url.origin()),
        _ => false,
    };
    let state = url.query_pairs().find(|(name, _)| name == "state").map(|(_, state)| state.into_owned());
    match state.filter(|_| is_page && url.username().is_empty() && url.password().is_none()) {
        Some(state) => Ok(state),
        None => Err(LoginError::NoPage(clip(&format!("{}:{}", url.scheme(), url.host_str().unwrap_or_default()), 80))),
    }
}

/// The whole address, of which a person may have pasted only the end.
fn complete(back: &Url, returned: &str) -> Result<Url, String> {
    let query = returned.split_once('?').map_or(returned, |(_, query)| query);
    let mut address = back.clone();
    address.set_query(Some(query));
    let refusal = address.query_pairs().find(|(name, _)| name == "error").map(|(_, reason)| reason.into_owned());
    let words =
        address.query_pairs().find(|(name, _)| name == "error_description").map(|(_, words)| words.into_owned());
    match (refusal, words) {
        (Some(reason), Some(words)) => Err(format!("{reason} ({words})")),
        (Some(reason), None) => Err(reason),
        (None, _) if query.contains("code=") => Ok(address),
        (None, _) => Err("there is no code in what came back; paste the whole address of the page".to_owned()),
    }
}

/// A port to come back to: the one that was set, the one of the last login, or any.
async fn way_back(oauth: &OAuthSettings, tokens: &Tokens) -> std::io::Result<(TcpListener, Url)> {
    let last = tokens.redirect().and_then(|address| Url::parse(&address).ok()).and_then(|address| address.port());
    let listener = match oauth.redirect_port {
        Some(port) => TcpListener::bind((HOST, port)).await?,
        None => match TcpListener::bind((HOST, last.unwrap_or(0))).await {
            Ok(listener) => listener,
            Err(_) => TcpListener::bind((HOST, 0)).await?,
        },
    };
    let port = listener.local_addr()?.port();
    let host = oauth.redirect_host.as_deref().unwrap_or(HOST);
    let address = oauth.redirect_uri.clone().unwrap_or_else(|| format!("http://{host}:{port}{PATH}"));
    let address = Url::parse(&address).map_err(std::io::Error::other)?;
    Ok((listener, address))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_pages_are_opened() {
        let far = Url::parse("https://mcp.example/mcp").unwrap();
        let near = Url::parse("http://10.0.0.5:8000/mcp").unwrap();
        for (address, server) in [
            ("https://login.example/authorize?state=s", &far),
            ("http://127.0.0.1:9/authorize?state=s", &far),
            ("http://10.0.0.5:8000/authorize?state=s", &near),
        ] {
            assert_eq!(page(address, server).unwrap(), "s", "{address}");
        }
        for (address, server) in [
            ("file:///usr/bin/calc?state=s", &far),
            ("vscode://evil/install?state=s", &far),
            ("javascript:alert(1)//?state=s", &far),
            ("http://login.example/authorize?state=s", &far),
            ("http://10.0.0.6:8000/authorize?state=s", &near),
            ("https://mcp.example@evil.example/?state=s", &far),
            ("https://login.example/authorize", &far),
        ] {
            let told = page(address, server).unwrap_err().to_string();
            assert!(told.contains("no page that can be trusted"), "{address}: {told}");
        }
    }

    #[test]
    fn what_a_person_pastes_is_completed() {
        let back = Url::parse("http://127.0.0.1:1/callback").unwrap();
        let whole = "http://127.0.0.1:1/callback?code=c&state=s";
        for pasted in [whole, "code=c&state=s", "/callback?code=c&state=s"] {
            assert_eq!(complete(&back, pasted).map(String::from), Ok(whole.to_owned()), "{pasted}");
        }
        assert_eq!(complete(&back, "error=access_denied&error_description=no"), Err("access_denied (no)".to_owned()));
        assert!(complete(&back, "skip").is_err_and(|told| told.contains("no code")));
    }
}
