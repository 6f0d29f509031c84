//! Anthropic logins: an API key, our own login, or that of Claude Code.
//!
//! An API key is the plain way. A subscription login is used only when the person chose Anthropic, always under our own
//! name, and Claude Code's file is kept as that program left it, apart from the renewed token.

use super::error::{AuthCode, AuthError};
use super::exchange;
use super::pkce::Proof;
use super::provider_id::ANTHROPIC;
use super::renew::Renewal;
use super::row::{AuthType, Standing};
use super::snapshot::{Login, Logins};
use super::source::Source;
use super::tokens::{self, Fresh};
use super::{AuthContext, Endpoints, moment};
use crate::secret::Secret;
use jiff::Timestamp;
use serde_json::json;
use std::time::Duration;
use url::Url;

const CLIENT_ID: &str = "9d1c250a-e61b-44d9-88ed-5944d1962f5e";
const SCOPES: &str = "org:create_api_key user:profile user:inference";
const LIMIT: Duration = Duration::from_secs(10);
/// How long a token lives when the server does not say.
const USUAL_LIFETIME: Duration = Duration::from_secs(3600);
/// A stored token counts as valid until this long before its end.
const VALIDITY_SKEW: Duration = Duration::from_secs(60);

/// What a secret for Anthropic's own hosts is, by its looks. Keys for other hosts are never logins.
pub fn shape(secret: &Secret) -> AuthType {
    let login =
        !secret.has_prefix("sk-ant-api") && ["sk-ant-", "eyJ", "cc-"].iter().any(|start| secret.has_prefix(start));
    if login { AuthType::OAuth } else { AuthType::ApiKey }
}

/// What is known when a credential for Anthropic is looked for.
#[derive(Debug, Clone, Copy)]
pub struct Known<'a> {
    /// The person named Anthropic as their provider. Without that, files of other programs are left alone.
    pub chosen: bool,
    /// `ANTHROPIC_TOKEN`
    pub token: Option<&'a Secret>,
    /// `CLAUDE_CODE_OAUTH_TOKEN`
    pub claude_code_token: Option<&'a Secret>,
    /// `ANTHROPIC_API_KEY`
    pub api_key: Option<&'a Secret>,
    pub logins: &'a Logins,
}

/// A credential that may be used, and how to renew it.
#[derive(Debug, Clone)]
pub struct Candidate {
    pub source: Source,
    pub secret: Secret,
    pub kind: AuthType,
    pub expires_at: Option<Timestamp>,
    pub renewal: Option<Renewal>,
}

/// Every usable credential, best first. The next one is for when the first turns out to be dead.
///
/// A key alone is a choice against logins. A login that renews itself beats a copied token of the same kind.
pub fn candidates(known: &Known<'_>, now: Timestamp) -> Vec<Candidate> {
    let variables = [("ANTHROPIC_TOKEN", known.token), ("CLAUDE_CODE_OAUTH_TOKEN", known.claude_code_token)];
    let key = known.api_key.map(|secret| from_variable("ANTHROPIC_API_KEY", secret));
    if let (Some(key), true) = (&key, variables.iter().all(|(_, token)| token.is_none())) {
        return vec![key.clone()];
    }
    let rows = known.logins.rows(ANTHROPIC);
    let intended = known.chosen
        || known.token.is_some()
        || known.api_key.is_some()
        || rows.iter().any(|row| row.source().is_manual() || row.source() == Source::DeviceCode);
    let claude_code = known.logins.claude_code().filter(|_| intended);
    let renewable = claude_code.filter(|login| login.renewal.is_some());

    let mut found = Vec::new();
    let mut claude_code_listed = false;
    for (name, secret) in variables.into_iter().filter_map(|(name, secret)| Some((name, secret?))) {
        let variable = from_variable(name, secret);
        if let (Some(login), AuthType::OAuth, false) = (renewable, variable.kind, claude_code_listed) {
            found.extend(from_login(Source::ClaudeCode, login, now));
            claude_code_listed = true;
        }
        found.push(variable);
    }
    found.extend(known.logins.hermes_pkce().and_then(|login| from_login(Source::HermesPkce, login, now)));
    if !claude_code_listed {
        found.extend(claude_code.and_then(|login| from_login(Source::ClaudeCode, login, now)));
    }
    for row in rows.iter().filter(|row| row.auth_type() == AuthType::OAuth && row.standing(now) == Standing::Ready) {
        found.extend(row.secret().map(|secret| Candidate {
            source: row.source(),
            kind: shape(&secret),
            secret,
            expires_at: row.expires_at(),
            renewal: Renewal::of_row(ANTHROPIC, row),
        }));
    }
    found.extend(key);
    found
}

fn from_variable(name: &str, secret: &Secret) -> Candidate {
    let source = Source::Env(name.to_owned());
    Candidate { source, secret: secret.clone(), kind: shape(secret), expires_at: None, renewal: None }
}

