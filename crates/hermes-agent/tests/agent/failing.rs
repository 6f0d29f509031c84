//! A store that fails: the n-th write of a turn, for every n, once or from there on. Nothing runs that is not on record,
//! the outcome says what was lost, and what is on disk can be gone on with.

use crate::puppet::{Puppet, answer};
use crate::script::{Act, Kind, Scripted};
use crate::stage::{Plan, Stage, in_memory, told};
use hermes_agent::{Agent, Kit};
use hermes_core::stop::Stop;
use hermes_core::store::{Kept, Ledger, Search, Sessions, StoreError, Tape, Transcript};
use hermes_core::turn::{Asked, End, Outcome};
use hermes_store::SqliteStore;
use hermes_types::{
    Bill, Break, CallId, CallRecord, CompressionRecord, EffectRecord, EffectState, EndReason, Exchange, Export, Found,
    Insights, ListOrder, Meant, Message, MessageId, Moment, NewMessage, NewSession, OutcomeKind, Pruned, Relative,
    SearchQuery, Session, SessionFilter, SessionId, SessionSummary, Span, Spent, StopReason, StoreFacts, StoredMessage,
    SummaryRest, TurnRecord, UsageRow,
};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

/// How a disk breaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Breaks {
    Once,
    ForGood,
}

/// The real store behind a disk that fails at one write.
struct Failing {
    store: SqliteStore,
    at: usize,
    breaks: Breaks,
    /// What was written, what was refused, and what the tools did, in order.
    log: Log,
}

type Log = Arc<Mutex<Vec<String>>>;

impl Failing {
    /// Whether this write is refused; notes it.
    fn write(&self, what: &str) -> Result<(), StoreError> {
        let mut log = self.log.lock().unwrap();
        let number = log.iter().filter(|line| !line.starts_with("ran")).count();
        let refused = number == self.at || (self.breaks == Breaks::ForGood && number > self.at);
        log.push(if refused { format!("refused {what}") } else { what.to_owned() });
        match refused {
            true => Err(StoreError::Full { place: "state.db".into() }),
            false => Ok(()),
        }
    }
}

/// Reads go through as they are, writes only if the disk takes them.
macro_rules! reads {
    ($($name:ident($($arg:ident: $kind:ty),*) -> $gives:ty;)*) => {
        $(fn $name(&self, $($arg: $kind),*) -> Kept<'_, $gives> {
            self.store.$name($($arg),*)
        })*
    };
}
macro_rules! writes {
    ($($name:ident($($arg:ident: $kind:ty),*) -> $gives:ty;)*) => {
        $(fn $name(&self, $($arg: $kind),*) -> Kept<'_, $gives> {
            match self.write(stringify!($name)) {
                Ok(()) => self.store.$name($($arg),*),
                Err(error) => Box::pin(std::future::ready(Err(error))),
            }
        })*
    };
}

impl Sessions for Failing {
    writes! {
        create(session: NewSession) -> ();
        end(id: &SessionId, reason: EndReason) -> bool;
        reopen(id: &SessionId) -> ();
        take(id: &SessionId) -> Option<MessageId>;
        let_go(id: &SessionId) -> ();
        set_prompt(id: &SessionId, prompt: &str) -> ();
        rename(id: &SessionId, title: &str) -> Option<String>;
        rename_if_unnamed(id: &SessionId, title: &str) -> bool;
        branch(from: &SessionId, new: NewSession, upto: Option<MessageId>) -> ();
        go_on_in(from: &SessionId, new: NewSession, upto: MessageId, messages: Vec<NewMessage>) -> Vec<MessageId>;
        delete(id: &SessionId) -> bool;
        delete_if_empty(id: &SessionId) -> bool;
        prune(filter: SessionFilter, dry_run: bool) -> Pruned;
    }
    reads! {
        session(id: &SessionId) -> Option<Session>;
        find(name: &str, meant: Meant) -> SessionId;
        tip(id: &SessionId) -> SessionId;
        list(filter: SessionFilter, order: ListOrder, limit: usize, offset: usize) -> Vec<SessionSummary>;
        next_title(title: &str) -> String;
        lineage(id: &SessionId) -> Vec<Relative>;
        facts() -> StoreFacts;
    }
}

