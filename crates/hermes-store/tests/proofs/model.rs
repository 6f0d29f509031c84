//! The store as a few lists in memory: what each operation must do to what is seen from outside.

use hermes_core::store::{Sessions, StoreError, Transcript};
use hermes_store::SqliteStore;
use hermes_types::{
    Assistant, CallId, EndReason, Message, MessageId, NewMessage, NewSession, RowState, SessionId, ToolCall,
};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use std::collections::BTreeMap;

/// Few, so that operations meet.
pub(crate) const SESSIONS: usize = 3;

/// Something done to a session.
#[derive(Debug, Clone)]
pub(crate) enum Op {
    Create(usize),
    Append(usize, Vec<Message>),
    /// Takes back from the live message of the person that has this many others after it.
    Rewind(usize, usize),
    Compact(usize, Vec<Message>),
    Clear(usize),
    End(usize, &'static str),
    Reopen(usize),
}

/// What the caller is told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Told {
    Done(u64),
    NoSession,
    NoMessage,
}

/// What is seen of a session.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Seen {
    pub(crate) end_reason: Option<String>,
    pub(crate) message_count: u64,
    pub(crate) tool_call_count: u64,
    pub(crate) rows: Vec<(Message, RowState)>,
}

#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Model(pub(crate) BTreeMap<usize, Seen>);

pub(crate) fn name(session: usize) -> SessionId {
    SessionId::new(format!("session-{session}"))
}

/// A message of one of the kinds, recognisable by its text.
pub(crate) fn message(kind: u8, text: &str) -> Message {
    match kind % 4 {
        0 | 1 => Message::user(text),
        2 => Message::Assistant(Assistant {
            content: Some(text.into()),
            tool_calls: vec![ToolCall::new(CallId::new(text), "look", "{\"at\": \"数据\"}")],
            ..Assistant::default()
        }),
        _ => Message::tool(&CallId::new(text), "look", text),
    }
}

impl Op {
    /// The `n`-th operation of a script.
    pub(crate) fn nth(seed: u64, n: usize) -> Self {
        let mut dice = StdRng::seed_from_u64(seed.wrapping_mul(1_000_003).wrapping_add(n as u64));
        let session = dice.random_range(0..SESSIONS);
        let mut messages = |most: usize| {
            let count = dice.random_range(1..=most);
            (0..count).map(|part| message(dice.random(), &format!("{n}.{part} คำถาม"))).collect::<Vec<_>>()
        };
        let (few, many) = (messages(2), messages(24));
        match dice.random_range(0..100) {
            0..15 => Self::Create(session),
            15..40 => Self::Append(session, few),
            40..60 => Self::Append(session, many),
            60..72 => Self::Rewind(session, dice.random_range(0..4)),
            72..84 => Self::Compact(session, few),
            84..88 => Self::Clear(session),
            88..95 => Self::End(session, if dice.random() { "cli_close" } else { "compression" }),
            _ => Self::Reopen(session),
        }
    }

    pub(crate) async fn perform(&self, store: &SqliteStore) -> Result<Told, StoreError> {
        let new = |messages: &[Message]| messages.iter().cloned().map(NewMessage::from).collect::<Vec<_>>();
        let done = match self {
            Self::Create(session) => store.create(NewSession::new(name(*session), "cli")).await.map(|()| 0),
            Self::Append(session, messages) => {
                store.append(&name(*session), new(messages)).await.map(|ids| ids.len() as u64)
            }
            Self::Rewind(session, back) => {
                let to = nth_last_question(&store.messages(&name(*session)).await?, *back);
                store.rewind(&name(*session), to).await
            }
            Self::Compact(session, messages) => {
                let upto = store.messages(&name(*session)).await?.last().map_or(MessageId(0), |last| last.id);
                store.compact(&name(*session), upto, new(messages)).await.map(|ids| ids.len() as u64)
            }
            Self::Clear(session) => store.clear(&name(*session)).await,
            Self::End(session, reason) => store.end(&name(*session), EndReason::new(*reason)).await.map(u64::from),
            Self::Reopen(session) => store.reopen(&name(*session)).await.map(|()| 0),
        };
        match done {
            Ok(number) => Ok(Told::Done(number)),
            Err(StoreError::NoSession(_)) => Ok(Told::NoSession),
            Err(StoreError::NoMessage { .. }) => Ok(Told::NoMessage),
            Err(error) => Err(error),
        }
    }
}

