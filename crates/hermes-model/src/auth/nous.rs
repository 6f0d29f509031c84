//! The Nous Portal login. Its access token is a JWT that is itself the key for inference.

use super::device::{self, DevicePrompt, Pace};
use super::error::{AuthCode, AuthError};
use super::exchange::{self, USUAL_LIMIT};
use super::jwt::Claims;
use super::provider_id::NOUS;
use super::tokens::{self, Fresh, Pair};
use super::{AuthContext, Endpoints, moment};
use crate::secret::{Origin, Secret};
use jiff::Timestamp;
use serde_json::json;
use std::time::Duration;
use url::Url;

const CLIENT_ID: &str = "hermes-cli";
const SCOPE: &str = "inference:invoke";
const GRANT: &str = "urn:ietf:params:oauth:grant-type:device_code";
const PORTAL_HOST: &str = "portal.nousresearch.com";
const INFERENCE_HOST: &str = "inference-api.nousresearch.com";
/// A token that ends sooner is not worth starting a request with.
const SHORTEST_LIFE: Duration = Duration::from_secs(120);

pub async fn start_login(cx: &AuthContext) -> Result<DevicePrompt, AuthError> {
    let url = address(&cx.endpoints.nous_portal, "api/oauth/device/code");
    let call = exchange::form(url, &[("client_id", CLIENT_ID), ("scope", SCOPE)]);
    DevicePrompt::parse(NOUS, &exchange::ask(cx, NOUS, call, USUAL_LIMIT).await?)
}

/// Waits for the person, then stores the login.
pub async fn finish_login(cx: &AuthContext, prompt: &DevicePrompt) -> Result<(), AuthError> {
    let url = address(&cx.endpoints.nous_portal, "api/oauth/token");
    let fields = [("grant_type", GRANT), ("client_id", CLIENT_ID), ("device_code", prompt.device_code.as_str())];
    let second = Duration::from_secs(1);
    let pace = Pace {
        interval: prompt.interval.clamp(Duration::from_millis(200), second),
        step: second,
        slowest: Duration::from_secs(30),
        limit: prompt.lifetime,
    };
    let body = device::poll(cx, NOUS, || exchange::form(url.clone(), &fields), pace).await?;
    let fresh = Fresh::parse(NOUS, &body)?;
    let now = moment::now(&*cx.clock);
    check(&fresh.access, now)?;
    let inference = body.get("inference_base_url").and_then(|url| url.as_str());
    let inference = inference_url(inference, &cx.endpoints).to_string();
    let log_in = |document: &mut super::Document| {
        let previous = document.state(NOUS).map(|state| Pair::of_state(NOUS, state)).unwrap_or_default();
        tokens::spread(document, NOUS, &previous, &fresh, now);
        document.edit_state(NOUS, |state| {
            state.insert("portal_base_url".into(), json!(base(&cx.endpoints.nous_portal)));
            state.insert("inference_base_url".into(), json!(inference.trim_end_matches('/')));
            state.insert("client_id".into(), json!(CLIENT_ID));
            state.insert("scope".into(), json!(SCOPE));
            state.insert("token_type".into(), json!("Bearer"));
            tokens::put_into_state(NOUS, state, &fresh, now);
        });
        tokens::put_device_row(document, NOUS, &fresh, now);
        document.lift_suppression(NOUS);
        document.activate_first(NOUS);
    };
    cx.store().edit(&*cx.clock, log_in).await.map_err(|error| error.about(NOUS))
}

pub(super) async fn refresh(cx: &AuthContext, pair: &Pair, refresh_token: &str) -> Result<Fresh, AuthError> {
    let url = address(&portal(pair.portal.as_deref(), &cx.endpoints), "api/oauth/token");
    let client_id = pair.client_id.as_deref().unwrap_or(CLIENT_ID);
    let mut call = exchange::form(url.clone(), &[("grant_type", "refresh_token"), ("client_id", client_id)]);
    let token = Secret::usable(refresh_token)
        .ok_or_else(|| AuthError::new(NOUS, AuthCode::NotLoggedIn, "the stored refresh token is not usable"))?;
    call.secret_headers.push(("x-nous-refresh-token".into(), token.bind([Origin::of(&url)])));
    Fresh::parse(NOUS, &exchange::ask(cx, NOUS, call, USUAL_LIMIT).await?)
}

/// The token must be good for inference, and for long enough.
pub(super) fn check(access: &str, now: Timestamp) -> Result<(), AuthError> {
    let problem = match Claims::of(access) {
        None => "it is not a JWT",
        Some(claims) if !claims.has_scope(SCOPE) => "it does not allow inference",
        Some(claims) if claims.expires_at().is_none_or(|end| end <= moment::later(now, SHORTEST_LIFE)) => {
            "it ends too soon"
        }
        Some(_) => return Ok(()),
    };
    Err(AuthError::new(NOUS, AuthCode::UnsupportedToken, format!("the portal's token cannot be used: {problem}")))
}

/// The portal a login was made at, if it is one we send tokens to; else the configured one.
fn portal(stored: Option<&str>, endpoints: &Endpoints) -> Url {
    let known = |url: &Url| {
        let ours = url.host_str() == Some(PORTAL_HOST) && url.scheme() == "https";
        ours || (exchange::is_loopback(url) && exchange::is_private_channel(url))
    };
    trusted(stored, &endpoints.nous_portal, known)
}

