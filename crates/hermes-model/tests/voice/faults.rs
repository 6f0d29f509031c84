//! The fault matrix (promise P6): every way a provider fails, in every protocol, gets its class and its next step, in
//! bounded time.
//!
//! Each row is played twice per protocol: as a fault that lasts, to see the class, the steps and the time; and as one
//! that passes, to see that a step which makes sense leads to the answer.

use crate::stage::{RETRIES, STALE, Stage, Told, only, question};
use futures_util::StreamExt;
use hermes_core::clock::Clock;
use hermes_model::wire::ApiMode;
use hermes_testkit::{FakeClock, ModelServer, Move};
use hermes_types::{Concession, Event, Fault, FaultKind as K, Notice, Reply, StopReason};
use serde_json::json;
use std::ops::RangeInclusive;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

/// No row takes longer in real time, however much time passes in it.
const PATIENCE: Duration = Duration::from_secs(2);
/// A row that takes this long is given up, so that the rest of the matrix can still be read.
const HUNG: Duration = Duration::from_secs(8);
/// Rows played at a time: each has servers, clocks and homes of its own.
const AT_ONCE: usize = 8;

struct Row {
    name: &'static str,
    play: fn(ApiMode) -> Move,
    /// For chat completions, responses and messages, in this order.
    expected: [(K, Next); 3],
    /// Virtual time that passes within one attempt.
    silence: Duration,
    /// Requests per attempt.
    requests: usize,
}

/// What is done about a fault when there is one provider and one key.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Next {
    GivesUp,
    /// Again, almost at once at first.
    Quickly,
    /// Again, with pauses that give a loaded server room.
    Steadily,
    /// Again after as many seconds as the provider asked for.
    Waits(u64),
    Concedes(Concession),
}

fn row(name: &'static str, play: fn(ApiMode) -> Move, kind: K, next: Next) -> Row {
    Row { name, play, expected: [(kind, next); 3], silence: Duration::ZERO, requests: 1 }
}

fn by_mode(name: &'static str, play: fn(ApiMode) -> Move, expected: [(K, Next); 3]) -> Row {
    Row { expected, ..row(name, play, K::Unknown, Next::GivesUp) }
}

fn silent(name: &'static str, play: fn(ApiMode) -> Move) -> Row {
    Row { silence: STALE, ..row(name, play, K::Stalled, Next::Quickly) }
}

fn half() -> Move {
    Move::say("Half an answer that goes on for a while.").chunk(4)
}

fn told(status: u16, code: &str, message: &str) -> Move {
    let error = json!({"message": message, "type": code, "code": code, "param": null});
    Move::status(status).body(json!({"type": "error", "error": error}))
}

fn blamed(param: &str) -> Move {
    let error = json!({"message": format!("Unsupported parameter: '{param}'."), "param": param, "code": "unsupported"});
    Move::status(400).body(json!({"error": error}))
}

fn page(status: u16) -> Move {
    Move::status(status).header("content-type", "text/html").body("<html><body><h1>Sign in</h1></body></html>")
}

fn own_path(mode: ApiMode) -> &'static str {
    match mode {
        ApiMode::ChatCompletions => "/v1/chat/completions",
        ApiMode::CodexResponses => "/v1/responses",
        ApiMode::AnthropicMessages => "/v1/messages",
    }
}

