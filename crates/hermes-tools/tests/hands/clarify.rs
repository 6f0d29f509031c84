//! Questions to a person, and what counts where nobody answers.

use crate::stage::{Plan, Stage};
use hermes_tools::face::{Clarification, Reply};
use hermes_tools::run::Status;
use serde_json::{Value, json};

fn attended(says: &[&str]) -> Stage {
    let says = says.iter().map(|words| Reply::Said((*words).to_owned())).collect();
    Stage::build(Plan { answers: Some(Vec::new()), says, ..Plan::default() })
}

#[tokio::test]
async fn a_person_chooses() {
    let stage = attended(&[" the second \n"]);
    let choices =
        json!(["one", {"label": "two", "description": "not this"}, {"description": "three"}, "one", 4, "five"]);
    let answer = stage.call_text("clarify", json!({"question": "Which?", "choices": choices})).await;
    let expected = r#"{"question":"Which?","choices_offered":["one","two","three","4"],"user_response":"the second"}"#;
    assert_eq!(answer, expected);
    let choices = ["one", "two", "three", "4"].map(str::to_owned).to_vec();
    let asked = Clarification { question: "Which?".to_owned(), choices };
    assert_eq!(*stage.person.clarified.lock().expect("questions"), [asked]);
}

#[tokio::test]
async fn an_open_question_has_no_choices() {
    let stage = attended(&["blue"]);
    let answer = stage.call("clarify", json!({"question": "What colour?", "choices": []})).await;
    assert_eq!(answer, json!({"question": "What colour?", "choices_offered": null, "user_response": "blue"}));
}

#[tokio::test]
async fn where_nobody_is_the_model_is_told_what_counts_instead() {
    let stage = Stage::new();
    let choices = stage.call("clarify", json!({"question": "Which?", "choices": ["a", "b"]})).await;
    let expected = json!({
        "question": "Which?", "choices_offered": ["a", "b"], "user_response": null, "answered": false, "default": "a",
        "note": "Nobody is there to answer. The first choice counts as the default: go on with it unless something you \
                 know speaks against it, and say in your answer that you chose it. Do not ask again.",
    });
    assert_eq!(choices, expected);
    let open = stage.call("clarify", json!({"question": "What?"})).await;
    let expected = json!({
        "question": "What?", "choices_offered": null, "user_response": null, "answered": false, "default": null,
        "note": "Nobody is there to answer. Assume what is most likely and easiest to undo, go on, and say in your \
                 answer what you assumed. Do not ask again.",
    });
    assert_eq!(open, expected);
    assert_eq!(*stage.person.clarified.lock().expect("questions"), []);
}

#[tokio::test]
async fn a_person_who_does_not_answer_is_not_waited_for_for_ever() {
    let config = json!({"agent": {"clarify_timeout": 0.05}});
    let stage = Stage::build(Plan { config, answers: Some(Vec::new()), ..Plan::default() });
    stage.person.falls_asleep();
    let answer = stage.call("clarify", json!({"question": "Hello?", "choices": ["go on", "stop"]})).await;
    assert_eq!(answer["default"], "go on");
    assert!(answer["note"].as_str().expect("a note").starts_with("The person did not answer."), "{answer}");
}

#[tokio::test]
async fn an_interrupt_ends_the_question() {
    let stage = Stage::build(Plan { answers: Some(Vec::new()), ..Plan::default() });
    stage.person.falls_asleep();
    let question = [("clarify", json!({"question": "Hello?"}))];
    let interrupt = async {
        while stage.person.clarified.lock().expect("questions").is_empty() {
            tokio::task::yield_now().await;
        }
        stage.stop.stop();
    };
    let (results, ()) = tokio::join!(stage.batch(&question), interrupt);
    let told: Value = serde_json::from_str(&results[0].content.text()).expect("JSON");
    assert_eq!(told, json!({"error": "the person interrupted instead of answering", "status": "cancelled"}));
    assert_eq!(results[0].status, Status::Cancelled);
}

#[tokio::test]
async fn a_question_cannot_paint_on_the_terminal() {
    let stage = attended(&["ok"]);
    let question = "\u{1b}[2J\u{1b}]0;title\u{7}Delete\u{202e} it?\u{0}\r\nReally?";
    let answer = stage.call("clarify", json!({"question": question, "choices": ["\u{1b}[31myes\u{1b}[0m"]})).await;
    assert_eq!(answer["question"], "Delete it?\nReally?");
    assert_eq!(answer["choices_offered"], json!(["yes"]));
    let empty = stage.call("clarify", json!({"question": "\u{7} \n"})).await;
    assert_eq!(empty, json!({"error": "question is empty. Say what you want to know."}));
}
