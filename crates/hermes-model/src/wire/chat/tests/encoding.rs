use super::super::Pages;
use crate::provider::Provider;
use crate::wire::{AuthHeader, Encoded, Login, Target};
use hermes_types::{
    Assistant, CallId, Concession, Content, Message, Object, Part, Request, SessionId, ToolCall, ToolChoice,
    ToolDefinition,
};
use proptest::prelude::*;
use serde_json::{Value, json};
use url::Url;

/// Writes a request twice: what is copied from what was written before has the same bytes.
fn encode(request: &Request, target: &Target) -> Encoded {
    let mut pages = Pages::default();
    let once = super::super::encode(request, target, &mut pages);
    let earlier = Request { messages: request.messages.iter().rev().cloned().collect(), ..request.clone() };
    super::super::encode(&earlier, target, &mut pages);
    let again = super::super::encode(request, target, &mut pages);
    assert_eq!(once, again);
    once
}

fn target(id: &str) -> Target {
    let provider = Provider::find(id).expect(id);
    let base = if provider.base_url.is_empty() { "http://127.0.0.1:9/v1" } else { provider.base_url };
    let base_url = Url::parse(base).expect(base);
    Target { provider, base_url, login: Login::ApiKey, extra_body: Object::new(), cache: None }
}

fn body(request: &Request, target: &Target) -> Value {
    serde_json::from_slice(&encode(request, target).body).expect("a JSON body")
}

fn message(request: &Request, id: &str, at: usize) -> Value {
    body(request, &target(id))["messages"][at].clone()
}

fn tool(name: &str, parameters: Value) -> ToolDefinition {
    ToolDefinition { name: name.into(), description: format!("Does {name}."), parameters }
}

fn stored(message: Value) -> Message {
    serde_json::from_value(message).expect("a message")
}

fn asks(model: &str) -> Request {
    Request::new(model, [Message::user("hi")])
}

fn header(encoded: &Encoded, name: &str) -> Option<String> {
    encoded.headers.iter().find(|(key, _)| *key == name).map(|(_, value)| value.clone())
}

/// An assistant message with every field this program stores.
fn laden() -> Message {
    stored(json!({
        "role": "assistant", "content": "Looking.", "reasoning": "private", "reasoning_content": "own words",
        "reasoning_details": [{"type": "reasoning.text", "text": "t", "signature": "s", "index": 0}],
        "codex_reasoning_items": [{"id": "rs"}], "codex_message_items": [{"id": "m"}],
        "anthropic_content_blocks": [{"type": "thinking"}], "finish_reason": "tool_calls",
        "tool_calls": [{"id": "call_1", "call_id": "call_1", "response_item_id": "fc_1", "type": "function",
            "function": {"name": "read", "arguments": "{\"b\": 1, \"a\": 2}", "strict": true},
            "extra_content": {"google": {"thought_signature": "sig"}}, "index": 0}],
        "timestamp": 12.5, "api_content": "x", "tool_name": "t", "effect_disposition": "e", "_flag": true,
        "vendor": 1, "name": "hermes"
    }))
}

