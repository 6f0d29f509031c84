//! Logins that end: renewed before they expire, renewed when they are refused, spent once however many ask.

use crate::stage::{Rerouted, Stage, question};
use hermes_testkit::{FakeClock, ModelServer, Move, OAuthServer, OAuthStep, START, Vendor, jwt};
use hermes_types::FaultKind;
use serde_json::{Value, json};
use std::time::Duration;

/// Long after anybody runs this test.
const DECADES: u64 = 2_000_000_000;

/// A login of each kind, with what it takes to reach the stage instead of the vendor.
struct Case {
    vendor: Vendor,
    /// Where the tokens are on disk after a renewal: file, and pointers to access and refresh token.
    kept: (&'static str, &'static str, &'static str),
}

const NOUS: Case = Case {
    vendor: Vendor::Nous,
    kept: ("home/auth.json", "/providers/nous/access_token", "/providers/nous/refresh_token"),
};
const CODEX: Case = Case {
    vendor: Vendor::Codex,
    kept: (
        "home/auth.json",
        "/providers/openai-codex/tokens/access_token",
        "/providers/openai-codex/tokens/refresh_token",
    ),
};
const CLAUDE: Case = Case {
    vendor: Vendor::Anthropic,
    kept: ("claude.json", "/claudeAiOauth/accessToken", "/claudeAiOauth/refreshToken"),
};

/// A token of this vendor that ends so many seconds after the beginning.
fn token(vendor: Vendor, name: &str, ends_after: u64) -> String {
    let claims = json!({
        "jti": name, "exp": START + ends_after, "scope": "inference:invoke",
        "https://api.openai.com/auth": {"chatgpt_account_id": format!("account-{name}")},
    });
    match vendor {
        Vendor::Anthropic => format!("sk-ant-oat01-stage-{name}"),
        _ => jwt(&claims),
    }
}

impl Case {
    /// The person logged in some time ago; the token ends so many seconds from now.
    fn stage(&self, model: &ModelServer, oauth: &OAuthServer, clock: &FakeClock, ends_after: u64) -> (Stage, String) {
        oauth.attach_clock(clock);
        let (stage, access) = self.home(model, oauth, ends_after);
        (stage.clock(clock), access)
    }

    fn home(&self, model: &ModelServer, oauth: &OAuthServer, ends_after: u64) -> (Stage, String) {
        let access = token(self.vendor, "old", ends_after);
        let refresh = oauth.issue_refresh_token(self.vendor);
        let config = |provider: &str, model: &str| json!({"model": {"provider": provider, "default": model}});
        let stage = match self.vendor {
            Vendor::Nous => Stage::new(config("nous", "nousresearch/hermes-4-405b"))
                .env("NOUS_INFERENCE_BASE_URL", &model.base_url())
                .auth(&json!({"version": 1, "providers": {"nous": {
                    "access_token": access, "refresh_token": refresh, "portal_base_url": oauth.root_url()}}})),
            Vendor::Codex => Stage::new(config("openai-codex", "gpt-5.4"))
                .env("HERMES_CODEX_BASE_URL", &model.base_url())
                .auth(&json!({"version": 1, "providers": {"openai-codex": {
                    "tokens": {"access_token": access, "refresh_token": refresh}, "auth_mode": "chatgpt"}}})),
            Vendor::Anthropic => {
                Stage::new(config("anthropic", "claude-sonnet-4-6")).env("ANTHROPIC_BASE_URL", &model.root_url()).file(
                    "claude.json",
                    &json!({"claudeAiOauth": {"accessToken": access, "refreshToken": refresh,
                    "expiresAt": (START + ends_after) * 1000, "subscriptionType": "max"}}),
                )
            }
            Vendor::Copilot => unreachable!("Copilot has a story of its own"),
        };
        (stage.login_server(oauth), access)
    }

