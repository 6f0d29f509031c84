//! Stories of whole requests and whole answers, tables for the settings, and properties for everything in between.

use super::super::{AuthHeader, Decoder, Encoded, End, Login, Target, sse};
use super::{AnthropicDecoder, encode};
use crate::provider::{COMPATIBLE, Provider, Quirk};
use hermes_types::{
    Assistant, CallId, Concession, Content, Delta, Effort, Fault, FaultKind, Message, Object, Part, Reasoning, Reply,
    Request, StopReason, ToolCall, ToolChoice, ToolDefinition, Usage,
};
use proptest::prelude::*;
use serde_json::{Value, json};
use std::collections::HashSet;
use url::Url;

static ANTHROPIC: Provider = Provider { id: "anthropic", label: "Anthropic", ..COMPATIBLE };
static CUSTOM: Provider = Provider { id: "custom", label: "Custom endpoint", ..COMPATIBLE };
static DASHSCOPE: Provider = Provider { id: "alibaba", label: "Qwen Cloud", ..COMPATIBLE };
static KIMI: Provider = Provider {
    id: "kimi-coding",
    label: "Kimi / Moonshot",
    quirks: &[Quirk::NoTemperature],
    max_tokens: Some(32_000),
    ..COMPATIBLE
};

const NATIVE: &str = "https://api.anthropic.com";
const MINIMAX: &str = "https://api.minimax.io/anthropic";

fn target(provider: &'static Provider, base: &str, login: Login) -> Target {
    Target { provider, base_url: Url::parse(base).expect("a URL"), login, extra_body: Object::new() }
}

fn native() -> Target {
    target(&ANTHROPIC, NATIVE, Login::ApiKey)
}

fn body(request: &Request, target: &Target) -> Value {
    serde_json::from_slice(&encode(request, target).body).expect("a JSON body")
}

/// The messages on the wire.
fn sent(messages: impl IntoIterator<Item = Message>, base: &str) -> Value {
    let request = Request::new("claude-opus-4-6", messages);
    body(&request, &target(&CUSTOM, base, Login::ApiKey))["messages"].take()
}

fn read_message(json: Value) -> Message {
    serde_json::from_value(json).expect("a message")
}

fn call_json(id: &str, name: &str, arguments: &str) -> Value {
    json!({"id": id, "type": "function", "function": {"name": name, "arguments": arguments}})
}

/// The assistant of the acceptance vectors: signed thinking, a call with an odd id, a call with unreadable arguments.
fn calling_assistant() -> Message {
    read_message(json!({
        "role": "assistant", "content": null,
        "reasoning_details": [{"type": "thinking", "thinking": "t", "signature": "sig"}],
        "tool_calls": [call_json("call|1", "read", "{\"a\": 1}"), call_json("c2", "write", "{\"path\": \"/tm")],
    }))
}

fn tool(id: &str, content: impl Into<Content>) -> Message {
    Message::tool(&CallId::new(id), "read", content)
}

fn text(text: &str) -> Value {
    json!({"type": "text", "text": text})
}

// ---- requests ----

#[test]
fn a_request_byte_for_byte() {
    let mut request = Request::new(
        "anthropic/claude-sonnet-4.5",
        [
            read_message(json!({"role": "system", "content": "Be brief.", "cache_control": {"type": "ephemeral"}})),
            Message::user("Read x."),
            read_message(json!({
                "role": "assistant", "content": "Reading. ",
                "tool_calls": [call_json("toolu_1", "read", "{\"path\": \"x\", \"limit\": 5}")],
                "cache_control": {"type": "ephemeral"},
            })),
            read_message(json!({
                "role": "tool", "tool_call_id": "toolu_1", "content": "hello",
                "cache_control": {"type": "ephemeral", "ttl": "1h"},
            })),
        ],
    );
    request.tools = [ToolDefinition {
        name: "read".into(),
        description: "Reads a file.".into(),
        parameters: json!({"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}),
    }]
    .into();
    request.temperature = Some(0.25);
    let encoded = encode(&request, &native());
    assert_eq!(
        String::from_utf8(encoded.body).expect("UTF-8"),
        concat!(
            r#"{"model":"claude-sonnet-4-5","max_tokens":64000,"stream":true,"temperature":0.25,"#,
            r#""tool_choice":{"type":"auto"},"#,
            r#""tools":[{"name":"read","description":"Reads a file.","input_schema":"#,
            r#"{"type":"object","properties":{"path":{"type":"string"}},"required":["path"]}}],"#,
            r#""system":[{"type":"text","text":"Be brief.","cache_control":{"type":"ephemeral"}}],"#,
            r#""messages":[{"role":"user","content":[{"type":"text","text":"Read x."}]},"#,
            r#"{"role":"assistant","content":[{"type":"text","text":"Reading."},"#,
            r#"{"type":"tool_use","id":"toolu_1","name":"read","input":{"limit":5,"path":"x"},"#,
            r#""cache_control":{"type":"ephemeral"}}]},"#,
            r#"{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_1","content":"hello","#,
            r#""cache_control":{"type":"ephemeral","ttl":"1h"}}]}]}"#,
        )
    );
    assert_eq!(
        (encoded.url.as_str(), encoded.auth, encoded.headers),
        (
            "https://api.anthropic.com/v1/messages",
            AuthHeader::XApiKey,
            vec![
                ("anthropic-version", "2023-06-01".to_owned()),
                ("anthropic-beta", "interleaved-thinking-2025-05-14,fine-grained-tool-streaming-2025-05-14".to_owned()),
            ]
        )
    );
}

#[test]
fn a_call_without_result_goes_and_takes_the_signature_along() {
    let history = [Message::user("go"), calling_assistant(), tool("call|1", "ok"), Message::user("")];
    assert_eq!(
        sent(history, NATIVE),
        json!([
            {"role": "user", "content": [text("go")]},
            {"role": "assistant", "content": [
                text("t"), {"type": "tool_use", "id": "call_1", "name": "read", "input": {"a": 1}}]},
            {"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": "call_1", "content": "ok"}, text("(empty message)")]},
        ])
    );
}

#[test]
fn thinking_goes_back_for_the_last_turn_only_and_to_its_author_only() {
    let done = read_message(json!({"role": "assistant", "content": "done", "reasoning_content": "u"}));
    let history = [Message::user("go"), calling_assistant(), tool("call|1", "ok"), tool("c2", ""), done];
    let with_last = |last: Value| {
        json!([
            {"role": "user", "content": [text("go")]},
            {"role": "assistant", "content": [
                {"type": "tool_use", "id": "call_1", "name": "read", "input": {"a": 1}},
                {"type": "tool_use", "id": "c2", "name": "write", "input": {}}]},
            {"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": "call_1", "content": "ok"},
                {"type": "tool_result", "tool_use_id": "c2", "content": "(no output)"}]},
            {"role": "assistant", "content": last},
        ])
    };
    assert_eq!(sent(history.clone(), NATIVE), with_last(json!([text("u"), text("done")])));
    assert_eq!(sent(history, MINIMAX), with_last(json!([text("done")])));
}

