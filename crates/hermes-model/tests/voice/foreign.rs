//! A server that was not written here: its recorded streams, and the server itself where it is installed.
//!
//! The streams in `tests/aimock/recorded` were recorded from aimock with `tests/aimock/fixtures.json`. Our scripted
//! server and our decoders could share a misunderstanding of a protocol; this one does not share it.

use crate::stage::{Stage, after, only, question};
use hermes_model::wire::ApiMode;
use hermes_testkit::{ModelServer, Move};
use hermes_types::{Assistant, CallId, Content, Reply, Request, StopReason, ToolCall, Usage};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;
use tokio::io::{AsyncBufReadExt, BufReader, Lines};
use tokio::process::{Child, ChildStdout, Command};

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/aimock");
const HELLO: &str = "Hello! สวัสดี 你好 — how can I help you today?";
const BANGKOK: &str = r#"{"city":"Bangkok","unit":"celsius"}"#;
const SHANGHAI: &str = r#"{"city":"上海","unit":"celsius"}"#;

fn short(mode: ApiMode) -> &'static str {
    match mode {
        ApiMode::ChatCompletions => "chat",
        ApiMode::CodexResponses => "responses",
        ApiMode::AnthropicMessages => "anthropic",
    }
}

/// The recorded stream as an answer to a real call.
async fn replayed(mode: ApiMode, name: &str) -> (Reply, Vec<String>) {
    let bytes = std::fs::read(format!("{FOLDER}/recorded/{}-{name}.sse", short(mode))).expect("a recording");
    let server = ModelServer::start(Move::raw(bytes).shred(11)).await;
    let told = Stage::at(&server, mode).ask(question("hi")).await;
    (told.reply(), told.shown())
}

fn said(text: &str, stop: StopReason) -> Assistant {
    Assistant { content: Some(Content::Text(text.into())), finish_reason: Some(stop), ..Assistant::default() }
}

fn reply(message: Assistant, id: &str, model: &str, usage: Usage) -> Reply {
    Reply { message, usage: Some(usage), model: Some(model.into()), id: Some(id.into()), ..Reply::default() }
}

fn used(input: u64, output: u64) -> Usage {
    Usage { input, output, ..Usage::default() }
}

/// A message item as the Responses API wants it back.
fn item(id: &str, text: &str) -> Option<Vec<Value>> {
    let content = json!([{"type": "output_text", "text": text}]);
    Some(vec![json!({"type": "message", "role": "assistant", "status": "completed", "content": content, "id": id})])
}

fn call(id: &str, arguments: &str, item: Option<&str>) -> ToolCall {
    let mut call = ToolCall::new(CallId::new(id), "get_weather", arguments);
    call.response_item_id = item.map(str::to_owned);
    call.call_id = item.map(|_| CallId::new(id));
    call
}

#[tokio::test]
async fn recorded_text() {
    let cases = [
        (ApiMode::ChatCompletions, None, "chatcmpl-MfSOer0NOTCqEqeb", "gpt-4o", used(3, 11)),
        (ApiMode::CodexResponses, item("msg-B6Lqg3V7J1_XnYYT", HELLO), "resp-KNtPD_mUKs68SSE4", "gpt-5", used(0, 0)),
        (ApiMode::AnthropicMessages, None, "msg__vMGMtF-I7s_QP-a", "claude-sonnet-4-5", used(0, 0)),
    ];
    for (mode, codex_message_items, id, model, usage) in cases {
        let message = Assistant { codex_message_items, ..said(HELLO, StopReason::Stop) };
        assert_eq!(replayed(mode, "text").await, (reply(message, id, model, usage), vec![format!("text: {HELLO}")]));
    }
}

#[tokio::test]
async fn recorded_reasoning() {
    let thought = "Six times seven is forty-two.";
    let answer = || Assistant { reasoning: Some(thought.into()), ..said("It is 42.", StopReason::Stop) };
    let chat = Assistant { reasoning_content: Some(thought.into()), ..answer() };
    let responses = Assistant { codex_message_items: item("msg-0wqaB_LhEm2yu-3H", "It is 42."), ..answer() };
    let signed = json!({"type": "thinking", "thinking": thought, "signature": "aimock-placeholder-signature"});
    let anthropic = Assistant { reasoning_details: Some(vec![signed]), ..answer() };
    let cases = [
        (ApiMode::ChatCompletions, chat, "chatcmpl-h-L2ZeYl10ZzA5et", "gpt-4o", used(3, 3)),
        (ApiMode::CodexResponses, responses, "resp-GI6cPdRlEQ7ELpR7", "gpt-5", used(0, 0)),
        (ApiMode::AnthropicMessages, anthropic, "msg_2CeoQMWbQeiqxd4I", "claude-sonnet-4-5", used(0, 0)),
    ];
    let shown = vec![format!("reasoning: {thought}"), "text: It is 42.".to_owned()];
    for (mode, message, id, model, usage) in cases {
        assert_eq!(replayed(mode, "reasoning").await, (reply(message, id, model, usage), shown.clone()));
    }
}

