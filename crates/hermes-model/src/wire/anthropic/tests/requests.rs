//! Whole requests, and tables for the settings in them.

use super::super::encode;
use super::*;
use crate::wire::{AuthHeader, Encoded};
use hermes_types::{Concession, Effort, Part, Reasoning, SessionId, ToolChoice, ToolDefinition};

#[test]
fn a_request_byte_for_byte() {
    let mut request = Request::new(
        "anthropic/claude-sonnet-4.5",
        [
            Message::system("Be brief."),
            Message::user("Read x."),
            read_message(json!({
                "role": "assistant", "content": "Reading. ",
                "tool_calls": [call_json("toolu_1", "read", "{\"path\": \"x\", \"limit\": 5}")],
            })),
            tool("toolu_1", "hello"),
        ],
    );
    request.tools = [ToolDefinition {
        name: "read".into(),
        description: "Reads a file.".into(),
        parameters: json!({"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}),
    }]
    .into();
    request.temperature = Some(0.25);
    request.session = Some(SessionId::new("s1"));
    let encoded = encode(&request, &Target { cache: Some(Ttl::FiveMinutes), ..native() });
    assert_eq!(
        String::from_utf8(encoded.body).expect("UTF-8"),
        concat!(
            r#"{"model":"claude-sonnet-4-5","max_tokens":64000,"stream":true,"temperature":0.25,"#,
            r#""tool_choice":{"type":"auto"},"#,
            r#""tools":[{"name":"read","description":"Reads a file.","input_schema":"#,
            r#"{"type":"object","properties":{"path":{"type":"string"}},"required":["path"]}}],"#,
            r#""system":[{"type":"text","text":"Be brief.","cache_control":{"type":"ephemeral"}}],"#,
            r#""messages":[{"role":"user","content":[{"type":"text","text":"Read x.","#,
            r#""cache_control":{"type":"ephemeral"}}]},"#,
            r#"{"role":"assistant","content":[{"type":"text","text":"Reading."},"#,
            r#"{"type":"tool_use","id":"toolu_1","name":"read","input":{"limit":5,"path":"x"},"#,
            r#""cache_control":{"type":"ephemeral"}}]},"#,
            r#"{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_1","content":"hello","#,
            r#""cache_control":{"type":"ephemeral"}}]}]}"#,
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
    let altered = json!([
        {"role": "user", "content": [text("go")]},
        {"role": "assistant", "content": [
            text("t"), {"type": "tool_use", "id": "call_1", "name": "read", "input": {"a": 1}}]},
        {"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": "call_1", "content": "ok"}, text("(empty message)")]},
    ]);
    assert_eq!(sent(history.clone(), NATIVE), altered);
    // An older turn reads the same as it did when it was the last.
    let later = sent(history.into_iter().chain([Message::assistant("done"), Message::user("and?")]), NATIVE);
    assert_eq!(later.as_array().expect("messages")[..3], altered.as_array().expect("messages")[..]);
}

/// The program before this one sent thinking for the last turn only, and unsigned thinking there as text. Each turn then
/// changed its bytes as soon as it was no longer the last, and the prompt cache ended there. Now a turn has one form.
#[test]
fn signed_thinking_goes_back_from_every_turn_and_unsigned_from_none() {
    let done = read_message(json!({"role": "assistant", "content": "done", "reasoning_content": "u"}));
    let history = [Message::user("go"), calling_assistant(), tool("call|1", "ok"), tool("c2", ""), done];
    let with_last = |last: Value| {
        json!([
            {"role": "user", "content": [text("go")]},
            {"role": "assistant", "content": [
                {"type": "thinking", "thinking": "t", "signature": "sig"},
                {"type": "tool_use", "id": "call_1", "name": "read", "input": {"a": 1}},
                {"type": "tool_use", "id": "c2", "name": "write", "input": {}}]},
            {"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": "call_1", "content": "ok"},
                {"type": "tool_result", "tool_use_id": "c2", "content": "(no output)"}]},
            {"role": "assistant", "content": last},
        ])
    };
    assert_eq!(sent(history.clone(), NATIVE), with_last(json!([text("done")])));
    // MiniMax asks for the complete message.
    let complete = json!([{"type": "thinking", "thinking": "u"}, text("done")]);
    assert_eq!(sent_to("MiniMax-M3", history, MINIMAX), with_last(complete));
}

