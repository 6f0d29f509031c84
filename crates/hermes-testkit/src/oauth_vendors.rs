//! What each vendor's login endpoints say, in that vendor's words.
//!
//! The differences are the point: GitHub reports a pending login with status 200, Codex with 403 and without a reason,
//! Nous as the standard says; Codex counts its interval in a string; Copilot's token is no JWT.

use crate::http::Received;
use crate::oauth::{Code, Ledger, OAuthStep, Redeemed, Vendor, Verifier};
use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use std::collections::HashMap;

const DEVICE_GRANT: &str = "urn:ietf:params:oauth:grant-type:device_code";
const CODEX_REDIRECT: &str = "https://auth.openai.com/deviceauth/callback";
const DEVICE_CODE_LIFETIME: u64 = 900;
const POLL_INTERVAL: u64 = 5;

/// The endpoints by the end of their paths; the first that fits.
const ENDPOINTS: [(&str, &str, Vendor, Endpoint); 9] = [
    ("POST", "/api/oauth/device/code", Vendor::Nous, Endpoint::DeviceCode),
    ("POST", "/api/oauth/token", Vendor::Nous, Endpoint::Token),
    ("POST", "/api/accounts/deviceauth/usercode", Vendor::Codex, Endpoint::DeviceCode),
    ("POST", "/api/accounts/deviceauth/token", Vendor::Codex, Endpoint::Poll),
    ("POST", "/v1/oauth/token", Vendor::Anthropic, Endpoint::Token),
    ("POST", "/oauth/token", Vendor::Codex, Endpoint::Token),
    ("POST", "/login/device/code", Vendor::Copilot, Endpoint::DeviceCode),
    ("POST", "/login/oauth/access_token", Vendor::Copilot, Endpoint::Token),
    ("GET", "/copilot_internal/v2/token", Vendor::Copilot, Endpoint::CopilotToken),
];

#[derive(Debug, Clone, Copy)]
enum Endpoint {
    DeviceCode,
    /// Only asks; the tokens come elsewhere.
    Poll,
    /// What it does depends on the grant type.
    Token,
    CopilotToken,
}

pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) content_type: &'static str,
    pub(crate) body: String,
}

impl Reply {
    fn json(status: u16, body: &Value) -> Self {
        Self { status, content_type: "application/json", body: body.to_string() }
    }

    fn error(status: u16, error: &str, description: &str) -> Self {
        Self::json(status, &json!({"error": error, "error_description": description}))
    }
}

pub(crate) fn answer(ledger: &mut Ledger, request: &Received) -> Reply {
    let found = ENDPOINTS.iter().find(|(method, end, ..)| request.method == *method && request.path.ends_with(end));
    let Some((_, _, vendor, endpoint)) = found else {
        ledger.violate(request, "no vendor has this endpoint");
        return Reply::error(404, "not_found", "no such endpoint");
    };
    let fields = fields(request);
    let step = step(*endpoint, &fields);
    if let Some((status, body)) = step.and_then(|step| ledger.scripted_failure(step)) {
        return Reply::json(status, &body);
    }
    if let Some(complaint) = client_complaint(*vendor, step, &fields) {
        ledger.violate(request, &complaint);
    }
    let reply = match step {
        Some(OAuthStep::DeviceCode) => device_code(ledger, *vendor),
        Some(OAuthStep::Poll) => poll(ledger, *vendor, &fields),
        Some(OAuthStep::Exchange) => exchange(ledger, *vendor, &fields),
        Some(OAuthStep::Refresh) => refresh(ledger, *vendor, &fields, request),
        Some(OAuthStep::CopilotToken) => copilot_token(ledger, request),
        None => Reply::error(400, "unsupported_grant_type", "no such grant type"),
    };
    if *vendor == Vendor::Copilot { in_githubs_format(request, reply) } else { reply }
}

fn step(endpoint: Endpoint, fields: &HashMap<String, String>) -> Option<OAuthStep> {
    match (endpoint, fields.get("grant_type").map(String::as_str)) {
        (Endpoint::DeviceCode, _) => Some(OAuthStep::DeviceCode),
        (Endpoint::Poll, _) | (Endpoint::Token, Some(DEVICE_GRANT)) => Some(OAuthStep::Poll),
        (Endpoint::Token, Some("authorization_code")) => Some(OAuthStep::Exchange),
        (Endpoint::Token, Some("refresh_token")) => Some(OAuthStep::Refresh),
        (Endpoint::CopilotToken, _) => Some(OAuthStep::CopilotToken),
        (Endpoint::Token, _) => None,
    }
}

/// The fields of a form or of a JSON object.
fn fields(request: &Received) -> HashMap<String, String> {
    match &request.body {
        Some(Value::Object(object)) => {
            let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            object.iter().map(|(name, value)| (name.clone(), text(value))).collect()
        }
        _ => request.form().into_iter().collect(),
    }
}

