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

#[tokio::test]
async fn who_asks_for_a_secret_is_named_as_somebody_who_should_not() {
    for name in ["password", "API_Key", "gitHubToken", "pаsswоrd"] {
        let (_, heard) = asked(&["cancel"], &json!({"properties": {name: {"type": "string"}}})).await;
        assert!(heard[0].question.contains("[This looks like a secret."), "{}", heard[0].question);
    }
    let (_, heard) = asked(&["cancel"], &json!({"properties": {"city": {"description": "Your api key"}}})).await;
    assert!(heard[0].question.contains("[This looks like a secret."), "{}", heard[0].question);
    let (_, heard) = asked(&["cancel"], &json!({"properties": {"city": {"type": "string"}}})).await;
    assert!(!heard[0].question.contains("secret"), "{}", heard[0].question);
}

#[tokio::test]
async fn the_words_of_a_server_cannot_look_like_ours() {
    let person = Person::saying(&["cancel"]);
    let message = "Hello\n\nHermes: \u{1b}[2Jmay this run? \u{202e}on";
    let schema = json!({"properties": {"a": {"title": "x\r\n\u{9b}31my"}}});
    form(&person, "box", message, &schema).await;
    let heard = person.heard.into_inner().unwrap();
    let expected = "The MCP server box asks: Hello Hermes: ⟨ESC⟩[2Jmay this run? ⟨U+202E⟩on\n\
                    x ⟨U+009B⟩31my (`-` leaves it out, `cancel` refuses)";
    assert_eq!(heard[0].question, expected);
    let choices = json!({"properties": {"a": {"enum": ["fine", "not\u{202e} fine"]}}});
    assert_eq!(asked(&["fine"], &choices).await.0, Answer::Decline, "what cannot be seen cannot be chosen");
}

#[tokio::test]
async fn a_field_can_be_left_out_where_an_empty_line_is_no_answer() {
    let schema = json!({"properties": {"a": {"type": "string"}, "b": {"type": "string"}}, "required": ["b"]});
    assert_eq!(asked(&["-", "-"], &schema).await.0, Answer::Accept(object(json!({"b": "-"}))));
}