#[test]
fn each_model_gets_the_thinking_it_can_read_wherever_it_is_served() {
    let assistant =
        |details: Value| read_message(json!({"role": "assistant", "content": "a", "reasoning_details": details}));
    let signed = json!({"type": "thinking", "thinking": "s", "signature": "x"});
    let unsigned = json!({"type": "thinking", "thinking": "u"});
    let redacted = json!({"type": "redacted_thinking", "data": "blob"});
    let history = [
        Message::user("q"),
        assistant(json!([signed, unsigned, redacted, {"type": "reasoning.encrypted", "data": "other vendor"}])),
    ];
    let answer = text("a");
    let of_claude = json!([signed, redacted, answer]);
    let all = json!([signed, unsigned, redacted, answer]);
    let proxy = "https://proxy.example/anthropic";
    let table = [
        ("claude-opus-4-6", NATIVE, &of_claude),
        ("a-name-of-next-year", NATIVE, &of_claude),
        ("claude-opus-4-6", "https://r1.services.ai.azure.com/anthropic", &of_claude),
        ("my-deployment", "https://r1.services.ai.azure.com/anthropic", &of_claude),
        ("claude-opus-4-6", "https://x.palantirfoundry.com/a", &of_claude),
        ("us.anthropic.claude-sonnet-4-5-20250929-v1:0", "https://bedrock-runtime.us-east-1.amazonaws.com", &of_claude),
        ("claude-sonnet-4-6", "https://opencode.ai/zen", &of_claude),
        ("anthropic/claude-sonnet-4.6", proxy, &of_claude),
        ("kimi-k2.5", "https://api.kimi.com/coding", &all),
        ("moonshotai/kimi-k2.5", proxy, &all),
        ("MiniMax-M3", MINIMAX, &all),
        ("minimax-m2.5", "https://opencode.ai/zen/go", &all),
        ("deepseek-v4-pro", proxy, &json!([unsigned, answer])),
        // DeepSeek answers to Claude's names, but it is DeepSeek that answers.
        ("claude-opus-4-6", "https://api.deepseek.com/anthropic", &json!([unsigned, answer])),
        ("qwen3-max", proxy, &json!([answer])),
    ];
    for (model, base, expected) in table {
        assert_eq!(sent_to(model, history.clone(), base)[1]["content"], *expected, "{model} {base}");
    }
    let mut request = Request::new("claude-opus-4-6", history);
    request.concessions.insert(Concession::Signatures);
    assert_eq!(body(&request, &native())["messages"][1]["content"], json!([answer]));
}

