//! The plan of a conversation.

use crate::stage::Stage;
use hermes_tools::todo::TodoList;
use serde_json::{Value, json};

fn item(id: &str, content: &str, status: &str) -> Value {
    json!({"id": id, "content": content, "status": status})
}

#[tokio::test]
async fn a_plan_is_written_read_and_changed() {
    let stage = Stage::new();
    let empty = r#"{"todos":[],"summary":{"total":0,"pending":0,"in_progress":0,"completed":0,"cancelled":0}}"#;
    assert_eq!(stage.call_text("todo", json!({})).await, empty);

    let first = json!({"todos": [item("1", "look", "in_progress"), item("2", "write", "pending")]});
    let shown = r#"{"todos":[{"id":"1","content":"look","status":"in_progress"},{"id":"2","content":"write","status":"pending"}],"summary":{"total":2,"pending":1,"in_progress":1,"completed":0,"cancelled":0}}"#;
    assert_eq!(stage.call_text("todo", first).await, shown);
    assert_eq!(stage.call_text("todo", json!({})).await, shown, "reading changes nothing");

    let change = json!({"merge": true, "todos": [{"id": "1", "status": "completed"}, item("3", "test", "pending")]});
    let answer = stage.call("todo", change).await;
    let todos = json!([item("1", "look", "completed"), item("2", "write", "pending"), item("3", "test", "pending")]);
    assert_eq!(answer["todos"], todos);
}

#[tokio::test]
async fn what_a_model_gets_wrong_is_put_right() {
    let stage = Stage::new();
    let odd = json!({"todos": [item("1", "old", "pending"), item("2", "b", "PENDING"), item("1", "new", "soon"), item("", " ", ""), 7]});
    let answer = stage.call("todo", odd).await;
    let todos = json!([item("2", "b", "pending"), item("1", "new", "pending"), item("?", "(nothing said)", "pending")]);
    assert_eq!(answer["todos"], todos);
}

#[tokio::test]
async fn a_plan_has_a_greatest_size_and_says_so() {
    let stage = Stage::new();
    let many: Vec<Value> = (0..300).map(|number| item(&number.to_string(), "a step", "pending")).collect();
    let answer = stage.call("todo", json!({"todos": many})).await;
    assert_eq!(answer["summary"]["total"], 256);
    assert_eq!(answer["note"], "The last 44 were left out: at most 256 items.");
    let long = json!({"todos": [item("1", &"é".repeat(5000), "pending")]});
    let answer = stage.call("todo", long).await;
    let content = answer["todos"][0]["content"].as_str().expect("text");
    assert_eq!(content.chars().count(), 4000);
    assert!(content.ends_with("é… [cut]"));
}

#[tokio::test]
async fn two_changes_of_one_reply_are_made_in_their_order() {
    let stage = Stage::new();
    for _ in 0..20 {
        let write = json!({"todos": [item("1", "a", "pending")]});
        let finish = json!({"merge": true, "todos": [item("1", "", "completed")]});
        let results = stage.batch(&[("todo", write), ("todo", finish)]).await;
        let last: Value = serde_json::from_str(&results[1].content.text()).expect("JSON");
        assert_eq!(last["todos"], json!([item("1", "a", "completed")]));
    }
}

#[tokio::test]
async fn only_what_is_open_is_remembered_after_compression() {
    let stage = Stage::new();
    assert_eq!(stage.desk.todo.reminder(), None);
    let todos =
        [("1", "done", "completed"), ("2", "now", "in_progress"), ("3", "later", "pending"), ("4", "no", "cancelled")];
    let todos: Vec<Value> = todos.iter().map(|(id, content, status)| item(id, content, status)).collect();
    stage.call("todo", json!({"todos": todos})).await;
    let reminder = "[Open items of your plan, kept when the conversation was compressed]\n- [>] 2. now\n- [ ] 3. later";
    assert_eq!(stage.desk.todo.reminder().as_deref(), Some(reminder));
}

#[tokio::test]
async fn a_resumed_conversation_has_its_plan_again() {
    let stage = Stage::new();
    let result = stage.call_text("todo", json!({"todos": [item("1", "go on", "in_progress")]})).await;
    let resumed = TodoList::default();
    assert!(resumed.restore(&result));
    assert_eq!(resumed.reminder(), stage.desk.todo.reminder());
    assert!(!resumed.restore("{\"error\": \"no list\"}"));
    assert!(!resumed.restore(&format!("{{\"todos\": [], \"pad\": \"{}\"}}", "x".repeat(512_000))));
    assert!(!resumed.restore("cut off {\"todos"));
    assert_eq!(resumed.reminder(), stage.desk.todo.reminder(), "what is no result changes nothing");
}
