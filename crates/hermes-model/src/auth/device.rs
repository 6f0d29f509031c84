//! Logging in with a code on another screen (RFC 8628): show the code, then ask until the person has confirmed.

use super::AuthContext;
use super::error::{AuthCode, AuthError};
use super::exchange::{self, Reply};
use crate::transport::Call;
use hermes_types::Object;
use std::fmt;
use std::time::Duration;
use url::Url;

/// However slow a server wants to be asked, and however long its codes are said to live.
pub(super) const SLOWEST: Duration = Duration::from_secs(60);
const LONGEST_LIFETIME: Duration = Duration::from_secs(30 * 60);

/// What a person has to see, and what we need to go on.
#[derive(Clone, PartialEq, Eq)]
pub struct DevicePrompt {
    pub user_code: String,
    /// The page to open.
    pub page: Url,
    /// The same page with the code filled in.
    pub page_with_code: Option<Url>,
    /// After this long the code is worthless.
    pub lifetime: Duration,
    pub(super) device_code: String,
    pub(super) interval: Duration,
}

/// How often to ask.
pub(super) struct Pace {
    pub(super) interval: Duration,
    /// Added each time the server says `slow_down`.
    pub(super) step: Duration,
    pub(super) slowest: Duration,
    pub(super) limit: Duration,
}

enum Step {
    Granted,
    Pending,
    SlowDown,
    Over,
}

impl DevicePrompt {
    /// From the standard answer of a device endpoint.
    pub(super) fn parse(provider: &str, body: &Object) -> Result<Self, AuthError> {
        let page = page(exchange::text(provider, body, "verification_uri")?).ok_or_else(|| {
            AuthError::new(
                provider,
                AuthCode::WrongHost,
                "the login server sent an address that is not a web page over https",
            )
        })?;
        Ok(Self {
            user_code: exchange::text(provider, body, "user_code")?.to_owned(),
            page,
            page_with_code: body.get("verification_uri_complete").and_then(|uri| uri.as_str()).and_then(self::page),
            lifetime: exchange::seconds(body, "expires_in").unwrap_or(Duration::from_secs(900)).min(LONGEST_LIFETIME),
            device_code: exchange::text(provider, body, "device_code")?.to_owned(),
            interval: exchange::seconds(body, "interval").unwrap_or(Duration::from_secs(5)).min(SLOWEST),
        })
    }
}

/// An address that is safe to hand to a browser.
fn page(text: &str) -> Option<Url> {
    Url::parse(text).ok().filter(exchange::is_private_channel)
}

/// Asks until the login is granted, declined or out of time. A lost connection in between ends nothing.
pub(super) async fn poll(
    cx: &AuthContext,
    provider: &str,
    question: impl Fn() -> Call,
    pace: Pace,
) -> Result<Object, AuthError> {
    let start = cx.clock.elapsed();
    let mut interval = pace.interval;
    while cx.clock.elapsed().saturating_sub(start) < pace.limit {
        cx.clock.pause(interval).await;
        let reply = match exchange::send(cx, provider, question(), exchange::USUAL_LIMIT).await {
            Ok(reply) => reply,
            Err(error) if error.code.is_network() => continue,
            Err(error) => return Err(error),
        };
        match step(&reply) {
            Step::Granted => return Ok(reply.body),
            Step::Pending => {}
            Step::SlowDown => interval = (interval + pace.step).min(pace.slowest),
            Step::Over => return Err(exchange::refusal(provider, &reply)),
        }
    }
    let what = "nobody confirmed the login in time; start it again";
    Err(AuthError::new(provider, AuthCode::Expired, what))
}

fn step(reply: &Reply) -> Step {
    match (reply.status, exchange::error_word(&reply.body)) {
        (_, Some("authorization_pending")) => Step::Pending,
        (429, _) | (_, Some("slow_down")) => Step::SlowDown,
        // GitHub reports every error with status 200.
        (200..300, None) => Step::Granted,
        (500.., _) => Step::Pending,
        _ => Step::Over,
    }
}

/// The device code is as good as the login until it is confirmed.
impl fmt::Debug for DevicePrompt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DevicePrompt")
            .field("user_code", &self.user_code)
            .field("page", &self.page.as_str())
            .field("lifetime", &self.lifetime)
            .finish_non_exhaustive()
    }
}
