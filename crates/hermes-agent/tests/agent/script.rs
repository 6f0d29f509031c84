//! A model without a wire: it makes any moves in any order, and notes what it was asked.

use futures_util::future::BoxFuture;
use futures_util::stream::{self, BoxStream, StreamExt as _};
use hermes_core::ports::{Card, Model, Switchboard};
use hermes_core::stop::Stop;
use hermes_core::turn::Inbox;
use hermes_types::{Assistant, CallId, Delta, Fault, FaultKind, Message, Reply, Request, StopReason, ToolCall, Usage};
use proptest::prelude::*;
use serde_json::json;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

/// One answer of the model to one request.
#[derive(Debug, Clone)]
pub(crate) enum Act {
    Says(&'static str, StopReason),
    Thinks(StopReason),
    Calls {
        text: &'static str,
        kinds: Vec<Kind>,
        dropped: bool,
    },
    /// Nothing but calls that did not arrive whole.
    Drops(&'static str),
    BreaksOff,
    Fails(FaultKind),
    /// The person stops it while it is asked.
    Hangs,
    /// The person says something meanwhile; the next act follows at once.
    Hears(Channel),
}

/// What a call is like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Look,
    Change,
    Program,
    Housekeeping,
    Fails,
    Aborts,
    Stops,
    Misspelt,
    Unknown,
    /// The call before it once more.
    Again,
    /// Its result goes by another id than its item.
    TwoIds,
}

impl Kind {
    fn name(self) -> &'static str {
        match self {
            Self::Look | Self::Again | Self::TwoIds => "look",
            Self::Change => "change",
            Self::Program => "execute_code",
            Self::Housekeeping => "memory",
            Self::Fails => "fails",
            Self::Aborts => "aborts",
            Self::Stops => "stops",
            Self::Misspelt => "Change_Tool",
            Self::Unknown => "launch_rocket",
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Channel {
    Steers,
    Queues,
}

pub(crate) fn acts() -> impl Strategy<Value = Vec<Act>> {
    let text = prop::sample::select(vec!["", " ", "Some words."]);
    let stop = prop::sample::select(vec![
        StopReason::Stop,
        StopReason::Length,
        StopReason::Incomplete,
        StopReason::ContentFilter,
    ]);
    let fault = prop::sample::select(vec![
        FaultKind::RateLimit,
        FaultKind::ServerError,
        FaultKind::Auth,
        FaultKind::ContextOverflow,
        FaultKind::BadRequest,
        FaultKind::EmptyStream,
    ]);
    let kind = prop_oneof![
        6 => prop::sample::select(vec![Kind::Look, Kind::Change, Kind::Program, Kind::Housekeeping]),
        4 => prop::sample::select(vec![Kind::Fails, Kind::Misspelt, Kind::Unknown, Kind::Again, Kind::TwoIds]),
        1 => prop::sample::select(vec![Kind::Aborts, Kind::Stops]),
    ];
    let calls = (text.clone(), prop::collection::vec(kind, 1..4), prop::bool::weighted(0.2))
        .prop_map(|(text, kinds, dropped)| Act::Calls { text, kinds, dropped });
    let act = prop_oneof![
        8 => calls,
        4 => (text.clone(), stop).prop_map(|(text, stop)| Act::Says(text, stop)),
        2 => prop::sample::select(vec![StopReason::Stop, StopReason::Length]).prop_map(Act::Thinks),
        2 => text.prop_map(Act::Drops),
        1 => Just(Act::BreaksOff),
        2 => fault.prop_map(Act::Fails),
        1 => Just(Act::Hangs),
        2 => prop::sample::select(vec![Channel::Steers, Channel::Queues]).prop_map(Act::Hears),
    ];
    // Some models make the same mistake again and again.
    let times = prop_oneof![4 => Just(1usize), 1 => 2..7usize];
    let stubborn = prop::collection::vec((act, times), 0..12);
    stubborn.prop_map(|acts| acts.into_iter().flat_map(|(act, times)| std::iter::repeat_n(act, times)).collect())
}

/// Two places of a chain, or one, with the same model behind them.
#[derive(Clone)]
pub(crate) struct Scripted {
    card: Card,
    has_spare: bool,
    reuses_ids: bool,
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    acts: VecDeque<Act>,
    words: u64,
    calls: u64,
    requests: Vec<Vec<Message>>,
    spoken: Vec<String>,
    stop: Stop,
    inbox: Arc<Inbox>,
}

impl Scripted {
    pub(crate) fn new(acts: &[Act], has_spare: bool, reuses_ids: bool) -> Arc<Self> {
        let card = Card {
            provider: "stage".into(),
            model: "scripted".into(),
            base_url: "https://stage.example/v1".into(),
            context_window: 100_000,
            output_cap: None,
            stale_after: Duration::from_secs(60),
            first_byte_after: None,
            give_up_after: Duration::from_secs(600),
        };
        let state = State { acts: acts.iter().cloned().collect(), ..State::default() };
        Arc::new(Self { card, has_spare, reuses_ids, state: Arc::new(Mutex::new(state)) })
    }

    /// From here on it only says that this is the end.
    pub(crate) fn forget_moves(&self) {
        self.state().acts.clear();
    }

    pub(crate) fn begin(&self, stop: &Stop, inbox: &Arc<Inbox>) {
        let mut state = self.state();
        (state.stop, state.inbox) = (stop.clone(), inbox.clone());
        state.spoken.clear();
    }

    pub(crate) fn requests(&self) -> Vec<Vec<Message>> {
        self.state().requests.clone()
    }

    pub(crate) fn spoken(&self) -> Vec<String> {
        self.state().spoken.clone()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap()
    }

    fn answer(&self, request: &Request) -> BoxStream<'static, Result<Delta, Fault>> {
        let mut state = self.state();
        state.requests.push(request.messages.iter().map(|message| (**message).clone()).collect());
        let act = loop {
            match state.acts.pop_front() {
                Some(Act::Hears(channel)) => state.hear(channel),
                Some(act) => break act,
                None => break Act::Says("The end.", StopReason::Stop),
            }
        };
        let done = |reply: Reply| stream::iter([Ok(Delta::Done(Box::new(reply)))]).boxed();
        match act {
            Act::Fails(kind) => stream::iter([Err(Fault::new(kind, "so it was written"))]).boxed(),
            Act::Hangs => {
                state.stop.stop();
                stream::pending().boxed()
            }
            Act::Hears(_) => unreachable!("was heard above"),
            Act::Says(text, stopped) => done(reply(text, stopped)),
            Act::BreaksOff => done(Reply { cut_off: true, ..reply("Some", StopReason::Stop) }),
            Act::Drops(text) => done(Reply { dropped: vec!["change".into()], ..reply(text, StopReason::Length) }),
            Act::Thinks(stopped) => {
                let mut thoughts = reply("", stopped);
                thoughts.message.reasoning = Some("Hm.".into());
                done(thoughts)
            }
            Act::Calls { text, kinds, dropped } => {
                let mut calling = reply(text, StopReason::ToolCalls);
                calling.message.tool_calls = state.calls(&kinds, self.reuses_ids);
                calling.dropped = dropped.then(|| "change".to_owned()).into_iter().collect();
                done(calling)
            }
        }
    }
}

impl State {
    fn hear(&mut self, channel: Channel) {
        let text = format!("<word {}>", self.words);
        self.words += 1;
        match channel {
            Channel::Steers => self.inbox.steer(&text),
            Channel::Queues => self.inbox.queue(&text),
        };
        self.spoken.push(text);
    }