#[test]
fn each_vendor_gets_the_thinking_it_can_read() {
    let assistant = |details: Value| {
        read_message(json!({"role": "assistant", "content": "a", "reasoning_details": details,
            "cache_control": {"type": "ephemeral"}}))
    };
    let signed = json!({"type": "thinking", "thinking": "s", "signature": "x"});
    let unsigned = json!({"type": "thinking", "thinking": "u"});
    let redacted = json!({"type": "redacted_thinking", "data": "blob"});
    let history = [
        Message::user("q"),
        assistant(json!([signed, unsigned, redacted, {"type": "reasoning.encrypted", "data": "other vendor"}])),
    ];
    let answer = json!({"type": "text", "text": "a", "cache_control": {"type": "ephemeral"}});
    let table = [
        (NATIVE, json!([signed, text("u"), redacted, answer])),
        ("https://api.kimi.com/coding", json!([signed, unsigned, redacted, answer])),
        ("https://api.deepseek.com/anthropic", json!([unsigned, answer])),
        ("https://proxy.example/anthropic", json!([answer])),
    ];
    for (base, expected) in table {
        assert_eq!(sent(history.clone(), base)[1]["content"], expected, "{base}");
    }
    let mut request = Request::new("claude-opus-4-6", history);
    request.concessions.insert(Concession::Signatures);
    assert_eq!(body(&request, &native())["messages"][1]["content"], json!([answer]));
}

#[test]
fn a_turn_of_nothing_but_thinking_still_says_something() {
    let thought = |content: Value| {
        read_message(json!({"role": "assistant", "content": content,
            "reasoning_details": [{"type": "thinking", "thinking": "t", "signature": "x"}]}))
    };
    let history = [Message::user("q"), thought(json!(null)), Message::user("and?"), Message::assistant(" ")];
    assert_eq!(
        sent(history, NATIVE),
        json!([
            {"role": "user", "content": [text("q")]},
            {"role": "assistant", "content": [text("(thinking elided)")]},
            {"role": "user", "content": [text("and?")]},
            {"role": "assistant", "content": [text("(empty)")]},
        ])
    );
}

#[test]
fn ordered_blocks_are_replayed_in_their_order_with_the_arguments_that_were_run() {
    let assistant = read_message(json!({
        "role": "assistant", "content": "one\ntwo",
        "reasoning_details": [{"type": "thinking", "thinking": "a", "signature": "sa"}],
        "tool_calls": [call_json("t1", "read", "{\"path\":\"y\"}")],
        "anthropic_content_blocks": [
            {"type": "thinking", "thinking": "a", "signature": "sa", "index": 0},
            {"type": "text", "text": "one", "citations": []},
            {"type": "server_tool_use", "id": "srv", "name": "web_search", "input": {}},
            {"type": "thinking", "thinking": "", "signature": "sb"},
            {"type": "tool_use", "id": "t1", "name": "read", "input": {"path": "x"}, "caller": {"type": "direct"}}],
        "cache_control": {"type": "ephemeral"},
    }));
    let history = [Message::user("q"), assistant, tool("t1", "ok")];
    assert_eq!(
        sent(history, NATIVE)[1]["content"],
        json!([
            {"type": "thinking", "thinking": "a", "signature": "sa"},
            text("one"),
            {"type": "thinking", "thinking": "", "signature": "sb"},
            {"type": "tool_use", "id": "t1", "name": "read", "input": {"path": "y"}, "cache_control": {"type": "ephemeral"}},
        ])
    );
}

#[test]
fn a_history_of_another_provider_is_made_valid() {
    let call = |id: &str| {
        read_message(json!({"role": "assistant", "content": null, "tool_calls": [call_json(id, "f.g", "{}")]}))
    };
    let history = [
        Message::assistant("Welcome back."),
        tool("gone", "late result"),
        Message::user("a"),
        Message::user("b"),
        call("same"),
        tool("same", "1"),
        tool("same", "1 again"),
        call("same"),
        tool("same", "2"),
        call("lost"),
        Message::user("c"),
    ];
    let used = |id: &str| json!({"role": "assistant", "content": [{"type": "tool_use", "id": id, "name": "f_g", "input": {}}]});
    let result = |id: &str, out: &str| json!({"role": "user", "content": [{"type": "tool_result", "tool_use_id": id, "content": out}]});
    assert_eq!(
        sent(history, NATIVE),
        json!([
            {"role": "user", "content": [text("(empty message)")]},
            {"role": "assistant", "content": [text("Welcome back.")]},
            {"role": "user", "content": [text("(tool result removed)"), text("a"), text("b")]},
            used("same"),
            result("same", "1"),
            used("same_2"),
            result("same_2", "2"),
            {"role": "assistant", "content": [text("(tool call removed)")]},
            {"role": "user", "content": [text("c")]},
        ])
    );
}

#[test]
fn markers_survive_the_block_they_were_put_on() {
    let marker = json!({"type": "ephemeral"});
    let history = [
        read_message(json!({"role": "user", "content": [
            {"type": "text", "text": "kept"}, {"type": "text", "text": " ", "cache_control": marker}]})),
        read_message(json!({"role": "assistant", "content": "text", "cache_control": marker,
            "tool_calls": [call_json("lost", "f", "{}")]})),
        read_message(json!({"role": "tool", "tool_call_id": "x", "content": "y"})),
    ];
    let marked = |words: &str| json!({"type": "text", "text": words, "cache_control": marker});
    assert_eq!(
        sent(history, NATIVE),
        json!([
            {"role": "user", "content": [marked("kept")]},
            {"role": "assistant", "content": [marked("text")]},
            {"role": "user", "content": [text("(tool result removed)")]},
        ])
    );
}

#[test]
fn images_and_other_parts_in_every_form() {
    let parts = json!({"role": "user", "content": [
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,QUJD", "detail": "high"}},
        {"type": "input_image", "image_url": "https://example.com/a.jpg"},
        {"type": "image_url", "image_url": {"url": "data:application/pdf;base64,QUJD"}},
        {"type": "image_url", "image_url": {"url": "data:image/svg+xml,<svg/>"}},
        {"type": "image", "source": {"type": "file", "file_id": "f1"}},
        {"type": "document", "source": {"type": "text", "data": "d"}, "cache_control": {"type": "ephemeral"}},
        {"type": "tool_result", "tool_use_id": "smuggled", "content": "x"},
        {"type": "input_text", "text": "what is this?", "citations": [], "annotations": [1]},
    ]});
    let mut request = Request::new("claude-opus-4-6", [read_message(parts)]);
    assert_eq!(
        body(&request, &native())["messages"][0]["content"],
        json!([
            {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "QUJD"}},
            {"type": "image", "source": {"type": "url", "url": "https://example.com/a.jpg"}},
            {"type": "image", "source": {"type": "base64", "media_type": "image/jpeg", "data": "QUJD"}},
            text("(image could not be read)"),
            {"type": "image", "source": {"type": "file", "file_id": "f1"}},
            {"type": "document", "source": {"type": "text", "data": "d"}, "cache_control": {"type": "ephemeral"}},
            text("what is this?"),
        ])
    );
    request.concessions.insert(Concession::Images);
    let words = body(&request, &native())["messages"][0]["content"].to_string();
    assert_eq!(words.matches("(image left out: this model does not take images)").count(), 5, "{words}");
    assert!(!words.contains("QUJD"), "{words}");
}

fn screenshot(call: &str) -> Message {
    let part = Part::of_image(format!("data:image/png;base64,{call}"));
    tool(call, Content::Parts(vec![Part::of_text(format!("screen {call}")), part]))
}

fn calls(ids: &[&str]) -> Message {
    let tool_calls = ids.iter().map(|id| ToolCall::new(CallId::new(*id), "look", "{}")).collect();
    Message::Assistant(Assistant { tool_calls, ..Assistant::default() })
}