    fn on_disk(&self, stage: &Stage) -> (String, String) {
        let (file, access, refresh) = self.kept;
        let document = stage.read(file);
        let text = |pointer: &str| document.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned();
        (text(access), text(refresh))
    }
}

fn bearers(server: &ModelServer) -> Vec<String> {
    let bearer = |request: &hermes_testkit::Received| {
        request.header("authorization").and_then(|value| value.strip_prefix("Bearer ")).unwrap_or_default().to_owned()
    };
    server.model_requests().iter().map(bearer).collect()
}

#[tokio::test]
async fn a_refused_login_is_renewed_once_and_the_new_one_is_on_disk() {
    for case in [NOUS, CODEX, CLAUDE] {
        let (vendor, clock) = (case.vendor, FakeClock::new());
        let model = ModelServer::start([Move::status(401), Move::say("welcome back"), Move::say("still here")]).await;
        let oauth = OAuthServer::start().await;
        let (stage, old) = case.stage(&model, &oauth, &clock, 9_000);
        let mut conversation = stage.conversation().await;
        let told = conversation.ask(question("hi")).await;
        assert_eq!((told.outcome().as_str(), told.steps()), ("welcome back", vec!["refresh".to_owned()]), "{vendor:?}");
        let (access, refresh) = case.on_disk(&stage);
        assert_eq!(bearers(&model), [old, access.clone()], "{vendor:?}");
        assert_eq!(conversation.ask(question("and now?")).await.steps(), Vec::<String>::new(), "{vendor:?}");
        assert_eq!(bearers(&model)[2], access, "{vendor:?}");
        assert_eq!(oauth.requests().len(), 1, "{vendor:?}");
        let spent = oauth.requests()[0].form().iter().any(|(_, value)| *value == refresh);
        assert!(!spent && !refresh.is_empty(), "{vendor:?}: what is kept is the new refresh token");
        model.finish();
        oauth.finish();
    }
}

#[tokio::test]
async fn a_login_about_to_end_is_renewed_before_it_is_used() {
    for case in [NOUS, CODEX, CLAUDE] {
        let (vendor, clock) = (case.vendor, FakeClock::new());
        let model = ModelServer::start(Move::say("in time")).await;
        let oauth = OAuthServer::start().await;
        let (stage, old) = case.stage(&model, &oauth, &clock, 60);
        model.never_show(&old);
        let told = stage.ask(question("hi")).await;
        assert_eq!((told.outcome().as_str(), told.steps()), ("in time", vec![]), "{vendor:?}");
        assert_eq!(bearers(&model), [case.on_disk(&stage).0], "{vendor:?}");
        if vendor == Vendor::Codex {
            assert_eq!(model.model_requests()[0].header("chatgpt-account-id"), Some("account-old"));
        }
        model.finish();
        oauth.finish();
    }
}

/// Two programs in one home, both refused at the same moment: the refresh token is spent once. In real time, because the
/// one that waits for the lock would make everybody's virtual time fly.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_programs_sharing_a_home_spend_a_refresh_token_once() {
    for case in [NOUS, CODEX, CLAUDE] {
        let vendor = case.vendor;
        let oauth = OAuthServer::start().await;
        let script = || [Move::status(401), Move::say("welcome back")];
        let (left, right) = (ModelServer::start(script()).await, ModelServer::start(script()).await);
        // One home; each program is told of another endpoint, so that both are refused for certain.
        let (stage, _) = case.home(&left, &oauth, DECADES);
        let stage = stage.real_time();
        let first = stage.company().await;
        let variable = match vendor {
            Vendor::Nous => "NOUS_INFERENCE_BASE_URL",
            Vendor::Codex => "HERMES_CODEX_BASE_URL",
            _ => "ANTHROPIC_BASE_URL",
        };
        let stage = stage.env(variable, &right.base_url());
        let second = stage.company().await;
        let ask = |company: crate::stage::Company| async move { company.conversation().ask(question("hi")).await };
        let (one, other) = tokio::join!(tokio::spawn(ask(first)), tokio::spawn(ask(second)));
        for told in [one.unwrap(), other.unwrap()] {
            assert_eq!(
                (told.outcome().as_str(), told.steps()),
                ("welcome back", vec!["refresh".to_owned()]),
                "{vendor:?}"
            );
        }
        assert_eq!(oauth.requests().len(), 1, "{vendor:?}: one request to the login server");
        let new = case.on_disk(&stage).0;
        assert_eq!(
            (bearers(&left)[1].as_str(), bearers(&right)[1].as_str()),
            (new.as_str(), new.as_str()),
            "{vendor:?}"
        );
        oauth.finish();
    }
}

