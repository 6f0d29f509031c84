//! The scripted server answers as the vendors do and misbehaves as told.

use crate::client::{Client, Ending, post};
use hermes_core::clock::Clock;
use hermes_testkit::{FakeClock, ModelServer, Move, gateway_entry, golden};
use hermes_types::{StopReason, Usage, Usd};
use serde_json::{Value, json};
use std::time::Duration;

const CHAT: &str = "/v1/chat/completions";
const RESPONSES: &str = "/v1/responses";
const ANTHROPIC: &str = "/v1/messages";
const ALL: [&str; 3] = [CHAT, RESPONSES, ANTHROPIC];

/// The smallest proper request of a protocol.
fn request(path: &str, text: &str) -> Value {
    let messages = json!([{"role": "user", "content": text}]);
    match path {
        RESPONSES => json!({"model": "m-1", "stream": true, "input": messages,
            "include": ["reasoning.encrypted_content"]}),
        CHAT => json!({"model": "m-1", "stream": true, "messages": messages,
            "stream_options": {"include_usage": true}}),
        _ => json!({"model": "m-1", "stream": true, "messages": messages, "max_tokens": 100}),
    }
}

fn full_answer() -> Move {
    let cost = Usd::from_f64(0.0125);
    Move::say("")
        .reasoning("Think first, สวัสดี.")
        .signature("proof")
        .hidden_reasoning("blob")
        .text("Let me look.")
        .call("read_file", json!({"path": "/tmp/notes.md", "limit": 10}))
        .call("list", json!({}))
        .usage(Usage {
            input: 100,
            output: 50,
            cache_read: 900,
            cache_write: 24,
            cache_write_1h: 0,
            reasoning: 30,
            cost,
        })
}

#[tokio::test]
async fn each_protocol_streams_as_its_vendor_does() {
    let file = |path: &str| path.trim_start_matches("/v1/").replace('/', "_");
    for path in ALL {
        let server = ModelServer::start([full_answer(), full_answer().whole()]).await;
        let streamed = post(&server.base_url(), path, &request(path, "hi")).await;
        assert_eq!((streamed.status(), streamed.ending), (200, Ending::Whole));
        golden(format!("tests/golden/{}.sse", file(path)), &streamed.text());
        let whole = post(&server.base_url(), path, &request(path, "hi")).await;
        let text = serde_json::to_string_pretty(&whole.json()).expect("JSON");
        golden(format!("tests/golden/{}.json", file(path)), &(text + "\n"));
        server.finish();
    }
}

#[tokio::test]
async fn usage_and_encrypted_reasoning_come_only_when_asked_for() {
    let server = ModelServer::start([full_answer(), Move::say("").reasoning("r")]).await;
    let mut plain = request(CHAT, "hi");
    plain["stream_options"] = Value::Null;
    assert!(!post(&server.base_url(), CHAT, &plain).await.text().contains("prompt_tokens"));
    let mut plain = request(RESPONSES, "hi");
    plain["include"] = json!([]);
    assert!(!post(&server.base_url(), RESPONSES, &plain).await.text().contains("encrypted_content"));
}

#[tokio::test]
async fn one_connection_serves_many_requests_and_each_event_travels_alone() {
    let server = ModelServer::start([Move::say("one two three").chunk(4), Move::status(429), Move::say("two")]).await;
    let mut client = Client::connect(&server.base_url()).await;
    let first = client.post(CHAT, &request(CHAT, "hi")).await;
    assert_eq!(first.chunks.len(), first.events().len());
    assert_eq!(client.post(CHAT, &request(CHAT, "hi")).await.status(), 429);
    assert_eq!(client.post(CHAT, &request(CHAT, "hi")).await.ending, Ending::Whole);
    assert_eq!(server.requests().iter().map(|request| request.number).collect::<Vec<_>>(), [1, 2, 3]);
}

