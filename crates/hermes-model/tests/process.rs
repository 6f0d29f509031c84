//! The model behind an agent program, told with a real program: a shell script that says its lines.
#![cfg(unix)]
#![allow(clippy::expect_used, reason = "a stage that cannot be set up ends the test")]

use futures_util::StreamExt;
use hermes_core::ports::{Card, Model};
use hermes_model::process::{ProcessCommand, ProcessModel, TcpAddress};
use hermes_types::{
    Assistant, CallId, Content, Delta, Fault, FaultKind, Message, Reply, Request, StopReason, ToolCall, ToolDefinition,
    Usage,
};
use serde_json::{Value, json};
use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use url::Url;

/// Functions of every script: `hear` takes the next line we send and keeps it, `say` says one.
const STAGE: &str = r#"#!/bin/sh
hear() { IFS= read -r line || exit 9; printf '%s\n' "$line" >> heard; }
say() { printf '%s\n' "$1"; }
chunk() { say '{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s1","update":{"sessionUpdate":"'"$1"'","content":{"type":"text","text":"'"$2"'"}}}}'; }
open() {
  hear; say '{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":1,"agentCapabilities":{}}}'
  hear; say '{"jsonrpc":"2.0","id":1,"result":{"sessionId":"s1"}}'
  hear
}
end_turn() { say '{"jsonrpc":"2.0","id":3,"result":{"stopReason":"end_turn"}}'; }
"#;

/// A folder with an agent in it.
struct World {
    folder: TempDir,
}

impl World {
    fn with(script: &str) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        fs::write(folder.path().join("agent.sh"), format!("{STAGE}{script}")).expect("a script");
        Self { folder }
    }

    fn path(&self) -> PathBuf {
        self.folder.path().canonicalize().expect("the folder")
    }

    fn model(&self) -> ProcessModel {
        let command = ProcessCommand {
            program: "/bin/sh".into(),
            args: vec!["agent.sh".into()],
            env: vec![("PATH".into(), "/usr/bin:/bin".into()), ("TOKEN".into(), "hush-hush".into())],
            cwd: self.path(),
        };
        ProcessModel::new(card(), command)
    }

    /// All that comes of asking.
    async fn ask(&self) -> Vec<Result<Delta, Fault>> {
        self.model().stream(Arc::new(request())).collect().await
    }

    /// What the agent was told, line by line.
    fn heard(&self) -> Vec<Value> {
        let lines = fs::read_to_string(self.folder.path().join("heard")).expect("lines");
        lines.lines().map(|line| serde_json::from_str(line).expect("a message")).collect()
    }
}

fn card() -> Card {
    Card {
        provider: "copilot-acp".into(),
        model: "m".into(),
        base_url: String::new(),
        context_window: 100_000,
        output_cap: None,
        stale_after: Duration::from_secs(60),
        first_byte_after: None,
        give_up_after: Duration::from_secs(900),
    }
}

fn request() -> Request {
    let tool =
        ToolDefinition { name: "look".into(), description: "Looks".into(), parameters: json!({"type": "object"}) };
    let mut request = Request::new("m", [Message::system("Be kind."), Message::user("Hi")]);
    request.tools = Arc::from([tool]);
    request
}

/// The deltas a person would notice.
fn noticed(deltas: Vec<Result<Delta, Fault>>) -> Vec<Result<Delta, Fault>> {
    deltas.into_iter().filter(|delta| !matches!(delta, Ok(Delta::Alive | Delta::Sent(_)))).collect()
}

fn text(text: &str) -> Result<Delta, Fault> {
    Ok(Delta::Text(text.into()))
}

fn done(message: Assistant, more: Reply) -> Result<Delta, Fault> {
    Ok(Delta::Done(Box::new(Reply { message, id: Some("s1".into()), ..more })))
}

fn said(text: &str) -> Assistant {
    Assistant { content: Some(Content::from(text)), finish_reason: Some(StopReason::Stop), ..Assistant::default() }
}

