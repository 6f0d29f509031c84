//! The Python program on the same file. `scripts/test` installs it and sets `HERMES_TEST_PYTHON`; without it these
//! stories pass themselves over.

use crate::model::{Model, Op};
use crate::stage::{Kind, Stage, open, said};
use hermes_core::store::{Sessions, Transcript};
use hermes_store::SqliteStore;
use hermes_types::{Content, Message, NewMessage, NewSession, RowState, SessionId, Span, StoredMessage};
use rusqlite::Connection;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

struct Python(PathBuf);

impl Python {
    #[allow(clippy::print_stderr, reason = "a test that passes itself over says so")]
    fn here() -> Option<Self> {
        let here = std::env::var_os("HERMES_TEST_PYTHON").map(|python| Self(python.into()));
        if here.is_none() {
            eprintln!(
                "passed over: HERMES_TEST_PYTHON names no Python with the Python program (scripts/test installs it)"
            );
        }
        here
    }

    fn command(&self, script: &str, path: &Path, rest: &[&str]) -> Command {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests");
        let mut command = Command::new(&self.0);
        command.arg(folder.join(script)).arg(path).args(rest);
        command
    }

    fn run(&self, script: &str, path: &Path, rest: &[&str]) -> String {
        let output = self.command(script, path, rest).output().expect("Python");
        assert!(output.status.success(), "{script}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).expect("text")
    }

    /// What the Python program sees.
    fn read_back(&self, path: &Path, queries: &[&str]) -> Value {
        serde_json::from_str(&self.run("store/fixtures/read_back.py", path, queries)).expect("JSON")
    }
}

fn message(value: Value) -> Message {
    serde_json::from_value(value).expect("a message")
}

/// A conversation with everything a founding schema has a column for, and things it has none for.
fn rich() -> Vec<NewMessage> {
    let sent = Some(Content::from("แสดงไฟล์ quokka  \n<memory>x</memory>"));
    vec![
        message(json!({"role": "system", "content": "Be brief."})).into(),
        NewMessage { sent, token_count: Some(3), ..message(json!({"role": "user", "content": "แสดงไฟล์ quokka", "x": 1.5})).into() },
        message(json!({"role": "assistant", "content": "", "reasoning": "think", "reasoning_content": "why",
            "reasoning_details": [{"type": "reasoning.text", "signature": "s=="}], "codex_reasoning_items": [{"id": "rs"}],
            "anthropic_content_blocks": [{"type": "thinking"}], "finish_reason": "tool_calls",
            "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "ls", "arguments": "{\"在\": 1}"}}]})).into(),
        message(json!({"role": "tool", "tool_call_id": "c1", "name": "ls", "content": "numbat.txt"})).into(),
        message(json!({"role": "user", "content": [{"type": "text", "text": "部署数据库服务器"}, {"type": "image_url",
            "image_url": {"url": "data:image/png;base64,AAAA"}}]})).into(),
        message(json!({"role": "assistant", "content": "数据库服务器已经部署完成", "finish_reason": "stop"})).into(),
    ]
}

const SESSIONS: [&str; 7] = ["rich", "appended", "replaced", "compacted", "undone", "deleted", "child"];

async fn tell_stories(stage: &Stage) {
    let store = &stage.store;
    for name in SESSIONS.iter().take(6) {
        let id = stage.session(name).await;
        let new =
            if *name == "rich" { rich() } else { ["a", "b", "c"].map(|part| say(&format!("{name} {part}"))).into() };
        store.append(&id, new).await.expect("kept");
    }
    let rich = SessionId::new("rich");
    let upto = store.messages(&rich).await.expect("read").pop().expect("a message").id;
    let child = NewSession::new(SessionId::new("child"), "cli");
    store.go_on_in(&rich, child, upto, vec![say("goes on")]).await.expect("gone on");
    stage.look().execute("UPDATE sessions SET title = 'เรื่อง 故事' WHERE id = 'rich'", []).expect("a title");
}

fn say(text: &str) -> NewMessage {
    Message::user(text).into()
}

/// What we see of every session, byte for byte.
async fn ours(store: &SqliteStore) -> BTreeMap<String, (Vec<StoredMessage>, Vec<Message>, Option<String>)> {
    let mut seen = BTreeMap::new();
    for name in SESSIONS {
        let id = SessionId::new(name);
        let Some(session) = store.session(&id).await.expect("read") else { continue };
        let messages = store.messages(&id).await.expect("read");
        let conversation = said(store, &id, Span::WithAncestors).await.expect("read");
        seen.insert(name.to_owned(), (messages, conversation, session.title));
    }
    seen
}