fn client_complaint(vendor: Vendor, step: Option<OAuthStep>, fields: &HashMap<String, String>) -> Option<String> {
    // Codex asks by the id of the attempt, Copilot by a token: neither names the client again.
    let names_client = match step? {
        OAuthStep::CopilotToken => false,
        OAuthStep::Poll => vendor != Vendor::Codex,
        OAuthStep::DeviceCode | OAuthStep::Exchange | OAuthStep::Refresh => true,
    };
    let expected = match vendor {
        Vendor::Nous => "hermes-cli",
        Vendor::Codex => "app_EMoamEEZ73f0CkXaXp7hrann",
        Vendor::Anthropic => "9d1c250a-e61b-44d9-88ed-5944d1962f5e",
        Vendor::Copilot => "Iv1.b507a08c87ecfe98",
    };
    let given = fields.get("client_id").map_or("", String::as_str);
    (names_client && given != expected).then(|| format!("client_id is `{given}`, not `{expected}`"))
}

fn device_code(ledger: &mut Ledger, vendor: Vendor) -> Reply {
    let code = ledger.fresh("device");
    ledger.device_codes.insert(code.clone(), vendor);
    let body = match vendor {
        Vendor::Codex => {
            json!({"device_auth_id": code, "user_code": "ABCD-12345", "interval": POLL_INTERVAL.to_string()})
        }
        Vendor::Nous => json!({
            "device_code": code, "user_code": "ABCD-1234", "verification_uri": "https://portal.example/device",
            "verification_uri_complete": "https://portal.example/device?user_code=ABCD-1234",
            "expires_in": DEVICE_CODE_LIFETIME, "interval": POLL_INTERVAL,
        }),
        Vendor::Anthropic | Vendor::Copilot => json!({
            "device_code": code, "user_code": "ABCD-1234", "verification_uri": "https://github.example/login/device",
            "expires_in": DEVICE_CODE_LIFETIME, "interval": POLL_INTERVAL,
        }),
    };
    Reply::json(200, &body)
}

fn poll(ledger: &mut Ledger, vendor: Vendor, fields: &HashMap<String, String>) -> Reply {
    let name = if vendor == Vendor::Codex { "device_auth_id" } else { "device_code" };
    let code = fields.get(name).cloned().unwrap_or_default();
    if ledger.device_codes.get(&code) != Some(&vendor) {
        return not_yet(vendor, "expired_token");
    }
    if ledger.slow_downs > 0 {
        ledger.slow_downs -= 1;
        return not_yet(vendor, "slow_down");
    }
    if ledger.pending > 0 {
        ledger.pending -= 1;
        return not_yet(vendor, "authorization_pending");
    }
    if let Some(error) = &ledger.refusal {
        return not_yet(vendor, error);
    }
    ledger.device_codes.remove(&code);
    match vendor {
        Vendor::Codex => {
            let (code, verifier) = (ledger.fresh("code"), ledger.fresh("verifier"));
            let waiting = Code {
                verifier: Verifier::Exactly(verifier.clone()),
                state: None,
                redirect: Some(CODEX_REDIRECT.to_owned()),
            };
            ledger.codes.insert(code.clone(), waiting);
            let body = json!({"authorization_code": code, "code_verifier": verifier,
                "code_challenge": challenge(&verifier)});
            Reply::json(200, &body)
        }
        Vendor::Copilot => {
            let token = ledger.fresh("gho_rehearsal");
            ledger.github_tokens.push(token.clone());
            Reply::json(200, &json!({"access_token": token, "token_type": "bearer", "scope": "read:user"}))
        }
        Vendor::Nous | Vendor::Anthropic => tokens(ledger, vendor),
    }
}

fn not_yet(vendor: Vendor, error: &str) -> Reply {
    match vendor {
        Vendor::Codex => {
            let status = if error == "slow_down" { 429 } else { 403 };
            Reply::json(status, &json!({"error": {"message": error, "code": "deviceauth_authorization_unknown"}}))
        }
        Vendor::Copilot if error == "slow_down" => {
            Reply::json(200, &json!({"error": error, "error_description": "slow down", "interval": POLL_INTERVAL * 2}))
        }
        Vendor::Copilot => Reply::error(200, error, "the person has not agreed"),
        Vendor::Nous | Vendor::Anthropic => Reply::error(400, error, "the person has not agreed"),
    }
}

fn exchange(ledger: &mut Ledger, vendor: Vendor, fields: &HashMap<String, String>) -> Reply {
    let given = |name: &str| fields.get(name).map_or("", String::as_str);
    let Some(code) = ledger.codes.remove(given("code")) else {
        return Reply::error(400, "invalid_grant", "the code is unknown or was exchanged before");
    };
    let proven = match &code.verifier {
        Verifier::Exactly(verifier) => verifier == given("code_verifier"),
        Verifier::Hashed(hash) => *hash == challenge(given("code_verifier")),
    };
    let wrong = [
        (!proven, "code_verifier"),
        (code.state.is_some_and(|state| state != given("state")), "state"),
        (code.redirect.is_some_and(|redirect| redirect != given("redirect_uri")), "redirect_uri"),
    ];
    match wrong.into_iter().find(|(wrong, _)| *wrong) {
        Some((_, name)) => Reply::error(400, "invalid_grant", &format!("{name} does not match")),
        None => tokens(ledger, vendor),
    }
}

