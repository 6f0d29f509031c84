//! The content of `auth.json`, version 1: a typed view over JSON that keeps every key it does not know.

use super::error::AuthError;
use super::row::Row;
use hermes_types::Object;
use jiff::Timestamp;
use serde_json::{Value, json};
use std::fmt;
use std::mem;

/// Keys of a provider's state that hold tokens or describe them. The rest is routing data and outlives a dead token.
const TOKEN_KEYS: [&str; 12] = [
    "access_token",
    "refresh_token",
    "id_token",
    "tokens",
    "expires_at",
    "expires_in",
    "agent_key",
    "agent_key_id",
    "agent_key_expires_at",
    "agent_key_expires_in",
    "agent_key_reused",
    "agent_key_obtained_at",
];

#[derive(Clone, PartialEq, Default)]
pub struct Document(Object);

impl Document {
    /// `None` when the bytes are not a JSON object.
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        serde_json::from_slice(bytes).ok().map(Self)
    }

    /// What goes to disk, stamped with the time of writing.
    pub(super) fn to_bytes(&self, now: Timestamp) -> serde_json::Result<Vec<u8>> {
        let mut whole = Object::new();
        whole.insert("version".into(), json!(1));
        whole.extend(self.0.clone());
        whole.insert("updated_at".into(), json!(now.to_string()));
        serde_json::to_vec_pretty(&whole)
    }

    pub fn active_provider(&self) -> Option<&str> {
        self.0.get("active_provider").and_then(Value::as_str).filter(|name| !name.is_empty())
    }

    /// The first login decides; later ones do not change the person's choice.
    pub(super) fn activate_first(&mut self, provider: &str) {
        if self.active_provider().is_none() {
            self.0.insert("active_provider".into(), json!(provider));
        }
    }

    /// The login of a provider that has one place for it (`providers.<id>`).
    pub fn state(&self, provider: &str) -> Option<&Object> {
        self.0.get("providers")?.get(provider)?.as_object()
    }

    pub(super) fn edit_state<T>(&mut self, provider: &str, edit: impl FnOnce(&mut Object) -> T) -> T {
        within(&mut self.0, "providers", |providers| within(providers, provider, edit))
    }

    /// Removes tokens that will never work again and notes why; addresses and settings stay.
    pub(super) fn bury(&mut self, provider: &str, error: &AuthError, now: Timestamp) {
        self.edit_state(provider, |state| {
            state.retain(|key, _| !TOKEN_KEYS.contains(&key.as_str()));
            state.insert("last_auth_error".into(), obituary(error, now));
        });
    }

    pub fn rows(&self, provider: &str) -> Vec<Row> {
        let list = self.0.get("credential_pool").and_then(|pools| pools.get(provider)).and_then(Value::as_array);
        list.into_iter().flatten().filter_map(Value::as_object).cloned().map(Row::from_fields).collect()
    }

    /// Names of all providers with a pool.
    pub fn pools(&self) -> impl Iterator<Item = &str> {
        self.0.get("credential_pool").and_then(Value::as_object).into_iter().flatten().map(|(name, _)| name.as_str())
    }

    pub(super) fn set_rows(&mut self, provider: &str, rows: &[Row]) {
        if rows.is_empty() {
            if let Some(Value::Object(pools)) = self.0.get_mut("credential_pool") {
                pools.shift_remove(provider);
            }
            return;
        }
        let list = rows.iter().map(|row| Value::Object(row.to_fields(provider))).collect();
        within(&mut self.0, "credential_pool", |pools| pools.insert(provider.to_owned(), Value::Array(list)));
    }

    /// Sources the person took out; they are not picked up again by themselves.
    pub fn suppressed(&self, provider: &str) -> Vec<String> {
        let list = self.0.get("suppressed_sources").and_then(|all| all.get(provider)).and_then(Value::as_array);
        list.into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
    }

    pub(super) fn suppress(&mut self, provider: &str, source: &str) {
        let mut sources = self.suppressed(provider);
        if !sources.iter().any(|known| known == source) {
            sources.push(source.to_owned());
        }
        within(&mut self.0, "suppressed_sources", |all| all.insert(provider.to_owned(), json!(sources)));
    }

    pub(super) fn lift_suppression(&mut self, provider: &str) {
        if let Some(Value::Object(all)) = self.0.get_mut("suppressed_sources") {
            all.shift_remove(provider);
        }
    }

    /// Forgets everything stored for a provider. True when there was something.
    pub(super) fn forget(&mut self, provider: &str) -> bool {
        let mut found = false;
        for section in ["providers", "credential_pool"] {
            if let Some(Value::Object(entries)) = self.0.get_mut(section) {
                found |= entries.shift_remove(provider).is_some();
            }
        }
        if self.active_provider() == Some(provider) {
            self.0.insert("active_provider".into(), Value::Null);
        }
        found
    }

    pub(super) fn forget_state(&mut self, provider: &str) {
        if let Some(Value::Object(entries)) = self.0.get_mut("providers") {
            entries.shift_remove(provider);
        }
    }
}

/// Why a login ended, for `hermes auth status`.
pub(super) fn obituary(error: &AuthError, now: Timestamp) -> Value {
    json!({
        "provider": error.provider,
        "code": error.code.as_str(),
        "message": error.message,
        "reason": "refresh_failed",
        "relogin_required": error.relogin_required,
        "at": now.to_string(),
    })
}

/// Edits the object under `key`, in place, making it if it is not there.
pub(super) fn within<T>(map: &mut Object, key: &str, edit: impl FnOnce(&mut Object) -> T) -> T {
    let mut inner = match map.get_mut(key) {
        Some(Value::Object(object)) => mem::take(object),
        _ => Object::new(),
    };
    let result = edit(&mut inner);
    map.insert(key.to_owned(), Value::Object(inner));
    result
}

/// Shows which providers are there, never their values.
impl fmt::Debug for Document {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let states = self.0.get("providers").and_then(Value::as_object).into_iter().flatten().map(|(name, _)| name);
        f.debug_struct("Document")
            .field("active_provider", &self.active_provider())
            .field("providers", &states.collect::<Vec<_>>())
            .field("pools", &self.pools().collect::<Vec<_>>())
            .finish_non_exhaustive()
    }
}
