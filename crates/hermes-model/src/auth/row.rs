//! One credential of a pool: a typed view over the fields as they are on disk, unknown ones included.
//!
//! The secret of a borrowed row is kept beside the fields, not among them, so writing a row cannot leak it.

use super::source::Source;
use super::{jwt, moment};
use crate::secret::Secret;
use crate::wire::Login;
use hermes_types::Object;
use jiff::Timestamp;
use serde_json::Value;
use std::fmt;
use std::time::Duration;

/// Fields that hold secrets. They are not written for borrowed rows.
const SECRETS: [&str; 6] = ["access_token", "refresh_token", "agent_key", "api_key", "id_token", "token"];
/// Fields that say how the last use went.
const VERDICT: [&str; 6] = [
    "last_status",
    "last_status_at",
    "last_error_code",
    "last_error_reason",
    "last_error_message",
    "last_error_reset_at",
];
pub(super) const REST_AFTER_401: Duration = Duration::from_secs(300);
pub(super) const REST_OTHERWISE: Duration = Duration::from_secs(3600);
/// Quotas reset within a month; a later promise is a mistake.
pub(super) const LONGEST_REST: Duration = Duration::from_secs(31 * 24 * 3600);

#[derive(Clone)]
pub struct Row {
    fields: Object,
    borrowed: Option<Secret>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AuthType {
    ApiKey,
    OAuth,
}

/// Whether a row may be used at some moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Standing {
    Ready,
    Resting {
        until: Timestamp,
    },
    /// Excluded until the person logs in again.
    Dead {
        reason: String,
    },
}

impl Row {
    pub(super) fn new(id: String, label: &str, auth_type: AuthType, source: &Source, priority: i64) -> Self {
        let mut row = Self { fields: Object::new(), borrowed: None };
        row.set("id", id);
        row.set("label", label);
        row.set("auth_type", auth_type.as_str());
        row.set("priority", priority);
        row.set("source", source.to_string());
        row
    }

    pub(super) fn from_fields(fields: Object) -> Self {
        Self { fields, borrowed: None }
    }

    /// The fields as they go to disk: without the secret, if it is not ours to store.
    pub(super) fn to_fields(&self, provider: &str) -> Object {
        let mut fields = self.fields.clone();
        if !self.source().is_stored(provider) {
            fields.retain(|key, _| !SECRETS.contains(&key.as_str()));
        }
        fields
    }

    /// Attaches the secret of a borrowed row as it is now. A different secret than last time starts with a clean slate,
    /// but a renewed login does not refill a quota.
    pub(super) fn lend(&mut self, secret: Secret) {
        let fingerprint = secret.fingerprint();
        // Another program may write its own kind of fingerprint; only one of ours proves that the secret changed.
        let known = self.text("secret_fingerprint").filter(|known| known.len() == fingerprint.len());
        let same_quota = self.auth_type() == AuthType::OAuth && self.status_code() != Some(401);
        if known.is_some_and(|known| known != fingerprint) && !same_quota {
            self.clear_verdict();
        }
        self.set("secret_fingerprint", fingerprint);
        self.borrowed = Some(secret);
    }

    pub fn id(&self) -> &str {
        self.text("id").unwrap_or_default()
    }

    pub fn label(&self) -> &str {
        self.text("label").unwrap_or_else(|| self.id())
    }

    pub fn auth_type(&self) -> AuthType {
        if self.text("auth_type") == Some("oauth") { AuthType::OAuth } else { AuthType::ApiKey }
    }

    /// Lower goes first.
    pub fn priority(&self) -> i64 {
        self.fields.get("priority").and_then(Value::as_i64).unwrap_or(0)
    }

    pub fn source(&self) -> Source {
        Source::parse(self.text("source").unwrap_or("manual"))
    }

    /// What goes into the request, if it is at hand.
    pub fn secret(&self) -> Option<Secret> {
        self.borrowed.clone().or_else(|| Secret::usable(self.text("access_token")?))
    }

