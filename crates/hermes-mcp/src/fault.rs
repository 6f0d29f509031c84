//! Why a question to a server has no answer, and whether it may be put again.
//!
//! The one rule: what may have been done is not done twice. A question that did not reach the server may be put again; one
//! whose answer was lost only when it changes nothing, or does the same twice.

use std::time::Duration;

/// Why there is no answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Fault {
    /// The server answered that it cannot.
    Refused(String),
    /// The question did not reach it, or was turned away at the door.
    NotSent(String),
    /// It was on its way when the connection ended.
    Lost(String),
    TimedOut(Duration),
    Interrupted,
    /// Somebody has to log in.
    Unauthorized(String),
}

/// Whether a call may be made twice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Nature {
    /// It only looks, or says that twice is once.
    Repeatable,
    Once,
}

/// What follows a fault.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// Once more, on a new connection.
    Again,
    Tell(Effect),
}

/// What is known of the effects of a call that failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Effect {
    /// Nothing happened that the server did not tell of.
    Known,
    Unknown,
}

/// Whether this was the first attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Attempt {
    First,
    Second,
}

impl Fault {
    pub(crate) fn verdict(&self, nature: Nature, attempt: Attempt) -> Verdict {
        match (self, nature, attempt) {
            (Self::NotSent(_), _, Attempt::First) => Verdict::Again,
            (Self::Lost(_), Nature::Repeatable, Attempt::First) => Verdict::Again,
            (Self::NotSent(_) | Self::Refused(_) | Self::Unauthorized(_), _, _) => Verdict::Tell(Effect::Known),
            (Self::Lost(_) | Self::TimedOut(_) | Self::Interrupted, Nature::Repeatable, _) => {
                Verdict::Tell(Effect::Known)
            }
            (Self::Lost(_) | Self::TimedOut(_) | Self::Interrupted, Nature::Once, _) => Verdict::Tell(Effect::Unknown),
        }
    }

    /// Whether it speaks against the server: one that answers, even with a no, is alive.
    pub(crate) fn counts_against_the_server(&self) -> bool {
        match self {
            Self::NotSent(_) | Self::Lost(_) | Self::TimedOut(_) => true,
            Self::Refused(_) | Self::Interrupted | Self::Unauthorized(_) => false,
        }
    }

    /// For the model, and for people.
    pub(crate) fn told(&self, server: &str) -> String {
        match self {
            Self::Refused(reason) => reason.clone(),
            Self::NotSent(reason) => format!("the MCP server {server} could not be reached: {reason}"),
            Self::Lost(reason) => format!("the MCP server {server} ended before it answered: {reason}"),
            Self::TimedOut(limit) => format!("the MCP server {server} did not answer within {} s", limit.as_secs_f64()),
            Self::Interrupted => format!("the call to the MCP server {server} was interrupted"),
            Self::Unauthorized(reason) => {
                format!(
                    "the MCP server {server} wants a login ({reason}); the person can type `hermes mcp login {server}`"
                )
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Attempt::{First, Second};
    use Nature::{Once, Repeatable};

    #[test]
    fn nothing_that_may_have_been_done_is_done_twice() {
        let (lost, unsent) = (Fault::Lost(String::new()), Fault::NotSent(String::new()));
        let late = Fault::TimedOut(Duration::from_secs(1));
        let table = [
            (&unsent, Once, First, Verdict::Again),
            (&unsent, Once, Second, Verdict::Tell(Effect::Known)),
            (&lost, Once, First, Verdict::Tell(Effect::Unknown)),
            (&lost, Repeatable, First, Verdict::Again),
            (&lost, Repeatable, Second, Verdict::Tell(Effect::Known)),
            (&late, Once, First, Verdict::Tell(Effect::Unknown)),
            (&late, Repeatable, First, Verdict::Tell(Effect::Known)),
            (&Fault::Interrupted, Once, First, Verdict::Tell(Effect::Unknown)),
            (&Fault::Refused(String::new()), Once, First, Verdict::Tell(Effect::Known)),
            (&Fault::Unauthorized(String::new()), Repeatable, First, Verdict::Tell(Effect::Known)),
        ];
        for (fault, nature, attempt, verdict) in table {
            assert_eq!(fault.verdict(nature, attempt), verdict, "{fault:?}, {nature:?}, {attempt:?}");
        }
    }
}
