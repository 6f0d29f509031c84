//! How a turn ended: exactly one [`End`], and the one [`Outcome`] that everybody reads.

use super::budget::Exhausted;
use hermes_types::{Event, Fault, FaultKind, OutcomeKind, SessionId, Spent, StopReason, Usage};

/// Every way out of a turn.
#[derive(Debug, Clone, PartialEq)]
pub enum End {
    /// The model answered.
    Answered(StopReason),
    /// The model had answered beside its last housekeeping calls, and had nothing to add.
    SaidBefore,
    /// All iterations were used; what there is of an answer was asked for without tools.
    LastWord { used: u32, most: u32 },
    /// The connection broke after part of the answer was shown.
    BrokenOff,
    /// The answer was longer than all continuations.
    TooLong,
    /// The whole output went into thinking.
    ThoughtTooLong,
    /// Calls arrived incomplete again and again; none was run.
    CutCalls,
    /// The model kept calling tools that do not exist.
    UnknownTools,
    /// The model said nothing, however often it was asked.
    Empty,
    /// The provider withheld the answer.
    Filtered,
    /// The person stopped it.
    Interrupted(Interrupted),
    /// A limit of `budget.*` is reached.
    OverBudget(Exhausted),
    /// No model could be asked.
    Unanswered(Fault),
    /// A tool found that the turn cannot go on.
    Aborted(String),
    /// What happened could not be written down; going on would have lost it.
    NotKept(String),
    /// There was no turn to go on with.
    NothingOpen,
    /// Another program is in the middle of a turn.
    Taken(String),
}

/// What was going on when the person stopped the turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Interrupted {
    BetweenSteps,
    WhileAsking,
    WhileWorking,
}

impl End {
    pub fn kind(&self) -> OutcomeKind {
        match self {
            Self::Answered(_) | Self::SaidBefore => OutcomeKind::Answered,
            Self::LastWord { .. }
            | Self::BrokenOff
            | Self::TooLong
            | Self::ThoughtTooLong
            | Self::CutCalls
            | Self::UnknownTools
            | Self::OverBudget(_) => OutcomeKind::Partial,
            Self::Empty => OutcomeKind::Empty,
            Self::Filtered => OutcomeKind::Filtered,
            Self::Interrupted(_) => OutcomeKind::Interrupted,
            Self::Unanswered(_) | Self::Aborted(_) | Self::NotKept(_) | Self::NothingOpen | Self::Taken(_) => {
                OutcomeKind::Failed
            }
        }
    }

    /// The word for the books, the same as the Python program's where it has one.
    pub fn exit_reason(&self) -> String {
        match self {
            Self::Answered(reason) => format!("text_response(finish_reason={reason})"),
            Self::SaidBefore => "fallback_prior_turn_content".into(),
            Self::LastWord { used, most } => format!("max_iterations_reached({used}/{most})"),
            Self::BrokenOff => "partial_stream_recovery".into(),
            Self::TooLong => "length_continuation_exhausted".into(),
            Self::ThoughtTooLong => "thinking_budget_exhausted".into(),
            Self::CutCalls => "truncated_tool_call".into(),
            Self::UnknownTools => "invalid_tool_name_exhausted".into(),
            Self::Empty => "empty_response_exhausted".into(),
            Self::Filtered => "content_policy_blocked".into(),
            Self::Interrupted(Interrupted::WhileAsking) => "interrupted_during_api_call".into(),
            Self::Interrupted(_) => "interrupted_by_user".into(),
            Self::OverBudget(exhausted) => format!("budget_exhausted({})", exhausted.key),
            Self::Unanswered(fault) => format!("api_error({})", word(fault.kind)),
            Self::Aborted(_) => "tool_aborted".into(),
            Self::NotKept(_) => "local_processing_error(store)".into(),
            Self::NothingOpen => "nothing_to_continue".into(),
            Self::Taken(_) => "session_in_use".into(),
        }
    }

