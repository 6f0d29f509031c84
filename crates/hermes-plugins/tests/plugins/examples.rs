//! The plugins of `examples/plugins`, as they are.

use crate::stage::{Plan, Stage};
use hermes_tools::run::Status;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

fn example(name: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/plugins").join(name);
    path.canonicalize().expect("an example")
}

#[tokio::test]
async fn the_one_in_python_counts_and_guards() {
    let stage = Stage::build(Plan { folders: vec![example("librarian")], ..Plan::default() }).await;
    assert_eq!(stage.odd, Vec::<String>::new());
    std::fs::write(stage.project("poem.txt"), "so much depends\nupon\n").expect("written");
    let counted: Value =
        serde_json::from_str(&stage.text("word_count", json!({"path": "poem.txt"})).await).expect("JSON");
    assert_eq!(counted, json!({"path": "poem.txt", "words": 4}));
    let blocked = stage.call("write_file", json!({"path": "archive/old.txt", "content": "new"})).await;
    assert_eq!(blocked.status, Status::Blocked);
    assert!(blocked.content.text().contains("The archive stays as it is"), "{}", blocked.content.text());
    stage.extensions.close().await;
    assert!(stage.data("librarian", "calls.log").contains("write_file blocked"));
}

#[tokio::test]
async fn the_one_in_shell_tells_the_time() {
    let stage = Stage::build(Plan { folders: vec![example("clock")], ..Plan::default() }).await;
    let told = stage.text("what_time_is_it", json!({})).await;
    assert!(told.starts_with("It is ") && told.ends_with('.'), "{told}");
    stage.extensions.close().await;
}

#[tokio::test]
async fn the_hook_in_shell_stops_a_force_push() {
    let hook = example("hooks").join("no-force-push.sh");
    let config = json!({"hooks": {"pre_tool_call": [{"command": hook, "matcher": "terminal"}]}});
    let stage = Stage::build(Plan { config, ..Plan::default() }).await;
    let pushed = stage.call("terminal", json!({"command": "git push --force origin main"})).await;
    assert_eq!(pushed.status, Status::Blocked);
    assert!(pushed.content.text().contains("No force pushes"), "{}", pushed.content.text());
    assert_eq!(stage.call("terminal", json!({"command": "echo git push"})).await.status, Status::Done);
}