#[test]
fn only_the_last_three_tool_results_keep_their_images() {
    let history = [
        Message::user("look"),
        calls(&["a", "b"]),
        screenshot("a"),
        screenshot("b"),
        calls(&["c", "d", "e"]),
        screenshot("c"),
        tool("d", "no image"),
        screenshot("e"),
    ];
    let shown = |id: &str, image: Value| json!({"type": "tool_result", "tool_use_id": id, "content": [text(&format!("screen {id}")), image]});
    let image =
        |id: &str| json!({"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": id}});
    let wire = sent(history, NATIVE);
    assert_eq!(wire[2]["content"], json!([shown("a", text("(older image removed)")), shown("b", image("b"))]));
    assert_eq!(
        wire[4]["content"],
        json!([
            shown("c", image("c")),
            {"type": "tool_result", "tool_use_id": "d", "content": "no image"},
            shown("e", image("e")),
        ])
    );
}

#[test]
fn tool_results_become_text_where_lists_or_images_are_refused() {
    for concession in [Concession::ToolResultParts, Concession::Images] {
        let mut request = Request::new("claude-opus-4-6", [Message::user("look"), calls(&["a"]), screenshot("a")]);
        request.concessions.insert(concession);
        assert_eq!(
            body(&request, &native())["messages"][2]["content"][0]["content"],
            "screen a\n(image left out: this model does not take images)",
            "{concession:?}"
        );
    }
}

