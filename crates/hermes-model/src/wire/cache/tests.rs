//! What marking looks like on every route, and what holds for every history.

use super::*;
use crate::provider::Provider;
use crate::wire::Login;
use hermes_types::{Assistant, CallId, Content, Object, Part, SessionId, ToolCall, ToolDefinition};
use proptest::prelude::*;
use serde_json::{Value, json};
use std::sync::Arc;

/// A route of each kind: vendor, protocol, model.
const ROUTES: [(&str, ApiMode, &str); 7] = [
    ("anthropic", ApiMode::AnthropicMessages, "claude-opus-4-6"),
    ("minimax", ApiMode::AnthropicMessages, "MiniMax-M3"),
    ("openrouter", ApiMode::ChatCompletions, "anthropic/claude-opus-4.6"),
    ("nous", ApiMode::ChatCompletions, "moonshotai/kimi-k2.5"),
    ("alibaba", ApiMode::ChatCompletions, "qwen3-max"),
    ("openai-api", ApiMode::ChatCompletions, "gpt-4.1"),
    ("openai-codex", ApiMode::CodexResponses, "gpt-5.4"),
];

fn target(provider: &str, cache: Option<Ttl>) -> Target {
    let provider = Provider::find(provider).expect("a provider");
    let base_url = provider.base_url.parse().expect("a URL");
    Target { provider, base_url, login: Login::ApiKey, extra_body: Object::new(), cache }
}

fn asks(model: &str, messages: impl IntoIterator<Item = Message>) -> Request {
    let tool = ToolDefinition { name: "look".into(), description: "Looks.".into(), parameters: json!({}) };
    let session = Some(SessionId::new("s1"));
    Request { tools: Arc::new([tool]), session, ..Request::new(model, messages) }
}

fn written(mode: ApiMode, request: &Request, target: &Target) -> Value {
    serde_json::from_slice(&mode.encode(request, target).body).expect("a JSON body")
}

fn calls(ids: &[&str], words: Option<&str>) -> Message {
    let tool_calls = ids.iter().map(|id| ToolCall::new(CallId::new(*id), "look", "{}")).collect();
    Message::Assistant(Assistant { content: words.map(Content::from), tool_calls, ..Assistant::default() })
}

fn result(id: &str, words: impl Into<Content>) -> Message {
    Message::tool(&CallId::new(id), "look", words)
}

