//! Past conversations as people look at them: the real program over a store that another one filled, its words held
//! against golden files. All times are old, so that what is relative today stays the same tomorrow.
#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "a stage that cannot be set up reports itself by a panic"
)]

use hermes_core::store::{Ledger, Sessions, Transcript};
use hermes_store::SqliteStore;
use hermes_testkit::{FakeClock, Ran, World, golden};
use hermes_types::{
    Assistant, CallId, CompressionRecord, EndReason, Message, Moment, NewMessage, NewSession, SessionId, ToolCall,
};
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;

const HERMES: &str = env!("CARGO_BIN_EXE_hermes");
/// 2020-09-13 12:26:40 UTC
const BEGAN: f64 = 1_600_000_000.0;

/// Runs command after command and writes down what a person would see.
struct Story {
    world: World,
    told: String,
}

impl Story {
    fn new(world: World) -> Self {
        Self { world: world.env("TZ", "UTC0"), told: String::new() }
    }

    /// In a home that the Python program has used.
    fn after_python() -> Self {
        let world = World::new();
        let file = include_bytes!("../../hermes-store/tests/store/fixtures/v22.db");
        std::fs::write(world.hermes_home().join("state.db"), file).expect("a copy");
        Self::new(world)
    }

    async fn run(&mut self, words: &[&str], code: i32) -> Ran {
        let ran = self.world.run(HERMES, &[&["sessions"], words].concat()).await.expect_code(code);
        let complaints: String = ran.stderr.lines().map(|line| format!("! {line}\n")).collect();
        self.told.push_str(&format!("$ hermes sessions {}\n{}{complaints}[{code}]\n\n", words.join(" "), ran.stdout));
        ran
    }

    async fn json(&mut self, words: &[&str]) -> Value {
        let ran = self.world.run(HERMES, &[&["sessions"], words].concat()).await.expect_code(0);
        assert_eq!(ran.stderr, "", "{words:?}");
        serde_json::from_str(&ran.stdout).expect("one JSON value")
    }

    /// On a terminal this wide. What the program prints, escapes and all.
    async fn on_terminal(&self, columns: u16, words: &str) -> Ran {
        let line = format!("stty cols {columns} rows 24 -echo; exec {HERMES} sessions {words}");
        self.world.run("script", &["-qec", &line, "/dev/null"]).await
    }

    #[track_caller]
    fn end(self, name: &str) {
        let told = self.told.replace(&self.world.home().display().to_string(), "~");
        golden(format!("tests/golden/sessions/{name}.txt"), &told);
    }
}

/// A store in the making.
struct Past {
    store: SqliteStore,
    clock: FakeClock,
}

impl Past {
    async fn of(world: &World) -> Self {
        let clock = FakeClock::new();
        let store = SqliteStore::open(&world.hermes_home().join("state.db"), Arc::new(clock.clone())).await;
        Self { store: store.expect("a store"), clock }
    }

    async fn session(&self, id: &str, source: &str, messages: Vec<Message>) -> SessionId {
        let id = SessionId::new(id);
        let started_at = Some(Moment::from_seconds(BEGAN));
        let new = NewSession { started_at, model: Some("m-1".into()), ..NewSession::new(id.clone(), source) };
        self.store.create(new).await.expect("a session");
        let timed = messages.into_iter().zip(1..);
        let at = |place: i32| Some(Moment::from_seconds(BEGAN + 60.0 * f64::from(place)));
        let messages = timed.map(|(message, place)| NewMessage { at: at(place), ..message.into() });
        self.store.append(&id, messages.collect()).await.expect("messages");
        id
    }

    async fn end(self) {
        self.store.close().await;
        drop(self.clock);
    }
}