#[test]
fn the_last_system_message_holds_in_the_simplest_form() {
    let system = |messages: Vec<Message>| body(&Request::new("claude-opus-4-6", messages), &native())["system"].take();
    let parts = |marker: Value| json!({"role": "system", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b", "cache_control": marker}]});
    assert_eq!(system(vec![Message::system("first"), Message::user("q"), Message::system("second")]), "second");
    assert_eq!(system(vec![read_message(parts(json!(null)))]), "a\nb");
    assert_eq!(
        system(vec![read_message(parts(json!({"type": "ephemeral"})))]),
        json!([text("a"), {"type": "text", "text": "b", "cache_control": {"type": "ephemeral"}}])
    );
    assert_eq!(system(vec![Message::system(" ")]), Value::Null);
}

#[test]
fn tool_schemas_in_the_dialect_of_the_protocol() {
    let tool =
        |name: &str, parameters: Value| ToolDefinition { name: name.into(), description: "d".into(), parameters };
    let mut request = Request::new("claude-opus-4-6", [Message::user("q")]);
    request.tools = [
        tool(
            "search",
            json!({
                "type": "object",
                "properties": {
                    "pattern": {"type": "string", "pattern": "^a", "format": "regex"},
                    "limit": {"anyOf": [{"type": "integer"}, {"type": "null"}], "description": "at most"},
                    "kinds": {"type": ["array", "null"], "items": {"type": ["string", "null"]}},
                },
                "anyOf": [{"required": ["pattern"]}],
            }),
        ),
        tool("empty", json!({"type": "object"})),
        tool("search", json!({"type": "object", "description": "a second one"})),
        tool("absent", Value::Null),
    ]
    .into();
    let schemas = |request: &Request| {
        let tools = body(request, &native())["tools"].take();
        let list = tools.as_array().expect("tools").iter();
        list.map(|tool| (tool["name"].clone(), tool["input_schema"].clone())).collect::<Vec<_>>()
    };
    let search = |pattern: Value| {
        json!({"type": "object", "properties": {
            "pattern": pattern,
            "limit": {"description": "at most", "type": "integer"},
            "kinds": {"type": "array", "items": {"type": "string"}}}})
    };
    let nothing = json!({"type": "object", "properties": {}});
    assert_eq!(
        schemas(&request),
        [
            (json!("search"), search(json!({"type": "string", "pattern": "^a", "format": "regex"}))),
            (json!("empty"), nothing.clone()),
            (json!("absent"), nothing.clone()),
        ]
    );
    request.concessions.insert(Concession::SchemaPatterns);
    assert_eq!(schemas(&request)[0].1, search(json!({"type": "string"})));
}

#[test]
fn tool_choice_table() {
    let table = [
        (ToolChoice::Auto, json!({"type": "auto"}), true),
        (ToolChoice::Required, json!({"type": "any"}), true),
        (ToolChoice::Named("read".into()), json!({"type": "tool", "name": "read"}), true),
        (ToolChoice::Forbidden, Value::Null, false),
    ];
    for (choice, expected, has_tools) in table {
        let mut request = Request::new("claude-opus-4-6", [Message::user("q")]);
        request.tools =
            [ToolDefinition { name: "read".into(), description: String::new(), parameters: json!({}) }].into();
        request.reasoning = Some(Reasoning::On);
        request.tool_choice = choice.clone();
        let body = body(&request, &native());
        assert_eq!((&body["tool_choice"], body.get("tools").is_some()), (&expected, has_tools), "{choice:?}");
        // A forced call and thinking exclude each other.
        let forced = matches!(choice, ToolChoice::Required | ToolChoice::Named(_));
        assert_eq!(body.get("thinking").is_none(), forced, "{choice:?}");
    }
}

#[test]
fn max_tokens_table() {
    let table = [
        ("claude-fable-9", 128_000),
        ("claude-sonnet-5", 128_000),
        ("claude-opus-4.8", 128_000),
        ("claude-opus-4-6", 128_000),
        ("claude-sonnet-4.6", 64_000),
        ("claude-haiku-4-5-20251001", 64_000),
        ("claude-opus-4-5", 64_000),
        ("claude-opus-4-1-20250805", 32_000),
        ("claude-sonnet-4-20250514", 64_000),
        ("us.anthropic.claude-3-7-sonnet-20250219-v1:0", 128_000),
        ("claude-3.5-haiku", 8_192),
        ("claude-3-opus-20240229", 4_096),
        ("MiniMax-M2.7", 131_072),
        ("qwen3-max", 65_536),
        ("somebody-else", 128_000),
    ];
    for (model, expected) in table {
        assert_eq!(body(&Request::new(model, []), &native())["max_tokens"], expected, "{model}");
    }
    let capped = Request { max_output_tokens: Some(100), ..Request::new("claude-opus-4-6", []) };
    assert_eq!(body(&capped, &native())["max_tokens"], 100);
    let zero = Request { max_output_tokens: Some(0), ..Request::new("claude-opus-4-6", []) };
    assert_eq!(body(&zero, &native())["max_tokens"], 128_000);
    let kimi = target(&KIMI, "https://api.kimi.com/coding", Login::ApiKey);
    assert_eq!(body(&Request::new("kimi-k2", []), &kimi)["max_tokens"], 32_000);
}

/// The settings that depend on the effort: thinking, effort word, temperature, max_tokens.
fn effort_settings(model: &str, reasoning: Option<Reasoning>) -> (Value, Value, Value, Value) {
    let request = Request { reasoning, temperature: Some(0.5), ..Request::new(model, []) };
    let mut body = body(&request, &native());
    let effort = body["output_config"]["effort"].take();
    (body["thinking"].take(), effort, body["temperature"].take(), body["max_tokens"].take())
}

#[test]
fn effort_table() {
    let adaptive = || json!({"type": "adaptive", "display": "summarized"});
    let budget = |tokens: u32| json!({"type": "enabled", "budget_tokens": tokens});
    let effort = |effort| Some(Reasoning::Effort(effort));
    let no = || Value::Null;
    let table = [
        ("claude-opus-4-6", effort(Effort::XHigh), (adaptive(), json!("max"), no(), json!(128_000))),
        ("claude-opus-4-6", effort(Effort::High), (adaptive(), json!("high"), no(), json!(128_000))),
        ("claude-opus-4-7", effort(Effort::XHigh), (adaptive(), json!("xhigh"), no(), json!(128_000))),
        ("claude-opus-4-7", effort(Effort::Ultra), (adaptive(), json!("max"), no(), json!(128_000))),
        ("claude-opus-4-7", None, (no(), no(), no(), json!(128_000))),
        ("claude-fable-9", effort(Effort::Minimal), (adaptive(), json!("low"), no(), json!(128_000))),
        ("claude-next", Some(Reasoning::On), (adaptive(), no(), no(), json!(128_000))),
        ("claude-sonnet-4-5", effort(Effort::Low), (budget(4_000), no(), json!(1), json!(64_000))),
        ("claude-sonnet-4-5", effort(Effort::Minimal), (budget(2_048), no(), json!(1), json!(64_000))),
        ("claude-sonnet-4-5", effort(Effort::Max), (budget(32_000), no(), json!(1), json!(64_000))),
        ("claude-opus-4-1", effort(Effort::XHigh), (budget(27_904), no(), json!(1), json!(32_000))),
        ("claude-sonnet-4-20250514", Some(Reasoning::On), (budget(8_000), no(), json!(1), json!(64_000))),
        ("MiniMax-M3", effort(Effort::High), (budget(16_000), no(), json!(1), json!(131_072))),
        ("kimi-k2-thinking", effort(Effort::Medium), (budget(8_000), no(), json!(1), json!(128_000))),
        ("claude-haiku-4-5", effort(Effort::High), (no(), no(), json!(0.5), json!(64_000))),
        ("claude-opus-4-6", Some(Reasoning::Off), (no(), no(), json!(0.5), json!(128_000))),
    ];
    for (model, reasoning, expected) in table {
        assert_eq!(effort_settings(model, reasoning), expected, "{model} {reasoning:?}");
    }
}

#[test]
fn thinking_makes_room_for_the_answer_and_yields_when_refused() {
    let mut request = Request {
        reasoning: Some(Reasoning::Effort(Effort::High)),
        max_output_tokens: Some(1_000),
        ..Request::new("claude-sonnet-4-5", [])
    };
    assert_eq!(body(&request, &native())["max_tokens"], 16_000 + 4_096);
    request.concessions.insert(Concession::Temperature);
    assert_eq!(body(&request, &native()).get("temperature"), None);
    request.concessions.insert(Concession::ReasoningEffort);
    assert_eq!(
        body(&request, &native()),
        json!({"model": "claude-sonnet-4-5", "max_tokens": 1_000, "stream": true,
        "messages": [{"role": "user", "content": [text("(empty message)")]}]})
    );

    let kimi = target(&KIMI, "https://api.kimi.com/coding", Login::ApiKey);
    let request = Request {
        reasoning: Some(Reasoning::Effort(Effort::Medium)),
        temperature: Some(0.3),
        ..Request::new("kimi-k2", [])
    };
    let body = body(&request, &kimi);
    assert_eq!(
        (&body["thinking"], &body["output_config"], body.get("temperature")),
        (&json!({"type": "adaptive", "display": "summarized"}), &json!({"effort": "medium"}), None)
    );
}

#[test]
fn model_names_as_each_vendor_spells_them() {
    let table = [
        (&ANTHROPIC, "anthropic/claude-opus-4.6", "claude-opus-4-6"),
        (&ANTHROPIC, "us.anthropic.claude-sonnet-4-5-20250929-v1:0", "us.anthropic.claude-sonnet-4-5-20250929-v1:0"),
        (&CUSTOM, "MiniMax-M2.7", "MiniMax-M2.7"),
        (&DASHSCOPE, "claude-opus-4.6", "claude-opus-4.6"),
    ];
    for (provider, model, expected) in table {
        let target = target(provider, "https://proxy.example", Login::ApiKey);
        assert_eq!(body(&Request::new(model, []), &target)["model"], expected);
    }
}

const INTERLEAVED: &str = "interleaved-thinking-2025-05-14";
const STREAMING: &str = "fine-grained-tool-streaming-2025-05-14";

#[test]
fn url_auth_and_beta_table() {
    let azure = "https://r1.services.ai.azure.com/anthropic";
    let azure_url = "https://r1.services.ai.azure.com/anthropic/v1/messages?api-version=2025-04-15";
    let (key, bearer) = (AuthHeader::XApiKey, AuthHeader::Bearer);
    let long = [INTERLEAVED, STREAMING, "context-1m-2025-08-07"];
    let oauth = [INTERLEAVED, STREAMING, "oauth-2025-04-20"];
    let plain = [INTERLEAVED, STREAMING];
    let table: [(&str, Login, &str, AuthHeader, &[&str]); 10] = [
        (NATIVE, Login::ApiKey, "https://api.anthropic.com/v1/messages", key, &plain),
        ("https://api.anthropic.com/v1/", Login::ApiKey, "https://api.anthropic.com/v1/messages", key, &plain),
        (NATIVE, Login::OAuth, "https://api.anthropic.com/v1/messages", bearer, &oauth),
        (MINIMAX, Login::ApiKey, "https://api.minimax.io/anthropic/v1/messages", bearer, &[INTERLEAVED]),
        (MINIMAX, Login::OAuth, "https://api.minimax.io/anthropic/v1/messages", bearer, &[INTERLEAVED]),
        ("https://api.kimi.com/coding", Login::ApiKey, "https://api.kimi.com/coding/v1/messages", key, &plain),
        (azure, Login::ApiKey, azure_url, bearer, &long),
        (
            "https://x.palantirfoundry.com/a",
            Login::ApiKey,
            "https://x.palantirfoundry.com/a/v1/messages",
            bearer,
            &plain,
        ),
        ("https://azure.com.evil.test/v1/v1", Login::None, "https://azure.com.evil.test/v1/v1/messages", key, &plain),
        ("http://127.0.0.1:8080/v1", Login::None, "http://127.0.0.1:8080/v1/messages", key, &plain),
    ];
    for (base, login, url, auth, betas) in table {
        let encoded = encode(&Request::new("claude-opus-4-6", []), &target(&CUSTOM, base, login));
        assert_eq!((encoded.url.as_str(), encoded.auth, beta(&encoded)), (url, auth, betas.join(",")), "{base}");
    }

    let mut request = Request::new("claude-opus-4-6", []);
    request.concessions.insert(Concession::LongContext);
    assert_eq!(beta(&encode(&request, &target(&CUSTOM, azure, Login::ApiKey))), plain.join(","));
}

fn beta(encoded: &Encoded) -> String {
    encoded.headers.iter().find(|(name, _)| *name == "anthropic-beta").expect("betas").1.clone()
}

#[test]
fn the_fast_tier_exists_for_one_model_at_home() {
    for (model, base, fast) in
        [("claude-opus-4-6", NATIVE, true), ("claude-sonnet-4-6", NATIVE, false), ("claude-opus-4-6", MINIMAX, false)]
    {
        let request = Request { service_tier: Some("priority".into()), ..Request::new(model, []) };
        let target = target(&ANTHROPIC, base, Login::ApiKey);
        assert_eq!(body(&request, &target).get("speed").is_some(), fast, "{model} {base}");
        assert_eq!(beta(&encode(&request, &target)).ends_with("fast-mode-2026-02-01"), fast, "{model} {base}");
    }
}

#[test]
fn what_the_person_adds_wins() {
    let mut target = native();
    let extra = json!({"max_tokens": 7, "metadata": {"user_id": "u"}, "system": "mine"});
    target.extra_body = extra.as_object().expect("an object").clone();
    let request = Request::new("claude-opus-4-6", [Message::system("theirs"), Message::user("q")]);
    assert_eq!(
        body(&request, &target),
        json!({"model": "claude-opus-4-6", "max_tokens": 7, "stream": true, "metadata": {"user_id": "u"}, "system": "mine",
            "messages": [{"role": "user", "content": [text("q")]}]})
    );
}

// ---- answers ----

fn decode(events: &[(&str, String)], end: End) -> (Vec<Delta>, Result<Reply, Fault>) {
    let mut decoder = Box::new(AnthropicDecoder::new(&native()));
    let mut deltas = Vec::new();
    for (name, data) in events {
        if let Err(fault) = decoder.event(sse::Event { name, data }, &mut deltas) {
            return (deltas, Err(fault));
        }
    }
    (deltas, decoder.finish(end))
}

/// Events by the type in their data, as servers name them.
fn events(list: impl IntoIterator<Item = Value>) -> Vec<(&'static str, String)> {
    list.into_iter().map(|event| ("", event.to_string())).collect()
}

fn reply(list: impl IntoIterator<Item = Value>) -> Reply {
    decode(&events(list), End::Whole).1.expect("a reply")
}

fn start(index: u64, block: Value) -> Value {
    json!({"type": "content_block_start", "index": index, "content_block": block})
}

fn delta(index: u64, kind: &str, key: &str, text: &str) -> Value {
    json!({"type": "content_block_delta", "index": index, "delta": {"type": kind, key: text}})
}

fn wrote(index: u64, words: &str) -> Value {
    delta(index, "text_delta", "text", words)
}

fn argued(index: u64, json: &str) -> Value {
    delta(index, "input_json_delta", "partial_json", json)
}

fn stop(index: u64) -> Value {
    json!({"type": "content_block_stop", "index": index})
}

fn end(reason: &str) -> Value {
    json!({"type": "message_delta", "delta": {"stop_reason": reason, "stop_sequence": null}, "usage": {"output_tokens": 9}})
}

fn text_block() -> Value {
    text("")
}

fn call_block(id: &str, name: &str) -> Value {
    json!({"type": "tool_use", "id": id, "name": name, "input": {}})
}

const STREAM: &str = r#"event: message_start
data: {"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","content":[],"model":"claude-opus-4-6","stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":12,"cache_creation_input_tokens":300,"cache_read_input_tokens":4000,"output_tokens":1}}}

