//! Each rule of the stage catches the request that breaks it, and says which request, where, and why.

use crate::client::{Client, post};
use hermes_testkit::{ModelServer, Move};
use serde_json::{Value, json};

const CHAT: &str = "/v1/chat/completions";
const RESPONSES: &str = "/v1/responses";
const ANTHROPIC: &str = "/anthropic/v1/messages";

fn body(path: &str, messages: Value) -> Value {
    let field = if path == RESPONSES { "input" } else { "messages" };
    json!({"model": "m", "stream": true, field: messages})
}

/// What the server has to say about one request, without the part that names it.
async fn complaints(path: &str, body: &Value) -> Vec<String> {
    let server = ModelServer::start(Move::say("ok")).await;
    post(&server.base_url(), path, body).await;
    let address = server.root_url().replace("http://", "");
    let label = format!("request #1 POST {address}{path}: ");
    let unnamed = |text: String| text.strip_prefix(&label).expect("a violation names its request").to_owned();
    server.take_violations().into_iter().map(unnamed).collect()
}

async fn complaints_about(path: &str, messages: Value) -> Vec<String> {
    complaints(path, &body(path, messages)).await
}

fn user(text: &str) -> Value {
    json!({"role": "user", "content": text})
}

fn chat_call(ids: &[&str]) -> Value {
    let call = |id: &&str| json!({"id": id, "type": "function", "function": {"name": "f", "arguments": "{}"}});
    json!({"role": "assistant", "content": null, "tool_calls": ids.iter().map(call).collect::<Vec<_>>()})
}

fn chat_result(id: &str) -> Value {
    json!({"role": "tool", "tool_call_id": id, "content": "done"})
}

fn tool_use(ids: &[&str]) -> Value {
    let block = |id: &&str| json!({"type": "tool_use", "id": id, "name": "f", "input": {"_the_models_own": 1}});
    json!({"role": "assistant", "content": ids.iter().map(block).collect::<Vec<_>>()})
}

fn tool_result(id: &str) -> Value {
    json!({"type": "tool_result", "tool_use_id": id, "content": "done"})
}

fn call_item(id: &str) -> Value {
    json!({"type": "function_call", "call_id": id, "name": "f", "arguments": "{}"})
}

fn output_item(id: &str) -> Value {
    json!({"type": "function_call_output", "call_id": id, "output": "done"})
}

#[tokio::test]
async fn proper_conversations_pass() {
    let system = json!({"role": "system", "content": "s"});
    let answer = json!({"role": "assistant", "content": "a"});
    let reasoning = json!({"type": "reasoning", "summary": [], "encrypted_content": "x"});
    let good = [
        (
            CHAT,
            json!([system, user("1"), chat_call(&["a", "b"]), chat_result("a"), chat_result("b"), answer, user("2")]),
        ),
        (CHAT, json!([user("1"), chat_call(&["a"]), chat_result("a"), user("after an interrupt")])),
        (
            ANTHROPIC,
            json!([user("1"), tool_use(&["a", "b"]),
                {"role": "user", "content": [tool_result("b"), tool_result("a"), {"type": "text", "text": "and"}]}, answer]),
        ),
        (
            RESPONSES,
            json!([user("1"), reasoning, call_item("a"), call_item("b"), output_item("a"), output_item("b"), reasoning,
                {"type": "message", "role": "assistant", "content": []}, user("2")]),
        ),
    ];
    for (path, messages) in good {
        assert_eq!(complaints_about(path, messages).await, [""; 0]);
    }
}

#[tokio::test]
async fn a_body_must_be_json_that_asks_for_a_stream() {
    let server = ModelServer::start([Move::say("ok"), Move::say("ok"), Move::say("ok")]).await;
    let mut client = Client::connect(&server.base_url()).await;
    client.send("POST", CHAT, &[], "{half").await;
    client.answer().await;
    client.post(CHAT, &json!({"messages": [user("hi")]})).await;
    client.post(RESPONSES, &json!({"stream": true, "input": []})).await;
    let address = server.root_url().replace("http://", "");
    assert_eq!(
        server.take_violations(),
        [
            format!("request #1 POST {address}{CHAT}: the body is not a JSON object"),
            format!("request #2 POST {address}{CHAT}: `stream` must be true and is null"),
            format!("request #3 POST {address}{RESPONSES}: `input` must be a list with something in it"),
        ]
    );
}

