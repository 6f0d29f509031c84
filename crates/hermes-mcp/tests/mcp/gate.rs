//! A server that runs commands is no way around the gate: what is dangerous in a terminal is dangerous there.

use crate::stage::{Plan, Stage};
use hermes_tools::run::Status;
use serde_json::json;

/// The commands that the gate's own tests hold it to, at home here.
fn dangers(stage: &Stage) -> Vec<String> {
    let home = stage.desk.settings().around.home.display().to_string();
    let lines = include_str!("../../../hermes-tools/tests/gate/dangers.txt").lines();
    let commands = lines.filter(|line| !line.is_empty() && !line.starts_with("# ") && !line.starts_with("== "));
    commands.map(|line| line.replace('␤', "\n").replace('␛', "\u{1b}").replace("/home/ada", &home)).collect()
}

#[tokio::test]
async fn no_dangerous_command_reaches_a_server_where_nobody_can_be_asked() {
    let stage = Stage::with_chaos("plain", json!({}), Plan::default()).await;
    let dangers = dangers(&stage);
    assert!(dangers.len() >= 500, "the corpus is there: {}", dangers.len());
    for command in &dangers {
        let finished = stage.finished("mcp__box__run", json!({"command": command})).await;
        assert_eq!(finished.status, Status::Blocked, "{command}: {}", finished.content.text());
    }
    assert_eq!(stage.lines("commands"), Vec::<String>::new(), "the server heard of none");
    let harmless = stage.call("run", json!({"command": "ls -la"})).await;
    assert_eq!(harmless, json!({"result": "it would have run"}));
    assert_eq!(stage.lines("commands"), ["ls -la"]);
    stage.close().await;
}

#[tokio::test]
async fn a_path_that_our_own_tools_may_not_write_is_not_handed_to_a_server() {
    let stage = Stage::with_chaos("plain", json!({}), Plan::default()).await;
    let secret = stage.home().join("mcp-tokens/far.json");
    let told = stage.finished("mcp__box__bump", json!({"path": secret})).await;
    assert_ne!(told.status, Status::Done, "{}", told.content.text());
    assert_eq!(stage.lines("bumps").len(), 0);
    stage.close().await;
}