event: content_block_start
data: {"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"Look at "}}

event: ping
data: {"type": "ping"}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"x."}}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"EqQB"}}

event: content_block_stop
data: {"type":"content_block_stop","index":0}

event: content_block_start
data: {"type":"content_block_start","index":1,"content_block":{"type":"redacted_thinking","data":"Emwk"}}

event: content_block_stop
data: {"type":"content_block_stop","index":1}

event: content_block_start
data: {"type":"content_block_start","index":2,"content_block":{"type":"text","text":""}}

event: content_block_delta
data: {"type":"content_block_delta","index":2,"delta":{"type":"text_delta","text":"I read \"x\"."}}

event: content_block_stop
data: {"type":"content_block_stop","index":2}

event: content_block_start
data: {"type":"content_block_start","index":3,"content_block":{"type":"tool_use","id":"toolu_1","name":"read","input":{}}}

event: content_block_delta
data: {"type":"content_block_delta","index":3,"delta":{"type":"input_json_delta","partial_json":""}}

event: content_block_delta
data: {"type":"content_block_delta","index":3,"delta":{"type":"input_json_delta","partial_json":"{\"path\": \"x"}}

event: content_block_delta
data: {"type":"content_block_delta","index":3,"delta":{"type":"input_json_delta","partial_json":"\"}"}}

event: content_block_stop
data: {"type":"content_block_stop","index":3}

event: content_block_start
data: {"type":"content_block_start","index":4,"content_block":{"type":"text","text":""}}

event: content_block_delta
data: {"type":"content_block_delta","index":4,"delta":{"type":"text_delta","text":"(muttering)"}}

event: content_block_stop
data: {"type":"content_block_stop","index":4}

event: content_block_start
data: {"type":"content_block_start","index":5,"content_block":{"type":"tool_use","id":"toolu_2","name":"now","input":{}}}

event: content_block_stop
data: {"type":"content_block_stop","index":5}

event: message_delta
data: {"type":"message_delta","delta":{"stop_reason":"tool_use","stop_sequence":null},"usage":{"output_tokens":89}}

event: message_stop
data: {"type":"message_stop"}

"#;

#[test]
fn a_whole_stream_with_thinking_text_and_two_calls() {
    let mut decoder = Box::new(AnthropicDecoder::new(&native()));
    let mut deltas = Vec::new();
    let mut parser = sse::Parser::default();
    for chunk in STREAM.as_bytes().chunks(17) {
        parser
            .push(chunk, |event| decoder.event(event, &mut deltas).map_err(|_| sse::SseFault::TooLarge))
            .expect("no fault");
    }
    parser.finish(|_| Err(sse::SseFault::TooLarge)).expect("nothing is left over");
    let shown: Vec<Delta> = deltas.into_iter().filter(|delta| *delta != Delta::Alive).collect();
    assert_eq!(
        shown,
        [
            Delta::Reasoning("Look at ".into()),
            Delta::Reasoning("x.".into()),
            Delta::Text("I read \"x\".".into()),
            Delta::ToolCallStarted("read".into()),
            Delta::ToolCallStarted("now".into()),
        ]
    );
    let thinking = json!({"type": "thinking", "thinking": "Look at x.", "signature": "EqQB"});
    let redacted = json!({"type": "redacted_thinking", "data": "Emwk"});
    assert_eq!(
        decoder.finish(End::Whole).expect("a reply"),
        Reply {
            message: Assistant {
                content: Some("I read \"x\".\n(muttering)".into()),
                reasoning: Some("Look at x.".into()),
                reasoning_details: Some(vec![thinking.clone(), redacted.clone()]),
                anthropic_content_blocks: Some(vec![
                    thinking,
                    redacted,
                    text("I read \"x\"."),
                    json!({"type": "tool_use", "id": "toolu_1", "name": "read", "input": {"path": "x"}}),
                    text("(muttering)"),
                    json!({"type": "tool_use", "id": "toolu_2", "name": "now", "input": {}}),
                ]),
                tool_calls: vec![
                    ToolCall::new(CallId::new("toolu_1"), "read", "{\"path\": \"x\"}"),
                    ToolCall::new(CallId::new("toolu_2"), "now", "{}"),
                ],
                finish_reason: Some(StopReason::ToolCalls),
                ..Assistant::default()
            },
            usage: Some(Usage { input: 12, output: 89, cache_read: 4000, cache_write: 300, reasoning: 0, cost: None }),
            model: Some("claude-opus-4-6".into()),
            id: Some("msg_1".into()),
            dropped: vec![],
            cut_off: false,
        }
    );
}

