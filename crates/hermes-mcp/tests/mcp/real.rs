//! Servers that others wrote, where the test command installed them: the reference servers over both transports.

use crate::stage::{Plan, Stage, unframed};
use hermes_mcp::State;
use serde_json::{Value, json};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// A server that the test command names; without it the story passes itself over.
fn installed(variable: &str) -> Option<String> {
    let found = std::env::var(variable).ok();
    if found.is_none() {
        eprintln!("passed over: {variable} is not set");
    }
    found
}

async fn stage(name: &str, entry: Value) -> Stage {
    let name = name.to_owned();
    let stage = Stage::build(Plan::default(), move |_| json!({name: entry})).await;
    stage.becomes_ready().await;
    stage
}

#[tokio::test]
async fn the_time_server_tells_the_time() {
    let Some(command) = installed("HERMES_TEST_MCP_TIME") else { return };
    let stage = stage("time", json!({"command": command, "args": ["--local-timezone", "UTC"]})).await;
    let told = stage.finished("mcp__time__get_current_time", json!({"timezone": "Europe/Vienna"})).await;
    let told = unframed(&told.content.text());
    assert!(told["result"].as_str().unwrap().contains("Europe/Vienna"), "{told}");
    let wrong = stage.finished("mcp__time__get_current_time", json!({"timezone": "Nowhere/At_All"})).await;
    assert!(unframed(&wrong.content.text())["error"].is_string(), "{}", wrong.content.text());
    stage.close().await;
}

#[tokio::test]
async fn the_git_server_reads_a_repository() {
    let Some(command) = installed("HERMES_TEST_MCP_GIT") else { return };
    let stage = stage("git", json!({"command": command})).await;
    let place = stage.desk.cwd();
    let made = Command::new("git").arg("-C").arg(&place).args(["init", "-q"]).status().unwrap();
    assert!(made.success());
    std::fs::write(place.join("a.txt"), "a").unwrap();
    let told = stage.finished("mcp__git__git_status", json!({"repo_path": place})).await.content.text();
    assert!(told.contains("a.txt"), "{told}");
    stage.close().await;
}

#[tokio::test]
async fn the_file_server_works_in_its_folder_and_the_gate_watches_its_paths() {
    let Some(command) = installed("HERMES_TEST_MCP_FILESYSTEM") else { return };
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path().canonicalize().unwrap();
    let stage = stage("files", json!({"command": command, "args": [folder]})).await;
    // It takes the folder of the conversation for its own, because that is where the client says its root is.
    let file = stage.desk.cwd().join("note.txt");
    let written =
        stage.finished("mcp__files__write_file", json!({"path": file, "content": "hello"})).await.content.text();
    assert!(written.contains("Successfully"), "{written}");
    let read = stage.finished("mcp__files__read_text_file", json!({"path": file})).await.content.text();
    assert!(read.contains("hello"), "{read}");
    let config = stage.home().join(".env");
    let refused = stage.finished("mcp__files__write_file", json!({"path": config, "content": "KEY=1"})).await;
    assert!(!config.exists() && unframed(&refused.content.text())["error"].is_string(), "{}", refused.content.text());
    stage.close().await;
}

async fn everything(stage: &Stage) {
    let echo = stage.finished("mcp__all__echo", json!({"message": "hello"})).await.content.text();
    assert!(echo.contains("hello"), "{echo}");
    let sum =
        stage.finished("mcp__all__get-sum".replace('-', "_").as_str(), json!({"a": 2, "b": 3})).await.content.text();
    assert!(sum.contains('5'), "{sum}");
    let resources = stage.finished("mcp__all__list_resources", json!({})).await.content.text();
    assert!(resources.contains("uri"), "{resources}");
    let image = stage.finished("mcp__all__get_tiny_image", json!({})).await.content.text();
    assert!(image.contains("MEDIA:"), "{image}");
}

#[tokio::test]
async fn the_reference_server_works_over_its_input_and_output() {
    let Some(command) = installed("HERMES_TEST_MCP_EVERYTHING") else { return };
    let stage = stage("all", json!({"command": command, "args": ["stdio"]})).await;
    everything(&stage).await;
    stage.close().await;
}

/// Ended with the test.
struct Listening(Child);

impl Drop for Listening {
    fn drop(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

#[tokio::test]
async fn the_reference_server_works_behind_an_address() {
    let Some(command) = installed("HERMES_TEST_MCP_EVERYTHING") else { return };
    for (protocol, path, more) in [("streamableHttp", "/mcp", json!({})), ("sse", "/sse", json!({"transport": "sse"}))]
    {
        let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let port = free.local_addr().unwrap().port();
        drop(free);
        let mut server = Command::new(&command);
        server.arg(protocol).env("PORT", port.to_string()).stdout(Stdio::null()).stderr(Stdio::null());
        let _server = Listening(server.spawn().unwrap());
        while std::net::TcpStream::connect(("127.0.0.1", port)).is_err() {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        let mut entry = json!({"url": format!("http://127.0.0.1:{port}{path}")});
        entry.as_object_mut().unwrap().extend(more.as_object().cloned().unwrap());
        let stage = stage("all", entry).await;
        assert_eq!(stage.report().state, State::Ready);
        everything(&stage).await;
        stage.close().await;
    }
}