#[tokio::test]
async fn roles_alternate() {
    let answer = json!({"role": "assistant", "content": "a"});
    let system = json!({"role": "system", "content": "s"});
    let table = [
        (CHAT, json!([user("1"), user("2")]), "messages[0] and messages[1] are both `user`: roles must alternate"),
        (CHAT, json!([answer]), "messages[0] opens the conversation as `assistant`, not as `user`"),
        (CHAT, json!([user("1"), system]), "messages[1] has role `system`, which must not stand there"),
        (
            ANTHROPIC,
            json!([user("1"), answer, answer]),
            "messages[1] and messages[2] are both `assistant`: roles must alternate",
        ),
        (ANTHROPIC, json!([system, user("1")]), "messages[0] has role `system`, which must not stand there"),
        (ANTHROPIC, json!([user("")]), "messages[0] has no content"),
        (RESPONSES, json!([user("1"), user("2")]), "input[0] and input[1] are both `user`: roles must alternate"),
        (
            RESPONSES,
            json!([user("1"), {"type": "reasoning"}, user("2")]),
            "input[1] is reasoning without the item it led to",
        ),
        (RESPONSES, json!([system, user("1")]), "input[0] has type `` and role `system`, which must not stand there"),
    ];
    for (path, messages, complaint) in table {
        assert_eq!(complaints_about(path, messages).await, [complaint]);
    }
}

#[tokio::test]
async fn every_call_has_one_result_and_every_result_a_call() {
    let results = |blocks: Value| json!({"role": "user", "content": blocks});
    let text = json!({"type": "text", "text": "t"});
    let table = [
        (
            CHAT,
            json!([user("1"), chat_call(&["a", "b"]), chat_result("a"), user("2")]),
            "call `b` of messages[1] has 0 results in messages[2], not one",
        ),
        (CHAT, json!([user("1"), chat_call(&["a"])]), "call `a` of messages[1] has no result behind it"),
        (
            CHAT,
            json!([user("1"), chat_call(&["a"]), chat_result("a"), chat_result("a")]),
            "call `a` of messages[1] has 2 results in messages[2], not one",
        ),
        (
            CHAT,
            json!([user("1"), chat_call(&["a"]), chat_result("a"), chat_result("z")]),
            "messages[2] answers call `z`, which nobody made directly before",
        ),
        (
            ANTHROPIC,
            json!([user("1"), tool_use(&["a"]), user("2")]),
            "call `a` of messages[1] has 0 results in messages[2], not one",
        ),
        (
            ANTHROPIC,
            json!([results(json!([tool_result("z")]))]),
            "messages[0] answers call `z`, which nobody made directly before",
        ),
        (
            ANTHROPIC,
            json!([user("1"), tool_use(&["a"]), results(json!([text, tool_result("a")]))]),
            "messages[2] has tool results behind other blocks; results come first",
        ),
        (
            RESPONSES,
            json!([user("1"), call_item("a"), user("2")]),
            "call `a` of input[1] has 0 results in input[2], not one",
        ),
        (
            RESPONSES,
            json!([user("1"), call_item("a"), output_item("a"), output_item("z")]),
            "input[2] answers call `z`, which nobody made directly before",
        ),
    ];
    for (path, messages, complaint) in table {
        assert_eq!(complaints_about(path, messages).await, [complaint]);
    }
}

#[tokio::test]
async fn private_keys_stay_at_home() {
    let messages = json!([{"role": "user", "content": [{"type": "text", "text": "x", "_note": 1}], "_db_id": 7}]);
    assert_eq!(
        complaints_about(CHAT, messages).await,
        ["messages[0].content[0] has the private key `_note`", "messages[0] has the private key `_db_id`"]
    );
}