impl Transcript for Failing {
    writes! {
        append(id: &SessionId, messages: Vec<NewMessage>) -> Vec<MessageId>;
        compact(id: &SessionId, upto: MessageId, messages: Vec<NewMessage>) -> Vec<MessageId>;
        rewind(id: &SessionId, to: MessageId) -> u64;
        revise(id: &SessionId, message: MessageId, new: NewMessage) -> ();
        clear(id: &SessionId) -> u64;
    }
    reads! {
        messages(id: &SessionId) -> Vec<StoredMessage>;
        conversation(id: &SessionId, span: Span) -> Vec<(MessageId, Message)>;
        message(message: MessageId) -> Option<StoredMessage>;
        around(id: &SessionId, message: MessageId, window: usize) -> Vec<StoredMessage>;
        export(id: &SessionId) -> Option<Export>;
    }
}

impl Search for Failing {
    reads! { search(query: SearchQuery) -> Found; }
}

impl Ledger for Failing {
    writes! {
        record_call(call: CallRecord) -> ();
        record_turn(turn: TurnRecord) -> ();
        record_compression(compression: CompressionRecord) -> ();
        set_summary_rest(session: &SessionId, rest: SummaryRest) -> ();
        begin_effect(effect: EffectRecord) -> ();
        end_effect(session: &SessionId, call: &CallId, state: EffectState, at: Moment) -> ();
    }
    reads! {
        open_effects(session: &SessionId) -> Vec<EffectRecord>;
        compressions(session: &SessionId) -> Vec<CompressionRecord>;
        summary_rest(session: &SessionId) -> SummaryRest;
        usage(session: Option<&SessionId>) -> Vec<UsageRow>;
        bill(session: &SessionId) -> Bill;
        spent(since: Moment) -> Spent;
        insights(from: Moment, to: Moment, source: Option<&str>) -> Insights;
    }
}

impl Tape for Failing {
    writes! {
        record_exchange(exchange: Exchange) -> ();
    }
    reads! {
        exchanges(session: &SessionId, limit: usize, offset: usize) -> Vec<Exchange>;
        breaks(session: &SessionId) -> Vec<Break>;
    }
}

/// A turn with a bit of everything that is written down.
fn turn() -> Vec<Act> {
    vec![
        Act::Calls { text: "First.", kinds: vec![Kind::Look, Kind::Change, Kind::Again], dropped: true },
        Act::Says("", StopReason::Stop),
        Act::Calls { text: "", kinds: vec![Kind::Unknown, Kind::Change], dropped: false },
        Act::Drops(""),
        Act::Says("One, ", StopReason::Length),
        Act::Says("two.", StopReason::Stop),
    ]
}

/// Plays the turn with a disk that fails at this write; what came of it, the log, and the calls that changed something.
async fn played(stage: &Stage, at: usize, breaks: Breaks) -> (Outcome, Vec<String>, Vec<Value>) {
    let id = format!("20260102_030405_{:06x}", at * 2 + usize::from(breaks == Breaks::Once));
    let log: Log = Arc::default();
    let diary = log.clone();
    Puppet::looking("look").on(stage);
    let change = Puppet::doing("change", move |arguments, _| {
        diary.lock().unwrap().push("ran change".to_owned());
        async move { answer(&arguments) }
    })
    .on(stage);
    let model = Scripted::new(&turn(), false, false);
    let store = Failing { store: stage.store.clone(), at, breaks, log: log.clone() };
    let kit = Kit { switchboard: model.clone(), store: Some(Arc::new(store)), ..stage.kit.clone() };
    let mut agent = Agent::begin(Arc::new(kit), stage.beginning(&id));
    let (stop, inbox) = (Stop::new(), agent.inbox());
    model.begin(&stop, &inbox);
    inbox.steer("Quickly.");
    let outcome = agent.run_conversation("Go.", &stop).await;
    arrived_once("Quickly.", stage, &agent, &outcome).await;
    let written = log.lock().unwrap().clone();
    asks_again(stage, &mut agent, &model, at, breaks).await;
    let log = written;
    // A session whose first question could not be kept is taken away again, and the person told.
    let happened = |what: &str| log.iter().any(|line| line == what);
    if happened("create") && !happened("delete_if_empty") {
        taken_up_again(stage, &id, at, breaks).await;
    }
    (outcome, log, change.ran())
}

