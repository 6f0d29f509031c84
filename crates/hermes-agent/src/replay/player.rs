//! The world of one recorded turn: models that answer from the tape, hands that give back stored results, a clock that
//! waits for nothing.
//!
//! The models are found where the tape found them: a place that was passed over cannot be used now either, a login was
//! renewed or changed where it was then. Where the tape ends, the person stops the turn.

use super::script::{Recorded, is_said, live};
use super::{Compared, Reason, Verdict};
use bytes::Bytes;
use futures_util::future::BoxFuture;
use futures_util::stream::{self, BoxStream, StreamExt};
use hermes_core::book::Book;
use hermes_core::clock::Clock;
use hermes_core::ports::{Card, Model, Switchboard};
use hermes_core::prompt::steer;
use hermes_core::stop::Stop;
use hermes_core::turn::{Hands, Inbox, Ran};
use hermes_model::receiver::{self, Receiver};
use hermes_types::{
    Answered, CameBy, Delta, Disposition, Exchange, Fault, FaultKind, Finished, Message, MessageId, Request,
    StoredMessage, ToolCall, ToolDefinition, ToolStatus,
};
use std::future::{pending, ready};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

/// Longer than any provider asks to be left alone.
pub(super) const AGES: Duration = Duration::from_secs(10 * 365 * 24 * 60 * 60);

/// What was recorded of one turn, and how far it has been played.
pub(super) struct Reel {
    exchanges: Vec<Recorded>,
    rows: Arc<[StoredMessage]>,
    /// In place of the recorded tools.
    tools: Option<Arc<[ToolDefinition]>>,
    inbox: Arc<Inbox>,
    stop: Stop,
    verdicts: Mutex<Vec<Verdict>>,
}

impl Reel {
    pub(super) fn new(
        exchanges: Vec<Recorded>,
        rows: Arc<[StoredMessage]>,
        tools: Option<Arc<[ToolDefinition]>>,
        inbox: Arc<Inbox>,
        stop: Stop,
    ) -> Self {
        Self { exchanges, rows, tools, inbox, stop, verdicts: Mutex::default() }
    }

    fn verdicts(&self) -> MutexGuard<'_, Vec<Verdict>> {
        self.verdicts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The exchange that the next attempt is.
    fn next(&self) -> Option<&Recorded> {
        self.exchanges.get(self.verdicts().len())
    }

    /// The exchange whose answer the loop has last.
    fn last(&self) -> Option<&Recorded> {
        self.verdicts().len().checked_sub(1).and_then(|last| self.exchanges.get(last))
    }

    /// Holds a request against the recorded one, and gives the answer of then.
    fn play(&self, request: &Request) -> Option<&Exchange> {
        let Recorded { exchange, .. } = self.next()?;
        let verdict = match self.written(request, exchange) {
            Ok(body) if body == exchange.sent.body => Verdict::Same,
            Ok(body) => Verdict::Different(body),
            Err(reason) => Verdict::LeftOut(reason),
        };
        self.verdicts().push(verdict);
        Some(exchange)
    }

    fn written(&self, request: &Request, exchange: &Exchange) -> Result<Bytes, Reason> {
        let receiver = Receiver::of(&exchange.sent)?;
        let way = |exchange: &Exchange| (exchange.provider.clone(), exchange.sent.mode.clone());
        let is_first_way = self.exchanges.first().is_none_or(|first| way(&first.exchange) == way(exchange));
        if is_first_way || self.tools.is_some() {
            return Ok(receiver.body(request).into());
        }
        // The tools were read from what another receiver was told of them, which may be less.
        let tools = receiver::offered(&exchange.sent.body).into();
        Ok(receiver.body(&Request { tools, ..request.clone() }).into())
    }

    /// Puts what the person said between this answer and the next request where the loop looks for it.
    fn say_next_question(&self, upto: Option<MessageId>) {
        let Some(next) = self.next() else { return };
        let said = live(&self.rows).find(|row| Some(row.id) > upto && Some(row.id) <= next.upto() && is_said(row));
        if let Some(said) = said {
            self.inbox.queue(&said.message.text());
        }
    }

    /// The stored results behind a message, as far as the next request holds them.
    fn results(&self, behind: Option<MessageId>) -> impl Iterator<Item = &StoredMessage> {
        let until = self.next().and_then(Recorded::upto);
        let is_held = move |row: &&StoredMessage| Some(row.id) > behind && until.is_none_or(|until| row.id <= until);
        live(&self.rows).filter(is_held).filter(|row| matches!(row.message, Message::Tool(_)))
    }
}

#[derive(Clone)]
pub(super) struct Player {
    reel: Arc<Reel>,
    /// The newest message before the turn.
    after: Option<MessageId>,
}

impl Player {
    pub(super) fn new(reel: Arc<Reel>, after: Option<MessageId>) -> Self {
        Self { reel, after }
    }

    /// What came of every request; those the loop did not come to are told too.
    pub(super) fn judged(self) -> Vec<Compared> {
        let mut verdicts = std::mem::take(&mut *self.reel.verdicts()).into_iter();
        let judge = |recorded: &Recorded| recorded.clone().judged(verdicts.next().unwrap_or(Verdict::NotAsked));
        self.reel.exchanges.iter().map(judge).collect()
    }

    fn model(&self, recorded: &Recorded) -> Arc<dyn Model> {
        let Exchange { provider, model, sent, .. } = &recorded.exchange;
        let card = Card {
            provider: provider.clone(),
            model: model.clone(),
            base_url: sent.url.clone(),
            context_window: u64::MAX,
            output_cap: Receiver::of(sent).ok().and_then(|receiver| receiver.output_cap()),
            stale_after: AGES,
            first_byte_after: None,
            give_up_after: AGES,
        };
        Arc::new(Voice { card, reel: self.reel.clone() })
    }

