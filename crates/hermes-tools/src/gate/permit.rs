//! What passed the gate, and what did not.

use super::decide::{Reason, Refusal};
use crate::effects::{Effects, ShellCommand};

/// Proof that these effects, and no others, were judged. Only the gate makes one, and nothing runs without it.
#[derive(Debug, PartialEq, Eq)]
pub struct Permit {
    effects: Effects,
    approval: Approval,
}

/// Why something may run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Approval {
    Unasked(Reason),
    /// A person said yes to these reasons.
    Person(Vec<String>),
}

/// Why something may not run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refused {
    pub cause: Cause,
    /// For the model: what was refused, why, and what to do instead.
    pub message: String,
    pub reasons: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Cause {
    Policy(Refusal),
    Denied,
    TimedOut,
    Interrupted,
}

impl Permit {
    pub(super) fn new(effects: Effects, approval: Approval) -> Self {
        Self { effects, approval }
    }

    pub fn effects(&self) -> &Effects {
        &self.effects
    }

    /// The command that may run.
    pub fn command(&self) -> Option<&ShellCommand> {
        self.effects.command.as_ref()
    }

    pub fn approval(&self) -> &Approval {
        &self.approval
    }
}