#[test]
fn an_envelope_byte_for_byte() {
    let messages = [
        Message::system("Be kind."),
        Message::user("Look."),
        calls(&["a", "b"], None),
        result("a", "One "),
        result("b", ""),
    ];
    let request = asks("anthropic/claude-opus-4.6", messages);
    let body = ApiMode::ChatCompletions.encode(&request, &target("openrouter", Some(Ttl::Hour))).body;
    let body = String::from_utf8(body).expect("UTF-8");
    let messages = body.split_once(r#""messages":"#).expect("messages").1;
    let call =
        |id: &str| format!(r#"{{"id":"{id}","type":"function","function":{{"name":"look","arguments":"{{}}"}}}}"#);
    let marked = |text: &str| {
        format!(r#"[{{"type":"text","text":"{text}","cache_control":{{"type":"ephemeral","ttl":"1h"}}}}]"#)
    };
    let expected = [
        format!(r#"[{{"role":"system","content":{}}},"#, marked("Be kind.")),
        format!(r#"{{"role":"user","content":{}}},"#, marked("Look.")),
        format!(r#"{{"role":"assistant","content":null,"tool_calls":[{},{}]}},"#, call("a"), call("b")),
        format!(r#"{{"role":"tool","tool_call_id":"a","name":"look","content":{}}},"#, marked("One ")),
        r#"{"role":"tool","tool_call_id":"b","name":"look","content":""}],"#.to_owned(),
    ];
    assert!(messages.starts_with(&expected.concat()), "{messages}");
}

#[test]
fn parts_are_marked_on_their_last_words() {
    let image = || Part::of_image("https://x.test/a.png");
    let parts = |list: Vec<Part>| Message::user(Content::Parts(list));
    let marked = json!({"type": "text", "text": "see", "cache_control": {"type": "ephemeral"}});
    let shown = json!({"type": "image_url", "image_url": {"url": "https://x.test/a.png"}});
    let text = |words: &str| json!({"type": "text", "text": words});
    let table = [
        (vec![Part::of_text("see"), image()], json!([marked, shown])),
        (vec![Part::of_text("now"), Part::of_text("see")], json!([text("now"), marked])),
        (vec![Part::of_text("see"), Part::of_text(" ")], json!([marked, text(" ")])),
        (vec![image()], json!([shown])),
        (vec![Part::of_text(" ")], json!([text(" ")])),
    ];
    let target = target("openrouter", Some(Ttl::FiveMinutes));
    for (said, expected) in table {
        let request = asks("anthropic/claude-opus-4.6", [parts(said)]);
        assert_eq!(written(ApiMode::ChatCompletions, &request, &target)["messages"][0]["content"], expected);
    }
}

#[test]
fn results_that_must_be_plain_text_stay_so() {
    let messages = [Message::user("Look."), calls(&["a"], Some("Yes.")), result("a", "One")];
    let mut request = asks("anthropic/claude-opus-4.6", messages);
    request.concessions.insert(Concession::ToolResultParts);
    let body = written(ApiMode::ChatCompletions, &request, &target("openrouter", Some(Ttl::FiveMinutes)));
    assert_eq!(body["messages"][2]["content"], "One");
    assert_eq!(marks(&body).len(), 2);
}

#[test]
fn only_a_conversation_pays_for_being_kept() {
    let usual = || asks("claude-opus-4-6", [Message::system("Be kind."), Message::user("Hi.")]);
    let toolless = |more: &[Message]| Request {
        tools: Arc::new([]),
        ..asks("claude-opus-4-6", [Message::system("Be kind."), Message::user("Hi.")].into_iter().chain(more.to_vec()))
    };
    let anthropic = target("anthropic", Some(Ttl::FiveMinutes));
    let arranged = json!({"cache_control": {"type": "ephemeral"}}).as_object().cloned().expect("an object");
    let mut refused = usual();
    refused.concessions.insert(Concession::CacheHints);
    let table = [
        ("a conversation", usual(), anthropic.clone(), 2),
        ("a side job", Request { session: None, ..usual() }, anthropic.clone(), 0),
        ("a question without tools", toolless(&[]), anthropic.clone(), 0),
        ("its continuation", toolless(&[Message::assistant("Hello."), Message::user("How?")]), anthropic.clone(), 4),
        ("marks were refused", refused, anthropic.clone(), 0),
        ("the person arranged it", usual(), Target { extra_body: arranged, ..anthropic.clone() }, 1),
        ("nobody asked for it", usual(), Target { cache: None, ..anthropic }, 0),
    ];
    for (what, request, target, expected) in table {
        let body = written(ApiMode::AnthropicMessages, &request, &target);
        assert_eq!(marks(&body).len(), expected, "{what}: {body}");
    }
}

#[test]
fn an_hour_is_asked_for_where_there_is_one() {
    let hour = json!({"type": "ephemeral", "ttl": "1h"});
    let usual = json!({"type": "ephemeral"});
    let wanted = [Some(&hour), Some(&usual), Some(&hour), Some(&usual), Some(&usual), None, None];
    for ((provider, mode, model), expected) in ROUTES.into_iter().zip(wanted) {
        let request = asks(model, [Message::user("Hi.")]);
        let body = written(mode, &request, &target(provider, Some(Ttl::Hour)));
        assert_eq!(marks(&body).first().map(|block| &block["cache_control"]), expected, "{provider}");
    }
}

#[test]
fn who_opens_alike_shares_a_key_under_any_name() {
    let openai = target("openai-api", Some(Ttl::FiveMinutes));
    let key = |request: &Request, target: &Target| {
        written(ApiMode::ChatCompletions, request, target)["prompt_cache_key"].take()
    };
    let usual = asks("gpt-4.1", [Message::system("Be kind."), Message::user("Hi.")]);
    let compressed = Request {
        session: Some(SessionId::new("s2")),
        ..asks("gpt-4.1", [Message::system("Be kind."), Message::user("(a summary)"), Message::user("Go on.")])
    };
    let known = key(&usual, &openai);
    assert!(known.as_str().is_some_and(|key| key.starts_with("pck_") && key.len() == 28), "{known}");
    assert_eq!(key(&compressed, &openai), known);
    for other in ["mistral", "kimi-coding", "kimi-coding-cn"] {
        assert_eq!(key(&usual, &target(other, Some(Ttl::FiveMinutes))), known, "{other}");
    }
    for other in ["openrouter", "groq", "custom", "deepseek"] {
        let base_url = "https://host.example/v1".parse().expect("a URL");
        let elsewhere = Target { base_url, provider: Provider::find(other).expect(other), ..openai.clone() };
        assert_eq!(key(&usual, &elsewhere), Value::Null, "{other}");
    }
    assert_ne!(key(&asks("gpt-4.1", [Message::system("Be cold.")]), &openai), known);
    assert_ne!(key(&Request { tools: Arc::new([]), ..usual.clone() }, &openai), known);
    let bare = |opening: &str| Request { tools: Arc::new([]), ..asks("gpt-4.1", [Message::user(opening)]) };
    assert_ne!(key(&bare("Hi."), &openai), key(&bare("Ho."), &openai));
    let mut refused = usual;
    refused.concessions.insert(Concession::CacheHints);
    assert_eq!(key(&refused, &openai), Value::Null);
}

/// Every block of a body that has a mark. What models and tools wrote is not looked into.
fn marks(value: &Value) -> Vec<&Value> {
    match value {
        Value::Array(items) => items.iter().flat_map(marks).collect(),
        Value::Object(fields) => {
            let foreign = ["input_schema", "parameters", "arguments"];
            let is_input = |key: &str| key == "input" && value["type"] == "tool_use";
            let inside = fields.iter().filter(|(key, _)| !foreign.contains(&key.as_str()) && !is_input(key));
            let own = fields.contains_key(FIELD).then_some(value);
            own.into_iter().chain(inside.flat_map(|(_, field)| marks(field))).collect()
        }
        _ => Vec::new(),
    }
}

/// The body without marks. Where only a part can bear one, a lone part is read as its text.
fn unmarked(value: &Value, lone_parts: bool) -> Value {
    match value {
        Value::Array(items) => match items.as_slice() {
            [Value::Object(part)] if lone_parts && part.contains_key("text") => {
                part.get("text").cloned().expect("just seen")
            }
            _ => items.iter().map(|item| unmarked(item, lone_parts)).collect(),
        },
        Value::Object(fields) => {
            let kept = fields.iter().filter(|(key, _)| *key != FIELD);
            kept.map(|(key, field)| (key.clone(), unmarked(field, lone_parts || key == "system"))).collect()
        }
        other => other.clone(),
    }
}

fn any_text() -> impl Strategy<Value = String> {
    prop_oneof![Just(String::new()), Just(" \n".to_owned()), "[a-zé ]{1,6}\n?"]
}

fn any_content() -> impl Strategy<Value = Content> {
    let foreign = json!({"type": "text", "text": "w", "cache_control": {"type": "ephemeral"}});
    let part = prop_oneof![
        3 => any_text().prop_map(Part::of_text),
        1 => Just(Part::of_image("data:image/png;base64,QQ==")),
        1 => Just(Part(foreign.as_object().cloned().expect("an object"))),
    ];
    prop_oneof![any_text().prop_map(Content::Text), prop::collection::vec(part, 0..4).prop_map(Content::Parts)]
}

/// What a person says, or what a model says with the results of its calls: many at once, some of them lost.
fn any_turn() -> impl Strategy<Value = Vec<Message>> {
    let thinking = prop::option::of(Just(vec![json!({"type": "thinking", "thinking": "t", "signature": "s"})]));
    let reply = (prop::option::of(any_content()), thinking, prop::collection::vec((any_content(), 0u8..10), 0..30));
    prop_oneof![
        1 => any_content().prop_map(|content| vec![Message::user(content)]),
        2 => reply.prop_map(|(content, reasoning_details, results)| {
            let ids: Vec<CallId> = (0..results.len()).map(|at| CallId::new(format!("c{at}"))).collect();
            let tool_calls = ids.iter().map(|id| ToolCall::new(id.clone(), "look", "{}")).collect();
            let said = Assistant { content, reasoning_details, tool_calls, ..Assistant::default() };
            let heard = ids.iter().zip(results).filter(|(_, (_, luck))| *luck > 0);
            let results = heard.map(|(id, (content, _))| Message::tool(id, "look", content));
            [Message::Assistant(said)].into_iter().chain(results).collect()
        }),
    ]
}

fn may_bear(mode: ApiMode, block: &Value) -> bool {
    let has_words = block["text"].as_str().is_some_and(|text| !text.trim().is_empty());
    match (mode, block["type"].as_str()) {
        (_, Some("text")) => has_words,
        (ApiMode::AnthropicMessages, Some("image" | "tool_use" | "tool_result")) => true,
        // A tool, which stands for all before it.
        (ApiMode::AnthropicMessages, None) => block.get("input_schema").is_some(),
        _ => false,
    }
}

proptest! {
    /// Marks are at most four, on what can bear them, and change nothing but themselves; so whatever was sent before
    /// stands at the beginning of what is sent next.
    #[test]
    fn marks_leave_the_words_alone(
        system in any_text(),
        turns in prop::collection::vec(any_turn(), 1..5),
        (provider, mode, model) in prop::sample::select(ROUTES.to_vec()),
    ) {
        let kept = target(provider, Some(Ttl::Hour));
        let plain = target(provider, None);
        let mut request = asks(model, [Message::system(system), Message::user("q")]);
        let mut before: Option<String> = None;
        for turn in turns {
            let body = written(mode, &request, &kept);
            let found = marks(&body);
            prop_assert!(found.len() <= 4, "{}", body);
            prop_assert!(found.iter().all(|block| may_bear(mode, block)), "{}", body);
            prop_assert!(policy::policy(&kept, mode, model).is_none() == found.is_empty(), "{}", body);
            let lone_parts = mode == ApiMode::ChatCompletions;
            let mut bare = unmarked(&body, lone_parts);
            if let Some(fields) = bare.as_object_mut().filter(|_| lone_parts) {
                fields.shift_remove("prompt_cache_key");
            }
            prop_assert_eq!(&bare, &unmarked(&written(mode, &request, &plain), lone_parts));
            let words = [&bare["tools"], &bare["system"], &bare["instructions"], &bare["messages"], &bare["input"]];
            let words: String = words.iter().filter(|piece| !piece.is_null()).map(ToString::to_string).collect();
            // The last message of the Messages protocol may go on.
            let end = if mode == ApiMode::AnthropicMessages { "]}]" } else { "]" };
            let open = words.strip_suffix(end).expect("a list").to_owned();
            prop_assert!(before.is_none_or(|before| words.starts_with(&before)), "{}", words);
            before = Some(open);
            request.messages.extend(turn.into_iter().map(Arc::new));
        }
    }
}