#[tokio::test]
async fn a_github_token_buys_copilot_sessions_and_never_travels_itself() {
    let clock = FakeClock::new();
    let oauth = OAuthServer::start().await;
    oauth.attach_clock(&clock);
    let github = oauth.issue_access_token(Vendor::Copilot);
    let model =
        ModelServer::start([Move::say("first"), Move::status(401), Move::say("second"), Move::say("third")]).await;
    model.never_show(&github);
    let stage = Stage::new(json!({"model": {"provider": "copilot", "default": "gpt-4.1"}}))
        .env("COPILOT_API_BASE_URL", &model.base_url())
        .copilot(&github, &model.base_url())
        .login_server(&oauth)
        .clock(&clock);
    let mut conversation = stage.conversation().await;
    assert_eq!(conversation.ask(question("one")).await.outcome(), "first");
    let told = conversation.ask(question("two")).await;
    assert_eq!((told.outcome().as_str(), told.steps()), ("second", vec!["refresh".to_owned()]));
    let sessions = bearers(&model);
    assert!(sessions.iter().all(|session| session.starts_with("tid=")), "{sessions:?}");
    assert_eq!((sessions[0] == sessions[1], sessions[1] == sessions[2]), (true, false));
    assert_eq!(oauth.requests().len(), 2, "one session, then one more because it was refused");

    // The endpoint the exchange names is a vendor's; the one the person chose stays.
    let mut next = stage.conversation().await;
    assert_eq!(next.ask(question("three")).await.outcome(), "third");
    model.finish();
}

/// A company's own Copilot is used where the exchange says it is; a host that is not GitHub's is not believed.
#[tokio::test]
async fn a_session_is_used_where_its_vendor_says() {
    let cases = [
        ("https://copilot-api.acme.ghe.com", "copilot-api.acme.ghe.com"),
        ("https://api.business.githubcopilot.com", "api.business.githubcopilot.com"),
        // The token itself names the host behind this one.
        ("https://collector.evil.test", "api.individual.githubcopilot.com"),
    ];
    for (named, used) in cases {
        let clock = FakeClock::new();
        let oauth = OAuthServer::start().await;
        oauth.attach_clock(&clock);
        oauth.inference_url(named);
        let github = oauth.issue_access_token(Vendor::Copilot);
        let model = ModelServer::start(Move::say("hello")).await;
        model.never_show(&github);
        let stage = Stage::new(json!({"model": {"provider": "copilot", "default": "gpt-4.1"}}))
            .copilot(&github, "https://api.githubcopilot.com")
            .login_server(&oauth)
            .transport(Rerouted::new(used, &model))
            .clock(&clock);
        assert_eq!(stage.ask(question("hi")).await.outcome(), "hello", "{named}");
        model.finish();
    }
}

/// A login that cannot be mended is reported once, with the way out; the next provider takes over.
#[tokio::test]
async fn a_dead_login_is_buried_and_the_chain_goes_on() {
    let clock = FakeClock::new();
    let (model, spare) = (ModelServer::start(Move::status(401)).await, ModelServer::start(Move::say("spare")).await);
    let oauth = OAuthServer::start().await;
    oauth.fail(OAuthStep::Refresh, 400, json!({"error": "invalid_grant"}));
    let access = token(Vendor::Codex, "old", 9_000);
    let config = json!({
        "model": {"provider": "openai-codex", "default": "gpt-5.4"},
        "providers": {"spare": {"base_url": spare.base_url(), "api_key": "spare-key"}},
        "fallback_providers": [{"provider": "custom:spare", "model": "m"}],
    });
    let stage = Stage::new(config)
        .env("HERMES_CODEX_BASE_URL", &model.base_url())
        .auth(&json!({"version": 1, "providers": {"openai-codex": {
            "tokens": {"access_token": access, "refresh_token": "refresh-dead"}}}}))
        .login_server(&oauth)
        .clock(&clock);
    let told = stage.ask(question("hi")).await;
    assert_eq!(told.outcome(), "spare");
    assert_eq!(told.steps(), ["fall back to custom:spare after AuthPermanent"]);
    let state = stage.read("home/auth.json")["providers"]["openai-codex"].clone();
    assert_eq!((&state["tokens"]["access_token"], &state["tokens"]["refresh_token"]), (&Value::Null, &Value::Null));
    assert!(state.to_string().contains("invalid_grant"), "{state}");
}

