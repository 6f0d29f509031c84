//! The login servers talk like the vendors and let a refresh token work once.

use crate::client::{Answer, Client};
use hermes_core::clock::Clock;
use hermes_testkit::{FakeClock, OAuthServer, OAuthStep, START, Vendor, jwt};
use serde_json::{Value, json};
use std::time::Duration;

const DEVICE_GRANT: &str = "urn:ietf:params:oauth:grant-type:device_code";
const NOUS_TOKEN: &str = "/api/oauth/token";
const CODEX_CLIENT: &str = "app_EMoamEEZ73f0CkXaXp7hrann";
const ANTHROPIC_CLIENT: &str = "9d1c250a-e61b-44d9-88ed-5944d1962f5e";
const COPILOT_CLIENT: &str = "Iv1.b507a08c87ecfe98";

async fn form(server: &OAuthServer, path: &str, headers: &[(&str, &str)], fields: &[(&str, &str)]) -> Answer {
    let body = url::form_urlencoded::Serializer::new(String::new()).extend_pairs(fields).finish();
    let mut client = Client::connect(&server.root_url()).await;
    client.send("POST", path, headers, &body).await;
    client.answer().await
}

async fn json_post(server: &OAuthServer, path: &str, body: Value) -> Answer {
    Client::connect(&server.root_url()).await.post(path, &body).await
}

fn error_of(answer: &Answer) -> (u16, String) {
    (answer.status(), answer.json()["error"].as_str().unwrap_or_default().to_owned())
}

#[tokio::test]
async fn nous_device_login_and_refresh() {
    let (server, clock) = (OAuthServer::start().await, FakeClock::new());
    server.attach_clock(&clock);
    server.slow_down(1);
    server.pending(1);
    server.inference_url("http://127.0.0.1:9/v1");
    clock.advance(Duration::from_secs(10));
    let client = ("client_id", "hermes-cli");
    let code = form(&server, "/api/oauth/device/code", &[], &[client, ("scope", "inference:invoke")]).await.json();
    assert_eq!((&code["user_code"], &code["interval"]), (&json!("ABCD-1234"), &json!(5)));
    let device = code["device_code"].as_str().expect("a code").to_owned();
    let poll = async || {
        form(&server, NOUS_TOKEN, &[], &[client, ("grant_type", DEVICE_GRANT), ("device_code", &device)]).await
    };
    assert_eq!(error_of(&poll().await), (400, "slow_down".into()));
    assert_eq!(error_of(&poll().await), (400, "authorization_pending".into()));
    let tokens = poll().await.json();
    assert_eq!((&tokens["expires_in"], &tokens["inference_base_url"]), (&json!(3600), &json!("http://127.0.0.1:9/v1")));
    let claims =
        json!({"jti": "token-2", "sub": "user", "iat": START + 10, "exp": START + 3610, "scope": "inference:invoke"});
    assert_eq!(tokens["access_token"], jwt(&claims));
    assert_eq!(error_of(&poll().await), (400, "expired_token".into()), "a device code works once");

    let refresh = tokens["refresh_token"].as_str().expect("a token").to_owned();
    let grant = [client, ("grant_type", "refresh_token")];
    let renew = async || form(&server, NOUS_TOKEN, &[("x-nous-refresh-token", &refresh)], &grant).await;
    assert_ne!(renew().await.json()["refresh_token"], refresh.as_str());
    assert_eq!(error_of(&renew().await), (400, "invalid_grant".into()));
    let headerless = form(&server, NOUS_TOKEN, &[], &grant).await;
    assert_eq!(error_of(&headerless), (400, "invalid_request".into()));
    assert_eq!(clock.pauses(), []);
    let address = server.root_url().replace("http://", "");
    let complaint = format!("request #7 POST {address}{NOUS_TOKEN}: the refresh token `{refresh}` was used before");
    assert_eq!(server.take_violations(), [complaint]);
}