#[test]
fn a_message_that_was_not_streamed() {
    let message = json!({
        "id": "msg_2", "type": "message", "role": "assistant", "model": "MiniMax-M3", "stop_reason": "tool_use",
        "content": [
            {"type": "thinking", "thinking": "hm", "signature": ""},
            {"type": "text", "text": "ok"},
            {"type": "tool_use", "id": "", "name": "read_file", "input": {"path": "x"}}],
        "usage": {"input_tokens": 3, "output_tokens": 4},
    });
    let (deltas, reply) = decode(&events([message]), End::Whole);
    assert_eq!(
        deltas,
        [Delta::Reasoning("hm".into()), Delta::Text("ok".into()), Delta::ToolCallStarted("read_file".into())]
    );
    assert_eq!(
        reply.expect("a reply"),
        Reply {
            message: Assistant {
                content: Some("ok".into()),
                reasoning: Some("hm".into()),
                reasoning_details: Some(vec![json!({"type": "thinking", "thinking": "hm"})]),
                tool_calls: vec![ToolCall::new(CallId::new("call_424c07b15d61"), "read_file", "{\"path\":\"x\"}")],
                finish_reason: Some(StopReason::ToolCalls),
                ..Assistant::default()
            },
            usage: Some(Usage { input: 3, output: 4, ..Usage::default() }),
            model: Some("MiniMax-M3".into()),
            id: Some("msg_2".into()),
            dropped: vec![],
            cut_off: false,
        }
    );
}

#[test]
fn stop_reasons_in_our_words() {
    let table = [
        ("end_turn", StopReason::Stop),
        ("stop_sequence", StopReason::Stop),
        ("pause_turn", StopReason::Stop),
        ("tool_use", StopReason::Stop),
        ("max_tokens", StopReason::Length),
        ("model_context_window_exceeded", StopReason::Length),
        ("refusal", StopReason::ContentFilter),
    ];
    for (word, expected) in table {
        let reply = reply([start(0, text_block()), wrote(0, "a"), stop(0), end(word)]);
        assert_eq!((reply.stop_reason(), reply.cut_off), (expected, false), "{word}");
    }
    let forgetful = reply([start(0, call_block("t", "now")), argued(0, "{}"), end("end_turn")]);
    assert_eq!(forgetful.stop_reason(), StopReason::ToolCalls);
}

/// What a reply says about its calls: names made, names dropped, finish, cut off.
fn outcome(list: impl IntoIterator<Item = Value>, end: End) -> (Vec<String>, Vec<String>, StopReason, bool) {
    let reply = decode(&events(list), end).1.expect("a reply");
    let made = reply.tool_calls().iter().map(|call| call.function.name.clone()).collect();
    (made, reply.dropped.clone(), reply.stop_reason(), reply.cut_off)
}

fn names(list: &[&str]) -> Vec<String> {
    list.iter().map(|name| (*name).to_owned()).collect()
}

#[test]
fn a_call_that_may_be_missing_something_is_named_and_not_made() {
    let first = || [start(0, call_block("t1", "read")), argued(0, "{\"path\":\"x\"}"), stop(0)];
    let cut = |rest: Vec<Value>, how| outcome(first().into_iter().chain(rest), how);
    let length = StopReason::Length;
    let open = || start(1, call_block("t2", "write"));

    let halfway = cut(vec![open(), argued(1, "{\"path\": \"/tm")], End::Cut);
    assert_eq!(halfway, (names(&["read"]), names(&["write"]), length.clone(), true));
    // Nothing of the arguments arrived: an empty object would be a guess.
    let before_the_first_argument = cut(vec![open()], End::Cut);
    assert_eq!(before_the_first_argument, (names(&["read"]), names(&["write"]), length.clone(), true));
    let out_of_tokens = cut(vec![open(), stop(1), end("max_tokens")], End::Whole);
    assert_eq!(out_of_tokens, (names(&["read"]), names(&["write"]), length.clone(), false));
    let unreadable = cut(vec![open(), argued(1, "{\"a\": 1} {\"b\""), stop(1), end("tool_use")], End::Whole);
    assert_eq!(unreadable, (names(&["read"]), names(&["write"]), length.clone(), false));
    let whole_but_for_the_end = cut(vec![open(), argued(1, "{\"path\": \"y\"}")], End::Cut);
    assert_eq!(whole_but_for_the_end, (names(&["read", "write"]), names(&[]), length, true));
    let without_block_ends = cut(vec![open(), end("tool_use")], End::Whole);
    assert_eq!(without_block_ends, (names(&["read", "write"]), names(&[]), StopReason::ToolCalls, false));
}

#[test]
fn arguments_may_come_with_the_block() {
    let given = json!({"type": "tool_use", "id": "t", "name": "read", "input": {"path": "x"}});
    let reply = reply([start(0, given), stop(0), end("tool_use")]);
    assert_eq!(reply.tool_calls(), [ToolCall::new(CallId::new("t"), "read", "{\"path\":\"x\"}")]);
}

#[test]
fn repeated_events_change_nothing() {
    let story = |noise: bool| {
        let twice = |event: Value| if noise { vec![event.clone(), event] } else { vec![event] };
        let mut list = twice(start(0, text_block()));
        list.push(wrote(0, "hi"));
        list.extend(twice(stop(0)));
        list.extend(twice(start(1, call_block("t1", "read"))));
        list.push(argued(1, "{\"path\":"));
        list.push(argued(1, "\"x\"}"));
        list.extend(twice(stop(1)));
        if noise {
            list.extend([wrote(0, "late"), argued(1, "{}")]);
            list.extend([start(1, call_block("t1", "read")), argued(1, "{\"path\":\"x\"}"), stop(1)]);
            list.push(json!({"type": "content_block_delta", "index": 1, "delta": {"type": "new_delta", "x": 1}}));
            list.push(argued(77, "{}"));
        }
        list.push(end("tool_use"));
        decode(&events(list), End::Whole)
    };
    let started = |deltas: &[Delta]| deltas.iter().filter(|delta| matches!(delta, Delta::ToolCallStarted(_))).count();
    let ((plain_deltas, plain), (noisy_deltas, noisy)) = (story(false), story(true));
    assert_eq!(noisy.expect("a reply"), plain.expect("a reply"));
    assert_eq!((started(&noisy_deltas), started(&plain_deltas)), (1, 1));
}

#[test]
fn servers_that_never_count_up_or_never_announce() {
    let reply = reply([
        start(0, text_block()),
        wrote(0, "a"),
        stop(0),
        start(0, call_block("t1", "read")),
        argued(0, "{\"n\":1}"),
        stop(0),
        start(0, call_block("t2", "read")),
        argued(0, "{\"n\":2}"),
        stop(0),
        wrote(3, "unannounced"),
        start(4, call_block("t2", "write")),
        argued(4, "{}"),
        stop(4),
        end("tool_use"),
    ]);
    assert_eq!(reply.text(), "a\nunannounced");
    assert_eq!(
        reply.tool_calls(),
        [
            ToolCall::new(CallId::new("t1"), "read", "{\"n\":1}"),
            ToolCall::new(CallId::new("t2"), "read", "{\"n\":2}"),
            ToolCall::new(CallId::deterministic("write", "{}", 2), "write", "{}"),
        ]
    );
}

#[test]
fn blocks_and_events_of_the_future_are_kept_or_passed_over() {
    let citation = json!({"type": "web_search_result_location", "url": "https://e.com", "cited_text": "c"});
    let result =
        json!({"type": "web_search_tool_result", "tool_use_id": "srv", "content": [{"encrypted_content": "e"}]});
    let reply = reply([
        json!({"type": "message_rewound", "delta": "x"}),
        start(0, json!({"type": "thinking", "thinking": "", "signature": ""})),
        delta(0, "signature_delta", "signature", "s"),
        stop(0),
        start(1, json!({"type": "server_tool_use", "id": "srv", "name": "web_search", "input": {}})),
        argued(1, "{\"query\":\"q\"}"),
        stop(1),
        start(2, result.clone()),
        stop(2),
        start(3, text_block()),
        wrote(3, "found"),
        json!({"type": "content_block_delta", "index": 3, "delta": {"type": "citations_delta", "citation": citation}}),
        stop(3),
        start(4, call_block("t", "now")),
        stop(4),
        end("tool_use"),
    ]);
    assert_eq!(
        reply.message.anthropic_content_blocks.expect("ordered blocks"),
        [
            json!({"type": "thinking", "thinking": "", "signature": "s"}),
            json!({"type": "server_tool_use", "id": "srv", "name": "web_search", "input": {"query": "q"}}),
            result,
            json!({"type": "text", "text": "found", "citations": [citation]}),
            json!({"type": "tool_use", "id": "t", "name": "now", "input": {}}),
        ]
    );
    assert_eq!(reply.message.reasoning, None);
}