/// Where a login's token is used: Nous' own host over TLS, or what the person configured.
pub fn inference_url(stored: Option<&str>, endpoints: &Endpoints) -> Url {
    let known = |url: &Url| url.host_str() == Some(INFERENCE_HOST) && url.scheme() == "https";
    trusted(stored, &endpoints.nous_inference, known)
}

/// What is written in a file could have been written by anyone; what the person configured is trusted.
fn trusted(stored: Option<&str>, configured: &Url, known: impl Fn(&Url) -> bool) -> Url {
    let stored = stored.and_then(|text| Url::parse(text).ok());
    stored.filter(|url| known(url) || Origin::of(url) == Origin::of(configured)).unwrap_or_else(|| configured.clone())
}

fn address(portal: &Url, path: &str) -> Url {
    let mut url = portal.clone();
    url.set_path(&format!("{}/{path}", portal.path().trim_end_matches('/')));
    url
}

fn base(url: &Url) -> &str {
    url.as_str().trim_end_matches('/')
}

#[cfg(test)]
mod tests {
    use super::super::jwt;
    use super::super::rehearsal::{START, Stage, start};
    use super::*;
    use hermes_core::clock::Clock;
    use serde_json::Value;
    use std::sync::atomic::{AtomicUsize, Ordering};

    fn device_answer() -> Value {
        json!({"device_code": "dev-1", "user_code": "WXYZ", "verification_uri": "https://portal.nousresearch.com/device",
            "verification_uri_complete": "https://portal.nousresearch.com/device?code=WXYZ", "expires_in": 600, "interval": 5})
    }

    #[tokio::test]
    async fn a_device_login_slows_down_when_asked_and_ends_in_the_store() {
        let token = jwt::token(&json!({"exp": START + 900, "scope": "inference:invoke"}));
        let granted = json!({"access_token": token, "refresh_token": "r1-nous", "expires_in": 900,
            "inference_base_url": "https://collector.evil.test/v1"});
        let asked = AtomicUsize::new(0);
        let stage =
            Stage::new(move |call| match (call.url.ends_with("/device/code"), asked.fetch_add(1, Ordering::SeqCst)) {
                (true, _) => (200, device_answer()),
                (_, 1) => (400, json!({"error": "authorization_pending"})),
                (_, 2) => (400, json!({"error": "slow_down"})),
                _ => (200, granted.clone()),
            });
        let prompt = start_login(&stage.cx).await.expect("a code");
        assert_eq!(prompt.page_with_code.as_ref().and_then(|url| url.query()), Some("code=WXYZ"));
        finish_login(&stage.cx, &prompt).await.expect("logged in");
        assert_eq!(stage.clock.elapsed(), Duration::from_secs(1 + 1 + 2));

        let state = &stage.read("home/auth.json")["providers"]["nous"];
        let end = Timestamp::from_second(START + 900).expect("a time");
        let expected = json!({"portal_base_url": "https://portal.nousresearch.com",
            "inference_base_url": "https://inference-api.nousresearch.com/v1", "client_id": "hermes-cli",
            "scope": "inference:invoke", "token_type": "Bearer", "access_token": token, "refresh_token": "r1-nous",
            "obtained_at": (start() + Duration::from_secs(4)).to_string(), "expires_at": end.to_string(), "expires_in": 896});
        assert_eq!(state, &expected);
    }

    #[tokio::test]
    async fn a_declined_login_says_so() {
        let stage = Stage::new(|call| match call.url.ends_with("/device/code") {
            true => (200, device_answer()),
            false => (400, json!({"error": "access_denied"})),
        });
        let prompt = start_login(&stage.cx).await.expect("a code");
        assert_eq!(finish_login(&stage.cx, &prompt).await.expect_err("declined").code, AuthCode::Denied);
    }

    #[test]
    fn a_token_must_be_good_for_inference_for_a_while() {
        let token = |claims: Value| jwt::token(&claims);
        assert_eq!(check(&token(json!({"exp": START + 121, "scope": "a inference:invoke"})), start()), Ok(()));
        for bad in [
            "opaque".to_owned(),
            token(json!({"exp": START + 120, "scope": "inference:invoke"})),
            token(json!({"scope": "inference:invoke"})),
            token(json!({"exp": START + 999, "scope": "inference"})),
        ] {
            assert!(check(&bad, start()).is_err(), "{bad}");
        }
    }

    #[test]
    fn stored_addresses_are_believed_only_where_they_belong() {
        let usual = Endpoints::default();
        let configured = Endpoints { nous_portal: Url::parse("https://staging.test").expect("a URL"), ..usual.clone() };
        for (stored, expected) in [
            ("https://portal.nousresearch.com", "https://portal.nousresearch.com/"),
            ("http://localhost:3000", "http://localhost:3000/"),
            ("http://portal.nousresearch.com", "https://staging.test/"),
            ("https://portal.nousresearch.com.evil.test", "https://staging.test/"),
            ("https://staging.test/", "https://staging.test/"),
            ("nonsense", "https://staging.test/"),
        ] {
            assert_eq!(portal(Some(stored), &configured).as_str(), expected, "{stored}");
        }
        for stored in ["http://inference-api.nousresearch.com/v2", "https://localhost/v1", "https://evil.test"] {
            assert_eq!(inference_url(Some(stored), &usual), usual.nous_inference, "{stored}");
        }
        let moved = "https://inference-api.nousresearch.com/v2";
        assert_eq!(inference_url(Some(moved), &usual).as_str(), moved);
    }
}
