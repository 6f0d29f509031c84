//! The record of a conversation, written before anything is acted on.
//!
//! The question before it is asked, a reply before its calls run, a call that may change the world before it does, its
//! result before the next question. What a method returned `Ok` for survives `kill -9`. Where there is no store the
//! person was told so, and everything is `Ok`; a store that fails in the middle of a turn is an error, because going on
//! would lose what happens.

mod shorter;

use crate::clock::Clock;
use crate::ports::Recorder;
use crate::receipt::Receipt;
use crate::store::{SessionStore, StoreError};
use hermes_types::{
    CallId, Content, Disposition, EffectRecord, EffectState, Exchange, Finished, Message, MessageId, Moment,
    NewMessage, Reply, Run, Scene, SessionId, Span, ToolCall, ToolStatus, Touch, TurnRecord, TurnScene,
};
use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

/// Conversations that this process took into memory, so that two within one tick of the clock are told apart.
static RUNS: AtomicU64 = AtomicU64::new(0);

pub struct Book {
    store: Option<Arc<dyn SessionStore>>,
    /// Why nothing is kept any more, where a store was there and could not be used.
    unusable: OnceLock<String>,
    session: Mutex<SessionId>,
    clock: Arc<dyn Clock>,
    /// Where the results of the reply in work are kept, and which of its calls have begun an effect.
    open: Mutex<Open>,
    /// The newest message on disk that the conversation in memory holds.
    newest: Mutex<Option<MessageId>>,
    run: Run,
    /// What the turn in work began with, for the record of what it asks.
    turn: Mutex<Option<TurnScene>>,
    /// What went over the wire and is not on disk yet.
    exchanges: Mutex<Vec<Exchange>>,
    memory: Mutex<Memory>,
    /// Why something of the turn in work could not be written.
    lost: Mutex<Option<String>>,
    /// Another program was in the middle of a turn when the last one was to begin here.
    refused: AtomicBool,
}

/// How the conversation in memory stands to the one on disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Memory {
    /// Both are the same.
    InStep,
    /// A turn is under way. Whoever finds this when a turn begins knows that the one before was dropped in the middle.
    AtWork,
    /// Something could not be written down: what is on disk counts.
    Astray,
    /// Nobody holds it: without the disk there is nothing to go on with.
    Resting,
}

#[derive(Default)]
struct Open {
    rows: HashMap<CallId, MessageId>,
    effects: Vec<CallId>,
}

/// What became of a reply on disk. Only what was kept may be gone on from.
pub(crate) struct Replied {
    pub(crate) message: Result<(), StoreError>,
    pub(crate) cost: Result<(), StoreError>,
}

impl Book {
    pub fn new(store: Option<Arc<dyn SessionStore>>, session: SessionId, clock: Arc<dyn Clock>) -> Self {
        Self {
            store,
            unusable: OnceLock::new(),
            session: Mutex::new(session),
            run: Run { since: clock.now().into(), nth: RUNS.fetch_add(1, Ordering::Relaxed) },
            clock,
            open: Mutex::default(),
            turn: Mutex::default(),
            newest: Mutex::default(),
            exchanges: Mutex::default(),
            memory: Mutex::new(Memory::InStep),
            lost: Mutex::default(),
            refused: AtomicBool::new(false),
        }
    }

