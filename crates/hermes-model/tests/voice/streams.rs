//! Answers as they stream in, and what becomes of them in the next request (promise P2).
//!
//! The scripted server checks every request for alternation, pairs and an unmoved prefix, so each conversation here is
//! also a test of replay.

use crate::stage::{KEY, Rerouted, Stage, after, question};
use hermes_core::prefix;
use hermes_model::wire::ApiMode;
use hermes_testkit::{ModelServer, Move};
use hermes_types::{Answered, Exchange, Reply, Request, SessionId, StopReason};
use serde_json::json;
use std::time::Duration;

/// Thought, words and three calls: fragments in the middle of characters' neighbours, an empty object, no arguments.
fn full_answer() -> Move {
    Move::say("")
        .reasoning("Look outside: 上海 first, then สวัสดี.")
        .text("Let me look — 🌦 one moment.")
        .call("weather", json!({"city": "上海 \"浦东\" \\ 🌦", "days": [1, 2, {"deep": null}]}))
        .id("call_a")
        .call("clock", json!({}))
        .id("call_b")
        .call_raw("clock", "")
        .id("call_c")
        .chunk(3)
}

fn calls(reply: &Reply) -> Vec<(String, String, serde_json::Value)> {
    let of = |call: &hermes_types::ToolCall| {
        let arguments = call.function.arguments.parse().expect("whole arguments");
        (call.pairing_id().to_string(), call.function.name.clone(), serde_json::Value::Object(arguments))
    };
    reply.tool_calls().iter().map(of).collect()
}

#[tokio::test]
async fn every_protocol_streams_in_order_and_replays_without_moving_the_prefix() {
    for mode in ApiMode::ALL {
        let server = ModelServer::start([
            full_answer(),
            Move::say("").reasoning("Now say it.").text("It rains."),
            Move::say("").text("Again?").call("clock", json!({})),
            Move::say("Noon."),
        ])
        .await;
        server.expect_key(KEY);
        let mut conversation = Stage::at(&server, mode).conversation().await;
        let first = question("What is the weather?");

        let told = conversation.ask(first.clone()).await;
        let seen = [
            "reasoning: Look outside: 上海 first, then สวัสดี.",
            "text: Let me look — 🌦 one moment.",
            "call: weather",
            "call: clock",
            "call: clock",
        ];
        assert_eq!(told.shown(), seen, "{mode}");
        assert_eq!(told.steps(), Vec::<String>::new(), "{mode}");
        let reply = told.reply();
        let made = [
            ("call_a", "weather", json!({"city": "上海 \"浦东\" \\ 🌦", "days": [1, 2, {"deep": null}]})),
            ("call_b", "clock", json!({})),
            ("call_c", "clock", json!({})),
        ]
        .map(|(id, name, arguments)| (id.to_owned(), name.to_owned(), arguments));
        assert_eq!(calls(&reply), made, "{mode}");
        assert_eq!(
            (reply.text().as_str(), reply.stop_reason(), reply.dropped.len(), reply.cut_off),
            ("Let me look — 🌦 one moment.", StopReason::ToolCalls, 0, false),
            "{mode}"
        );
        assert_eq!(reply.message.reasoning.as_deref(), Some("Look outside: 上海 first, then สวัสดี."), "{mode}");

        let second = after(first, &reply, None);
        let reply = conversation.ask(second.clone()).await.reply();
        assert_eq!((reply.text().as_str(), reply.stop_reason()), ("It rains.", StopReason::Stop), "{mode}");
        let third = after(second, &reply, Some("And the time?"));
        let reply = conversation.ask(third.clone()).await.reply();
        let last = conversation.ask(after(third, &reply, None)).await.reply();
        assert_eq!(last.text(), "Noon.", "{mode}");
        server.finish();
    }
}

