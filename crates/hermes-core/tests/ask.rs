//! Recovery as a conversation meets it: models that fail in scripted ways, a switchboard with spare keys and fallbacks,
//! and a clock that obeys.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "in a test a panic is the report"
)]

use futures_util::future::BoxFuture;
use futures_util::stream::{self, BoxStream};
use futures_util::{FutureExt, StreamExt};
use hermes_core::ask::{Line, Manner, Ports, ask};
use hermes_core::clock::Clock;
use hermes_core::ports::{Card, ForTask, Model, Recorder, Switchboard};
use hermes_core::stop::Stop;
use hermes_testkit::FakeClock;
use hermes_types::{
    Answered, Assistant, BreakCause, Concession, Delta, Event, Exchange, Fault, FaultKind, Message, Notice, Object,
    Reply, Request, Sent, SessionId, StopReason,
};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// What a scripted model does with one request.
#[derive(Clone)]
enum Turn {
    Answer(&'static str),
    /// Some text, then the connection breaks.
    BreaksOff(&'static str),
    /// Some text, then an error of the provider.
    FailsAfter(&'static str, Fault),
    Fails(Fault),
    Silent,
}

struct Scripted {
    card: Card,
    turns: Arc<Mutex<VecDeque<Turn>>>,
    seen: Arc<Mutex<Vec<Request>>>,
}

impl Model for Scripted {
    fn card(&self) -> &Card {
        &self.card
    }

    fn stream(&self, request: Arc<Request>) -> BoxStream<'static, Result<Delta, Fault>> {
        self.seen.lock().unwrap().push((*request).clone());
        let turn = self.turns.lock().unwrap().pop_front().expect("an unexpected request");
        let body = format!("{} without {:?}", request.model, request.concessions).into();
        let sent = Sent { mode: "telegraph".into(), url: String::new(), target: Object::new(), body };
        let answer = match turn {
            Turn::Answer(text) => stream::iter([Ok(Delta::Text(text.into())), Ok(done(text, false))]).boxed(),
            Turn::BreaksOff(text) => stream::iter([Ok(Delta::Text(text.into())), Ok(done(text, true))]).boxed(),
            Turn::FailsAfter(text, fault) => stream::iter([Ok(Delta::Text(text.into())), Err(fault)]).boxed(),
            Turn::Fails(fault) => stream::iter([Err(fault)]).boxed(),
            Turn::Silent => stream::pending().boxed(),
        };
        stream::iter([Ok(Delta::Sent(Box::new(sent)))]).chain(answer).boxed()
    }
}

fn done(text: &str, cut_off: bool) -> Delta {
    let finish_reason = Some(if cut_off { StopReason::Length } else { StopReason::Stop });
    let message = Assistant { content: Some(text.into()), finish_reason, ..Assistant::default() };
    Delta::Done(Box::new(Reply { message, cut_off, ..Reply::default() }))
}

/// A chain of providers; each has a number of keys and perhaps a login that can be renewed.
struct Board {
    places: Vec<Place>,
    log: Mutex<Vec<String>>,
}

struct Place {
    provider: &'static str,
    turns: Arc<Mutex<VecDeque<Turn>>>,
    seen: Arc<Mutex<Vec<Request>>>,
    spare_keys: Mutex<u32>,
    renewable: bool,
    /// What asking for a renewal ends in.
    refusal: Option<Fault>,
    usable: bool,
    first_byte_after: Option<Duration>,
    /// What the next openings end in.
    closed: Mutex<VecDeque<Fault>>,
    /// What looking after the open model ends in.
    upkeep: Mutex<VecDeque<Fault>>,
}

fn place(provider: &'static str, turns: impl IntoIterator<Item = Turn>) -> Place {
    Place {
        provider,
        turns: Arc::new(Mutex::new(turns.into_iter().collect())),
        seen: Arc::default(),
        spare_keys: Mutex::new(0),
        renewable: false,
        refusal: None,
        usable: true,
        first_byte_after: None,
        closed: Mutex::default(),
        upkeep: Mutex::default(),
    }
}

impl Board {
    fn new(places: impl IntoIterator<Item = Place>) -> Self {
        Self { places: places.into_iter().collect(), log: Mutex::default() }
    }

    fn model(&self, at: usize) -> Arc<dyn Model> {
        let place = &self.places[at];
        Arc::new(Scripted {
            card: Card {
                provider: place.provider.into(),
                model: format!("{}-model", place.provider),
                base_url: String::new(),
                context_window: 8192,
                output_cap: None,
                stale_after: Duration::from_secs(180),
                first_byte_after: place.first_byte_after,
                give_up_after: Duration::from_secs(1800),
            },
            turns: place.turns.clone(),
            seen: place.seen.clone(),
        })
    }

    fn note(&self, text: String) {
        self.log.lock().unwrap().push(text);
    }

    /// What the board was asked for, less the reports of success.
    fn log(&self) -> Vec<String> {
        self.log.lock().unwrap().iter().filter(|line| !line.ends_with("answered")).cloned().collect()
    }
}

impl Switchboard for Board {
    fn open(&self, at: usize) -> BoxFuture<'_, Result<Option<Arc<dyn Model>>, Fault>> {
        let opened = match self.places.get(at) {
            None => Ok(None),
            Some(place) if !place.usable => Err(Fault::new(FaultKind::Auth, format!("{} has no key", place.provider))),
            Some(place) if !place.closed.lock().unwrap().is_empty() => {
                self.note(format!("open {} in vain", place.provider));
                Err(place.closed.lock().unwrap().pop_front().unwrap())
            }
            Some(place) => {
                self.note(format!("open {}", place.provider));
                Ok(Some(self.model(at)))
            }
        };
        std::future::ready(opened).boxed()
    }

    fn keep(&self, at: usize) -> BoxFuture<'_, Result<Option<Arc<dyn Model>>, Fault>> {
        self.note(format!("keep {}", self.places[at].provider));
        let kept = self.places[at].upkeep.lock().unwrap().pop_front().map_or(Ok(None), Err);
        std::future::ready(kept).boxed()
    }