fn from_login(source: Source, login: &Login, now: Timestamp) -> Option<Candidate> {
    let usable = login.renewal.is_some() || login.lives(now, VALIDITY_SKEW);
    usable.then(|| Candidate {
        source,
        secret: login.secret.clone(),
        kind: AuthType::OAuth,
        expires_at: login.expires_at,
        renewal: login.renewal.clone(),
    })
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

/// Asks the token addresses in turn. A verdict on the token is final; any other failure moves on.
async fn first_answer(cx: &AuthContext, call: impl Fn(Url) -> crate::transport::Call) -> Result<Fresh, AuthError> {
    let mut last = AuthError::new(ANTHROPIC, AuthCode::Unreachable, "no token address is configured");
    for url in &cx.endpoints.anthropic_tokens {
        match exchange::ask(cx, ANTHROPIC, call(url.clone()), LIMIT).await {
            Ok(body) => {
                let fresh = Fresh::parse(ANTHROPIC, &body)?;
                return Ok(Fresh { lifetime: fresh.lifetime.or(Some(USUAL_LIFETIME)), ..fresh });
            }
            Err(error) if matches!(error.code, AuthCode::Dead(_) | AuthCode::RateLimited) => return Err(error),
            Err(error) => last = error,
        }
    }
    Err(last)
}

#[cfg(test)]
mod tests {
    use super::super::rehearsal::{START, Stage, start};
    use super::super::snapshot::Parts;
    use super::super::{Document, Need, renew};
    use super::*;
    use serde_json::Value;

    fn secret(text: &str) -> Secret {
        Secret::usable(text).expect("usable")
    }

    fn claude_file(access: &str, expires: i64) -> Value {
        json!({"claudeAiOauth": {"accessToken": access, "refreshToken": "r1", "expiresAt": expires * 1000,
            "scopes": ["user:inference"], "subscriptionType": "max"}, "mcpOAuth": {"x": 1}})
    }

    fn object(value: &Value) -> Option<hermes_types::Object> {
        value.as_object().cloned()
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

    #[test]
    fn the_best_credential_comes_first() {
        const TOKEN: Option<&str> = Some("sk-ant-oat-env");
        const KEY: Option<&str> = Some("sk-ant-api-key");
        let valid = START + 7_200;
        type Case = (bool, [Option<&'static str>; 3], bool, &'static [&'static str]);
        // Was Anthropic chosen? ANTHROPIC_TOKEN, CLAUDE_CODE_OAUTH_TOKEN, ANTHROPIC_API_KEY. Is there a file?
        let cases: [Case; 9] = [
            (true, [TOKEN, None, None], true, &["claude_code", "env:ANTHROPIC_TOKEN"]),
            (true, [TOKEN, None, None], false, &["env:ANTHROPIC_TOKEN"]),
            (true, [Some("sk-ant-api-env"), None, None], true, &["env:ANTHROPIC_TOKEN", "claude_code"]),
            (false, [None, None, KEY], true, &["env:ANTHROPIC_API_KEY"]),
            (true, [None, None, None], true, &["claude_code"]),
            (false, [None, None, None], true, &[]),
            (false, [None, TOKEN, None], true, &["env:CLAUDE_CODE_OAUTH_TOKEN"]),
            (false, [TOKEN, None, KEY], true, &["claude_code", "env:ANTHROPIC_TOKEN", "env:ANTHROPIC_API_KEY"]),
            (true, [None, None, None], false, &[]),
        ];
        for (chosen, variables, file, expected) in cases {
            let claude_code = object(&claude_file("sk-ant-oat-file", valid)).filter(|_| file);
            let logins = Logins::of(Parts { claude_code, ..Parts::default() }, &Endpoints::default());
            let [token, copied, key] = variables.map(|text| text.map(secret));
            let known = Known {
                chosen,
                token: token.as_ref(),
                claude_code_token: copied.as_ref(),
                api_key: key.as_ref(),
                logins: &logins,
            };
            let sources: Vec<String> = candidates(&known, start()).iter().map(|one| one.source.to_string()).collect();
            assert_eq!(sources, expected, "{known:?}");
        }
    }

    #[test]
    fn our_own_login_goes_first_and_a_suppressed_one_not_at_all() {
        let own = Document::parse(br#"{"suppressed_sources": {"anthropic": ["claude_code"]}, "credential_pool": {"anthropic":
            [{"id": "1", "source": "manual:hermes_pkce", "auth_type": "oauth", "access_token": "sk-ant-oat-row", "refresh_token": "r"}]}}"#);
        let parts = Parts {
            own: own.expect("JSON"),
            claude_code: object(&claude_file("sk-ant-oat-file", START + 7_200)),
            hermes_pkce: object(&json!({"accessToken": "sk-ant-oat-own", "refreshToken": "r", "expiresAt": 5})),
            ..Parts::default()
        };
        let logins = Logins::of(parts, &Endpoints::default());
        let known = Known { chosen: true, token: None, claude_code_token: None, api_key: None, logins: &logins };
        let found: Vec<_> =
            candidates(&known, start()).into_iter().map(|one| (one.source.to_string(), one.renewal)).collect();
        let row = Renewal::PoolRow { provider: ANTHROPIC.into(), id: "1".into() };
        assert_eq!(
            found,
            [("hermes_pkce".into(), Some(Renewal::HermesPkce)), ("manual:hermes_pkce".into(), Some(row))]
        );
    }

    #[tokio::test]
    async fn claude_code_is_renewed_in_its_own_file_with_everything_else_kept() {
        let stage = Stage::new(|call| match call.url.contains("platform.claude.com") {
            true => (500, json!({})),
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