    fn calls(&mut self, kinds: &[Kind], reuses_ids: bool) -> Vec<ToolCall> {
        let mut made: Vec<ToolCall> = Vec::new();
        for (place, kind) in kinds.iter().enumerate() {
            self.calls += 1;
            let id = if reuses_ids { format!("call_{place}") } else { format!("call_{}", self.calls) };
            let numbered = json!({"n": unique()}).to_string();
            let mut call = ToolCall::new(CallId::new(&id), kind.name(), numbered.as_str());
            match (kind, made.last()) {
                (Kind::Again, Some(before)) => call.function = before.function.clone(),
                (Kind::TwoIds, _) => {
                    call = ToolCall { id: CallId::new(format!("fc_{id}")), call_id: Some(CallId::new(id)), ..call }
                }
                _ => {}
            }
            made.push(call);
        }
        made
    }
}

/// A number no other call has.
pub(crate) fn unique() -> u64 {
    use std::sync::atomic::{AtomicU64, Ordering};
    static NEXT: AtomicU64 = AtomicU64::new(0);
    NEXT.fetch_add(1, Ordering::SeqCst)
}

fn reply(text: &str, stopped: StopReason) -> Reply {
    let usage = Usage { input: 100, output: 20, ..Usage::default() };
    let content = (!text.is_empty()).then(|| text.into());
    let message = Assistant { content, finish_reason: Some(stopped), ..Assistant::default() };
    Reply { message, usage: Some(usage), ..Reply::default() }
}

impl Model for Scripted {
    fn card(&self) -> &Card {
        &self.card
    }

    fn stream(&self, request: Arc<Request>) -> BoxStream<'static, Result<Delta, Fault>> {
        self.answer(&request)
    }
}

impl Switchboard for Scripted {
    fn open(&self, place: usize) -> BoxFuture<'_, Result<Option<Arc<dyn Model>>, Fault>> {
        let is_there = place == 0 || (place == 1 && self.has_spare);
        let model: Option<Arc<dyn Model>> = is_there.then(|| Arc::new(self.clone()) as _);
        Box::pin(std::future::ready(Ok(model)))
    }

    fn refresh<'a>(&'a self, _place: usize, _fault: &'a Fault) -> BoxFuture<'a, Result<Option<Arc<dyn Model>>, Fault>> {
        Box::pin(std::future::ready(Ok(None)))
    }

    fn rotate<'a>(&'a self, _place: usize, _fault: &'a Fault) -> BoxFuture<'a, Option<Arc<dyn Model>>> {
        Box::pin(std::future::ready(None))
    }
}
