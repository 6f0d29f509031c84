//! Anthropic logins: an API key, our own login, or that of Claude Code.
//!
//! An API key is the plain way. A subscription login is used only when the person chose Anthropic, always under our own
//! name, and Claude Code's file is kept as that program left it, apart from the renewed token.

use super::error::{AuthCode, AuthError};
use super::exchange;
use super::pkce::Proof;
use super::provider_id::ANTHROPIC;
use super::row::AuthType;
use super::tokens::{self, Fresh};
use super::{AuthContext, Endpoints, moment};
use crate::secret::Secret;
use serde_json::json;
use std::time::Duration;
use url::Url;

const CLIENT_ID: &str = "9d1c250a-e61b-44d9-88ed-5944d1962f5e";
const SCOPES: &str = "org:create_api_key user:profile user:inference";
const LIMIT: Duration = Duration::from_secs(10);
/// How long a token lives when the server does not say.
const USUAL_LIFETIME: Duration = Duration::from_secs(3600);

/// What a secret for Anthropic's own hosts is, by its looks. Keys for other hosts are never logins.
pub fn shape(secret: &Secret) -> AuthType {
    let login =
        !secret.has_prefix("sk-ant-api") && ["sk-ant-", "eyJ", "cc-"].iter().any(|start| secret.has_prefix(start));
    if login { AuthType::OAuth } else { AuthType::ApiKey }
}

/// The page where the person logs in. It shows a code to paste into [`finish_login`].
pub fn authorize_url(endpoints: &Endpoints, proof: &Proof) -> Url {
    let mut url = endpoints.anthropic_authorize.clone();
    url.query_pairs_mut()
        .append_pair("code", "true")
        .append_pair("client_id", CLIENT_ID)
        .append_pair("response_type", "code")
        .append_pair("redirect_uri", endpoints.anthropic_redirect.as_str())
        .append_pair("scope", SCOPES)
        .append_pair("code_challenge", &proof.challenge())
        .append_pair("code_challenge_method", "S256")
        .append_pair("state", proof.state());
    url
}

/// Exchanges the pasted `code#state` and stores the login in our own file.
pub async fn finish_login(cx: &AuthContext, proof: &Proof, pasted: &str) -> Result<(), AuthError> {
    let bad = |what: &str| AuthError::new(ANTHROPIC, AuthCode::BadInput, what);
    let Some((code, state)) = pasted.trim().split_once('#') else {
        return Err(bad("the pasted text is not of the form code#state; copy the whole code from the page"));
    };
    if state != proof.state() {
        return Err(bad("the pasted code belongs to another login attempt; start again and paste the newest one"));
    }
    let body = json!({
        "grant_type": "authorization_code",
        "client_id": CLIENT_ID,
        "code": code,
        "state": state,
        "redirect_uri": cx.endpoints.anthropic_redirect.as_str(),
        "code_verifier": proof.verifier(),
    });
    let fresh = first_answer(cx, |url| exchange::json(url, &body)).await?;
    store(cx, &fresh).await
}

async fn store(cx: &AuthContext, fresh: &Fresh) -> Result<(), AuthError> {
    let broken = |error: super::StoreError| error.about(ANTHROPIC);
    let now = moment::now(&*cx.clock);
    let place = tokens::Place::HermesPkce(cx.paths.own_anthropic_file());
    {
        let store = place.guard(cx).await.map_err(broken)?;
        let locked = store.lock(&*cx.clock, LIMIT).await.map_err(broken)?;
        let previous = place.read(&locked).await.map_err(broken)?;
        place.write(&locked, &previous, fresh, now).await.map_err(broken)?;
    }
    let log_in = |document: &mut super::Document| {
        document.lift_suppression(ANTHROPIC);
        document.activate_first(ANTHROPIC);
    };
    cx.store().edit(&*cx.clock, log_in).await.map_err(broken)
}

pub(super) async fn refresh(cx: &AuthContext, refresh_token: &str) -> Result<Fresh, AuthError> {
    let fields = [("grant_type", "refresh_token"), ("refresh_token", refresh_token), ("client_id", CLIENT_ID)];
    first_answer(cx, |url| exchange::form(url, &fields)).await
}

/// Asks the token addresses in turn, as long as nothing was sent. A refresh token and a code work once: after an answer,
/// or a silence that may have been one, posting it again elsewhere could only burn it.
async fn first_answer(cx: &AuthContext, call: impl Fn(Url) -> crate::transport::Call) -> Result<Fresh, AuthError> {
    let mut last = AuthError::new(ANTHROPIC, AuthCode::Unreachable, "no token address is configured");
    for url in &cx.endpoints.anthropic_tokens {
        match exchange::ask(cx, ANTHROPIC, call(url.clone()), LIMIT).await {
            Ok(body) => {
                let fresh = Fresh::parse(ANTHROPIC, &body)?;
                return Ok(Fresh { lifetime: fresh.lifetime.or(Some(USUAL_LIFETIME)), ..fresh });
            }
            Err(error) if error.code == AuthCode::Unreachable => last = error,
            Err(error) => return Err(error),
        }
    }
    Err(last)
}

#[cfg(test)]
mod tests {
    use super::super::rehearsal::{self, START, Stage};
    use super::super::{Need, Renewal, renew};
    use super::*;
    use serde_json::Value;

    fn secret(text: &str) -> Secret {
        Secret::usable(text).expect("usable")
    }

    fn claude_file(access: &str, expires: i64) -> Value {
        json!({"claudeAiOauth": {"accessToken": access, "refreshToken": "r1", "expiresAt": expires * 1000,
            "scopes": ["user:inference"], "subscriptionType": "max"}, "mcpOAuth": {"x": 1}})
    }

