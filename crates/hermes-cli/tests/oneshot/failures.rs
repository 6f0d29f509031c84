//! Every failure a person is likely to meet: said once, on stderr, with the next step, and never as success.

use super::*;
use hermes_testkit::{Move, OAuthServer, OAuthStep, golden};
use serde_json::json;
use std::time::Duration;

/// What the person sees of each failure, as one file to be read from top to bottom.
#[tokio::test]
async fn failures_say_what_happened_and_what_to_type_next() {
    let error = |message: &str| json!({"error": {"message": message, "code": null}});
    let echo = format!("Incorrect API key provided: {KEY}. You can find your key at https://example.com");
    let overflow = json!({"error": {
        "message": "This model's maximum context length is 8192 tokens", "code": "context_length_exceeded"}});
    // How often it is tried: what may pass gets a second chance.
    let cases = [
        ("401, with the key in the answer", 1, Move::status(401).body(error(&echo))),
        ("402", 1, Move::status(402).body(error("Insufficient credits"))),
        ("403", 1, Move::status(403).body(error("This model is not available on your plan"))),
        ("404", 1, Move::status(404).body(error("The model `rehearsal-model` does not exist"))),
        ("429, exhausted", 2, Move::status(429).header("retry-after", "0").body(error("Rate limit reached"))),
        ("503, exhausted", 2, Move::status(503).header("retry-after", "0").body(error("Overloaded"))),
        ("context overflow", 1, Move::status(400).body(overflow)),
        ("a web page", 1, Move::raw("<html>login</html>").header("content-type", "text/html")),
        ("control characters", 1, Move::status(400).body(error("bad\u{1b}[31m request\u{7}"))),
        ("an error inside the stream", 2, Move::say("some words").fail_after(2, "server_error", "the model crashed")),
        ("nothing at all", 2, Move::empty_stream()),
    ];
    let mut seen = String::new();
    for (name, times, play) in cases {
        let server = ModelServer::start(vec![play; times]).await;
        server.refuse_models(404);
        let once = "agent:\n  api_max_retries: 1\n";
        let world = home_at(&server).config(&format!("{}{once}", settings(&server.base_url(), "chat_completions")));
        let ran = hermes(&world, &["-z", "hi"]).await.expect_code(1);
        assert_eq!(ran.stdout, "", "{name}");
        assert!(!ran.stderr.contains('\u{1b}'), "{name}");
        let told = ran.stderr.replace(&server.base_url(), "BASE");
        seen.push_str(&format!("## {name}\n{told}\n"));
        server.finish();
    }
    golden("tests/oneshot/golden/failures.txt", &seen);
}

#[tokio::test]
async fn a_local_address_where_nobody_listens_is_reported_at_once() {
    let world = nowhere().env("REHEARSAL_KEY", KEY).config(&settings("http://127.0.0.1:9/v1", "chat_completions"));
    let ran = hermes(&world, &["-z", "hi"]).await;
    let message = "hermes -z: nothing listens at http://127.0.0.1:9; start the server or change the address \
                   (`hermes config set model.base_url …`)\n";
    assert_eq!(told(&ran), (Some(1), "", message));
    assert!(ran.wall < Duration::from_secs(2), "{:?}", ran.wall);
}

#[tokio::test]
async fn a_key_that_is_missing_is_named() {
    let ran = hermes(&nowhere(), &["-z", "hi", "--provider", "anthropic"]).await.expect_code(1);
    assert_eq!(ran.stdout, "");
    assert!(ran.stderr.contains("ANTHROPIC_API_KEY"), "{}", ran.stderr);
}

#[tokio::test]
async fn settings_that_cannot_be_read_stop_the_run_and_stay_as_they_are() {
    let broken = format!("model:\n  default: m\n  api_key: {KEY}\nagent: [1,\n");
    let world = nowhere().config(&broken);
    let ran = hermes(&world, &["-z", "hi"]).await.expect_code(1);
    assert_eq!(ran.stdout, "");
    let file = world.hermes_home().join("config.yaml");
    assert!(ran.stderr.starts_with(&format!("hermes -z: {}, line 4, column ", file.display())), "{}", ran.stderr);
    assert_eq!(std::fs::read_to_string(file).expect("still there"), broken);

    let wrong =
        nowhere().config("agent:\n  api_max_retries: many\nmodel:\n  base_url: http://127.0.0.1:9/v1\n  default: m\n");
    let ran = hermes(&wrong, &["-z", "hi"]).await.expect_code(1);
    assert!(ran.stderr.starts_with("hermes -z: `agent.api_max_retries` must be a whole number"), "{}", ran.stderr);
}

#[tokio::test]
async fn a_login_that_has_ended_asks_for_a_new_one() {
    let oauth = OAuthServer::start().await;
    oauth.fail(OAuthStep::Refresh, 400, json!({"error": "invalid_grant", "error_description": "revoked"}));
    let world = nowhere().env("HERMES_PORTAL_BASE_URL", &oauth.root_url()).auth(&json!({
        "version": 1, "active_provider": "nous",
        "providers": {"nous": {"access_token": "old-access-token", "refresh_token": KEY, "client_id": "hermes-cli",
            "expires_at": "2020-01-01T00:00:00Z", "portal_base_url": oauth.root_url()}},
    }));
    let ran = hermes(&world, &["-z", "hi"]).await.expect_code(1);
    assert_eq!(ran.stdout, "");
    assert!(ran.stderr.starts_with("hermes -z: nous: "), "{}", ran.stderr);
    assert!(ran.stderr.ends_with("Log in again: hermes auth add nous\n"), "{}", ran.stderr);
    assert_eq!(oauth.requests().len(), 1, "the dead token is tried once");
    oauth.finish();
}
