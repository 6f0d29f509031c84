//! How a turn ended: one of a few names, each with its exit code. Failure never looks like success.

use super::{EXIT_FAILED, EXIT_INTERRUPTED};
use hermes_types::{Fault, FaultKind, Reply, StopReason};
use std::process::ExitCode;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Outcome {
    Answered,
    /// There is text, but not all of it, or the model waits for tools that nobody runs.
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
                StopReason::Length | StopReason::Incomplete | StopReason::ToolCalls => Self::Partial,
                _ if !reply.message.tool_calls.is_empty() => Self::Partial,
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

    /// What a person should know about an answer that is not a whole one.
    pub(super) fn remark(self, reply: &Reply) -> Option<String> {
        let calls = reply.message.tool_calls.iter().map(|call| call.function.name.as_str());
        let tools: Vec<&str> = calls.chain(reply.dropped.iter().map(String::as_str)).collect();
        match self {
            Self::Partial if !tools.is_empty() => {
                let names = tools.join(", ");
                Some(format!("the model asked for tools ({names}), which this command does not run yet"))
            }
            Self::Partial => {
                Some("the answer is not complete: it ended at the output limit or the connection broke".into())
            }
            Self::Empty => Some("the model ended its answer without a word; ask again, or choose another model".into()),
            Self::Filtered => Some("the provider withheld the answer (content filter)".into()),
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