    #[test]
    fn a_secret_is_known_by_its_looks() {
        for (text, kind) in [
            ("sk-ant-api03-abc", AuthType::ApiKey),
            ("sk-ant-oat01-abc", AuthType::OAuth),
            ("eyJhbGciOi", AuthType::OAuth),
            ("cc-abc", AuthType::OAuth),
            ("sk-proxy", AuthType::ApiKey),
        ] {
            assert_eq!(shape(&secret(text)), kind, "{text}");
        }
    }

    #[tokio::test]
    async fn claude_code_is_renewed_in_its_own_file_with_everything_else_kept() {
        let stage = Stage::new(|call| match call.url.contains("platform.claude.com") {
            true => rehearsal::UNREACHABLE,
            false => (200, json!({"access_token": "sk-ant-oat-new", "refresh_token": "r2"})),
        });
        stage.write("claude.json", &claude_file("sk-ant-oat-old", START + 30));
        let renewed = renew(Renewal::ClaudeCode, Need::Expiring, stage.cx.clone()).await.expect("renewed");
        assert!(renewed.secret.has_prefix("sk-ant-oat-new"));
        let mut expected = claude_file("sk-ant-oat-new", START + 3_600);
        expected["claudeAiOauth"]["refreshToken"] = json!("r2");
        assert_eq!(stage.read("claude.json"), expected);
        let asked: Vec<String> = stage.calls().into_iter().map(|call| call.url).collect();
        assert_eq!(
            asked,
            ["https://platform.claude.com/v1/oauth/token", "https://console.anthropic.com/v1/oauth/token"]
        );
    }

    /// The token may have been spent although no good answer came: it is not posted a second time.
    #[tokio::test]
    async fn a_refresh_token_is_not_posted_to_the_second_address_after_an_answer() {
        for status in [500, 403, 429] {
            let stage = Stage::new(move |_| (status, json!({})));
            let file = claude_file("sk-ant-oat-old", START + 30);
            stage.write("claude.json", &file);
            renew(Renewal::ClaudeCode, Need::Expiring, stage.cx.clone()).await.expect_err("no");
            assert_eq!((stage.calls().len(), stage.read("claude.json")), (1, file), "{status}");
        }
    }

    /// A login that was granted is not lost because the file for it is broken; what is broken is kept aside.
    #[tokio::test]
    async fn a_new_login_replaces_a_broken_file_and_keeps_it_aside() {
        let stage =
            Stage::new(|_| (200, json!({"access_token": "sk-ant-oat-1", "refresh_token": "r1", "expires_in": 60})));
        std::fs::create_dir_all(stage.home()).expect("a home");
        std::fs::write(stage.home().join(".anthropic_oauth.json"), "{\"accessToken\": ").expect("written");
        let proof = Proof::from_bytes([1; 32], [2; 32]);
        finish_login(&stage.cx, &proof, &format!("the-code#{}", proof.state())).await.expect("logged in");
        assert_eq!(stage.read("home/.anthropic_oauth.json")["refreshToken"], json!("r1"));
        let aside = std::fs::read_to_string(stage.home().join(".anthropic_oauth.json.corrupt")).expect("kept");
        assert_eq!(aside, "{\"accessToken\": ");
    }

    #[tokio::test]
    async fn another_programs_file_is_never_emptied_but_ours_is() {
        let stage = Stage::new(|_| (400, json!({"error": "invalid_grant"})));
        let file = claude_file("sk-ant-oat-old", START);
        stage.write("claude.json", &file);
        stage.write(
            "home/.anthropic_oauth.json",
            &json!({"accessToken": "sk-ant-oat-own", "refreshToken": "r", "expiresAt": 5}),
        );
        renew(Renewal::ClaudeCode, Need::Expiring, stage.cx.clone()).await.expect_err("dead");
        let error = renew(Renewal::HermesPkce, Need::Expiring, stage.cx.clone()).await.expect_err("dead");
        assert_eq!(stage.read("claude.json"), file);
        let ours = stage.read("home/.anthropic_oauth.json");
        assert_eq!(ours["last_auth_error"]["message"], json!(error.message));
        assert_eq!(ours.as_object().map(|all| all.len()), Some(1));
        assert_eq!(stage.calls().len(), 2, "a verdict on the token is not asked for twice");
    }

    #[tokio::test]
    async fn a_pasted_code_becomes_our_own_login() {
        let stage =
            Stage::new(|_| (200, json!({"access_token": "sk-ant-oat-1", "refresh_token": "r1", "expires_in": 60})));
        let proof = Proof::from_bytes([1; 32], [2; 32]);
        let page = authorize_url(&stage.cx.endpoints, &proof);
        let asked: Vec<(String, String)> = page.query_pairs().into_owned().collect();
        assert!(asked.contains(&("code_challenge".into(), proof.challenge())), "{asked:?}");
        assert!(asked.contains(&("state".into(), proof.state().into())), "{asked:?}");

        for wrong in ["code-only", "code#another-state"] {
            let error = finish_login(&stage.cx, &proof, wrong).await.expect_err("refused");
            assert_eq!(error.code, AuthCode::BadInput);
        }
        finish_login(&stage.cx, &proof, &format!(" the-code#{} \n", proof.state())).await.expect("logged in");
        let sent: Value = serde_json::from_str(&stage.calls()[0].body).expect("JSON");
        assert_eq!((&sent["code"], &sent["code_verifier"]), (&json!("the-code"), &json!(proof.verifier())));
        let record = json!({"accessToken": "sk-ant-oat-1", "refreshToken": "r1", "expiresAt": (START + 60) * 1000});
        assert_eq!(stage.read("home/.anthropic_oauth.json"), record);
        assert_eq!(stage.read("home/auth.json"), json!({"version": 1, "active_provider": "anthropic"}));
    }
}
