//! How a turn ended: one of a few names, each with its exit code. Failure never looks like success.

use super::{EXIT_FAILED, EXIT_INTERRUPTED};
use hermes_types::{Fault, FaultKind, Reply, StopReason};
use std::process::ExitCode;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Outcome {
    Answered,
    /// There is text, but not all of it.
    Partial,
    /// The model ended without saying anything.
    Empty,
    /// The provider withheld the answer.
    Filtered,
    Failed,
    Interrupted,
}

impl Outcome {
    pub(super) fn of(result: &Result<Reply, Fault>) -> Self {
        match result {
            Err(fault) if fault.kind == FaultKind::Interrupted => Self::Interrupted,
            Err(_) => Self::Failed,
            Ok(reply) => match reply.stop_reason() {
                StopReason::ContentFilter => Self::Filtered,
                _ if reply.cut_off => Self::Partial,
                StopReason::Length | StopReason::Incomplete => Self::Partial,
                _ if reply.text().trim().is_empty() => Self::Empty,
                _ => Self::Answered,
            },
        }
    }

    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Answered => "answered",
            Self::Partial => "partial",
            Self::Empty => "empty",
            Self::Filtered => "filtered",
            Self::Failed => "failed",
            Self::Interrupted => "interrupted",
        }
    }

    pub(super) fn remark(self) -> Option<&'static str> {
        match self {
            Self::Partial => Some("the answer is not complete: it ended at the output limit or the connection broke"),
            Self::Empty => Some("the model ended its answer without a word; ask again, or choose another model"),
            Self::Filtered => Some("the provider withheld the answer (content filter)"),
            Self::Answered | Self::Failed | Self::Interrupted => None,
        }
    }

    pub(super) fn exit_code(self) -> ExitCode {
        match self {
            Self::Answered => ExitCode::SUCCESS,
            Self::Interrupted => ExitCode::from(EXIT_INTERRUPTED),
            Self::Partial | Self::Empty | Self::Filtered | Self::Failed => ExitCode::from(EXIT_FAILED),
        }
    }
}
