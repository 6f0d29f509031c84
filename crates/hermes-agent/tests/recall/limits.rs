//! What an answer may hold, and what it never shows.

use crate::stage::Stage;
use hermes_core::store::Sessions;
use hermes_types::{CallId, Message};
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
async fn a_long_message_is_read_page_by_page_and_no_page_shows_a_piece_of_a_secret() {
    let stage = Stage::new().await;
    let session = stage.session("s", "cli", 1).await;
    // A page may end anywhere, also in the key, and characters are not bytes.
    let text = format!("{}{KEY}{}", "é\n".repeat(19_990), "ü".repeat(50_000));
    let id = stage.keep(&session, 1, vec![Message::tool(&CallId::new("c"), "terminal", text.as_str())]).await.remove(0);
    let (mut pages, mut offset) = (Vec::new(), 0);
    loop {
        let text = stage.recall_text(json!({"message_id": id.0, "offset": offset})).await;
        assert!(text.starts_with("{\"success\":true") && text.chars().count() < 100_000, "it is shown, not put away");
        let page: serde_json::Value = serde_json::from_str(&text).expect("JSON");
        pages.push(page["content"].as_str().expect("a text").to_owned());
        match page["next_offset"].as_u64() {
            Some(next) => offset = next,
            None => break,
        }
    }
    let whole = pages.concat();
    assert!(pages.len() > 2 && whole.starts_with("é\né") && whole.ends_with("üü"), "{}", pages.len());
    assert!(whole.contains("«redacted:") && !whole.contains("AbCdEfGh"), "the key is covered across the pages");
    let behind = stage.recall(json!({"message_id": id.0, "offset": 1_000_000})).await;
    let told = format!("Message {id} has {} characters; offset 1000000 is behind them.", whole.chars().count());
    assert_eq!(behind["error"], json!(told));
}

#[tokio::test]
async fn secrets_of_the_past_stay_covered() {
    let arguments = [json!({"query": "deploy"}), json!({"session_id": "s"}), json!({"message_id": 1}), json!({})];
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