#[tokio::test]
async fn codex_device_login_and_refresh() {
    let server = OAuthServer::start().await;
    server.pending(1);
    let code = json_post(&server, "/api/accounts/deviceauth/usercode", json!({"client_id": CODEX_CLIENT})).await.json();
    assert_eq!(code["interval"], "5", "a number in a string, as Codex does it");
    let question = json!({"device_auth_id": code["device_auth_id"], "user_code": code["user_code"]});
    let poll = async || json_post(&server, "/api/accounts/deviceauth/token", question.clone()).await;
    assert_eq!(poll().await.status(), 403);
    let agreed = poll().await.json();
    let text = |value: &Value| value.as_str().expect("text").to_owned();
    let (code, verifier) = (text(&agreed["authorization_code"]), text(&agreed["code_verifier"]));
    let exchange = async |verifier: &str| {
        let redirect = "https://auth.openai.com/deviceauth/callback";
        let fields = [
            ("grant_type", "authorization_code"),
            ("code", &code),
            ("code_verifier", verifier),
            ("redirect_uri", redirect),
            ("client_id", CODEX_CLIENT),
        ];
        form(&server, "/oauth/token", &[], &fields).await
    };
    let tokens = exchange(&verifier).await.json();
    assert_eq!(error_of(&exchange(&verifier).await), (400, "invalid_grant".into()), "a code works once");

    let refresh = text(&tokens["refresh_token"]);
    let grant = [("grant_type", "refresh_token"), ("refresh_token", &refresh), ("client_id", CODEX_CLIENT)];
    assert_eq!(form(&server, "/oauth/token", &[], &grant).await.status(), 200);
    server.allow_reuse();
    let reused = form(&server, "/oauth/token", &[], &grant).await;
    assert_eq!((reused.status(), &reused.json()["error"]["code"]), (401, &json!("refresh_token_reused")));
    server.finish();
}

#[tokio::test]
async fn anthropic_code_exchange_and_refresh() {
    let server = OAuthServer::start().await;
    // The pair of RFC 7636, appendix B.
    let (verifier, challenge) =
        ("dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk", "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM");
    let authorize = format!(
        "https://claude.ai/oauth/authorize?code=true&state=s1&code_challenge={challenge}&code_challenge_method=S256\
         &redirect_uri=https%3A%2F%2Fconsole.anthropic.com%2Foauth%2Fcode%2Fcallback"
    );
    let exchange = async |state: &str, verifier: &str| {
        let pasted = server.approve(&authorize);
        let code = pasted.strip_suffix("#s1").expect("the state comes along");
        let redirect = "https://console.anthropic.com/oauth/code/callback";
        let body = json!({"grant_type": "authorization_code", "code": code, "state": state, "client_id": ANTHROPIC_CLIENT,
            "code_verifier": verifier, "redirect_uri": redirect});
        json_post(&server, "/v1/oauth/token", body).await
    };
    assert_eq!(exchange("s1", "wrong").await.json()["error_description"], "code_verifier does not match");
    assert_eq!(exchange("s2", verifier).await.json()["error_description"], "state does not match");
    let tokens = exchange("s1", verifier).await.json();
    assert!(tokens["access_token"].as_str().is_some_and(|token| token.starts_with("sk-ant-oat01-")), "{tokens}");

    let refresh = tokens["refresh_token"].as_str().expect("a token").to_owned();
    let body = json!({"grant_type": "refresh_token", "refresh_token": refresh, "client_id": ANTHROPIC_CLIENT});
    let next = json_post(&server, "/v1/oauth/token", body).await.json()["refresh_token"].clone();
    let next = next.as_str().expect("a token");
    let grant = [("grant_type", "refresh_token"), ("refresh_token", next), ("client_id", ANTHROPIC_CLIENT)];
    assert_eq!(form(&server, "/v1/oauth/token", &[], &grant).await.status(), 200, "as a form too");
    server.finish();
}