#[test]
fn a_whole_request_is_written_in_a_fixed_order() {
    let mut request = Request::new(
        "claude-sonnet-4.5",
        [
            Message::system("Be brief."),
            Message::user("List it."),
            laden(),
            Message::tool(&CallId::new("call_1"), "read", "ok"),
        ],
    );
    request.tools = [tool("read", json!({"type": "object", "properties": {"a": {"type": "integer"}}}))].into();
    request.session = Some(SessionId::new("20260101_000000_abcdef"));
    request.temperature = Some(0.5);
    request.max_output_tokens = Some(1000);
    let encoded = encode(&request, &target("openrouter"));
    assert_eq!(encoded.url.as_str(), "https://openrouter.ai/api/v1/chat/completions");
    assert_eq!(encoded.auth, AuthHeader::Bearer);
    assert_eq!(
        encoded.headers,
        [
            ("HTTP-Referer", "https://hermes-agent.nousresearch.com".to_owned()),
            ("X-Title", "Hermes Agent".to_owned()),
            ("X-OpenRouter-Categories", "productivity,cli-agent".to_owned()),
        ]
    );
    let expected = concat!(
        r#"{"model":"anthropic/claude-sonnet-4.5","#,
        r#""tools":[{"type":"function","function":{"name":"read","description":"Does read.","#,
        r#""parameters":{"type":"object","properties":{"a":{"type":"integer"}}}}}],"#,
        r#""messages":[{"role":"system","content":"Be brief."},{"role":"user","content":"List it."},"#,
        r#"{"role":"assistant","content":"Looking.","#,
        r#""reasoning_details":[{"type":"reasoning.text","text":"t","signature":"s","index":0}],"#,
        r#""tool_calls":[{"id":"call_1","type":"function","#,
        r#""function":{"name":"read","arguments":"{\"a\":2,\"b\":1}"}}],"name":"hermes"},"#,
        r#"{"role":"tool","tool_call_id":"call_1","name":"read","content":"ok"}],"#,
        r#""max_tokens":1000,"temperature":0.5,"#,
        r#""reasoning":{"enabled":true,"effort":"medium"},"session_id":"20260101_000000_abcdef","#,
        r#""stream":true,"stream_options":{"include_usage":true}}"#,
    );
    assert_eq!(String::from_utf8(encoded.body).expect("UTF-8"), expected);
}

#[test]
fn a_plain_server_sees_nothing_that_is_not_its_business() {
    let request = Request::new("m", [laden()]);
    assert_eq!(
        message(&request, "custom", 0),
        json!({"role": "assistant", "content": "Looking.", "name": "hermes", "tool_calls": [{"id": "call_1",
            "type": "function", "function": {"name": "read", "arguments": "{\"a\":2,\"b\":1}"}}]})
    );
}

#[test]
fn signatures_of_thoughts_go_back_to_the_family_that_signed() {
    let state = |id: &str, model: &str, message_: Message| {
        message(&Request::new(model, [message_]), id, 0)["tool_calls"][0]["extra_content"].clone()
    };
    let signed = json!({"google": {"thought_signature": "sig"}});
    assert_eq!(state("gemini", "gemini-3.5-flash", laden()), signed);
    assert_eq!(state("openrouter", "google/gemma-4", laden()), signed);
    assert_eq!(state("openrouter", "openai/gpt-5.4", laden()), Value::Null);

    let foreign = || {
        let call = |id| ToolCall::new(CallId::new(id), "f", "{}");
        Message::Assistant(Assistant { tool_calls: vec![call("a"), call("b")], ..Assistant::default() })
    };
    let dummy = json!({"google": {"thought_signature": "skip_thought_signature_validator"}});
    assert_eq!(state("gemini", "gemini-3.5-flash", foreign()), dummy);
    assert_eq!(state("gemini", "gemini-2.5-flash", foreign()), Value::Null);
    let refused = |id: &str, model: &str| {
        let mut request = Request::new(model, [laden()]);
        request.concessions.insert(Concession::Signatures);
        message(&request, id, 0)["tool_calls"][0]["extra_content"].clone()
    };
    assert_eq!(refused("gemini", "gemini-3.5-flash"), dummy, "a signature that was refused is not sent again");
    assert_eq!(refused("openrouter", "google/gemini-3.5-flash"), Value::Null);
    let second = message(&Request::new("gemini-3.5-flash", [foreign()]), "gemini", 0)["tool_calls"][1].clone();
    assert_eq!(second.get("extra_content"), None, "only the first call of a step is signed");
}

#[test]
fn details_go_only_to_aggregators_and_only_in_their_own_shape() {
    let sent = |id: &str, details: Value| {
        let assistant = stored(json!({"role": "assistant", "content": "x", "reasoning_details": details}));
        message(&Request::new("m", [assistant]), id, 0).get("reasoning_details").cloned()
    };
    let portable = json!([{"type": "reasoning.encrypted", "data": "d"}]);
    for id in ["openrouter", "nous", "ai-gateway", "kilocode", "minimax"] {
        assert_eq!(sent(id, portable.clone()), Some(portable.clone()), "{id}");
    }
    assert_eq!(sent("deepseek", portable), None);
    assert_eq!(sent("openrouter", json!([{"type": "thinking", "thinking": "t", "signature": "s"}])), None);
}