/// A word of the person is part of the conversation that will be gone on with, or was given back.
async fn arrived_once(word: &str, stage: &Stage, agent: &Agent, outcome: &Outcome) {
    let on_disk = match stage.store.session(agent.session()).await.unwrap() {
        Some(_) => stage.on_disk(agent.session()).await,
        None => Vec::new(),
    };
    // A conversation whose first question was not taken is kept nowhere.
    let talk = if on_disk.is_empty() { in_memory(agent) } else { on_disk };
    let said = told(&talk).iter().filter(|line| line.contains(word)).count();
    let given_back = outcome.undelivered.iter().filter(|left| *left == word).count();
    assert_eq!(said + given_back, 1, "{word}: {:?} {:?} {talk:#?}", outcome.end, outcome.not_kept);
}

/// The same program goes on: what it holds in memory and what is on disk are one conversation again, or it says that
/// nothing is kept. The person is answered either way.
async fn asks_again(stage: &Stage, agent: &mut Agent, model: &Arc<Scripted>, at: usize, breaks: Breaks) {
    model.forget_moves();
    model.begin(&Stop::new(), &agent.inbox());
    let outcome = agent.run_conversation("What now?", &Stop::new()).await;
    let history = told(&in_memory(agent));
    let case = format!("write {at}, {breaks:?}: {:?} {:?} {history:#?}", outcome.end, outcome.not_kept);
    assert_eq!(outcome.text.as_deref(), Some("The end."), "{case}");
    match outcome.not_kept {
        None => assert_eq!(stage.on_disk(agent.session()).await, in_memory(agent), "{case}"),
        Some(_) => assert!(breaks == Breaks::ForGood || at < 3, "{case}"),
    }
}

/// With a disk that works again, another program goes on with what is there.
async fn taken_up_again(stage: &Stage, id: &str, at: usize, breaks: Breaks) {
    let model = Scripted::new(&[], false, false);
    let kit = Arc::new(Kit { switchboard: model.clone(), ..stage.kit.clone() });
    let mut agent = Agent::resume(kit, stage.beginning(id)).await.unwrap();
    model.begin(&Stop::new(), &agent.inbox());
    stage.turn(&mut agent, Asked::GoOn).await;
    let outcome = stage.turn(&mut agent, "And now?").await;
    let history = told(&in_memory(&agent));
    assert_eq!(outcome.text.as_deref(), Some("The end."), "write {at}, {breaks:?}: {history:#?}");
}

#[tokio::test]
async fn whichever_write_fails_nothing_runs_unrecorded_and_the_outcome_says_so() {
    let stage = Stage::build(Plan::default()).await;
    for breaks in [Breaks::Once, Breaks::ForGood] {
        let mut at = 0;
        loop {
            let (outcome, log, changed) = played(&stage, at, breaks).await;
            let case = format!("write {at}, {breaks:?}: {:?} {:?} {log:#?}", outcome.end, outcome.not_kept);
            on_record(&log, &case);
            let numbers: BTreeSet<u64> = changed.iter().filter_map(|arguments| arguments["n"].as_u64()).collect();
            assert_eq!(
                numbers.len(),
                changed.len(),
                "nothing is done twice, also not when it is taken up again: {case}"
            );
            if !log.iter().any(|line| line.starts_with("refused")) {
                // Past the last write of the turn.
                assert_eq!((outcome.text.as_deref(), outcome.not_kept.as_deref()), (Some("One, two."), None), "{case}");
                assert!(at > 15, "a turn with a bit of everything: {at} writes");
                break;
            }
            let blocked = log.iter().any(|line| line == "refused begin_effect");
            // A turn that could not be announced to other programs is kept as a whole nevertheless.
            let unannounced = log.iter().filter(|line| line.starts_with("refused")).all(|line| line == "refused take");
            let said = unannounced || outcome.not_kept.is_some() || outcome.kind() == OutcomeKind::Failed || blocked;
            assert!(said, "what was lost is said: {case}");
            assert!(!matches!(outcome.end, End::Aborted(_)), "it was the disk, not a tool: {case}");
            at += 1;
        }
    }
}