#[tokio::test]
async fn copilot_device_login_and_token() {
    let (server, clock) = (OAuthServer::start().await, FakeClock::new());
    server.attach_clock(&clock);
    server.slow_down(1);
    server.inference_url("http://127.0.0.1:9");
    let (accept, client) = ([("accept", "application/json")], ("client_id", COPILOT_CLIENT));
    let code = form(&server, "/login/device/code", &accept, &[client, ("scope", "read:user")]).await.json();
    let device = code["device_code"].as_str().expect("a code").to_owned();
    let fields = [client, ("grant_type", DEVICE_GRANT), ("device_code", &device)];
    let poll = async |headers: &[(&str, &str)]| form(&server, "/login/oauth/access_token", headers, &fields).await;
    assert_eq!(error_of(&poll(&accept).await), (200, "slow_down".into()));
    assert_eq!(
        poll(&[]).await.text(),
        "access_token=gho_rehearsal-2&token_type=bearer&scope=read%3Auser",
        "GitHub speaks in forms unless asked for JSON"
    );

    let exchange = async |authorization: &str| {
        let mut client = Client::connect(&server.root_url()).await;
        client.send("GET", "/copilot_internal/v2/token", &[("authorization", authorization)], "").await;
        client.answer().await
    };
    let token = exchange("token gho_rehearsal-2").await.json();
    let expires = clock.now().duration_since(std::time::UNIX_EPOCH).expect("after 1970").as_secs() + 3600;
    assert_eq!((&token["endpoints"]["api"], &token["expires_at"]), (&json!("http://127.0.0.1:9"), &json!(expires)));
    assert_eq!(exchange("token gho_other").await.status(), 401);
    server.finish();
}

#[tokio::test]
async fn failures_are_scripted_and_stored_logins_can_be_issued() {
    let server = OAuthServer::start().await;
    server.fail(OAuthStep::Refresh, 429, json!({"error": "rate_limited"}));
    server.lifetime(Duration::from_secs(60));
    let stored = server.issue_refresh_token(Vendor::Codex);
    let grant = [("grant_type", "refresh_token"), ("refresh_token", &stored), ("client_id", CODEX_CLIENT)];
    assert_eq!(error_of(&form(&server, "/oauth/token", &[], &grant).await), (429, "rate_limited".into()));
    let renewed = form(&server, "/oauth/token", &[], &grant).await.json();
    assert_eq!(renewed["expires_in"], 60, "a failure does not use the token up");
    assert_eq!(server.requests()[1].form()[1], ("refresh_token".to_owned(), stored.clone()));

    let device = json_post(&server, "/api/oauth/device/code", json!({"client_id": "hermes-cli"})).await.json();
    server.refuse("access_denied");
    let poll = json!({"grant_type": DEVICE_GRANT, "device_code": device["device_code"], "client_id": "hermes-cli"});
    assert_eq!(error_of(&json_post(&server, NOUS_TOKEN, poll).await), (400, "access_denied".into()));
}

#[tokio::test]
async fn strangers_are_reported() {
    let server = OAuthServer::start().await;
    json_post(&server, "/api/oauth/device/code", json!({"client_id": "somebody"})).await;
    json_post(&server, "/nowhere", json!({})).await;
    let stored = server.issue_refresh_token(Vendor::Nous);
    let body = json!({"grant_type": "refresh_token", "refresh_token": stored, "client_id": ANTHROPIC_CLIENT});
    assert_eq!(json_post(&server, "/v1/oauth/token", body).await.status(), 400);
    let address = server.root_url().replace("http://", "");
    assert_eq!(
        server.take_violations(),
        [
            format!("request #1 POST {address}/api/oauth/device/code: client_id is `somebody`, not `hermes-cli`"),
            format!("request #2 POST {address}/nowhere: no vendor has this endpoint"),
            format!(
                "request #3 POST {address}/v1/oauth/token: the refresh token `{stored}` belongs to Nous, not to Anthropic"
            ),
        ]
    );
}
