//! The ChatGPT login that Codex models are used with: a device code, then an exchange, then refreshes.
//!
//! The Codex program's own file is read when we have nothing of our own. It is never written, and its refresh token is
//! never spent: spending it would log that program out.

use super::device::{DevicePrompt, SLOWEST};
use super::error::{AuthCode, AuthError};
use super::exchange::{self, USUAL_LIMIT};
use super::provider_id::CODEX;
use super::tokens::{self, Fresh, Pair};
use super::{AuthContext, moment};
use serde_json::json;
use std::time::Duration;

const CLIENT_ID: &str = "app_EMoamEEZ73f0CkXaXp7hrann";
const STARTS: u32 = 4;
const LIFETIME: Duration = Duration::from_secs(15 * 60);
const FASTEST: Duration = Duration::from_secs(3);

/// Asks for a code to show to the person.
pub async fn start_login(cx: &AuthContext) -> Result<DevicePrompt, AuthError> {
    let url = &cx.endpoints.codex_user_code;
    let mut tried = 0;
    let reply = loop {
        tried += 1;
        let call = exchange::json(url.clone(), &json!({"client_id": CLIENT_ID}));
        let reply = exchange::send(cx, CODEX, call, USUAL_LIMIT).await?;
        if reply.status != 429 || tried == STARTS {
            break reply;
        }
        cx.clock.pause(reply.retry_after.unwrap_or(Duration::from_secs(2 * u64::from(tried)))).await;
    };
    if !(200..300).contains(&reply.status) {
        return Err(exchange::refusal(CODEX, &reply));
    }
    Ok(DevicePrompt {
        user_code: exchange::text(CODEX, &reply.body, "user_code")?.to_owned(),
        page: cx.endpoints.codex_page.clone(),
        page_with_code: None,
        lifetime: LIFETIME,
        device_code: exchange::text(CODEX, &reply.body, "device_auth_id")?.to_owned(),
        interval: exchange::seconds(&reply.body, "interval").unwrap_or_default().clamp(FASTEST, SLOWEST),
    })
}

/// Waits for the person, then stores the login.
pub async fn finish_login(cx: &AuthContext, prompt: &DevicePrompt) -> Result<(), AuthError> {
    let (code, verifier) = wait(cx, prompt).await?;
    let fields = [
        ("grant_type", "authorization_code"),
        ("code", &code),
        ("redirect_uri", cx.endpoints.codex_redirect.as_str()),
        ("client_id", CLIENT_ID),
        ("code_verifier", &verifier),
    ];
    let call = exchange::form(cx.endpoints.codex_token.clone(), &fields);
    let fresh = Fresh::parse(CODEX, &exchange::ask(cx, CODEX, call, USUAL_LIMIT).await?)?;
    store(cx, &fresh).await
}

/// While the person has not confirmed, the server answers 403 or 404.
async fn wait(cx: &AuthContext, prompt: &DevicePrompt) -> Result<(String, String), AuthError> {
    let start = cx.clock.elapsed();
    let body = json!({"device_auth_id": prompt.device_code, "user_code": prompt.user_code});
    while cx.clock.elapsed().saturating_sub(start) < prompt.lifetime {
        cx.clock.pause(prompt.interval).await;
        let call = exchange::json(cx.endpoints.codex_poll.clone(), &body);
        match exchange::send(cx, CODEX, call, USUAL_LIMIT).await {
            Ok(reply) if (200..300).contains(&reply.status) => {
                let field = |key| exchange::text(CODEX, &reply.body, key).map(str::to_owned);
                return Ok((field("authorization_code")?, field("code_verifier")?));
            }
            Ok(reply) if matches!(reply.status, 403 | 404 | 429 | 500..) => {}
            Ok(reply) => return Err(exchange::refusal(CODEX, &reply)),
            Err(error) if error.code.is_network() => {}
            Err(error) => return Err(error),
        }
    }
    Err(AuthError::new(CODEX, AuthCode::Expired, "nobody confirmed the login in time; start it again"))
}