#[tokio::test]
async fn what_is_recorded_is_what_the_server_got_and_no_secret() {
    for mode in ApiMode::ALL {
        let busy = Move::status(503);
        let server = ModelServer::start([full_answer(), busy, Move::say("It rains.")]).await;
        let mut conversation = Stage::at(&server, mode).conversation().await;
        let first = Request { session: Some(SessionId::new("s")), ..question("What is the weather?") };
        let mut told = conversation.ask(first.clone()).await;
        let reply = told.reply();
        let mut recorded: Vec<Exchange> = std::mem::take(&mut told.recorded);
        recorded.extend(conversation.ask(after(first, &reply, None)).await.recorded);

        let received = server.model_requests();
        let sent: Vec<&[u8]> = recorded.iter().map(|exchange| &exchange.sent.body[..]).collect();
        assert_eq!(sent, received.iter().map(|request| &request.raw[..]).collect::<Vec<_>>(), "{mode}");
        assert!(sent.windows(2).all(|pair| prefix::extends(pair[0], pair[1])), "{mode}");
        let ends: Vec<&str> = recorded
            .iter()
            .map(|exchange| match &exchange.answer {
                Answered::Reply(_) => "reply",
                Answered::Fault(_) => "fault",
                Answered::Dropped => "dropped",
            })
            .collect();
        assert_eq!(ends, ["reply", "fault", "reply"], "{mode}");
        assert_eq!(recorded[0].answer, Answered::Reply(Box::new(reply)), "{mode}");
        let of = |exchange: &Exchange| (exchange.sent.mode.clone(), exchange.sent.url.clone(), exchange.model.clone());
        let url = format!("{}{}", server.root_url(), received[0].path);
        assert_eq!(of(&recorded[0]), (mode.to_string(), url, "stage-model".to_owned()));
        assert!(!format!("{recorded:?}").contains(KEY), "{mode}");
        server.finish();
    }
}

/// The reply as JSON, without what differs between two servers.
fn told_alike(reply: &Reply, server: &ModelServer) -> String {
    let json = serde_json::to_string_pretty(reply).expect("JSON");
    json.replace(&server.root_url(), "http://stage")
}

