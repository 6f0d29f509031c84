//! The five questions, and what is read after each.

use crate::stage::Stage;
use hermes_core::store::Sessions;
use hermes_testkit::golden;
use hermes_types::{Assistant, CallId, Message, ToolCall};
use serde_json::{Value, json};

/// A long conversation about a garden, a short one about a deployment, and one that a job had.
async fn a_past() -> Stage {
    let stage = Stage::new().await;
    let garden = stage.session("garden", "cli", 2).await;
    stage.store.rename(&garden, "The garden plan").await.expect("named");
    let texts: Vec<String> = (1..=40)
        .map(|number| match number % 2 {
            1 => format!("Question {number}: what about bed {number}?"),
            _ => format!("Answer {number}: tomatoes."),
        })
        .collect();
    stage.talk(&garden, 2, &texts.iter().map(String::as_str).collect::<Vec<_>>()).await;
    let deployment = stage.session("deployment", "telegram", 3).await;
    let call = ToolCall::new(CallId::new("c1"), "terminal", r#"{"command":"scripts/release"}"#);
    let calls = Assistant { tool_calls: vec![call], ..Assistant::default() };
    let said = vec![
        Message::user("Release the parser, please."),
        Message::Assistant(calls),
        Message::tool(&CallId::new("c1"), "terminal", r#"{"output":"released 1.4.2"}"#),
        Message::assistant("The parser 1.4.2 is out; the changelog mentions the ibex."),
    ];
    stage.keep(&deployment, 3, said).await;
    let job = stage.session("job", "cron", 4).await;
    stage.talk(&job, 4, &["Report on the parser.", "No news of the parser."]).await;
    stage
}

fn pretty(value: &Value) -> String {
    format!("{value:#}\n")
}

#[tokio::test]
async fn nothing_given_lists_what_was_last() {
    let stage = a_past().await;
    let answer = stage.recall(json!({})).await;
    golden("tests/recall/golden/browse.json", &pretty(&answer));
}

#[tokio::test]
async fn a_query_finds_the_place_and_what_surrounds_it() {
    let stage = a_past().await;
    let answer = stage.recall(json!({"query": "parser"})).await;
    golden("tests/recall/golden/discover.json", &pretty(&answer));
}

#[tokio::test]
async fn a_session_alone_is_read_by_its_two_ends() {
    let stage = a_past().await;
    let answer = stage.recall(json!({"session_id": "garden"})).await;
    assert_eq!((&answer["message_count"], &answer["truncated"]), (&json!(40), &json!(true)));
    let ids: Vec<i64> =
        answer["messages"].as_array().unwrap().iter().map(|line| line["id"].as_i64().unwrap()).collect();
    assert_eq!(ids, (1..=20).chain(31..=40).collect::<Vec<_>>());
    let short = stage.recall(json!({"session_id": "deployment", "role_filter": "user,assistant,tool"})).await;
    golden("tests/recall/golden/read.json", &pretty(&short));
}

#[tokio::test]
async fn a_message_is_shown_with_its_neighbours_and_the_way_on() {
    let stage = a_past().await;
    let answer = stage.recall(json!({"session_id": "garden", "around_message_id": 21, "window": 2})).await;
    golden("tests/recall/golden/scroll.json", &pretty(&answer));
    let on = stage.recall(json!({"session_id": "garden", "around_message_id": 39})).await;
    assert_eq!((&on["messages_before"], &on["messages_after"]), (&json!(33), &json!(0)));
}

#[tokio::test]
async fn one_message_is_read_in_full_with_all_its_calls_ask_for() {
    let stage = a_past().await;
    let answers = [42, 43].map(|message| stage.recall(json!({"message_id": message})));
    let [call, result] = answers;
    golden("tests/recall/golden/whole.json", &(pretty(&call.await) + &pretty(&result.await)));
}

#[tokio::test]
async fn a_long_conversation_is_found_with_its_beginning_and_its_end() {
    let stage = a_past().await;
    let answer = stage.recall(json!({"query": "\"bed 21\""})).await;
    let result = &answer["results"][0];
    let ids = |part: &str| -> Vec<i64> {
        result[part].as_array().unwrap().iter().map(|line| line["id"].as_i64().unwrap()).collect()
    };
    assert_eq!(result["match_message_id"], 21);
    assert_eq!(ids("bookend_start"), [1, 2, 3]);
    assert_eq!(ids("messages"), (16..=26).collect::<Vec<_>>());
    assert_eq!(ids("bookend_end"), [38, 39, 40]);
    assert_eq!((&result["messages_before"], &result["messages_after"]), (&json!(15), &json!(14)));
    assert_eq!(result["messages"][5]["anchor"], true);
}

#[tokio::test]
async fn what_was_looked_for_in_vain_says_what_to_try() {
    let stage = a_past().await;
    let nothing = stage.recall(json!({"query": "zeppelin"})).await;
    assert_eq!((&nothing["count"], &nothing["results"]), (&json!(0), &json!([])));
    assert!(nothing["note"].as_str().unwrap().contains("Try fewer"), "{nothing}");
    let table = [
        (json!({"session_id": "nowhere"}), "There is no session 'nowhere'."),
        (json!({"session_id": "garden", "around_message_id": 9999}), "Message 9999 is not in session garden."),
        (json!({"around_message_id": 3}), "around_message_id needs the session_id"),
        (json!({"query": "x", "role_filter": "robot"}), "There is no role 'robot'."),
    ];
    for (arguments, told) in table {
        let answer = stage.recall(arguments.clone()).await;
        assert!(answer["error"].as_str().is_some_and(|error| error.starts_with(told)), "{arguments}: {answer}");
    }
    let both = stage.recall(json!({"session_id": "garden", "query": "bed"})).await;
    assert_eq!(both["warning"], "The query was not used: leave session_id out to search.");
}
