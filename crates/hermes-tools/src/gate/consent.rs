//! What was allowed before: for a conversation, for good, and whether a conversation is asked at all.
//!
//! Each conversation has one line for its questions: they are put one after another, in the order they came.

use super::decide::{Remember, Yolo};
use hermes_core::stop::Stop;
use hermes_types::SessionId;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use tokio::sync::Mutex as Line;

#[derive(Default)]
pub(super) struct Consents {
    /// The allow list, and what was added to it while this process runs.
    pub(super) always: Vec<String>,
    sessions: BTreeMap<SessionId, Conversation>,
}

#[derive(Clone)]
pub(super) struct Conversation {
    pub(super) keys: BTreeSet<String>,
    pub(super) yolo: Yolo,
    /// Whose turn it is to ask. Fair: the first that waits is the first that asks.
    pub(super) line: Arc<Line<()>>,
    /// Stopped when the conversation is forgotten; its open questions are then no longer anybody's.
    pub(super) gone: Stop,
}

impl Default for Conversation {
    fn default() -> Self {
        Self { keys: BTreeSet::new(), yolo: Yolo::Off, line: Arc::default(), gone: Stop::new() }
    }
}

impl Consents {
    pub(super) fn new(allowlist: &[String]) -> Self {
        Self { always: allowlist.to_vec(), ..Self::default() }
    }

    pub(super) fn of(&mut self, session: &SessionId) -> &mut Conversation {
        self.sessions.entry(session.clone()).or_default()
    }

    pub(super) fn forget(&mut self, session: &SessionId) {
        if let Some(conversation) = self.sessions.remove(session) {
            conversation.gone.stop();
        }
    }

    pub(super) fn add(&mut self, session: &SessionId, remember: &Remember) {
        match remember {
            Remember::Nothing => {}
            Remember::Session(keys) => self.of(session).keys.extend(keys.iter().cloned()),
            Remember::Always(keys) => {
                let new = keys.iter().filter(|key| !self.always.contains(key)).cloned().collect::<Vec<_>>();
                self.always.extend(new);
                self.of(session).keys.extend(keys.iter().cloned());
            }
        }
    }
}
