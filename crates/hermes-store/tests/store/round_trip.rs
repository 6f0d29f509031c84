//! What was kept comes back as it was, byte for byte, in every kind of file.

use crate::stage::{Stage, said};
use hermes_core::store::{Search, Sessions, StoreError, Transcript};
use hermes_types::{Content, Message, MessageId, NewMessage, RowState, SearchQuery, SessionId, Span, StoredMessage};
use serde_json::json;

fn message(value: serde_json::Value) -> Message {
    serde_json::from_value(value).expect("a message")
}

/// A conversation with every field a message can have, and some nobody knows.
fn rich() -> Vec<Message> {
    vec![
        message(json!({"role": "system", "content": "Be brief.", "name": "s"})),
        message(json!({"role": "user", "content": "สวัสดี 你好\u{0}\u{1F600}", "reasoning": "not ours", "x": [1, 2.5]})),
        message(json!({"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "image_url",
            "image_url": {"url": "data:image/png;base64,AAAA"}}]})),
        message(json!({"role": "user", "content": "\u{0}json:{\"not\": \"a list\"}"})),
        message(json!({"role": "assistant", "content": null, "reasoning": "r", "reasoning_content": "",
            "reasoning_details": [{"type": "reasoning.text", "signature": "s=="}], "codex_reasoning_items": [],
            "codex_message_items": [{"id": "msg_1"}], "anthropic_content_blocks": [{"type": "thinking"}],
            "tool_calls": [{"id": "c1", "call_id": "c1", "response_item_id": "fc_1", "type": "function",
                "function": {"name": "f", "arguments": "{\"a\": 1}", "strict": true}, "extra_content": {"g": 1}}],
            "finish_reason": "tool_calls", "vendor": {"z": 0.1, "a": 1e-7}})),
        message(json!({"role": "tool", "tool_call_id": "c1", "name": "f", "content": "done", "is_error": false})),
        message(json!({"role": "assistant", "content": "", "finish_reason": "verification_required"})),
        message(json!({"role": "tool", "tool_call_id": "", "content": [{"type": "text", "text": "t"}]})),
    ]
}

#[tokio::test]
async fn every_message_comes_back_as_it_was() {
    for mut stage in Stage::every().await {
        let id = stage.session("rich").await;
        let new: Vec<NewMessage> = rich().into_iter().map(NewMessage::from).collect();
        let ids = stage.store.append(&id, new).await.expect("kept");
        assert!(ids.is_sorted(), "{ids:?}");
        stage.reopen().await;
        let back = said(&stage.store, &id, Span::Own).await.expect("read");
        let bytes = |messages: &[Message]| serde_json::to_string_pretty(messages).expect("json");
        assert_eq!(bytes(&back), bytes(&rich()), "{:?}", stage.kind);
        let session = stage.store.session(&id).await.expect("read").expect("there");
        assert_eq!((session.message_count, session.tool_call_count), (8, 1));
        let times: Vec<f64> =
            stage.store.messages(&id).await.expect("read").iter().map(|stored| stored.at.seconds()).collect();
        assert!(times.windows(2).all(|pair| pair[0] < pair[1]), "{times:?}");
    }
}

#[tokio::test]
async fn what_was_sent_is_replayed_and_what_was_said_is_shown() {
    for stage in Stage::every().await {
        let id = stage.session("sent").await;
        let sent = Some(Content::from("hello\n\n<memory>x</memory>  "));
        let new = NewMessage { sent: sent.clone(), token_count: Some(7), ..Message::user("hello").into() };
        stage.store.append(&id, vec![new]).await.expect("kept");
        let stored = stage.store.messages(&id).await.expect("read").remove(0);
        let StoredMessage { sent: kept, token_count, message, .. } = stored;
        assert_eq!((kept, token_count, message), (sent, Some(7), Message::user("hello")), "{:?}", stage.kind);
        let replayed = said(&stage.store, &id, Span::Own).await.expect("read");
        assert_eq!(replayed, [Message::user("hello\n\n<memory>x</memory>  ")]);
    }
}