    /// The model of the next attempt, if it was come by like this.
    fn come_by(&self, way: CameBy) -> Option<Arc<dyn Model>> {
        self.reel.next().filter(|next| next.exchange.scene.came_by == way).map(|next| self.model(next))
    }

    fn at(&self, place: usize) -> Result<Option<Arc<dyn Model>>, Fault> {
        let Some(next) = self.reel.next() else { return Ok(None) };
        match next.exchange.scene.place.cmp(&place) {
            std::cmp::Ordering::Equal => Ok(Some(self.model(next))),
            std::cmp::Ordering::Less => Ok(None),
            std::cmp::Ordering::Greater => {
                Err(Fault::new(FaultKind::NotConfigured, "it could not be used when this was recorded"))
            }
        }
    }
}

impl Switchboard for Player {
    fn open(&self, place: usize) -> BoxFuture<'_, Result<Option<Arc<dyn Model>>, Fault>> {
        Box::pin(ready(self.at(place)))
    }

    fn keep(&self, place: usize) -> BoxFuture<'_, Result<Option<Arc<dyn Model>>, Fault>> {
        Box::pin(ready(self.at(place)))
    }

    fn refresh<'a>(&'a self, _place: usize, _fault: &'a Fault) -> BoxFuture<'a, Result<Option<Arc<dyn Model>>, Fault>> {
        Box::pin(ready(Ok(self.come_by(CameBy::Refresh))))
    }

    fn rotate<'a>(&'a self, _place: usize, _fault: &'a Fault) -> BoxFuture<'a, Option<Arc<dyn Model>>> {
        Box::pin(ready(self.come_by(CameBy::Rotation)))
    }
}

struct Voice {
    card: Card,
    reel: Arc<Reel>,
}

impl Model for Voice {
    fn card(&self) -> &Card {
        &self.card
    }

    fn stream(&self, request: Arc<Request>) -> BoxStream<'static, Result<Delta, Fault>> {
        let Some(exchange) = self.reel.play(&request) else { return self.silence() };
        let sent = Ok(Delta::Sent(Box::new(exchange.sent.clone())));
        match exchange.answer.clone() {
            Answered::Reply(reply) => {
                self.reel.say_next_question(exchange.scene.upto);
                let text = Some(reply.text()).filter(|text| !text.is_empty()).map(|text| Ok(Delta::Text(text)));
                let deltas = [Some(sent), text, Some(Ok(Delta::Done(reply)))];
                stream::iter(deltas.into_iter().flatten()).boxed()
            }
            Answered::Fault(fault) => stream::iter([sent, Err(fault)]).boxed(),
            Answered::Dropped => self.silence(),
        }
    }
}

impl Voice {
    /// Nobody waited for an answer.
    fn silence(&self) -> BoxStream<'static, Result<Delta, Fault>> {
        self.reel.stop.stop();
        stream::once(pending()).boxed()
    }
}

impl Hands for Player {
    fn offered(&self) -> Arc<[ToolDefinition]> {
        let recorded = || self.reel.exchanges.first().map(|first| receiver::offered(&first.exchange.sent.body));
        self.reel.tools.clone().unwrap_or_else(|| recorded().unwrap_or_default().into())
    }

    /// A name that was kept as the model wrote it was understood then, offered or not.
    fn understands(&self, name: &str) -> bool {
        let behind = self.reel.last().map_or(self.after, Recorded::upto);
        let said = live(&self.reel.rows).filter(|row| Some(row.id) > behind).find_map(|row| match &row.message {
            Message::Assistant(said) => Some(said),
            _ => None,
        });
        said.is_some_and(|said| said.tool_calls.iter().any(|call| call.function.name == name))
    }

    fn run<'a>(&'a self, calls: &'a [ToolCall], _book: &'a Book, stop: &'a Stop) -> BoxFuture<'a, Ran> {
        if self.reel.next().is_none() {
            // The turn asked nothing more: it was stopped, or came to a limit.
            stop.stop();
        }
        let behind = self.reel.last().map_or(self.after, Recorded::upto);
        let stored = |call: &ToolCall| self.reel.results(behind).find_map(|row| finished(call, row));
        let results = calls.iter().filter_map(stored).collect();
        let words = |row: &StoredMessage| Some(steer::delivered(&row.sent.as_ref()?.text())?.to_owned());
        if let Some(words) = self.reel.results(behind).find_map(words) {
            self.reel.inbox.steer(&words);
        }
        Box::pin(ready(Ran { results, abort: None }))
    }
}

/// What the store has as the result of a call.
fn finished(call: &ToolCall, row: &StoredMessage) -> Option<Finished> {
    let Message::Tool(result) = &row.message else { return None };
    (result.tool_call_id == call.id).then(|| Finished {
        call: call.id.clone(),
        name: result.name.clone().unwrap_or_else(|| call.function.name.clone()),
        content: result.content.clone(),
        status: ToolStatus::Done,
        disposition: Disposition::Complete,
        took: Duration::ZERO,
    })
}

/// A clock in whose time nothing lasts.
#[derive(Debug, Clone, Copy)]
pub(super) struct StillClock(pub(super) Duration);

impl Clock for StillClock {
    fn elapsed(&self) -> Duration {
        self.0
    }

    /// Nothing of a replay is written down, so that its date shows nowhere.
    fn now(&self) -> SystemTime {
        SystemTime::UNIX_EPOCH
    }

    fn pause(&self, _duration: Duration) -> BoxFuture<'static, ()> {
        Box::pin(ready(()))
    }

    fn alarm(&self, _duration: Duration) -> BoxFuture<'static, ()> {
        Box::pin(pending())
    }
}
