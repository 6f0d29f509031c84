//! What is on disk after a question, however it ended.

use super::*;
use hermes_testkit::Move;
use serde_json::{Value, json};

/// The conversations of a home, as `hermes sessions export` tells them.
async fn kept(world: &World) -> Vec<Value> {
    let ran = hermes(world, &["sessions", "export", "--all"]).await;
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    ran.stdout.lines().map(|line| serde_json::from_str(line).expect("a line of JSON")).collect()
}

/// Who said what.
fn said(session: &Value) -> Vec<String> {
    let messages = session["messages"].as_array().expect("messages");
    messages.iter().map(|message| format!("{}: {}", message["role"], message["content"])).collect()
}

#[tokio::test]
async fn an_answered_question_is_kept_with_what_it_cost() {
    let server = ModelServer::start(Move::say("Blue light scatters.")).await;
    let world = home_at(&server);
    let ran = hermes(&world, &["-z", "why is the sky blue?"]).await;
    assert_eq!(told(&ran), (Some(0), "Blue light scatters.\n", ""));
    let sessions = kept(&world).await;
    assert_eq!(sessions.len(), 1);
    assert_eq!(said(&sessions[0]), [r#""user": "why is the sky blue?""#, r#""assistant": "Blue light scatters.""#]);
    let facts = ["source", "model", "end_reason", "billing_provider"].map(|key| sessions[0][key].clone());
    assert_eq!(facts, [json!("cli"), json!("rehearsal-model"), json!("cli_close"), json!("custom:rehearsal")]);
    assert!(sessions[0]["output_tokens"].as_u64().is_some_and(|tokens| tokens > 0), "{}", sessions[0]);
}

#[tokio::test]
async fn a_question_that_failed_is_kept_without_an_answer() {
    let server = ModelServer::start(Move::status(402)).await;
    let world = home_at(&server);
    let ran = hermes(&world, &["-z", "hi"]).await;
    assert_eq!(ran.code, Some(1));
    let sessions = kept(&world).await;
    assert_eq!(sessions.iter().map(said).collect::<Vec<_>>(), [[r#""user": "hi""#]]);
}

#[tokio::test]
async fn a_store_that_cannot_be_used_costs_the_record_and_not_the_answer() {
    let server = ModelServer::start(Move::say("Here.")).await;
    let world = home_at(&server);
    std::fs::create_dir(world.hermes_home().join("state.db")).expect("a folder in its place");
    let ran = hermes(&world, &["-z", "hi", "--output-format", "json"]).await;
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let result: Value = serde_json::from_str(&ran.stdout).expect("JSON");
    assert_eq!(result["text"], "Here.");
    let reason = result["not_kept"].as_str().expect("a reason");
    assert!(reason.contains("state.db"), "{reason}");
    assert_eq!(ran.stderr, format!("hermes -z: this conversation is not kept: {reason}\n"));
}

#[tokio::test]
async fn two_at_once_are_both_kept() {
    let server = ModelServer::start([Move::say("Yes."), Move::say("Yes."), Move::say("Yes.")]).await;
    let world = home_at(&server);
    let line = "$0 -z one & $0 -z two & $0 -z three & wait";
    let ran = shell(&world, line).await;
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""), "{HERMES}");
    let mut questions: Vec<String> = kept(&world).await.iter().map(|session| said(session)[0].clone()).collect();
    questions.sort();
    assert_eq!(questions, [r#""user": "one""#, r#""user": "three""#, r#""user": "two""#]);
}

#[tokio::test]
async fn a_program_that_is_killed_loses_no_question() {
    let server = ModelServer::start(Move::say("words that never end").chunk(3).stall_after(2)).await;
    let world = home_at(&server);
    let mut child = world.command(HERMES, &["-z", "remember me"]).spawn().expect("started");
    until_asked(&server).await;
    child.kill().await.expect("killed");
    let sessions = kept(&world).await;
    assert_eq!(sessions.iter().map(said).collect::<Vec<_>>(), [[r#""user": "remember me""#]]);
    let stats = hermes(&world, &["sessions", "recover"]).await;
    assert_eq!(stats.code, Some(0), "{}", stats.stderr);
    server.finish();
}