#[tokio::test]
async fn words_and_thoughts_are_streamed_and_the_agent_hears_the_protocol() {
    let world = World::with(
        r#"open
        chunk agent_thought_chunk 'Hm. '
        chunk agent_thought_chunk 'Yes.'
        chunk agent_message_chunk 'Hello'
        say '{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s1","update":{"sessionUpdate":"plan","entries":[]}}}'
        chunk agent_message_chunk ', you.'
        say '{"jsonrpc":"2.0","id":3,"result":{"stopReason":"end_turn","usage":{"totalTokens":21,"inputTokens":10,"outputTokens":4,"thoughtTokens":2,"cachedReadTokens":5}}}'"#,
    );
    let answer = Assistant { reasoning: Some("Hm. Yes.".into()), ..said("Hello, you.") };
    let usage = Usage { input: 10, output: 6, cache_read: 5, reasoning: 2, ..Usage::default() };
    let expected = vec![
        Ok(Delta::Reasoning("Hm. ".into())),
        Ok(Delta::Reasoning("Yes.".into())),
        text("Hello"),
        text(", you."),
        done(answer, Reply { usage: Some(usage), ..Reply::default() }),
    ];
    let deltas = world.ask().await;
    let sent = deltas.first().and_then(|delta| match delta {
        Ok(Delta::Sent(sent)) => Some(sent.clone()),
        _ => None,
    });
    let sent = sent.expect("what is sent comes first");
    assert_eq!(noticed(deltas), expected);

    let heard = world.heard();
    let methods: Vec<&Value> = heard.iter().map(|message| &message["method"]).collect();
    assert_eq!(methods, ["initialize", "session/new", "session/prompt"]);
    assert_eq!(heard[1]["params"], json!({"cwd": world.path(), "mcpServers": []}));
    let prompt = heard[2]["params"]["prompt"][0]["text"].as_str().expect("a text");
    assert_eq!((sent.mode.as_str(), sent.url.as_str(), &sent.body[..]), ("acp", "sh", prompt.as_bytes()));
    assert!(prompt.contains("=== system ===\nBe kind.\n\n=== user ===\nHi\n"), "{prompt}");
}

#[tokio::test]
async fn calls_in_the_text_become_calls_and_are_not_shown() {
    let world = World::with(
        r#"open
        chunk agent_message_chunk 'I look.\n<tool'
        chunk agent_message_chunk '_call>{\"name\":\"look\",\"arguments\":{\"at\":\"</tool_call>\"}}</tool_call>'
        chunk agent_message_chunk '<tool_call>{\"name\":\"look\",\"arguments\":{\"at\":}}</tool_call>'
        end_turn"#,
    );
    let arguments = r#"{"at":"</tool_call>"}"#;
    let call = ToolCall::new(CallId::deterministic("look", arguments, 0), "look", arguments);
    let message = Assistant { tool_calls: vec![call], finish_reason: Some(StopReason::Length), ..said("I look.\n") };
    let expected = vec![
        text("I look.\n"),
        Ok(Delta::ToolCallStarted("look".into())),
        done(message, Reply { dropped: vec!["look".into()], ..Reply::default() }),
    ];
    assert_eq!(noticed(world.ask().await), expected);
}

#[tokio::test]
async fn the_agent_gets_no_permission_and_no_file() {
    let world = World::with(
        r#"open
        say '{"jsonrpc":"2.0","id":"p","method":"session/request_permission","params":{"sessionId":"s1","options":[{"optionId":"yes","kind":"allow_once"},{"optionId":"no","kind":"reject_once"}]}}'
        hear
        say '{"jsonrpc":"2.0","id":8,"method":"fs/read_text_file","params":{"sessionId":"s1","path":"/etc/passwd"}}'
        hear
        chunk agent_message_chunk 'Then not.'
        end_turn"#,
    );
    assert_eq!(noticed(world.ask().await), [text("Then not."), done(said("Then not."), Reply::default())]);
    let heard = world.heard();
    assert_eq!(
        heard[3],
        json!({"jsonrpc": "2.0", "id": "p", "result": {"outcome": {"outcome": "selected", "optionId": "no"}}})
    );
    assert_eq!((&heard[4]["id"], &heard[4]["error"]["code"]), (&json!(8), &json!(-32601)));
}

#[tokio::test]
async fn garbage_between_the_messages_is_passed_over() {
    let world = World::with(
        r#"say 'Checking for updates...'
        say '[1,2]'
        open
        printf '\377\376\n'
        say '{"jsonrpc":"2.0"}'
        chunk agent_message_chunk 'Hi.'
        printf '%s' '{"jsonrpc":"2.0","id":3,"result":{"stopReason":"end_turn"}}'"#,
    );
    assert_eq!(noticed(world.ask().await), [text("Hi."), done(said("Hi."), Reply::default())]);
}

#[tokio::test]
async fn an_agent_that_dies_before_it_speaks_is_a_fault_with_its_last_words() {
    let world = World::with(
        r#"say 'Welcome'
        hear
        echo 'fatal: token ghp_0123456789abcdefABCDEF0123456789abcd is no good' >&2
        exit 3"#,
    );
    let message = "`sh` ended with exit code 3 before it answered (lines that were no messages: 1): \
                   fatal: token «redacted» is no good";
    assert_eq!(noticed(world.ask().await), [Err(Fault::new(FaultKind::ServerError, message))]);
}