    /// What a person is told where there is no answer, or less than one.
    pub fn explanation(&self) -> Option<String> {
        let text = match self {
            Self::Answered(_) | Self::SaidBefore => return None,
            Self::LastWord { most, .. } => format!(
                "all {most} steps of the turn are used; this is what there is. `--max-turns N` or agent.max_turns allows more"
            ),
            Self::BrokenOff => "the connection broke off; the answer is incomplete".into(),
            Self::TooLong => "the answer is longer than the model may write, even in four parts; ask for less at a time, or raise model.max_tokens".into(),
            Self::ThoughtTooLong => "the model used its whole output for thinking; lower agent.reasoning_effort or raise model.max_tokens".into(),
            Self::CutCalls => "the model's calls of tools arrived incomplete each time and were not run; raise model.max_tokens, or ask for smaller steps".into(),
            Self::UnknownTools => "the model kept calling tools that do not exist; another model may do better (`hermes model`)".into(),
            Self::Empty => "the model gave no answer, however often it was asked; another model may do better (`hermes model`)".into(),
            Self::Filtered => "the provider withheld the answer".into(),
            Self::Interrupted(_) => "interrupted".into(),
            Self::OverBudget(exhausted) => exhausted.message.clone(),
            Self::Unanswered(fault) => fault.message.clone(),
            Self::Aborted(reason) | Self::Taken(reason) => reason.clone(),
            Self::NotKept(reason) => format!("the conversation can no longer be written down, so it was stopped: {reason}"),
            Self::NothingOpen => "this conversation has no unfinished turn; ask something with `-q`".into(),
        };
        Some(text)
    }

    fn fault_kind(&self) -> FaultKind {
        match self {
            Self::Unanswered(fault) => fault.kind,
            Self::Interrupted(_) => FaultKind::Interrupted,
            Self::Filtered => FaultKind::ContentBlocked,
            Self::Empty => FaultKind::EmptyStream,
            Self::NothingOpen => FaultKind::NotConfigured,
            _ => FaultKind::Unknown,
        }
    }
}

/// The name of a kind of fault, as events spell it.
fn word(kind: FaultKind) -> String {
    match serde_json::to_value(kind) {
        Ok(serde_json::Value::String(word)) => word,
        Ok(serde_json::Value::Object(refused)) => refused.keys().cloned().collect(),
        _ => String::new(),
    }
}

/// All there is to say about a turn.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    pub session: SessionId,
    pub end: End,
    /// What the person gets to read: the answer, or what there is of it.
    pub text: Option<String>,
    /// The last thoughts of the turn.
    pub reasoning: Option<String>,
    pub iterations: u32,
    /// Requests to models, those that failed included.
    pub api_calls: u64,
    pub tool_calls: u64,
    /// Of this agent; `None` when no provider counted.
    pub usage: Option<Usage>,
    /// With all its sub-agents and the jobs beside it.
    pub usage_of_all: Option<Usage>,
    /// What all of them cost together.
    pub spent: Spent,
    /// Who says so, each once.
    pub price_sources: Vec<String>,
    /// Tokens of the last prompt, as the provider counted them.
    pub last_prompt: Option<u64>,
    pub provider: Option<String>,
    pub model: Option<String>,
    pub base_url: Option<String>,
    /// The model that answered, by its own account.
    pub answered_by: Option<String>,
    /// Messages of the person that reached nobody.
    pub undelivered: Vec<String>,
    /// Why the end of the turn is not on disk, where it is not.
    pub not_kept: Option<String>,
}

impl Outcome {
    /// Nobody was asked.
    pub fn unasked(session: SessionId, end: End, provider: Option<String>, model: Option<String>) -> Self {
        Self {
            session,
            end,
            text: None,
            reasoning: None,
            iterations: 0,
            api_calls: 0,
            tool_calls: 0,
            usage: None,
            usage_of_all: None,
            spent: Spent::default(),
            price_sources: Vec::new(),
            last_prompt: None,
            provider,
            model,
            base_url: None,
            answered_by: None,
            undelivered: Vec::new(),
            not_kept: None,
        }
    }

    pub fn kind(&self) -> OutcomeKind {
        self.end.kind()
    }

    /// True only for a turn that answered.
    pub fn completed(&self) -> bool {
        self.kind() == OutcomeKind::Answered
    }

    pub fn stop_reason(&self) -> StopReason {
        match &self.end {
            End::Answered(reason) => reason.clone(),
            End::TooLong | End::ThoughtTooLong | End::CutCalls => StopReason::Length,
            End::Filtered => StopReason::ContentFilter,
            End::UnknownTools => StopReason::ToolCalls,
            End::BrokenOff => StopReason::Incomplete,
            _ => StopReason::Stop,
        }
    }

    /// The last event of the turn.
    pub fn event(&self) -> Event {
        match (&self.text, self.kind()) {
            (Some(text), kind) if !matches!(kind, OutcomeKind::Failed | OutcomeKind::Interrupted) => Event::Answer {
                outcome: kind,
                exit_reason: self.end.exit_reason(),
                text: text.clone(),
                stop_reason: self.stop_reason(),
                usage: self.usage_of_all,
                model: self.answered_by.clone(),
                iterations: self.iterations,
                tool_calls: self.tool_calls,
            },
            _ => Event::Failed {
                kind: self.end.fault_kind(),
                message: self.end.explanation().unwrap_or_default(),
                exit_reason: self.end.exit_reason(),
            },
        }
    }
}
