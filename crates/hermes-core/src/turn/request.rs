//! A conversation that is made shorter between two turns: because the person wants it, or because a face that keeps many
//! finds it crowded. It is no turn: nobody asked anything, and nothing is answered.

use super::fit::Wish;
use super::outcome::{End, Interrupted};
use super::ports::Ports;
use super::state::{Turn, lost};
use crate::context::{Declined, Trigger};
use crate::conversation::Conversation;
use crate::stop::Stop;
use hermes_types::CompressionRecord;

/// The part of the window from which on a conversation between two turns is crowded.
const CROWDED: f64 = 0.85;
/// A conversation of fewer messages is never crowded.
const FEWEST: usize = 4;

/// Why a conversation is to be made shorter between two turns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Shorten {
    /// The person wants it, and the summary to dwell on something.
    Now { focus: Option<String> },
    /// Only if it takes up most of the window, or has very many messages.
    IfCrowded,
}

/// Why it is as long as it was.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum NotShorter {
    #[error("it is not crowded")]
    NotCrowded,
    #[error("its last turn was cut off; `--resume` finishes that first")]
    Unfinished,
    #[error(transparent)]
    Declined(#[from] Declined),
    #[error("{}", .0.explanation().unwrap_or_default())]
    Ended(End),
}

impl From<End> for NotShorter {
    fn from(end: End) -> Self {
        Self::Ended(end)
    }
}

/// Makes a conversation shorter, and says what that did.
pub async fn shorten(
    talk: &mut Conversation,
    wish: &Shorten,
    ports: &Ports<'_>,
    stop: &Stop,
) -> Result<CompressionRecord, NotShorter> {
    let mut turn = Turn::new(talk, ports);
    let made = turn.shorten(wish, stop).await;
    if let Err(NotShorter::Ended(End::Taken(_))) = made {
        // The books are with the program that is at work.
        return made;
    }
    ports.book.turn_is_over();
    let left = ports.book.leave().await.map_err(|error| NotShorter::Ended(lost(error)));
    made.and_then(|made| left.map(|()| made))
}

impl Turn<'_> {
    async fn shorten(&mut self, wish: &Shorten, stop: &Stop) -> Result<CompressionRecord, NotShorter> {
        self.prepare().await?;
        if self.talk.is_unfinished() {
            return Err(NotShorter::Unfinished);
        }
        self.may_go_on(stop)?;
        let Some(card) = self.reach(stop).await? else {
            return Err(Declined::NoSummary("no model can be asked; `hermes model` chooses one".to_owned()).into());
        };
        let window = self.talk.line.window().unwrap_or(card.context_window);
        let policy = self.ports.economy.policy;
        let (trigger, focus) = match wish {
            Shorten::Now { focus } => (Trigger::Manual, focus.as_deref()),
            Shorten::IfCrowded if !policy.enabled => return Err(Declined::SwitchedOff.into()),
            Shorten::IfCrowded if !self.is_crowded(window) => return Err(NotShorter::NotCrowded),
            Shorten::IfCrowded => (Trigger::Hygiene, None),
        };
        // Who wants it shorter in a window that it does not fill measures it by itself.
        let room = self.room(policy, window.min(self.talk.meter().used().saturating_mul(2)), &card);
        match self.pass(Wish { trigger, focus }, room, stop).await? {
            Ok(record) => Ok(record),
            Err(Declined::Interrupted) => Err(End::Interrupted(Interrupted::WhileAsking).into()),
            Err(declined) => Err(declined.into()),
        }
    }

    fn is_crowded(&self, window: u64) -> bool {
        let messages = self.talk.history().len();
        let heavy = self.talk.meter().used() as f64 >= window as f64 * CROWDED;
        messages >= FEWEST && (heavy || messages >= self.ports.economy.policy.most_messages)
    }
}
