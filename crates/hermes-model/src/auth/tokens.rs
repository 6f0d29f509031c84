//! A pair of tokens and the place it is kept: a provider's state, a row of a pool, or a file of its own.
//!
//! Whoever holds the lock reads a pair, spends its refresh token and writes the new pair back here. A copy of the same
//! login elsewhere in `auth.json` is brought along, because the old refresh token is worthless everywhere now.

use super::document::{self, Document};
use super::error::AuthError;
use super::provider_id::{ANTHROPIC, CODEX};
use super::row::{AuthType, Row};
use super::source::Source;
use super::store::{AuthStore, Locked, StoreError};
use super::{AuthContext, files, jwt, moment};
use crate::secret::Secret;
use hermes_types::Object;
use jiff::Timestamp;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// What is stored of a login. Not `Debug`: it holds secrets in the clear.
#[derive(Clone, PartialEq, Default)]
pub(super) struct Pair {
    pub(super) access: Option<String>,
    pub(super) refresh: Option<String>,
    pub(super) expires_at: Option<Timestamp>,
    /// Where and as whom the login was made, if the login says so.
    pub(super) portal: Option<String>,
    pub(super) client_id: Option<String>,
}

/// What a login server just handed out.
#[derive(Clone, PartialEq)]
pub(super) struct Fresh {
    pub(super) access: String,
    /// Absent when the old one stays good.
    pub(super) refresh: Option<String>,
    pub(super) lifetime: Option<Duration>,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum Place {
    /// `providers.<id>` of the store.
    State(&'static str),
    Row {
        provider: String,
        id: String,
    },
    /// Claude Code's file: the pair is under `claudeAiOauth`, and the file is not ours to empty.
    ClaudeCode(PathBuf),
    /// Our own Anthropic file: the pair is at the top.
    HermesPkce(PathBuf),
}

const CLAUDE_KEY: &str = "claudeAiOauth";

impl Pair {
    pub(super) fn of_state(provider: &str, state: &Object) -> Self {
        let tokens = if provider == CODEX { state.get("tokens").and_then(Value::as_object) } else { Some(state) };
        let access = tokens.and_then(|tokens| text(tokens, "access_token"));
        let stated = state.get("expires_at").and_then(moment::parse);
        Self {
            expires_at: access.as_deref().and_then(jwt::Claims::of).and_then(|claims| claims.expires_at()).or(stated),
            access,
            refresh: tokens.and_then(|tokens| text(tokens, "refresh_token")),
            portal: text(state, "portal_base_url"),
            client_id: text(state, "client_id"),
        }
    }

    pub(super) fn of_row(row: &Row) -> Self {
        let own = |key: &str| row.text(key).map(str::to_owned);
        let access = own("access_token");
        let claimed = access.as_deref().and_then(jwt::Claims::of).and_then(|claims| claims.expires_at());
        Self {
            expires_at: claimed.or_else(|| row.expires_at()),
            access,
            refresh: own("refresh_token"),
            portal: own("portal_base_url"),
            client_id: own("client_id"),
        }
    }

    pub(super) fn of_claude_code(file: &Object) -> Self {
        file.get(CLAUDE_KEY).and_then(Value::as_object).map(Self::of_hermes_pkce).unwrap_or_default()
    }

    pub(super) fn of_hermes_pkce(record: &Object) -> Self {
        Self {
            access: text(record, "accessToken"),
            refresh: text(record, "refreshToken"),
            expires_at: record.get("expiresAt").and_then(moment::parse),
            ..Self::default()
        }
    }

    pub(super) fn secret(&self) -> Option<Secret> {
        Secret::usable(self.access.as_deref()?)
    }

    /// True while the access token lives for at least `skew` more. A token that names no end does not end.
    pub(super) fn lives(&self, now: Timestamp, skew: Duration) -> bool {
        self.access.is_some() && self.expires_at.is_none_or(|end| moment::later(now, skew) < end)
    }
}

impl Fresh {
    /// The standard answer of a token endpoint.
    pub(super) fn parse(provider: &str, body: &Object) -> Result<Self, AuthError> {
        Ok(Self {
            access: super::exchange::text(provider, body, "access_token")?.to_owned(),
            refresh: text(body, "refresh_token"),
            lifetime: super::exchange::seconds(body, "expires_in"),
        })
    }

    pub(super) fn expires_at(&self, now: Timestamp) -> Option<Timestamp> {
        let claimed = jwt::Claims::of(&self.access).and_then(|claims| claims.expires_at());
        claimed.or_else(|| self.lifetime.map(|lifetime| moment::later(now, lifetime)))
    }
}

impl Place {
    /// The store whose lock guards this place. Files are shared by all profiles, so the root's lock guards them.
    pub(super) async fn guard(&self, cx: &AuthContext) -> Result<AuthStore, StoreError> {
        let store = cx.store();
        match self {
            Self::State(provider) => store.holding(|document| document.state(provider).is_some()).await,
            Self::Row { provider, id } => {
                store.holding(|document| document.rows(provider).iter().any(|row| row.id() == id)).await
            }
            Self::ClaudeCode(_) | Self::HermesPkce(_) => Ok(store.root().unwrap_or(store)),
        }
    }

    pub(super) async fn read(&self, locked: &Locked) -> Result<Pair, StoreError> {
        Ok(match self {
            Self::State(provider) => {
                let document = locked.read().await?;
                document.state(provider).map(|state| Pair::of_state(provider, state)).unwrap_or_default()
            }
            Self::Row { provider, id } => {
                let rows = locked.read().await?.rows(provider);
                rows.iter().find(|row| row.id() == id).map(Pair::of_row).unwrap_or_default()
            }
            Self::ClaudeCode(path) => Pair::of_claude_code(&read_file(path).await?),
            Self::HermesPkce(path) => Pair::of_hermes_pkce(&read_own_file(path).await?),
        })
    }

    /// Proves that a new pair can be put here. To be done before a refresh token is spent.
    pub(super) async fn prove_writable(&self, locked: &Locked) -> Result<(), StoreError> {
        match self {
            Self::State(_) | Self::Row { .. } => locked.prove_writable(locked.path()).await,
            Self::ClaudeCode(path) | Self::HermesPkce(path) => locked.prove_writable(path).await,
        }
    }

    /// Puts the new pair where the old one was.
    pub(super) async fn write(
        &self,
        locked: &Locked,
        old: &Pair,
        fresh: &Fresh,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        match self {
            Self::State(provider) => {
                let renew = |document: &mut Document| {
                    document.edit_state(provider, |state| put_into_state(provider, state, fresh, now));
                    spread(document, provider, old, fresh, now);
                };
                locked.edit(now, renew).await
            }
            Self::Row { provider, .. } => {
                locked.edit(now, |document| spread(document, provider, old, fresh, now)).await
            }
            Self::ClaudeCode(path) => {
                let put = |file: &mut Object| {
                    document::within(file, CLAUDE_KEY, |record| put_into_record(record, fresh, now))
                };
                let file = read_file(path).await?;
                edit_file(locked, path, file, put).await?;
                locked.edit(now, |document| spread(document, ANTHROPIC, old, fresh, now)).await
            }
            Self::HermesPkce(path) => {
                let record = read_own_file(path).await?;
                edit_file(locked, path, record, |record| put_into_record(record, fresh, now)).await?;
                locked.edit(now, |document| spread(document, ANTHROPIC, old, fresh, now)).await
            }
        }
    }

    /// Takes a dead pair away and notes why. Another program's file is left to that program.
    pub(super) async fn bury(&self, locked: &Locked, error: &AuthError, now: Timestamp) -> Result<(), StoreError> {
        match self {
            Self::State(provider) => locked.edit(now, |document| document.bury(provider, error, now)).await,
            Self::Row { provider, id } => {
                locked.edit(now, |document| bury_row(document, provider, id, error, now)).await
            }
            Self::ClaudeCode(_) => Ok(()),
            Self::HermesPkce(path) => {
                let record = read_own_file(path).await?;
                edit_file(locked, path, record, |record| {
                    record.retain(|key, _| !["accessToken", "refreshToken", "expiresAt"].contains(&key.as_str()));
                    record.insert("last_auth_error".into(), document::obituary(error, now));
                })
                .await
            }
        }
    }
}

fn bury_row(document: &mut Document, provider: &str, id: &str, error: &AuthError, now: Timestamp) {
    let mut rows = document.rows(provider);
    if let Some(row) = rows.iter_mut().find(|row| row.id() == id) {
        row.clear_verdict();
        row.unset("access_token");
        row.unset("refresh_token");
        row.set("last_status", "dead");
        row.set("last_status_at", moment::epoch(now));
        row.set("last_error_reason", error.code.as_str());
        row.set("last_error_message", error.message.as_str());
    }
    document.set_rows(provider, &rows);
}

/// Brings every copy of the login along: rows, and the provider's state if a row was renewed.
pub(super) fn spread(document: &mut Document, provider: &str, old: &Pair, fresh: &Fresh, now: Timestamp) {
    let Some(spent) = old.refresh.as_deref() else { return };
    let mut rows = document.rows(provider);
    for row in rows.iter_mut().filter(|row| row.text("refresh_token") == Some(spent)) {
        put_into_row(row, fresh, now);
    }
    document.set_rows(provider, &rows);
    let copied = document.state(provider).map(|state| Pair::of_state(provider, state));
    if copied.and_then(|pair| pair.refresh).as_deref() == Some(spent) {
        document.edit_state(provider, |state| put_into_state(provider, state, fresh, now));
    }
}

/// The row of a provider's main login: made if it is missing, renewed and well again in any case.
pub(super) fn put_device_row(document: &mut Document, provider: &str, fresh: &Fresh, now: Timestamp) {
    let mut rows = document.rows(provider);
    if !rows.iter().any(|row| row.source() == Source::DeviceCode) {
        let next = rows.iter().map(Row::priority).max().map_or(0, |last| last.saturating_add(1));
        let id = super::edit::fresh_id(&rows);
        rows.push(Row::new(id, "device login", AuthType::OAuth, &Source::DeviceCode, next));
    }
    for row in rows.iter_mut().filter(|row| row.source() == Source::DeviceCode) {
        put_into_row(row, fresh, now);
        row.clear_verdict();
    }
    document.set_rows(provider, &rows);
}

fn put_into_row(row: &mut Row, fresh: &Fresh, now: Timestamp) {
    row.set("access_token", fresh.access.as_str());
    if let Some(refresh) = &fresh.refresh {
        row.set("refresh_token", refresh.as_str());
    }
    if let Some(end) = fresh.expires_at(now) {
        row.set_expiry(end);
    }
    row.set("last_refresh", now.to_string());
}

pub(super) fn put_into_state(provider: &str, state: &mut Object, fresh: &Fresh, now: Timestamp) {
    let put = |tokens: &mut Object| {
        tokens.insert("access_token".into(), json!(fresh.access));
        if let Some(refresh) = &fresh.refresh {
            tokens.insert("refresh_token".into(), json!(refresh));
        }
    };
    state.shift_remove("last_auth_error");
    if provider == CODEX {
        document::within(state, "tokens", put);
        state.insert("last_refresh".into(), json!(now.to_string()));
        return;
    }
    put(state);
    state.insert("obtained_at".into(), json!(now.to_string()));
    if let Some(end) = fresh.expires_at(now) {
        state.insert("expires_at".into(), json!(end.to_string()));
        state.insert("expires_in".into(), json!(moment::until(now, end).as_secs()));
    }
}

/// Unknown keys and scopes stay as they are.
pub(super) fn put_into_record(record: &mut Object, fresh: &Fresh, now: Timestamp) {
    record.insert("accessToken".into(), json!(fresh.access));
    if let Some(refresh) = &fresh.refresh {
        record.insert("refreshToken".into(), json!(refresh));
    }
    if let Some(end) = fresh.expires_at(now) {
        record.insert("expiresAt".into(), json!(end.as_millisecond()));
    }
    record.shift_remove("last_auth_error");
}

pub(super) async fn read_file(path: &Path) -> Result<Object, StoreError> {
    let (name, path) = (path.to_owned(), path.to_owned());
    let object = files::off_thread(move || files::read_object(&path)).await;
    object.map(Option::unwrap_or_default).map_err(|error| StoreError::unusable(&name, &error))
}

/// The same for a file that is ours: a broken one is set aside and counts as empty.
async fn read_own_file(path: &Path) -> Result<Object, StoreError> {
    let (name, path) = (path.to_owned(), path.to_owned());
    let object = files::off_thread(move || files::read_own_object(&path)).await;
    object.map(Option::unwrap_or_default).map_err(|error| StoreError::unusable(&name, &error))
}

async fn edit_file(
    locked: &Locked,
    path: &Path,
    mut object: Object,
    change: impl FnOnce(&mut Object),
) -> Result<(), StoreError> {
    change(&mut object);
    let target = path.to_owned();
    let written = locked.work(move || files::replace_object(&target, &object)).await;
    written.map_err(|error| StoreError::unusable(path, &error))
}

fn text(object: &Object, key: &str) -> Option<String> {
    object.get(key).and_then(Value::as_str).filter(|text| !text.is_empty()).map(str::to_owned)
}
