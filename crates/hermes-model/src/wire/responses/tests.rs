//! Requests compared whole, answers told as the servers tell them.

use super::*;
use crate::provider::{COMPATIBLE, Provider, Quirk};
use crate::wire::sse::{Event, Parser};
use crate::wire::{AuthHeader, Decoder, Encoded, End, Login};
use hermes_types::{
    Assistant, CallId, Concession, Content, Delta, Effort, Fault, FaultKind, Message, Object, Part, Reasoning, Reply,
    Request, SessionId, StopReason, ToolCall, ToolChoice, ToolDefinition, Usage, Usd,
};
use proptest::prelude::*;
use serde_json::json;
use std::sync::Arc;
use url::Url;

static CODEX: Provider = Provider { id: "openai-codex", ..COMPATIBLE };
static OPENAI: Provider = Provider { id: "openai-api", ..COMPATIBLE };
static XAI: Provider = Provider { id: "xai", ..COMPATIBLE };
static COPILOT: Provider = Provider { id: "copilot", quirks: &[Quirk::CopilotHeaders], ..COMPATIBLE };

fn target(provider: &'static Provider, base: &str) -> Target {
    let base_url = Url::parse(base).expect("a URL");
    Target { provider, base_url, login: Login::ApiKey, extra_body: Object::new(), cache: None }
}

fn openai() -> Target {
    target(&OPENAI, "https://api.openai.com/v1")
}

fn codex() -> Target {
    target(&CODEX, "https://chatgpt.com/backend-api/codex")
}

fn xai() -> Target {
    target(&XAI, "https://api.x.ai/v1")
}

fn copilot() -> Target {
    target(&COPILOT, "https://api.githubcopilot.com")
}

fn body(request: &Request, target: &Target) -> Value {
    serde_json::from_slice(&encode(request, target).body).expect("JSON")
}

fn input(request: &Request, target: &Target) -> Value {
    body(request, target)["input"].take()
}

fn ask(text: &str) -> Request {
    Request::new("gpt-5.2", [Message::user(text)])
}

fn call(id: &str, name: &str, arguments: &str) -> ToolCall {
    ToolCall::new(CallId::new(id), name, arguments)
}

fn calling(calls: Vec<ToolCall>) -> Message {
    Message::Assistant(Assistant { tool_calls: calls, ..Assistant::default() })
}

fn result(id: &str, content: impl Into<Content>) -> Message {
    Message::tool(&CallId::new(id), "tool", content)
}

fn tool(name: &str) -> ToolDefinition {
    let parameters = json!({"type": "object", "properties": {
        "pattern": {"type": "string", "pattern": "^a", "format": "uri", "default": {"format": "kept"}},
        "kind": {"enum": ["a/b", "c"]},
        "list": {"type": "array", "items": {"enum": ["x"], "format": "date"}},
    }});
    ToolDefinition { name: name.into(), description: format!("Does {name}."), parameters }
}

// ---- requests ----

#[test]
fn a_whole_request_to_openai() {
    let mut request = Request::new("gpt-5.2", [Message::system("Be brief."), Message::user("Hi")]);
    request.tools = Arc::new([ToolDefinition {
        name: "read_file".into(),
        description: "Reads.".into(),
        parameters: json!({"type": "object", "properties": {"path": {"type": "string"}}}),
    }]);
    request.max_output_tokens = Some(1000);
    request.temperature = Some(0.5);
    request.service_tier = Some("flex".into());
    request.session = Some(SessionId::new("20250101_000000_abcdef"));
    let encoded = encode(&request, &openai());
    let expected = concat!(
        r#"{"model":"gpt-5.2","instructions":"Be brief.","#,
        r#""tools":[{"type":"function","name":"read_file","description":"Reads.","strict":false,"#,
        r#""parameters":{"type":"object","properties":{"path":{"type":"string"}}}}],"#,
        r#""tool_choice":"auto","parallel_tool_calls":true,"store":false,"stream":true,"#,
        r#""reasoning":{"effort":"medium","summary":"auto"},"include":["reasoning.encrypted_content"],"#,
        r#""prompt_cache_key":"pck_a16397880fbdcb3ec8ccbce1","service_tier":"flex","max_output_tokens":1000,"#,
        r#""temperature":0.5,"input":[{"role":"user","content":"Hi"}]}"#,
    );
    assert_eq!(
        encoded,
        Encoded {
            url: Url::parse("https://api.openai.com/v1/responses").expect("a URL"),
            headers: Vec::new(),
            auth: AuthHeader::Bearer,
            body: expected.as_bytes().to_vec(),
        }
    );
}

#[test]
fn the_codex_backend_gets_its_headers_and_no_cap() {
    let mut request = ask("Hi");
    request.max_output_tokens = Some(1000);
    request.session = Some(SessionId::new("s1"));
    let encoded = encode(&request, &codex());
    let headers = [("originator", "hermes"), ("session_id", "s1"), ("x-client-request-id", "s1")];
    assert_eq!(encoded.headers, headers.map(|(name, value)| (name, value.to_owned())));
    assert_eq!(encoded.url.as_str(), "https://chatgpt.com/backend-api/codex/responses");
    assert_eq!(
        body(&request, &codex()),
        json!({
            "model": "gpt-5.2", "instructions": "You are a helpful assistant.", "store": false, "stream": true,
            "reasoning": {"effort": "medium", "summary": "auto"}, "include": ["reasoning.encrypted_content"],
            "prompt_cache_key": "pck_e55d56aca41da77f8ed5861d", "input": [{"role": "user", "content": "Hi"}],
        })
    );
    request.session = Some(SessionId::new("ü".repeat(60)));
    let (_, id) = encode(&request, &codex()).headers.swap_remove(1);
    assert!(id.starts_with("sid_") && id.len() == 28, "{id}");
}

#[test]
fn xai_has_its_own_taste() {
    let mut request = Request::new("grok-4.5", [Message::system("S"), Message::user("Hi")]);
    request.tools = Arc::new([tool("search_files"), tool("web_search")]);
    request.reasoning = Some(Reasoning::Effort(Effort::Ultra));
    request.service_tier = Some("flex".into());
    request.session = Some(SessionId::new("s1"));
    let sent = body(&request, &xai());
    assert_eq!(
        sent["tools"],
        json!([
            {"type": "function", "name": "search_files", "description": "Does search_files.", "strict": false,
             "parameters": {"type": "object", "properties": {
                "pattern": {"type": "string", "default": {"format": "kept"}},
                "kind": {},
                "list": {"type": "array", "items": {"enum": ["x"]}}}}},
            {"type": "web_search"},
        ])
    );
    assert_eq!(sent["reasoning"], json!({"effort": "high"}));
    assert_eq!(sent["include"], json!(["reasoning.encrypted_content"]));
    assert_eq!(sent.get("service_tier"), None);
    assert_eq!(encode(&request, &xai()).headers, [("x-grok-conv-id", "s1".to_owned())]);
    request.model = "grok-4".into();
    assert_eq!(body(&request, &xai()).get("reasoning"), None);
}