#[rustfmt::skip] // one row, one line
fn matrix() -> Vec<Row> {
    use Next::{Concedes, GivesUp, Quickly, Steadily, Waits};
    vec![
        row("200 with an error object", |_| told(200, "server_error", "boom"), K::ServerError, Quickly),
        row("200 with an empty object", |_| Move::status(200).body("{}"), K::EmptyStream, Quickly),
        row("200 with nothing", |_| Move::status(200).body(""), K::EmptyStream, Quickly),
        row("200 with half an object", |_| Move::status(200).body("{\"choices\": [{"), K::Malformed, Quickly),
        row("301", |_| Move::status(301).header("location", "https://elsewhere.test/v1").body(""), K::BadRequest, GivesUp),
        row("303 to nowhere", |_| Move::status(303).body(""), K::BadRequest, GivesUp),
        row("400", |_| Move::status(400), K::BadRequest, GivesUp),
        row("400 prompt too long", |_| told(400, "context_length_exceeded", "too many tokens"), K::ContextOverflow, GivesUp),
        row("400 prompt too long, in words", |_| told(400, "invalid_request_error", "prompt is too long: 250000 tokens > 200000 maximum"), K::ContextOverflow, GivesUp),
        row("400 no such model", |_| told(400, "invalid_request_error", "The model `x` does not exist"), K::ModelNotFound, GivesUp),
        row("400 content policy", |_| told(400, "content_policy_violation", "no"), K::ContentBlocked, GivesUp),
        row("400 no credit", |_| told(400, "invalid_request_error", "Your credit balance is too low"), K::Billing, GivesUp),
        row("400 bad key", |_| told(400, "invalid_request_error", "API key not valid"), K::Auth, GivesUp),
        row("400 temperature", |_| blamed("temperature"), K::Refused(Concession::Temperature), Concedes(Concession::Temperature)),
        row("400 stream_options", |_| blamed("stream_options"), K::Refused(Concession::StreamOptions), Concedes(Concession::StreamOptions)),
        row("400 cache_control", |_| blamed("messages.0.content.0.cache_control"), K::Refused(Concession::CacheHints), Concedes(Concession::CacheHints)),
        row("400 reasoning", |_| blamed("reasoning.effort"), K::Refused(Concession::ReasoningEffort), Concedes(Concession::ReasoningEffort)),
        row("400 schema", |_| told(400, "invalid_request_error", "Failed to parse grammar"), K::Refused(Concession::SchemaPatterns), Concedes(Concession::SchemaPatterns)),
        row("401", |_| Move::status(401), K::Auth, GivesUp),
        row("401 without a body", |_| Move::status(401).body(""), K::Auth, GivesUp),
        row("401 dead login", |_| told(401, "token_revoked", "revoked"), K::AuthPermanent, GivesUp),
        row("402", |_| Move::status(402), K::Billing, GivesUp),
        row("403", |_| Move::status(403), K::Entitlement, GivesUp),
        row("403 bad key", |_| told(403, "forbidden", "Invalid API key"), K::Auth, GivesUp),
        row("404 model", |_| Move::status(404), K::ModelNotFound, GivesUp),
        row("404 nothing there", |_| Move::status(404).body("404 page not found"), K::Unknown, Quickly),
        row("408", |_| Move::status(408), K::Timeout, Quickly),
        row("413", |_| Move::status(413), K::PayloadTooLarge, GivesUp),
        row("422", |_| Move::status(422), K::BadRequest, GivesUp),
        row("429", |_| Move::status(429), K::RateLimit, Steadily),
        row("429 retry-after", |_| Move::status(429).header("retry-after", "7"), K::RateLimit, Waits(7)),
        row("429 retry-after ten minutes", |_| Move::status(429).header("retry-after", "600"), K::RateLimit, Waits(600)),
        row("429 retry-after for ever", |_| Move::status(429).header("retry-after", "99999999"), K::RateLimit, GivesUp),
        row("429 quota", |_| told(429, "insufficient_quota", "exceeded your current quota"), K::Billing, GivesUp),
        row("500", |_| Move::status(500), K::ServerError, Quickly),
        row("500 without a body", |_| Move::status(500).body(""), K::ServerError, Quickly),
        row("502", |_| Move::status(502), K::ServerError, Quickly),
        row("502 page of a proxy", |_| page(502), K::ServerError, Quickly),
        row("503", |_| Move::status(503), K::Overloaded, Steadily),
        row("503 retry-after", |_| Move::status(503).header("retry-after", "9"), K::Overloaded, Waits(9)),
        row("504", |_| Move::status(504), K::Timeout, Quickly),
        row("529", |_| Move::status(529), K::Overloaded, Steadily),
        row("reset before the head", |_| half().reset(), K::Timeout, Quickly),
        row("reset behind the head", |_| half().reset_after(0), K::Timeout, Quickly),
        row("reset in the stream", |_| half().reset_after(6), K::Timeout, Quickly),
        row("cut before the first word", |_| half().cut_after(1), K::Timeout, Quickly),
        row("cut in the stream", |_| half().cut_after(6), K::Timeout, Quickly),
        silent("silence before the head", |_| Move::silence()),
        silent("silence behind the head", |_| Move::stall()),
        silent("silence in the stream", |_| half().stall_after(6)),
        row("empty stream", |_| Move::empty_stream(), K::EmptyStream, Quickly),
        row("empty stream of comments", |_| Move::raw(": ping\n\n: ping\n\n"), K::EmptyStream, Quickly),
        row("page with 200", |_| page(200), K::BadRequest, GivesUp),
        by_mode("stream of nonsense", |_| Move::raw("data: {\"half\": \n\n"), [(K::Malformed, Quickly); 3]),
        row("server error in the stream", |_| half().fail_after(6, "server_error", "boom"), K::ServerError, Quickly),
        row("overload in the stream", |_| half().fail_after(6, "overloaded_error", "full"), K::Overloaded, Steadily),
        row("rate limit in the stream", |_| half().fail_after(6, "rate_limit_exceeded", "slow"), K::RateLimit, Steadily),
        row("quota in the stream", |_| half().fail_after(6, "insufficient_quota", "empty"), K::Billing, GivesUp),
        row("overflow in the stream", |_| half().fail_after(6, "context_length_exceeded", "long"), K::ContextOverflow, GivesUp),
        Row { requests: 4, ..row("redirects in circles", |mode| Move::redirect(own_path(mode)), K::BadRequest, GivesUp) },
    ]
}

