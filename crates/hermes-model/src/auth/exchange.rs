//! One question to a login server: sent once, to the address it was made for, answered within a limit.
//!
//! These requests carry tokens in their bodies. They go over TLS or to this machine, and a redirect is an error.

use super::error::{AuthCode, AuthError, DeadReason};
use super::{AuthContext, USER_AGENT};
use crate::transport::{Call, Redirects};
use futures_util::future::{Either, select};
use hermes_types::{FaultKind, Object};
use serde_json::Value;
use std::pin::pin;
use std::time::Duration;
use url::Url;
use url::form_urlencoded::Serializer;

const CAP: usize = 256 * 1024;
/// What most login servers get to answer.
pub(super) const USUAL_LIMIT: Duration = Duration::from_secs(20);
/// A server's wish to wait is respected up to here.
const LONGEST_WAIT: Duration = Duration::from_secs(600);

/// A JSON answer. The body is empty when it was anything else.
pub(super) struct Reply {
    pub(super) status: u16,
    pub(super) body: Object,
    pub(super) retry_after: Option<Duration>,
}

pub(super) fn form(url: Url, fields: &[(&str, &str)]) -> Call {
    let body = Serializer::new(String::new()).extend_pairs(fields).finish();
    with_type(Call::post(url, body), "application/x-www-form-urlencoded")
}

pub(super) fn json(url: Url, body: &Value) -> Call {
    with_type(Call::post(url, body.to_string()), "application/json")
}

fn with_type(mut call: Call, content_type: &str) -> Call {
    call.headers.push(("content-type".into(), content_type.into()));
    call
}

pub(super) async fn send(
    cx: &AuthContext,
    provider: &str,
    mut call: Call,
    limit: Duration,
) -> Result<Reply, AuthError> {
    let host = call.url.host_str().unwrap_or_default().to_owned();
    if !is_private_channel(&call.url) {
        let what = format!("a token is only sent over https, not to {}://{host}", call.url.scheme());
        return Err(AuthError::new(provider, AuthCode::WrongHost, what));
    }
    call.redirects = Redirects::HandedOver;
    call.headers.push(("user-agent".into(), USER_AGENT.into()));
    call.headers.push(("accept".into(), "application/json".into()));
    let exchange = async {
        let answer = cx.transport.send(call).await?;
        let status = answer.status;
        let retry_after =
            answer.header("retry-after").and_then(|text| text.trim().parse().ok()).map(Duration::from_secs);
        let body = answer.read(CAP).await?;
        let body = serde_json::from_slice(&body).unwrap_or_default();
        Ok(Reply { status, body, retry_after: retry_after.map(|wait| wait.min(LONGEST_WAIT)) })
    };
    let outcome: Result<Reply, hermes_types::Fault> = match select(pin!(exchange), cx.clock.alarm(limit)).await {
        Either::Left((outcome, _)) => outcome,
        Either::Right(_) => {
            let what = format!("{host} did not answer within {} s", limit.as_secs());
            return Err(AuthError::new(provider, AuthCode::NoAnswer, what));
        }
    };
    match outcome {
        Ok(reply) if (300..400).contains(&reply.status) => {
            let what = format!("{host} answered with a redirect, and tokens do not follow redirects");
            Err(AuthError::new(provider, AuthCode::WrongHost, what))
        }
        Ok(reply) => Ok(reply),
        Err(fault) => {
            let code = if was_sent(fault.kind) { AuthCode::NoAnswer } else { AuthCode::Unreachable };
            Err(AuthError::new(provider, code, format!("{host}: {}", fault.message)))
        }
    }
}

/// Whether a request that failed below HTTP may have arrived.
fn was_sent(kind: FaultKind) -> bool {
    !matches!(kind, FaultKind::NoRoute | FaultKind::Unreachable | FaultKind::Tls)
}

/// Sends and expects success.
pub(super) async fn ask(cx: &AuthContext, provider: &str, call: Call, limit: Duration) -> Result<Object, AuthError> {
    let reply = send(cx, provider, call, limit).await?;
    if (200..300).contains(&reply.status) { Ok(reply.body) } else { Err(refusal(provider, &reply)) }
}

/// TLS, or a server on this machine.
pub(super) fn is_private_channel(url: &Url) -> bool {
    match url.scheme() {
        "https" => true,
        "http" => is_loopback(url),
        _ => false,
    }
}

pub(super) fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(url::Host::Domain(name)) => name == "localhost",
        Some(url::Host::Ipv4(address)) => address.is_loopback(),
        Some(url::Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    }
}