/// A live message as the Python program shows it from a file with the columns of the founding schema.
fn as_python(stored: &StoredMessage) -> Value {
    let mut shown = serde_json::to_value(&stored.message).expect("json");
    let fields = shown.as_object_mut().expect("an object");
    for beside in ["x", "reasoning_content", "anthropic_content_blocks"] {
        fields.remove(beside);
    }
    if let Some(name) = fields.remove("name") {
        fields.insert("tool_name".into(), name);
    }
    fields.insert("timestamp".into(), json!(stored.at.seconds()));
    shown
}

fn live(messages: &[StoredMessage]) -> Value {
    messages.iter().filter(|stored| stored.state == RowState::Live).map(as_python).collect()
}

#[tokio::test]
async fn a_file_of_ours_is_read_raised_and_read_again() {
    let Some(python) = Python::here() else { return };
    let mut stage = Stage::of(Kind::New).await;
    tell_stories(&stage).await;
    let before = ours(&stage.store).await;
    stage.store.close().await;
    let theirs = python.read_back(&stage.path, &["quokka", "数据库服务器"]);
    assert_eq!(theirs["schema_version"], 22);
    for (name, (messages, _, title)) in &before {
        assert_eq!(theirs["conversation"][name], live(messages), "{name}");
        assert_eq!(theirs["sessions"][name]["title"], json!(title));
        assert_eq!(theirs["sessions"][name]["message_count"], messages.len());
    }
    assert_eq!(theirs["lineage"]["rich"]["tip"], "child");
    let found = |query: &str| -> Vec<i64> {
        let hits = theirs["search"][query].as_array().expect("hits").iter();
        let mut ids: Vec<i64> = hits.map(|hit| hit["id"].as_i64().expect("an id")).collect();
        ids.sort_unstable();
        ids
    };
    let rich = &before["rich"].0;
    assert_eq!(found("quokka"), [rich[1].id.0]);
    // Whether it finds lists depends on its SQLite: they begin with NUL, where older ones stop reading.
    assert!(found("数据库服务器").contains(&rich[5].id.0));
    stage.reopen().await;
    assert_eq!(ours(&stage.store).await, before, "a raised file lost something");
}

#[tokio::test]
async fn what_was_taken_back_stays_so_after_the_file_was_raised() {
    let Some(python) = Python::here() else { return };
    let mut stage = Stage::of(Kind::New).await;
    tell_stories(&stage).await;
    let undone = SessionId::new("undone");
    let last = stage.store.messages(&undone).await.expect("read")[1].id;
    stage.store.rewind(&undone, last).await.expect("taken back");
    let compacted = SessionId::new("compacted");
    let upto = stage.store.messages(&compacted).await.expect("read").pop().expect("a message").id;
    stage.store.compact(&compacted, upto, vec![say("summary")]).await.expect("compacted");
    let before = ours(&stage.store).await;
    stage.store.close().await;
    python.read_back(&stage.path, &[]);
    // Opened once, and nothing else.
    stage.reopen().await;
    assert_eq!(ours(&stage.store).await, before);
    stage.store.close().await;
    let theirs = python.read_back(&stage.path, &["undone"]);
    for (name, (messages, ..)) in &before {
        assert_eq!(theirs["conversation"][name], live(messages), "{name}");
    }
    assert_eq!(theirs["search"]["undone"].as_array().map(Vec::len), Some(1), "{}", theirs["search"]);
    stage.reopen().await;
    assert_eq!(ours(&stage.store).await, before);
}

#[tokio::test]
async fn a_file_that_is_raised_while_we_have_it_open_is_understood() {
    let Some(python) = Python::here() else { return };
    let stage = Stage::of(Kind::New).await;
    tell_stories(&stage).await;
    let undone = SessionId::new("undone");
    let last = stage.store.messages(&undone).await.expect("read")[1].id;
    stage.store.rewind(&undone, last).await.expect("taken back");
    let before = ours(&stage.store).await;
    python.read_back(&stage.path, &[]);
    assert_eq!(ours(&stage.store).await, before);
    let sent = Some(Content::from("as sent"));
    stage.store.append(&undone, vec![NewMessage { sent, ..say("after") }]).await.expect("kept");
    let theirs = python.read_back(&stage.path, &[]);
    let shown: Vec<(&Value, &Value)> = theirs["conversation"]["undone"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|shown| (&shown["content"], &shown["api_content"]))
        .collect();
    assert_eq!(shown, [(&json!("undone a"), &Value::Null), (&json!("after"), &json!("as sent"))]);
}