/// A new login renews the main row, and those rows a person added that held the previous token.
async fn store(cx: &AuthContext, fresh: &Fresh) -> Result<(), AuthError> {
    let now = moment::now(&*cx.clock);
    let log_in = |document: &mut super::Document| {
        let previous = document.state(CODEX).map(|state| Pair::of_state(CODEX, state)).unwrap_or_default();
        tokens::spread(document, CODEX, &previous, fresh, now);
        document.edit_state(CODEX, |state| {
            tokens::put_into_state(CODEX, state, fresh, now);
            state.insert("auth_mode".into(), json!("chatgpt"));
        });
        tokens::put_device_row(document, CODEX, fresh, now);
        document.lift_suppression(CODEX);
        document.activate_first(CODEX);
    };
    cx.store().edit(&*cx.clock, log_in).await.map_err(|error| error.about(CODEX))
}

pub(super) async fn refresh(cx: &AuthContext, refresh_token: &str) -> Result<Fresh, AuthError> {
    let fields = [("grant_type", "refresh_token"), ("refresh_token", refresh_token), ("client_id", CLIENT_ID)];
    let call = exchange::form(cx.endpoints.codex_token.clone(), &fields);
    Fresh::parse(CODEX, &exchange::ask(cx, CODEX, call, USUAL_LIMIT).await?)
}

#[cfg(test)]
mod tests {
    use super::super::rehearsal::{Stage, start};
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};

    #[tokio::test]
    async fn a_device_login_ends_in_the_store() {
        let asked = AtomicUsize::new(0);
        let stage = Stage::new(move |call| {
            let count = asked.fetch_add(1, Ordering::SeqCst);
            match call.url.as_str() {
                "https://auth.openai.com/api/accounts/deviceauth/usercode" if count == 0 => (429, json!({})),
                "https://auth.openai.com/api/accounts/deviceauth/usercode" => {
                    (200, json!({"user_code": "AB-CD", "device_auth_id": "dev-1", "interval": "1"}))
                }
                "https://auth.openai.com/api/accounts/deviceauth/token" if count < 4 => (403, json!({})),
                "https://auth.openai.com/api/accounts/deviceauth/token" => {
                    (200, json!({"authorization_code": "code-1", "code_verifier": "v-1"}))
                }
                _ => (200, json!({"access_token": "opaque-new", "refresh_token": "r-new"})),
            }
        });
        stage.write(
            "home/auth.json",
            &json!({"active_provider": "groq", "suppressed_sources": {"openai-codex": ["device_code"]},
            "credential_pool": {"openai-codex": [
                {"id": "1", "source": "device_code", "auth_type": "oauth", "last_status": "dead"},
                {"id": "2", "source": "manual:device_code", "auth_type": "oauth", "refresh_token": "r-other"}]}}),
        );
        let prompt = start_login(&stage.cx).await.expect("a code");
        assert_eq!((prompt.user_code.as_str(), prompt.interval), ("AB-CD", Duration::from_secs(3)));
        assert!(!format!("{prompt:?}").contains("dev-1"));
        finish_login(&stage.cx, &prompt).await.expect("logged in");

        let exchange = stage.calls().pop().expect("a call");
        assert_eq!(exchange.url, "https://auth.openai.com/oauth/token");
        assert!(
            exchange.body.contains("code=code-1") && exchange.body.contains("code_verifier=v-1"),
            "{}",
            exchange.body
        );
        let now = start() + Duration::from_secs(2 + 3 * 3);
        assert_eq!(
            stage.read("home/auth.json"),
            json!({"version": 1, "active_provider": "groq", "suppressed_sources": {},
                "credential_pool": {"openai-codex": [
                    {"id": "1", "source": "device_code", "auth_type": "oauth", "access_token": "opaque-new",
                     "refresh_token": "r-new", "last_refresh": now.to_string()},
                    {"id": "2", "source": "manual:device_code", "auth_type": "oauth", "refresh_token": "r-other"}]},
                "providers": {"openai-codex": {"tokens": {"access_token": "opaque-new", "refresh_token": "r-new"},
                    "last_refresh": now.to_string(), "auth_mode": "chatgpt"}}})
        );
    }

    #[tokio::test]
    async fn nobody_waits_for_ever() {
        let stage = Stage::new(|call| match call.url.ends_with("usercode") {
            true => (200, json!({"user_code": "AB", "device_auth_id": "d"})),
            false => (404, json!({})),
        });
        let prompt = start_login(&stage.cx).await.expect("a code");
        let error = finish_login(&stage.cx, &prompt).await.expect_err("too late");
        assert_eq!((error.code, stage.calls().len()), (AuthCode::Expired, 1 + 300));
    }
}
