//! The person, wherever they sit, and the model that may be consulted in their place. Ports: the terminal, the gateway
//! and the editors each bring their own.

use crate::gate::{Answer, Channel, Opinion, Permanence};
use futures_util::future::BoxFuture;
use hermes_types::SessionId;
use std::time::Duration;

/// A question whether something dangerous may be done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApprovalQuestion {
    pub session: SessionId,
    pub tool: String,
    /// What would be done: all of it, with secrets covered and nothing in it that a screen would hide or obey. Long
    /// ones are shown by their [`crate::gate::excerpt`] first.
    pub what: String,
    /// Where a command would run.
    pub cwd: Option<String>,
    /// Why it is asked about, each in words a person knows.
    pub reasons: Vec<String>,
    pub permanence: Permanence,
    /// What the consulted model thought of it, when it was against.
    pub advice: Option<String>,
    /// How long the question stays open. The gate holds the clock; this is for showing it.
    pub timeout: Duration,
}

/// A question of the model to the person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Clarification {
    pub question: String,
    /// At most four; none is an open question.
    pub choices: Vec<String>,
}

/// What became of a question of the model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reply {
    Said(String),
    /// Nobody is there, or nobody answered in time.
    Silence,
}

/// Whoever sits in front of the conversation. An implementation may wait as long as it likes: the caller holds the clock,
/// and drops the future when the question is over.
pub trait Face: Send + Sync {
    fn channel(&self) -> Channel;

    fn approve(&self, question: ApprovalQuestion) -> BoxFuture<'_, Answer>;

    fn clarify(&self, question: Clarification) -> BoxFuture<'_, Reply>;

    /// A password that is typed hidden; `None` when it is not given.
    fn password(&self, reason: String) -> BoxFuture<'_, Option<String>>;

    /// Something the person should know about what they answered.
    fn tell(&self, _notice: String) {}
}

/// A model that judges one dangerous command where the owner chose `approvals.mode: smart`.
pub trait Adviser: Send + Sync {
    /// Never fails: what is no clear yes or no is [`Opinion::Escalate`].
    fn consider(&self, command: String, reasons: Vec<String>) -> BoxFuture<'_, Opinion>;
}

/// Nobody: scripts, scheduled jobs, `hermes tools call` in a pipe.
#[derive(Debug, Clone, Copy, Default)]
pub struct Nobody;

impl Face for Nobody {
    fn channel(&self) -> Channel {
        Channel::Nobody
    }

    fn approve(&self, _question: ApprovalQuestion) -> BoxFuture<'_, Answer> {
        Box::pin(std::future::ready(Answer::Deny))
    }

    fn clarify(&self, _question: Clarification) -> BoxFuture<'_, Reply> {
        Box::pin(std::future::ready(Reply::Silence))
    }

    fn password(&self, _reason: String) -> BoxFuture<'_, Option<String>> {
        Box::pin(std::future::ready(None))
    }
}