impl Next {
    /// Attempts until the fault is reported.
    fn attempts(self) -> usize {
        match self {
            Self::GivesUp => 1,
            Self::Concedes(_) => 2,
            Self::Quickly | Self::Steadily | Self::Waits(_) => RETRIES as usize + 1,
        }
    }

    fn steps(self, kind: K) -> Vec<String> {
        match self {
            Self::GivesUp => Vec::new(),
            Self::Concedes(concession) => vec![format!("concede {concession:?}")],
            _ => vec![format!("retry after {kind:?}"); RETRIES as usize],
        }
    }

    /// How long the n-th pause may be.
    fn pause(self, n: u32) -> RangeInclusive<Duration> {
        let ours = |first: u64, factor: u64| {
            let pause = Duration::from_millis(first * factor.pow(n));
            pause..=pause * 3 / 2
        };
        match self {
            Self::Quickly => ours(250, 4),
            Self::Steadily => ours(2000, 2),
            Self::Waits(seconds) => Duration::from_secs(seconds)..=Duration::from_secs(seconds),
            Self::GivesUp | Self::Concedes(_) => Duration::ZERO..=Duration::ZERO,
        }
    }
}

/// One question to a server that plays `script`, on a clock of its own.
async fn play(mode: ApiMode, script: Vec<Move>) -> (Told, Vec<Duration>, ModelServer) {
    let clock = FakeClock::new();
    let server = ModelServer::start(script).await;
    server.attach_clock(&clock);
    let stage = Stage::at(&server, mode).clock(&clock);
    let told = tokio::time::timeout(HUNG, stage.ask(question("hi"))).await.unwrap_or_else(|_| Told {
        recorded: Vec::new(),
        result: Err(Fault::new(K::Unknown, "it hangs")),
        events: Vec::new(),
        virtual_time: clock.elapsed(),
        real_time: HUNG,
    });
    (told, clock.pauses(), server)
}

/// What is wrong with one cell of the matrix.
async fn complaints(row: &Row, at: usize) -> Vec<String> {
    let (mode, (kind, next)) = (ApiMode::ALL[at], row.expected[at]);
    let mut complaints = lasting(row, mode, kind, next).await;
    if next != Next::GivesUp {
        complaints.extend(passing(row, mode, kind, next).await);
    }
    let place = format!("{:<28} {:<18}", row.name, mode.as_str());
    complaints.into_iter().map(|complaint| format!("{place} {complaint}")).collect()
}