#[test]
fn what_was_decoded_is_sent_back_as_it_was_said() {
    let reply = reply([
        start(0, json!({"type": "thinking", "thinking": "", "signature": ""})),
        delta(0, "thinking_delta", "thinking", "t"),
        delta(0, "signature_delta", "signature", "s"),
        start(1, text_block()),
        wrote(1, "I look."),
        start(2, call_block("t1", "look")),
        argued(2, "{\"b\":1,\"a\":2}"),
        end("tool_use"),
    ]);
    let history = [Message::user("q"), Message::Assistant(reply.message), tool("t1", "seen")];
    assert_eq!(
        sent(history, NATIVE)[1]["content"],
        json!([
            {"type": "thinking", "thinking": "t", "signature": "s"},
            text("I look."),
            {"type": "tool_use", "id": "t1", "name": "look", "input": {"a": 2, "b": 1}},
        ])
    );
}

#[test]
fn counts_of_both_ends_of_the_stream_are_merged() {
    let counted = |first: Value, last: Value| {
        reply([
            json!({"type": "message_start", "message": {"usage": first}}),
            wrote(0, "a"),
            json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": last}),
        ])
        .usage
    };
    let expected = Some(Usage { input: 10, output: 7, cache_read: 2, ..Usage::default() });
    let zero = json!({"input_tokens": 0, "output_tokens": 7, "cache_read_input_tokens": null});
    assert_eq!(counted(json!({"input_tokens": 10, "output_tokens": 1, "cache_read_input_tokens": 2}), zero), expected);
    let late = json!({"input_tokens": 10, "output_tokens": 7, "cache_read_input_tokens": 2});
    assert_eq!(counted(json!({"input_tokens": 0, "output_tokens": 0}), late), expected);
    assert_eq!(
        reply([wrote(0, "a"), json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"}})]).usage,
        None
    );
}

#[test]
fn text_without_a_reason_to_stop_was_cut_off() {
    let (deltas, reply) = decode(&events([start(0, text_block()), wrote(0, "half a sen")]), End::Cut);
    assert_eq!(deltas, [Delta::Alive, Delta::Text("half a sen".into())]);
    let reply = reply.expect("a reply");
    assert_eq!((reply.text().as_str(), reply.stop_reason(), reply.cut_off), ("half a sen", StopReason::Length, true));
}

#[test]
fn an_answer_may_be_empty_only_on_purpose() {
    let empty = |list: Vec<Value>| decode(&events(list), End::Whole).1.map_err(|fault| fault.kind);
    let begun = json!({"type": "message_start", "message": {"id": "m", "usage": {"input_tokens": 1}}});
    assert_eq!(empty(vec![]), Err(FaultKind::EmptyStream));
    assert_eq!(empty(vec![begun.clone(), json!({"type": "ping"})]), Err(FaultKind::EmptyStream));
    assert_eq!(empty(vec![begun.clone(), start(0, text_block())]), Err(FaultKind::EmptyStream));
    assert_eq!(empty(vec![begun.clone(), end("tool_use")]), Err(FaultKind::EmptyStream));
    let refused = empty(vec![begun.clone(), end("refusal")]).expect("a refusal is an answer");
    assert_eq!((refused.stop_reason(), refused.message.content), (StopReason::ContentFilter, None));
    let silent = empty(vec![begun, end("end_turn")]).expect("silence is an answer");
    assert_eq!(silent.stop_reason(), StopReason::Stop);
}

#[test]
fn faults_announced_inside_the_stream() {
    let announced = |error: Value| {
        let list = events([start(0, text_block()), wrote(0, "a"), json!({"type": "error", "error": error})]);
        let fault = decode(&list, End::Whole).1.expect_err("a fault");
        (fault.kind, fault.code, fault.message)
    };
    let table = [
        ("overloaded_error", FaultKind::Overloaded),
        ("rate_limit_error", FaultKind::RateLimit),
        ("api_error", FaultKind::ServerError),
        ("invalid_request_error", FaultKind::BadRequest),
        ("authentication_error", FaultKind::Auth),
        ("brand_new_error", FaultKind::ServerError),
    ];
    for (code, kind) in table {
        assert_eq!(
            announced(json!({"type": code, "message": "Sorry"})),
            (kind, Some(code.to_owned()), "Anthropic broke off: Sorry".to_owned())
        );
    }
    assert_eq!(announced(json!("plain words")).2, "Anthropic broke off: plain words");
    assert!(announced(json!({"message": "x".repeat(9_000)})).2.chars().count() < 700);
    let nameless = decode(&events([json!({"error": {"type": "overloaded_error"}})]), End::Whole).1;
    assert_eq!(nameless.expect_err("a fault").kind, FaultKind::Overloaded);
}

#[test]
fn bare_words_are_noise_and_broken_json_is_not() {
    let noise = [("", "[DONE]".to_owned()), ("ping", "{oops".to_owned()), ("", String::new())];
    let mut list = events([wrote(0, "a"), end("end_turn")]);
    list.extend(noise);
    assert_eq!(decode(&list, End::Whole).1.expect("a reply").text(), "a");
    list.push(("content_block_delta", "{\"type\":\"content_block_delta\",\"ind".to_owned()));
    assert_eq!(decode(&list, End::Whole).1.expect_err("a fault").kind, FaultKind::Malformed);
}

#[test]
fn a_stream_without_end_is_ended() {
    let mut decoder = AnthropicDecoder::new(&native());
    let mut out = Vec::new();
    let fault = (0..10_000).find_map(|index| {
        let data = start(index, text_block()).to_string();
        decoder.event(sse::Event { name: "", data: &data }, &mut out).err()
    });
    assert_eq!(fault.expect("a fault").kind, FaultKind::Malformed);
}

// ---- properties ----

fn any_text() -> impl Strategy<Value = String> {
    prop_oneof![Just(String::new()), Just(" \n".to_owned()), "[a-zé ]{1,6}"]
}

fn any_id() -> impl Strategy<Value = String> {
    prop_oneof!["[abc]", Just("a|b".to_owned()), Just("a_b".to_owned()), Just(String::new())]
}

fn any_content() -> impl Strategy<Value = Content> {
    let image = Just(Part::of_image("data:image/png;base64,QQ=="));
    let part = prop_oneof![any_text().prop_map(Part::of_text), image];
    prop_oneof![any_text().prop_map(Content::Text), prop::collection::vec(part, 0..3).prop_map(Content::Parts)]
}

fn any_thinking() -> impl Strategy<Value = Value> {
    (any_text(), any::<bool>()).prop_map(|(words, signed)| {
        if signed {
            json!({"type": "thinking", "thinking": words, "signature": "s"})
        } else {
            json!({"type": "thinking", "thinking": words})
        }
    })
}

fn any_assistant() -> impl Strategy<Value = Message> {
    let call = (any_id(), prop_oneof![Just("{}"), Just("{\"b\":1,\"a\":2}"), Just("{\"a")])
        .prop_map(|(id, arguments)| ToolCall::new(CallId::new(id), "f", arguments));
    let calls = prop::collection::vec(call, 0..4);
    let details = prop::option::of(prop::collection::vec(any_thinking(), 0..3));
    let fields = (prop::option::of(any_content()), calls, details, prop::option::of(any_text()), any::<bool>());
    fields.prop_map(|(content, tool_calls, reasoning_details, reasoning_content, ordered)| {
        let mut blocks: Vec<Value> = reasoning_details.iter().flatten().cloned().collect();
        blocks.extend(
            tool_calls
                .iter()
                .rev()
                .map(|call| json!({"type": "tool_use", "id": call.id.as_str(), "name": "f", "input": {}})),
        );
        let anthropic_content_blocks = ordered.then_some(blocks);
        Message::Assistant(Assistant {
            content,
            tool_calls,
            reasoning_details,
            reasoning_content,
            anthropic_content_blocks,
            ..Assistant::default()
        })
    })
}

fn any_message() -> impl Strategy<Value = Message> {
    prop_oneof![
        1 => any_text().prop_map(Message::system),
        3 => any_content().prop_map(Message::user),
        4 => any_assistant(),
        6 => (any_id(), any_content()).prop_map(|(id, content)| tool(&id, content)),
    ]
}

const HOSTS: [&str; 4] = [NATIVE, MINIMAX, "https://api.moonshot.ai/anthropic", "https://api.deepseek.com/anthropic"];

fn ids<'a>(message: &'a Value, kind: &str, key: &str) -> Vec<&'a str> {
    let blocks = message["content"].as_array().expect("a list of blocks");
    blocks.iter().filter(|block| block["type"] == kind).map(|block| block[key].as_str().expect("an id")).collect()
}