    fn answered(&self, at: usize) {
        self.note(format!("{} answered", self.places[at].provider));
    }

    fn refresh<'a>(&'a self, at: usize, _: &'a Fault) -> BoxFuture<'a, Result<Option<Arc<dyn Model>>, Fault>> {
        if let Some(refusal) = &self.places[at].refusal {
            self.note(format!("refresh {} in vain", self.places[at].provider));
            return std::future::ready(Err(refusal.clone())).boxed();
        }
        let renewed = self.places[at].renewable.then(|| {
            self.note(format!("refresh {}", self.places[at].provider));
            self.model(at)
        });
        std::future::ready(Ok(renewed)).boxed()
    }

    fn rotate<'a>(&'a self, at: usize, fault: &'a Fault) -> BoxFuture<'a, Option<Arc<dyn Model>>> {
        let mut spare = self.places[at].spare_keys.lock().unwrap();
        let rotated = (*spare > 0).then(|| {
            *spare -= 1;
            self.note(format!("rotate {} after {:?}", self.places[at].provider, fault.kind));
            self.model(at)
        });
        std::future::ready(rotated).boxed()
    }
}

struct Stage {
    board: Board,
    clock: FakeClock,
    events: Mutex<Vec<Event>>,
    recorded: Mutex<Vec<Exchange>>,
    line: tokio::sync::Mutex<Line>,
}

impl Stage {
    fn new(places: impl IntoIterator<Item = Place>) -> Self {
        Self {
            board: Board::new(places),
            clock: FakeClock::new(),
            events: Mutex::default(),
            recorded: Mutex::default(),
            line: Default::default(),
        }
    }

    async fn ask(&self) -> Result<String, Fault> {
        self.ask_as(Manner { retries: 3, live: false, seed: 7 }, &Stop::new()).await
    }

