//! Keeps the conversation within the window of its model: before each question by the meter, and when a provider finds
//! it too long.
//!
//! A pass that fails leaves the conversation as it was, on disk and in memory, and the person is told why.

use super::author::{Author, TASK};
use super::outcome::{End, Interrupted};
use super::state::{Turn, lost};
use crate::ask;
use crate::context::{Compressed, Declined, Job, Notes, Policy, Room, Trigger, rest};
use crate::conversation::Conversation;
use crate::ports::Card;
use crate::stop::Stop;
use hermes_types::{
    CompressionRecord, Event, Fault, FaultKind, Moment, Notice, SessionId, SummaryRest, TurnScene, TurnStart,
};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// Passes before one question.
const PASSES: u32 = 3;
/// Passes in one turn because a provider found the conversation too long.
const OVERFLOWS: u32 = 3;
/// A pass that saves less than one part in so many hardly helped.
const HARDLY: u64 = 10;
/// After so many of those in a row nothing is tried until the conversation is another.
const IDLE_PASSES: u32 = 2;
/// After a pass that came to nothing, the conversation grows by one part in so many before the next.
const GROWTH: u64 = 10;

impl Turn<'_> {
    /// Before a question: as many passes as it takes, up to three.
    pub(super) async fn fit(&mut self, stop: &Stop) -> Result<(), End> {
        let policy = self.ports.economy.policy;
        if !policy.enabled {
            return Ok(());
        }
        let Some(card) = self.reach(stop).await? else { return Ok(()) };
        for _ in 0..PASSES {
            let window = self.talk.line.window().unwrap_or(card.context_window);
            let room = self.room(policy, window, &card);
            if !self.is_too_long(room) || self.pass(Trigger::Threshold.into(), room, stop).await?.is_err() {
                break;
            }
        }
        Ok(())
    }

    /// The model that will be asked; none when nobody can be: asking will tell why.
    pub(super) async fn reach(&mut self, stop: &Stop) -> Result<Option<Card>, End> {
        match ask::reach(&mut self.talk.line, &self.ports.asking(), stop).await {
            Ok(model) => Ok(Some(model.card().clone())),
            Err(fault) if fault.kind == FaultKind::Interrupted => Err(End::Interrupted(Interrupted::WhileAsking)),
            Err(_) => Ok(None),
        }
    }

    pub(super) fn room(&self, policy: &Policy, window: u64, card: &Card) -> Room {
        let output = self.talk.max_output_tokens.or(card.output_cap);
        Room::of(policy, window, output, self.talk.meter().fixed())
    }

    fn is_too_long(&self, room: Room) -> bool {
        let used = self.talk.meter().used();
        used >= room.trigger && self.declined_at.is_none_or(|at| used >= at + at / GROWTH)
    }

    /// A provider found the conversation too long: it is made shorter than what was refused, or another one is asked.
    /// Whether to ask again.
    pub(super) async fn shorten_after(&mut self, fault: &Fault, stop: &Stop) -> Result<bool, End> {
        if !matches!(fault.kind, FaultKind::ContextOverflow | FaultKind::PayloadTooLarge) {
            return Ok(false);
        }
        let Some(card) = self.card().filter(|_| self.talk.line.shortens()) else { return Ok(false) };
        self.overflows += 1;
        if self.overflows <= OVERFLOWS {
            // Whatever the window is said to be, this was too much for it.
            let window = self.talk.line.window().unwrap_or(card.context_window).min(self.talk.meter().used());
            let room = self.room(self.ports.economy.policy, window, &card);
            if self.pass(Trigger::Overflow.into(), room, stop).await?.is_ok() {
                return Ok(true);
            }
        }
        let left = ask::leave(&mut self.talk.line, fault, &self.ports.asking(), stop).await;
        left.map_err(|_stopped| End::Interrupted(Interrupted::WhileAsking))
    }

    /// One pass: what it did, or why it did nothing. Both are told and recorded.
    pub(super) async fn pass(
        &mut self,
        wish: Wish<'_>,
        room: Room,
        stop: &Stop,
    ) -> Result<Result<CompressionRecord, Declined>, End> {
        let began = self.clock();
        let before = Size::of(self.talk);
        let made = match self.talk.idle_passes >= IDLE_PASSES && wish.trigger != Trigger::Manual {
            true => Err(Declined::HardlyShorter),
            false => self.make_shorter(wish, room, before.tokens, stop).await?,
        };
        let made = match made {
            Ok(made) => self.take_over(made, stop).await,
            declined => declined,
        };
        let took = self.clock().saturating_sub(began);
        let record = match made {
            Ok(made) => {
                self.declined_at = None;
                self.told(wish.trigger, &before, made, took)
            }
            Err(Declined::Interrupted) => return Err(End::Interrupted(Interrupted::WhileAsking)),
            Err(declined) => {
                self.declined_at = Some(before.tokens);
                self.notice(Notice::NotCompressed { tokens: before.tokens, reason: declined.to_string() });
                let record = before.record(wish.trigger, &before, None, took, self.ports.book.now());
                let record = CompressionRecord { stopped: Some(declined.to_string()), ..record };
                self.ports.book.compressed(record).await.map_err(lost)?;
                return Ok(Err(declined));
            }
        };
        self.ports.book.compressed(record.clone()).await.map_err(lost)?;
        // A summary costs something too: what follows is asked for only if there is something left.
        self.may_go_on(stop)?;
        Ok(Ok(record))
    }

    async fn make_shorter(
        &mut self,
        wish: Wish<'_>,
        room: Room,
        tokens: u64,
        stop: &Stop,
    ) -> Result<Result<Compressed, Declined>, End> {
        self.notice(Notice::Compressing { tokens });
        let economy = self.ports.economy;
        for hook in self.ports.hooks {
            tokio::select! {
                biased;
                () = stop.wait() => return Ok(Err(Declined::Interrupted)),
                () = hook.shortens(self.talk.history()) => {}
            }
        }
        let (rows, rest) = tokio::join!(self.ports.book.rows(), self.ports.book.summary_rest());
        let scribe = Author { turn: self, trigger: wish.trigger, stop, takings: Mutex::default() };
        let job = Job {
            history: self.talk.history(),
            sent: self.talk.read(),
            room,
            policy: economy.policy,
            rows: &rows,
            focus: wish.focus,
            notes: if economy.keeper.is_some() { Notes::Kept } else { Notes::Nowhere },
            resting: self.rests_for(&rest).filter(|_| wish.trigger != Trigger::Manual),
            trigger: wish.trigger,
            meter: self.talk.meter(),
        };
        let made = economy.engine.compress(job, &scribe).await;
        let takings = scribe.takings.into_inner().unwrap_or_else(PoisonError::into_inner);
        for receipt in takings.receipts {
            // The prompt of the conversation is still the one that was counted last.
            let last_prompt = self.last_prompt;
            self.count_receipt(Some(&receipt));
            self.last_prompt = last_prompt;
            self.ports.book.paid_for(TASK, Some(&receipt)).await.map_err(lost)?;
        }
        if let Some(next) = takings.asked.and_then(|asked| self.rest_after(asked, &rest)) {
            self.ports.book.rest_from_summaries(next).await.map_err(lost)?;
        }
        Ok(made)
    }

    /// How much longer no summary is asked for.
    fn rests_for(&self, rest: &SummaryRest) -> Option<Duration> {
        let left = rest.until?.since(self.ports.book.now());
        (!left.is_zero()).then_some(left)
    }

    /// The rest that follows from how asking went; none where nothing changes.
    fn rest_after(&self, asked: Result<(), Fault>, before: &SummaryRest) -> Option<SummaryRest> {
        match asked {
            Ok(()) => (*before != SummaryRest::default()).then(SummaryRest::default),
            Err(fault) if fault.kind == FaultKind::Interrupted => None,
            Err(fault) => {
                let failures = before.failures + 1;
                let until = self.ports.book.now().plus(rest::after(fault.kind, failures));
                Some(SummaryRest { until: Some(until), failures, reason: Some(fault.message) })
            }
        }
    }

    /// The shorter conversation, on disk and then in memory. What should outlive it is kept first.
    async fn take_over(&mut self, made: Compressed, stop: &Stop) -> Result<Compressed, Declined> {
        let economy = self.ports.economy;
        if let Some(keeper) = economy.keeper.filter(|_| !made.notes.is_empty())
            && let Err(why) = keeper.keep(&made.notes, stop).await
        {
            let text = format!("not everything that should be remembered of this conversation was written down: {why}");
            self.notice(Notice::Warning { text });
        }
        let next = (!economy.policy.in_place).then(|| (economy.next_session)());
        let kept = self.ports.book.go_on_with(&made.history, next).await;
        kept.map_err(|error| Declined::NotKept(error.to_string()))?;
        self.talk.shorten(self.ports.book.session(), made.history.clone());
        self.begins_at = super::open::question_at(self.talk.history()).unwrap_or_default();
        // The iteration that is being prepared belongs to what follows.
        let left = self.iterations.most() - self.iterations.used().saturating_sub(1);
        self.ports.book.turn_begins(TurnScene { iterations: left, ..self.scene(TurnStart::GoOn) });
        Ok(made)
    }

    /// Tells of a pass that made the conversation shorter.
    fn told(&mut self, trigger: Trigger, before: &Size, made: Compressed, took: Duration) -> CompressionRecord {
        let after = Size::of(self.talk);
        let saved = before.tokens.saturating_sub(after.tokens);
        self.talk.idle_passes = if saved < before.tokens / HARDLY { self.talk.idle_passes + 1 } else { 0 };
        if let Some(why) = &made.warning {
            let text = format!("the conversation was made shorter without a summary by a model: {why}");
            self.notice(Notice::Warning { text });
        }
        self.tell(Event::Compressed {
            session_id: self.talk.session.clone(),
            trigger: trigger.as_str().to_owned(),
            phase: made.phase.as_str().to_owned(),
            tokens_before: before.tokens,
            tokens_after: after.tokens,
            messages_before: before.messages,
            messages_after: after.messages,
            duration_ms: u64::try_from(took.as_millis()).unwrap_or(u64::MAX),
            model: made.model.clone(),
        });
        before.record(trigger, &after, Some(made), took, self.ports.book.now())
    }
}