/// A login server that hands out useless tokens is asked once, not for ever.
#[tokio::test]
async fn a_token_that_cannot_be_used_ends_the_renewal() {
    let clock = FakeClock::new();
    let model = ModelServer::start(Move::status(401)).await;
    let oauth = OAuthServer::start().await;
    oauth.lifetime(Duration::from_secs(60));
    let (stage, _) = NOUS.stage(&model, &oauth, &clock, 9_000);
    let told = stage.ask(question("hi")).await;
    let fault = told.fault();
    assert_eq!((fault.kind, fault.code.as_deref()), (FaultKind::Auth, Some("unsupported_token")), "{fault}");
    assert_eq!((told.steps(), oauth.requests().len()), (vec![], 1));
}

/// The login server is down for a moment: the token at hand is tried again, the login is not given up.
#[tokio::test]
async fn a_login_server_with_a_hiccup_costs_a_retry() {
    let clock = FakeClock::new();
    let model = ModelServer::start([Move::status(401), Move::status(401), Move::say("welcome back")]).await;
    let oauth = OAuthServer::start().await;
    oauth.fail(OAuthStep::Refresh, 503, json!({"error": "temporarily_unavailable"}));
    let (stage, _) = CODEX.stage(&model, &oauth, &clock, 9_000);
    let told = stage.ask(question("hi")).await;
    assert_eq!(told.outcome(), "welcome back");
    assert_eq!(told.steps(), ["retry after ServerError", "refresh"]);
}

/// A login in a pool that cannot be renewed does not stand in the way of the one behind it.
#[tokio::test]
async fn rotation_passes_over_a_login_that_cannot_be_renewed() {
    let clock = FakeClock::new();
    let model = ModelServer::start([Move::status(402), Move::say("by the third")]).await;
    let oauth = OAuthServer::start().await;
    oauth.attach_clock(&clock);
    oauth.fail(OAuthStep::Refresh, 400, json!({"error": "invalid_grant"}));
    let row = |id: &str, priority: u64, ends_after: u64| {
        // Each login is an account of its own.
        json!({"id": id, "label": id, "auth_type": "oauth", "source": "manual:device_code", "priority": priority,
            "access_token": token(Vendor::Codex, id, ends_after), "refresh_token": format!("refresh-{id}"),
            "expires_at_ms": (START + ends_after) * 1000})
    };
    let rows = [row("one", 0, 9_000), row("two", 1, 0), row("three", 2, 9_000)];
    let stage = Stage::new(json!({"model": {"provider": "openai-codex", "default": "gpt-5.4"}}))
        .env("HERMES_CODEX_BASE_URL", &model.base_url())
        .auth(&json!({"version": 1, "credential_pool": {"openai-codex": rows}}))
        .login_server(&oauth)
        .clock(&clock);
    let told = stage.ask(question("hi")).await;
    assert_eq!((told.outcome().as_str(), told.steps()), ("by the third", vec!["rotate after Billing".to_owned()]));
    assert_eq!(bearers(&model), [token(Vendor::Codex, "one", 9_000), token(Vendor::Codex, "three", 9_000)]);
    let accounts: Vec<_> = model.model_requests();
    let accounts: Vec<_> = accounts.iter().map(|request| request.header("chatgpt-account-id")).collect();
    assert_eq!(accounts, [Some("account-one"), Some("account-three")]);
}

/// The same at the very beginning: the first login of the pool is dead, the second is asked.
#[tokio::test]
async fn opening_passes_over_a_login_that_cannot_be_renewed() {
    let clock = FakeClock::new();
    let model = ModelServer::start(Move::say("by the second")).await;
    let oauth = OAuthServer::start().await;
    oauth.attach_clock(&clock);
    oauth.fail(OAuthStep::Refresh, 400, json!({"error": "invalid_grant"}));
    let row = |id: &str, priority: u64, ends_after: u64| {
        json!({"id": id, "label": id, "auth_type": "oauth", "source": "manual:device_code", "priority": priority,
            "access_token": token(Vendor::Codex, id, ends_after), "refresh_token": format!("refresh-{id}"),
            "expires_at_ms": (START + ends_after) * 1000})
    };
    let rows = [row("one", 0, 0), row("two", 1, 9_000)];
    let stage = Stage::new(json!({"model": {"provider": "openai-codex", "default": "gpt-5.4"}}))
        .env("HERMES_CODEX_BASE_URL", &model.base_url())
        .auth(&json!({"version": 1, "credential_pool": {"openai-codex": rows}}))
        .login_server(&oauth)
        .clock(&clock);
    let told = stage.ask(question("hi")).await;
    assert_eq!((told.outcome().as_str(), told.steps()), ("by the second", vec![]));
    assert_eq!(bearers(&model), [token(Vendor::Codex, "two", 9_000)]);
}