#[tokio::test]
async fn what_python_changes_is_what_we_read() {
    let Some(python) = Python::here() else { return };
    let mut stage = Stage::of(Kind::New).await;
    tell_stories(&stage).await;
    let before = ours(&stage.store).await;
    // While we have it open.
    python.run("proofs/fixtures/edit.py", &stage.path, &[]);
    for _ in 0..2 {
        let now = ours(&stage.store).await;
        assert_eq!(now["rich"], before["rich"]);
        assert_eq!(now["child"], before["child"]);
        assert!(!now.contains_key("deleted"));
        let states = |name: &str| -> Vec<(String, RowState)> {
            now[name].0.iter().map(|stored| (stored.message.text(), stored.state)).collect()
        };
        let row = |text: &str, state: RowState| (text.to_owned(), state);
        use RowState::{Compacted, Live, Undone};
        assert_eq!(states("replaced"), [row("replaced by Python", Live)]);
        assert_eq!(states("undone"), [row("undone a", Live), row("undone b", Live), row("undone c", Undone)]);
        let compacted = ["compacted a", "compacted b", "compacted c"].map(|text| row(text, Compacted));
        assert_eq!(states("compacted"), [&compacted[..], &[row("summary by Python", Live)]].concat());
        let added = [
            message(json!({"role": "user", "content": "added by Python, as sent"})),
            message(
                json!({"role": "assistant", "content": null, "reasoning_content": "why", "finish_reason": "tool_calls",
                "tool_calls": [{"id": "p1", "type": "function", "function": {"name": "f", "arguments": "{}"}}]}),
            ),
            message(
                json!({"role": "tool", "tool_call_id": "p1", "name": "f", "content": [{"type": "text", "text": "รายการ"}]}),
            ),
        ];
        assert_eq!(now["appended"].1[3..], added);
        stage.reopen().await;
    }
    let left: i64 = stage
        .look()
        .query_row(
            "SELECT count(*) FROM hermes_message_extra WHERE message_id NOT IN (SELECT id FROM messages)",
            [],
            |row| row.get(0),
        )
        .expect("a count");
    assert_eq!(left, 0, "what belongs to removed messages goes with them");
}

#[tokio::test]
async fn a_file_python_makes_now_is_the_one_the_tests_know() {
    let Some(python) = Python::here() else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let (made, known) = (folder.path().join("state.db"), folder.path().join("known.db"));
    python.run("store/fixtures/make_v22.py", &made, &[]);
    Kind::Python.lay(&known);
    let tables = |path: &Path| -> Vec<String> {
        let file = Connection::open(path).expect("the file");
        let mut select = file.prepare("SELECT coalesce(sql, name) FROM sqlite_master ORDER BY 1").expect("sql");
        select.query_map([], |row| row.get(0)).expect("rows").collect::<Result<_, _>>().expect("rows")
    };
    assert_eq!(tables(&made), tables(&known));
    let store = open(&made).await;
    let mut model = Model::default();
    for n in 0..60 {
        let op = Op::nth(22, n);
        assert_eq!(op.perform(&store).await, Ok(model.apply(&op)), "{n}: {op:?}");
    }
    assert_eq!(Model::of(&store).await, model);
    store.close().await;
    let theirs = python.read_back(&made, &[]);
    for (session, seen) in &model.0 {
        let shown = &theirs["conversation"][crate::model::name(*session).as_str()];
        let texts: Vec<&str> =
            shown.as_array().expect("a list").iter().map(|shown| shown["content"].as_str().expect("text")).collect();
        let live = seen.rows.iter().filter(|(_, state)| *state == RowState::Live);
        assert_eq!(texts, live.map(|(message, _)| message.text()).collect::<Vec<_>>());
    }
}

#[tokio::test]
async fn both_programs_write_at_once_and_nothing_is_lost() {
    let Some(python) = Python::here() else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("state.db");
    python.run("proofs/fixtures/append.py", &path, &["theirs", "0"]);
    let mut process = python
        .command("proofs/fixtures/append.py", &path, &["theirs", "500"])
        .stdout(Stdio::piped())
        .spawn()
        .expect("Python");
    let mut begins = String::new();
    BufReader::new(process.stdout.take().expect("a pipe")).read_line(&mut begins).expect("a line");
    let store = open(&path).await;
    let ours = SessionId::new("ours");
    store.create(NewSession::new(ours.clone(), "cli")).await.expect("a session");
    for n in 0..500 {
        store.append(&ours, vec![say(&format!("rust {n} 并发"))]).await.expect("kept");
    }
    assert!(process.wait().expect("Python").success());
    for (name, voice) in [("ours", "rust"), ("theirs", "python")] {
        let said = said(&store, &SessionId::new(name), Span::Own).await.expect("read");
        let expected: Vec<Message> = (0..500).map(|n| Message::user(format!("{voice} {n} 并发"))).collect();
        assert_eq!(said, expected);
        let session = store.session(&SessionId::new(name)).await.expect("read").expect("there");
        assert_eq!(session.message_count, 500);
    }
    store.close().await;
    let file = Connection::open(&path).expect("the file");
    let check: String = file.query_row("PRAGMA integrity_check", [], |row| row.get(0)).expect("a check");
    assert_eq!(check, "ok");
}