#[test]
fn a_turn_of_nothing_but_thinking_still_says_something() {
    let signed = json!({"type": "thinking", "thinking": "t", "signature": "x"});
    let thought =
        |details: Value| read_message(json!({"role": "assistant", "content": null, "reasoning_details": details}));
    let history = [
        Message::user("q"),
        thought(json!([signed])),
        Message::user("and?"),
        thought(json!([{"type": "thinking", "thinking": "unsigned"}])),
        Message::user("well?"),
        Message::assistant(" "),
    ];
    assert_eq!(
        sent(history, NATIVE),
        json!([
            {"role": "user", "content": [text("q")]},
            // The protocol refuses a turn that ends in thinking.
            {"role": "assistant", "content": [signed, text("(empty)")]},
            {"role": "user", "content": [text("and?")]},
            {"role": "assistant", "content": [text("(empty)")]},
            {"role": "user", "content": [text("well?")]},
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
    }));
    let history = [Message::user("q"), assistant, tool("t1", "ok")];
    assert_eq!(
        sent(history, NATIVE)[1]["content"],
        json!([
            {"type": "thinking", "thinking": "a", "signature": "sa"},
            text("one"),
            {"type": "thinking", "thinking": "", "signature": "sb"},
            {"type": "tool_use", "id": "t1", "name": "read", "input": {"path": "y"}},
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
fn marks_sit_on_the_last_block_that_can_bear_one() {
    let marker = json!({"type": "ephemeral", "ttl": "1h"});
    let marked = |mut block: Value| {
        block["cache_control"] = marker.clone();
        block
    };
    let used = |id: &str| json!({"type": "tool_use", "id": id, "name": "look", "input": {}});
    let result = |id: &str, out: &str| json!({"type": "tool_result", "tool_use_id": id, "content": out});
    let signed = json!({"type": "thinking", "thinking": "t", "signature": "x"});
    let stored = |message: Value| vec![read_message(message)];
    let table = [
        ("text", stored(json!({"role": "assistant", "content": "a "})), json!([marked(text("a"))])),
        (
            "a blank part behind text, with a mark of somebody else",
            stored(json!({"role": "assistant", "content": [
                {"type": "text", "text": "a"}, {"type": "text", "text": " ", "cache_control": {"type": "ephemeral"}}]})),
            json!([marked(text("a"))]),
        ),
        (
            "thinking alone",
            stored(json!({"role": "assistant", "content": null, "reasoning_details": [signed]})),
            json!([signed, marked(text("(empty)"))]),
        ),
        ("a call without a result", vec![calls(&["a"])], json!([marked(text("(tool call removed)"))])),
        (
            "calls alone",
            vec![calls(&["a", "b"]), tool("a", "1"), tool("b", "2")],
            json!([used("a"), marked(used("b"))]),
        ),
        ("no output", vec![calls(&["a"]), tool("a", " ")], json!([marked(used("a"))])),
    ];
    for (what, more, expected) in table {
        let history = [vec![Message::user("q")], more].concat();
        assert_eq!(kept(history)["messages"][1]["content"], expected, "{what}");
    }
    let shown = Message::user(Content::Parts(vec![Part::of_text("see"), Part::of_image("data:image/png;base64,QQ==")]));
    let image = json!({"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "QQ=="}});
    let seen = kept(vec![Message::user("q"), Message::assistant("a"), shown]);
    assert_eq!(seen["messages"][2]["content"], json!([text("see"), marked(image)]));
    let silent = kept(vec![Message::user("q"), calls(&["a"]), tool("a", " ")]);
    assert_eq!(silent["messages"][2]["content"], json!([marked(result("a", "(no output)"))]));
    let orphans = kept(vec![Message::user("q"), calls(&["a"]), tool("a", "1"), tool("of nobody", "2")]);
    assert_eq!(orphans["messages"][2]["content"], json!([marked(result("a", "1"))]));
    let late = kept(vec![Message::assistant("a"), Message::user("q"), tool("too late", "2")]);
    assert_eq!(late["messages"][2]["content"], json!([marked(text("q")), marked(text("(tool result removed)"))]));
}

#[test]
fn tools_and_instructions_are_kept_as_one_piece() {
    let marker = json!({"type": "ephemeral", "ttl": "1h"});
    let look = || ToolDefinition { name: "look".into(), description: "d".into(), parameters: json!({}) };
    let told = |system: &str, tools: Vec<ToolDefinition>| {
        let messages = (1..6).map(|_| Message::user("q")).chain([Message::assistant("a")]);
        let mut request = Request::new("claude-opus-4-6", [Message::system(system)].into_iter().chain(messages));
        request.tools = tools.into();
        request.session = Some(SessionId::new("s1"));
        body(&request, &keeping())
    };
    let count = |body: &Value| body.to_string().matches("cache_control").count();
    let both = told("Be kind.", vec![look(), look()]);
    assert_eq!(both["system"], json!([{"type": "text", "text": "Be kind.", "cache_control": marker}]));
    assert_eq!((&both["tools"][0]["cache_control"], count(&both)), (&Value::Null, 4));
    let bare = told(" ", vec![look()]);
    assert_eq!((&bare["system"], &bare["tools"][0]["cache_control"], count(&bare)), (&Value::Null, &marker, 4));
    assert_eq!(count(&told("", Vec::new())), 4);
}

/// What is sent of a conversation to a receiver that keeps prompts.
fn kept(messages: Vec<Message>) -> Value {
    let session = Some(SessionId::new("s1"));
    body(&Request { session, ..Request::new("claude-opus-4-6", messages) }, &keeping())
}

#[test]
fn two_assistant_turns_in_a_row_become_one_and_only_the_first_may_think() {
    let thought = |words: &str, calls: Value| {
        read_message(json!({"role": "assistant", "content": words, "tool_calls": calls,
            "reasoning_details": [{"type": "thinking", "thinking": format!("about {words}"), "signature": "s"}]}))
    };
    let first = || thought("one", json!([]));
    let signed = json!({"type": "thinking", "thinking": "about one", "signature": "s"});
    let whole = [Message::user("q"), first(), thought("two", json!([]))];
    assert_eq!(sent(whole, NATIVE)[1]["content"], json!([signed, text("one"), text("two")]));

    let lost = [Message::user("q"), first(), thought("two", json!([call_json("lost", "f", "{}")]))];
    assert_eq!(sent(lost, NATIVE)[1]["content"], json!([signed, text("one"), text("about two"), text("two")]));
}

#[test]
fn arguments_with_a_slip_are_sent_as_they_were_understood() {
    let assistant = read_message(json!({"role": "assistant", "content": null,
        "tool_calls": [call_json("a", "f", "{'deep': True,}"), call_json("b", "f", "[1]")]}));
    let history = [Message::user("q"), assistant, tool("a", "1"), tool("b", "2")];
    assert_eq!(
        sent(history, NATIVE)[1]["content"],
        json!([
            {"type": "tool_use", "id": "a", "name": "f", "input": {"deep": true}},
            {"type": "tool_use", "id": "b", "name": "f", "input": {}},
        ])
    );
}

const ATTACHMENT: &str = "(attachment left out: the model takes only text and images here)";

#[test]
fn images_and_other_parts_in_every_form() {
    let parts = json!({"role": "user", "content": [
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,QUJD", "detail": "high"}},
        {"type": "input_image", "image_url": "https://example.com/a.jpg"},
        {"type": "image_url", "image_url": {"url": "data:application/pdf;base64,QUJD"}},
        {"type": "image_url", "image_url": {"url": "data:image/svg+xml,<svg/>"}},
        {"type": "image_url", "image_url": {"url": "data:image/bmp;base64,QUJD"}},
        {"type": "image_url", "image_url": {"url": "data:;base64,QUJD"}},
        {"type": "image_url", "image_url": {"url": "data:image/jpg;base64,QUJD"}},
        {"type": "image_url", "image_url": {"url": "data:IMAGE/WebP;charset=x;base64,QUJD"}},
        {"type": "image_url", "image_url": {"url": "/home/me/a.png"}},
        {"type": "image", "source": {"type": "file", "file_id": "f1"}},
        {"type": "document", "source": {"type": "text", "data": "d"}, "cache_control": {"type": "ephemeral"}},
        {"type": "file", "file": {"file_id": "f2"}, "cache_control": {"type": "ephemeral"}},
        {"type": "tool_result", "tool_use_id": "smuggled", "content": "x"},
        {"type": "input_text", "text": "what is this?", "citations": [], "annotations": [1]},
    ]});
    let mut request = Request::new("claude-opus-4-6", [read_message(parts)]);
    assert_eq!(
        body(&request, &native())["messages"][0]["content"],
        json!([
            {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "QUJD"}},
            {"type": "image", "source": {"type": "url", "url": "https://example.com/a.jpg"}},
            text("(image could not be read)"),
            text("(image could not be read)"),
            text("(image could not be read)"),
            text("(image could not be read)"),
            {"type": "image", "source": {"type": "base64", "media_type": "image/jpeg", "data": "QUJD"}},
            {"type": "image", "source": {"type": "base64", "media_type": "image/webp", "data": "QUJD"}},
            text("(image could not be read)"),
            {"type": "image", "source": {"type": "file", "file_id": "f1"}},
            {"type": "document", "source": {"type": "text", "data": "d"}},
            text(ATTACHMENT),
            text("what is this?"),
        ])
    );
    request.concessions.insert(Concession::Images);
    let words = body(&request, &native())["messages"][0]["content"].to_string();
    assert_eq!(words.matches("(image left out: this model does not take images)").count(), 10, "{words}");
    assert!(!words.contains("QUJD"), "{words}");
}

fn screenshot(call: &str) -> Message {
    let part = Part::of_image(format!("data:image/png;base64,{call}"));
    tool(call, Content::Parts(vec![Part::of_text(format!("screen {call}")), part]))
}

#[test]
fn tool_results_keep_their_images_however_old_they_are() {
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
    let shown = |id: &str| {
        json!({"type": "tool_result", "tool_use_id": id, "content": [
            text(&format!("screen {id}")),
            {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": id}}]})
    };
    let wire = sent(history, NATIVE);
    assert_eq!(wire[2]["content"], json!([shown("a"), shown("b")]));
    let plain = json!({"type": "tool_result", "tool_use_id": "d", "content": "no image"});
    assert_eq!(wire[4]["content"], json!([shown("c"), plain, shown("e")]));
}

#[test]
fn an_attachment_of_a_tool_is_mentioned_where_it_cannot_be_sent() {
    let file = || json!({"type": "file", "file": {"file_id": "f1"}});
    let image = || json!({"type": "image_url", "image_url": {"url": "data:image/png;base64,QQ=="}});
    let shown = json!({"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "QQ=="}});
    let table = [
        (json!([file()]), json!(ATTACHMENT)),
        (json!([{"type": "text", "text": "saved"}, file()]), json!(format!("saved\n{ATTACHMENT}"))),
        (json!([file(), image()]), json!([text(ATTACHMENT), shown])),
        (json!([{"type": "thinking", "thinking": "private"}]), json!("(no output)")),
    ];
    for (content, expected) in table {
        let result = read_message(json!({"role": "tool", "tool_call_id": "a", "content": content}));
        let wire = sent([Message::user("look"), calls(&["a"]), result], NATIVE);
        assert_eq!(wire[2]["content"][0]["content"], expected);
    }
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
fn system_messages_are_joined_in_the_simplest_form() {
    let system = |messages: Vec<Message>| body(&Request::new("claude-opus-4-6", messages), &native())["system"].take();
    let parts = json!({"role": "system", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]});
    assert_eq!(
        system(vec![Message::system("first"), Message::system(" "), Message::user("q"), Message::system("second")]),
        "first\n\nsecond"
    );
    assert_eq!(system(vec![read_message(parts.clone())]), "a\nb");
    let many = vec![Message::system("first"), read_message(parts), Message::user("q"), Message::assistant("a")];
    let marked =
        json!([{"type": "text", "text": "first\n\na\nb", "cache_control": {"type": "ephemeral", "ttl": "1h"}}]);
    assert_eq!(kept(many)["system"], marked, "the text is the same with a mark");
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
            (json!("absent"), nothing),
        ]
    );
    request.concessions.insert(Concession::SchemaPatterns);
    assert_eq!(schemas(&request)[0].1, search(json!({"type": "string"})));
}

#[test]
fn tool_choice_table() {
    let table = [
        (ToolChoice::Auto, json!({"type": "auto"})),
        (ToolChoice::Required, json!({"type": "any"})),
        (ToolChoice::Named("read".into()), json!({"type": "tool", "name": "read"})),
        (ToolChoice::Forbidden, json!({"type": "none"})),
    ];
    for (choice, expected) in table {
        let mut request = Request::new("claude-opus-4-6", [Message::user("q")]);
        request.tools =
            [ToolDefinition { name: "read".into(), description: String::new(), parameters: json!({}) }].into();
        request.reasoning = Some(Reasoning::On);
        request.tool_choice = choice.clone();
        let body = body(&request, &native());
        // The tools stay whatever the choice: the cache begins with them, and calls in the history refer to them.
        assert_eq!((&body["tool_choice"], body.get("tools").is_some()), (&expected, true), "{choice:?}");
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
    let greedy = Request { max_output_tokens: Some(200_000), ..Request::new("claude-sonnet-4-5", []) };
    assert_eq!(body(&greedy, &native())["max_tokens"], 64_000);
    let unknown = Request { max_output_tokens: Some(200_000), ..Request::new("somebody-else", []) };
    assert_eq!(body(&unknown, &native())["max_tokens"], 200_000);
}

#[test]
fn a_refused_cap_gives_way_to_one_that_every_model_takes() {
    let conceding = |model: &str, asked: Option<u32>, reasoning: Option<Reasoning>| {
        let mut request = Request { max_output_tokens: asked, reasoning, ..Request::new(model, []) };
        request.concessions.insert(Concession::MaxTokens);
        let body = body(&request, &native());
        (body["max_tokens"].clone(), body["thinking"]["budget_tokens"].clone())
    };
    assert_eq!(conceding("somebody-else", None, None), (json!(8_192), Value::Null));
    assert_eq!(conceding("somebody-else", Some(200_000), None), (json!(8_192), Value::Null));
    assert_eq!(conceding("claude-sonnet-4-5", None, None), (json!(8_192), Value::Null));
    assert_eq!(conceding("claude-3-opus", None, None), (json!(4_096), Value::Null));
    assert_eq!(conceding("claude-opus-4-6", Some(100), None), (json!(100), Value::Null));
    assert_eq!(
        conceding("claude-sonnet-4-5", None, Some(Reasoning::Effort(Effort::High))),
        (json!(8_192), json!(4_096))
    );
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
        ("claude-3-opus", effort(Effort::High), (budget(1_024), no(), json!(1), json!(4_096))),
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
        (&CUSTOM, "claude-opus-4.6", "claude-opus-4.6"),
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

#[test]
fn copilot_learns_who_asks_in_this_protocol_too() {
    let sent = |provider, base, messages: Vec<Message>| {
        let encoded = encode(&Request::new("claude-opus-4.6", messages), &target(provider, base, Login::ApiKey));
        let ours = encoded.headers.into_iter().filter(|(name, _)| !name.starts_with("anthropic"));
        (encoded.auth, ours.collect::<Vec<_>>())
    };
    let header = |name, value: &str| (name, value.to_owned());
    let home = "https://api.githubcopilot.com";
    let row = Provider::find("copilot").expect("copilot");
    let seen = vec![Message::user("look"), calls(&["a"]), screenshot("a")];
    assert_eq!(
        sent(row, home, vec![Message::user("q")]),
        (AuthHeader::Bearer, vec![header("Openai-Intent", "conversation-edits"), header("x-initiator", "user")])
    );
    assert_eq!(
        sent(&CUSTOM, home, seen.clone()),
        (
            AuthHeader::Bearer,
            vec![
                header("openai-intent", "conversation-edits"),
                header("x-initiator", "agent"),
                header("copilot-vision-request", "true"),
            ]
        )
    );
    assert_eq!(sent(&ANTHROPIC, NATIVE, seen), (AuthHeader::XApiKey, vec![]));
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