/// The server's word for what is wrong. Only words that look like codes: free text could repeat what we sent.
pub(super) fn error_word(body: &Object) -> Option<&str> {
    let error = body.get("error")?;
    let word = match error {
        Value::String(word) => word,
        Value::Object(inner) => ["code", "type"].iter().find_map(|key| inner.get(*key)?.as_str())?,
        _ => return None,
    };
    let is_code = word.len() <= 64 && word.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_');
    is_code.then_some(word)
}

/// What an unsuccessful answer means.
pub(super) fn refusal(provider: &str, reply: &Reply) -> AuthError {
    let word = error_word(&reply.body);
    let reason = word.unwrap_or("no reason given");
    let code = match (reply.status, word.and_then(DeadReason::parse), word) {
        (429, ..) => AuthCode::RateLimited,
        (_, Some(dead), _) => AuthCode::Dead(dead),
        (_, _, Some("access_denied")) => AuthCode::Denied,
        (_, _, Some("expired_token")) => AuthCode::Expired,
        (401 | 403, ..) | (_, _, Some("invalid_request")) => AuthCode::Refused,
        (500.., ..) => AuthCode::ServerError,
        _ => AuthCode::Malformed,
    };
    let what = match code {
        AuthCode::RateLimited => {
            "the login server asks us to wait; the login itself is fine. Try again in a minute".to_owned()
        }
        AuthCode::Denied => "the login was declined".to_owned(),
        AuthCode::Expired => "the login was not confirmed in time; start it again".to_owned(),
        _ => format!("the login server refused (HTTP {}, {reason})", reply.status),
    };
    AuthError::new(provider, code, what)
}

/// A text field that must be there.
pub(super) fn text<'a>(provider: &str, body: &'a Object, key: &str) -> Result<&'a str, AuthError> {
    body.get(key).and_then(Value::as_str).filter(|text| !text.is_empty()).ok_or_else(|| {
        AuthError::new(
            provider,
            AuthCode::Malformed,
            format!("the login server's answer has no `{key}`; try again later"),
        )
    })
}

/// A number of seconds, as a number or as text.
pub(super) fn seconds(body: &Object, key: &str) -> Option<Duration> {
    let value = body.get(key)?;
    let number = value.as_f64().or_else(|| value.as_str()?.trim().parse().ok())?;
    Duration::try_from_secs_f64(number).ok()
}

#[cfg(test)]
mod tests {
    use super::super::rehearsal::{Stage, answer};
    use super::*;
    use serde_json::json;

    fn url(text: &str) -> Url {
        Url::parse(text).expect("a URL")
    }

    #[tokio::test]
    async fn tokens_never_follow_a_redirect_or_leave_unencrypted() {
        let stage = Stage::new(|_| (307, json!({})));
        let call = |target: &str| form(url(target), &[("refresh_token", "r-secret")]);
        let redirected =
            send(&stage.cx, "nous", call("https://portal.test/token"), USUAL_LIMIT).await.err().expect("refused");
        assert_eq!((redirected.code, redirected.relogin_required), (AuthCode::WrongHost, false));
        let plain =
            send(&stage.cx, "nous", call("http://portal.test/token"), USUAL_LIMIT).await.err().expect("refused");
        assert_eq!(plain.code, AuthCode::WrongHost);
        assert_eq!(stage.calls().len(), 1);
    }

    #[test]
    fn each_refusal_means_something_else() {
        let cases = [
            (429, json!({"error": "invalid_grant"}), AuthCode::RateLimited, false),
            (400, json!({"error": "invalid_grant"}), AuthCode::Dead(DeadReason::InvalidGrant), true),
            (
                401,
                json!({"error": {"code": "refresh_token_reused"}}),
                AuthCode::Dead(DeadReason::RefreshTokenReused),
                true,
            ),
            (403, json!({}), AuthCode::Refused, false),
            (400, json!({"error": "invalid_request"}), AuthCode::Refused, false),
            (400, json!({"error": "access_denied"}), AuthCode::Denied, false),
            (503, json!({}), AuthCode::ServerError, false),
            (418, json!({"error": "Your token r-secret is bad"}), AuthCode::Malformed, false),
        ];
        for (status, body, code, relogin) in cases {
            let error = refusal("nous", &answer(status, &body));
            assert_eq!((error.code, error.relogin_required), (code, relogin), "{status} {body}");
            assert_eq!(error.message.contains("hermes auth add nous"), relogin, "{}", error.message);
            assert!(!error.message.contains("r-secret"), "{}", error.message);
        }
    }
}