    pub fn base_url(&self) -> Option<&str> {
        self.text("base_url").or_else(|| self.text("inference_base_url"))
    }

    pub fn expires_at(&self) -> Option<Timestamp> {
        ["expires_at_ms", "expires_at"].iter().find_map(|key| self.fields.get(*key).and_then(moment::parse))
    }

    /// Notes the end of the token in every notation the row already uses.
    pub(super) fn set_expiry(&mut self, end: Timestamp) {
        self.set("expires_at_ms", end.as_millisecond());
        if self.text("expires_at").is_some() {
            self.set("expires_at", end.to_string());
        }
    }

    /// The ChatGPT account a stored Codex token belongs to.
    pub fn chatgpt_account_id(&self) -> Option<String> {
        let claims = jwt::Claims::of(self.text("access_token")?)?;
        claims.chatgpt_account_id().map(str::to_owned)
    }

    pub fn request_count(&self) -> u64 {
        self.fields.get("request_count").and_then(Value::as_u64).unwrap_or(0)
    }

    /// When the last verdict was reached.
    pub fn status_at(&self) -> Option<Timestamp> {
        self.fields.get("last_status_at").and_then(moment::parse)
    }

    pub fn standing(&self, now: Timestamp) -> Standing {
        match self.text("last_status") {
            Some("dead") => Standing::Dead { reason: self.text("last_error_reason").unwrap_or("dead").to_owned() },
            Some("exhausted") => match self.rests_until() {
                Some(until) if until > now => Standing::Resting { until },
                _ => Standing::Ready,
            },
            _ => Standing::Ready,
        }
    }

    fn rests_until(&self) -> Option<Timestamp> {
        let asked = self.fields.get("last_error_reset_at").and_then(moment::parse);
        let Some(since) = self.status_at() else { return asked };
        let usual = match self.status_code() {
            Some(401) => REST_AFTER_401,
            _ => REST_OTHERWISE,
        };
        Some(asked.unwrap_or_else(|| moment::later(since, usual)).min(moment::later(since, LONGEST_REST)))
    }

    fn status_code(&self) -> Option<u64> {
        self.fields.get("last_error_code").and_then(Value::as_u64)
    }

    /// Whether something is held against the row, or was.
    pub fn has_verdict(&self) -> bool {
        self.text("last_status").is_some_and(|status| status != "ok")
    }

    pub(super) fn clear_verdict(&mut self) {
        self.fields.retain(|key, _| !VERDICT.contains(&key.as_str()));
    }

    pub(super) fn text(&self, key: &str) -> Option<&str> {
        self.fields.get(key).and_then(Value::as_str).filter(|text| !text.is_empty())
    }

    pub(super) fn set(&mut self, key: &str, value: impl Into<Value>) {
        self.fields.insert(key.to_owned(), value.into());
    }

    pub(super) fn unset(&mut self, key: &str) {
        self.fields.shift_remove(key);
    }
}

impl AuthType {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::ApiKey => "api_key",
            Self::OAuth => "oauth",
        }
    }
}

impl From<AuthType> for Login {
    fn from(kind: AuthType) -> Self {
        match kind {
            AuthType::ApiKey => Self::ApiKey,
            AuthType::OAuth => Self::OAuth,
        }
    }
}

impl PartialEq for Row {
    fn eq(&self, other: &Self) -> bool {
        let lent = |row: &Self| row.borrowed.as_ref().map(Secret::fingerprint);
        self.fields == other.fields && lent(self) == lent(other)
    }
}

impl fmt::Debug for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Row")
            .field("id", &self.id())
            .field("label", &self.label())
            .field("source", &self.source())
            .field("priority", &self.priority())
            .field("last_status", &self.text("last_status"))
            .field("secret", &self.secret())
            .finish_non_exhaustive()
    }
}