#[tokio::test]
async fn an_agent_that_dies_while_it_speaks_leaves_an_answer_that_broke_off() {
    let world = World::with("open\nchunk agent_message_chunk 'Once upon'\nexit 1");
    let message = Assistant { finish_reason: Some(StopReason::Length), ..said("Once upon") };
    let expected = [text("Once upon"), done(message, Reply { cut_off: true, ..Reply::default() })];
    assert_eq!(noticed(world.ask().await), expected);
}

#[tokio::test]
async fn a_flood_on_the_error_output_blocks_nothing() {
    let world = World::with(
        r#"i=0; while [ $i -lt 3000 ]; do echo "noise noise noise noise noise noise noise noise $i" >&2; i=$((i+1)); done
        open; chunk agent_message_chunk 'Hi.'; end_turn"#,
    );
    assert_eq!(noticed(world.ask().await), [text("Hi."), done(said("Hi."), Reply::default())]);
}

#[tokio::test]
async fn a_prompt_larger_than_a_pipe_meets_an_agent_that_talks_first() {
    let world = World::with(
        r#"hear; say '{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":1}}'
        hear; say '{"jsonrpc":"2.0","id":1,"result":{"sessionId":"s1"}}'
        i=0; while [ $i -lt 2000 ]; do chunk tool_call_update 'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx'; i=$((i+1)); done
        head -n 1 | wc -c > size
        chunk agent_message_chunk 'Hi.'; end_turn"#,
    );
    let long = Request::new("m", [Message::user("x".repeat(1 << 20))]);
    let deltas = world.model().stream(Arc::new(long)).collect().await;
    assert_eq!(noticed(deltas), [text("Hi."), done(said("Hi."), Reply::default())]);
    let size: usize = fs::read_to_string(world.path().join("size")).expect("a size").trim().parse().expect("a number");
    assert!(size > 1 << 20, "{size}");
}

#[tokio::test]
async fn the_program_sees_only_the_environment_it_was_given() {
    let world = World::with("env > seen; open; chunk agent_message_chunk 'Hi.'; end_turn");
    assert_eq!(noticed(world.ask().await).len(), 2);
    let seen = fs::read_to_string(world.path().join("seen")).expect("variables");
    let mut names: Vec<&str> = seen.lines().filter_map(|line| line.split_once('=')).map(|(name, _)| name).collect();
    names.retain(|name| !matches!(*name, "PWD" | "OLDPWD" | "_" | "SHLVL")); // the shell's own
    names.sort_unstable();
    assert_eq!(names, ["PATH", "TOKEN"]);
}

#[tokio::test]
async fn a_missing_program_or_folder_is_told_with_the_next_step() {
    let folder = tempfile::tempdir().expect("a folder");
    let command = ProcessCommand {
        program: "no-such-copilot".into(),
        args: vec!["--acp".into()],
        env: vec![("SECRET".into(), "hush-hush".into())],
        cwd: folder.path().to_owned(),
    };
    assert!(!format!("{command:?}").contains("hush"), "{command:?}");
    let ask =
        |command: ProcessCommand| ProcessModel::new(card(), command).stream(Arc::new(request())).collect::<Vec<_>>();

    let missing = Fault {
        code: Some("missing_copilot_cli".into()),
        ..Fault::new(
            FaultKind::NotConfigured,
            "the program `no-such-copilot` was not found; install the GitHub Copilot CLI \
             (https://github.com/github/copilot-cli), or name it in HERMES_COPILOT_ACP_COMMAND",
        )
    };
    assert_eq!(noticed(ask(command.clone()).await), [Err(missing)]);

    let nowhere = folder.path().join("nowhere");
    let message = format!("`sh` cannot be started in {}: there is no such folder", nowhere.display());
    let misplaced = ProcessCommand { program: "/bin/sh".into(), cwd: nowhere, ..command };
    assert_eq!(noticed(ask(misplaced).await), [Err(Fault::new(FaultKind::NotConfigured, message))]);
}