#[test]
fn copilot_learns_who_asks_and_whether_there_is_something_to_see() {
    let mut request = ask("Hi");
    request.session = Some(SessionId::new("s1"));
    let sent = body(&request, &copilot());
    for absent in ["include", "prompt_cache_key", "reasoning"] {
        assert_eq!(sent.get(absent), None, "{absent}");
    }
    let headers = |request: &Request| encode(request, &copilot()).headers;
    let user = vec![("openai-intent", "conversation-edits".to_owned()), ("x-initiator", "user".to_owned())];
    assert_eq!(headers(&request), user);
    // The row of the vendor names the intent already.
    let row = target(Provider::find("copilot").expect("copilot"), "https://api.githubcopilot.com");
    let once = vec![("Openai-Intent", "conversation-edits".to_owned()), ("x-initiator", "user".to_owned())];
    assert_eq!(encode(&request, &row).headers, once);
    request.reasoning = Some(Reasoning::Effort(Effort::Low));
    assert_eq!(body(&request, &copilot())["reasoning"], json!({"effort": "low", "summary": "auto"}));
    let seen = Request::new(
        "gpt-5.2",
        [
            Message::user(Content::Parts(vec![Part::of_image("https://x.test/a.png")])),
            calling(vec![call("c1", "f", "{}")]),
            result("c1", "done"),
        ],
    );
    let agent = vec![
        ("openai-intent", "conversation-edits".to_owned()),
        ("x-initiator", "agent".to_owned()),
        ("copilot-vision-request", "true".to_owned()),
    ];
    assert_eq!(headers(&seen), agent);
}

#[test]
fn efforts_fit_the_model() {
    let effort = |target: &Target, model: &str, reasoning: Option<Reasoning>| {
        let mut request = Request::new(model, [Message::user("x")]);
        request.reasoning = reasoning;
        let sent = body(&request, target);
        (sent["reasoning"]["effort"].as_str().map(str::to_owned), sent["include"].as_array().map(Vec::len))
    };
    let of = |effort| Some(Reasoning::Effort(effort));
    let says = |word: &str, included| (Some(word.to_owned()), included);
    assert_eq!(effort(&codex(), "gpt-5.2", None), says("medium", Some(1)));
    assert_eq!(effort(&codex(), "gpt-5.2", of(Effort::Minimal)), says("low", Some(1)));
    assert_eq!(effort(&codex(), "gpt-5.2", of(Effort::Ultra)), says("xhigh", Some(1)));
    assert_eq!(effort(&codex(), "gpt-5.6-codex", of(Effort::Ultra)), says("max", Some(1)));
    assert_eq!(effort(&codex(), "gpt-5.2", Some(Reasoning::Off)), says("none", Some(0)));
    assert_eq!(effort(&openai(), "gpt-4.1", None), (None, Some(0)));
    assert_eq!(effort(&openai(), "openai/gpt-5.2", Some(Reasoning::On)), says("medium", Some(1)));
    let row = target(Provider::find("openai-codex").expect("codex"), "https://chatgpt.com/backend-api/codex");
    assert_eq!(body(&Request::new("openai/gpt-5.4", []), &row)["model"], "gpt-5.4");
    assert_eq!(effort(&copilot(), "gpt-5.2", of(Effort::XHigh)), says("high", None));
    assert_eq!(effort(&xai(), "grok-4.5", None), (None, Some(1)));
}

#[test]
fn every_concession_leaves_its_thing_out() {
    let mut request = history();
    request.temperature = Some(0.5);
    request.max_output_tokens = Some(9);
    request.tools = Arc::new([tool("f")]);
    let full = body(&request, &openai());
    let without = |concession: Concession| {
        let mut request = request.clone();
        request.concessions.insert(concession);
        body(&request, &openai())
    };
    assert_eq!(without(Concession::Temperature).get("temperature"), None);
    assert_eq!(without(Concession::MaxTokens).get("max_output_tokens"), None);
    assert_eq!(without(Concession::ReasoningEffort).get("reasoning"), None);
    let plain = without(Concession::EncryptedReasoning);
    assert_eq!(plain["include"], json!([]));
    assert_eq!(full["input"].to_string().matches("\"reasoning\"").count(), 1);
    assert!(!plain["input"].to_string().contains("encrypted"), "{plain}");
    let schemas = without(Concession::SchemaPatterns)["tools"][0]["parameters"]["properties"].take();
    assert_eq!(schemas["pattern"], json!({"type": "string", "default": {"format": "kept"}}));
    assert_eq!(schemas["kind"], json!({"enum": ["a/b", "c"]}));
    let images = |sent: &Value| sent["input"].to_string().matches("input_image").count();
    assert_eq!(images(&full), 2);
    assert_eq!(images(&without(Concession::ToolResultParts)), 1);
    assert_eq!(images(&without(Concession::Images)), 0);
    let output = without(Concession::ToolResultParts)["input"].as_array().and_then(|items| items.last().cloned());
    let text = "shot\n(an image was left out here)";
    assert_eq!(output, Some(json!({"type": "function_call_output", "call_id": "call_1", "output": text})));
}

