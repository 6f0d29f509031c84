//! What happens during a turn, told once. The terminal, JSON output, the gateway, editors and the trajectory writer are
//! all readers of this one stream.
//!
//! The serialised form is a contract: fields are added, never renamed or removed, within one [`EVENT_VERSION`].

use crate::{CallId, FaultKind, Reply, SessionId, StopReason, Usage};
use serde::{Deserialize, Serialize};

/// Written in the first event of every stream.
pub const EVENT_VERSION: u32 = 1;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Event {
    /// The turn begins; names who will answer.
    Started { version: u32, session_id: SessionId, provider: String, model: String },
    /// A piece of the answer.
    Text { text: String },
    /// A piece of the model's reasoning.
    Reasoning { text: String },
    /// The model began to write a call of this tool.
    ToolCallStarted { name: String },
    /// A call passed the gate and runs now; `about` is its main argument, short and with secrets covered.
    ToolStarted { call_id: CallId, name: String, about: String },
    /// The call has its result.
    ToolFinished { call_id: CallId, name: String, status: ToolStatus, duration_ms: u64 },
    /// Something a person may want to know while waiting.
    Notice { notice: Notice },
    /// A whole answer of the model.
    Answer {
        text: String,
        stop_reason: StopReason,
        #[serde(skip_serializing_if = "Option::is_none")]
        usage: Option<Usage>,
        #[serde(skip_serializing_if = "Option::is_none")]
        model: Option<String>,
    },
    /// The turn ended without an answer.
    Failed { kind: FaultKind, message: String },
}

/// How a call of a tool ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolStatus {
    Done,
    Failed,
    /// The gate, a hook or a guardrail refused.
    Blocked,
    TimedOut,
    Cancelled,
}

/// Steps of recovery and waiting, so that nobody sits in silence.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "what", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Notice {
    /// Nothing has arrived for this long.
    Waiting { seconds: u64 },
    /// The attempt failed; the next one starts after the delay.
    Retrying { attempt: u32, delay_ms: u64, kind: FaultKind, message: String },
    /// Another credential of the same provider takes over.
    Rotated { kind: FaultKind },
    /// The login was renewed.
    Refreshed,
    /// Another provider takes over for this turn.
    FellBack { provider: String, model: String, kind: FaultKind, message: String },
    /// The answer broke off after part of it was told; what follows is a new answer from its beginning.
    StartedOver,
    /// The request is sent again without something the provider refused.
    Conceded { concession: crate::Concession },
}

impl Event {
    pub fn answer(reply: &Reply) -> Self {
        Self::Answer {
            text: reply.text(),
            stop_reason: reply.stop_reason(),
            usage: reply.usage,
            model: reply.model.clone(),
        }
    }
}