#[tokio::test]
async fn an_agent_that_listens_at_an_address_is_connected_to() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let port = listener.local_addr().expect("an address").port();
    let agent = async {
        let (mut stream, _) = listener.accept().await.expect("a caller");
        let (reader, mut writer) = stream.split();
        let mut lines = BufReader::new(reader).lines();
        let chunk = json!({"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "Hi."}});
        for answers in [
            vec![json!({"id": 0, "result": {"protocolVersion": 1}})],
            vec![json!({"id": 1, "result": {"sessionId": "s1"}})],
            vec![
                json!({"method": "session/update", "params": {"sessionId": "s1", "update": chunk}}),
                json!({"id": 3, "result": {"stopReason": "end_turn"}}),
            ],
        ] {
            lines.next_line().await.expect("a line").expect("not the end");
            for answer in answers {
                writer.write_all(format!("{answer}\n").as_bytes()).await.expect("sent");
            }
        }
        assert_eq!(lines.next_line().await.expect("a clean end"), None);
    };
    let url = Url::parse(&format!("acp+tcp://127.0.0.1:{port}")).expect("a URL");
    let address = TcpAddress::of(&url).expect("an address");
    let model = ProcessModel::at(card(), address, "/w".into());
    let (deltas, ()) = tokio::join!(model.stream(Arc::new(request())).collect::<Vec<_>>(), agent);
    assert_eq!(noticed(deltas), [text("Hi."), done(said("Hi."), Reply::default())]);
}

#[tokio::test]
async fn an_address_where_nobody_listens_is_told_with_the_next_step() {
    // Bound and silent: the port is ours for as long as the test lasts.
    let socket = tokio::net::TcpSocket::new_v4().expect("a socket");
    socket.bind("127.0.0.1:0".parse().expect("an address")).expect("a port");
    let place = socket.local_addr().expect("an address").to_string();
    let address = TcpAddress::of(&Url::parse(&format!("acp+tcp://{place}")).expect("a URL")).expect("an address");
    let refused = ProcessModel::at(card(), address, "/w".into()).stream(Arc::new(request())).collect::<Vec<_>>().await;
    let reason = std::io::Error::from_raw_os_error(rustix::io::Errno::CONNREFUSED.raw_os_error());
    let message = format!("no agent answers at {place}: {reason}; start it there or change COPILOT_ACP_BASE_URL");
    assert_eq!(noticed(refused), [Err(Fault::new(FaultKind::Unreachable, message))]);
}

#[test]
fn only_a_full_address_of_the_right_kind_is_one() {
    let table = [
        ("acp+tcp://localhost:4000", Some("localhost:4000")),
        ("acp+tcp://[::1]:4000/", Some("[::1]:4000")),
        ("acp+tcp://localhost", None),
        ("acp://copilot", None),
        ("http://localhost:4000", None),
    ];
    for (url, expected) in table {
        let address = TcpAddress::of(&Url::parse(url).expect("a URL"));
        assert_eq!(address.map(|address| address.to_string()).as_deref(), expected, "{url}");
    }
}

/// What is left of a program afterwards, as `/proc` tells it.
#[cfg(target_os = "linux")]
mod afterwards {
    use super::*;
    use std::time::Instant;

    #[tokio::test]
    async fn dropping_the_stream_ends_the_program_and_its_children() {
        let world = World::with(
            r#"sleep 1000 & echo "$$ $!" > pids
            open
            chunk agent_message_chunk 'Wait'
            sleep 1000"#,
        );
        let mut stream = world.model().stream(Arc::new(request()));
        while stream.next().await != Some(text("Wait")) {}
        let pids = pids(&world);
        assert_eq!((pids.len(), pids.iter().all(|pid| runs(pid))), (2, true));
        drop(stream);
        assert!(end_soon(&pids), "still there: {pids:?}");
    }

    #[tokio::test]
    async fn children_end_even_when_the_program_ended_before_them() {
        let world = World::with(
            r#"sleep 1000 & echo "$!" > pids
            open
            chunk agent_message_chunk 'Bye'"#,
        );
        let mut stream = world.model().stream(Arc::new(request()));
        while stream.next().await != Some(text("Bye")) {}
        drop(stream);
        assert!(end_soon(&pids(&world)));
    }

    #[tokio::test]
    async fn an_answer_ends_the_program_even_while_somebody_holds_the_stream() {
        let world = World::with(
            r#"sleep 1000 & echo "$$ $!" > pids
            open; chunk agent_message_chunk 'Hi.'; end_turn
            sleep 1000"#,
        );
        let mut stream = world.model().stream(Arc::new(request()));
        while !matches!(stream.next().await, Some(Ok(Delta::Done(_)))) {}
        assert!(end_soon(&pids(&world)));
        assert!(stream.next().await.is_none());
    }

    #[tokio::test]
    async fn a_program_that_hangs_up_and_lives_on_is_ended() {
        let world = World::with("echo $$ > pids; exec >&-; sleep 1000");
        let fault = Fault::new(FaultKind::ServerError, "`sh` closed its output before it answered");
        assert_eq!(noticed(world.ask().await), [Err(fault)]);
        assert!(end_soon(&pids(&world)));
    }

    fn pids(world: &World) -> Vec<String> {
        let line = fs::read_to_string(world.path().join("pids")).expect("process ids");
        line.split_whitespace().map(str::to_owned).collect()
    }

    /// A zombie waits for somebody to read its exit code; it runs no more.
    fn runs(pid: &str) -> bool {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        stat.rsplit_once(')').is_some_and(|(_, fields)| !fields.trim_start().starts_with('Z'))
    }

    fn end_soon(pids: &[String]) -> bool {
        let limit = Instant::now() + Duration::from_secs(5);
        while pids.iter().any(|pid| runs(pid)) {
            if Instant::now() > limit {
                return false;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        true
    }
}