/// A user with an image, an answer with reasoning, a call, a result with an image.
fn history() -> Request {
    let reasoning = json!({"type": "reasoning", "id": "rs_1", "encrypted_content": "enc", "summary": [],
        "_issuer_kind": "other:https://api.openai.com/v1"});
    let assistant = Assistant {
        content: Some("Looking.".into()),
        codex_reasoning_items: Some(vec![reasoning]),
        tool_calls: vec![call("call_1", "f", r#"{"b": 1, "a": 2}"#)],
        ..Assistant::default()
    };
    Request::new(
        "gpt-5.2",
        [
            Message::system("S"),
            Message::user(Content::Parts(vec![Part::of_text("See:"), Part::of_image("data:image/png;base64,AA")])),
            Message::Assistant(assistant),
            result("call_1", Content::Parts(vec![Part::of_text("shot"), Part::of_image("https://x.test/s.png")])),
        ],
    )
}

#[test]
fn a_history_becomes_items() {
    assert_eq!(
        input(&history(), &openai()),
        json!([
            {"role": "user", "content": [
                {"type": "input_text", "text": "See:"},
                {"type": "input_image", "image_url": "data:image/png;base64,AA"}]},
            {"type": "reasoning", "encrypted_content": "enc", "summary": []},
            {"role": "assistant", "content": "Looking."},
            {"type": "function_call", "call_id": "call_1", "name": "f", "arguments": "{\"a\":2,\"b\":1}"},
            {"type": "function_call_output", "call_id": "call_1", "output": [
                {"type": "input_text", "text": "shot"},
                {"type": "input_image", "image_url": "https://x.test/s.png"}]},
        ])
    );
}

/// The program before this one put an empty message between reasoning and call as well. The model never said it, so the
/// call no longer followed the reasoning it was made by.
#[test]
fn reasoning_is_followed_by_what_it_led_to_and_by_an_empty_message_only_when_alone() {
    let thinking = |tool_calls: Vec<ToolCall>| {
        Message::Assistant(Assistant {
            codex_reasoning_items: Some(vec![json!({"type": "reasoning", "id": "rs_1", "encrypted_content": "e",
                "summary": [{"type": "summary_text", "text": "t"}]})]),
            tool_calls,
            ..Assistant::default()
        })
    };
    let thought =
        json!({"type": "reasoning", "encrypted_content": "e", "summary": [{"type": "summary_text", "text": "t"}]});
    let id = CallId::deterministic("read_file", "", 0);
    let called = [thinking(vec![call("", "read_file", "")]), Message::tool(&id, "read_file", "text")];
    assert_eq!(
        input(&Request::new("gpt-5.2", called), &openai()),
        json!([
            thought,
            {"type": "function_call", "call_id": id, "name": "read_file", "arguments": "{}"},
            {"type": "function_call_output", "call_id": id, "output": "text"},
        ])
    );
    assert_eq!(
        input(&Request::new("gpt-5.2", [thinking(vec![])]), &openai()),
        json!([thought, {"role": "assistant", "content": ""}])
    );
}

#[test]
fn what_cannot_be_sent_is_mentioned() {
    const ATTACHMENT: &str = "(an attachment was left out here)";
    let parts = |parts: Value| serde_json::from_value::<Content>(parts).expect("content");
    let said = |content: Value| {
        input(&Request::new("gpt-5.2", [Message::user(parts(content))]), &openai())[0]["content"].take()
    };
    let words = |text: &str| json!({"type": "input_text", "text": text});
    let document = || json!({"type": "document", "source": {"type": "text", "data": "d"}});
    let file = || json!({"type": "input_file", "file_id": "f1"});
    assert_eq!(said(json!([document()])), json!([words(ATTACHMENT)]));
    assert_eq!(
        said(json!([{"type": "text", "text": "see"}, file(), {"type": "file", "file": {}}, {"type": "input_text"}])),
        json!([words("see"), file(), words(ATTACHMENT), words(ATTACHMENT)])
    );
    // State of other protocols is no part of what was said.
    assert_eq!(said(json!([{"type": "thinking", "thinking": "private"}])), "");
    assert_eq!(said(json!([])), "");

    let history =
        |content: Value| Request::new("gpt-5.2", [calling(vec![call("c1", "f", "{}")]), result("c1", parts(content))]);
    let output = |request: &Request| input(request, &openai())[1]["output"].take();
    let mut request = history(json!([{"type": "text", "text": "saved"}, document()]));
    assert_eq!(output(&request), format!("saved\n{ATTACHMENT}"));
    request = history(json!([{"type": "text", "text": "saved"}, file()]));
    assert_eq!(output(&request), json!([words("saved"), file()]));
    request.concessions.insert(Concession::ToolResultParts);
    assert_eq!(output(&request), format!("saved\n{ATTACHMENT}"));
    request = history(json!([{"type": "input_image", "file_id": "f1"}]));
    assert_eq!(output(&request), json!([{"type": "input_image", "file_id": "f1"}]));
    request.concessions.insert(Concession::Images);
    assert_eq!(output(&request), "(an image was left out here)");
}

#[test]
fn slips_in_arguments_are_mended_for_the_server_too() {
    let request = Request::new("gpt-5.2", [calling(vec![call("c1", "f", "{'b': True, 'a': 1,}")]), result("c1", "ok")]);
    assert_eq!(input(&request, &openai())[0]["arguments"], r#"{"a":1,"b":true}"#);
}

#[test]
fn call_ids_come_from_the_best_source() {
    let id_of = |call: ToolCall| input(&Request::new("m", [calling(vec![call])]), &openai())[0]["call_id"].take();
    let mut with_call_id = call("x", "f", "{}");
    with_call_id.call_id = Some(CallId::new("call_9"));
    assert_eq!(id_of(with_call_id), "call_9");
    assert_eq!(id_of(call("call_1|fc_2", "f", "{}")), "call_1");
    assert_eq!(id_of(call("fc_7", "f", "{}")), "call_7");
    assert_eq!(id_of(call("toolu_3", "f", "{}")), "toolu_3");
    assert_eq!(id_of(call("", "read_file", r#"{"path":"x"}"#)), "call_424c07b15d61");
    let long = id_of(call(&"x".repeat(65), "f", "{}"));
    assert_eq!(long.as_str().map(str::len), Some(29));
}

#[test]
fn reasoning_goes_back_once_and_only_to_its_issuer() {
    let item = |id: &str, issuer: &str| json!({"type": "reasoning", "id": id, "encrypted_content": id, "summary": [], "_issuer_kind": issuer});
    let assistant = |items: Vec<Value>| {
        Message::Assistant(Assistant {
            content: Some("a".into()),
            codex_reasoning_items: Some(items),
            ..Assistant::default()
        })
    };
    let request = Request::new(
        "gpt-5.2",
        [
            assistant(vec![item("rs_1", "codex_backend"), item("rs_2", "xai_responses")]),
            assistant(vec![item("rs_1", "codex_backend"), json!({"type": "reasoning", "summary": []})]),
        ],
    );
    let said = json!({"role": "assistant", "content": "a"});
    let thought = |id: &str| json!({"type": "reasoning", "encrypted_content": id, "summary": []});
    assert_eq!(input(&request, &codex()), json!([thought("rs_1"), said, said]));
    assert_eq!(input(&request, &xai()), json!([thought("rs_2"), said, said]));
    assert_eq!(input(&request, &openai()), json!([said, said]));
}

#[test]
fn messages_go_back_as_the_model_divided_them() {
    let part = |text: &str| json!([{"type": "output_text", "text": text, "annotations": []}]);
    let assistant = Assistant {
        content: Some("Done.".into()),
        codex_message_items: Some(vec![
            json!({"type": "message", "id": "msg_1", "status": "completed", "phase": "commentary", "content": part("Hm.")}),
            json!({"type": "message", "id": "m".repeat(65), "status": "odd", "content": part("Done.")}),
        ]),
        ..Assistant::default()
    };
    let request = Request::new("gpt-5.2", [Message::Assistant(assistant)]);
    let message = |text: &str| json!({"type": "message", "role": "assistant", "status": "completed", "content": [{"type": "output_text", "text": text}]});
    let mut first = message("Hm.");
    first["id"] = json!("msg_1");
    first["phase"] = json!("commentary");
    assert_eq!(input(&request, &codex()), json!([first, message("Done.")]));
    first.as_object_mut().expect("an object").remove("id");
    assert_eq!(input(&request, &copilot()), json!([first, message("Done.")]));
}

#[test]
fn orphans_find_their_peace() {
    let request = Request::new(
        "gpt-5.2",
        [
            result("lost", "nobody asked"),
            calling(vec![call("c1", "f", "{}"), call("c1", "f", "{}"), call("c2", "", "{}")]),
            result("c2", "two"),
            result("c2", "two again"),
            Message::user("go on"),
            Message::system("late rule"),
        ],
    );
    assert_eq!(
        input(&request, &openai()),
        json!([
            {"type": "function_call", "call_id": "c1", "name": "f", "arguments": "{}"},
            {"type": "function_call", "call_id": "c2", "name": "invalid_tool_call", "arguments": "{}"},
            {"type": "function_call_output", "call_id": "c2", "output": "two"},
            {"type": "function_call_output", "call_id": "c1", "output": "(no result was recorded for this call)"},
            {"role": "user", "content": "go on"},
            {"role": "developer", "content": "late rule"},
        ])
    );
}

#[test]
fn the_person_has_the_last_word() {
    let mut target = openai();
    target.extra_body.insert("store".into(), json!(true));
    target.extra_body.insert("truncation".into(), json!("auto"));
    let sent = String::from_utf8(encode(&ask("Hi"), &target).body).expect("text");
    assert!(sent.contains(r#""store":true,"stream":true"#), "{sent}");
    assert!(sent.ends_with(r#""truncation":"auto","input":[{"role":"user","content":"Hi"}]}"#), "{sent}");
}

#[test]
fn the_choice_of_tools() {
    let sent = |choice: ToolChoice| {
        let mut request = ask("x");
        request.tools = Arc::new([tool("f")]);
        request.tool_choice = choice;
        body(&request, &openai())["tool_choice"].take()
    };
    assert_eq!(sent(ToolChoice::Required), "required");
    assert_eq!(sent(ToolChoice::Forbidden), "none");
    assert_eq!(sent(ToolChoice::Named("f".into())), json!({"type": "function", "name": "f"}));
}

fn any_message() -> impl Strategy<Value = Message> {
    let id = prop_oneof![Just(""), Just("c1"), Just("c2"), Just("c3|fc_3"), Just("fc_4")];
    let calls =
        prop::collection::vec((id.clone(), prop_oneof![Just("{}"), Just("{\"b\":1,\"a\":2}"), Just("oops")]), 0..3);
    prop_oneof![
        ".{0,4}".prop_map(|text| Message::user(text.as_str())),
        (".{0,4}", calls, any::<bool>()).prop_map(|(text, calls, thinks)| {
            Message::Assistant(Assistant {
                content: Some(text.into()),
                tool_calls: calls.into_iter().map(|(id, arguments)| call(id, "f", arguments)).collect(),
                codex_reasoning_items: thinks.then(|| vec![json!({"encrypted_content": "e"})]),
                ..Assistant::default()
            })
        }),
        (id, ".{0,4}").prop_map(|(id, text)| result(id, text.as_str())),
    ]
}

proptest! {
    #[test]
    fn on_the_wire_every_call_has_one_output_and_every_output_its_call(messages in prop::collection::vec(any_message(), 0..12)) {
        let items = input(&Request::new("gpt-5.2", messages), &openai());
        let mut open: Vec<&str> = Vec::new();
        for item in items.as_array().expect("a list") {
            let id = item["call_id"].as_str().unwrap_or_default();
            match item["type"].as_str() {
                Some("function_call") => open.push(id),
                Some("function_call_output") => {
                    let place = open.iter().position(|call| *call == id);
                    prop_assert!(place.is_some(), "no call for {}", item);
                    open.remove(place.unwrap_or_default());
                }
                _ => {}
            }
        }
        prop_assert!(open.is_empty(), "no output for {:?}", open);
    }

    /// P2: a longer conversation begins with the bytes of the shorter one.
    #[test]
    fn a_request_extends_the_one_before(messages in prop::collection::vec(any_message(), 1..10), more in ".{0,9}") {
        let mut request = Request::new("gpt-5.2", messages);
        request.messages.insert(0, Arc::new(Message::system("S")));
        request.messages.push(Arc::new(Message::user("end")));
        let shorter = encode(&request, &openai()).body;
        request.messages.push(Arc::new(Message::assistant(more.as_str())));
        let longer = encode(&request, &openai()).body;
        let head = shorter.strip_suffix(b"]}").expect("an open end");
        prop_assert!(longer.starts_with(head));
    }
}

// ---- answers ----

struct Told {
    deltas: Vec<Delta>,
    reply: Result<Reply, Fault>,
}

/// Feeds a body through the real parser, in chunks that fall where they fall.
fn tell_as(target: &Target, body: &str, end: End) -> Told {
    let mut decoder: Box<dyn Decoder> = Box::new(ResponsesDecoder::new(target));
    let mut deltas = Vec::new();
    let mut parser = Parser::default();
    let mut each = |event: Event<'_>| decoder.event(event, &mut deltas).map_err(Failed::from);
    let fed = body.as_bytes().chunks(7).try_for_each(|chunk| parser.push(chunk, &mut each));
    let fed = fed.and_then(|()| parser.finish(&mut each));
    let reply = match fed {
        Ok(()) => decoder.finish(end),
        Err(Failed(fault)) => Err(fault),
    };
    deltas.retain(|delta| *delta != Delta::Alive);
    Told { deltas, reply }
}

struct Failed(Fault);

impl From<Fault> for Failed {
    fn from(fault: Fault) -> Self {
        Self(fault)
    }
}

impl From<crate::wire::sse::SseFault> for Failed {
    fn from(fault: crate::wire::sse::SseFault) -> Self {
        Self(Fault::new(FaultKind::Malformed, fault.to_string()))
    }
}

/// A stream of typed events, as servers write them.
fn stream(events: &[Value]) -> String {
    let line = |event: &Value| format!("event: {}\ndata: {event}\n\n", event["type"].as_str().unwrap_or_default());
    events.iter().map(line).collect()
}

fn tell(events: &[Value]) -> Told {
    tell_as(&openai(), &stream(events), End::Whole)
}

fn reply(events: &[Value]) -> Reply {
    tell(events).reply.expect("a reply")
}

fn text_delta(text: &str) -> Value {
    json!({"type": "response.output_text.delta", "sequence_number": 3, "item_id": "msg_1", "output_index": 0,
        "content_index": 0, "delta": text, "logprobs": []})
}

fn item(place: u64, item: Value) -> Value {
    let mut event = json!({"type": "response.output_item.done", "output_index": place});
    event["item"] = item;
    event
}

fn added(place: u64, item: Value) -> Value {
    let mut event = json!({"type": "response.output_item.added", "output_index": place});
    event["item"] = item;
    event
}

fn message(id: &str, text: &str) -> Value {
    json!({"type": "message", "id": id, "status": "completed", "role": "assistant",
        "content": [{"type": "output_text", "text": text, "annotations": []}]})
}

fn function_call(id: &str, name: &str, arguments: &str) -> Value {
    json!({"type": "function_call", "id": format!("fc_{id}"), "call_id": format!("call_{id}"), "name": name,
        "arguments": arguments, "status": "completed"})
}

fn arguments_delta(place: u64, text: &str) -> Value {
    json!({"type": "response.function_call_arguments.delta", "output_index": place, "delta": text})
}

fn completed() -> Value {
    json!({"type": "response.completed", "response": {"id": "resp_1", "object": "response", "status": "completed",
        "model": "gpt-5.2-2025", "output": null, "usage": {"input_tokens": 100,
        "input_tokens_details": {"cached_tokens": 60, "cache_creation_tokens": 10}, "output_tokens": 20,
        "output_tokens_details": {"reasoning_tokens": 8}, "total_tokens": 120, "cost": 0.25}}})
}

fn incomplete(reason: &str) -> Value {
    json!({"type": "response.incomplete", "response": {"status": "incomplete", "incomplete_details": {"reason": reason}}})
}

#[test]
fn a_whole_answer_with_reasoning_text_and_a_call() {
    let told = tell(&[
        json!({"type": "response.created", "response": {"id": "resp_1", "model": "gpt-5.2", "status": "in_progress"}}),
        added(0, json!({"type": "reasoning", "id": "rs_1", "summary": []})),
        json!({"type": "response.reasoning_summary_part.added", "output_index": 0, "summary_index": 0}),
        json!({"type": "response.reasoning_summary_text.delta", "output_index": 0, "delta": "One."}),
        json!({"type": "response.reasoning_summary_part.added", "output_index": 0, "summary_index": 1}),
        json!({"type": "response.reasoning_summary_text.delta", "output_index": 0, "delta": "Two."}),
        item(
            0,
            json!({"type": "reasoning", "id": "rs_1", "encrypted_content": "enc", "summary": [
            {"type": "summary_text", "text": "One."}, {"type": "summary_text", "text": "Two."}]}),
        ),
        added(1, json!({"type": "message", "id": "msg_1", "status": "in_progress", "content": []})),
        json!({"type": "response.content_part.added", "output_index": 1, "part": {"type": "output_text"}}),
        json!({"type": "response.output_text.delta", "output_index": 1, "item_id": "msg_1", "delta": "สวัส\n"}),
        json!({"type": "response.output_text.delta", "output_index": 1, "item_id": "msg_1", "delta": "ดี"}),
        json!({"type": "response.output_text.done", "output_index": 1, "item_id": "msg_1", "text": "สวัส\nดี"}),
        item(1, message("msg_1", "สวัส\nดี")),
        added(2, function_call("1", "read_file", "")),
        arguments_delta(2, "{\"path\""),
        arguments_delta(2, ":\"x\"}"),
        json!({"type": "response.function_call_arguments.done", "output_index": 2, "arguments": "{\"path\":\"x\"}"}),
        item(2, function_call("1", "read_file", "{\"path\":\"x\"}")),
        json!({"type": "response.output_text.delta", "output_index": 3, "item_id": "msg_2", "delta": "late"}),
        completed(),
    ]);
    assert_eq!(
        told.deltas,
        [
            Delta::Reasoning("One.".into()),
            Delta::Reasoning("\n\n".into()),
            Delta::Reasoning("Two.".into()),
            Delta::Text("สวัส\n".into()),
            Delta::Text("ดี".into()),
            Delta::ToolCallStarted("read_file".into()),
        ]
    );
    let mut expected_call = call("call_1", "read_file", "{\"path\":\"x\"}");
    expected_call.call_id = Some(CallId::new("call_1"));
    expected_call.response_item_id = Some("fc_1".into());
    let text_item = |text: &str| json!([{"type": "output_text", "text": text}]);
    assert_eq!(
        told.reply.expect("a reply"),
        Reply {
            message: Assistant {
                content: Some("สวัส\nดี\nlate".into()),
                reasoning: Some("One.\n\nTwo.".into()),
                codex_reasoning_items: Some(vec![
                    json!({"type": "reasoning", "encrypted_content": "enc", "id": "rs_1",
                    "summary": [{"type": "summary_text", "text": "One."}, {"type": "summary_text", "text": "Two."}],
                    "_issuer_kind": "other:https://api.openai.com/v1"})
                ]),
                codex_message_items: Some(vec![
                    json!({"type": "message", "role": "assistant", "status": "completed",
                        "content": text_item("สวัส\nดี"), "id": "msg_1"}),
                    json!({"type": "message", "role": "assistant", "status": "completed",
                        "content": text_item("late")}),
                ]),
                tool_calls: vec![expected_call],
                finish_reason: Some(StopReason::ToolCalls),
                ..Assistant::default()
            },
            usage: Some(Usage {
                input: 30,
                output: 20,
                cache_read: 60,
                cache_write: 10,
                cache_write_1h: 0,
                reasoning: 8,
                cost: Usd::from_f64(0.25),
            }),
            model: Some("gpt-5.2-2025".into()),
            id: Some("resp_1".into()),
            dropped: Vec::new(),
            cut_off: false,
        }
    );
}

#[test]
fn text_without_items_is_a_message() {
    let told = tell(&[text_delta("Hel"), text_delta("lo"), completed()]);
    assert_eq!(told.deltas, [Delta::Text("Hel".into()), Delta::Text("lo".into())]);
    let reply = told.reply.expect("a reply");
    assert_eq!((reply.text().as_str(), reply.stop_reason()), ("Hello", StopReason::Stop));
    assert_eq!(
        reply.message.codex_message_items,
        Some(vec![json!({"type": "message", "role": "assistant", "status": "completed",
            "content": [{"type": "output_text", "text": "Hello"}]})])
    );
}

#[test]
fn a_server_that_sends_only_wholes_is_shown_all_the_same() {
    let done = json!({"type": "response.output_text.done", "output_index": 0, "item_id": "msg_1", "text": "Hi"});
    for events in [
        vec![done, item(0, message("msg_1", "Hi")), completed()],
        vec![item(0, message("msg_1", "Hi")), item(0, message("msg_1", "Hi")), completed()],
        vec![
            json!({"type": "response.completed", "response": {"status": "completed", "output": [message("m", "Hi")]}}),
        ],
        vec![json!({"id": "resp_1", "object": "response", "status": "completed", "error": null, "model": "m",
            "text": {"format": {"type": "text"}}, "output": [message("m", "Hi")], "usage": null})],
    ] {
        let told = tell(&events);
        assert_eq!(told.deltas, [Delta::Text("Hi".into())], "{events:?}");
        let reply = told.reply.expect("a reply");
        assert_eq!((reply.text().as_str(), reply.stop_reason(), reply.cut_off), ("Hi", StopReason::Stop, false));
    }
}

#[test]
fn half_a_character_inside_an_item_costs_one_character_and_not_the_item() {
    let broken = |event: Value| stream(&[event]).replace('@', "\\ud83d");
    let call = item(1, function_call("1", "write", "{\"text\":\"x\"}"));
    let answer = broken(item(0, message("msg_1", "Hi @")))
        + &broken(added(2, message("msg_2 @", "")))
        + &stream(&[call])
        + &broken(json!({"type": "response.completed", "response": {"status": "completed", "model": "m @"}}));
    let reply = tell_as(&openai(), &answer, End::Whole).reply.expect("a reply");
    assert_eq!((reply.text().as_str(), reply.model.as_deref()), ("Hi \u{fffd}", Some("m \u{fffd}")));
    assert_eq!((reply.tool_calls().len(), reply.stop_reason(), reply.cut_off), (1, StopReason::ToolCalls, false));

    let whole = broken(json!({"id": "r", "status": "completed", "output": [message("m", "Hi @")]}));
    assert_eq!(tell_as(&openai(), &whole, End::Whole).reply.expect("a reply").text(), "Hi \u{fffd}");

    let failed = broken(json!({"type": "response.failed", "response": {"status": "failed",
        "error": {"code": "rate_limit_exceeded", "message": "Slow @"}}}));
    let error = broken(json!({"type": "error", "code": "rate_limit_exceeded", "message": "Slow @"}));
    for body in [failed, error] {
        let fault = tell_as(&openai(), &body, End::Whole).reply.expect_err("a fault");
        assert_eq!((fault.kind, fault.message.as_str()), (FaultKind::RateLimit, "Slow \u{fffd}"), "{body}");
    }
}

#[test]
fn calls_need_whole_arguments() {
    let announced =
        || added(0, json!({"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "rm", "arguments": ""}));
    let arguments_done = json!({"type": "response.function_call_arguments.done", "output_index": 0, "arguments": ""});
    let mut cut_item = function_call("1", "rm", "");
    cut_item["status"] = json!("incomplete");
    let called = |arguments: &str| (vec![arguments.to_owned()], vec![]);
    let dropped = || (vec![], vec!["rm".to_owned()]);
    let table = [
        (vec![announced(), arguments_delta(0, "{\"a\":"), arguments_delta(0, "1}"), completed()], called("{\"a\":1}")),
        (vec![announced(), arguments_delta(0, "{\"a\":1}")], called("{\"a\":1}")),
        (vec![announced(), arguments_delta(0, "{\"a\":"), completed()], dropped()),
        (vec![announced(), completed()], dropped()),
        (vec![announced()], dropped()),
        (vec![announced(), arguments_done, completed()], called("")),
        (vec![item(0, function_call("1", "rm", "")), completed()], called("")),
        (vec![item(0, function_call("1", "rm", "[1]")), completed()], dropped()),
        (vec![item(0, cut_item), incomplete("max_output_tokens")], dropped()),
        (vec![arguments_delta(0, "{}"), completed()], (vec![], vec!["(a call without a name)".to_owned()])),
    ];
    for (events, expected) in table {
        let reply = reply(&events);
        let arguments = reply.tool_calls().iter().map(|call| call.function.arguments.as_str().to_owned()).collect();
        assert_eq!((arguments, reply.dropped.clone()), expected, "{events:?}");
        assert_eq!(reply.cut_off, events.last().is_some_and(|event| event["response"].is_null()), "{events:?}");
    }
}

/// `{"lines": 12}` would read as well as what was meant.
#[test]
fn fragments_around_a_damaged_event_are_no_arguments() {
    let announced =
        added(0, json!({"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "cut", "arguments": ""}));
    let before = stream(&[announced, arguments_delta(0, "{\"lines\": 1")]);
    let after = stream(&[arguments_delta(0, "2}"), completed()]);
    let body = format!("{before}data: {{\"type\":\"response.function_call_arg\n\n{after}");
    let reply = tell_as(&openai(), &body, End::Whole).reply.expect("a reply");
    assert_eq!((reply.tool_calls(), reply.dropped.as_slice()), (&[][..], &["cut".to_owned()][..]));
}

#[test]
fn several_calls_keep_their_order_and_their_ids() {
    let mut nameless = function_call("x", "g", "{}");
    nameless.as_object_mut().expect("an object").retain(|key, _| key != "call_id" && key != "id");
    let custom =
        json!({"type": "custom_tool_call", "id": "ctc_1", "call_id": "call_c", "name": "patch", "input": "*** Begin"});
    let reply = reply(&[
        item(0, function_call("1", "f", "{\"a\":1}")),
        item(1, function_call("1", "f", "{\"a\":1}")),
        item(2, function_call("1", "f", "{\"a\":2}")),
        item(3, nameless),
        item(4, custom),
        completed(),
    ]);
    let ids: Vec<(&str, &str, Option<&str>)> = reply
        .tool_calls()
        .iter()
        .map(|call| (call.id.as_str(), call.function.arguments.as_str(), call.response_item_id.as_deref()))
        .collect();
    let second = CallId::deterministic("f", "{\"a\":2}", 1);
    let third = CallId::deterministic("g", "{}", 2);
    assert_eq!(
        ids,
        [
            ("call_1", "{\"a\":1}", Some("fc_1")),
            (second.as_str(), "{\"a\":2}", Some("fc_1")),
            (third.as_str(), "{}", Some(third.as_str().replace("call_", "fc_").as_str())),
            ("call_c", "{\"input\":\"*** Begin\"}", Some("fc_c")),
        ]
    );
}

#[test]
fn a_place_used_twice_is_two_items_and_a_changed_id_is_one() {
    let twice = reply(&[
        added(0, function_call("1", "f", "")),
        arguments_delta(0, "{}"),
        added(0, function_call("2", "g", "")),
        arguments_delta(0, "{\"x\":1}"),
        completed(),
    ]);
    let names: Vec<&str> = twice.tool_calls().iter().map(|call| call.function.name.as_str()).collect();
    assert_eq!(names, ["f", "g"]);
    let changed = tell(&[added(0, message("a", "")), text_delta("Hi"), item(0, message("b", "Hi")), completed()]);
    assert_eq!(changed.deltas, [Delta::Text("Hi".into())]);
    assert_eq!(changed.reply.expect("a reply").text(), "Hi");
}

#[test]
fn asides_are_thoughts() {
    let aside = |phase: &str| {
        let mut aside = message("msg_1", "Let me look.");
        aside["phase"] = json!(phase);
        aside
    };
    for phase in ["commentary", "analysis"] {
        let told = tell(&[added(0, aside(phase)), text_delta("Let me look."), item(0, aside(phase)), completed()]);
        assert_eq!(told.deltas, [Delta::Reasoning("Let me look.".into())]);
        let reply = told.reply.expect("a reply");
        assert_eq!((reply.text().as_str(), reply.stop_reason()), ("", StopReason::Incomplete));
        assert_eq!(reply.message.reasoning.as_deref(), Some("Let me look."));
        assert_eq!(reply.message.codex_message_items.map(|items| items[0]["phase"].clone()), Some(json!(phase)));
    }
    let answered = reply(&[item(0, aside("commentary")), item(1, message("msg_2", "Done.")), completed()]);
    assert_eq!((answered.text().as_str(), answered.stop_reason()), ("Done.", StopReason::Stop));
}

#[test]
fn how_an_answer_ends() {
    let thought =
        item(0, json!({"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "Hm."}]}));
    let mut writing = message("m", "Half");
    writing["status"] = json!("in_progress");
    let refusal = item(0, json!({"type": "message", "content": [{"type": "refusal", "refusal": "I won't."}]}));
    let search = item(1, json!({"type": "web_search_call", "id": "ws_1", "status": "in_progress"}));
    let table = [
        (openai(), vec![thought.clone(), completed()], "", StopReason::Stop),
        (codex(), vec![thought.clone(), completed()], "", StopReason::Incomplete),
        (copilot(), vec![thought, completed()], "", StopReason::Incomplete),
        (codex(), vec![text_delta("Half"), incomplete("max_output_tokens")], "Half", StopReason::Incomplete),
        (codex(), vec![incomplete("max_output_tokens")], "", StopReason::Incomplete),
        (openai(), vec![text_delta("Ha"), incomplete("content_filter")], "Ha", StopReason::ContentFilter),
        (openai(), vec![item(0, writing), completed()], "Half", StopReason::Incomplete),
        (openai(), vec![refusal, completed()], "I won't.", StopReason::ContentFilter),
        (openai(), vec![item(0, message("m", "Hi")), search, completed()], "Hi", StopReason::Stop),
        (codex(), vec![item(0, message("m", "to=functions.read_file {}")), completed()], "", StopReason::Incomplete),
        (
            codex(),
            vec![item(0, message("m", "set to=functions. ok")), completed()],
            "set to=functions. ok",
            StopReason::Stop,
        ),
        (openai(), vec![text_delta("cut")], "cut", StopReason::Length),
    ];
    for (target, events, text, stop) in table {
        let reply = tell_as(&target, &stream(&events), End::Whole).reply.expect("a reply");
        assert_eq!((reply.text().as_str(), reply.stop_reason()), (text, stop), "{events:?}");
    }
}

#[test]
fn an_answer_hidden_in_groks_reasoning_is_found() {
    let summary = json!([{"type": "summary_text", "text": "Hm. <response>Four.</response>"}]);
    let events = [
        item(0, json!({"type": "reasoning", "id": "rs_tmp_1", "encrypted_content": "e", "summary": summary})),
        completed(),
    ];
    let reply = tell_as(&xai(), &stream(&events), End::Whole).reply.expect("a reply");
    assert_eq!((reply.text().as_str(), reply.message.reasoning.as_deref()), ("Four.", Some("Hm.")));
    assert_eq!((reply.stop_reason(), reply.message.codex_reasoning_items), (StopReason::Stop, None));
}

#[test]
fn failures_are_faults() {
    let failed = |error: Value| json!({"type": "response.failed", "response": {"status": "failed", "error": error}});
    let thinking = json!({"type": "response.reasoning_text.delta", "output_index": 0, "delta": "Hm"});
    let whole_failure = json!({"object": "response", "status": "failed", "output": [],
        "error": {"code": "server_error", "message": "Oops"}});
    let table = [
        (
            stream(&[text_delta("Hi"), failed(json!({"code": "rate_limit_exceeded", "message": "Slow"}))]),
            FaultKind::RateLimit,
            "Slow",
        ),
        (
            stream(&[failed(json!({"code": "context_length_exceeded", "message": "Long"}))]),
            FaultKind::ContextOverflow,
            "Long",
        ),
        (
            stream(&[failed(Value::Null)]),
            FaultKind::ServerError,
            "the provider ended the answer as failed and gave no reason",
        ),
        (
            stream(&[json!({"type": "response.completed", "response": {"status": "cancelled"}})]),
            FaultKind::ServerError,
            "the provider ended the answer as cancelled and gave no reason",
        ),
        (
            stream(&[json!({"type": "error", "code": "server_is_overloaded", "message": "Full", "param": null})]),
            FaultKind::Overloaded,
            "Full",
        ),
        (
            stream(&[
                json!({"type": "error", "status": 429, "error": {"type": "usage_limit_reached", "message": "Used up"}}),
            ]),
            FaultKind::RateLimit,
            "HTTP 429: Used up",
        ),
        (stream(&[whole_failure]), FaultKind::ServerError, "Oops"),
        ("data: {\"error\":{\"message\":\"No\",\"code\":\"invalid_api_key\"}}\n\n".to_owned(), FaultKind::Auth, "No"),
        (
            "{\"detail\":\"Unauthorized\"}".to_owned(),
            FaultKind::EmptyStream,
            "the server closed the stream before an answer came",
        ),
        ("data: {\"detail\":\"Odd\"}\n\n".to_owned(), FaultKind::Unknown, "Odd"),
        (stream(&[thinking]), FaultKind::EmptyStream, "the server closed the stream before an answer came"),
        (stream(&[completed()]), FaultKind::EmptyStream, "the provider ended its answer without saying anything"),
        ("data: [DONE]\n\n".to_owned(), FaultKind::EmptyStream, "the server closed the stream before an answer came"),
        ("data: {\"type\":\n\n".to_owned(), FaultKind::Malformed, "the server's answer could not be read"),
    ];
    for (body, kind, message) in table {
        let fault = tell_as(&openai(), &body, End::Whole).reply.expect_err(&body);
        assert_eq!((fault.kind, fault.message.as_str()), (kind, message), "{body}");
    }
    let cut = tell_as(&openai(), "data: {\"type\":\"respon", End::Cut).reply.expect_err("cut");
    assert_eq!(cut.kind, FaultKind::Timeout);
}

#[test]
fn noise_changes_nothing() {
    let quiet = stream(&[text_delta("Hi"), item(0, message("msg_1", "Hi")), completed()]);
    let noise = ": keep-alive\n\ndata: ping\n\ndata: [DONE]\n\ndata: {\"type\":\"response.future.event\",\"delta\":{\"x\":1}}\n\n\
        data: {\"type\":5,\"delta\":[],\"output_index\":-1}\n\ndata: {broken\n\n";
    let noisy = format!("{noise}{}{noise}", quiet.replace("\n\n", &format!("\n\n{noise}")));
    let (quiet, noisy) = (tell_as(&openai(), &quiet, End::Whole), tell_as(&openai(), &noisy, End::Whole));
    assert_eq!(noisy.deltas, quiet.deltas);
    assert_eq!(noisy.reply, quiet.reply);
}

#[test]
fn what_was_said_can_be_said_back() {
    let events = [
        item(0, json!({"type": "reasoning", "id": "rs_1", "encrypted_content": "enc", "summary": []})),
        item(1, message("msg_1", "Looking.")),
        item(2, function_call("1", "f", "{\"b\":1,\"a\":2}")),
        completed(),
    ];
    let said = tell_as(&codex(), &stream(&events), End::Whole).reply.expect("a reply").message;
    let request = Request::new("gpt-5.2", [Message::Assistant(said), result("call_1", "ok")]);
    assert_eq!(
        input(&request, &codex()),
        json!([
            {"type": "reasoning", "encrypted_content": "enc", "summary": []},
            {"type": "message", "role": "assistant", "status": "completed",
             "content": [{"type": "output_text", "text": "Looking."}], "id": "msg_1"},
            {"type": "function_call", "call_id": "call_1", "name": "f", "arguments": "{\"a\":2,\"b\":1}"},
            {"type": "function_call_output", "call_id": "call_1", "output": "ok"},
        ])
    );
}

fn any_event() -> impl Strategy<Value = String> {
    let kinds = [
        "response.output_text.delta",
        "response.output_text.done",
        "response.refusal.delta",
        "response.function_call_arguments.delta",
        "response.function_call_arguments.done",
        "response.custom_tool_call_input.done",
        "response.reasoning_summary_text.delta",
        "response.reasoning_summary_part.added",
        "response.output_item.added",
        "response.output_item.done",
        "response.created",
        "response.completed",
        "response.incomplete",
        "response.failed",
        "error",
        "",
    ];
    let values = [
        "null",
        "1",
        "\"x\"",
        "\"{}\"",
        "\"{\"",
        "[]",
        "{}",
        "-1",
        "{\"type\":\"function_call\",\"name\":\"f\"}",
        "{\"type\":\"message\",\"content\":[{\"text\":\"t\"},3]}",
        "{\"type\":\"reasoning\",\"summary\":5}",
        "{\"status\":\"completed\",\"output\":[1,{\"type\":\"custom_tool_call\",\"input\":\"i\"}]}",
    ];
    let keys =
        ["delta", "text", "arguments", "input", "item_id", "output_index", "item", "response", "error", "output"];
    let field = (prop::sample::select(keys.to_vec()), prop::sample::select(values.to_vec()));
    let built =
        (prop::sample::select(kinds.to_vec()), prop::collection::vec(field, 0..4)).prop_map(|(kind, fields)| {
            let fields: String = fields.iter().map(|(key, value)| format!(",\"{key}\":{value}")).collect();
            format!("{{\"type\":\"{kind}\"{fields}}}")
        });
    prop_oneof![4 => built, 1 => ".{0,30}"]
}

proptest! {
    /// Hostile events never break the decoder, and no call without whole arguments leaves it.
    #[test]
    fn any_events_end_in_a_reply_or_a_fault(events in prop::collection::vec(any_event(), 0..12), whole in any::<bool>()) {
        let mut decoder: Box<dyn Decoder> = Box::new(ResponsesDecoder::new(&codex()));
        let mut out = Vec::new();
        for data in &events {
            let before = out.len();
            if decoder.event(Event { name: "", data }, &mut out).is_err() {
                return Ok(());
            }
            prop_assert!(out.len() > before, "silence after {}", data);
        }
        if let Ok(reply) = decoder.finish(if whole { End::Whole } else { End::Cut }) {
            prop_assert!(reply.message.finish_reason.is_some());
            for call in reply.tool_calls() {
                prop_assert!(call.function.arguments.parse().is_ok());
            }
        }
    }
}
