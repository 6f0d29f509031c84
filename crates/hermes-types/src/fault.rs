//! What can go wrong between us and a model, typed where it happens. Recovery matches on [`FaultKind`]; nobody searches
//! error text after this point.

use crate::Concession;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::time::Duration;

/// A failed attempt: what kind, and what to tell a person.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, thiserror::Error)]
#[error("{message}")]
pub struct Fault {
    pub kind: FaultKind,
    /// The HTTP status, where there was one.
    pub status: Option<u16>,
    /// The vendor's own error code, where it gave one.
    pub code: Option<String>,
    /// For people: bounded and free of secrets.
    pub message: String,
    /// How long the provider asks us to wait.
    pub retry_after: Option<Duration>,
    /// The most tokens the model takes, where a refusal for length says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub window: Option<u64>,
}

impl Fault {
    pub fn new(kind: FaultKind, message: impl Into<String>) -> Self {
        Self { kind, status: None, code: None, message: message.into(), retry_after: None, window: None }
    }
}

/// The classes recovery tells apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FaultKind {
    /// The credential was refused (401, or a 403 that is about the key).
    Auth,
    /// The login is dead: only the person can mend it.
    AuthPermanent,
    /// The account may not use this (403 that no refresh will change).
    Entitlement,
    /// Money or quota is used up.
    Billing,
    RateLimit,
    /// An aggregator's upstream is rate limited; our key is fine.
    UpstreamRateLimit,
    Overloaded,
    ServerError,
    /// Connection lost, reset, or a request timeout.
    Timeout,
    /// No byte for longer than the stale limit.
    Stalled,
    /// Nobody listens at a local address: trying again cannot help.
    Unreachable,
    /// The provider's host cannot be found or reached: probably no network.
    NoRoute,
    /// The certificate cannot be verified.
    Tls,
    ContextOverflow,
    PayloadTooLarge,
    ModelNotFound,
    /// An aggregator's data policy forbids the route.
    PolicyBlocked,
    /// The provider refuses the content.
    ContentBlocked,
    /// The request is malformed in the provider's eyes.
    BadRequest,
    /// The provider refused one thing that we can leave out.
    Refused(Concession),
    /// The stream ended without any answer in it.
    EmptyStream,
    /// The answer does not follow its own protocol.
    Malformed,
    /// A secret was about to be sent to a host it does not belong to.
    WrongOrigin,
    /// There is no usable provider, credential or model; nothing was sent.
    NotConfigured,
    /// The person or the program stopped the call.
    Interrupted,
    Unknown,
}

impl FaultKind {
    /// Every kind, for tables that must be complete.
    pub const ALL: [Self; 25 + Concession::ALL.len()] = Self::all();

    const fn all() -> [Self; 25 + Concession::ALL.len()] {
        let [a, b, c, d, e, f, g, h, i, j, k] = Concession::ALL;
        [
            Self::Auth,
            Self::AuthPermanent,
            Self::Entitlement,
            Self::Billing,
            Self::RateLimit,
            Self::UpstreamRateLimit,
            Self::Overloaded,
            Self::ServerError,
            Self::Timeout,
            Self::Stalled,
            Self::Unreachable,
            Self::NoRoute,
            Self::Tls,
            Self::ContextOverflow,
            Self::PayloadTooLarge,
            Self::ModelNotFound,
            Self::PolicyBlocked,
            Self::ContentBlocked,
            Self::BadRequest,
            Self::EmptyStream,
            Self::Malformed,
            Self::WrongOrigin,
            Self::NotConfigured,
            Self::Interrupted,
            Self::Unknown,
            Self::Refused(a),
            Self::Refused(b),
            Self::Refused(c),
            Self::Refused(d),
            Self::Refused(e),
            Self::Refused(f),
            Self::Refused(g),
            Self::Refused(h),
            Self::Refused(i),
            Self::Refused(j),
            Self::Refused(k),
        ]
    }

    /// A few words for a status line.
    pub fn describe(self) -> &'static str {
        match self {
            Self::Auth => "credential refused",
            Self::AuthPermanent => "login no longer valid",
            Self::Entitlement => "not allowed for this account",
            Self::Billing => "credit or quota used up",
            Self::RateLimit => "rate limited",
            Self::UpstreamRateLimit => "upstream provider rate limited",
            Self::Overloaded => "provider overloaded",
            Self::ServerError => "provider error",
            Self::Timeout => "connection lost",
            Self::Stalled => "no data from the provider",
            Self::Unreachable => "nobody listens there",
            Self::NoRoute => "host not reachable",
            Self::Tls => "certificate not trusted",
            Self::ContextOverflow => "conversation too long for the model",
            Self::PayloadTooLarge => "request too large",
            Self::ModelNotFound => "no such model",
            Self::PolicyBlocked => "blocked by data policy",
            Self::ContentBlocked => "content refused",
            Self::BadRequest => "request not understood",
            Self::Refused(_) => "part of the request not supported",
            Self::EmptyStream => "empty answer",
            Self::Malformed => "answer not understood",
            Self::WrongOrigin => "secret kept back",
            Self::NotConfigured => "not configured",
            Self::Interrupted => "interrupted",
            Self::Unknown => "unexpected failure",
        }
    }
}

impl fmt::Display for FaultKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.describe())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_concession_is_among_the_kinds_once() {
        let refused = FaultKind::ALL.into_iter().filter_map(|kind| match kind {
            FaultKind::Refused(concession) => Some(concession),
            _ => None,
        });
        assert_eq!(refused.collect::<Vec<_>>(), Concession::ALL);
        let distinct: std::collections::HashSet<FaultKind> = FaultKind::ALL.into();
        assert_eq!(distinct.len(), FaultKind::ALL.len());
    }
}
