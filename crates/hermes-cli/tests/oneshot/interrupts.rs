//! A person or a reader who has had enough.

use super::*;
use hermes_testkit::{Move, jwt};
use serde_json::json;
use std::process::Stdio;
use std::time::Duration;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpListener;

const SOON: Duration = Duration::from_millis(500);

#[tokio::test]
async fn a_signal_ends_the_turn_within_half_a_second_and_a_pipe_gets_no_half_answer() {
    for (name, script) in [
        ("-INT", Move::say("some words that will not be all").chunk(3).stall_after(4)),
        ("-TERM", Move::silence()),
        ("-INT", Move::status(429).header("retry-after", "60")),
    ] {
        let server = ModelServer::start(script).await;
        let world = home_at(&server);
        let child = world.command(HERMES, &["-z", "hi"]).spawn().expect("started");
        until_asked(&server).await;
        signal(&child, name).await;
        let (ran, took) = end(child).await;
        assert_eq!(told(&ran), (Some(130), "", "hermes -z: interrupted\n"));
        assert!(took < SOON, "{took:?}");
        server.finish();
    }
}

#[tokio::test]
async fn a_signal_ends_the_wait_for_standard_input_too() {
    let world = nowhere();
    let mut child = world.command(HERMES, &["-z", "hi"]).stdin(Stdio::piped()).spawn().expect("started");
    let _held_open = child.stdin.take();
    let mut lines = BufReader::new(child.stderr.take().expect("a pipe")).lines();
    let reminder = lines.next_line().await.expect("readable").expect("a line");
    assert_eq!(reminder, "… reading standard input; add `</dev/null` if there is none");
    signal(&child, "-INT").await;
    let (ran, took) = end(child).await;
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(130), ""));
    assert_eq!(lines.next_line().await.expect("readable").as_deref(), Some("hermes -z: interrupted"));
    assert!(took < SOON, "{took:?}");
}

#[tokio::test]
async fn a_reader_that_leaves_is_no_failure_and_costs_no_more_tokens() {
    let endless = "word ".repeat(20_000);
    let server = ModelServer::start([Move::say("an answer"), Move::say(&endless).chunk(5)]).await;
    let world = home_at(&server);
    let early = shell(&world, "{ $0 -z hi; echo code $? >&2; } | true").await;
    assert_eq!(told(&early), (Some(0), "", "code 0\n"));
    let events = shell(&world, "{ $0 -z hi --output-format stream-json; echo code $? >&2; } | head -n 3").await;
    assert!(events.stdout.starts_with(r#"{"type":"started""#), "{}", events.stdout);
    assert_eq!((events.stdout.lines().count(), events.stderr.as_str()), (3, "code 130\n"));
    server.finish();
}

#[tokio::test]
async fn a_full_disk_is_told() {
    let server = ModelServer::start([Move::say("an answer"), Move::say("an answer")]).await;
    let world = home_at(&server);
    for format in ["text", "json"] {
        let ran = shell(&world, &format!("$0 -z hi --output-format {format} >/dev/full")).await;
        assert_eq!(told(&ran), (Some(1), "", "hermes -z: the answer could not be written: no storage space\n"));
    }
    server.finish();
}

/// A login server that takes its time with the only request it gets.
async fn slow_login_server(answer: String, asked: tokio::sync::oneshot::Sender<()>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = format!("http://{}", listener.local_addr().expect("an address"));
    tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.expect("a caller");
        let mut request = [0; 4096];
        let read = stream.read(&mut request).await.expect("a request");
        assert!(read > 0);
        asked.send(()).expect("somebody waits");
        tokio::time::sleep(Duration::from_millis(400)).await;
        let head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close";
        let whole = format!("{head}\r\ncontent-length: {}\r\n\r\n{answer}", answer.len());
        stream.write_all(whole.as_bytes()).await.expect("answered");
    });
    address
}

/// Ctrl-C while a login is being renewed: the old refresh token is spent, so the new one must be on disk at the end.
#[tokio::test]
async fn an_interrupt_does_not_cost_the_login() {
    let token = |name: &str, end: u64| jwt(&json!({"jti": name, "exp": end, "scope": "inference:invoke"}));
    let answer = json!({"access_token": token("new", 4_000_000_000), "refresh_token": "refresh-2", "expires_in": 900});
    let (asked, was_asked) = tokio::sync::oneshot::channel();
    let portal = slow_login_server(answer.to_string(), asked).await;
    let world = nowhere()
        .env("HERMES_PORTAL_BASE_URL", &portal)
        .env("NOUS_INFERENCE_BASE_URL", "http://127.0.0.1:9/v1")
        .config("model:\n  provider: nous\n  default: hermes-4\n")
        .auth(&json!({"version": 1, "providers": {"nous": {
            "access_token": token("old", 1_000), "refresh_token": "refresh-1", "portal_base_url": portal}}}));
    let child = world.command(HERMES, &["-z", "hi"]).spawn().expect("started");
    was_asked.await.expect("the login server was asked");
    signal(&child, "-INT").await;
    let (ran, _) = end(child).await;
    assert_eq!(told(&ran), (Some(130), "", "hermes -z: interrupted\n"));
    let store = std::fs::read_to_string(world.hermes_home().join("auth.json")).expect("a store");
    assert!(store.contains("refresh-2") && !store.contains("refresh-1"), "the new login is on disk");
}
