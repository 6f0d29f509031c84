//! Why a login did not work. The code is for the program, the message for a person; neither carries a secret.

use super::provider_id::ANTHROPIC;
use hermes_types::{Fault, FaultKind};
use std::fmt;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct AuthError {
    pub provider: String,
    pub code: AuthCode,
    /// Names the thing, the reason and the next step.
    pub message: String,
    /// Only a new login by the person can mend this.
    pub relogin_required: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum AuthCode {
    NotLoggedIn,
    /// The vendor named a reason after which the token will never work again.
    Dead(DeadReason),
    /// Refused without such a reason. The token is kept: a firewall in between answers like this too.
    Refused,
    RateLimited,
    /// The person said no in the browser.
    Denied,
    /// Nobody confirmed the login in time.
    Expired,
    /// The server could not be reached: nothing was sent.
    Unreachable,
    /// The request was sent and no answer came. Whether it had an effect is not known.
    NoAnswer,
    ServerError,
    Malformed,
    /// A token was about to go to a host it does not belong to.
    WrongHost,
    UnsupportedToken,
    /// What the person typed does not fit.
    BadInput,
    StoreBusy,
    StoreUnusable,
}

/// Reasons that end the life of a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum DeadReason {
    TokenInvalidated,
    TokenRevoked,
    InvalidToken,
    InvalidGrant,
    UnauthorizedClient,
    RefreshTokenReused,
}

impl DeadReason {
    pub const ALL: [Self; 6] = [
        Self::TokenInvalidated,
        Self::TokenRevoked,
        Self::InvalidToken,
        Self::InvalidGrant,
        Self::UnauthorizedClient,
        Self::RefreshTokenReused,
    ];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::TokenInvalidated => "token_invalidated",
            Self::TokenRevoked => "token_revoked",
            Self::InvalidToken => "invalid_token",
            Self::InvalidGrant => "invalid_grant",
            Self::UnauthorizedClient => "unauthorized_client",
            Self::RefreshTokenReused => "refresh_token_reused",
        }
    }

    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|reason| reason.as_str() == word)
    }
}

impl AuthCode {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::NotLoggedIn => "not_logged_in",
            Self::Dead(reason) => reason.as_str(),
            Self::Refused => "refused",
            Self::RateLimited => "rate_limited",
            Self::Denied => "access_denied",
            Self::Expired => "expired",
            Self::Unreachable => "unreachable",
            Self::NoAnswer => "no_answer",
            Self::ServerError => "server_error",
            Self::Malformed => "malformed_answer",
            Self::WrongHost => "wrong_host",
            Self::UnsupportedToken => "unsupported_token",
            Self::BadInput => "bad_input",
            Self::StoreBusy => "store_busy",
            Self::StoreUnusable => "store_unusable",
        }
    }

    /// Codes after which trying again cannot help without the person. A bare refusal is none of them: a firewall on the
    /// way says no as well, and tomorrow the same login works.
    fn needs_relogin(self) -> bool {
        matches!(self, Self::NotLoggedIn | Self::Dead(_))
    }

    /// Trouble on the way that may be gone in a moment.
    pub(super) fn is_network(self) -> bool {
        matches!(self, Self::Unreachable | Self::NoAnswer)
    }
}

impl AuthError {
    /// `what` says what happened; the way out of it is added for those codes that need a new login.
    pub(super) fn new(provider: &str, code: AuthCode, what: impl fmt::Display) -> Self {
        let relogin_required = code.needs_relogin();
        let next = match (relogin_required, provider) {
            (false, _) => String::new(),
            (true, ANTHROPIC) => format!(" Log in again: hermes auth add {provider}, or set ANTHROPIC_API_KEY"),
            (true, _) => format!(" Log in again: hermes auth add {provider}"),
        };
        Self { provider: provider.to_owned(), code, message: format!("{provider}: {what}.{next}"), relogin_required }
    }

    /// The same trouble as the loop sees it.
    pub fn fault(&self) -> Fault {
        let kind = match self.code {
            _ if self.relogin_required => FaultKind::AuthPermanent,
            AuthCode::RateLimited => FaultKind::RateLimit,
            AuthCode::Unreachable => FaultKind::NoRoute,
            AuthCode::NoAnswer => FaultKind::Timeout,
            AuthCode::ServerError => FaultKind::ServerError,
            AuthCode::Malformed => FaultKind::Malformed,
            AuthCode::WrongHost => FaultKind::WrongOrigin,
            AuthCode::StoreBusy | AuthCode::StoreUnusable => FaultKind::Unknown,
            _ => FaultKind::Auth,
        };
        Fault { code: Some(self.code.as_str().to_owned()), ..Fault::new(kind, self.message.clone()) }
    }
}

impl fmt::Display for AuthCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_dead_or_missing_login_is_the_end() {
        let kind = |code| AuthError::new("nous", code, "no").fault().kind;
        let all = [
            (AuthCode::NotLoggedIn, FaultKind::AuthPermanent),
            (AuthCode::Dead(DeadReason::InvalidGrant), FaultKind::AuthPermanent),
            (AuthCode::Refused, FaultKind::Auth),
            (AuthCode::Unreachable, FaultKind::NoRoute),
            (AuthCode::NoAnswer, FaultKind::Timeout),
            (AuthCode::RateLimited, FaultKind::RateLimit),
            (AuthCode::ServerError, FaultKind::ServerError),
        ];
        assert_eq!(all.map(|(code, _)| kind(code)), all.map(|(_, expected)| expected));
    }
}