/// Before a call that changes something runs, the reply that asked for it and its beginning are on disk.
fn on_record(log: &[String], case: &str) {
    if log.iter().any(|line| line == "refused create" || line.ends_with("delete_if_empty")) {
        // There is no record at all, which the person was told before anything began.
        return;
    }
    let mut begun = 0;
    for line in log {
        match line.as_str() {
            "begin_effect" => begun += 1,
            "ran change" => {
                assert!(begun > 0, "it ran unrecorded: {case}");
                begun -= 1;
            }
            _ => {}
        }
    }
}

/// A queued message that could not be kept costs neither the answer before it nor itself.
#[tokio::test]
async fn a_message_behind_the_answer_is_kept_or_given_back() {
    let stage = Stage::build(Plan::default()).await;
    for at in 0..12 {
        let model = Scripted::new(&[Act::Says("Yes.", StopReason::Stop)], false, false);
        let store = Failing { store: stage.store.clone(), at, breaks: Breaks::Once, log: Log::default() };
        let kit = Kit { switchboard: model.clone(), store: Some(Arc::new(store)), ..stage.kit.clone() };
        let mut agent = Agent::begin(Arc::new(kit), stage.beginning(&format!("20260102_030406_{at:06x}")));
        model.begin(&Stop::new(), &agent.inbox());
        agent.inbox().queue("Sure?");
        let outcome = agent.run_conversation("Go.", &Stop::new()).await;
        arrived_once("Sure?", &stage, &agent, &outcome).await;
        let expected = if outcome.undelivered.is_empty() { "The end." } else { "Yes." };
        assert_eq!((outcome.text.as_deref(), outcome.kind()), (Some(expected), OutcomeKind::Answered), "write {at}");
    }
}

/// A session that this program gives up is free for others.
#[tokio::test]
async fn a_session_that_cannot_be_kept_is_let_go() {
    let stage = Stage::build(Plan::default()).await;
    let model = Scripted::new(&[], false, false);
    let log = Log::default();
    let second_question = 8;
    let store = Failing { store: stage.store.clone(), at: second_question, breaks: Breaks::Once, log: log.clone() };
    let kit = Kit { switchboard: model.clone(), store: Some(Arc::new(store)), ..stage.kit.clone() };
    let mut agent = Agent::begin(Arc::new(kit), stage.beginning("20260102_030407_000000"));
    for question in ["Go.", "And now?"] {
        model.begin(&Stop::new(), &agent.inbox());
        agent.run_conversation(question, &Stop::new()).await;
    }
    let log = log.lock().unwrap().clone();
    let refused = log.iter().position(|line| line == "refused append").unwrap_or_else(|| panic!("{log:#?}"));
    assert_eq!(log[refused - 1], "take", "{log:#?}");
    assert!(log[refused..].iter().any(|line| line == "let_go"), "{log:#?}");
}

#[tokio::test]
async fn without_a_store_the_conversation_is_the_same() {
    let stage = Stage::build(Plan::default()).await;
    Puppet::looking("look").on(&stage);
    Puppet::changing("change").on(&stage);
    let model = Scripted::new(&turn(), false, false);
    let kit = Kit { switchboard: model.clone(), store: None, ..stage.kit.clone() };
    let mut agent = Agent::begin(Arc::new(kit), stage.beginning("20260102_030405_ffffff"));
    model.begin(&Stop::new(), &agent.inbox());
    agent.inbox().steer("Quickly.");
    let outcome = agent.run_conversation("Go.", &Stop::new()).await;
    assert_eq!((outcome.text.as_deref(), outcome.not_kept), (Some("One, two."), None));
    assert!(
        told(&in_memory(&agent)).iter().any(|line| line.contains("Quickly.")),
        "{}",
        json!(told(&in_memory(&agent)))
    );
}