#[tokio::test]
async fn what_the_python_program_left_is_listed_and_read() {
    let mut story = Story::after_python();
    story.run(&["list"], 0).await;
    story.run(&["list", "--all", "--source", "cli", "--source", "tool", "--limit", "3"], 0).await;
    story.run(&["list", "--exclude-source", "cli", "--sort", "started"], 0).await;
    story.run(&["list", "--workspace", "/work/demo"], 0).await;
    story.run(&["list", "--source", "fax"], 0).await;
    story.run(&["show", "20251009_0853"], 0).await;
    story.run(&["show", "deploy the parser"], 1).await;
    story.run(&["show", "Long refactor", "--last", "1"], 0).await;
    story.run(&["show", "20251009_100000", "--all"], 0).await;
    story.run(&["show", "20251009_09"], 1).await;
    story.run(&["show", "20251009"], 1).await;
    story.run(&["show", "Delegate the"], 1).await;
    story.run(&["show", "多语"], 1).await;
    story.run(&["show", ""], 2).await;
    story.run(&["show", "Idea", "--last", "0"], 0).await;
    story.run(&["--limit", "1"], 0).await;
    story.run(&["-p", "default", "list", "--limit", "1"], 0).await;
    story.run(&["--json", "show", "Idea"], 2).await;
    story.run(&["show", "多语言 ทดสอบ mixed"], 0).await;
    story.run(&["lineage", "Long refactor"], 0).await;
    story.run(&["lineage", "20251009_103000_ff0001"], 0).await;
    story.run(&["lineage", "Idea"], 0).await;
    story.run(&["export", "Idea", "20251009_103000", "--format", "md"], 0).await;
    story.end("python");
}

#[tokio::test]
async fn what_was_said_is_found_again() {
    let mut story = Story::after_python();
    story.run(&["search", "quokka"], 0).await;
    story.run(&["search", "数据库"], 0).await;
    story.run(&["search", "ข้อมูล", "--role", "user"], 0).await;
    story.run(&["search", "echidna", "OR", "quokka", "--sort", "oldest", "--limit", "2", "--offset", "1"], 0).await;
    story.run(&["search", "quok", "--exclude-source", "telegram", "--since", "2025-10-09"], 0).await;
    story.run(&["search", "wallaby", "--session", "cron", "--role", "assistant"], 0).await;
    story.run(&["search", "quokka", "--until", "2025-10-09"], 0).await;
    story.run(&["search", "quokka", "--offset", "20"], 0).await;
    story.run(&["search", "axolotl"], 0).await;
    story.run(&["search", "quokka", "the quokka files", "NOT", "axolotl"], 0).await;
    story.run(&["search", "quokka", "--limit", "3"], 0).await;
    story.run(&["search", "\"", "(((", "*"], 2).await;
    story.run(&["search", "NOT", "quokka"], 2).await;
    story.run(&["search", ""], 2).await;
    story.run(&["search", "quokka", "--limit", "0"], 2).await;
    story.run(&["search", "quokka", "--since", "never"], 2).await;
    story.run(&["search", "quokka", "--session", "no such session"], 1).await;
    let found = story.json(&["search", "platypus", "--role", "assistant", "--json"]).await;
    let text = serde_json::to_string_pretty(&found).expect("JSON");
    story.told.push_str(&format!("$ hermes sessions search platypus --role assistant --json\n{text}\n"));
    story.end("search");
}

#[tokio::test]
async fn matches_are_coloured_on_a_terminal() {
    let Story { world, .. } = Story::after_python();
    let story = Story::new(world.env("TERM", "xterm"));
    let seen = story.on_terminal(80, "search quokka --role user").await.expect_code(0).stdout;
    assert!(seen.contains("Please list the \u{1b}[1;33mquokka\u{1b}[0m files"), "{seen:?}");
    let Story { world, .. } = story;
    let seen = Story::new(world.env("NO_COLOR", "1")).on_terminal(80, "search quokka --role user").await.stdout;
    assert!(seen.contains("Please list the >>>quokka<<< files") && !seen.contains('\u{1b}'), "{seen:?}");
}