#[tokio::test]
async fn an_error_status_has_the_vendors_body_or_the_scripts() {
    let script = [Move::status(529), Move::status(429).header("retry-after", "1").body(json!({"mine": 1}))];
    let server = ModelServer::start(script).await;
    let usual = post(&server.base_url(), ANTHROPIC, &request(ANTHROPIC, "hi")).await;
    let body = json!({"type": "error", "error": {"type": "overloaded_error", "message": "scripted status 529"}});
    assert_eq!((usual.status(), usual.json()), (529, body));
    let own = post(&server.base_url(), ANTHROPIC, &request(ANTHROPIC, "hi")).await;
    assert_eq!((own.status(), own.json()), (429, json!({"mine": 1})));
    assert!(own.head.contains("retry-after: 1\r\n"), "{}", own.head);
}

#[tokio::test]
async fn a_stream_breaks_where_the_script_says() {
    for path in ALL {
        let say = || Move::say("a b c d").chunk(2);
        let server = ModelServer::start([
            say(),
            say().cut_after(2),
            say().reset_after(1),
            say().reset(),
            say().malformed_after(1),
            say().fail_after(1, "overloaded_error", "too many"),
            say().duplicate_deltas(),
            Move::empty_stream(),
        ])
        .await;
        let ask = async || post(&server.base_url(), path, &request(path, "hi")).await;
        let good = ask().await.events();
        // The number of the answer shows in its ids; apart from that the events are the same.
        let like_good = |events: &[String]| -> bool {
            let plain = |event: &String| event.replace(|c: char| c.is_ascii_digit(), "");
            events.iter().map(plain).eq(good.iter().take(events.len()).map(plain))
        };

        let cut = ask().await;
        assert_eq!((cut.events().len(), cut.ending), (2, Ending::Cut));
        assert!(like_good(&cut.events()));
        let reset = ask().await;
        assert_eq!((reset.events().len(), reset.ending), (1, Ending::Reset));
        let reset = ask().await;
        assert_eq!((reset.head.as_str(), reset.ending), ("", Ending::Reset));

        let mut malformed = ask().await.events();
        assert!(serde_json::from_str::<Value>(&malformed.remove(1)).is_err());
        assert!(malformed.len() == good.len() && like_good(&malformed));
        let failed = ask().await;
        assert_eq!((failed.events().len(), failed.ending), (2, Ending::Whole));
        assert!(failed.events()[1].contains("overloaded_error"), "{:?}", failed.events());

        let mut twice = ask().await.events();
        assert_eq!(twice.len(), good.len() + 4, "four deltas, each once more");
        twice.dedup();
        assert!(like_good(&twice));
        let empty = ask().await;
        assert_eq!((empty.status(), empty.body.len(), empty.ending), (200, 0, Ending::Whole));
        server.finish();
    }
}

#[tokio::test]
async fn bytes_are_laid_out_as_told() {
    let server = ModelServer::start([
        Move::say("x").crlf().bom().no_last_blank_line(),
        Move::say("สวัสดี").shred(3),
        Move::raw(": hello\n\ndata: x"),
        Move::redirect("http://127.0.0.9/v1"),
    ])
    .await;
    let ask = async || post(&server.base_url(), CHAT, &request(CHAT, "hi")).await;
    let odd = ask().await.text();
    assert!(odd.starts_with("\u{feff}data: {") && odd.ends_with("\r\n\r\ndata: [DONE]\r\n"), "{odd}");
    assert!(ask().await.chunks.iter().all(|chunk| chunk.len() <= 3));
    assert_eq!(ask().await.text(), ": hello\n\ndata: x");
    let redirect = ask().await;
    assert_eq!((redirect.status(), redirect.body.len()), (307, 0));
    assert!(redirect.head.contains("location: http://127.0.0.9/v1\r\n"));
}