#[tokio::test]
async fn summarised_messages_are_kept_and_undone_ones_are_hidden() {
    for stage in Stage::every().await {
        let id = stage.session("states").await;
        let say = |text: &str| NewMessage::from(Message::user(text));
        let ids = stage.store.append(&id, vec![say("a"), say("b"), say("c")]).await.expect("kept");
        assert_eq!(stage.store.rewind(&id, ids[2]).await, Ok(1));
        assert_eq!(
            stage.store.rewind(&id, ids[2]).await,
            Err(StoreError::NoMessage { session: id.clone(), message: ids[2] }),
            "taken back twice"
        );
        stage.store.compact(&id, ids[1], vec![say("summary")]).await.expect("kept");
        let states: Vec<RowState> =
            stage.store.messages(&id).await.expect("read").iter().map(|stored| stored.state).collect();
        use RowState::{Compacted, Live, Undone};
        assert_eq!(states, [Compacted, Compacted, Undone, Live], "{:?}", stage.kind);
        assert_eq!(said(&stage.store, &id, Span::Own).await, Ok(vec![Message::user("summary")]));
        let session = stage.store.session(&id).await.expect("read").expect("there");
        assert_eq!(session.message_count, 1);
    }
}

#[tokio::test]
async fn a_message_needs_its_session_and_all_of_a_batch_or_nothing_is_kept() {
    let stage = Stage::of(crate::stage::Kind::New).await;
    let nowhere = SessionId::new("nowhere");
    let refused = stage.store.append(&nowhere, vec![Message::user("x").into()]).await;
    assert_eq!(refused, Err(StoreError::NoSession("nowhere".into())));
    assert_eq!(stage.store.messages(&nowhere).await, Ok(Vec::new()));
    let id = stage.session("there").await;
    let window = stage.store.around(&id, MessageId(99), 2).await;
    assert_eq!(window, Err(StoreError::NoMessage { session: id, message: MessageId(99) }));
}

#[tokio::test]
async fn a_summary_that_does_not_know_the_newest_message_is_refused() {
    for stage in Stage::every().await {
        let id = stage.session("moved").await;
        let say = |text: &str| vec![NewMessage::from(Message::user(text))];
        let read = stage.store.append(&id, say("read by who summarises")).await.expect("kept")[0];
        let newest = stage.store.append(&id, say("said by another program meanwhile")).await.expect("kept")[0];
        let before = stage.store.messages(&id).await.expect("read");
        let refused = stage.store.compact(&id, read, say("summary")).await;
        assert_eq!(refused, Err(StoreError::Moved { session: id.clone(), newest }), "{:?}", stage.kind);
        assert_eq!(stage.store.messages(&id).await, Ok(before), "nothing was changed");
        stage.store.compact(&id, newest, say("summary of both")).await.expect("kept");
        assert_eq!(said(&stage.store, &id, Span::Own).await, Ok(vec![Message::user("summary of both")]));
    }
}

