//! The steps of a turn, in the order in which the driver takes them.

use super::names::{meant, nobodys};
use super::outcome::{End, Interrupted};
use super::reading::{Nudge, Strikes};
use super::state::{Turn, lost};
use super::words;
use crate::ask::ask;
use crate::book::Replied;
use crate::prompt::steer;
use crate::stop::Stop;
use hermes_types::{
    AgainReason, Content, Event, FaultKind, Finished, Message, Notice, Reply, StopReason, ToolCall, ToolChoice,
    ToolStatus,
};
use std::collections::{BTreeSet, HashSet};

/// Room for the output where neither settings nor provider named any, before it is doubled.
const USUAL_OUTPUT: u32 = 4_096;
/// Doubling ends here, unless more was asked for to begin with.
const LARGEST_OUTPUT: u32 = 32_768;
/// A reply that only calls these is no step of the work: programs call tools for it.
const FREE: [&str; 1] = ["execute_code"];

impl Turn<'_> {
    /// Before each question: the person, and what may be spent.
    pub(super) fn may_go_on(&self, stop: &Stop) -> Result<(), End> {
        if stop.stopped() {
            return Err(End::Interrupted(Interrupted::BetweenSteps));
        }
        match self.ports.purse.exhausted(self.clock()) {
            Some(exhausted) => Err(End::OverBudget(exhausted)),
            None => Ok(()),
        }
    }

    /// Takes an iteration, if there is one left.
    pub(super) fn next_iteration(&mut self) -> bool {
        let Some(iteration) = self.iterations.take() else { return false };
        self.tell(Event::Step { iteration, of: self.iterations.most() });
        true
    }

    /// A word of the person goes behind the newest result, as long as no model has seen that.
    pub(super) async fn steer(&mut self) -> Result<(), End> {
        let Some(Message::Tool(result)) = self.talk.last() else { return Ok(()) };
        let call = result.tool_call_id.clone();
        if self.talk.is_sent() || !self.ports.book.can_amend(&call) {
            return Ok(());
        }
        let Some(words) = self.ports.inbox.steering() else { return Ok(()) };
        if let Err(end) = self.amend_result(&steer::wrapped(&words)).await {
            self.ports.inbox.give_back(words);
            return Err(end);
        }
        self.tell(Event::Delivered { text: words });
        Ok(())
    }

    /// Adds to what the model reads of the newest result; the result itself stays as it was.
    async fn amend_result(&mut self, note: &str) -> Result<(), End> {
        let Some(Message::Tool(clean)) = self.talk.last().cloned() else { return Ok(()) };
        let Some(Message::Tool(amended)) = self.talk.amend_last(|content| content.append(note)) else { return Ok(()) };
        let (call, sent) = (clean.tool_call_id.clone(), amended.content.clone());
        self.ports.book.sent_instead(&call, Message::Tool(clean), sent).await.map_err(lost)
    }

    /// Asks the model: retry, refresh, rotate, fall back are all inside, all by the plan.
    pub(super) async fn ask(&mut self, choice: ToolChoice, stop: &Stop) -> Result<Reply, End> {
        loop {
            let request = self.talk.request(choice.clone(), self.output_room());
            let began = self.clock();
            let ports = self.ports.asking();
            let mut manner = self.ports.manner;
            manner.seed = manner.seed.wrapping_add(self.talk.line.calls());
            let asked = ask(request, &mut self.talk.line, manner, &ports, stop).await;
            let took = self.clock().saturating_sub(began);
            self.pay_in_vain().await;
            match asked {
                Ok(reply) => {
                    self.count(&reply, took);
                    return Ok(reply);
                }
                Err(fault) if fault.kind == FaultKind::Interrupted => {
                    return Err(End::Interrupted(Interrupted::WhileAsking));
                }
                Err(fault) if self.shorten_after(&fault, stop).await? => {}
                Err(fault) => return Err(End::Unanswered(fault)),
            }
        }
    }

    /// Answers that broke off were counted by the provider, so they are counted here.
    async fn pay_in_vain(&mut self) {
        for receipt in self.talk.line.take_in_vain() {
            self.count_receipt(Some(&receipt));
            let paid = self.ports.book.paid(Some(&receipt)).await;
            self.remember_loss(paid.map_err(lost));
        }
    }

    /// More room for the output after it was too small.
    fn output_room(&self) -> Option<u32> {
        let doublings = self.strikes.doublings();
        if doublings == 0 {
            return None;
        }
        let card = self.talk.line.model().and_then(|model| model.card().output_cap);
        let base = self.talk.max_output_tokens.or(card).unwrap_or(USUAL_OUTPUT);
        Some(base.saturating_mul(1 << doublings.min(8)).min(LARGEST_OUTPUT.max(base)))
    }

    /// A reply, on disk and then in the history.
    pub(super) async fn keep(&mut self, reply: &Reply) -> Result<(), End> {
        self.keep_with(reply, None).await
    }

    /// A reply and what the loop says to it, in one write: half of it would look like the end of a turn.
    async fn keep_with(&mut self, reply: &Reply, answer: Option<Message>) -> Result<(), End> {
        let Replied { message, cost } = self.ports.book.replied(reply, answer.as_ref(), self.receipt.as_ref()).await;
        message.map_err(lost)?;
        self.talk.push(Message::Assistant(reply.message.clone()));
        if let Some(answer) = answer {
            self.talk.push(answer);
        }
        cost.map_err(lost)
    }

    /// A reply that is no part of the conversation.
    pub(super) async fn pay(&self) -> Result<(), End> {
        self.ports.book.paid(self.receipt.as_ref()).await.map_err(lost)
    }

    /// A message to the model, on disk and then in the history.
    pub(super) async fn say(&mut self, message: Message) -> Result<(), End> {
        self.ports.book.said(message.clone().into()).await.map_err(lost)?;
        self.talk.push(message);
        Ok(())
    }

    fn tell_reply(&self, reply: &Reply) {
        self.tell(Event::Reply {
            iteration: self.iterations.used(),
            text: reply.text(),
            calls: reply.tool_calls().iter().map(|call| call.function.name.clone()).collect(),
            stop_reason: reply.stop_reason(),
            usage: reply.usage,
        });
    }

    /// Runs the calls of a reply. One result for each call, whatever happens.
    pub(super) async fn act(&mut self, mut reply: Reply, stop: &Stop) -> Result<(), End> {
        self.name_calls(&mut reply);
        self.remember_text(&reply);
        self.forget_parts();
        self.keep(&reply).await?;
        self.tell_reply(&reply);
        let calls = reply.message.tool_calls;
        if self.unknown_only(&calls) {
            self.notice(Notice::Again { reason: AgainReason::UnknownTool });
        }
        let ended = self.run(&calls, stop).await;
        if !reply.dropped.is_empty() {
            self.amend_result(&words::dropped(&reply.dropped)).await?;
        }
        if calls.iter().all(|call| FREE.contains(&call.function.name.as_str())) {
            self.iterations.refund();
        }
        ended
    }

    /// Calls are known by the names of their tools from here on, and by the id that pairs them with their results.
    fn name_calls(&self, reply: &mut Reply) {
        let tools = self.talk.tools().clone();
        let offered: BTreeSet<&str> = tools.iter().map(|tool| tool.name.as_str()).collect();
        for call in &mut reply.message.tool_calls {
            call.id = call.pairing_id().clone();
            let name = &mut call.function.name;
            if self.ports.hands.understands(name) {
                continue;
            }
            *name = meant(name, &offered).map_or_else(|| nobodys(name, &offered), str::to_owned);
        }
    }

    fn unknown_only(&self, calls: &[ToolCall]) -> bool {
        let is_known = |name: &str| self.talk.offers(name) || self.ports.hands.understands(name);
        !calls.iter().any(|call| is_known(&call.function.name))
    }

    pub(super) async fn run(&mut self, calls: &[ToolCall], stop: &Stop) -> Result<(), End> {
        self.tool_calls += calls.len() as u64;
        let (distinct, repeated) = told_apart(calls);
        // Before anything runs: a repeated call that is left open would run when the turn is taken up again.
        let mut results = Vec::with_capacity(calls.len());
        for call in repeated {
            let finished = Finished::refused(call, ToolStatus::Blocked, words::said_twice());
            self.ports.book.ended(&finished).await.map_err(lost)?;
            results.push(finished.into_message());
        }
        let ran = self.ports.hands.run(&distinct, self.ports.book, stop).await;
        results.extend(ran.results.into_iter().map(Finished::into_message));
        self.talk.settle(results);
        match ran.abort {
            Some(reason) => Err(self.ports.book.lost().map_or(End::Aborted(reason), End::NotKept)),
            None if stop.stopped() => Err(End::Interrupted(Interrupted::WhileWorking)),
            None => Ok(()),
        }
    }

    /// The answer, or the rest of one. A message that came meanwhile is the next question of the same turn.
    pub(super) async fn answer(&mut self, reply: Reply, stop: &Stop) -> Result<(), End> {
        let answered = End::Answered(reply.stop_reason());
        self.put_together(&reply);
        if let Err(End::NotKept(reason)) = self.keep(&worded(reply.clone())).await {
            // The answer is there and paid for: it is told, with the truth about the record.
            self.not_kept = Some(reason);
            return Err(answered);
        }
        let Some(next) = self.next_question(stop) else { return Err(answered) };
        if let Err(End::NotKept(reason)) = self.say(Message::user(next.as_str())).await {
            self.ports.inbox.give_back(next);
            self.not_kept = Some(reason);
            return Err(answered);
        }
        self.tell_reply(&reply);
        self.tell(Event::Delivered { text: next });
        self.forget_parts();
        self.said_before = None;
        self.strikes = Strikes::default();
        Ok(())
    }

    /// What the person said meanwhile, as long as this turn can still answer it.
    fn next_question(&self, stop: &Stop) -> Option<String> {
        let can_answer = self.iterations.remain() && self.may_go_on(stop).is_ok();
        can_answer.then(|| self.ports.inbox.next()).flatten()
    }

    pub(super) fn put_together(&mut self, reply: &Reply) {
        let text = reply.text();
        if !text.trim().is_empty() {
            self.parts.push(text);
            self.text = Some(self.parts.concat());
        }
    }

    /// Parts that an earlier turn got to.
    pub(super) fn take_up(&mut self, parts: Vec<String>) {
        self.text = (!parts.is_empty()).then(|| parts.concat());
        self.parts = parts;
    }

    /// What comes next is another answer.
    pub(super) fn forget_parts(&mut self) {
        self.parts.clear();
        self.text = None;
    }

    /// Part of an answer: kept, and the model goes on.
    pub(super) async fn go_on(&mut self, reply: Reply) -> Result<(), End> {
        self.put_together(&reply);
        self.keep_with(&reply, Some(words::go_on())).await?;
        self.tell_reply(&reply);
        self.notice(Notice::Again { reason: AgainReason::CutAnswer });
        Ok(())
    }

    /// The same question once more.
    pub(super) async fn again(&mut self, reason: AgainReason) -> Result<(), End> {
        self.notice(Notice::Again { reason });
        self.pay().await
    }

    /// What the model said, and what was wrong with it.
    pub(super) async fn nudge(&mut self, reply: Reply, nudge: &Nudge) -> Result<(), End> {
        self.notice(Notice::Again { reason: nudge.reason() });
        self.keep_with(&worded(reply), Some(words::nudge(nudge))).await
    }
}

/// The calls, and those among them that stand there twice.
pub(super) fn told_apart(calls: &[ToolCall]) -> (Vec<ToolCall>, Vec<&ToolCall>) {
    let mut seen = HashSet::new();
    let mut distinct = Vec::with_capacity(calls.len());
    let mut repeated = Vec::new();
    for call in calls {
        match seen.insert((call.function.name.as_str(), call.function.arguments.canonical())) {
            true => distinct.push(call.clone()),
            false => repeated.push(call),
        }
    }
    (distinct, repeated)
}

/// A reply without words, with some: providers refuse an empty message.
fn worded(mut reply: Reply) -> Reply {
    if reply.text().trim().is_empty() {
        reply.message.content = Some(Content::from(words::EMPTY));
        reply.message.codex_message_items = None;
        reply.message.finish_reason = Some(StopReason::Incomplete);
    }
    reply
}