/// The conversation of a client whose messages are these, request after request.
async fn prefix_complaints(path: &str, requests: &[Value], allow: Option<&str>) -> Vec<String> {
    let server = ModelServer::start(vec![Move::say("ok"); requests.len()]).await;
    if let Some(cause) = allow {
        server.allow_prefix_break(cause);
    }
    for request in requests {
        post(&server.base_url(), path, request).await;
    }
    let short = |text: String| text.split_once("the one before: ").expect("about the prefix").1.to_owned();
    server.take_violations().into_iter().map(short).collect()
}

#[tokio::test]
async fn the_prefix_does_not_move() {
    let answer = json!({"role": "assistant", "content": "a"});
    let first = body(CHAT, json!([user("1")]));
    let second = body(CHAT, json!([user("1"), answer, user("2")]));
    let edited = body(CHAT, json!([user("1"), {"role": "assistant", "content": "A"}, user("2")]));
    let reordered = body(CHAT, json!([user("1"), {"content": "a", "role": "assistant"}, user("2")]));
    let other = body(CHAT, json!([user("another conversation")]));
    let none: [&str; 0] = [];

    let extended = [first.clone(), first.clone(), other, second.clone(), second.clone()];
    assert_eq!(prefix_complaints(CHAT, &extended, None).await, none);

    let moved = [second.clone(), edited.clone()];
    let complaint =
        r#"messages[1] changed at character 31: it was `…sistant","content":"a"}` and is `…sistant","content":"A"}`"#;
    assert_eq!(prefix_complaints(CHAT, &moved, None).await, [complaint]);
    assert_eq!(prefix_complaints(CHAT, &moved, Some("user edit")).await, none);
    let again = [second.clone(), edited, second.clone()];
    assert_eq!(prefix_complaints(CHAT, &again, Some("user edit")).await.len(), 1, "one allowance is one break");

    let order = prefix_complaints(CHAT, &[second.clone(), reordered], None).await;
    assert!(order[0].starts_with("messages[1] changed at character 2"), "{order:?}");
    let shrunk = prefix_complaints(CHAT, &[second, first], None).await;
    assert_eq!(shrunk, ["messages[1] of the request before is gone"]);
}