    async fn ask_as(&self, manner: Manner, stop: &Stop) -> Result<String, Fault> {
        let hear = |event| self.events.lock().unwrap().push(event);
        let record = |exchange| self.recorded.lock().unwrap().push(exchange);
        let ports = Ports { switchboard: &self.board, clock: &self.clock, listener: &hear, recorder: &record };
        let session = Some(SessionId::new("s"));
        let request = Request { session, ..Request::new("", [Message::user("hi")]) };
        let mut line = self.line.lock().await;
        line.begin_turn(self.clock.elapsed());
        ask(request, &mut line, manner, &ports, stop).await.map(|reply| reply.text())
    }

    /// What was recorded: the bytes, what came of them, and why they do not extend those before.
    fn recorded(&self) -> Vec<String> {
        let line = |Exchange { session, provider, sent, answer, why, .. }: &Exchange| {
            let body = std::str::from_utf8(&sent.body).unwrap();
            let end = match answer {
                Answered::Reply(reply) => reply.text(),
                Answered::Fault(fault) => format!("{:?}", fault.kind),
                Answered::Dropped => "dropped".into(),
            };
            let why = why.map_or("-", BreakCause::as_str);
            format!("{session} {provider} [{body}] {end} ({why})")
        };
        self.recorded.lock().unwrap().iter().map(line).collect()
    }

    fn notices(&self) -> Vec<Notice> {
        let events = self.events.lock().unwrap();
        events
            .iter()
            .filter_map(|event| match event {
                Event::Notice { notice } => Some(notice.clone()),
                _ => None,
            })
            .collect()
    }
}

fn fails(kind: FaultKind) -> Turn {
    Turn::Fails(Fault::new(kind, "scripted"))
}

#[tokio::test]
async fn a_hiccup_is_tried_again_and_told() {
    let stage = Stage::new([place("a", [fails(FaultKind::ServerError), Turn::Answer("hello")])]);
    assert_eq!(stage.ask().await.as_deref(), Ok("hello"));
    assert_eq!(stage.board.log(), ["open a"]);
    assert!(matches!(&stage.notices()[..], [Notice::Retrying { attempt: 1, kind: FaultKind::ServerError, .. }]));
    let waited = stage.clock.elapsed();
    assert!((250..=375).contains(&waited.as_millis()), "{waited:?}");
}

#[tokio::test]
async fn a_refused_login_is_renewed_then_another_key_then_another_provider() {
    let mut first = place("a", std::iter::repeat_n(fails(FaultKind::Auth), 4));
    first.renewable = true;
    *first.spare_keys.lock().unwrap() = 1;
    let stage = Stage::new([first, place("b", [Turn::Answer("from b")])]);
    assert_eq!(stage.ask().await.as_deref(), Ok("from b"));
    assert_eq!(stage.board.log(), ["open a", "refresh a", "refresh a", "rotate a after Auth", "open b"]);
    assert!(stage.clock.pauses().is_empty(), "nothing here is mended by waiting");
}

/// Whatever a login server answers, it is asked once per refusal, and what it said is what the person hears.
#[tokio::test]
async fn a_renewal_that_fails_is_not_repeated() {
    for kind in [FaultKind::Auth, FaultKind::AuthPermanent, FaultKind::WrongOrigin] {
        let refusal = Some(Fault::new(kind, "the login server says no"));
        let stage = Stage::new([Place { refusal, ..place("a", [fails(FaultKind::Auth)]) }]);
        assert_eq!(stage.ask().await.unwrap_err().message, "the login server says no", "{kind:?}");
        assert_eq!(stage.board.log(), ["open a", "refresh a in vain"], "{kind:?}");
    }
}

#[tokio::test]
async fn a_limited_key_gets_a_second_chance_before_the_next_key() {
    let first = place("a", [fails(FaultKind::RateLimit), fails(FaultKind::RateLimit), Turn::Answer("second key")]);
    *first.spare_keys.lock().unwrap() = 1;
    let stage = Stage::new([first]);
    assert_eq!(stage.ask().await.as_deref(), Ok("second key"));
    assert_eq!(stage.board.log(), ["open a", "rotate a after RateLimit"]);
    assert_eq!(stage.clock.pauses().len(), 1);
}