async fn lasting(row: &Row, mode: ApiMode, kind: K, next: Next) -> Vec<String> {
    let requests = next.attempts() * row.requests;
    let script = (0..requests).map(|_| (row.play)(mode)).collect();
    let (told, pauses, server) = play(mode, script).await;
    let mut wrong = Vec::new();
    if told.result.as_ref().err().map(|fault| fault.kind) != Some(kind) {
        wrong.push(format!("lasting: ended as `{}`, not as {kind:?}", told.outcome()));
    }
    if told.steps() != next.steps(kind) {
        wrong.push(format!("lasting: took {:?}, not {:?}", told.steps(), next.steps(kind)));
    }
    if let Some((n, pause)) = (0..).zip(&pauses).find(|(n, pause)| !next.pause(*n).contains(pause)) {
        wrong.push(format!("lasting: pause {n} was {pause:?}, not within {:?}", next.pause(n)));
    }
    let due: Duration = pauses.iter().sum::<Duration>() + row.silence * u32::try_from(next.attempts()).unwrap();
    if told.virtual_time != due {
        wrong.push(format!("lasting: took {:?} of virtual time, not {due:?}", told.virtual_time));
    }
    let told_of_waiting =
        told.events.iter().any(|event| matches!(event, Event::Notice { notice: Notice::Waiting { .. } }));
    if told_of_waiting == row.silence.is_zero() {
        wrong.push(format!("lasting: a person was told of waiting: {told_of_waiting}"));
    }
    wrong.extend(settled("lasting", &told, server, requests));
    wrong
}

async fn passing(row: &Row, mode: ApiMode, kind: K, next: Next) -> Vec<String> {
    let (told, _, server) = play(mode, vec![(row.play)(mode), Move::say("recovered")]).await;
    let mut wrong = Vec::new();
    if told.outcome() != "recovered" {
        wrong.push(format!("passing: ended as `{}`", told.outcome()));
    }
    if told.steps() != next.steps(kind)[..1] {
        wrong.push(format!("passing: took {:?}", told.steps()));
    }
    wrong.extend(settled("passing", &told, server, 2));
    wrong
}

/// What the clock on the wall and the server itself have to say.
fn settled(play: &str, told: &Told, server: ModelServer, requests: usize) -> Vec<String> {
    let mut wrong = server.take_violations();
    if told.real_time > PATIENCE {
        wrong.push(format!("{play}: took {:?} in real time", told.real_time));
    }
    let made = server.model_requests().len();
    if made != requests {
        wrong.push(format!("{play}: made {made} requests, not {requests}"));
        std::mem::forget(server); // its own complaint would hide the matrix
    }
    wrong
}

#[tokio::test]
async fn every_fault_in_every_protocol_gets_its_class_its_step_and_an_end() {
    let rows = matrix();
    let cells = rows.iter().flat_map(|row| (0..ApiMode::ALL.len()).map(move |at| complaints(row, at)));
    let wrong: Vec<Vec<String>> = futures_util::stream::iter(cells).buffered(AT_ONCE).collect().await;
    let wrong: Vec<String> = wrong.into_iter().flatten().collect();
    let count = rows.len() * ApiMode::ALL.len();
    assert!(wrong.is_empty(), "{} complaints about {count} cells:\n{}", wrong.len(), wrong.join("\n"));
}

/// What is left of an answer: its text, its calls with their arguments, the calls that were given up, why it ended.
fn remains(reply: &Reply) -> (String, Vec<(String, String)>, Vec<String>, StopReason) {
    let calls = reply.tool_calls().iter();
    let calls = calls.map(|call| (call.function.name.clone(), call.function.arguments.as_str().to_owned()));
    (reply.text(), calls.collect(), reply.dropped.clone(), reply.stop_reason())
}