/// A login server that is down for a moment when a conversation begins: one waits and tries again.
#[tokio::test]
async fn a_conversation_begins_in_spite_of_a_hiccup_of_the_login_server() {
    let clock = FakeClock::new();
    let model = ModelServer::start(Move::say("in time")).await;
    let oauth = OAuthServer::start().await;
    oauth.fail(OAuthStep::Refresh, 503, json!({"error": "temporarily_unavailable"}));
    let (stage, _) = CODEX.stage(&model, &oauth, &clock, 0);
    let told = stage.ask(question("hi")).await;
    assert_eq!((told.outcome().as_str(), told.steps()), ("in time", vec!["retry after ServerError".to_owned()]));
}

/// A firewall in front of the login server says no: the login is kept, and what is said is not that it is dead.
#[tokio::test]
async fn a_refusal_on_the_way_does_not_end_the_login() {
    let clock = FakeClock::new();
    let model = ModelServer::start(Move::status(401)).await;
    let oauth = OAuthServer::start().await;
    oauth.fail(OAuthStep::Refresh, 403, json!({}));
    let (stage, _) = CODEX.stage(&model, &oauth, &clock, 9_000);
    let before = CODEX.on_disk(&stage);
    assert_eq!(stage.ask(question("hi")).await.fault().kind, FaultKind::Auth);
    assert_eq!(CODEX.on_disk(&stage), before);
}

/// A conversation that outlives its token: the next question goes out with a new one.
#[tokio::test]
async fn a_long_conversation_renews_its_login_between_questions() {
    for case in [NOUS, CODEX, CLAUDE] {
        let (vendor, clock) = (case.vendor, FakeClock::new());
        let model = ModelServer::start([Move::say("early"), Move::say("late")]).await;
        let oauth = OAuthServer::start().await;
        let (stage, old) = case.stage(&model, &oauth, &clock, 900);
        let mut conversation = stage.conversation().await;
        assert_eq!(conversation.ask(question("hi")).await.outcome(), "early", "{vendor:?}");
        clock.advance(Duration::from_secs(1_000));
        let told = conversation.ask(question("still there?")).await;
        assert_eq!((told.outcome().as_str(), told.steps()), ("late", vec![]), "{vendor:?}");
        assert_eq!(bearers(&model), [old, case.on_disk(&stage).0], "{vendor:?}");
        model.finish();
    }
}

/// A token of the environment buys a session like any other, and configured headers follow the session to its host.
#[tokio::test]
async fn a_token_of_the_environment_never_travels_itself() {
    let clock = FakeClock::new();
    let oauth = OAuthServer::start().await;
    oauth.attach_clock(&clock);
    oauth.inference_url("https://api.business.githubcopilot.com");
    let github = oauth.issue_access_token(Vendor::Copilot);
    let model = ModelServer::start(Move::say("hello")).await;
    model.never_show(&github);
    let config = json!({
        "model": {"provider": "copilot", "default": "gpt-4.1"},
        "providers": {"copilot": {"headers": {"Editor-Version": "stage/1"}}},
    });
    let stage = Stage::new(config)
        .env("GITHUB_TOKEN", &github)
        .login_server(&oauth)
        .transport(Rerouted::new("api.business.githubcopilot.com", &model))
        .clock(&clock);
    assert_eq!(stage.ask(question("hi")).await.outcome(), "hello");
    assert!(bearers(&model)[0].starts_with("tid="), "{:?}", bearers(&model));
    assert_eq!(model.model_requests()[0].header("editor-version"), Some("stage/1"));
}