#[tokio::test]
async fn titles_change_and_conversations_go_when_somebody_agrees() {
    let mut story = Story::after_python();
    story.run(&["rename", "20251009_0853", "Parser", "\u{1b}[31min", "production"], 0).await;
    story.run(&["rename", "Idea #2", "Parser [31min production"], 1).await;
    story.run(&["rename", "Parser [31min production", ""], 0).await;
    story.run(&["rename", "cc000001", &"x".repeat(101)], 1).await;
    story.run(&["delete", "cc000001", "20251009_103000_ff0001"], 1).await;
    story.run(&["delete", "cc000001", "no such thing", "-y"], 1).await;
    story.run(&["delete", "cc000001", "cc00", "-y"], 0).await;
    story.run(&["delete", "cc000001", "-y"], 1).await;
    story.run(&["delete", " ", "-y"], 2).await;
    story.run(&["prune", "--older-than", "2999-01-01", "-y"], 2).await;
    story.run(&["prune", "--older-than", "2025-12-01", "--dry-run"], 0).await;
    story.run(&["prune"], 1).await;
    story.run(&["prune", "--source", "cron", "--older-than", "soon"], 2).await;
    story.run(&["prune", "--after", "2025-10-09", "--before", "2025-10-08"], 2).await;
    story.run(&["prune", "--after", "2025-10-10", "-y"], 0).await;
    story.run(&["prune", "--source", "cron", "-y"], 0).await;
    let refactors = ["prune", "--title", "refactor", "--max-messages", "2", "--older-than", "2025-12-01", "--yes"];
    story.run(&refactors, 0).await;
    let abandoned = ["prune", "--title", "refactor", "--older-than", "2025-12-01", "--include-abandoned"];
    story.run(&abandoned, 1).await;
    story.run(&[&abandoned[..], &["-y"]].concat(), 0).await;
    story.run(&["list"], 0).await;
    story.end("changes");
}

#[tokio::test]
async fn a_question_on_the_terminal_is_answered_by_the_person() {
    let story = Story::after_python();
    let Story { world, .. } = story;
    let story = Story::new(world.env("TERM", "xterm").stdin("n\n"));
    let ran = story.on_terminal(80, "delete 20251009_103000_ff0001").await;
    let shown = "  20251009_103000_ff0001  Delegate the tapir, 2025-10-09, 4 messages, with 1\r\n  sub-agent\r\n";
    assert!(ran.stdout.contains(shown) && ran.stdout.contains("Delete it for good?"), "{}", ran.stdout);
    assert!(ran.code == Some(1) && ran.stdout.ends_with("Nothing was deleted.\r\n"), "{}", ran.stdout);
    // Enter alone is no.
    let story = Story::new(story.world.stdin("\n"));
    let ran = story.on_terminal(80, "delete 20251009_103000_ff0001").await;
    assert!(ran.code == Some(1) && ran.stdout.ends_with("Nothing was deleted.\r\n"), "{}", ran.stdout);
    let story = Story::new(story.world.stdin("YES\n"));
    let ran = story.on_terminal(80, "delete 20251009_103000_ff0001").await;
    assert_eq!(ran.code, Some(0), "{}", ran.stdout);
    assert!(ran.stdout.ends_with("Deleted 20251009_103000_ff0001.\r\n"), "{}", ran.stdout);
}

#[tokio::test]
async fn a_branch_is_made_where_it_was_asked_for() {
    let mut story = Story::after_python();
    let made = story.run(&["branch", "20251009_0853", "--at", "4", "--title", "Another way"], 0).await;
    let id = made.stdout.trim();
    assert_eq!(made.stderr, format!("Read it with `hermes sessions show {id}`. It is called \"Another way\".\n"));
    let shown = story.json(&["show", id, "--json"]).await;
    let roles: Vec<&str> =
        shown["messages"].as_array().expect("a list").iter().filter_map(|m| m["role"].as_str()).collect();
    assert_eq!(roles, ["user", "assistant", "tool", "tool"]);
    assert_eq!(shown["parent_session_id"], "20251009_085320_aa0001");
    let family = story.json(&["lineage", "Another way", "--json"]).await;
    let kin: Vec<&Value> = family["sessions"].as_array().expect("a list").iter().map(|one| &one["kinship"]).collect();
    assert_eq!((&family["asked"], kin), (&json!(id), vec![&json!("root"), &json!("branch")]));
    // What cannot be called so is not made.
    let before = story.json(&["stats", "--json"]).await["sessions"].clone();
    story.run(&["branch", "20251009_0853", "--title", "Idea"], 1).await;
    story.run(&["branch", "20251009_0853", "--at", "999"], 1).await;
    assert_eq!(story.json(&["stats", "--json"]).await["sessions"], before);
}

