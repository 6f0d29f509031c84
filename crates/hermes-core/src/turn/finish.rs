//! The one way out of a turn: the sums, the books, the hooks and the last event, on every end.

use super::outcome::{End, Outcome};
use super::state::Turn;
use crate::stop::Stop;
use crate::store::StoreError;
use hermes_types::{OutcomeKind, TurnRecord};
use std::time::Duration;

/// Somebody who interrupted does not wait longer for the books.
const AFTER_INTERRUPT: Duration = Duration::from_millis(400);

impl Turn<'_> {
    pub(super) async fn finish(mut self, end: End, stop: &Stop) -> Outcome {
        self.ports.book.turn_is_over();
        let beside_calls = self.beside_calls.take().filter(|_| end.kind() == OutcomeKind::Partial);
        let card = self.card();
        let outcome = Outcome {
            session: self.talk.session.clone(),
            text: self.text.take().or(beside_calls),
            reasoning: self.reasoning.take(),
            iterations: self.iterations.used(),
            api_calls: self.talk.line.calls() - self.calls_before,
            tool_calls: self.tool_calls,
            usage: self.usage,
            usage_of_all: self.ports.purse.usage(),
            spent: self.ports.purse.spent(),
            price_sources: self.ports.purse.price_sources(),
            last_prompt: self.last_prompt,
            provider: card.as_ref().map(|card| card.provider.clone()),
            model: card.as_ref().map(|card| card.model.clone()),
            base_url: card.map(|card| card.base_url),
            answered_by: self.answered_by.take(),
            undelivered: self.ports.inbox.take_all(),
            not_kept: self.not_kept.take().or_else(|| self.ports.book.unusable().map(str::to_owned)),
            end,
        };
        let mut outcome = self.write_down(outcome, stop).await;
        if let End::NotKept(reason) = &outcome.end {
            outcome.not_kept.get_or_insert_with(|| reason.clone());
        }
        let of_turn = self.talk.history().get(self.begins_at..).unwrap_or_default();
        for hook in self.ports.hooks {
            tokio::select! {
                biased;
                () = hook.ended(of_turn, &outcome) => {}
                () = self.has_left(stop) => break,
            }
        }
        if let Some(model) = self.talk.line.model() {
            model.rest();
        }
        self.tell(outcome.event());
        outcome
    }

    async fn write_down(&self, mut outcome: Outcome, stop: &Stop) -> Outcome {
        if let End::Taken(_) = outcome.end {
            // The books are with the program that is at work.
            return outcome;
        }
        let record = TurnRecord {
            session: outcome.session.clone(),
            started_at: self.began,
            ended_at: self.ports.book.now(),
            exit_reason: outcome.end.exit_reason(),
            model_calls: outcome.api_calls,
            tool_calls: outcome.tool_calls,
            error: outcome.end.explanation(),
        };
        let written = tokio::select! {
            biased;
            written = self.close_books(record) => written.map_err(|error| error.to_string()),
            () = self.has_left(stop) => Err("the session store was busy when the turn was interrupted".to_owned()),
        };
        if let Err(reason) = written {
            outcome.not_kept.get_or_insert(reason);
        }
        outcome
    }

    /// Returns when somebody interrupted and has waited long enough.
    async fn has_left(&self, stop: &Stop) {
        stop.wait().await;
        self.ports.clock.alarm(AFTER_INTERRUPT).await;
    }

    /// The record of the turn, and the way free for whoever goes on with the conversation.
    async fn close_books(&self, record: TurnRecord) -> Result<(), StoreError> {
        let (written, left) = tokio::join!(self.ports.book.turn_ended(record), self.ports.book.leave());
        written.and(left)
    }
}
