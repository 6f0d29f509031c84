//! Which conversations come, in which order, and which never do.

use crate::stage::{PRESENT, Stage};
use hermes_core::store::{Sessions, Transcript};
use hermes_types::{Message, MessageId, NewSession, SessionId};
use serde_json::{Value, json};
use std::collections::BTreeSet;

#[tokio::test]
async fn a_conversation_that_was_continued_is_found_once() {
    let stage = Stage::new().await;
    let first = stage.session("first", "cli", 2).await;
    stage.talk(&first, 2, &["the ibex plan", "an ibex it is"]).await;
    let second = stage.continued("second", 3, &first).await;
    let inside = stage.talk(&second, 3, &["the ibex again", "still the ibex"]).await;
    let other = stage.session("other", "cli", 1).await;
    stage.talk(&other, 1, &["an ibex elsewhere", "yes"]).await;

    assert_eq!(stage.found(json!({"query": "ibex", "sort": "newest"})).await, ["second", "other"]);
    let answer = stage.recall(json!({"query": "ibex", "sort": "newest"})).await;
    assert_eq!(answer["results"][0]["parent_session_id"], "first");
    assert_eq!(answer["results"][1].get("parent_session_id"), None);
    assert_eq!(answer["sessions_searched"], 3);
    assert_eq!(stage.recall(json!({"session_id": "first"})).await["continued_in"], "second");

    let rebound = stage.recall(json!({"session_id": "first", "around_message_id": inside[0].0})).await;
    assert_eq!(rebound["session_id"], "second");
    let warning = format!("Message {} is in session second, which belongs to first; that one is shown.", inside[0]);
    assert_eq!(rebound["warning"], json!(warning));
    let elsewhere = stage.recall(json!({"session_id": "other", "around_message_id": inside[0].0})).await;
    assert!(elsewhere["error"].as_str().unwrap().contains("is not in session other"), "{elsewhere}");
}

/// The present conversation has a past session with three messages, the last of which it still sees.
async fn compressed(stage: &Stage) -> Vec<MessageId> {
    let before = stage.session("before", "cli", 2).await;
    let said = stage.talk(&before, 2, &["the ibex plan", "noted", "and the ibex?"]).await;
    let messages = vec![Message::user("So far: an animal was planned.").into(), Message::user("and the ibex?").into()];
    let present = NewSession::new(SessionId::new(PRESENT), "cli");
    let taken_along = stage.store.go_on_in(&before, present, said[2], messages).await.expect("gone on");
    said.into_iter().chain(taken_along).collect()
}

fn is_present(answer: &Value) -> bool {
    answer["error"].as_str().is_some_and(|error| error.starts_with("That is the present conversation"))
}

#[tokio::test]
async fn of_the_present_conversation_only_what_compression_took_away_is_found() {
    let stage = Stage::new().await;
    let said = compressed(&stage).await;
    let part = stage.child("part", "cli", 3, &SessionId::new(PRESENT)).await;
    let inside = stage.talk(&part, 3, &["look for the ibex", "found"]).await;
    let old = stage.session("old", "cli", 1).await;
    stage.talk(&old, 1, &["an old ibex", "yes"]).await;

    let answer = stage.recall(json!({"query": "ibex", "sort": "newest"})).await;
    let found = |place: usize| (&answer["results"][place]["session_id"], &answer["results"][place]["match_message_id"]);
    assert_eq!(found(0), (&json!("before"), &json!(said[0])), "what was taken along is before the model");
    assert_eq!((&answer["count"], found(1).0), (&json!(2), &json!("old")));
    assert_eq!(stage.found(json!({"limit": 10})).await, ["old"]);

    for session in ["before", PRESENT, "part"] {
        let shown = stage.recall(json!({"session_id": session, "around_message_id": said[0].0})).await;
        assert_eq!(
            (&shown["session_id"], &shown["messages"][0]["content"]),
            (&json!("before"), &json!("the ibex plan"))
        );
    }
    for (session, message) in [("before", said[2]), (PRESENT, said[3]), (PRESENT, said[4]), ("part", inside[0])] {
        let refused = stage.recall(json!({"session_id": session, "around_message_id": message.0})).await;
        assert!(is_present(&refused), "{session} {message}: {refused}");
    }
    let way_back = stage.recall(json!({"session_id": "before"})).await;
    assert_eq!(way_back["messages"][0]["content"], "the ibex plan", "what was summarised away can be read");
}

#[tokio::test]
async fn what_was_summarised_in_place_is_found_and_what_is_live_is_not() {
    let stage = Stage::new().await;
    let present = stage.session(PRESENT, "cli", 2).await;
    let said = stage.talk(&present, 2, &["the ibex plan", "noted"]).await;
    assert_eq!(stage.found(json!({"query": "ibex"})).await, [""; 0]);
    let summary = vec![Message::user("So far: the ibex was planned.").into()];
    let live = stage.store.compact(&present, said[1], summary).await.expect("compacted");

    let answer = stage.recall(json!({"query": "ibex"})).await;
    assert_eq!((&answer["count"], &answer["results"][0]["match_message_id"]), (&json!(1), &json!(said[0])));
    let shown = stage.recall(json!({"session_id": PRESENT, "around_message_id": said[0].0})).await;
    assert_eq!(shown["messages"][0]["content"], "the ibex plan");
    let refused = stage.recall(json!({"session_id": PRESENT, "around_message_id": live[0].0})).await;
    assert!(is_present(&refused), "{refused}");
}

