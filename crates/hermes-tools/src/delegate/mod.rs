//! Work handed to sub-agents.
//!
//! A [`Crew`] is whoever can send them out: an agent brings one and leaves it at its desk. The tool `delegate_task` reads
//! what is wanted, waits while the crew works, and tells one report for each task, in the order of the tasks. It decides
//! nothing about what a sub-agent may do: every call of a sub-agent passes the gate by itself.

mod result;
mod settings;
mod tool;

pub use settings::DelegationSettings;
pub(crate) use tool::DelegateTool;
pub use tool::NAME;

use crate::desk::Cx;
use futures_util::future::BoxFuture;
use serde::Serialize;
use std::time::Duration;

/// Those who take work off an agent.
pub trait Crew: Send + Sync {
    /// Sends a sub-agent for each errand and waits for all of them: one report for each, in their order, whatever
    /// happens to them. An error says why none was sent.
    fn send<'a>(&'a self, errands: Vec<Errand>, cx: &'a Cx) -> BoxFuture<'a, Result<Vec<Report>, String>>;
}

/// One task for one sub-agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Errand {
    pub goal: String,
    /// What it has to know besides; it sees nothing of the conversation it comes from.
    pub context: Option<String>,
    pub role: Role,
}

/// Whether a sub-agent does its task alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Role {
    #[default]
    Leaf,
    /// It may hand parts on, where the settings allow that.
    Orchestrator,
}

impl Role {
    pub fn name(self) -> &'static str {
        match self {
            Self::Leaf => "leaf",
            Self::Orchestrator => "orchestrator",
        }
    }
}

/// What came of one errand.
#[derive(Debug, Clone, PartialEq)]
pub struct Report {
    pub fate: Fate,
    /// The last words of the sub-agent, all of them.
    pub summary: String,
    pub api_calls: u64,
    pub took: Duration,
    pub model: Option<String>,
    pub tokens: Tokens,
    pub trace: Vec<Traced>,
    /// Why there is no whole answer, where there is none.
    pub error: Option<String>,
}

impl Report {
    /// A report without any work behind it.
    pub fn without_work(fate: Fate, error: impl Into<String>) -> Self {
        Self {
            fate,
            summary: String::new(),
            api_calls: 0,
            took: Duration::ZERO,
            model: None,
            tokens: Tokens::default(),
            trace: Vec::new(),
            error: Some(error.into()),
        }
    }
}

/// How a sub-agent ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    Completed,
    /// All its iterations were used; its report says what there was by then.
    OutOfIterations,
    /// It worked and came to no answer.
    Failed,
    Interrupted,
    TimedOut,
    /// It could not work at all.
    Broken,
}

impl Fate {
    /// The word for what became of the task.
    pub fn status(self) -> &'static str {
        match self {
            Self::Completed | Self::OutOfIterations => "completed",
            Self::Failed => "failed",
            Self::Interrupted => "interrupted",
            Self::TimedOut => "timeout",
            Self::Broken => "error",
        }
    }

    /// The word for why the work ended.
    pub fn exit_reason(self) -> &'static str {
        match self {
            Self::Completed => "completed",
            Self::OutOfIterations => "max_iterations",
            Self::Interrupted => "interrupted",
            Self::TimedOut => "timeout",
            Self::Failed | Self::Broken => "error",
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Tokens {
    pub input: u64,
    pub output: u64,
}

/// One call that a sub-agent made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Traced {
    pub tool: String,
    pub args_bytes: usize,
    pub result_bytes: usize,
    pub status: TracedStatus,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum TracedStatus {
    Ok,
    /// It failed, was refused, or never got a result.
    Error,
}