#[tokio::test]
async fn a_conversation_that_was_compressed_says_how_often_and_what_that_saved() {
    let mut story = Story::new(World::new());
    let past = Past::of(&story.world).await;
    let old = past.session("20200913_122640_aa0001", "cli", vec![Message::user("Plan the garden")]).await;
    past.store.rename(&old, "Garden").await.expect("a name");
    let compression = |session: &SessionId, tokens_after, stopped: Option<&str>| CompressionRecord {
        session: session.clone(),
        child: None,
        at: Moment::from_seconds(BEGAN),
        messages_before: 120,
        messages_after: 24,
        tokens_before: 100_000,
        tokens_after,
        took: Duration::from_secs(9),
        model: None,
        phase: "summary".into(),
        trigger: "threshold".into(),
        stopped: stopped.map(str::to_owned),
    };
    past.store.record_compression(compression(&old, 20_000, None)).await.expect("kept");
    let upto = past.store.messages(&old).await.expect("read")[0].id;
    let new = NewSession::new(SessionId::new("20200913_132640_aa0002"), "cli");
    let child = new.id.clone();
    let at = Some(Moment::from_seconds(BEGAN + 60.0));
    let messages = vec![NewMessage { at, ..Message::user("So far: a garden is planned.").into() }];
    past.store.go_on_in(&old, NewSession { started_at: at, ..new }, upto, messages).await.expect("gone on");
    past.store.record_compression(compression(&child, 16_000, None)).await.expect("kept");
    past.store.record_compression(compression(&child, 100_000, Some("the summary was empty"))).await.expect("kept");
    past.end().await;
    story.run(&["show", "Garden #2"], 0).await;
    story.run(&["show", old.as_str()], 0).await;
    story.end("compressed");
}

#[tokio::test]
async fn an_empty_home_says_what_to_type_and_stays_empty() {
    let mut story = Story::new(World::new());
    for words in ["list", "list --json", "stats", "stats --json", "search x", "search x --json", "prune -y"] {
        story.run(&words.split(' ').collect::<Vec<_>>(), 0).await;
    }
    story.run(&[], 0).await;
    for words in ["show x", "export --all", "delete x -y", "rename x y", "branch x", "lineage x"] {
        story.run(&words.split(' ').collect::<Vec<_>>(), 1).await;
    }
    for words in ["export", "show", "list --sort age", "delete", "search", "nonsense"] {
        story
            .world
            .run(HERMES, &[&["sessions"], words.split(' ').collect::<Vec<_>>().as_slice()].concat())
            .await
            .expect_code(if words == "export" { 1 } else { 2 });
    }
    assert!(!story.world.hermes_home().join("state.db").exists());
    story.end("empty");
}

/// JSON that stands in a string is the same JSON however it is spaced.
fn with_inner_json(mut record: Value) -> Value {
    let inner = ["model_config", "reasoning_details", "codex_reasoning_items", "codex_message_items"];
    let mut open = |object: &mut Value| {
        for name in inner {
            if let Some(text) = object.get(name).and_then(Value::as_str) {
                object[name] = serde_json::from_str(text).expect("JSON in a string");
            }
        }
    };
    record["messages"].as_array_mut().expect("a list").iter_mut().for_each(&mut open);
    open(&mut record);
    record
}

#[tokio::test]
async fn an_export_is_what_the_python_program_would_have_written() {
    let story = Story::after_python();
    let ran = story.world.run(HERMES, &["sessions", "export", "20251009_085320_aa0001"]).await.expect_code(0);
    let ours: Value = serde_json::from_str(&ran.stdout).expect("one line of JSON");
    let mut python: Value = serde_json::from_str(include_str!("fixtures/python_export.jsonl")).expect("JSON");
    // What only gateways fill is not read from the tables.
    for message in python["messages"].as_array_mut().expect("a list") {
        let message = message.as_object_mut().expect("an object");
        for column in ["effect_disposition", "platform_message_id", "observed"] {
            message.shift_remove(column);
        }
    }
    let keys = |value: &Value| value.as_object().expect("an object").keys().cloned().collect::<Vec<_>>();
    assert_eq!(keys(&ours), keys(&python), "the same fields in the same order");
    assert_eq!(keys(&ours["messages"][0]), keys(&python["messages"][0]));
    assert_eq!(with_inner_json(ours), with_inner_json(python));
}