#[tokio::test]
async fn tools_and_system_are_part_of_the_prefix_and_cache_markers_are_not() {
    let marked = |text: &str| json!([{"type": "text", "text": text, "cache_control": {"type": "ephemeral"}}]);
    let request = |system: Value, tools: Value, content: Value| {
        json!({"model": "m", "stream": true, "system": system, "tools": tools,
            "messages": [{"role": "user", "content": content}]})
    };
    let plain = request(json!("s"), json!([{"name": "f"}]), json!("hi"));
    let marks = request(marked("s"), json!([{"name": "f", "cache_control": {"type": "ephemeral"}}]), marked("hi"));
    assert_eq!(prefix_complaints(ANTHROPIC, &[plain.clone(), marks, plain.clone()], None).await, [""; 0]);

    let other_system = request(json!("t"), json!([{"name": "f"}]), json!("hi"));
    let system = prefix_complaints(ANTHROPIC, &[plain.clone(), other_system], None).await;
    assert_eq!(system, [r#"system changed at character 1: it was `"s"` and is `"t"`"#]);
    let other_tools = request(json!("s"), json!([{"name": "g"}]), json!("hi"));
    let tools = prefix_complaints(ANTHROPIC, &[plain, other_tools], None).await;
    assert!(tools[0].starts_with("tools changed"), "{tools:?}");
    let instructions = ["a", "b"].map(|text| json!({"stream": true, "instructions": text, "input": [user("hi")]}));
    assert!(prefix_complaints(RESPONSES, &instructions, None).await[0].starts_with("instructions changed"));
}

#[tokio::test]
async fn marks_that_a_provider_would_refuse_are_refused_here() {
    let marked = |kind: &str, words: &str| json!({"type": kind, kind: words, "cache_control": {"type": "ephemeral"}});
    let table = [
        (ANTHROPIC, json!(vec![marked("text", "w"); 5]), "5 cache markers are more than 4"),
        (
            ANTHROPIC,
            json!([marked("thinking", "t")]),
            "messages[0].content[0] has a cache marker, and thinking cannot bear one",
        ),
        (CHAT, json!([marked("text", " ")]), "messages[0].content[0] has a cache marker on empty text"),
    ];
    for (path, content, complaint) in table {
        assert_eq!(complaints_about(path, json!([{"role": "user", "content": content}])).await, [complaint]);
    }
}

#[tokio::test]
async fn conversations_can_be_told_apart_by_a_key() {
    let server = ModelServer::start(vec![Move::say("ok"); 3]).await;
    server.key_conversations_by("session_id");
    let request = |session: &str, system: &str| {
        let messages = json!([{"role": "system", "content": system}, user("hi")]);
        json!({"model": "m", "stream": true, "session_id": session, "messages": messages})
    };
    for (session, system) in [("one", "s"), ("two", "t"), ("one", "changed")] {
        post(&server.base_url(), CHAT, &request(session, system)).await;
    }
    let violations = server.take_violations();
    assert!(violations.len() == 1 && violations[0].starts_with("request #3"), "{violations:?}");
}

#[tokio::test]
async fn each_host_sees_its_own_key_and_no_other() {
    let server = ModelServer::start(vec![Move::say("ok"); 6]).await;
    server.expect_key("sk-right");
    server.expect_key_at("other.localhost", "sk-other");
    server.forbid_keys_at("stranger.localhost");
    server.never_show("sk-other-secret");
    let port = server.root_url().rsplit(':').next().expect("a port").to_owned();
    let mut client = Client::connect(&server.base_url()).await;
    let mut ask = async |host: &str, headers: &[(&str, &str)]| {
        let host = format!("{host}:{port}");
        let headers = [&[("host", host.as_str())], headers].concat();
        client.send("POST", CHAT, &headers, &body(CHAT, json!([user("hi")])).to_string()).await;
        client.answer().await;
    };
    ask("127.0.0.1", &[("authorization", "Bearer sk-right")]).await;
    ask("other.localhost", &[("x-api-key", "sk-other")]).await;
    ask("stranger.localhost", &[]).await;
    assert_eq!(server.take_violations(), [""; 0]);
    ask("127.0.0.1", &[]).await;
    ask("other.localhost", &[("x-goog-api-key", "sk-right")]).await;
    ask("stranger.localhost", &[("authorization", "Bearer sk-other-secret")]).await;
    let complaint = |number: u32, host: &str, text: &str| format!("request #{number} POST {host}:{port}{CHAT}: {text}");
    assert_eq!(
        server.take_violations(),
        [
            complaint(4, "127.0.0.1", "no credential, but this host needs `sk-right`"),
            complaint(
                5,
                "other.localhost",
                "`x-goog-api-key` carries `sk-right`, but this host may only see `sk-other`"
            ),
            complaint(
                6,
                "stranger.localhost",
                "`authorization` carries `sk-other-sec…` (15 characters), but this host may see no credential"
            ),
            complaint(
                6,
                "stranger.localhost",
                "header `authorization` shows `sk-other-sec…` (15 characters), which must never come here"
            ),
        ]
    );
}

#[tokio::test]
async fn a_script_that_is_over_fails_loudly() {
    let server = ModelServer::start([]).await;
    let answer = post(&server.base_url(), CHAT, &body(CHAT, json!([user("hi")]))).await;
    assert_eq!((answer.status(), &answer.json()["error"]["type"]), (500, &json!("script_over")));
    assert_eq!(post(&server.base_url(), "/v1/completions", &json!({})).await.status(), 404);
    let address = server.root_url().replace("http://", "");
    assert_eq!(
        server.take_violations(),
        [
            format!("request #1 POST {address}{CHAT}: the script has only 0 moves and they are all played"),
            format!("request #2 POST {address}/v1/completions: no protocol has this path"),
        ]
    );
}

#[tokio::test]
#[should_panic(expected = "the model server saw 2 violations:")]
async fn the_end_of_the_test_reports_what_was_collected() {
    let server = ModelServer::start([Move::say("ok"), Move::say("never asked for")]).await;
    post(&server.base_url(), CHAT, &body(CHAT, json!([user("1"), user("2")]))).await;
    drop(server);
}

#[tokio::test]
#[should_panic(expected = "1 moves of the script were never asked for, 0 were")]
async fn a_move_nobody_asked_for_is_reported() {
    ModelServer::start(Move::say("never asked for")).await.finish();
}