#[tokio::test]
async fn a_message_is_given_in_full_wherever_it_is_kept() {
    let stage = Stage::new().await;
    let said = compressed(&stage).await;
    let present = SessionId::new(PRESENT);
    let more = stage.talk(&present, 3, &["a compacted one", "an undone one"]).await;
    stage.store.compact(&present, more[1], vec![Message::user("summary").into()]).await.expect("compacted");
    let other = stage.session("other", "telegram", 1).await;
    let elsewhere = stage.talk(&other, 1, &["elsewhere", "yes", "taken back"]).await;
    stage.store.rewind(&other, elsewhere[2]).await.expect("taken back");

    for (message, session, text) in [
        (said[0], "before", "the ibex plan"),
        (said[2], "before", "and the ibex?"),
        (more[0], PRESENT, "a compacted one"),
        (elsewhere[0], "other", "elsewhere"),
    ] {
        let answer = stage.recall(json!({"message_id": message.0})).await;
        assert_eq!((&answer["session_id"], &answer["content"]), (&json!(session), &json!(text)), "{answer}");
        assert_eq!(answer.get("next_offset"), None);
    }
    for message in [elsewhere[2].0, 0, -4, 9_999] {
        let answer = stage.recall(json!({"message_id": message})).await;
        let told = format!("There is no message {message}. Take the number from where it says");
        assert!(answer["error"].as_str().is_some_and(|error| error.starts_with(&told)), "{answer}");
    }
}

#[tokio::test]
async fn people_come_before_jobs_and_the_program_itself_never_comes() {
    let stage = Stage::new().await;
    for (day, (id, source)) in (1..).zip([
        ("chat", "cli"),
        ("night job", "cron"),
        ("group", "telegram"),
        ("helper", "subagent"),
        ("inner", "tool"),
        ("late job", "cron"),
    ]) {
        let session = stage.session(id, source, day).await;
        stage.talk(&session, day, &["the ibex report", "done"]).await;
    }
    let newest = json!({"query": "ibex", "sort": "newest", "limit": 10});
    assert_eq!(stage.found(newest).await, ["group", "chat", "late job", "night job"]);
    let oldest = json!({"query": "ibex", "sort": "oldest", "limit": 10});
    assert_eq!(stage.found(oldest).await, ["chat", "group", "night job", "late job"]);
    assert_eq!(stage.found(json!({"query": "ibex", "sort": "newest", "limit": 1})).await, ["group"]);
    assert_eq!(stage.found(json!({"limit": 10})).await, ["late job", "group", "night job", "chat"]);
}

#[tokio::test]
async fn the_conversation_that_is_called_so_comes_first() {
    let stage = Stage::new().await;
    for (id, title, day) in [("a", "Ibex", 1), ("b", "Ibex and goats", 3), ("c", "", 4)] {
        let session = stage.session(id, "cli", day).await;
        stage.store.rename(&session, title).await.expect("named");
        stage.talk(&session, day, &["about the ibex", "well"]).await;
    }
    let answer = stage.recall(json!({"query": "\"ibex\"", "sort": "newest"})).await;
    assert_eq!(stage.found(json!({"query": "\"ibex\"", "sort": "newest"})).await, ["a", "c", "b"]);
    let first = &answer["results"][0];
    assert_eq!((&first["matched_role"], &first["snippet"]), (&json!("session_title"), &json!("Ibex")));
    assert_eq!(first["messages"][0]["content"], "about the ibex", "it can be scrolled from its beginning");
    assert_eq!(stage.found(json!({"query": "and goats"})).await, ["b"], "a part of a title will do");
    assert_eq!(stage.found(json!({"query": "ib"})).await.len(), 3, "a short piece is no title");
}

#[tokio::test]
async fn what_was_taken_back_is_not_recalled() {
    let stage = Stage::new().await;
    let session = stage.session("s", "cli", 1).await;
    let ids = stage.talk(&session, 1, &["a goat", "yes", "an ibex", "no"]).await;
    stage.store.rewind(&session, ids[2]).await.expect("taken back");
    assert_eq!(stage.found(json!({"query": "ibex"})).await, Vec::<String>::new());
    assert_eq!(stage.recall(json!({"session_id": "s"})).await["message_count"], 2);
    let gone = stage.recall(json!({"session_id": "s", "around_message_id": ids[2].0})).await;
    assert!(gone["error"].as_str().unwrap().contains("is not in session s"), "{gone}");
}

#[tokio::test]
async fn the_same_words_everywhere_bring_each_lineage_once() {
    let stage = Stage::new().await;
    for number in 0..40_u8 {
        let session = stage.session(&format!("s{number:02}"), "cli", number % 28 + 1).await;
        stage.talk(&session, number % 28 + 1, &["ibex", "ibex", "ibex", "ibex"]).await;
    }
    let found = stage.found(json!({"query": "ibex", "limit": 10})).await;
    let different: BTreeSet<&String> = found.iter().collect();
    assert_eq!((found.len(), different.len()), (10, 10));
}