#[tokio::test]
async fn everything_is_exported_to_a_file_only_its_owner_reads() {
    let mut story = Story::after_python();
    let file = story.world.work_dir().join("all.jsonl");
    let ran = story.world.run(HERMES, &["sessions", "export", "--all", "-o", "all.jsonl"]).await.expect_code(0);
    assert_eq!((ran.stdout.as_str(), ran.stderr.as_str()), ("", "Wrote 15 conversations to all.jsonl.\n"));
    let text = std::fs::read_to_string(&file).expect("a file");
    let id = |line: &str| serde_json::from_str::<Value>(line).expect("JSON")["id"].clone();
    let lines: Vec<Value> = text.lines().map(id).collect();
    assert_eq!(
        (lines.len(), &lines[0], &lines[14]),
        (15, &json!("20251009_085320_aa0001"), &json!("20251009_113000_ab0003"))
    );
    use std::os::unix::fs::PermissionsExt;
    assert_eq!(std::fs::metadata(&file).expect("there").permissions().mode() & 0o777, 0o600);
    let family = story.json(&["export", "Long refactor", "--lineage", "--format", "json"]).await;
    let titles: Vec<&Value> = family.as_array().expect("an array").iter().map(|one| &one["title"]).collect();
    assert_eq!(titles, ["Long refactor", "Long refactor #2", "Long refactor #3"]);
    let none = story.world.run(HERMES, &["sessions", "export", "--source", "fax"]).await.expect_code(1);
    assert_eq!(
        (none.stdout.as_str(), none.stderr.as_str()),
        ("", "No conversation is like that; nothing was written.\n")
    );
    let nowhere = story.world.run(HERMES, &["sessions", "export", "--all", "-o", "no/such/file"]).await.expect_code(1);
    assert!(nowhere.stderr.starts_with("no/such/file cannot be written: No such file"), "{}", nowhere.stderr);
    story.world.run(HERMES, &["sessions", "export"]).await.expect_code(2);
}

