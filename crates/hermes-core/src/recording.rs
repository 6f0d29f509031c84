//! One attempt to ask a model, told to the recorder when it is over: answered, failed, stopped, or dropped in the middle.
//!
//! The telling happens when a [`Recording`] goes, so that no way out of an attempt can miss it. What was never sent is
//! not told, nor what belongs to no session.

use crate::ports::{Card, Recorder};
use hermes_types::{Answered, BreakCause, Exchange, Moment, Scene, Sent, SessionId};

pub(crate) struct Recording<'a> {
    recorder: &'a dyn Recorder,
    card: &'a Card,
    session: Option<SessionId>,
    scene: Scene,
    exchange: Option<Exchange>,
}

impl<'a> Recording<'a> {
    pub(crate) fn begin(recorder: &'a dyn Recorder, card: &'a Card, session: Option<SessionId>, scene: Scene) -> Self {
        Self { recorder, card, session, scene, exchange: None }
    }

    /// The request is on its way. Until something else is known, nobody waited for its answer.
    pub(crate) fn sent(&mut self, sent: Sent, at: Moment, why: Option<BreakCause>) {
        let Card { provider, model, .. } = self.card.clone();
        self.exchange = self.session.take().map(|session| Exchange {
            session,
            at,
            task: String::new(),
            provider,
            model,
            sent,
            answer: Answered::Dropped,
            why,
            scene: std::mem::take(&mut self.scene),
        });
    }

    pub(crate) fn answered(&mut self, answer: Answered) {
        if let Some(exchange) = &mut self.exchange {
            exchange.answer = answer;
        }
    }
}

impl Drop for Recording<'_> {
    fn drop(&mut self) {
        if let Some(exchange) = self.exchange.take() {
            self.recorder.exchanged(exchange);
        }
    }
}