#[test]
fn sealed_state_of_a_message_goes_back_to_its_vendor_only() {
    let sent = |id: &str, model: &str, concessions: &[Concession]| {
        let sealed = stored(json!({"role": "assistant", "content": "x", "reasoning": "hm", "reasoning_opaque": "seal",
            "extra_content": {"google": {"thought_signature": "sig"}}}));
        let mut request = Request::new(model, [sealed]);
        request.concessions = concessions.iter().copied().collect();
        message(&request, id, 0)
    };
    let plain = json!({"role": "assistant", "content": "x"});
    assert_eq!(
        sent("copilot", "gpt-4.1", &[]),
        json!({"role": "assistant", "content": "x", "reasoning_text": "hm", "reasoning_opaque": "seal"})
    );
    assert_eq!(sent("copilot", "gpt-4.1", &[Concession::Signatures]), plain);
    assert_eq!(
        sent("gemini", "gemini-3.5-flash", &[]),
        json!({"role": "assistant", "content": "x", "extra_content": {"google": {"thought_signature": "sig"}}})
    );
    assert_eq!(sent("openrouter", "openai/gpt-5.4", &[]), plain);
}

#[test]
fn reasoning_is_echoed_only_to_those_who_demand_it() {
    let echo = |id: &str, model: &str, assistant: Value| {
        message(&Request::new(model, [stored(assistant)]), id, 0).get("reasoning_content").cloned()
    };
    let calls = json!([{"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}]);
    let own = json!({"role": "assistant", "content": "x", "reasoning_content": "r"});
    let empty = json!({"role": "assistant", "content": "x", "reasoning_content": ""});
    let foreign = json!({"role": "assistant", "content": "x", "reasoning": "r"});
    let foreign_call = json!({"role": "assistant", "content": null, "reasoning": "r", "tool_calls": calls});
    let none = json!({"role": "assistant", "content": "x"});
    let table = [
        ("deepseek", "deepseek-v4-pro", &own, Some("r")),
        ("deepseek", "deepseek-v4-pro", &empty, Some(" ")),
        ("deepseek", "deepseek-v4-pro", &foreign, Some("r")),
        ("deepseek", "deepseek-v4-pro", &foreign_call, Some(" ")),
        ("deepseek", "deepseek-v4-pro", &none, Some(" ")),
        ("kimi-cn", "kimi-k2.5", &own, Some("r")),
        ("xiaomi", "mimo-v2.5", &own, Some("r")),
        ("openrouter", "deepseek/deepseek-v4-flash", &own, Some("r")),
        ("groq", "deepseek-r1-distill-llama-70b", &own, None),
        ("openrouter", "openai/gpt-5.4", &own, None),
        ("custom", "m", &own, None),
    ];
    for (id, model, assistant, expected) in table {
        assert_eq!(echo(id, model, assistant.clone()), expected.map(Value::from), "{id} {model} {assistant}");
    }
}

#[test]
fn the_system_speaks_as_developer_to_newer_openai_models() {
    let role = |model: &str| message(&Request::new(model, [Message::system("s")]), "copilot", 0)["role"].clone();
    assert_eq!(role("gpt-5-mini"), "developer");
    assert_eq!(role("gpt-4.1"), "system");
}

#[test]
fn the_output_cap_has_the_right_name_and_size() {
    let cap = |id: &str, model: &str, wanted: Option<u32>| {
        let mut request = asks(model);
        request.max_output_tokens = wanted;
        let body = body(&request, &target(id));
        ["max_tokens", "max_completion_tokens"].iter().find_map(|key| Some((*key, body.get(*key)?.as_u64()?)))
    };
    let table = [
        ("openrouter", "openai/gpt-5.4", Some(7), Some(("max_completion_tokens", 7))),
        ("copilot", "claude-sonnet-4.6", Some(7), Some(("max_completion_tokens", 7))),
        ("deepseek", "deepseek-chat", Some(7), Some(("max_tokens", 7))),
        ("deepseek", "deepseek-chat", None, None),
        ("kimi", "kimi-k2.5", None, Some(("max_tokens", 32_000))),
        ("nvidia", "m", None, Some(("max_tokens", 16_384))),
        ("custom", "m", None, None),
        ("custom", "m", Some(7), Some(("max_tokens", 7))),
        ("ollama", "qwen3:32b", None, None),
        ("openrouter", "anthropic/claude-sonnet-4.5", None, Some(("max_tokens", 64_000))),
        ("opencode-go", "mimo-v2.5-pro", None, Some(("max_tokens", 131_072))),
        ("vllm", "Qwen/Qwen3-8B", None, None),
    ];
    for (id, model, wanted, expected) in table {
        assert_eq!(cap(id, model, wanted), expected, "{id} {model}");
    }
}

#[test]
fn what_a_provider_refused_is_left_out() {
    let image = Part::of_image("data:image/png;base64,AAAA");
    let parts = Content::Parts(vec![Part::of_text("see"), image]);
    let mut request = Request::new(
        "anthropic/claude-sonnet-4.5",
        [
            Message::User(hermes_types::Plain::new(parts.clone())),
            laden(),
            Message::Tool(hermes_types::ToolResult {
                tool_call_id: CallId::new("call_1"),
                name: None,
                content: parts,
                extra: Object::new(),
            }),
        ],
    );
    let pattern = json!({"type": "object", "properties": {
        "pattern": {"type": "string", "pattern": "^a", "format": "uri"}}});
    request.tools = [tool("grep", pattern.clone())].into();
    request.temperature = Some(1.0);
    let full = body(&request, &target("openrouter"));
    assert_eq!(full["messages"][2]["content"][1]["type"], "image_url");
    assert_eq!(full["tools"][0]["function"]["parameters"], pattern);

    request.concessions = [
        Concession::Images,
        Concession::ToolResultParts,
        Concession::Temperature,
        Concession::MaxTokens,
        Concession::ReasoningEffort,
        Concession::Signatures,
        Concession::StreamOptions,
        Concession::SchemaPatterns,
    ]
    .into();
    let bare = body(&request, &target("openrouter"));
    let keys: Vec<&String> = bare.as_object().expect("an object").keys().collect();
    assert_eq!(keys, ["model", "tools", "messages", "stream"]);
    let note = "[image left out: the model cannot see images]";
    assert_eq!(
        bare["messages"][0]["content"],
        json!([{"type": "text", "text": "see"}, {"type": "text", "text": note}])
    );
    assert_eq!(bare["messages"][1].get("reasoning_details"), None);
    assert_eq!(bare["messages"][2]["content"], json!(format!("see\n{note}")));
    assert_eq!(
        bare["tools"][0]["function"]["parameters"],
        json!({"type": "object", "properties": {"pattern": {"type": "string"}}}),
        "a property that is called pattern stays"
    );
}

#[test]
fn tools_are_chosen_only_where_there_are_tools() {
    let choice = |choice: ToolChoice, tools: &[ToolDefinition]| {
        let mut request = asks("m");
        request.tools = tools.into();
        request.tool_choice = choice;
        body(&request, &target("custom")).get("tool_choice").cloned()
    };
    let tools = [tool("f", json!({}))];
    assert_eq!(choice(ToolChoice::Auto, &tools), None);
    assert_eq!(choice(ToolChoice::Required, &tools), Some(json!("required")));
    assert_eq!(choice(ToolChoice::Forbidden, &tools), Some(json!("none")));
    let named = json!({"type": "function", "function": {"name": "f"}});
    assert_eq!(choice(ToolChoice::Named("f".into()), &tools), Some(named));
    assert_eq!(choice(ToolChoice::Required, &[]), None);
}

#[test]
fn vendors_get_their_own_headers_and_fields() {
    let mut request = asks("x-ai/grok-4");
    request.session = Some(SessionId::new("s1"));
    let routed = encode(&request, &target("openrouter"));
    assert_eq!(header(&routed, "x-grok-conv-id"), Some("s1".into()));

    request.model = "z-ai/glm-5.2".into();
    let version = env!("CARGO_PKG_VERSION");
    assert_eq!(
        body(&request, &target("nous"))["tags"],
        json!(["product=hermes-agent", format!("client=hermes-client-v{version}"), "conversation=s1"])
    );

    let mut copilot = asks("gpt-4.1");
    let by_person = encode(&copilot, &target("copilot"));
    assert_eq!(header(&by_person, "x-initiator"), Some("user".into()));
    assert_eq!(header(&by_person, "Openai-Intent"), Some("conversation-edits".into()));
    assert_eq!(header(&by_person, "copilot-vision-request"), None);
    let picture = Content::Parts(vec![Part::of_image("data:image/png;base64,AAAA")]);
    copilot.messages.push(Message::User(hermes_types::Plain::new(picture)).into());
    copilot.messages.push(Message::tool(&CallId::new("c"), "f", "ok").into());
    let by_agent = encode(&copilot, &target("copilot"));
    assert_eq!(header(&by_agent, "x-initiator"), Some("agent".into()));
    assert_eq!(header(&by_agent, "copilot-vision-request"), Some("true".into()));

    let nvidia = encode(&asks("m"), &target("nvidia"));
    assert_eq!(header(&nvidia, "X-BILLING-INVOKE-ORIGIN"), Some("HermesAgent".into()));
}

#[test]
fn kimi_gets_no_temperature_and_schemas_in_its_own_flavour() {
    let mut request = asks("kimi-k2.5");
    request.temperature = Some(0.7);
    let given = json!({
        "type": "object",
        "anyOf": [{"required": ["a"]}, {"required": ["b"]}],
        "properties": {
            "a": {"description": "no type"},
            "b": {"type": ["integer", "null"], "nullable": true},
            "c": {"type": "object", "anyOf": [{"properties": {"x": {"enum": [1, null]}}}, {"type": "array", "items": {}}]},
            "d": {"$ref": "#/$defs/d", "description": "beside a reference"},
            "e": {"anyOf": [{"type": "string"}, {"type": "null"}], "description": "maybe"}
        },
        "$defs": {"d": {"properties": {}}}
    });
    let expected = json!({
        "type": "object",
        "properties": {
            "a": {"description": "no type", "type": "string"},
            "b": {"type": "integer"},
            "c": {"anyOf": [
                {"properties": {"x": {"enum": [1], "type": "number"}}, "type": "object"},
                {"type": "array", "items": {"type": "string"}}
            ]},
            "d": {"$ref": "#/$defs/d"},
            "e": {"description": "maybe", "type": "string"}
        },
        "$defs": {"d": {"properties": {}, "type": "object"}}
    });
    request.tools = [tool("f", given.clone())].into();
    let direct = body(&request, &target("kimi"));
    assert_eq!(direct.get("temperature"), None);
    assert_eq!(direct["tools"][0]["function"]["parameters"], expected);
    let routed = body(&request, &target("openrouter"));
    assert_eq!(routed["tools"][0]["function"]["parameters"], expected, "on any route");
    request.model = "glm-5".into();
    let other = body(&request, &target("openrouter"));
    assert_eq!(other["tools"][0]["function"]["parameters"], given);
}

#[test]
fn gemini_gets_schemas_in_googles_subset() {
    let given = json!({
        "$schema": "http://json-schema.org/draft-07/schema#",
        "type": "object",
        "additionalProperties": false,
        "required": ["a", "gone"],
        "properties": {
            "a": {"type": ["integer", "null"], "enum": [1, 2, null], "exclusiveMinimum": 0},
            "b": {"const": "only"},
            "c": {"oneOf": [{"type": "string"}, {"type": "array", "items": {"$ref": "#/$defs/link"}}, {"type": "null"}]},
            "d": {"anyOf": [{"type": "string", "format": "date-time"}, {"type": "null"}], "description": "maybe"},
            "e": {"type": "object", "required": ["z"], "default": {"const": 1}},
            "const": {"type": "string", "enum": ["x", "y"], "minLength": 1, "examples": ["x"]},
            "f": {"const": 5}
        },
        "$defs": {"link": {"$ref": "#/$defs/text"}, "text": {"type": "string", "maxLength": 9}}
    });
    let expected = json!({
        "type": "object",
        "required": ["a"],
        "properties": {
            "a": {"type": "integer", "nullable": true},
            "b": {"enum": ["only"], "type": "string"},
            "c": {"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string", "maxLength": 9}}],
                "nullable": true},
            "d": {"description": "maybe", "nullable": true, "type": "string", "format": "date-time"},
            "e": {"type": "object", "default": {"const": 1}},
            "const": {"type": "string", "enum": ["x", "y"], "minLength": 1},
            "f": {"type": "number"}
        }
    });
    let sent = |id: &str, model: &str| {
        let mut request = asks(model);
        request.tools = [tool("f", given.clone())].into();
        body(&request, &target(id))["tools"][0]["function"]["parameters"].clone()
    };
    assert_eq!(sent("gemini", "gemini-3.5-flash"), expected);
    assert_eq!(sent("gemini", "gemma-4-27b"), expected, "whatever Google serves");
    assert_eq!(sent("openrouter", "google/gemini-3.5-flash"), expected, "on any route");
    assert_eq!(sent("openrouter", "z-ai/glm-5"), given);
}