fn nth_last_question(messages: &[hermes_types::StoredMessage], back: usize) -> MessageId {
    let questions = messages
        .iter()
        .rev()
        .filter(|stored| stored.state == RowState::Live && matches!(stored.message, Message::User(_)));
    questions.map(|stored| stored.id).nth(back).unwrap_or(MessageId(0))
}

impl Model {
    /// What the store holds of the sessions of the script.
    pub(crate) async fn of(store: &SqliteStore) -> Self {
        let mut sessions = BTreeMap::new();
        for session in 0..SESSIONS {
            let Some(export) = store.export(&name(session)).await.expect("read") else { continue };
            let seen = Seen {
                end_reason: export.session.end_reason.map(|reason| reason.as_str().to_owned()),
                message_count: export.session.message_count,
                tool_call_count: export.session.tool_call_count,
                rows: export.messages.into_iter().map(|stored| (stored.message, stored.state)).collect(),
            };
            sessions.insert(session, seen);
        }
        Self(sessions)
    }

    pub(crate) fn apply(&mut self, op: &Op) -> Told {
        let (Op::Create(session)
        | Op::Append(session, _)
        | Op::Rewind(session, _)
        | Op::Compact(session, _)
        | Op::Clear(session)
        | Op::End(session, _)
        | Op::Reopen(session)) = op;
        if let Op::Create(session) = op {
            self.0.entry(*session).or_default();
            return Told::Done(0);
        }
        let Some(seen) = self.0.get_mut(session) else {
            return if matches!(op, Op::Rewind(..)) { Told::NoMessage } else { Told::NoSession };
        };
        let told = seen.apply(op);
        seen.recount();
        told
    }
}

impl Seen {
    fn apply(&mut self, op: &Op) -> Told {
        let live = |(_, state): &&mut (Message, RowState)| *state == RowState::Live;
        match op {
            Op::Create(_) => Told::Done(0),
            Op::Append(_, messages) => self.add(messages),
            Op::Rewind(_, back) => {
                let questions =
                    self.rows.iter().enumerate().rev().filter(|(_, (message, state))| {
                        *state == RowState::Live && matches!(message, Message::User(_))
                    });
                let Some(from) = questions.map(|(place, _)| place).nth(*back) else { return Told::NoMessage };
                let undone = self.rows.iter_mut().skip(from).filter(live);
                Told::Done(undone.map(|row| row.1 = RowState::Undone).count() as u64)
            }
            Op::Compact(_, messages) => {
                self.rows.iter_mut().filter(live).for_each(|row| row.1 = RowState::Compacted);
                self.add(messages)
            }
            Op::Clear(_) => Told::Done(self.rows.drain(..).count() as u64),
            Op::End(_, reason) => {
                let first = self.end_reason.is_none();
                self.end_reason.get_or_insert_with(|| (*reason).to_owned());
                Told::Done(u64::from(first))
            }
            Op::Reopen(_) => {
                self.end_reason = None;
                Told::Done(0)
            }
        }
    }

    fn add(&mut self, messages: &[Message]) -> Told {
        self.rows.extend(messages.iter().cloned().map(|message| (message, RowState::Live)));
        Told::Done(messages.len() as u64)
    }

    fn recount(&mut self) {
        let live = || self.rows.iter().filter(|(_, state)| *state == RowState::Live);
        let calls = live().map(|(message, _)| match message {
            Message::Assistant(assistant) => assistant.tool_calls.len() as u64,
            _ => 0,
        });
        (self.tool_call_count, self.message_count) = (calls.sum(), live().count() as u64);
    }
}