fn says_nothing(block: &Value) -> bool {
    match block["type"].as_str().expect("a type") {
        "text" => block["text"].as_str().expect("text").trim().is_empty(),
        "tool_result" => match &block["content"] {
            Value::String(words) => words.trim().is_empty(),
            Value::Array(blocks) => blocks.is_empty() || blocks.iter().any(says_nothing),
            other => panic!("odd content {other}"),
        },
        _ => false,
    }
}

proptest! {
    /// Whatever the history, the conversation on the wire is one the protocol accepts.
    #[test]
    fn any_history_becomes_a_valid_conversation(history in prop::collection::vec(any_message(), 0..12), host in 0usize..4) {
        let wire = sent(history, HOSTS[host]);
        let messages = wire.as_array().expect("messages");
        let mut seen = HashSet::new();
        for (at, message) in messages.iter().enumerate() {
            let expected = if at % 2 == 0 { "user" } else { "assistant" };
            prop_assert_eq!(&message["role"], expected, "{}", wire);
            let blocks = message["content"].as_array().expect("a list of blocks");
            prop_assert!(!blocks.is_empty() && !blocks.iter().any(says_nothing), "{}", wire);
            let calls = ids(message, "tool_use", "id");
            prop_assert!(calls.iter().all(|id| seen.insert(id.to_string())), "an id twice: {}", wire);
            let answers = messages.get(at + 1).map(|next| ids(next, "tool_result", "tool_use_id")).unwrap_or_default();
            prop_assert_eq!(calls, answers, "{}", wire);
        }
        prop_assert!(ids(&messages[0], "tool_result", "tool_use_id").is_empty());
    }

    /// More messages only add bytes, as long as neither thinking nor images have to move.
    #[test]
    fn a_longer_history_begins_with_the_bytes_of_the_shorter(words in prop::collection::vec("[a-z]{1,5}", 1..6), more in "[a-z]{1,5}") {
        let mut history = vec![Message::system("s")];
        for (at, word) in words.iter().enumerate() {
            let id = format!("t{at}");
            history.extend([Message::user(word.as_str()), calls(&[&id]), tool(&id, word.as_str()), Message::assistant(word.as_str())]);
        }
        let shorter = encode(&Request::new("claude-opus-4-6", history.clone()), &native()).body;
        history.push(Message::user(more));
        let longer = encode(&Request::new("claude-opus-4-6", history), &native()).body;
        let open_end = shorter.strip_suffix(b"]}").expect("the end of the messages");
        prop_assert!(longer.starts_with(open_end));
    }

    /// Foreign bytes never panic, and no story of events makes a call whose arguments cannot be read.
    #[test]
    fn the_decoder_survives_anything(list in prop::collection::vec(any_event(), 0..20), cut in any::<bool>()) {
        let end = if cut { End::Cut } else { End::Whole };
        if let Ok(reply) = decode(&list, end).1 {
            prop_assert!(reply.message.finish_reason.is_some());
            for call in reply.tool_calls() {
                prop_assert!(call.function.arguments.parse().is_ok(), "{:?}", call);
            }
        }
    }

    /// Where the server cuts text and arguments into fragments changes nothing.
    #[test]
    fn fragments_add_up(words in "[a-zé\"\\\\ \n]{1,20}", size in 1usize..5) {
        let arguments = json!({"text": words}).to_string();
        let pieces = |whole: &str| -> Vec<String> {
            let chars: Vec<char> = whole.chars().collect();
            chars.chunks(size).map(|chunk| chunk.iter().collect()).collect()
        };
        let mut list = vec![start(0, text_block())];
        list.extend(pieces(&words).iter().map(|piece| wrote(0, piece)));
        list.extend([stop(0), start(1, call_block("t", "f"))]);
        list.extend(pieces(&arguments).iter().map(|piece| argued(1, piece)));
        list.extend([stop(1), end("tool_use")]);
        let reply = reply(list);
        prop_assert_eq!(reply.text(), words);
        prop_assert_eq!(reply.tool_calls(), [ToolCall::new(CallId::new("t"), "f", arguments)]);
    }
}

fn any_event() -> impl Strategy<Value = (&'static str, String)> {
    let block = prop_oneof![
        Just(text_block()),
        Just(call_block("t", "f")),
        Just(call_block("", "g")),
        Just(json!({"type": "tool_use", "input": "{\"a\""})),
        Just(json!({"type": "thinking", "thinking": 5})),
        Just(json!({"type": "redacted_thinking"})),
        Just(json!({})),
    ];
    let event = prop_oneof![
        (0u64..3, block).prop_map(|(index, block)| start(index, block)),
        (0u64..3, "[a-z]{0,3}").prop_map(|(index, words)| wrote(index, &words)),
        (0u64..3, prop_oneof![Just("{\"a\":"), Just("1}"), Just("{}"), Just("")])
            .prop_map(|(at, json)| argued(at, json)),
        (0u64..3).prop_map(stop),
        prop_oneof![Just("tool_use"), Just("max_tokens"), Just("end_turn")].prop_map(end),
        Just(json!({"type": "message_delta", "delta": 3, "usage": {"output_tokens": -1}})),
        Just(json!({"type": "content_block_delta", "index": -1, "delta": {"type": "text_delta", "text": null}})),
        Just(json!({"type": "message", "content": [1, "x", {"type": "text", "text": "whole"}]})),
    ];
    prop_oneof![
        8 => event.prop_map(|event| ("", event.to_string())),
        1 => ".{0,30}".prop_map(|words| ("content_block_delta", words)),
        1 => "\\{.{0,30}\\}".prop_map(|words| ("", words)),
    ]
}
