//! What was recorded is held again by the real program, without the server, and a conversation goes on from an earlier
//! message.

use super::*;
use hermes_core::clock::RealClock;
use hermes_core::store::Sessions;
use hermes_store::SqliteStore;
use hermes_types::SessionId;
use std::sync::Arc;

/// Two questions with a command between them, asked by two processes; the server is gone behind them.
async fn recorded() -> (World, String) {
    let server = ModelServer::start([run("echo hi"), Move::say("It said hi."), Move::say("Sure.")]).await;
    let world = home_at(&server);
    let id = session_of(&world, &["-z", "What does it say?"]).await;
    hermes(&world, &["--resume", &id, "-z", "Sure?"]).await.expect_code(0);
    server.finish();
    (world.env("TZ", "UTC0"), id)
}

async fn replayed(world: &World, words: &[&str], code: i32) -> String {
    let ran = hermes(world, &[&["sessions", "replay"], words].concat()).await.expect_code(code);
    assert_eq!(ran.stderr, "", "{words:?}");
    ran.stdout
}

async fn replayed_json(world: &World, words: &[&str], code: i32) -> Value {
    serde_json::from_str(&replayed(world, &[words, &["--json"]].concat(), code).await).expect("one JSON value")
}

#[tokio::test]
async fn a_session_is_replayed_without_the_server_and_has_the_same_bytes() {
    let (world, id) = recorded().await;
    let told = replayed(&world, &[&id], 0).await;
    let lines: Vec<&str> = told.lines().collect();
    assert_eq!(lines.len(), 5, "{told}");
    for (line, number) in lines.iter().zip(1..=3) {
        assert!(
            line.starts_with(&format!("  #{number}  ")) && line.contains(" shared ") && line.ends_with("  same"),
            "{told}"
        );
    }
    assert_eq!(&lines[3..], ["", "3 requests the same, byte for byte."]);
    let first = replayed_json(&world, &[&id, "--until", "1"], 0).await;
    assert_eq!((&first["same"], first["requests"].as_array().map(Vec::len)), (&json!(1), Some(1)), "{first}");
    // Nothing was asked, run or written by it.
    let shown = || async { hermes(&world, &["sessions", "show", &id, "--json"]).await.expect_code(0).stdout };
    let before = shown().await;
    assert_eq!(replayed(&world, &[&id], 0).await, told);
    assert_eq!(shown().await, before);
}

#[tokio::test]
async fn another_prompt_is_shown_where_it_differs() {
    let (world, id) = recorded().await;
    let store = SqliteStore::open(&world.hermes_home().join("state.db"), Arc::new(RealClock::default())).await;
    let store = store.expect("a store");
    store.set_prompt(&SessionId::new(&id), "You are somebody else.").await.expect("another prompt");
    store.close().await;
    let told = replayed(&world, &[&id], 1).await;
    assert!(told.ends_with("\n0 of 3 requests the same, byte for byte.\n"), "{told}");
    assert_eq!(told.matches("+       \"content\": \"You are somebody else.\"").count(), 3, "{told}");
    assert_eq!(told.matches("\n      -       \"content\": \"").count(), 3, "{told}");
    assert!(told.lines().all(|line| line.chars().count() < 130), "{told}");
    let record = replayed_json(&world, &[&id], 1).await;
    assert_eq!((&record["same"], &record["different"], &record["left_out"]), (&json!(0), &json!(3), &json!(0)));
    assert_eq!(record["requests"][0]["verdict"], "different");
}

#[tokio::test]
async fn what_was_not_recorded_is_said_plainly() {
    let world = nowhere();
    let file = include_bytes!("../../../hermes-store/tests/store/fixtures/v22.db");
    std::fs::write(world.hermes_home().join("state.db"), file).expect("a copy");
    let ran = hermes(&world, &["sessions", "replay", "Idea"]).await.expect_code(1);
    assert_eq!(ran.stdout, "");
    assert!(ran.stderr.contains("cannot be replayed: what went over the wire was not recorded"), "{}", ran.stderr);
}

#[tokio::test]
async fn a_conversation_goes_on_from_an_earlier_message() {
    let server = ModelServer::start([run("echo hi"), Move::say("It said hi."), Move::say("Sure.")]).await;
    let world = home_at(&server);
    let id = session_of(&world, &["-z", "What does it say?"]).await;
    let fork = async |at: &str| hermes(&world, &["sessions", "fork", &id, "--at", at]).await;
    let refused = fork("2").await.expect_code(1);
    let message = "Behind message #2 a call has no result yet; a copy cannot end there. \
                   The nearest places: --at 1 and --at 3.\n";
    assert!(refused.stdout.is_empty() && refused.stderr.ends_with(message), "{}", refused.stderr);
    assert!(fork("9").await.expect_code(1).stderr.contains("its last one is #4"));
    fork("first").await.expect_code(2);
    let forked = fork("#3").await.expect_code(0);
    let copy = forked.stdout.trim().to_owned();
    assert!(is_session_id(&copy) && forked.stderr.contains(&format!("hermes --resume {copy}")), "{forked:?}");
    server.allow_prefix_break("another way from an earlier message");
    hermes(&world, &["--resume", &copy, "-z", "Are you sure?"]).await.expect_code(0);
    let bodies: Vec<Value> =
        server.model_requests().iter().map(|request| request.body.clone().expect("JSON")).collect();
    let messages = |nth: usize| bodies[nth]["messages"].as_array().expect("messages").clone();
    assert_eq!(messages(2)[..4], messages(1)[..4], "prompt, question, call and result are the same");
    assert!(messages(2).last().is_some_and(|last| last["content"] == "Are you sure?"));
    assert!(!bodies[2].to_string().contains("It said hi."), "what came behind is not in it");
    let json = replayed_json(&world, &[&copy], 0).await;
    assert_eq!(json["same"], 1, "the copy has a record of its own");
    server.finish();
}