#[tokio::test]
async fn the_layout_of_bytes_changes_nothing() {
    type Layout = (&'static str, fn(Move) -> Move);
    let layouts: [Layout; 8] = [
        ("CRLF", Move::crlf),
        ("byte-order mark", Move::bom),
        ("byte by byte", |play| play.shred(1)),
        ("seven bytes at a time", |play| play.shred(7)),
        ("no last blank line", Move::no_last_blank_line),
        ("everything at once", |play| play.crlf().bom().shred(5).no_last_blank_line()),
        ("one character per delta", |play| play.chunk(1)),
        ("not streamed at all", Move::whole),
    ];
    for mode in ApiMode::ALL {
        let plain = ModelServer::start(full_answer()).await;
        let expected = told_alike(&Stage::at(&plain, mode).ask(question("hi")).await.reply(), &plain);
        for (name, layout) in layouts {
            let server = ModelServer::start(layout(full_answer())).await;
            let told = Stage::at(&server, mode).ask(question("hi")).await;
            assert_eq!(told_alike(&told.reply(), &server), expected, "{mode}, {name}");
            assert_eq!(told.steps(), Vec::<String>::new(), "{mode}, {name}");
        }
    }
}

#[tokio::test]
async fn a_server_that_never_hangs_up_is_left_at_its_end_mark() {
    for mode in ApiMode::ALL {
        // No clock is attached: without the end mark this would take the server's whole real patience.
        let server = ModelServer::start(Move::say("All said.").stall_after(usize::MAX)).await;
        let told = Stage::at(&server, mode).ask(question("hi")).await;
        assert_eq!((told.reply().text().as_str(), told.reply().cut_off), ("All said.", false), "{mode}");
        assert!(told.real_time < Duration::from_secs(2), "{mode} took {:?}", told.real_time);
        server.finish();
    }
}

#[tokio::test]
async fn signed_thinking_goes_back_from_every_turn_and_nothing_moves() {
    let server = ModelServer::start([
        Move::say("").reasoning("First thought.").signature("sig-1").call("clock", json!({})).id("toolu_1"),
        Move::say("").reasoning("Second thought.").signature("sig-2").call("clock", json!({})).id("toolu_2"),
        Move::say("Done."),
    ])
    .await;
    let reroute = Rerouted::new("api.anthropic.com", &server);
    let stage = Stage::new(json!({"model": {"provider": "anthropic", "default": "claude-sonnet-4-6"}}))
        .env("ANTHROPIC_API_KEY", "sk-ant-api-stage")
        .transport(reroute);
    let mut conversation = stage.conversation().await;
    let mut request = question("What time is it?");
    for _ in 0..2 {
        let reply = conversation.ask(request.clone()).await.reply();
        request = after(request, &reply, None);
    }
    assert_eq!(conversation.ask(request).await.reply().text(), "Done.");

    let thoughts: Vec<Vec<String>> = server.model_requests().iter().map(|request| signatures(request.json())).collect();
    assert_eq!(thoughts, [vec![], vec!["sig-1".to_owned()], vec!["sig-1".to_owned(), "sig-2".to_owned()]]);
    server.finish();
}

fn signatures(body: &serde_json::Value) -> Vec<String> {
    let messages = body["messages"].as_array().into_iter().flatten();
    let blocks = messages.flat_map(|message| message["content"].as_array().into_iter().flatten());
    blocks.filter_map(|block| Some(block["signature"].as_str()?.to_owned())).collect()
}

/// Vendors that want all reasoning back get all of it, and then nothing ever moves.
#[tokio::test]
async fn reasoning_that_is_wanted_back_stays_for_good() {
    let script = || {
        [
            Move::say("").reasoning("First.").signature("sig-1").text("One.").call("clock", json!({})),
            Move::say("").reasoning("Second.").signature("sig-2").text("Two.").call("clock", json!({})),
            Move::say("Three."),
        ]
    };
    let kimi = ModelServer::start(script()).await;
    let mut at_kimi = crate::stage::only(&kimi.base_url(), ApiMode::AnthropicMessages);
    at_kimi["model"]["default"] = json!("kimi-k2.5");
    let router = ModelServer::start(script()).await;
    let at_router = json!({"model": {"provider": "openrouter", "default": "anthropic/claude-sonnet-4.6"}});
    let at_router =
        Stage::new(at_router).env("OPENROUTER_BASE_URL", &router.base_url()).env("OPENROUTER_API_KEY", "sk-or-stage-1");
    for (stage, server) in [(Stage::new(at_kimi), kimi), (at_router, router)] {
        let mut conversation = stage.conversation().await;
        let mut request = question("Count.");
        for _ in 0..2 {
            let reply = conversation.ask(request.clone()).await.reply();
            request = after(request, &reply, None);
        }
        conversation.ask(request).await.reply();
        let last = server.model_requests().pop().expect("a request").json().to_string();
        assert!(last.contains("sig-1") && last.contains("sig-2"), "{last}");
        server.finish();
    }
}

/// Reasoning in the vendor's own encryption goes back to the endpoint that wrote it, and to no other.
#[tokio::test]
async fn encrypted_reasoning_goes_back_to_its_author_alone() {
    let author = ModelServer::start([
        Move::say("").hidden_reasoning("blob-of-the-author").text("One.").call("clock", json!({})),
        Move::say("Two."),
    ])
    .await;
    let other = ModelServer::start(Move::say("Elsewhere.")).await;
    other.never_show("blob-of-the-author");
    let first = question("Count.");
    let reply = Stage::at(&author, ApiMode::CodexResponses).ask(first.clone()).await.reply();
    let next: Request = after(first, &reply, None);
    Stage::at(&author, ApiMode::CodexResponses).ask(next.clone()).await.reply();
    assert_eq!(author.model_requests()[1].json()["input"][1]["encrypted_content"], "blob-of-the-author");
    Stage::at(&other, ApiMode::CodexResponses).ask(next).await.reply();
}
