//! The files of one login: `<server>.json` with the tokens, `<server>.client.json` with what this program is called there.

use async_trait::async_trait;
use rmcp::transport::auth::{
    AuthError, CredentialRefreshGuard, CredentialStore, OAuthTokenResponse, StoredCredentials,
};
use serde_json::{Map, Value, json};
use std::fs::{self, DirBuilder, File, Permissions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};
use url::Url;

const FOLDER: &str = "mcp-tokens";
const LONGEST_NAME: usize = 128;
/// The address that a login is for.
const RESOURCE: &str = "resource";

#[derive(Debug, Clone)]
pub(super) struct Tokens {
    folder: PathBuf,
    name: String,
}

/// Takes the login of a server away from this machine. Whether there was one.
pub fn forget(hermes_home: &Path, server: &str) -> io::Result<bool> {
    let tokens = Tokens::of(hermes_home, server);
    let mut had = false;
    for ending in ["json", "client.json", "meta.json", "lock"] {
        match fs::remove_file(tokens.file(ending)) {
            Ok(()) => had |= ending == "json",
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
    }
    Ok(had)
}

impl Tokens {
    pub(super) fn of(hermes_home: &Path, server: &str) -> Self {
        let is_plain = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-');
        let name: String = server.chars().map(|c| if is_plain(c) { c } else { '_' }).collect();
        let name: String = name.trim_matches('_').chars().take(LONGEST_NAME).collect();
        let name = if name.is_empty() { "default".to_owned() } else { name };
        Self { folder: hermes_home.join(FOLDER), name }
    }

    fn file(&self, ending: &str) -> PathBuf {
        self.folder.join(format!("{}.{ending}", self.name))
    }

    pub(super) fn exist(&self) -> bool {
        self.file("json").is_file()
    }

    pub(super) fn stamp(&self) -> Option<(SystemTime, u64)> {
        let about = fs::metadata(self.file("json")).ok()?;
        Some((about.modified().ok()?, about.len()))
    }

    /// Where the browser came back to at the last login.
    pub(super) fn redirect(&self) -> Option<String> {
        read(&self.file("client.json")).ok()??.pointer("/redirect_uris/0")?.as_str().map(str::to_owned)
    }

    /// Whether the login was made for this address. One that does not say, as the Python program writes it, is taken at
    /// the word of the settings.
    pub(super) fn are_for(&self, server: &Url) -> bool {
        self.resource().is_none_or(|address| address == server.as_str())
    }

    fn resource(&self) -> Option<String> {
        read(&self.file("client.json")).ok()??.get(RESOURCE)?.as_str().map(str::to_owned)
    }

    /// From now on what is kept is for this address; a login that may be for another one is forgotten before.
    pub(super) fn belong_to(&self, server: &Url) -> io::Result<()> {
        if self.resource().as_deref() == Some(server.as_str()) {
            return Ok(());
        }
        remove(&self.file("json"))?;
        self.note(RESOURCE, json!(server.as_str()))
    }

    /// Remembers where the browser comes back to.
    pub(super) fn remember_redirect(&self, redirect: &str) -> io::Result<()> {
        self.note("redirect_uris", json!([redirect]))
    }

    fn note(&self, key: &str, value: Value) -> io::Result<()> {
        let mut client = read(&self.file("client.json"))?.unwrap_or_else(|| json!({}));
        if let Some(client) = client.as_object_mut() {
            client.insert(key.to_owned(), value);
        }
        self.write("client.json", &client)
    }

    fn write(&self, ending: &str, value: &Value) -> io::Result<()> {
        DirBuilder::new().recursive(true).mode(0o700).create(&self.folder)?;
        fs::set_permissions(&self.folder, Permissions::from_mode(0o700))?;
        let mut file = tempfile::Builder::new().permissions(Permissions::from_mode(0o600)).tempfile_in(&self.folder)?;
        file.write_all(value.to_string().as_bytes())?;
        file.as_file().sync_all()?;
        file.persist(self.file(ending)).map_err(|error| error.error)?;
        Ok(())
    }

    fn load_now(&self, now: u64) -> io::Result<Option<StoredCredentials>> {
        let Some(mut tokens) = read(&self.file("json"))? else { return Ok(None) };
        let client = read(&self.file("client.json"))?.unwrap_or_default();
        if let Some(end) = tokens.get("expires_at").and_then(Value::as_f64)
            && let Some(tokens) = tokens.as_object_mut()
        {
            let left = end - now as f64;
            tokens.insert("expires_in".to_owned(), json!(if left > 0.0 { left as u64 } else { 0 }));
        }
        let scopes = tokens.get("scope").and_then(Value::as_str).unwrap_or_default();
        let scopes: Vec<String> = scopes.split_whitespace().map(str::to_owned).collect();
        let response: OAuthTokenResponse = serde_json::from_value(tokens).map_err(io::Error::other)?;
        let text = |key: &str| client.get(key).and_then(Value::as_str).map(str::to_owned);
        let id = text("client_id").unwrap_or_default();
        Ok(Some(StoredCredentials::new(id, Some(response), scopes, Some(now)).with_issuer(text("issuer"))))
    }

    fn save_now(&self, credentials: &StoredCredentials, now: u64) -> io::Result<()> {
        let mut client = read(&self.file("client.json"))?.unwrap_or_else(|| json!({}));
        if let Some(client) = client.as_object_mut() {
            client.insert("client_id".to_owned(), json!(credentials.client_id));
            match &credentials.issuer {
                Some(issuer) => client.insert("issuer".to_owned(), json!(issuer)),
                None => client.remove("issuer"),
            };
        }
        self.write("client.json", &client)?;
        let Some(response) = &credentials.token_response else {
            return remove(&self.file("json"));
        };
        let mut tokens = serde_json::to_value(response).map_err(io::Error::other)?;
        if let Some(tokens) = tokens.as_object_mut() {
            complete(tokens, credentials, now);
        }
        self.write("json", &tokens)
    }
}

/// What the Python program wants to find beside the token itself.
fn complete(tokens: &mut Map<String, Value>, credentials: &StoredCredentials, now: u64) {
    if let Some(lasts) = tokens.get("expires_in").and_then(Value::as_u64) {
        let received = credentials.token_received_at.unwrap_or(now);
        tokens.insert("expires_at".to_owned(), json!(received + lasts));
    }
    if !tokens.contains_key("scope") && !credentials.granted_scopes.is_empty() {
        tokens.insert("scope".to_owned(), json!(credentials.granted_scopes.join(" ")));
    }
    if let Some(Value::String(kind)) = tokens.get_mut("token_type")
        && kind == "bearer"
    {
        *kind = "Bearer".to_owned();
    }
}

fn read(path: &Path) -> io::Result<Option<Value>> {
    match fs::read(path) {
        Ok(bytes) => serde_json::from_slice(&bytes).map(Some).map_err(io::Error::other),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Seconds since 1970. The files hold times of day, which no other clock knows.
fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}

fn on_disk(error: &io::Error) -> AuthError {
    AuthError::CredentialStoreError(format!("the tokens in {FOLDER}: {error}"))
}

#[async_trait]
impl CredentialStore for Tokens {
    async fn load(&self) -> Result<Option<StoredCredentials>, AuthError> {
        self.load_now(now()).map_err(|error| on_disk(&error))
    }

    async fn save(&self, credentials: StoredCredentials) -> Result<(), AuthError> {
        self.save_now(&credentials, now()).map_err(|error| on_disk(&error))
    }

    async fn clear(&self) -> Result<(), AuthError> {
        remove(&self.file("json")).map_err(|error| on_disk(&error))
    }

    /// One process renews at a time: a token for renewing may be good for one use only.
    async fn acquire_refresh_guard(&self) -> Result<Option<CredentialRefreshGuard>, AuthError> {
        let path = self.file("lock");
        let locked = tokio::task::spawn_blocking(move || {
            let file = File::options().write(true).create(true).truncate(false).open(path)?;
            file.lock()?;
            Ok::<File, io::Error>(file)
        });
        let locked = locked.await.map_err(io::Error::other).and_then(|locked| locked);
        locked.map(|file| Some(CredentialRefreshGuard::new(file))).map_err(|error| on_disk(&error))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn response(value: Value) -> OAuthTokenResponse {
        serde_json::from_value(value).unwrap()
    }

    #[test]
    fn a_login_is_kept_for_the_owner_alone_and_found_again() {
        let home = tempfile::tempdir().unwrap();
        let tokens = Tokens::of(home.path(), "my/server");
        assert!(tokens.load_now(0).unwrap().is_none());
        let given =
            response(json!({"access_token": "A", "token_type": "bearer", "expires_in": 100, "refresh_token": "R"}));
        let stored = StoredCredentials::new("me".to_owned(), Some(given), vec!["read".to_owned()], Some(1_000));
        tokens.save_now(&stored.with_issuer(Some("https://as/".to_owned())), 1_000).unwrap();
        let file = home.path().join("mcp-tokens/my_server.json");
        let written: Value = serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
        let expected = json!({
            "access_token": "A", "token_type": "Bearer", "expires_in": 100, "refresh_token": "R", "expires_at": 1_100,
            "scope": "read"
        });
        assert_eq!(written, expected);
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&file), mode(file.parent().unwrap())), (0o600, 0o700));
        let found = tokens.load_now(1_040).unwrap().unwrap();
        assert_eq!((found.client_id.as_str(), found.issuer.as_deref()), ("me", Some("https://as/")));
        let left = serde_json::to_value(found.token_response.unwrap()).unwrap();
        assert_eq!((&left["expires_in"], found.token_received_at), (&json!(60), Some(1_040)));
        assert!(forget(home.path(), "my/server").unwrap());
        assert!(!forget(home.path(), "my/server").unwrap());
    }

    #[test]
    fn a_login_of_the_python_program_is_read() {
        let home = tempfile::tempdir().unwrap();
        let folder = home.path().join("mcp-tokens");
        fs::create_dir(&folder).unwrap();
        let token = r#"{"access_token":"A","token_type":"Bearer","expires_in":3600,"scope":"a b","refresh_token":"R","expires_at":2000.5}"#;
        fs::write(folder.join("far.json"), token).unwrap();
        fs::write(
            folder.join("far.client.json"),
            r#"{"client_id":"me","redirect_uris":["http://127.0.0.1:4242/callback"]}"#,
        )
        .unwrap();
        let tokens = Tokens::of(home.path(), "far");
        let found = tokens.load_now(1_990).unwrap().unwrap();
        assert_eq!((found.client_id.as_str(), found.granted_scopes.len()), ("me", 2));
        assert_eq!(serde_json::to_value(found.token_response.unwrap()).unwrap()["expires_in"], json!(10));
        assert_eq!(tokens.redirect().as_deref(), Some("http://127.0.0.1:4242/callback"));
    }
}
