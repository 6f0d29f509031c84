//! From the end of a sub-agent to its report.

use super::ear::Heard;
use hermes_core::turn::{End, Outcome};
use hermes_tools::delegate::{Fate, Report, Tokens, Traced, TracedStatus};
use hermes_types::{CallId, Message, ToolStatus, Usage};
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

/// Why a sub-agent was stopped from outside.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Cut {
    Interrupted,
    TimedOut(Duration),
}

/// How the work of a sub-agent ended.
#[derive(Debug)]
pub(super) struct Ending {
    pub(super) cut: Option<Cut>,
    /// What its turn came to; nothing when it had to be dropped.
    pub(super) outcome: Option<Outcome>,
}

impl Ending {
    pub(super) fn fate(&self) -> Fate {
        let own = self.outcome.as_ref().map(|outcome| fate_of(&outcome.end));
        match (self.cut, own) {
            // An answer that came in the last moment is an answer.
            (_, Some(Fate::Completed)) => Fate::Completed,
            (Some(Cut::Interrupted), _) => Fate::Interrupted,
            (Some(Cut::TimedOut(_)), _) => Fate::TimedOut,
            (None, Some(fate)) => fate,
            (None, None) => Fate::Broken,
        }
    }

    /// Why there is no whole answer.
    pub(super) fn error(&self) -> Option<String> {
        let told = |text: &str| Some(text.to_owned());
        match (self.fate(), self.cut) {
            (Fate::Completed | Fate::OutOfIterations, _) => None,
            (Fate::TimedOut, Some(Cut::TimedOut(limit))) => Some(format!(
                "It was stopped after {} s (delegation.child_timeout_seconds); this is what there was by then.",
                limit.as_secs()
            )),
            (Fate::Interrupted, _) => told("The person interrupted; this is what there was by then."),
            _ => match &self.outcome {
                Some(outcome) => outcome.end.explanation(),
                None => told("It failed inside of the program, which is a bug of Hermes."),
            },
        }
    }
}

fn fate_of(end: &End) -> Fate {
    match end {
        End::Answered(_) | End::SaidBefore => Fate::Completed,
        End::LastWord { .. } => Fate::OutOfIterations,
        End::Interrupted(_) => Fate::Interrupted,
        End::BrokenOff
        | End::TooLong
        | End::ThoughtTooLong
        | End::CutCalls
        | End::UnknownTools
        | End::Empty
        | End::Filtered
        | End::OverBudget(_) => Fate::Failed,
        End::Unanswered(_) | End::Aborted(_) | End::NotKept(_) | End::NothingOpen | End::Taken(_) => Fate::Broken,
    }
}

/// What is known of a sub-agent besides its end.
pub(super) struct Facts<'a> {
    pub(super) history: &'a [Arc<Message>],
    pub(super) heard: Heard,
    pub(super) api_calls: u64,
    pub(super) took: Duration,
    pub(super) model: Option<String>,
}

pub(super) fn report(ending: &Ending, facts: Facts<'_>) -> Report {
    let outcome = ending.outcome.as_ref();
    let said = outcome.and_then(|outcome| outcome.text.clone());
    let usage = outcome.map_or(Some(facts.heard.usage), |outcome| outcome.usage).unwrap_or_default();
    Report {
        fate: ending.fate(),
        summary: said.or_else(|| last_text(facts.history)).unwrap_or_default(),
        api_calls: facts.api_calls,
        took: facts.took,
        model: facts.model,
        tokens: tokens(usage),
        trace: trace(facts.history, &facts.heard.calls),
        error: ending.error(),
    }
}

fn tokens(usage: Usage) -> Tokens {
    Tokens { input: usage.prompt(), output: usage.output }
}

/// The last thing it said that has words in it.
fn last_text(history: &[Arc<Message>]) -> Option<String> {
    let said = history.iter().rev().filter(|message| matches!(***message, Message::Assistant(_)));
    said.map(|message| message.text()).find(|text| !text.trim().is_empty())
}

/// Every call in the order it was made, with the size of what it was given and of what it gave.
fn trace(history: &[Arc<Message>], ended: &HashMap<CallId, ToolStatus>) -> Vec<Traced> {
    let mut trace: Vec<Traced> = Vec::new();
    // Providers may give an id twice; a result belongs to the newest call that has it.
    let mut places: HashMap<&CallId, usize> = HashMap::new();
    for message in history {
        match &**message {
            Message::Assistant(said) => {
                for call in &said.tool_calls {
                    places.insert(&call.id, trace.len());
                    trace.push(Traced {
                        tool: call.function.name.clone(),
                        args_bytes: call.function.arguments.as_str().len(),
                        result_bytes: 0,
                        status: TracedStatus::Error,
                    });
                }
            }
            Message::Tool(result) => {
                let place = places.get(&result.tool_call_id);
                if let Some(traced) = place.and_then(|place| trace.get_mut(*place)) {
                    traced.result_bytes = result.content.text().len();
                    if ended.get(&result.tool_call_id) == Some(&ToolStatus::Done) {
                        traced.status = TracedStatus::Ok;
                    }
                }
            }
            Message::System(_) | Message::User(_) => {}
        }
    }
    trace
}
