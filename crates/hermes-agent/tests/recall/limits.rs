//! What an answer may hold, and what it never shows.

use crate::stage::Stage;
use hermes_core::store::Sessions;
use hermes_types::Message;
use serde_json::json;

const KEY: &str = "sk-ant-api03-AbCdEfGhIjKlMnOpQrStUvWxYz0123456789AbCdEfGhIjKl";

#[tokio::test]
async fn the_longest_answer_fits_into_a_conversation() {
    let stage = Stage::new().await;
    let long = format!("ibex {}", "a long story. ".repeat(5_000));
    for day in 1..=10 {
        let session = stage.session(&format!("s{day}"), "cli", day).await;
        stage.keep(&session, day, (0..30).map(|_| Message::user(long.as_str())).collect()).await;
    }
    for arguments in [
        json!({"query": "ibex", "limit": 10}),
        json!({"session_id": "s1"}),
        json!({"session_id": "s1", "around_message_id": 15, "window": 20}),
    ] {
        let text = stage.recall_text(arguments.clone()).await;
        assert!(text.chars().count() < 70_000, "{arguments}: {}", text.chars().count());
        assert!(text.starts_with("{\"success\":true"), "{arguments}: it is shown, not put away");
    }
    let near = stage.recall(json!({"session_id": "s1", "around_message_id": 15, "window": 1})).await;
    let anchor = &near["messages"][1];
    assert_eq!(anchor["full_length"], long.chars().count());
    assert_eq!(anchor["content"].as_str().unwrap().chars().count(), 13_333, "a small window shows more of each");
}

#[tokio::test]
async fn secrets_of_the_past_stay_covered() {
    let arguments = [json!({"query": "deploy"}), json!({"session_id": "s"}), json!({})];
    for (config, shown) in [(json!(null), false), (json!({"security": {"redact_secrets": false}}), true)] {
        let stage = Stage::with(config).await;
        let session = stage.session("s", "cli", 1).await;
        stage.store.rename(&session, &format!("key {KEY}")).await.expect("named");
        stage.talk(&session, 1, &[&format!("the deploy key is {KEY}"), "DB_PASSWORD=hunter2hunter2"]).await;
        for arguments in &arguments {
            let text = stage.recall_text(arguments.clone()).await;
            assert_eq!(text.contains(KEY), shown, "{arguments}: {text}");
        }
        let read = stage.recall_text(json!({"session_id": "s"})).await;
        assert_eq!(read.contains("hunter2hunter2"), shown, "{read}");
    }
}

#[tokio::test]
async fn hostile_queries_find_nothing_and_break_nothing() {
    let stage = Stage::new().await;
    let session = stage.session("s", "cli", 1).await;
    stage.talk(&session, 1, &["hello", "hi"]).await;
    let long = "x ".repeat(100_000);
    for query in
        ["\"", "NOT", "NOT hello", "'; DROP TABLE messages; --", "a AND (b OR", "*", "\u{0}", "NEAR(a b)", &long]
    {
        let answer = stage.recall(json!({"query": query})).await;
        assert_eq!(answer["success"], true, "{query}: {answer}");
    }
    assert_eq!(stage.found(json!({"query": "hello"})).await, ["s"]);
}