/// A call is made with the arguments the model wrote or not at all (#62948, #119389).
#[tokio::test]
async fn damaged_calls_are_named_and_never_made() {
    let calls = || {
        let whole = Move::say("").text("So be it.").call("clock", json!({}));
        whole.call("weather", json!({"city": "Bangkok", "n": 1})).chunk(3)
    };
    let clock = || ("clock".to_owned(), "{}".to_owned());
    let weather = || ("weather".to_owned(), r#"{"city":"Bangkok","n":1}"#.to_owned());
    let lost = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
    for mode in ApiMode::ALL {
        let (told, _, server) = play(mode, vec![calls().length_in_call()]).await;
        let stop = if mode == ApiMode::CodexResponses { StopReason::Incomplete } else { StopReason::Length };
        let expected = ("So be it.".to_owned(), vec![clock()], lost(&["weather"]), stop);
        assert_eq!(remains(&told.reply()), expected, "length in the middle of a call, {mode}");
        server.finish();

        // Fragments that come twice cannot be told from fragments meant twice, except where the whole follows them.
        let (told, _, server) = play(mode, vec![calls().duplicate_deltas()]).await;
        let reply = told.reply();
        let (_, made, dropped, stop) = remains(&reply);
        let expected = match mode {
            ApiMode::CodexResponses => (vec![clock(), weather()], lost(&[]), StopReason::ToolCalls),
            _ => (vec![], lost(&["clock", "weather"]), StopReason::Length),
        };
        assert_eq!((made, dropped, stop), expected, "every delta twice, {mode}");
        server.finish();

        // A damaged event in the middle: nothing is answered from what may be missing a piece.
        let (told, _, server) = play(mode, vec![calls().malformed_after(9), Move::say("again")]).await;
        let expected = match mode {
            ApiMode::CodexResponses => vec![clock(), weather()],
            _ => vec![],
        };
        assert_eq!(remains(&told.reply()).1, expected, "a damaged event, {mode}");
        if mode == ApiMode::CodexResponses {
            assert_eq!(server.model_requests().len(), 1, "the items at the end are whole");
            std::mem::forget(server); // the second answer was not needed
        } else {
            assert_eq!(told.outcome(), "again", "{mode}");
            server.finish();
        }
    }
}

/// Who reads along keeps what was said; who does not gets a whole answer.
#[tokio::test]
async fn an_answer_that_breaks_off_before_a_reader_is_kept_and_says_so() {
    for mode in ApiMode::ALL {
        let server = ModelServer::start(half().cut_after(8)).await;
        let told = Stage::at(&server, mode).conversation().await.live().ask(question("hi")).await;
        let reply = told.reply();
        assert!(reply.cut_off && reply.text().starts_with("Half"), "{mode}: {reply:?}");
        assert_eq!((reply.stop_reason(), told.steps()), (StopReason::Length, vec![]), "{mode}");
        assert_eq!(told.shown(), [format!("text: {}", reply.text())], "{mode}");
        server.finish();
    }
}

/// A local server that is not there is reported at once (#68771): nobody waits for retries that cannot help.
#[tokio::test]
async fn nobody_listening_on_this_machine_is_reported_at_once() {
    // An address that no server of these tests listens at, so that nobody takes the port in the meantime.
    let free = std::net::TcpListener::bind("127.0.0.9:0").expect("a port").local_addr().expect("an address");
    for mode in ApiMode::ALL {
        let stage = Stage::new(only(&format!("http://{free}/v1"), mode)).real_time();
        let told = stage.ask(question("hi")).await;
        let fault = told.fault();
        assert_eq!((fault.kind, told.steps()), (K::Unreachable, vec![]), "{mode}: {fault}");
        assert!(fault.message.contains(&free.to_string()), "{fault}");
        assert!(told.real_time < PATIENCE, "{mode} took {:?}", told.real_time);
    }
}

#[tokio::test]
async fn a_host_that_does_not_exist_is_reported_in_seconds() {
    let stage = Stage::new(only("http://no-such-host.invalid/v1", ApiMode::ChatCompletions));
    let told = stage.ask(question("hi")).await;
    let fault = told.fault();
    assert_eq!((fault.kind, told.steps()), (K::NoRoute, vec!["retry after NoRoute".to_owned()]), "{fault}");
    assert!(fault.message.contains("no-such-host.invalid"), "{fault}");
    assert!(told.real_time < Duration::from_secs(12), "took {:?}", told.real_time);
}

#[tokio::test]
async fn https_to_a_plain_port_is_explained() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let base = format!("https://{}/v1", listener.local_addr().expect("its address"));
    // What a web server says to a greeting in TLS.
    let server = tokio::spawn(async move {
        let (mut line, _) = listener.accept().await.expect("a caller");
        let mut greeting = [0; 64];
        line.read_exact(&mut greeting).await.expect("a greeting");
        line.write_all(b"HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n").await.expect("an answer");
        line
    });
    let told = Stage::new(only(&base, ApiMode::ChatCompletions)).ask(question("hi")).await;
    let fault = told.fault();
    assert_eq!((fault.kind, told.steps()), (K::Tls, vec![]), "{fault}");
    assert!(fault.message.contains("write http:// instead of https://"), "{fault}");
    drop(server.await.expect("the server ends"));
}