#[test]
fn references_end_for_a_receiver_that_follows_none() {
    let nested = json!({
        "type": "object",
        "properties": {
            "at": {"allOf": [{"$ref": "#/$defs/place"}], "description": "where"},
            "tree": {"$ref": "#/$defs/tree"},
            "lost": {"$ref": "https://x.test/elsewhere"}
        },
        "$defs": {
            "place": {"type": "object", "properties": {"x": {"type": "number"}}, "required": ["x"]},
            "tree": {"type": "object", "properties": {"l": {"$ref": "#/$defs/tree"}, "r": {"$ref": "#/$defs/tree"}}}
        }
    });
    let mut request = asks("gemini-3.5-flash");
    request.tools = [tool("f", nested)].into();
    let sent = body(&request, &target("gemini"))["tools"][0]["function"]["parameters"].clone();
    assert_eq!(
        sent["properties"]["at"],
        json!({"description": "where", "type": "object", "properties": {"x": {"type": "number"}}, "required": ["x"]})
    );
    assert_eq!(sent["properties"]["lost"], json!({"type": "object"}));
    let branch = |depth: usize| format!("/properties/tree{}", "/properties/l".repeat(depth));
    assert_eq!(sent.pointer(&branch(5)), Some(&json!({"type": "object"})), "the tree ends somewhere");
    assert!(!sent.to_string().contains("$ref"), "{sent}");
}

