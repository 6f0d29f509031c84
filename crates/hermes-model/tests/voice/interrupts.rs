//! A stop ends every wait within half a second, wherever the call is. On the machine's own clock.

use crate::stage::{Stage, Told, only, question};
use hermes_core::stop::Stop;
use hermes_model::wire::ApiMode;
use hermes_testkit::{ModelServer, Move, START, jwt};
use hermes_types::{Event, FaultKind};
use serde_json::json;
use std::time::{Duration, Instant};
use tokio::net::{TcpListener, TcpSocket, TcpStream};

/// How long a person waits after Ctrl-C.
const AT_ONCE: Duration = Duration::from_millis(500);
/// By now every call below is deep in its wait.
const DEEP_IN: Duration = Duration::from_millis(300);

/// Asks, stops in the middle, and returns what was told and how long the end took.
async fn interrupted(stage: &Stage) -> (Told, Duration) {
    let (stop, mut conversation) = (Stop::new(), stage.conversation().await.live());
    let stopping = async {
        tokio::time::sleep(DEEP_IN).await;
        stop.stop();
        Instant::now()
    };
    let (told, stopped) = tokio::join!(conversation.ask_until(question("hi"), &stop), stopping);
    let ended = told.real_time.saturating_sub(DEEP_IN);
    assert!(told.real_time >= DEEP_IN, "the call was over before anybody stopped it: {}", told.outcome());
    assert!(stopped.elapsed() < AT_ONCE + DEEP_IN);
    (told, ended)
}

#[track_caller]
fn ended_at_once((told, took): (Told, Duration), place: &str) -> Told {
    assert_eq!(told.fault().kind, FaultKind::Interrupted, "{place}");
    assert!(took < AT_ONCE, "{place}: the end took {took:?}");
    told
}

/// A port whose queue is full: connecting to it takes for ever.
async fn crowded() -> (TcpListener, Vec<TcpStream>) {
    let socket = TcpSocket::new_v4().expect("a socket");
    socket.bind("127.0.0.1:0".parse().unwrap()).expect("a port");
    let listener = socket.listen(1).expect("a queue");
    let address = listener.local_addr().expect("an address");
    let mut waiting = Vec::new();
    while let Ok(stream) = tokio::time::timeout(Duration::from_millis(200), TcpStream::connect(address)).await {
        waiting.push(stream.expect("a place in the queue"));
        assert!(waiting.len() < 64, "the queue has no end");
    }
    (listener, waiting)
}

#[tokio::test]
async fn while_connecting() {
    let (listener, _waiting) = crowded().await;
    let url = format!("http://{}/v1", listener.local_addr().unwrap());
    let stage = Stage::new(only(&url, ApiMode::ChatCompletions)).real_time();
    ended_at_once(interrupted(&stage).await, "connect");
}

#[tokio::test]
async fn while_waiting_for_the_head_and_in_the_stream() {
    for mode in ApiMode::ALL {
        let server = ModelServer::start(Move::silence()).await;
        ended_at_once(interrupted(&Stage::at(&server, mode).real_time()).await, "head");
        server.finish(); // and the server saw the client hang up

        let server = ModelServer::start(Move::say("Half an answer").chunk(4).stall_after(6)).await;
        let told = ended_at_once(interrupted(&Stage::at(&server, mode).real_time()).await, "stream");
        assert!(told.events.iter().any(|event| matches!(event, Event::Text { .. })), "{mode}: it had begun");
        server.finish();
    }
}

#[tokio::test]
async fn in_the_pause_before_a_retry() {
    let server = ModelServer::start(Move::status(429).header("retry-after", "25")).await;
    let stage = Stage::at(&server, ApiMode::ChatCompletions).real_time();
    let told = ended_at_once(interrupted(&stage).await, "pause");
    assert_eq!(told.steps(), ["retry after RateLimit"]);
}

/// A login server that accepts and says nothing.
#[tokio::test]
async fn while_a_login_is_renewed() {
    let mute = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let root = format!("http://{}", mute.local_addr().unwrap());
    let holding = tokio::spawn(async move {
        let mut held = Vec::new();
        loop {
            held.push(mute.accept().await.expect("a connection"));
        }
    });
    let stage = |server: &ModelServer, exp: u64| {
        let access = jwt(&json!({"exp": exp}));
        Stage::new(json!({"model": {"provider": "openai-codex", "default": "gpt-5.4"}}))
            .env("HERMES_CODEX_BASE_URL", &server.base_url())
            .auth(&json!({"providers": {"openai-codex": {"tokens": {"access_token": access, "refresh_token": "r-1"}}}}))
            .logins_at(&root)
            .real_time()
    };
    // Refused in the middle of a call.
    let server = ModelServer::start(Move::status(401)).await;
    ended_at_once(interrupted(&stage(&server, START + 400_000_000)).await, "refresh");
    server.finish();
    // Expired before the call began.
    let server = ModelServer::start(Vec::new()).await;
    ended_at_once(interrupted(&stage(&server, START)).await, "preflight");
    server.finish();
    holding.abort();
}