#[tokio::test]
async fn fallback_lasts_a_turn_and_the_choice_of_the_person_comes_back() {
    let stage = Stage::new([
        place("a", [fails(FaultKind::ModelNotFound), Turn::Answer("a again")]),
        place("b", [Turn::Answer("b")]),
    ]);
    assert_eq!(stage.ask().await.as_deref(), Ok("b"));
    assert_eq!(stage.ask().await.as_deref(), Ok("a again"));
    let second = stage.board.places[1].seen.lock().unwrap()[0].clone();
    assert_eq!(second.model, "b-model", "the fallback is asked for its own model");
}

#[tokio::test]
async fn a_choice_that_ran_out_of_quota_rests_for_a_minute() {
    let stage = Stage::new([
        place("a", [fails(FaultKind::Billing), Turn::Answer("a again")]),
        place("b", [Turn::Answer("b1"), Turn::Answer("b2")]),
    ]);
    assert_eq!(stage.ask().await.as_deref(), Ok("b1"));
    stage.clock.advance(Duration::from_secs(59));
    assert_eq!(stage.ask().await.as_deref(), Ok("b2"));
    stage.clock.advance(Duration::from_secs(1));
    assert_eq!(stage.ask().await.as_deref(), Ok("a again"));
}

#[tokio::test]
async fn places_without_a_credential_are_passed_over_and_the_first_reason_is_kept() {
    let unusable = |provider| Place { usable: false, ..place(provider, []) };
    let stage = Stage::new([unusable("a"), unusable("b"), place("c", [Turn::Answer("c")])]);
    assert_eq!(stage.ask().await.as_deref(), Ok("c"));
    let fell_back = Notice::FellBack {
        provider: "c".into(),
        model: "c-model".into(),
        kind: FaultKind::Auth,
        message: "a has no key".into(),
    };
    assert_eq!(stage.notices(), [fell_back], "whoever reports the answer knows who gave it");

    let stage = Stage::new([unusable("a"), unusable("b")]);
    let message = stage.ask().await.unwrap_err().message;
    assert_eq!(message, "a has no key; fallback 1 cannot step in: b has no key");
}

/// A login server with a hiccup is waited for like any other server.
#[tokio::test]
async fn a_hiccup_while_opening_is_tried_again() {
    let first = place("a", [Turn::Answer("hello"), Turn::Answer("still here")]);
    first.closed.lock().unwrap().push_back(Fault::new(FaultKind::ServerError, "the login server is down"));
    let stage = Stage::new([first, place("b", [])]);
    assert_eq!(stage.ask().await.as_deref(), Ok("hello"));
    assert_eq!(stage.board.log(), ["open a in vain", "open a"]);
    assert!(matches!(&stage.notices()[..], [Notice::Retrying { kind: FaultKind::ServerError, .. }]));

    // The same in the middle of a conversation, when the login has to be renewed.
    stage.board.places[0].upkeep.lock().unwrap().push_back(Fault::new(FaultKind::NoRoute, "no network"));
    stage.board.places[1].turns.lock().unwrap().push_back(Turn::Answer("by b"));
    assert_eq!(
        stage.ask().await.as_deref(),
        Ok("by b"),
        "without a network to its login server, the next one is asked"
    );
}

/// What is open is looked after once per question, however many attempts the question takes.
#[tokio::test]
async fn an_open_model_is_looked_after_before_each_question() {
    let turns = [Turn::Answer("one"), fails(FaultKind::ServerError), Turn::Answer("two")];
    let stage = Stage::new([place("a", turns)]);
    stage.ask().await.unwrap();
    stage.ask().await.unwrap();
    let log = stage.board.log.lock().unwrap().clone();
    assert_eq!(log, ["open a", "a answered", "keep a", "a answered"]);
}