#[test]
fn ids_that_mistral_refuses_are_shortened_alike_on_both_sides() {
    let call = CallId::new("call_424c07b15d61");
    let assistant = Assistant { tool_calls: vec![ToolCall::new(call.clone(), "f", "{}")], ..Assistant::default() };
    let request =
        Request::new("mistral-large-latest", [Message::Assistant(assistant), Message::tool(&call, "f", "ok")]);
    let messages = body(&request, &target("mistral"))["messages"].clone();
    let id = messages[0]["tool_calls"][0]["id"].as_str().expect("an id").to_owned();
    assert!(id.len() == 9 && id.bytes().all(|byte| byte.is_ascii_alphanumeric()), "{id}");
    assert_eq!(messages[1]["tool_call_id"], json!(id));
}

#[test]
fn messages_of_other_protocols_become_chat_messages() {
    let parts = stored(json!({"role": "user", "content": [
        {"type": "input_text", "text": "see"},
        {"type": "input_image", "image_url": "https://x.test/a.png", "detail": "low"},
        {"type": "text", "text": "kept", "cache_control": {"type": "ephemeral"}},
        {"type": "video_url", "video_url": {"url": "u"}}
    ]}));
    let thought = stored(json!({"role": "assistant", "content": [
        {"type": "thinking", "thinking": "t", "signature": "s"}, {"type": "text", "text": "said"}]}));
    let silent = stored(json!({"role": "assistant", "content": null}));
    let mended = stored(json!({"role": "assistant", "content": null, "tool_calls": [
        {"id": "i", "call_id": "c", "type": "function", "function": {"name": "f", "arguments": "{'a': True,}"}},
        {"id": "j", "type": "function", "function": {"name": "g", "arguments": ""}}]}));
    let request = Request::new("m", [parts, thought, silent, mended]);
    assert_eq!(
        body(&request, &target("custom"))["messages"],
        json!([
            {"role": "user", "content": [
                {"type": "text", "text": "see"},
                {"type": "image_url", "image_url": {"url": "https://x.test/a.png", "detail": "low"}},
                {"type": "text", "text": "kept"},
                {"type": "video_url", "video_url": {"url": "u"}}
            ]},
            {"role": "assistant", "content": [{"type": "text", "text": "said"}]},
            {"role": "assistant", "content": ""},
            {"role": "assistant", "content": null, "tool_calls": [
                {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{\"a\":true}"}},
                {"id": "j", "type": "function", "function": {"name": "g", "arguments": "{}"}}]}
        ])
    );
}