    /// Where the conversation is kept now.
    pub fn session(&self) -> SessionId {
        self.session.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Where the conversation is kept, if it is.
    pub fn store(&self) -> Option<&Arc<dyn SessionStore>> {
        self.store.as_ref().filter(|_| self.unusable.get().is_none())
    }

    /// The conversation goes on without a record, and its outcomes say why.
    pub fn give_up(&self, reason: impl Into<String>) {
        // The first reason is the one that counts.
        let _ = self.unusable.set(reason.into());
    }

    pub fn unusable(&self) -> Option<&str> {
        self.unusable.get().map(String::as_str)
    }

    pub fn now(&self) -> Moment {
        self.clock.now().into()
    }

    /// What was read from the disk when the conversation was resumed goes up to here.
    #[must_use]
    pub fn read_up_to(self, newest: Option<MessageId>) -> Self {
        self.holds(newest);
        self
    }

    /// Takes the session for a turn. Where the disk has another conversation than memory, because other programs went on
    /// with it or the last turn here was dropped or could not be written, the whole of it comes back.
    pub(crate) async fn enter(&self) -> Result<Option<Vec<Message>>, StoreError> {
        *self.lost.lock().unwrap_or_else(PoisonError::into_inner) = None;
        let Some(store) = self.store() else { return Ok(None) };
        let taken = self.take(&**store).await;
        let refused = matches!(taken, Err(StoreError::Taken { .. }));
        self.refused.store(refused, Ordering::Relaxed);
        let before = *self.memory();
        let newest = match taken {
            Ok(newest) => newest,
            Err(error) if refused || before == Memory::Resting => return Err(error),
            // Somebody was quicker once more: what was continued is not written to any more.
            Err(error @ StoreError::GoesOn { .. }) => return Err(error),
            // What is in memory will do. The fault comes back to whoever writes next, and is told there.
            Err(_) => {
                *self.memory() = if before == Memory::InStep { Memory::AtWork } else { Memory::Astray };
                return Ok(None);
            }
        };
        let known = *self.newest.lock().unwrap_or_else(PoisonError::into_inner);
        if before == Memory::InStep && newest == known {
            *self.memory() = Memory::AtWork;
            return Ok(None);
        }
        let whole = store.conversation(&self.session(), Span::Own).await?;
        *self.newest.lock().unwrap_or_else(PoisonError::into_inner) = newest;
        *self.memory() = Memory::AtWork;
        Ok(Some(whole.into_iter().map(|(_, message)| message).collect()))
    }

    /// Takes the session, or the one in which another program went on with a shorter conversation.
    async fn take(&self, store: &dyn SessionStore) -> Result<Option<MessageId>, StoreError> {
        match store.take(&self.session()).await {
            Err(StoreError::GoesOn { session, .. }) => {
                let tip = store.tip(&session).await?;
                *self.session.lock().unwrap_or_else(PoisonError::into_inner) = tip.clone();
                *self.newest.lock().unwrap_or_else(PoisonError::into_inner) = None;
                store.take(&tip).await
            }
            taken => taken,
        }
    }

    /// A turn begins behind what is known; `scene` gets when and where that is.
    pub(crate) fn turn_begins(&self, scene: TurnScene) {
        let after = *self.newest.lock().unwrap_or_else(PoisonError::into_inner);
        let mut turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        let nth = turn.as_ref().map_or(1, |before| before.nth + 1);
        *turn = Some(TurnScene { run: self.run, nth, after, ..scene });
    }

    /// The turn is over, and was not dropped: what was written is what is in memory.
    pub(crate) fn turn_is_over(&self) {
        let mut memory = self.memory();
        if *memory == Memory::AtWork {
            *memory = Memory::InStep;
        }
    }

    /// Lets others have the session.
    pub(crate) async fn leave(&self) -> Result<(), StoreError> {
        match self.store() {
            Some(store) => store.let_go(&self.session()).await,
            None => Ok(()),
        }
    }

    /// Whether all of the conversation is on disk, so that nobody has to hold it. The next turn reads it again.
    #[must_use]
    pub fn rest(&self) -> bool {
        if self.store().is_none() {
            return false;
        }
        *self.open() = Open::default();
        *self.newest.lock().unwrap_or_else(PoisonError::into_inner) = None;
        *self.memory() = Memory::Resting;
        true
    }

    /// Whether another program has the session: it is not ours to end.
    pub fn is_elsewhere(&self) -> bool {
        self.refused.load(Ordering::Relaxed)
    }

    fn holds(&self, newest: Option<MessageId>) {
        let mut known = self.newest.lock().unwrap_or_else(PoisonError::into_inner);
        *known = (*known).max(newest);
    }

    /// Keeps messages of this conversation, all or none; the newest of them comes back.
    async fn append(
        &self,
        store: &dyn SessionStore,
        messages: Vec<NewMessage>,
    ) -> Result<Option<MessageId>, StoreError> {
        let rows = store.append(&self.session(), messages).await;
        let row = self.unless_lost(rows)?.last().copied();
        self.holds(row);
        Ok(row)
    }

    async fn revise(&self, store: &dyn SessionStore, row: MessageId, new: NewMessage) -> Result<(), StoreError> {
        let revised = store.revise(&self.session(), row, new).await;
        self.unless_lost(revised)
    }

    /// Remembers that the disk lacks what memory holds.
    fn unless_lost<T>(&self, written: Result<T, StoreError>) -> Result<T, StoreError> {
        if let Err(error) = &written {
            *self.memory() = Memory::Astray;
            let mut lost = self.lost.lock().unwrap_or_else(PoisonError::into_inner);
            lost.get_or_insert_with(|| error.to_string());
        }
        written
    }

    /// Why something of this turn is not on disk, where it should be.
    pub(crate) fn lost(&self) -> Option<String> {
        let lost = self.lost.lock().unwrap_or_else(PoisonError::into_inner);
        lost.clone().filter(|_| self.unusable().is_none())
    }

    /// What the person, or the loop in their name, said.
    pub(crate) async fn said(&self, message: NewMessage) -> Result<(), StoreError> {
        let Some(store) = self.store() else { return Ok(()) };
        self.append(&**store, vec![message]).await.map(|_| ())
    }

    /// The conversation goes on without a record; whoever has a better disk may have the session.
    pub(crate) async fn do_without(&self, reason: String) {
        if let Some(store) = self.store() {
            // The reason is told; what else stays behind on a disk that refuses to be written is no news beside it.
            let _ = store.delete_if_empty(&self.session()).await;
            let _ = store.let_go(&self.session()).await;
        }
        self.give_up(reason);
    }

    /// A reply with what it cost, and what the loop says to it. Begins the record of its calls.
    pub(crate) async fn replied(&self, reply: &Reply, answer: Option<&Message>, receipt: Option<&Receipt>) -> Replied {
        *self.open() = Open::default();
        let Some(store) = self.store() else { return Replied { message: Ok(()), cost: Ok(()) } };
        let tokens = reply.usage.map(|usage| usage.output);
        let said = NewMessage { token_count: tokens, ..Message::Assistant(reply.message.clone()).into() };
        let kept = self.append(&**store, std::iter::once(said).chain(answer.cloned().map(Into::into)).collect());
        // All in the queue of the writer at once, so that they are one write.
        let (kept, cost) = tokio::join!(kept, self.paid(receipt));
        Replied { message: kept.map(|_| ()), cost }
    }

    /// A call of a model whose reply is not part of the conversation, but was paid for.
    pub(crate) async fn paid(&self, receipt: Option<&Receipt>) -> Result<(), StoreError> {
        self.paid_for("", receipt).await
    }

    /// The same for a job beside the conversation.
    pub(crate) async fn paid_for(&self, task: &str, receipt: Option<&Receipt>) -> Result<(), StoreError> {
        let Some(store) = self.store() else { return Ok(()) };
        let paid = async {
            match receipt {
                Some(receipt) => store.record_call(receipt.record(self.session(), self.now(), task)).await,
                None => Ok(()),
            }
        };
        let (paid, ()) = tokio::join!(paid, self.keep_exchanges());
        paid
    }

    /// Puts what went over the wire on disk. A recording that is missing costs a replay, never a turn.
    async fn keep_exchanges(&self) {
        let exchanges = std::mem::take(&mut *self.exchanges.lock().unwrap_or_else(PoisonError::into_inner));
        let Some(store) = self.store() else { return };
        let keeping = exchanges.into_iter().map(|exchange| store.record_exchange(exchange));
        // What keeps a recording from the disk keeps the reply beside it from there too, and that is told.
        let _ = futures_util::future::join_all(keeping).await;
    }

    /// A call is about to run. What may change the world is written down first.
    pub async fn begins(&self, call: &ToolCall, touch: Touch) -> Result<(), StoreError> {
        let (Some(store), Touch::Changes) = (self.store(), touch) else { return Ok(()) };
        let effect = EffectRecord {
            session: self.session(),
            call: call.id.clone(),
            tool: call.function.name.clone(),
            started_at: self.now(),
            ended_at: None,
            state: EffectState::Begun,
        };
        store.begin_effect(effect).await?;
        self.open().effects.push(call.id.clone());
        Ok(())
    }

    /// The result of a call. The last word about a call counts.
    pub async fn ended(&self, finished: &Finished) -> Result<(), StoreError> {
        let Some(store) = self.store() else { return Ok(()) };
        let (row, begun) = {
            let open = self.open();
            (open.rows.get(&finished.call).copied(), open.effects.contains(&finished.call))
        };
        let message = NewMessage::from(finished.message());
        if let Some(row) = row {
            return self.revise(&**store, row, message).await;
        }
        // In this order, one behind the other: an effect that is known as done without its result would be run again.
        if let Some(row) = self.append(&**store, vec![message]).await? {
            self.open().rows.insert(finished.call.clone(), row);
        }
        if !begun {
            return Ok(());
        }
        let ended = store.end_effect(&self.session(), &finished.call, state(finished), self.now()).await;
        self.unless_lost(ended)
    }

    /// Whether the result of this call was kept in this run, so that it can still be added to.
    pub(crate) fn can_amend(&self, call: &CallId) -> bool {
        self.store().is_none() || self.open().rows.contains_key(call)
    }

    /// What the model is given in place of a result that is kept as it was.
    pub(crate) async fn sent_instead(&self, call: &CallId, clean: Message, sent: Content) -> Result<(), StoreError> {
        let row = self.open().rows.get(call).copied();
        let (Some(store), Some(row)) = (self.store(), row) else { return Ok(()) };
        self.revise(&**store, row, NewMessage { sent: Some(sent), ..clean.into() }).await
    }

    /// Of the calls that have no result, those that began to change something, or may have, where the record cannot be
    /// asked; with the tool that ran, which is another than the one that was called where a call was passed on.
    /// What else is found begun has its result:
    /// the end came between the two, and the books are closed now, so that a provider which gives the same id once more
    /// is not told of an old call.
    pub(crate) async fn left_begun(&self, left: &[ToolCall]) -> Result<BTreeMap<CallId, String>, StoreError> {
        let Some(store) = self.store() else {
            let is_lost = self.unusable().is_some();
            let lost = left.iter().filter(|_| is_lost);
            return Ok(lost.map(|call| (call.id.clone(), call.function.name.clone())).collect());
        };
        let mut begun = BTreeMap::new();
        for effect in store.open_effects(&self.session()).await? {
            match left.iter().any(|call| call.id == effect.call) {
                true => {
                    begun.insert(effect.call, effect.tool);
                }
                false => store.end_effect(&self.session(), &effect.call, EffectState::Done, self.now()).await?,
            }
        }
        Ok(begun)
    }

    /// The model was told that nobody knows what became of this.
    pub(crate) async fn given_up(&self, call: &CallId) -> Result<(), StoreError> {
        let Some(store) = self.store() else { return Ok(()) };
        store.end_effect(&self.session(), call, EffectState::Unknown, self.now()).await
    }

    pub(crate) async fn turn_ended(&self, turn: TurnRecord) -> Result<(), StoreError> {
        let Some(store) = self.store() else { return Ok(()) };
        let (recorded, ()) = tokio::join!(store.record_turn(turn), self.keep_exchanges());
        recorded
    }

    fn open(&self) -> MutexGuard<'_, Open> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn memory(&self) -> MutexGuard<'_, Memory> {
        self.memory.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Recorder for Book {
    fn exchanged(&self, exchange: Exchange) {
        if self.store().is_some() {
            let upto = *self.newest.lock().unwrap_or_else(PoisonError::into_inner);
            let turn = *self.turn.lock().unwrap_or_else(PoisonError::into_inner);
            let scene = Scene { upto, turn, ..exchange.scene };
            let exchange = Exchange { session: self.session(), scene, ..exchange };
            self.exchanges.lock().unwrap_or_else(PoisonError::into_inner).push(exchange);
        }
    }
}

fn state(finished: &Finished) -> EffectState {
    match (finished.disposition, finished.status) {
        (Disposition::Unknown, _) => EffectState::Unknown,
        (_, ToolStatus::Done) => EffectState::Done,
        _ => EffectState::Failed,
    }
}
