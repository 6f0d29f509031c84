//! GitHub Copilot: a GitHub token buys a session of half an hour.
//!
//! Sessions are kept in memory only. When GitHub refuses the exchange, a token that the person stored for Copilot is tried
//! itself: some plans accept it directly. A token that lies around for other purposes (`GITHUB_TOKEN`) never travels.

use super::device::{self, DevicePrompt, Pace};
use super::error::{AuthCode, AuthError};
use super::exchange::{self, USUAL_LIMIT};
use super::provider_id::COPILOT;
use super::renew::{Need, Renewed};
use super::{AuthContext, moment};
use crate::secret::{Origin, Secret, host_matches};
use crate::transport::Call;
use crate::wire::AuthHeader;
use hermes_types::Object;
use secrecy::SecretString;
use serde_json::Value;
use std::collections::HashMap;
use std::sync::Mutex;
use std::time::Duration;
use url::Url;

const CLIENT_ID: &str = "Iv1.b507a08c87ecfe98";
const GRANT: &str = "urn:ietf:params:oauth:grant-type:device_code";
const LOGIN_LIMIT: Duration = Duration::from_secs(300);
pub(super) const SKEW: Duration = Duration::from_secs(120);
const MOST_SESSIONS: usize = 32;

/// Sessions by the fingerprint of the GitHub token they came from.
#[derive(Default)]
pub(super) struct Cache(Mutex<HashMap<String, Renewed>>);

pub async fn start_login(cx: &AuthContext) -> Result<DevicePrompt, AuthError> {
    let call = exchange::form(cx.endpoints.github_device.clone(), &[("client_id", CLIENT_ID), ("scope", "read:user")]);
    DevicePrompt::parse(COPILOT, &exchange::ask(cx, COPILOT, call, USUAL_LIMIT).await?)
}

/// Waits for the person. The GitHub token is for the caller to keep (`COPILOT_GITHUB_TOKEN`).
pub async fn finish_login(cx: &AuthContext, prompt: &DevicePrompt) -> Result<SecretString, AuthError> {
    let url = &cx.endpoints.github_token;
    let fields = [("client_id", CLIENT_ID), ("device_code", prompt.device_code.as_str()), ("grant_type", GRANT)];
    let pace = Pace {
        interval: prompt.interval.saturating_add(Duration::from_secs(3)),
        step: Duration::from_secs(5),
        slowest: Duration::from_secs(60),
        limit: LOGIN_LIMIT.min(prompt.lifetime),
    };
    let body = device::poll(cx, COPILOT, || exchange::form(url.clone(), &fields), pace).await?;
    exchange::text(COPILOT, &body, "access_token").map(SecretString::from)
}

/// Copilot does not take classic personal access tokens.
pub fn check_github_token(github: &Secret) -> Result<(), AuthError> {
    if github.has_prefix("ghp_") {
        let what = "a classic personal access token (ghp_…) does not work here; run hermes auth add copilot, or use a \
                    fine-grained token with the Copilot permission";
        return Err(AuthError::new(COPILOT, AuthCode::UnsupportedToken, what));
    }
    Ok(())
}

/// What is done with a token that buys no session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum IfRefused {
    /// It was stored for Copilot, so it may be shown there itself.
    TryTheToken,
    GiveUp,
}

pub(super) async fn session(
    cx: &AuthContext,
    github: &Secret,
    need: &Need,
    if_refused: IfRefused,
) -> Result<Renewed, AuthError> {
    check_github_token(github)?;
    let name = github.fingerprint();
    let now = moment::now(&*cx.clock);
    if let Some(session) = cx.copilot.get(&name) {
        let lives = session.expires_at.is_some_and(|end| moment::later(now, SKEW) < end);
        let refused = matches!(need, Need::Refused { fingerprint } if *fingerprint == session.secret.fingerprint());
        if lives && !refused {
            return Ok(session);
        }
    }
    match buy(cx, github).await {
        Ok(session) => {
            cx.copilot.put(name, session.clone());
            Ok(session)
        }
        Err(error) if error.code == AuthCode::WrongHost || if_refused == IfRefused::GiveUp => Err(error),
        // The token at hand was refused and nothing else can be had.
        Err(error) if matches!(need, Need::Refused { fingerprint } if *fingerprint == name) => Err(error),
        Err(_) => {
            let base_url = Some(cx.endpoints.copilot_api.clone());
            Ok(Renewed { secret: github.clone(), expires_at: None, base_url })
        }
    }
}

async fn buy(cx: &AuthContext, github: &Secret) -> Result<Renewed, AuthError> {
    let url = cx.endpoints.copilot_exchange.clone();
    let malformed = |what: &str| AuthError::new(COPILOT, AuthCode::Malformed, what);
    let here = [Origin::of(&url)];
    let mut call = Call::get(url);
    call.credential = Some((AuthHeader::Token, github.clone().bind(here)));
    let body = exchange::ask(cx, COPILOT, call, USUAL_LIMIT).await?;
    let token = exchange::text(COPILOT, &body, "token")?;
    Ok(Renewed {
        base_url: Some(base_url(token, &body, &cx.endpoints.copilot_api)),
        secret: Secret::usable(token).ok_or_else(|| malformed("GitHub handed out a token that cannot be one"))?,
        expires_at: body.get("expires_at").and_then(moment::parse),
    })
}