#[tokio::test]
async fn the_output_cap_cuts_a_call_in_each_protocols_way() {
    let expected =
        [(CHAT, r#""finish_reason":"length""#), (RESPONSES, r#""max_output_tokens""#), (ANTHROPIC, "max_tokens")];
    for (path, sign) in expected {
        let server =
            ModelServer::start(Move::say("").call("write", json!({"text": "12345678"})).length_in_call()).await;
        let text = post(&server.base_url(), path, &request(path, "hi")).await.text();
        assert!(text.contains(sign) && !text.contains("5678"), "{text}");
    }
}

#[tokio::test]
async fn a_stop_reason_is_told_in_the_words_of_the_protocol() {
    let expected = [(CHAT, "content_filter"), (RESPONSES, r#""reason":"content_filter""#), (ANTHROPIC, "refusal")];
    for (path, sign) in expected {
        let server = ModelServer::start(Move::say("no").stop(StopReason::ContentFilter)).await;
        let text = post(&server.base_url(), path, &request(path, "hi")).await.text();
        assert!(text.contains(sign), "{text}");
    }
}

/// The client waits for an answer under two limits, the way the program does.
async fn wait_under_limits(server: &ModelServer, clock: &FakeClock) -> &'static str {
    let give_up = clock.alarm(Duration::from_secs(1800));
    let mut client = Client::connect(&server.base_url()).await;
    client.send("POST", CHAT, &[], &request(CHAT, "hi").to_string()).await;
    let stale = clock.alarm(Duration::from_secs(180));
    tokio::select! {
        biased;
        () = give_up => "gave up",
        () = stale => "stale",
        _ = client.answer() => "answered",
    }
}

#[tokio::test]
async fn a_stall_lets_virtual_time_pass_until_the_first_limit() {
    let clock = FakeClock::new();
    let server = ModelServer::start([Move::stall(), Move::say("a").stall_after(1), Move::silence()]).await;
    server.attach_clock(&clock);
    for round in 1..=3 {
        assert_eq!(wait_under_limits(&server, &clock).await, "stale");
        assert_eq!(clock.elapsed(), Duration::from_secs(180 * round));
    }
}

#[tokio::test]
async fn a_delay_is_virtual_too() {
    let clock = FakeClock::new();
    let script =
        [Move::say("in time").delay(Duration::from_secs(100)), Move::say("late").delay(Duration::from_secs(200))];
    let server = ModelServer::start(script).await;
    server.attach_clock(&clock);
    assert_eq!(wait_under_limits(&server, &clock).await, "answered");
    assert_eq!(wait_under_limits(&server, &clock).await, "stale");
    assert_eq!(clock.elapsed(), Duration::from_secs(100 + 180), "time stops when the client leaves");
}

#[tokio::test]
async fn without_a_clock_a_stall_lasts_until_the_client_leaves() {
    let server = ModelServer::start(Move::stall()).await;
    let mut client = Client::connect(&server.base_url()).await;
    client.send("POST", CHAT, &[], &request(CHAT, "hi").to_string()).await;
    let answer = tokio::time::timeout(Duration::from_millis(300), client.answer()).await;
    assert!(answer.is_err(), "nothing comes: {answer:?}");
    drop(client);
    server.finish();
}

#[tokio::test]
async fn catalogues_are_listed_and_refused() {
    let server = ModelServer::start_on("127.0.0.2", []).await;
    assert!(server.base_url().starts_with("http://127.0.0.2:"), "{}", server.base_url());
    server.list_models([gateway_entry("a/b", "language", &["tool-use"])]);
    let get = async |path: &str| {
        let mut client = Client::connect(&server.base_url()).await;
        client.send("GET", path, &[("host", "gateway.localhost:1")], "").await;
        client.answer().await
    };
    let listed = get("/v1/models").await.json();
    assert_eq!((&listed["data"][0]["id"], &listed["data"][0]["tags"]), (&json!("a/b"), &json!(["tool-use"])));
    assert_eq!(get("/api/tags").await.json()["models"][0]["name"], "a/b");
    server.refuse_models(503);
    assert_eq!(get("/v1/models").await.status(), 503);
    assert_eq!(get("/props").await.status(), 404);
    assert_eq!(server.requests()[0].host_name(), "gateway.localhost");
}