#[tokio::test]
async fn secrets_can_be_covered_in_every_format() {
    let world = World::new();
    let past = Past::of(&world).await;
    let call = ToolCall::new(CallId::new("c"), "http", r#"{"url": "http://x", "api_key": "sk-0123456789abcdef"}"#);
    let said = Assistant { tool_calls: vec![call.clone()], ..Assistant::default() };
    let messages = vec![
        Message::user("my token: sk-0123456789abcdef please"),
        Message::Assistant(said),
        Message::tool(&call.id, "http", r#"{"output": "Authorization: Bearer sk-0123456789abcdef\nok"}"#),
    ];
    past.session("20200913_122640_000001", "cli", messages).await;
    past.end().await;
    for format in ["jsonl", "json", "md"] {
        let words = ["sessions", "export", "2020", "--format", format];
        let open = world.run(HERMES, &words).await.expect_code(0).stdout;
        assert_eq!(open.matches("0123456789abcdef").count(), 3, "{open}");
        let covered = world.run(HERMES, &[&words[..], &["--redact"]].concat()).await.expect_code(0).stdout;
        assert_eq!((covered.matches("0123456789").count(), covered.matches("«redacted:").count()), (0, 3), "{covered}");
    }
}

#[tokio::test]
async fn hostile_text_reaches_no_terminal() {
    let world = World::new();
    let past = Past::of(&world).await;
    let call = ToolCall::new(CallId::new("c"), "run\u{1b}[2J", "{\"command\": \"\u{9b}31m ls\"}");
    let said = Assistant {
        content: Some("\u{1b}[31mred\u{1b}[0m and \u{202e}backwards\r\nשלום עולם".into()),
        reasoning: Some("\u{1b}]52;c;c3RvbGVu\u{7}thinking".into()),
        tool_calls: vec![call.clone()],
        ..Assistant::default()
    };
    let output = format!("\u{1b}]0;owned\u{7}first\n{}", "line\n".repeat(40));
    let messages = vec![
        Message::user(format!("\u{1b}]8;;http://evil\u{1b}\\click{}", " and so on".repeat(100_000))),
        Message::Assistant(said),
        Message::tool(&call.id, "run\u{7}", output),
    ];
    past.session("evil\u{1b}[2Jid", "cl\u{1b}[5mi", messages).await;
    past.end().await;
    let mut story = Story::new(world.env("TERM", "dumb"));
    let listed = story.run(&["list"], 0).await.stdout;
    story.run(&["lineage", "evil\u{1b}[2Jid"], 0).await;
    let shown = story.run(&["show", "evil\u{1b}[2Jid", "--last", "2"], 0).await.stdout;
    let whole = story.world.run(HERMES, &["sessions", "show", "evil"]).await.expect_code(0).stdout;
    let (_, long) = whole.split_once("\nYou").expect("a head and what was said");
    assert!(long.matches(" and so on").count() == 100_000 && long.matches("  line\n").count() == 40, "{}", long.len());
    let screen = story.on_terminal(80, "show evil").await.expect_code(0).stdout;
    assert!(screen.contains("… 980,005 more characters; --raw shows everything"), "{}", screen.len());
    assert!(screen.contains("… 33 more lines"), "{}", screen.len());
    let raw = story.world.run(HERMES, &["sessions", "show", "evil", "--raw"]).await.expect_code(0).stdout;
    assert!(raw.contains("\u{1b}[31mred") && raw.matches("line\n").count() == 40 && raw.len() > 1_000_000);
    let on_terminal = story.on_terminal(80, "show evil --raw").await.expect_code(0).stdout;
    let markdown =
        story.world.run(HERMES, &["sessions", "export", "evil", "--format", "md"]).await.expect_code(0).stdout;
    let json = story.world.run(HERMES, &["sessions", "export", "evil"]).await.expect_code(0).stdout;
    for text in [listed, shown, whole, screen, on_terminal, markdown, json] {
        let acts = |c: char| c.is_control() && !matches!(c, '\n' | '\r') || c == '\u{202e}';
        assert_eq!(text.find(acts), None, "{:?}", text.chars().filter(|c| acts(*c)).collect::<String>());
    }
    story.told = story.told.replace('\u{1b}', "ESC");
    story.end("hostile");
}

#[tokio::test]
async fn a_list_fits_the_terminal_and_ids_are_as_short_as_they_can_be() {
    let Story { world, .. } = Story::after_python();
    let story = Story::new(world.env("TERM", "dumb"));
    let mut screens = String::new();
    for columns in [120, 80, 50] {
        let seen = story.on_terminal(columns, "list").await.expect_code(0).stdout.replace('\r', "");
        screens.push_str(&format!("{}\n{seen}", "-".repeat(columns.into())));
    }
    golden("tests/golden/sessions/widths.txt", &screens);
    // Every id of the list is understood.
    let short: Vec<String> = screens
        .lines()
        .filter_map(|line| line.rsplit("  ").next())
        .filter(|id| id.starts_with("2025"))
        .map(str::to_owned)
        .collect();
    assert_eq!(short.len(), 24);
    for id in short.iter().take(8) {
        story.world.run(HERMES, &["sessions", "show", id]).await.expect_code(0);
    }
}

#[tokio::test]
async fn a_reader_that_has_seen_enough_is_no_failure() {
    let world = World::new();
    let past = Past::of(&world).await;
    past.session("20200913_122640_000001", "cli", vec![Message::user("x\n".repeat(200_000))]).await;
    past.end().await;
    let line = format!("{HERMES} sessions show 2020 --raw | head -1; {HERMES} sessions export --all | head -c 10");
    let ran = world.run("bash", &["-c", &format!("set -o pipefail; {line}")]).await.expect_code(0);
    assert_eq!(
        (ran.stdout.as_str(), ran.stderr.as_str()),
        ("x x x x x x x x x x x x x x x x x x x x x x x x x x x x x x...\n{\"id\":\"202", "")
    );
}

#[tokio::test]
async fn the_json_shapes_are_as_documented() {
    let world = World::new();
    let past = Past::of(&world).await;
    let id =
        past.session("20200913_122640_000001", "cli", vec![Message::user("Hello"), Message::assistant("Hi.")]).await;
    past.store.rename(&id, "Greeting").await.expect("a title");
    past.store.end(&id, EndReason::CLI_CLOSE).await.expect("an end");
    past.end().await;
    let mut story = Story::new(world);
    let mut told = String::new();
    for words in ["list --json", "show Greeting --json", "lineage Greeting --json", "stats --json"] {
        let mut value = story.json(&words.split(' ').collect::<Vec<_>>()).await;
        if words.starts_with("stats") {
            assert!(value["disk_bytes"].as_u64() > Some(0), "{value}");
            value["disk_bytes"] = json!(0);
        }
        let text = serde_json::to_string_pretty(&value).expect("JSON");
        told.push_str(&format!("$ hermes sessions {words}\n{text}\n\n"));
    }
    golden("tests/golden/sessions/json.txt", &told);
}