#[tokio::test]
async fn recorded_tool_calls() {
    let looking =
        |calls: [ToolCall; 2]| Assistant { tool_calls: calls.to_vec(), ..said("Let me look.", StopReason::ToolCalls) };
    let chat = looking([call("call_LW-um7WzgMXtRfdE", BANGKOK, None), call("call_YsHOGrWS53W5xE0k", SHANGHAI, None)]);
    // The API takes item ids in its own form only; this server has another, so each call gets one made of its call id.
    let responses = Assistant {
        codex_message_items: item("msg-dDeIFu_uLhyQ-m8L", "Let me look."),
        ..looking([
            call("call_JGakS-uTLKCMv8Wq", BANGKOK, Some("fc_JGakS-uTLKCMv8Wq")),
            call("call_sD62RQwNzzvvD3VE", SHANGHAI, Some("fc_sD62RQwNzzvvD3VE")),
        ])
    };
    let anthropic =
        looking([call("toolu_ooxyK0Kh0hcDU3nN", BANGKOK, None), call("toolu_f0b5O7nF-PVIBC-F", SHANGHAI, None)]);
    let cases = [
        (ApiMode::ChatCompletions, chat, "chatcmpl-P1_4QpYuy0bv_lvF", "gpt-4o", used(2, 25)),
        (ApiMode::CodexResponses, responses, "resp-erdq0yk4MtoxMpcd", "gpt-5", used(0, 0)),
        (ApiMode::AnthropicMessages, anthropic, "msg_-dmymlpF4DCF4I7K", "claude-sonnet-4-5", used(0, 0)),
    ];
    let shown = ["text: Let me look.", "call: get_weather", "call: get_weather"].map(str::to_owned);
    for (mode, message, id, model, usage) in cases {
        assert_eq!(replayed(mode, "tools").await, (reply(message, id, model, usage), shown.to_vec()));
    }
}

/// The foreign server, while it runs.
struct Foreign {
    base_url: String,
    _child: Child,
    /// Kept open, or its next line would end it.
    _lines: Lines<BufReader<ChildStdout>>,
}

impl Foreign {
    /// Starts it, or says what is missing here. Once started it has to listen.
    async fn start() -> Result<Self, String> {
        let folder = std::env::var_os("HERMES_TEST_AIMOCK").map(PathBuf::from);
        let folder = folder.ok_or("HERMES_TEST_AIMOCK names no folder with aimock in it; scripts/test installs it")?;
        let program = folder.join("node_modules/.bin/llmock");
        if !program.exists() {
            return Err(format!("there is no {}", program.display()));
        }
        Command::new("node").arg("--version").output().await.map_err(|error| format!("node does not run: {error}"))?;
        let mut child = Command::new(program)
            .args(["-p", "0", "-f"])
            .arg(Path::new(FOLDER).join("fixtures.json"))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .kill_on_drop(true)
            .spawn()
            .map_err(|error| format!("{} does not start: {error}", folder.display()))?;
        let mut lines = BufReader::new(child.stdout.take().expect("a pipe")).lines();
        let listening = async {
            while let Some(line) = lines.next_line().await.expect("text") {
                if let Some((_, root)) = line.split_once("listening on ") {
                    return Some(format!("{root}/v1"));
                }
            }
            None
        };
        let base_url = tokio::time::timeout(Duration::from_secs(10), listening).await.ok().flatten();
        let base_url = base_url.expect("a server that was started says where it listens");
        Ok(Self { base_url, _child: child, _lines: lines })
    }
}

#[tokio::test]
async fn the_foreign_server_understands_us_and_we_understand_it() {
    let foreign = match Foreign::start().await {
        Ok(foreign) => foreign,
        Err(reason) => {
            eprintln!("skipped, the independent model server is not here: {reason}");
            return;
        }
    };
    for mode in ApiMode::ALL {
        let mut config = only(&foreign.base_url, mode);
        config["model"]["default"] =
            json!(if mode == ApiMode::AnthropicMessages { "claude-sonnet-4-5" } else { "gpt-5" });
        let stage = Stage::new(config).real_time();
        let mut conversation = stage.conversation().await;

        let told = conversation.ask(question("say hello")).await;
        assert_eq!((told.outcome().as_str(), told.steps()), (HELLO, vec![]), "{mode}");
        let told = conversation.ask(question("think first")).await;
        let thought = told.reply().message.reasoning;
        assert_eq!(
            (told.outcome().as_str(), thought.as_deref()),
            ("It is 42.", Some("Six times seven is forty-two.")),
            "{mode}"
        );

        let first: Request = question("weather, please");
        let asked = conversation.ask(first.clone()).await.reply();
        let arguments: Vec<&str> = asked.tool_calls().iter().map(|call| call.function.arguments.as_str()).collect();
        assert_eq!(arguments, [BANGKOK, SHANGHAI], "{mode}");
        assert_eq!(asked.stop_reason(), StopReason::ToolCalls, "{mode}");
        // The conversation with its results goes back, and the server finds its next line in it.
        let next = after(first, &asked, Some("say hello"));
        assert_eq!(conversation.ask(next).await.outcome(), HELLO, "{mode}");
    }
}
