//! What happens during a turn, told once. The terminal, JSON output, the gateway, editors and the trajectory writer are
//! all readers of this one stream.
//!
//! The serialised form is a contract: fields are added, never renamed or removed, within one [`EVENT_VERSION`].

use crate::{CallId, FaultKind, SessionId, StopReason, Usage};
use serde::{Deserialize, Serialize};

/// Written in the first event of every stream.
pub const EVENT_VERSION: u32 = 1;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Event {
    /// The turn begins; names who will answer.
    Started { version: u32, session_id: SessionId, provider: String, model: String },
    /// The turn asks the model once more: `iteration` of at most `of`.
    Step { iteration: u32, of: u32 },
    /// A piece of the answer.
    Text { text: String },
    /// A piece of the model's reasoning.
    Reasoning { text: String },
    /// The model began to write a call of this tool.
    ToolCallStarted { name: String },
    /// A whole reply that is not the end of the turn: what the model said, the calls it wants, what it cost.
    Reply {
        iteration: u32,
        text: String,
        calls: Vec<String>,
        stop_reason: StopReason,
        #[serde(skip_serializing_if = "Option::is_none")]
        usage: Option<Usage>,
    },
    /// A call passed the gate and runs now; `about` is its main argument, short and with secrets covered.
    ToolStarted { call_id: CallId, name: String, about: String },
    /// The call has its result.
    ToolFinished {
        call_id: CallId,
        name: String,
        status: ToolStatus,
        duration_ms: u64,
        /// As in [`Event::ToolStarted`], of a call that never began, and so told nothing before.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        about: String,
        /// What a command ended with, unless that is 0.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        exit_code: Option<i64>,
        /// For a person, where the status alone says too little: why it was refused or failed, how far a plan is.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        note: Option<String>,
    },
    /// A message of the person reached the model in the middle of the turn.
    Delivered { text: String },
    /// The conversation was too long and is shorter now. It goes on as `session_id`, which may be another than before.
    Compressed {
        session_id: SessionId,
        /// What made it too long: `threshold`, `overflow`, `manual` or `hygiene`.
        trigger: String,
        /// The phase that sufficed: `prune`, `summary`, `fallback` or `truncate`.
        phase: String,
        tokens_before: u64,
        tokens_after: u64,
        messages_before: usize,
        messages_after: usize,
        duration_ms: u64,
        /// Who wrote the summary, where one was written.
        #[serde(skip_serializing_if = "Option::is_none")]
        model: Option<String>,
    },
    /// Something that happened to a sub-agent; `task` counts the tasks of one call from 0.
    Subagent { call_id: CallId, task: usize, session_id: SessionId, event: Box<Event> },
    /// Something a person may want to know while waiting.
    Notice { notice: Notice },
    /// The turn ended with something to read; `outcome` says whether it is the answer.
    Answer {
        outcome: OutcomeKind,
        exit_reason: String,
        text: String,
        stop_reason: StopReason,
        /// Of the whole turn.
        #[serde(skip_serializing_if = "Option::is_none")]
        usage: Option<Usage>,
        #[serde(skip_serializing_if = "Option::is_none")]
        model: Option<String>,
        iterations: u32,
        tool_calls: u64,
    },
    /// The turn ended without an answer.
    Failed { kind: FaultKind, message: String, exit_reason: String },
}

/// What became of a turn. Only `Answered` is a success.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OutcomeKind {
    Answered,
    /// Something is there, but not all that was asked for.
    Partial,
    /// The model said nothing.
    Empty,
    /// The provider withheld the answer.
    Filtered,
    Failed,
    Interrupted,
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
    /// The person interrupted before it ended, or before it began.
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
    /// The model is asked again, because its reply cannot be used as it is.
    Again { reason: AgainReason },
    /// All iterations of the turn are used; the model is asked to answer with what it has.
    LastWord { iterations: u32 },
    /// The conversation takes up this many tokens, more than is good; it is made shorter.
    Compressing { tokens: u64 },
    /// The conversation is too long and stays as it is, and why.
    NotCompressed { tokens: u64, reason: String },
    /// A limit in dollars cannot be held, because this model's price is not known.
    PriceUnknown { model: String },
    /// Something the person should know, in words.
    Warning { text: String },
}

/// What was wrong with a reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AgainReason {
    /// Nothing was said.
    Empty,
    /// Only thoughts, no answer.
    OnlyThoughts,
    /// A call was cut off or cannot be read; it was not run.
    CutCall,
    /// The answer reached the output limit and goes on in another reply.
    CutAnswer,
    /// None of the tools it calls exists.
    UnknownTool,
}