#[tokio::test]
async fn what_a_provider_refuses_is_left_out_once() {
    let refused = FaultKind::Refused(Concession::Temperature);
    let stage = Stage::new([place("a", [fails(refused), Turn::Answer("fine")])]);
    assert_eq!(stage.ask().await.as_deref(), Ok("fine"));
    let seen = stage.board.places[0].seen.lock().unwrap().clone();
    let conceded: Vec<bool> = seen.iter().map(|request| request.concedes(Concession::Temperature)).collect();
    assert_eq!(conceded, [false, true]);

    // The next request to the same model does not ask for it again.
    stage.board.places[0].turns.lock().unwrap().push_back(Turn::Answer("still fine"));
    assert_eq!(stage.ask().await.as_deref(), Ok("still fine"));
    assert!(stage.board.places[0].seen.lock().unwrap()[2].concedes(Concession::Temperature));

    let stubborn = Stage::new([place("a", [fails(refused), fails(refused)])]);
    assert_eq!(stubborn.ask().await.unwrap_err().kind, refused);
}

#[tokio::test]
async fn a_broken_answer_is_begun_again_unless_a_person_already_reads_it() {
    let broken = || Stage::new([place("a", [Turn::BreaksOff("Once upon"), Turn::Answer("Once upon a time.")])]);
    assert_eq!(broken().ask().await.as_deref(), Ok("Once upon a time."));

    let live = Manner { retries: 3, live: true, seed: 7 };
    assert_eq!(broken().ask_as(live, &Stop::new()).await.as_deref(), Ok("Once upon"));
}

/// Words that were told cannot be taken back, so a second beginning is announced.
#[tokio::test]
async fn an_answer_that_starts_again_says_so() {
    let broken = Turn::FailsAfter("Once upon", Fault::new(FaultKind::Overloaded, "busy"));
    let stage = Stage::new([place("a", [broken, fails(FaultKind::Overloaded), Turn::Answer("Once upon a time.")])]);
    let live = Manner { retries: 3, live: true, seed: 7 };
    assert_eq!(stage.ask_as(live, &Stop::new()).await.as_deref(), Ok("Once upon a time."));
    let over = stage.notices().iter().filter(|notice| **notice == Notice::StartedOver).count();
    assert_eq!(over, 1, "{:?}", stage.notices());
}

/// A quota that comes back in days is not waited for, and the person hears when it does.
#[tokio::test]
async fn a_quota_that_resets_in_days_ends_the_call_at_once() {
    let wait = Some(Duration::from_secs(3 * 86_400 + 5 * 3_600));
    let spent = Fault { retry_after: wait, ..Fault::new(FaultKind::RateLimit, "weekly limit reached") };
    let stage = Stage::new([place("a", [Turn::Fails(spent)])]);
    assert_eq!(stage.ask().await.unwrap_err().message, "weekly limit reached (it asks to wait 3 d 5 h)");
    assert_eq!(stage.clock.pauses(), Vec::<Duration>::new());
}

/// Only the person's choice is come back to: a fallback without quota does not keep it away.
#[tokio::test]
async fn a_fallback_that_ran_out_of_quota_does_not_keep_the_choice_away() {
    let stage = Stage::new([
        place("a", [fails(FaultKind::ModelNotFound), Turn::Answer("a again")]),
        place("b", [fails(FaultKind::Billing)]),
        place("c", [Turn::Answer("c")]),
    ]);
    assert_eq!(stage.ask().await.as_deref(), Ok("c"));
    assert_eq!(stage.ask().await.as_deref(), Ok("a again"));
}

#[tokio::test]
async fn silence_is_told_and_then_counts_as_dead() {
    let stage = Arc::new(Stage::new([place("a", [Turn::Silent, Turn::Answer("awake")])]));
    let asking = tokio::spawn({
        let stage = stage.clone();
        async move { stage.ask().await }
    });
    while !asking.is_finished() {
        tokio::task::yield_now().await;
        stage.clock.advance(Duration::from_secs(1));
    }
    assert_eq!(asking.await.unwrap().as_deref(), Ok("awake"));
    let waited: Vec<u64> = stage
        .notices()
        .into_iter()
        .filter_map(|notice| match notice {
            Notice::Waiting { seconds } => Some(seconds),
            _ => None,
        })
        .collect();
    assert_eq!(waited.first(), Some(&2));
    assert!(waited.iter().all(|seconds| *seconds < 180), "{waited:?}");
    assert!(stage.clock.elapsed() >= Duration::from_secs(180));
}