/// Where the session is used: as the answer says, else as the token says, else the usual place. An answer cannot send
/// the session to a host that is not GitHub's.
fn base_url(token: &str, body: &Object, usual: &Url) -> Url {
    let stated = body.get("endpoints").and_then(|all| all.get("api")).and_then(Value::as_str).map(str::to_owned);
    let proxy = token.split(';').find_map(|part| part.trim().strip_prefix("proxy-ep="));
    let derived = proxy.map(|host| {
        let host = host.trim_start_matches("https://").trim_end_matches('/');
        format!("https://{}", host.strip_prefix("proxy.").map_or(host.to_owned(), |rest| format!("api.{rest}")))
    });
    let github = |url: &Url| {
        url.scheme() == "https" && ["githubcopilot.com", "ghe.com"].iter().any(|host| host_matches(url, host))
    };
    [stated, derived]
        .into_iter()
        .flatten()
        .filter_map(|text| Url::parse(&text).ok())
        .find(|url| github(url) || Origin::of(url) == Origin::of(usual))
        .unwrap_or_else(|| usual.clone())
}

impl Cache {
    fn get(&self, name: &str) -> Option<Renewed> {
        self.0.lock().ok()?.get(name).cloned()
    }

    fn put(&self, name: String, session: Renewed) {
        if let Ok(mut sessions) = self.0.lock() {
            if sessions.len() >= MOST_SESSIONS {
                sessions.clear();
            }
            sessions.insert(name, session);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::rehearsal::{START, Stage};
    use super::*;
    use hermes_core::clock::Clock;
    use secrecy::ExposeSecret;
    use serde_json::json;
    use std::sync::atomic::{AtomicUsize, Ordering};

    fn github(text: &str) -> Secret {
        Secret::usable(text).expect("usable")
    }

    #[tokio::test]
    async fn a_session_is_bought_once_and_again_before_it_ends() {
        let sold = AtomicUsize::new(0);
        let stage = Stage::new(move |_| {
            let number = sold.fetch_add(1, Ordering::SeqCst);
            (
                200,
                json!({"token": format!("session-{number}"), "expires_at": START + 1_800,
                "endpoints": {"api": "https://api.individual.githubcopilot.com"}}),
            )
        });
        let token = github("gho_abc");
        let first = session(&stage.cx, &token, &Need::Expiring, IfRefused::TryTheToken).await.expect("a session");
        assert_eq!(first.base_url.as_ref().map(Url::as_str), Some("https://api.individual.githubcopilot.com/"));
        session(&stage.cx, &token, &Need::Expiring, IfRefused::TryTheToken).await.expect("the same");
        let call = &stage.calls()[0];
        assert!(call.headers.contains(&("authorization".into(), "token gho_abc".into())));
        assert_eq!(stage.calls().len(), 1);

        let need = Need::Refused { fingerprint: first.secret.fingerprint() };
        session(&stage.cx, &token, &need, IfRefused::TryTheToken).await.expect("a new one");
        stage.clock.pause(Duration::from_secs(1_700)).await;
        session(&stage.cx, &token, &Need::Expiring, IfRefused::TryTheToken).await.expect("a newer one");
        assert_eq!(stage.calls().len(), 3);
    }

    #[tokio::test]
    async fn without_a_session_the_github_token_is_tried_once() {
        let stage = Stage::new(|_| (404, json!({})));
        let token = github("gho_abc");
        let raw = session(&stage.cx, &token, &Need::Expiring, IfRefused::TryTheToken).await.expect("the token itself");
        assert_eq!(
            (raw.secret.fingerprint(), raw.base_url),
            (token.fingerprint(), Some(stage.cx.endpoints.copilot_api.clone()))
        );
        let need = Need::Refused { fingerprint: token.fingerprint() };
        assert!(session(&stage.cx, &token, &need, IfRefused::TryTheToken).await.is_err());
        assert!(session(&stage.cx, &token, &Need::Expiring, IfRefused::GiveUp).await.is_err(), "not every token may");
        let classic =
            session(&stage.cx, &github("ghp_abc"), &Need::Expiring, IfRefused::TryTheToken).await.expect_err("refused");
        assert_eq!((classic.code, stage.calls().len()), (AuthCode::UnsupportedToken, 3));
    }

    #[test]
    fn a_session_is_used_where_github_says_and_only_at_github() {
        let usual = Url::parse("https://api.githubcopilot.com").expect("a URL");
        let place = |token: &str, api: Option<&str>| {
            let body = json!({"endpoints": {"api": api}});
            base_url(token, body.as_object().expect("an object"), &usual).to_string()
        };
        let token = "tid=1;proxy-ep=proxy.business.githubcopilot.com;exp=2";
        assert_eq!(place("tid=1", None), "https://api.githubcopilot.com/");
        assert_eq!(place(token, None), "https://api.business.githubcopilot.com/");
        assert_eq!(
            place(token, Some("https://api.enterprise.githubcopilot.com")),
            "https://api.enterprise.githubcopilot.com/"
        );
        assert_eq!(place(token, Some("https://evil.test")), "https://api.business.githubcopilot.com/");
        assert_eq!(place("proxy-ep=proxy.evil.test", Some("http://api.githubcopilot.com.evil.test")), usual.as_str());
    }

    #[tokio::test]
    async fn a_device_login_returns_the_github_token() {
        let asked = AtomicUsize::new(0);
        let stage = Stage::new(move |call| match (call.url.as_str(), asked.fetch_add(1, Ordering::SeqCst)) {
            ("https://github.com/login/device/code", _) => (
                200,
                json!({"device_code": "d-1", "user_code": "U",
                "verification_uri": "https://github.com/login/device", "expires_in": 900, "interval": 5}),
            ),
            (_, 1) => (200, json!({"error": "authorization_pending"})),
            _ => (200, json!({"access_token": "gho_new"})),
        });
        let prompt = start_login(&stage.cx).await.expect("a code");
        let token = finish_login(&stage.cx, &prompt).await.expect("a token");
        assert_eq!((token.expose_secret(), stage.clock.elapsed()), ("gho_new", Duration::from_secs(16)));
    }
}
