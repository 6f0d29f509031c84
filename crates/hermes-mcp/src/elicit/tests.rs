use super::*;
use futures_util::future::BoxFuture;
use hermes_tools::face::ApprovalQuestion;
use hermes_tools::gate;
use serde_json::json;
use std::sync::Mutex;

/// A person who says these things, one after the other, and then nothing.
struct Person {
    says: Mutex<Vec<&'static str>>,
    heard: Mutex<Vec<Clarification>>,
}

impl Person {
    fn saying(says: &[&'static str]) -> Self {
        Self { says: Mutex::new(says.iter().rev().copied().collect()), heard: Mutex::default() }
    }
}

impl Face for Person {
    fn channel(&self) -> Channel {
        Channel::Person
    }

    fn approve(&self, _question: ApprovalQuestion) -> BoxFuture<'_, gate::Answer> {
        Box::pin(std::future::ready(gate::Answer::Deny))
    }

    fn clarify(&self, question: Clarification) -> BoxFuture<'_, Reply> {
        self.heard.lock().unwrap().push(question);
        let said = self.says.lock().unwrap().pop();
        Box::pin(std::future::ready(said.map_or(Reply::Silence, |said| Reply::Said(said.to_owned()))))
    }

    fn password(&self, _reason: String) -> BoxFuture<'_, Option<String>> {
        Box::pin(std::future::ready(None))
    }
}

fn schema() -> Value {
    json!({
        "type": "object",
        "properties": {
            "name": {"type": "string", "title": "Your name"},
            "age": {"type": "integer"},
            "colour": {"type": "string", "enum": ["red", "green"]},
            "news": {"type": "boolean", "default": false}
        },
        "required": ["name", "age"]
    })
}

async fn asked(says: &[&'static str], schema: &Value) -> (Answer, Vec<Clarification>) {
    let person = Person::saying(says);
    let answer = form(&person, "box", "Who are you?", schema).await;
    (answer, person.heard.into_inner().unwrap())
}

fn object(value: Value) -> Object {
    match value {
        Value::Object(object) => object,
        other => panic!("{other}"),
    }
}

#[tokio::test]
async fn a_form_is_asked_field_by_field() {
    let (answer, heard) = asked(&["Ada", "many", "36", "RED", ""], &schema()).await;
    assert_eq!(answer, Answer::Accept(object(json!({"name": "Ada", "age": 36, "colour": "red", "news": false}))));
    let first = "The MCP server box asks: Who are you?\nYour name (type `cancel` to refuse)";
    assert_eq!(heard[0].question, first);
    assert!(heard[2].question.contains("age [a whole number]"), "{}", heard[2].question);
    assert_eq!(heard[3].choices, ["red", "green"]);
    assert_eq!(heard[4].choices, ["yes", "no"]);
}

#[tokio::test]
async fn whatever_is_no_answer_is_no_yes() {
    assert_eq!(asked(&["cancel"], &schema()).await.0, Answer::Decline);
    assert_eq!(asked(&[], &schema()).await.0, Answer::Cancel);
    assert_eq!(asked(&["Ada", "x", "y", "z"], &schema()).await.0, Answer::Cancel);
    assert_eq!(asked(&["Ada", "36", "no"], &schema()).await.0, Answer::Decline, "no colour is called no");
    assert_eq!(asked(&["x"], &json!({"properties": {"a": {"type": "object"}}})).await.0, Answer::Decline);
}

#[tokio::test]
async fn a_form_without_fields_is_a_question() {
    let bare = json!({"type": "object", "properties": {}});
    assert_eq!(asked(&["Yes"], &bare).await.0, Answer::Accept(Object::new()));
    assert_eq!(asked(&["No"], &bare).await.0, Answer::Decline);
    assert_eq!(asked(&[], &bare).await.0, Answer::Cancel);
}