/// Why a conversation is to be made shorter.
#[derive(Debug, Clone, Copy)]
pub(super) struct Wish<'a> {
    pub(super) trigger: Trigger,
    /// What the summary should dwell on.
    pub(super) focus: Option<&'a str>,
}

impl From<Trigger> for Wish<'_> {
    fn from(trigger: Trigger) -> Self {
        Self { trigger, focus: None }
    }
}

/// How long a conversation is.
#[derive(Clone)]
struct Size {
    session: SessionId,
    tokens: u64,
    messages: usize,
}

impl Size {
    fn of(talk: &Conversation) -> Self {
        Self { session: talk.session.clone(), tokens: talk.meter().used(), messages: talk.history().len() }
    }

    /// From this to that, for the books.
    fn record(
        &self,
        trigger: Trigger,
        after: &Self,
        made: Option<Compressed>,
        took: Duration,
        at: Moment,
    ) -> CompressionRecord {
        let wide = |count: usize| u64::try_from(count).unwrap_or(u64::MAX);
        CompressionRecord {
            session: self.session.clone(),
            child: Some(after.session.clone()).filter(|child| *child != self.session),
            at,
            tokens_before: self.tokens,
            tokens_after: after.tokens,
            messages_before: wide(self.messages),
            messages_after: wide(after.messages),
            stopped: None,
            took,
            phase: made.as_ref().map(|made| made.phase.as_str().to_owned()).unwrap_or_default(),
            model: made.and_then(|made| made.model),
            trigger: trigger.as_str().to_owned(),
        }
    }
}
