//! One process while it lives and after: what it printed, how it ended, who wants to hear of it.

use super::KEPT_OUTPUT;
use super::buffer::Buffer;
use super::checkpoint::Record;
use super::input::Input;
use super::news::Reason;
use super::start::{Face, Password, Tell};
use super::watch::{Sight, Watch};
use crate::terminal::family::Family;
use hermes_core::redact;
use hermes_types::SessionId;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};
use tokio::sync::watch::{Receiver, Sender};

/// A process the registry knows.
pub(super) struct Tracked {
    pub(super) id: String,
    pub(super) session: SessionId,
    pub(super) command: String,
    pub(super) cwd: String,
    pub(super) pid: u32,
    pub(super) face: Face,
    pub(super) started: SystemTime,
    /// On the clock of the registry.
    pub(super) began: Duration,
    pub(super) family: Family,
    pub(super) mark: String,
    pub(super) bond: Bond,
    password: Option<Password>,
    pub(super) input: tokio::sync::Mutex<Input>,
    state: Mutex<State>,
    ended: Sender<bool>,
    /// Counts portions of output.
    heard: Sender<u64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Bond {
    /// A child of this program.
    Own,
    /// Started by an earlier run: no output, no input, no exit code.
    Detached,
}

pub(super) struct State {
    pub(super) buffer: Buffer,
    pub(super) end: Option<End>,
    pub(super) tell: Tell,
    pub(super) watch: Option<Watch>,
    /// Who asked for its end, before it came.
    pub(super) killed_by: Option<&'static str>,
    /// Whether the conversation knows of the end already.
    pub(super) known: bool,
    /// What was written to it and needed nobody's consent; see `input`.
    pub(super) written: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct End {
    pub(super) at: Duration,
    pub(super) exit_code: Option<i32>,
    pub(super) reason: Reason,
    /// Who ended it; empty when it ended by itself.
    pub(super) source: &'static str,
}

/// What a new process is made of.
pub(super) struct Origin {
    pub(super) id: String,
    pub(super) session: SessionId,
    pub(super) command: String,
    pub(super) cwd: String,
    pub(super) pid: u32,
    pub(super) started: SystemTime,
    pub(super) began: Duration,
}

/// What a process is now, beside where it came from.
pub(super) struct Being {
    pub(super) family: Family,
    pub(super) mark: String,
    pub(super) face: Face,
    pub(super) input: Input,
    pub(super) tell: Tell,
    pub(super) password: Option<Password>,
    pub(super) bond: Bond,
}

impl Tracked {
    /// The process of a record, if it still is that process.
    pub(super) fn detached(record: &Record, now: Duration, today: SystemTime) -> Option<Self> {
        let started = SystemTime::UNIX_EPOCH + Duration::try_from_secs_f64(record.started_at).ok()?;
        let age = today.duration_since(started).unwrap_or_default();
        let family = Family::found(record.process(), record.mark.as_str())?;
        let origin = Origin {
            id: record.session_id.clone(),
            session: SessionId::new(record.session_key.as_str()),
            command: record.command.clone(),
            cwd: record.cwd.clone(),
            pid: record.pid,
            started,
            began: now.saturating_sub(age),
        };
        let mark = record.mark.clone();
        Some(Self::new(
            origin,
            Being {
                family,
                mark,
                face: Face::Pipes,
                input: Input::Closed,
                tell: Tell::Nothing,
                password: None,
                bond: Bond::Detached,
            },
        ))
    }

    pub(super) fn new(origin: Origin, being: Being) -> Self {
        let Being { family, mark, face, input, tell, password, bond } = being;
        let Origin { id, session, command, cwd, pid, started, began } = origin;
        let watch = match &tell {
            Tell::OnMatch(patterns) => Some(Watch::new(patterns.clone())),
            Tell::Nothing | Tell::OnEnd => None,
        };
        let state = Mutex::new(State {
            buffer: Buffer::new(KEPT_OUTPUT),
            end: None,
            tell,
            watch,
            killed_by: None,
            known: false,
            written: String::new(),
        });
        let (ended, heard) = (Sender::new(false), Sender::new(0));
        let input = tokio::sync::Mutex::new(input);
        Self {
            id,
            session,
            command,
            cwd,
            pid,
            face,
            started,
            began,
            family,
            mark,
            bond,
            password,
            input,
            state,
            ended,
            heard,
        }
    }

    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Its end, also when nobody waits for it because it is detached.
    pub(super) fn end(&self, now: Duration) -> Option<End> {
        let mut state = self.state();
        let gone = || self.family.leader().is_none_or(|leader| !leader.lives());
        if state.end.is_none() && self.bond == Bond::Detached && gone() {
            let (reason, source) = state.killed_by.map_or((Reason::Lost, ""), |source| (Reason::Killed, source));
            let exit_code = state.killed_by.map(|_| super::registry::KILLED);
            state.end = Some(End { at: now, exit_code, reason, source });
            self.ended.send_replace(true);
        }
        state.end
    }

    /// Takes output; gives back what of it is news.
    pub(super) fn hear(&self, bytes: &[u8], now: Duration) -> Vec<Sight> {
        let mut state = self.state();
        let text = state.buffer.push(bytes);
        let over = state.end.is_some();
        let sights = state.watch.as_mut().filter(|_| !over).map(|watch| watch.see(&text, now)).unwrap_or_default();
        if sights.contains(&Sight::GivenUp) {
            state.tell = Tell::OnEnd;
        }
        drop(state);
        self.heard.send_modify(|count| *count += 1);
        sights
    }

    /// Notes the end. Nothing is news after it but the end itself.
    pub(super) fn finish(&self, exit_code: Option<i32>, now: Duration) -> Vec<Sight> {
        let mut state = self.state();
        state.buffer.finish();
        let sights = state.watch.as_mut().map(|watch| watch.finish(now)).unwrap_or_default();
        let end = match state.killed_by {
            Some(source) => End { at: now, exit_code: Some(super::registry::KILLED), reason: Reason::Killed, source },
            None => End { at: now, exit_code, reason: Reason::Exited, source: "" },
        };
        state.end = Some(end);
        let output = state.buffer.text();
        drop(state);
        self.tell_sudo(&output);
        self.ended.send_replace(true);
        sights
    }

    pub(super) fn ended(&self) -> Receiver<bool> {
        self.ended.subscribe()
    }

    pub(super) fn heard(&self) -> Receiver<u64> {
        self.heard.subscribe()
    }

    /// All that is kept of its output, as the model may read it.
    pub(super) fn text(&self) -> String {
        let raw = self.state().buffer.text();
        self.covered(&raw)
    }

    /// Without the password it was given and other secrets.
    pub(super) fn covered(&self, text: &str) -> String {
        let text = self.password.as_ref().map_or_else(|| text.to_owned(), |given| given.prepared.covered(text));
        redact::terminal(&self.command, &text).into_owned()
    }

    /// A password that sudo refused is not given again.
    fn tell_sudo(&self, output: &str) {
        if let Some(Password { prepared, sudo }) = &self.password
            && prepared.gives_password()
        {
            sudo.heard(output);
        }
    }
}
