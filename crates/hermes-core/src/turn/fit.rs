//! Keeps the conversation within the window of its model: before each question by the meter, and when a provider finds
//! it too long.
//!
//! A pass that fails leaves the conversation as it was, on disk and in memory, and the person is told why.

use super::outcome::{End, Interrupted};
use super::state::{Turn, lost};
use crate::ask::{self, ask};
use crate::context::{Compressed, Declined, Job, Material, Policy, Room, Scribe, Trigger};
use crate::conversation::Conversation;
use crate::ports::{Card, ForTask};
use crate::receipt::Receipt;
use crate::stop::Stop;
use futures_util::future::BoxFuture;
use hermes_types::{
    CompressionRecord, Event, Fault, FaultKind, Message, Notice, Reply, Request, SessionId, TurnScene, TurnStart,
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
/// What a summary is in the books.
const TASK: &str = "compression";

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
            if !self.is_too_long(room) || !self.shorten(Trigger::Threshold, room, stop).await? {
                break;
            }
        }
        Ok(())
    }

    /// The model that will be asked; none when nobody can be: asking will tell why.
    async fn reach(&mut self, stop: &Stop) -> Result<Option<Card>, End> {
        match ask::reach(&mut self.talk.line, &self.ports.asking(), stop).await {
            Ok(model) => Ok(Some(model.card().clone())),
            Err(fault) if fault.kind == FaultKind::Interrupted => Err(End::Interrupted(Interrupted::WhileAsking)),
            Err(_) => Ok(None),
        }
    }

    fn room(&self, policy: &Policy, window: u64, card: &Card) -> Room {
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
            if self.shorten(Trigger::Overflow, room, stop).await? {
                return Ok(true);
            }
        }
        let left = ask::leave(&mut self.talk.line, fault, &self.ports.asking(), stop).await;
        left.map_err(|_stopped| End::Interrupted(Interrupted::WhileAsking))
    }

    /// One pass. Whether the conversation is shorter now.
    async fn shorten(&mut self, trigger: Trigger, room: Room, stop: &Stop) -> Result<bool, End> {
        let began = self.clock();
        let before = Size::of(self.talk);
        let made = match self.talk.idle_passes >= IDLE_PASSES {
            true => Err(Declined::HardlyShorter),
            false => self.make_shorter(trigger, room, before.tokens, stop).await?,
        };
        let made = match made {
            Ok(made) => self.take_over(made).await,
            declined => declined,
        };
        match made {
            Ok(made) => {
                self.declined_at = None;
                self.tell_compressed(trigger, before, made, began).await?;
                // A summary costs something too: what follows is asked for only if there is something left.
                self.may_go_on(stop)?;
                Ok(true)
            }
            Err(Declined::Interrupted) => Err(End::Interrupted(Interrupted::WhileAsking)),
            Err(declined) => {
                self.declined_at = Some(before.tokens);
                self.notice(Notice::NotCompressed { tokens: before.tokens, reason: declined.to_string() });
                Ok(false)
            }
        }
    }

    async fn make_shorter(
        &mut self,
        trigger: Trigger,
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
        let rows = self.ports.book.rows().await;
        let scribe = Author { turn: self, trigger, stop, receipts: Mutex::default() };
        let job = Job {
            history: self.talk.history(),
            sent: self.talk.read(),
            room,
            policy: economy.policy,
            rows: &rows,
            focus: None,
            trigger,
            meter: self.talk.meter(),
        };
        let made = economy.engine.compress(job, &scribe).await;
        let receipts = scribe.receipts.into_inner().unwrap_or_else(PoisonError::into_inner);
        for receipt in receipts {
            // The prompt of the conversation is still the one that was counted last.
            let last_prompt = self.last_prompt;
            self.count_receipt(Some(&receipt));
            self.last_prompt = last_prompt;
            self.ports.book.paid_for(TASK, Some(&receipt)).await.map_err(lost)?;
        }
        Ok(made)
    }

    /// The shorter conversation, on disk and then in memory.
    async fn take_over(&mut self, made: Compressed) -> Result<Compressed, Declined> {
        let economy = self.ports.economy;
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

    async fn tell_compressed(
        &mut self,
        trigger: Trigger,
        before: Size,
        made: Compressed,
        began: Duration,
    ) -> Result<(), End> {
        let after = Size::of(self.talk);
        let took = self.clock().saturating_sub(began);
        let saved = before.tokens.saturating_sub(after.tokens);
        self.talk.idle_passes = if saved < before.tokens / HARDLY { self.talk.idle_passes + 1 } else { 0 };
        if let Some(why) = made.warning {
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
        let record = CompressionRecord {
            session: before.session.clone(),
            child: Some(self.talk.session.clone()).filter(|child| *child != before.session),
            at: self.ports.book.now(),
            tokens_before: before.tokens,
            tokens_after: after.tokens,
            messages_before: u64::try_from(before.messages).unwrap_or(u64::MAX),
            messages_after: u64::try_from(after.messages).unwrap_or(u64::MAX),
            stopped: None,
            took,
            model: made.model,
            phase: made.phase.as_str().to_owned(),
            trigger: trigger.as_str().to_owned(),
        };
        self.ports.book.compressed(record).await.map_err(lost)
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
}

/// Has summaries written: by the one who was chosen for it, else by the model of the conversation, which has read it.
struct Author<'a, 't> {
    turn: &'a Turn<'t>,
    trigger: Trigger,
    stop: &'a Stop,
    /// What has to be paid.
    receipts: Mutex<Vec<Receipt>>,
}

impl Scribe for Author<'_, '_> {
    fn summarise<'a>(&'a self, material: Material<'a>) -> BoxFuture<'a, Result<Reply, Fault>> {
        Box::pin(self.write(material))
    }
}

impl Author<'_, '_> {
    async fn write(&self, material: Material<'_>) -> Result<Reply, Fault> {
        if let Some(chosen) = self.turn.ports.economy.scribe {
            let written = tokio::select! {
                biased;
                () = self.stop.wait() => Err(Fault::new(FaultKind::Interrupted, "interrupted")),
                written = chosen.summarise(material.clone()) => written,
            };
            match written {
                Ok(reply) if !reply.text().trim().is_empty() => return Ok(reply),
                Err(fault) if fault.kind == FaultKind::Interrupted => return Err(fault),
                Ok(_) => self.turn.tell_stand_in("it wrote nothing"),
                Err(fault) => self.turn.tell_stand_in(&fault.message),
            }
        }
        self.ask_main(&material).await
    }

    async fn ask_main(&self, material: &Material<'_>) -> Result<Reply, Fault> {
        let Turn { talk, ports, .. } = self.turn;
        let request = match self.trigger {
            // What was too long once is too long with one message more.
            Trigger::Overflow => Request::new("", [Message::user(material.alone())]),
            Trigger::Threshold | Trigger::Manual | Trigger::Hygiene => {
                talk.aside(material.extent().0, Message::user(material.instructions()))
            }
        };
        let recorder = ForTask { task: TASK, recorder: ports.book };
        // What it writes is not for the person; what holds it up is.
        let listener = |event: Event| {
            if let Event::Notice { .. } = event {
                ports.listener.hear(event);
            }
        };
        let asking = ask::Ports { listener: &listener, recorder: &recorder, ..ports.asking() };
        let mut line = talk.line.aside();
        let began = ports.clock.elapsed();
        let reply = ask(request, &mut line, ports.manner, &asking, self.stop).await?;
        let took = ports.clock.elapsed().saturating_sub(began);
        if let (Some(model), Some(usage)) = (line.model(), reply.usage) {
            let receipt = Receipt::of(&**model, usage, took);
            self.receipts.lock().unwrap_or_else(PoisonError::into_inner).push(receipt);
        }
        Ok(reply)
    }
}

impl Turn<'_> {
    /// The chosen one failed; the model of the conversation does it instead.
    fn tell_stand_in(&self, why: &str) {
        let text =
            format!("the model for summaries (auxiliary.compression) did not write one, the main model does: {why}");
        self.notice(Notice::Warning { text });
    }
}