#[tokio::test]
async fn a_message_that_no_model_has_read_can_be_revised() {
    for mut stage in Stage::every().await {
        let id = stage.session("revised").await;
        let answer = message(json!({"role": "assistant", "content": "a", "tool_calls": [
            {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}]}));
        let result = |text: &str| message(json!({"role": "tool", "tool_call_id": "c", "name": "f", "content": text}));
        let said = [message(json!({"role": "user", "content": "q", "odd": 1})), answer.clone(), result("draft walrus")];
        let ids = stage.store.append(&id, said.map(NewMessage::from).into()).await.expect("kept");
        stage.store.append(&id, vec![Message::user("and then?").into()]).await.expect("kept");
        stage.store.catch_up().await.expect("indexed");
        let before = stage.store.messages(&id).await.expect("read");

        let final_words = message(json!({"role": "tool", "tool_call_id": "c", "content": "final narwhal", "x": [1]}));
        let new = NewMessage { sent: Some("sent".into()), token_count: Some(3), ..final_words.clone().into() };
        stage.store.revise(&id, ids[2], new).await.expect("revised");
        stage.reopen().await;
        let mut expected = before.clone();
        expected[2] = StoredMessage {
            message: final_words,
            sent: Some("sent".into()),
            token_count: Some(3),
            ..before[2].clone()
        };
        assert_eq!(stage.store.messages(&id).await.as_ref(), Ok(&expected), "{:?}", stage.kind);
        // Whole words and parts of words find what is there now.
        for (words, found) in [("narwhal", 1), ("arwha", 1), ("walrus", 0), ("alru", 0)] {
            let hits = stage.store.search(SearchQuery::new(words)).await.expect("searched").hits;
            assert_eq!(hits.len(), found, "{words} in {:?}", stage.kind);
        }
        // Taken back to what it was, nothing is left beside it.
        stage.store.revise(&id, ids[2], result("draft walrus").into()).await.expect("revised");
        assert_eq!(stage.store.messages(&id).await.as_ref(), Ok(&before), "{:?}", stage.kind);
        let session = stage.store.session(&id).await.expect("read").expect("there");
        assert_eq!((session.message_count, session.tool_call_count), (4, 1));

        let seen = stage.store.revise(&id, ids[0], Message::user("Q").into()).await;
        assert_eq!(seen, Err(StoreError::Seen { session: id.clone(), message: ids[0] }), "an answer follows it");
        for (message, other) in [(ids[2], Message::user("another role")), (MessageId(99_999), Message::user("x"))] {
            let refused = stage.store.revise(&id, message, other.into()).await;
            assert_eq!(refused, Err(StoreError::NoMessage { session: id.clone(), message }), "{:?}", stage.kind);
        }
        stage
            .store
            .revise(&id, ids[1], NewMessage::from(message(json!({"role": "assistant", "content": "b"}))))
            .await
            .expect("the newest answer");
        let session = stage.store.session(&id).await.expect("read").expect("there");
        assert_eq!(session.tool_call_count, 0, "{:?}", stage.kind);
    }
}

#[tokio::test]
async fn rows_of_other_roles_are_kept_and_exported_and_never_sent() {
    for stage in Stage::every().await {
        let id = stage.session("foreign").await;
        let asked = stage.store.append(&id, vec![Message::user("hello").into()]).await.expect("kept")[0];
        stage
            .look()
            .execute_batch(
                "INSERT INTO messages(session_id, role, content, tool_name, timestamp)
                     VALUES('foreign', 'session_meta', 'notes', 't', 5e9), ('foreign', 'developer', 'rules', NULL, 5e9)",
            )
            .expect("written by another program");
        if stage.kind == crate::stage::Kind::Python {
            let sql = "UPDATE messages SET platform_message_id = 'p1', effect_disposition = 'done', observed = 1 WHERE id = ?1";
            stage.look().execute(sql, [asked.0]).expect("written by another program");
        }
        let export = stage.store.export(&id).await.expect("read").expect("there");
        let told = serde_json::to_value(&export.messages).expect("json");
        let brief: Vec<String> = told
            .as_array()
            .expect("a list")
            .iter()
            .map(|row| {
                format!("{} {} {} {}", row["role"], row["content"], row["tool_name"], row["platform_message_id"])
            })
            .collect();
        let platform = if stage.kind == crate::stage::Kind::Python { "\"p1\"" } else { "null" };
        let expected = [
            format!("\"user\" \"hello\" null {platform}"),
            "\"session_meta\" \"notes\" \"t\" null".to_owned(),
            "\"developer\" \"rules\" null null".to_owned(),
        ];
        assert_eq!(brief, expected, "{:?}", stage.kind);
        let again: Vec<StoredMessage> = serde_json::from_value(told).expect("read again");
        assert_eq!(again, export.messages, "{:?}", stage.kind);
        assert_eq!(said(&stage.store, &id, Span::Own).await, Ok(vec![Message::user("hello")]));
        stage.store.rewind(&id, asked).await.expect("taken back");
        let session = stage.store.session(&id).await.expect("read").expect("there");
        assert_eq!(session.message_count, 0, "{:?}", stage.kind);
    }
}
