//! How a recorded turn began, and what of it cannot be held again. Pure functions over the tape and the stored messages.

use super::{Compared, Reason, Verdict};
use hermes_core::turn::{Asked, is_synthetic};
use hermes_types::{Exchange, Message, MessageId, RowState, Run, StoredMessage, TurnScene, TurnStart};

/// An exchange with its place on the tape.
#[derive(Debug, Clone)]
pub(super) struct Recorded {
    pub(super) number: u64,
    /// The bytes it shares with the request before.
    pub(super) shared: u64,
    pub(super) exchange: Exchange,
}

/// Which turn of which stay in memory.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct TurnKey {
    pub(super) run: Run,
    nth: u64,
}

impl TurnKey {
    pub(super) fn of(turn: &TurnScene) -> Self {
        Self { run: turn.run, nth: turn.nth }
    }
}

impl Recorded {
    pub(super) fn turn(&self) -> Option<TurnKey> {
        self.exchange.scene.turn.as_ref().map(TurnKey::of)
    }

    /// The newest message its request holds.
    pub(super) fn upto(&self) -> Option<MessageId> {
        self.exchange.scene.upto
    }

    pub(super) fn judged(self, verdict: Verdict) -> Compared {
        let Self { number, shared, exchange } = self;
        let Exchange { at, provider, model, sent, .. } = exchange;
        Compared { number, at, provider, model, body: sent.body, shared, verdict }
    }
}

/// What a turn begins with.
pub(super) struct Scene {
    pub(super) turn: TurnScene,
    pub(super) history: Vec<Message>,
    pub(super) asked: Asked,
}

/// Why this request cannot be held again, as far as it shows by itself.
pub(super) fn obstacle(recorded: &Recorded, rows: &[StoredMessage]) -> Option<Reason> {
    let Exchange { task, scene, .. } = &recorded.exchange;
    if !task.is_empty() {
        return Some(Reason::Job(task.clone()));
    }
    let Some(turn) = &scene.turn else { return Some(Reason::NoScene) };
    if turn.unkept_words {
        return Some(Reason::UnkeptWords);
    }
    let is_there = |id: MessageId| live(rows).any(|row| row.id == id);
    (!scene.upto.is_some_and(is_there)).then_some(Reason::MessagesGone)
}

/// How the turn of these exchanges began; `None` when there are none.
pub(super) fn scene(exchanges: &[Recorded], rows: &[StoredMessage]) -> Result<Option<Scene>, Reason> {
    let Some((first, turn)) = exchanges.first().and_then(|first| Some((first, first.exchange.scene.turn?))) else {
        return Ok(None);
    };
    let before = |row: &&StoredMessage| Some(row.id) <= turn.after;
    let history = |keep: &dyn Fn(&&StoredMessage) -> bool| live(rows).filter(keep).cloned().map(sent).collect();
    if turn.asked == TurnStart::GoOn {
        return Ok(Some(Scene { history: history(&before), asked: Asked::GoOn, turn }));
    }
    let question = live(rows).filter(|row| !before(row) && Some(row.id) <= first.upto()).rfind(|row| is_said(row));
    let question = question.ok_or(Reason::MessagesGone)?;
    // What was added to a question is kept only together with it: it stands in the history already.
    if question.sent.is_some() {
        let history = history(&|row| row.id <= question.id);
        return Ok(Some(Scene { history, asked: Asked::GoOn, turn }));
    }
    // Whether a call that was left open had begun is known to the store alone, so its result is taken from there.
    let is_result = |row: &&StoredMessage| row.id < question.id && matches!(row.message, Message::Tool(_));
    let history = history(&|row| before(row) || is_result(row));
    let content = question.message.content().cloned().unwrap_or_default();
    Ok(Some(Scene { history, asked: Asked::Question(Box::new(content.into())), turn }))
}

/// The messages of the conversation itself.
pub(super) fn live(rows: &[StoredMessage]) -> impl DoubleEndedIterator<Item = &StoredMessage> {
    rows.iter().filter(|row| row.state == RowState::Live && row.foreign_role.is_none())
}

/// Whether a person said it.
pub(super) fn is_said(row: &StoredMessage) -> bool {
    matches!(row.message, Message::User(_)) && !is_synthetic(&row.message)
}

fn sent(row: StoredMessage) -> Message {
    row.into_replay()
}
