//! What is heard of a sub-agent: passed on to the listener of its parent, and counted for its report.
//!
//! Pieces of text are not passed on; nobody reads several answers at once. A sub-agent that works in silence is spoken for
//! at least every half minute.

use hermes_core::clock::Clock;
use hermes_core::ports::Listener;
use hermes_types::{CallId, Event, Notice, SessionId, ToolStatus, Usage};
use std::collections::HashMap;
use std::convert::Infallible;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// The longest silence.
const HEARTBEAT: Duration = Duration::from_secs(30);

pub(super) struct Ear {
    parent: Arc<dyn Listener>,
    call: CallId,
    task: usize,
    session: SessionId,
    clock: Arc<dyn Clock>,
    heard: Mutex<Heard>,
}

#[derive(Debug, Clone, Default)]
pub(super) struct Heard {
    /// When something was last passed on.
    at: Duration,
    /// Whether the end was told.
    ended: bool,
    /// How calls ended.
    pub(super) calls: HashMap<CallId, ToolStatus>,
    /// Of all replies but the last one of a turn that ended by itself.
    pub(super) usage: Usage,
}

impl Ear {
    pub(super) fn new(
        parent: Arc<dyn Listener>,
        call: CallId,
        task: usize,
        session: SessionId,
        clock: Arc<dyn Clock>,
    ) -> Self {
        let heard = Mutex::new(Heard { at: clock.elapsed(), ..Heard::default() });
        Self { parent, call, task, session, clock, heard }
    }

    pub(super) fn heard(&self) -> Heard {
        self.lock().clone()
    }

    /// Speaks for a sub-agent that says nothing, as long as it is waited for.
    pub(super) async fn speak_up(&self) -> Infallible {
        loop {
            let silent = self.clock.elapsed().saturating_sub(self.lock().at);
            if silent >= HEARTBEAT {
                self.hear(Event::Notice { notice: Notice::Waiting { seconds: silent.as_secs() } });
            } else {
                self.clock.alarm(HEARTBEAT - silent).await;
            }
        }
    }

    /// Tells an end that the sub-agent could not tell itself.
    pub(super) fn end_with(&self, end: Event) {
        if !self.lock().ended {
            self.hear(end);
        }
    }

    fn note(&self, event: &Event) {
        let mut heard = self.lock();
        heard.at = self.clock.elapsed();
        match event {
            Event::ToolFinished { call_id, status, .. } => {
                heard.calls.insert(call_id.clone(), *status);
            }
            Event::Reply { usage: Some(usage), .. } => heard.usage += *usage,
            Event::Answer { .. } | Event::Failed { .. } => heard.ended = true,
            _ => {}
        }
    }

    fn lock(&self) -> MutexGuard<'_, Heard> {
        self.heard.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Listener for Ear {
    fn hear(&self, event: Event) {
        if matches!(event, Event::Text { .. } | Event::Reasoning { .. } | Event::ToolCallStarted { .. }) {
            return;
        }
        self.note(&event);
        self.parent.hear(Event::Subagent {
            call_id: self.call.clone(),
            task: self.task,
            session_id: self.session.clone(),
            event: Box::new(event),
        });
    }
}
