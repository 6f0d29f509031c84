//! What a provider is asked to keep, as the settings want it.

use super::*;
use hermes_testkit::Move;
use serde_json::{Value, json};

#[tokio::test]
async fn the_settings_say_how_long_a_prompt_is_kept() {
    let hour = json!({"type": "ephemeral", "ttl": "1h"});
    let usual = json!({"type": "ephemeral"});
    let odd = "… prompt_caching.cache_ttl: expected 5m or 1h; ignored\n";
    let table = [
        ("", &usual, ""),
        ("prompt_caching:\n  cache_ttl: 5m\n", &usual, ""),
        ("prompt_caching:\n  cache_ttl: 1h\n", &hour, ""),
        ("prompt_caching:\n  cache_ttl: 2h\n", &usual, odd),
    ];
    for (setting, marker, warning) in table {
        let server = ModelServer::start(Move::say("ok")).await;
        let endpoint = settings(&server.base_url(), "anthropic_messages").replace("rehearsal-model", "claude-opus-4-6");
        let world = nowhere().env("REHEARSAL_KEY", KEY).config(&format!("{endpoint}{setting}"));
        assert_eq!(told(&hermes(&world, &["chat", "-q", "hi"]).await), (Some(0), "ok\n", warning), "{setting}");
        let body = server.model_requests().remove(0).json().clone();
        let marked = |block: &Value| block["cache_control"].clone();
        assert_eq!(marked(&body["system"][0]), *marker, "{setting}");
        assert_eq!(marked(&body["messages"][0]["content"][0]), *marker, "{setting}");
        server.finish();
    }
}
