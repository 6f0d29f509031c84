//! What a model is told when something may not run. The words leave no doubt that another spelling is no way round.

use super::decide::Refusal;
use super::permit::{Cause, Refused};
use hermes_types::ToolStatus;

const NO_WAY_ROUND: &str =
    "Do not try this again, rephrase it, or reach the same effect another way. Stop and wait for the person.";

impl Refused {
    pub(super) fn by_policy(refusal: Refusal) -> Self {
        let (message, reasons) = match &refusal {
            Refusal::Hardline { key } => (
                format!(
                    "BLOCKED (hardline): {key}. This never runs, whatever the settings say. Do not try it in another form."
                ),
                vec![(*key).to_owned()],
            ),
            Refusal::SudoPasswordMissing => (
                "BLOCKED: the command reads a sudo password from its input, and none is configured. Leave out -S."
                    .to_owned(),
                Vec::new(),
            ),
            Refusal::Rule { pattern } => (
                format!(
                    "BLOCKED: the owner's rule `{pattern}` forbids this. Do not reach the same effect another way."
                ),
                vec![pattern.clone()],
            ),
            Refusal::NobodyToAsk { keys } => (
                format!(
                    "BLOCKED: this needs a person's consent ({}), and nobody is there to give it. Do not try it in \
                     another form; go on without it or say what is needed.",
                    keys.join("; ")
                ),
                keys.clone(),
            ),
        };
        Self { cause: Cause::Policy(refusal), message, reasons }
    }

    pub(super) fn denied(reasons: Vec<String>) -> Self {
        let message = format!("BLOCKED: the person said no. They have not consented. {NO_WAY_ROUND}");
        Self { cause: Cause::Denied, message, reasons }
    }

    pub(super) fn timed_out(reasons: Vec<String>) -> Self {
        let message = format!("BLOCKED: nobody answered in time, and silence is no consent. {NO_WAY_ROUND}");
        Self { cause: Cause::TimedOut, message, reasons }
    }

    pub(super) fn interrupted(reasons: Vec<String>) -> Self {
        let message = format!("BLOCKED: the person interrupted the question. They have not consented. {NO_WAY_ROUND}");
        Self { cause: Cause::Interrupted, message, reasons }
    }

    /// What a call is that was refused so.
    pub fn status(&self) -> ToolStatus {
        match self.cause {
            Cause::Policy(_) | Cause::Denied | Cause::TimedOut => ToolStatus::Blocked,
            Cause::Interrupted => ToolStatus::Cancelled,
        }
    }

    /// For the person: why it did not run, as the end of a sentence. Who interrupted knows.
    pub fn to_person(&self) -> Option<String> {
        Some(match &self.cause {
            Cause::Policy(Refusal::Hardline { key }) => format!("it never runs ({key})"),
            Cause::Policy(Refusal::SudoPasswordMissing) => "no sudo password is configured".to_owned(),
            Cause::Policy(Refusal::Rule { pattern }) => format!("your rule `{pattern}` forbids it"),
            Cause::Policy(Refusal::NobodyToAsk { keys }) => format!("nobody to ask ({})", keys.join("; ")),
            Cause::Denied => "you said no".to_owned(),
            Cause::TimedOut => "nobody answered in time".to_owned(),
            Cause::Interrupted => return None,
        })
    }

    /// One word for how it ended: `blocked`, `denied`, `timeout` or `interrupted`.
    pub fn outcome(&self) -> &'static str {
        match self.cause {
            Cause::Policy(_) => "blocked",
            Cause::Denied => "denied",
            Cause::TimedOut => "timeout",
            Cause::Interrupted => "interrupted",
        }
    }
}
