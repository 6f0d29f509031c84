//! What servers ask back: a model, the person, and where they are.

use crate::stage::{Plan, Stage};
use futures_util::future::BoxFuture;
use hermes_core::stop::Stop;
use hermes_tools::aide::Aide;
use hermes_types::{Fault, Reply, Request};
use serde_json::{Value, json};
use std::sync::{Arc, Mutex};

/// A model that says one word and remembers what it was asked.
#[derive(Default)]
struct Oracle(Mutex<Vec<(String, Request)>>);

impl Aide for Oracle {
    fn ask<'a>(&'a self, task: &'a str, request: Request, _stop: &'a Stop) -> BoxFuture<'a, Result<Reply, Fault>> {
        self.0.lock().unwrap().push((task.to_owned(), request));
        let mut reply = Reply { model: Some("oracle".to_owned()), ..Reply::default() };
        reply.message.content = Some("Blue.".into());
        Box::pin(std::future::ready(Ok(reply)))
    }
}

/// What a server was answered, as it tells it.
async fn answered(stage: &Stage, tool: &str) -> Value {
    let result = stage.call(tool, json!({})).await;
    serde_json::from_str(result["result"].as_str().unwrap()).unwrap()
}

#[tokio::test]
async fn a_question_to_a_model_is_answered_within_the_ration() {
    let oracle = Arc::new(Oracle::default());
    let plan = Plan { aide: Some(oracle.clone()), ..Plan::default() };
    let stage = Stage::with_chaos("plain", json!({"sampling": {"max_rpm": 1, "max_tokens_cap": 50}}), plan).await;
    let first = answered(&stage, "ask_model").await;
    assert_eq!((&first["content"]["text"], &first["model"]), (&json!("Blue."), &json!("oracle")));
    let asked = oracle.0.lock().unwrap().remove(0);
    assert_eq!((asked.0.as_str(), asked.1.max_output_tokens), ("mcp", Some(50)));
    assert_eq!(asked.1.session.as_ref(), Some(&stage.desk.session), "it is billed to the conversation that calls");
    let second = answered(&stage, "ask_model").await;
    assert!(second["message"].as_str().unwrap().contains("only 1 questions in a minute"), "{second}");
    assert_eq!(oracle.0.lock().unwrap().len(), 0);
    stage.close().await;
}

#[tokio::test]
async fn a_server_that_nobody_calls_cannot_spend_anything() {
    let oracle = Arc::new(Oracle::default());
    let plan = Plan { aide: Some(oracle.clone()), ..Plan::default() };
    let stage = Stage::with_chaos("greedy", json!({}), plan).await;
    stage.until("it asked", || !stage.lines("begged").is_empty()).await;
    let told = stage.lines("begged").remove(0);
    assert!(told.contains("only while a call waits for them"), "{told}");
    assert_eq!(oracle.0.lock().unwrap().len(), 0);
    stage.close().await;
}

#[tokio::test]
async fn the_model_of_a_server_is_the_one_that_is_asked() {
    let oracle = Arc::new(Oracle::default());
    let plan = Plan { aide: Some(oracle.clone()), ..Plan::default() };
    let stage = Stage::with_chaos("plain", json!({"sampling": {"model": "small"}}), plan).await;
    answered(&stage, "ask_model").await;
    assert_eq!(oracle.0.lock().unwrap()[0].1.model, "small");
    stage.close().await;
}

#[tokio::test]
async fn who_does_not_stop_asking_is_not_heard_any_more() {
    let plan = Plan { says: Some(vec!["Ada", "no", "cancel", "no", "Ada", "Ada"]), ..Plan::default() };
    let stage = Stage::with_chaos("plain", json!({}), plan).await;
    let said = answered(&stage, "nag").await;
    let expected: Vec<&str> = [&["accept"][..], &["decline"; 9]].concat();
    assert_eq!(said["actions"], json!(expected));
    assert_eq!(stage.person.heard.lock().unwrap().len(), 4, "three times without an answer are enough");
    assert_eq!(answered(&stage, "ask_person").await["action"], "accept", "the next call begins anew");
    stage.close().await;
}

#[tokio::test]
async fn without_a_model_nobody_answers() {
    let stage = Stage::with_chaos("plain", json!({}), Plan::default()).await;
    let told = answered(&stage, "ask_model").await;
    assert!(told["message"].as_str().unwrap().contains("not answered here"), "{told}");
    stage.close().await;
}

#[tokio::test]
async fn the_person_is_asked_through_the_face_of_the_conversation() {
    let plan = Plan { says: Some(vec!["Ada"]), ..Plan::default() };
    let stage = Stage::with_chaos("plain", json!({}), plan).await;
    assert_eq!(answered(&stage, "ask_person").await, json!({"action": "accept", "content": {"name": "Ada"}}));
    let heard = stage.person.heard.lock().unwrap()[0].question.clone();
    assert!(heard.starts_with("The MCP server box asks: Who are you?"), "{heard}");
    assert_eq!(answered(&stage, "ask_person").await, json!({"action": "cancel"}), "silence is no yes");
    assert_eq!(answered(&stage, "ask_page").await, json!({"action": "decline"}), "pages are not opened for servers");
    stage.close().await;
}

#[tokio::test]
async fn where_nobody_sits_the_answer_is_no() {
    let stage = Stage::with_chaos("plain", json!({}), Plan::default()).await;
    assert_eq!(answered(&stage, "ask_person").await, json!({"action": "decline"}));
    assert_eq!(stage.person.heard.lock().unwrap().len(), 0);
    stage.close().await;
}

#[tokio::test]
async fn a_server_is_told_where_the_conversation_is() {
    let stage = Stage::with_chaos("plain", json!({}), Plan::default()).await;
    let roots = answered(&stage, "where").await;
    let here = format!("file://{}/", stage.desk.cwd().display());
    assert_eq!(roots["roots"][0]["uri"], json!(here));
    stage.close().await;
}