#[test]
fn the_persons_own_fields_win() {
    let mut target = target("custom");
    target.extra_body = json!({"max_tokens": 5, "options": {"num_ctx": 8192}}).as_object().cloned().expect("an object");
    let request = Request { max_output_tokens: Some(9), ..asks("m") };
    assert_eq!(
        String::from_utf8(encode(&request, &target).body).expect("UTF-8"),
        concat!(
            r#"{"model":"m","messages":[{"role":"user","content":"hi"}],"max_tokens":5,"stream":true,"#,
            r#""stream_options":{"include_usage":true},"options":{"num_ctx":8192}}"#
        )
    );
}

fn any_message() -> impl Strategy<Value = Message> {
    let text = "[ -~äß\n]{0,12}";
    prop_oneof![
        text.prop_map(Message::user),
        text.prop_map(Message::system),
        Just(laden()),
        (text, text, any::<bool>()).prop_map(|(content, reasoning, calls)| {
            let call = ToolCall::new(CallId::new("call_x"), "f", r#"{"b":1,"a":{}}"#);
            Message::Assistant(Assistant {
                content: Some(content.into()),
                reasoning: Some(reasoning),
                tool_calls: if calls { vec![call] } else { Vec::new() },
                ..Assistant::default()
            })
        }),
        text.prop_map(|content| Message::tool(&CallId::new("call_x"), "f", content)),
    ]
}

proptest! {
    /// P2: a longer conversation starts with the bytes of the shorter one, whoever it is sent to.
    #[test]
    fn the_prefix_never_moves(
        messages in prop::collection::vec(any_message(), 1..6),
        more in any_message(),
        provider in prop::sample::select(vec!["openrouter", "deepseek", "kimi", "mistral", "gemini", "custom"]),
        model in prop::sample::select(vec!["gpt-5.4", "gemini-3.5-flash", "kimi-k2.5", "deepseek-v4-pro"]),
    ) {
        let shorter = Request::new(model, messages.clone());
        let longer = Request::new(model, messages.into_iter().chain([more]));
        let text = |request: &Request| {
            let body = String::from_utf8(encode(request, &target(provider)).body).expect("UTF-8");
            let end = body.rfind(r#"}],"#).expect("the end of the messages");
            body.split_at(end + 1).0.to_owned()
        };
        let head = text(&shorter);
        let whole = text(&longer);
        prop_assert!(whole.starts_with(&head), "\n{}\n{}", head, whole);
    }
}