/// Every wait of a call ends when somebody stops it: while a model is silent, and during the pause before a retry.
#[tokio::test]
async fn an_interrupt_ends_every_wait() {
    for turn in [Turn::Silent, fails(FaultKind::Overloaded)] {
        let stage = Stage::new([place("a", [turn])]);
        let stop = Stop::new();
        let manner = Manner { retries: 3, live: false, seed: 7 };
        let asking = stage.ask_as(manner, &stop);
        tokio::pin!(asking);
        assert!(asking.as_mut().now_or_never().is_none(), "it waits");
        stop.stop();
        assert_eq!(asking.await.unwrap_err().kind, FaultKind::Interrupted);
    }
}

#[tokio::test]
async fn every_attempt_is_recorded_once_with_its_end_and_the_cause_of_a_break() {
    let refused = fails(FaultKind::Refused(Concession::Images));
    let first = place("a", [Turn::Answer("one"), refused, Turn::BreaksOff("half"), fails(FaultKind::Billing)]);
    let stage = Stage::new([first, place("b", [Turn::Answer("two"), Turn::Answer("three")])]);
    assert_eq!(stage.ask().await.as_deref(), Ok("one"));
    assert_eq!(stage.ask().await.as_deref(), Ok("two"));
    stage.line.lock().await.expect_break(BreakCause::Compression);
    assert_eq!(stage.ask().await.as_deref(), Ok("three"), "the first choice rests");
    let expected = [
        "s a [a-model without {}] one (-)",
        "s a [a-model without {}] Refused(Images) (-)",
        "s a [a-model without {Images}] half (concession)",
        "s a [a-model without {Images}] Billing (-)",
        "s b [b-model without {}] two (fallback)",
        "s b [b-model without {}] three (compression)",
    ];
    assert_eq!(stage.recorded(), expected);
}

#[tokio::test]
async fn an_attempt_nobody_waits_for_is_recorded_as_dropped() {
    for stopped_by_a_person in [true, false] {
        let stage = Stage::new([place("a", [Turn::Silent])]);
        let stop = Stop::new();
        let mut asking = Box::pin(stage.ask_as(Manner { retries: 3, live: false, seed: 7 }, &stop));
        assert_eq!((&mut asking).now_or_never(), None, "it is silent");
        assert_eq!(stage.recorded(), [""; 0], "not over yet");
        if stopped_by_a_person {
            stop.stop();
            assert_eq!(asking.await.unwrap_err().kind, FaultKind::Interrupted);
        } else {
            drop(asking);
        }
        assert_eq!(stage.recorded(), ["s a [a-model without {}] dropped (-)"]);
    }
}

#[test]
fn a_job_beside_the_conversation_is_recorded_under_its_name() {
    let tasks = Mutex::new(Vec::new());
    let record = |exchange: Exchange| tasks.lock().unwrap().push(exchange.task);
    let (mode, url, target, body) = (String::new(), String::new(), Object::new(), Default::default());
    let exchange = Exchange {
        session: SessionId::new("s"),
        at: Default::default(),
        task: String::new(),
        provider: String::new(),
        model: String::new(),
        sent: Sent { mode, url, target, body },
        answer: Answered::Dropped,
        why: None,
        scene: Default::default(),
    };
    ForTask { task: "vision", recorder: &record }.exchanged(exchange);
    assert_eq!(*tasks.lock().unwrap(), ["vision"]);
}

/// What we send ourselves is no sign of life: the limit for the first byte of an answer still counts.
#[tokio::test]
async fn a_request_on_its_way_does_not_count_as_an_answer() {
    let limit = Some(Duration::from_secs(5));
    let stage = Stage::new([Place { first_byte_after: limit, ..place("a", [Turn::Silent]) }]);
    let (manner, stop) = (Manner { retries: 0, live: false, seed: 7 }, Stop::new());
    let time_passes = async {
        tokio::task::yield_now().await;
        stage.clock.advance(Duration::from_secs(6));
    };
    let (asked, ()) = tokio::join!(stage.ask_as(manner, &stop), time_passes);
    let fault = asked.unwrap_err();
    assert_eq!((fault.kind, fault.message.as_str()), (FaultKind::Stalled, "no data for 5 s"));
}
