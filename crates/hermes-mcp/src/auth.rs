//! Logins at servers that want one (OAuth 2.1): tokens on disk, renewed when they end, and the way a person gets them.
//!
//! A token is shown to the address it was made for and to no other, also when the entry of the server names another one later.
//! Tokens lie in `mcp-tokens/` of the home, readable by the owner alone, in the form that the Python program writes, and are
//! read anew for every use: what another process renewed counts at once. Nothing here opens a browser by itself; in the
//! background a missing login is only said to be missing.

mod callback;
mod login;
mod tokens;

pub use login::{Login, LoginError};
pub use tokens::forget;

use crate::link::Unconnected;
use crate::settings::OAuthSettings;
use hermes_core::redact;
use rmcp::transport::auth::{AuthError, AuthorizationManager, OAuthClientConfig};
use std::path::Path;
use std::time::SystemTime;
use tokens::Tokens;
use url::Url;

/// What looks after the tokens of a server while it is used. Fails without asking anybody where nobody has logged in.
pub(crate) async fn manager(
    hermes_home: &Path,
    server: &str,
    url: &Url,
    oauth: &OAuthSettings,
) -> Result<AuthorizationManager, Unconnected> {
    let tokens = Tokens::of(hermes_home, server);
    if !tokens.exist() {
        return Err(Unconnected::Unauthorized("nobody has logged in yet".to_owned()));
    }
    if !tokens.are_for(url) {
        // Whoever is behind the new address must not see what belongs to the old one.
        return Err(Unconnected::Unauthorized("the login is for another address".to_owned()));
    }
    let redirect = tokens.redirect().unwrap_or_else(|| "http://127.0.0.1/callback".to_owned());
    let mut manager = AuthorizationManager::new(url.as_str()).await.map_err(|error| unconnected(&error))?;
    manager.set_credential_store(tokens);
    match manager.initialize_from_store().await {
        Ok(true) => {}
        Ok(false) => return Err(Unconnected::Unauthorized("the login is over".to_owned())),
        Err(error) => return Err(unconnected(&error)),
    }
    if let Some((id, secret)) = oauth.client_id.as_ref().zip(oauth.client_secret.as_ref()) {
        let client = OAuthClientConfig::new(id, redirect).with_client_secret(secret);
        manager.configure_client(client).map_err(|error| unconnected(&error))?;
    }
    Ok(manager)
}

/// Tells one login on the disk from another without reading it; nothing where there is none.
pub(crate) fn login_stamp(hermes_home: &Path, server: &str) -> Option<(SystemTime, u64)> {
    Tokens::of(hermes_home, server).stamp()
}

fn unconnected(error: &AuthError) -> Unconnected {
    let told = redact::text(&error.to_string()).into_owned();
    match error {
        AuthError::AuthorizationRequired | AuthError::TokenRefreshRejected(_) => Unconnected::Unauthorized(told),
        _ => Unconnected::Unreachable(told),
    }
}
