//! Errors of the protocol library in our words: whether a question was sent, and whether a login is what is missing.

use super::Unconnected;
use crate::fault::Fault;
use hermes_core::redact;
use hermes_tools::gate::visible;
use hermes_types::clip;
use reqwest::StatusCode;
use rmcp::service::{ClientInitializeError, ServiceError};
use rmcp::transport::auth::AuthError;
use rmcp::transport::streamable_http_client::{HttpStatusError, StreamableHttpError};
use std::error::Error;

/// Characters of an error text; what comes behind is a page or a dump.
const LONGEST: usize = 600;
/// What servers say of a session that is over. The question was turned away before anything was done.
const SESSION_IS_OVER: &[&str] = &["session not found", "session expired", "invalid session", "unknown session"];

type Http = StreamableHttpError<reqwest::Error>;

/// Why no connection came about.
pub(super) fn of_start(error: &ClientInitializeError) -> Unconnected {
    if error.is_authorization_required() || error.auth_challenge().is_some() {
        return Unconnected::Unauthorized(told(error));
    }
    match error {
        ClientInitializeError::ConnectionClosed(_) => {
            Unconnected::Unreachable("it ended without saying hello".to_owned())
        }
        ClientInitializeError::TransportError { error, .. } => Unconnected::Unreachable(told(error.error.as_ref())),
        other => Unconnected::Unreachable(told(other)),
    }
}

/// Why a question has no answer.
pub(super) fn of_question(error: &ServiceError) -> Fault {
    match error {
        ServiceError::McpError(refusal) => {
            let words = refusal.message.to_lowercase();
            if SESSION_IS_OVER.iter().any(|phrase| words.contains(phrase)) {
                Fault::NotSent(shown(&refusal.message))
            } else {
                Fault::Refused(shown(&refusal.message))
            }
        }
        ServiceError::TransportSend(failure) => of_sending(failure.error.as_ref()),
        ServiceError::Cancelled { .. } => Fault::Interrupted,
        other => Fault::Lost(told(other)),
    }
}

/// A pipe that could not be written to took nothing that ends in a line; a request of HTTP may have been read to its end.
fn of_sending(error: &(dyn Error + 'static)) -> Fault {
    let reason = told(error);
    for cause in causes(error) {
        if let Some(http) = cause.downcast_ref::<Http>() {
            return match http {
                Http::AuthRequired(_) | Http::InsufficientScope(_) => Fault::Unauthorized(reason),
                Http::Auth(AuthError::AuthorizationRequired | AuthError::TokenRefreshRejected(_)) => {
                    Fault::Unauthorized(reason)
                }
                Http::Auth(_) | Http::SessionExpired | Http::ReservedHeaderConflict(_) => Fault::NotSent(reason),
                Http::UnexpectedServerResponse(_) | Http::UnexpectedContentType(_) => Fault::Refused(reason),
                Http::HttpStatus(status) => of_status(status, reason),
                Http::Client(error) if error.is_connect() || error.is_builder() => Fault::NotSent(reason),
                _ => Fault::Lost(reason),
            };
        }
        if let Some(error) = cause.downcast_ref::<super::sse::NotPosted>() {
            return error.fault();
        }
        if cause.is::<std::io::Error>() {
            return Fault::NotSent(reason);
        }
    }
    Fault::Lost(reason)
}

fn of_status(status: &HttpStatusError, reason: String) -> Fault {
    match StatusCode::from_u16(status.status) {
        Ok(StatusCode::TOO_MANY_REQUESTS) => {
            Fault::Refused("it wants fewer questions in so short a time (HTTP 429)".to_owned())
        }
        _ => Fault::Lost(reason),
    }
}

/// The error and everything behind it, each thing once. Of addresses only the host is told: some servers are known by a
/// secret in theirs.
pub(crate) fn told(error: &(dyn Error + 'static)) -> String {
    let mut words: Vec<String> = Vec::new();
    for cause in causes(error) {
        // What the library puts in front of the error of the client says nothing.
        let is_wrapping = matches!(cause.downcast_ref::<Http>(), Some(Http::Client(_)));
        let said = cause.to_string();
        if !is_wrapping && !words.iter().any(|known| known.contains(&said)) {
            words.push(said);
        }
    }
    let addresses = causes(error).filter_map(|cause| cause.downcast_ref::<reqwest::Error>()?.url());
    let told = addresses.fold(words.join(": "), |told, address| {
        told.replace(address.as_str(), &address.origin().ascii_serialization())
    });
    shown(&told)
}

/// An error and what caused it. The library does not name the error of the client as a cause, though it is one.
fn causes<'a>(error: &'a (dyn Error + 'static)) -> impl Iterator<Item = &'a (dyn Error + 'static)> {
    std::iter::successors(Some(error), |&error| match error.downcast_ref::<Http>() {
        Some(Http::Client(cause)) => Some(cause as &(dyn Error + 'static)),
        _ => error.source(),
    })
}

fn shown(text: &str) -> String {
    clip(&visible(&redact::text(text)), LONGEST)
}