fn refresh(ledger: &mut Ledger, vendor: Vendor, fields: &HashMap<String, String>, request: &Received) -> Reply {
    let token = match vendor {
        Vendor::Nous => request.header("x-nous-refresh-token").map(str::to_owned),
        _ => fields.get("refresh_token").cloned(),
    };
    let Some(token) = token else {
        return Reply::error(400, "invalid_request", "the refresh token is missing");
    };
    match ledger.redeem(vendor, &token, request) {
        Redeemed::Fresh => tokens(ledger, vendor),
        Redeemed::Reused if vendor == Vendor::Codex => {
            let message = "Your refresh token has already been used to generate a new access token.";
            let error = json!({"message": message, "type": "invalid_request_error", "code": "refresh_token_reused"});
            Reply::json(401, &json!({"error": error}))
        }
        Redeemed::Reused | Redeemed::Unknown => Reply::error(400, "invalid_grant", "the refresh token is not valid"),
    }
}

fn tokens(ledger: &mut Ledger, vendor: Vendor) -> Reply {
    let (access, refresh) = (access_token(ledger, vendor), ledger.new_refresh_token(vendor));
    let mut body = json!({
        "token_type": "Bearer", "access_token": access, "refresh_token": refresh,
        "expires_in": ledger.lifetime.as_secs(), "scope": scope(vendor),
    });
    if vendor == Vendor::Codex {
        body["id_token"] = json!(jwt(&json!({"sub": "user", "email": "person@example.com"})));
    }
    if let Some(url) = ledger.inference_url.as_ref().filter(|_| vendor == Vendor::Nous) {
        body["inference_base_url"] = json!(url);
    }
    Reply::json(200, &body)
}

fn scope(vendor: Vendor) -> &'static str {
    match vendor {
        Vendor::Nous => "inference:invoke",
        Vendor::Codex => "openid profile email offline_access",
        Vendor::Anthropic => "org:create_api_key user:profile user:inference",
        Vendor::Copilot => "read:user",
    }
}

/// An access token in the form this vendor gives it.
pub(crate) fn access_token(ledger: &mut Ledger, vendor: Vendor) -> String {
    let now = ledger.now();
    let id = ledger.fresh("token");
    let mut claims = json!({
        "jti": id, "sub": "user", "iat": now, "exp": now + ledger.lifetime.as_secs(), "scope": scope(vendor),
    });
    match vendor {
        Vendor::Nous => jwt(&claims),
        Vendor::Codex => {
            claims["https://api.openai.com/auth"] =
                json!({"chatgpt_account_id": "account-rehearsal", "chatgpt_plan_type": "plus"});
            jwt(&claims)
        }
        Vendor::Anthropic => format!("sk-ant-oat01-rehearsal-{id}"),
        Vendor::Copilot => {
            let token = format!("gho_rehearsal-{id}");
            ledger.github_tokens.push(token.clone());
            token
        }
    }
}

fn copilot_token(ledger: &mut Ledger, request: &Received) -> Reply {
    let shown = request.header("authorization").and_then(|value| value.strip_prefix("token "));
    if !shown.is_some_and(|token| ledger.github_tokens.iter().any(|known| known == token)) {
        return Reply::json(401, &json!({"message": "Bad credentials", "status": "401"}));
    }
    let expires_at = ledger.now() + ledger.lifetime.as_secs();
    let id = ledger.fresh("tid");
    let api = ledger.inference_url.clone().unwrap_or_else(|| "https://api.individual.githubcopilot.com".to_owned());
    let body = json!({
        "token": format!("tid={id};exp={expires_at};sku=copilot;proxy-ep=proxy.individual.githubcopilot.com"),
        "expires_at": expires_at, "refresh_in": ledger.lifetime.as_secs().saturating_sub(60),
        "endpoints": {"api": api, "proxy": "https://proxy.individual.githubcopilot.com"},
    });
    Reply::json(200, &body)
}

/// GitHub answers its login endpoints with a form unless JSON is asked for.
fn in_githubs_format(request: &Received, reply: Reply) -> Reply {
    let wants_json = request.header("accept").is_some_and(|kinds| kinds.contains("json"));
    let Ok(Value::Object(object)) = serde_json::from_str(&reply.body) else { return reply };
    if wants_json || !request.path.contains("/login/") {
        return reply;
    }
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let pairs = object.iter().map(|(name, value)| (name.clone(), text(value)));
    let body = url::form_urlencoded::Serializer::new(String::new()).extend_pairs(pairs).finish();
    Reply { content_type: "application/x-www-form-urlencoded; charset=utf-8", body, ..reply }
}

/// A JSON web token with these claims and nobody's signature.
pub fn jwt(claims: &Value) -> String {
    let encode = |part: &[u8]| BASE64_URL_SAFE_NO_PAD.encode(part);
    let header = encode(br#"{"alg":"none","typ":"JWT"}"#);
    format!("{header}.{}.{}", encode(claims.to_string().as_bytes()), encode(b"unsigned"))
}

fn challenge(verifier: &str) -> String {
    BASE64_URL_SAFE_NO_PAD.encode(Sha256::digest(verifier))
}
