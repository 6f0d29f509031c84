//! Ends that are no plain answer: another provider, what there is of an answer, the last word.
//!
//! Whatever the end, what was paid is booked, what a person gets to read is the last message of the turn, and no call is
//! left open in it.

use super::outcome::{End, Interrupted};
use super::state::Turn;
use super::words;
use crate::ask;
use crate::stop::Stop;
use hermes_types::{Fault, Message, Notice, Reply, ToolChoice};

/// Questions without tools, once all iterations are used.
const LAST_QUESTIONS: usize = 2;

impl Turn<'_> {
    /// Another provider, for this turn. Without one the turn ends as it would have ended.
    pub(super) async fn leave(&mut self, reply: Reply, fault: &Fault, end: End, stop: &Stop) -> Result<(), End> {
        let left = ask::leave(&mut self.talk.line, fault, &self.ports.asking(), stop).await;
        if left == Ok(false) {
            return Err(self.close(reply, end, stop).await);
        }
        self.pay().await?;
        left.map_err(|_stopped| End::Interrupted(Interrupted::WhileAsking))?;
        self.iterations.refund();
        Ok(())
    }

    /// The last reply of a turn that does not end with an answer: what there is to read is kept.
    pub(super) async fn close(&mut self, mut reply: Reply, end: End, stop: &Stop) -> End {
        match end {
            // Every call has its result, also when it is an error once more.
            End::UnknownTools => return self.act(reply, stop).await.err().unwrap_or(end),
            End::SaidBefore => {
                reply.message.content = self.said_before.take().map(Into::into);
                // They would be sent in its place.
                reply.message.codex_message_items = None;
            }
            _ => {}
        }
        // Whatever it still wants to call, nobody will answer.
        reply.message.tool_calls.clear();
        reply.message.anthropic_content_blocks = None;
        let kept = if reply.text().trim().is_empty() {
            self.pay().await
        } else {
            self.put_together(&reply);
            self.keep(&reply).await
        };
        self.remember_loss(kept);
        end
    }

    /// All iterations are used: one question without tools, and a second one if nothing came of it.
    pub(super) async fn last_word(&mut self, stop: &Stop) -> End {
        let end = End::LastWord { used: self.iterations.used(), most: self.iterations.most() };
        self.notice(Notice::LastWord { iterations: self.iterations.most() });
        if let Err(end) = self.ask_for_last_word().await {
            return end;
        }
        for _ in 0..LAST_QUESTIONS {
            let asked = match self.may_go_on(stop) {
                Ok(()) => self.ask(ToolChoice::Forbidden, stop).await,
                Err(end) => Err(end),
            };
            let reply = match asked {
                Ok(reply) => reply,
                Err(interrupted @ End::Interrupted(_)) => return interrupted,
                // That the iterations are used stays the reason, whatever kept the last word away.
                Err(_) => break,
            };
            if !reply.text().trim().is_empty() {
                return self.close(reply, end, stop).await;
            }
            let paid = self.pay().await;
            self.remember_loss(paid);
        }
        let instead = match self.parts.is_empty() {
            true => words::NO_LAST_WORD,
            false => words::EMPTY,
        };
        self.text.get_or_insert_with(|| instead.to_owned());
        let kept = self.say(Message::assistant(instead)).await;
        self.remember_loss(kept);
        end
    }

    /// Tells the model that this is the end. Where it was just told to go on, or what was wrong, that is enough: two
    /// messages of one speaker in a row are refused.
    async fn ask_for_last_word(&mut self) -> Result<(), End> {
        if self.talk.is_sent() {
            // It saw everything, and its reply could not be used.
            self.say(Message::assistant(words::EMPTY)).await?;
        } else if matches!(self.talk.last(), Some(Message::User(_))) {
            return Ok(());
        }
        self.forget_parts();
        self.say(words::last_word()).await
    }

    /// The end stays as it is, with the truth about its record beside it.
    pub(super) fn remember_loss(&mut self, kept: Result<(), End>) {
        if let Err(End::NotKept(reason)) = kept {
            self.not_kept.get_or_insert(reason);
        }
    }
}
