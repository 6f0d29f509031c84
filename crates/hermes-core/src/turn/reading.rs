//! What a reply of the model means for the turn: one pure function, like [`plan`](crate::plan::plan) for faults.
//!
//! The order of the branches is the order of this file: withheld, cut calls, calls, cut text, text, nothing. Each way to
//! ask again is counted in [`Strikes`], so that every chain of bad replies ends.

use super::names::meant;
use super::outcome::End;
use hermes_types::{AgainReason, Fault, FaultKind, Reply, StopReason};
use std::collections::BTreeSet;

const MOST_CONTINUATIONS: u32 = 3;
const MOST_REPEATS_OF_CUT_CALLS: u32 = 2;
const MOST_UNKNOWN: u32 = 3;
const MOST_THOUGHTS: u32 = 2;
const MOST_EMPTY: u32 = 3;

/// What the turn does with a reply.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Reading {
    /// Keep it and run its calls.
    Act,
    /// Keep it: it is the answer, or the rest of one.
    Answer,
    /// Keep it as a part of the answer and ask for more.
    GoOn,
    /// Forget it and ask the same again; with more room for the output where that was the trouble.
    Again(AgainReason, Room),
    /// Keep it and tell the model what was wrong.
    Nudge(Nudge),
    /// Another provider may do better; otherwise the turn ends like this.
    Leave(Fault, End),
    /// Keep it; the turn is over.
    End(End),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Room {
    Same,
    More,
}

/// What the model is told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Nudge {
    /// It said nothing after it got results.
    AfterTools,
    /// It thought and did not answer.
    OnlyThoughts,
    /// Its calls were too long to arrive.
    SmallerCalls(Vec<String>),
}

impl Nudge {
    pub(crate) fn reason(&self) -> AgainReason {
        match self {
            Self::AfterTools => AgainReason::Empty,
            Self::OnlyThoughts => AgainReason::OnlyThoughts,
            Self::SmallerCalls(_) => AgainReason::CutCall,
        }
    }
}

/// How often this turn asked again, and why.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Strikes {
    continued: u32,
    cut_calls: u32,
    told_of_cut_calls: bool,
    unknown: u32,
    thoughts: u32,
    empty: u32,
    nudged: bool,
}

impl Strikes {
    /// Takes note of what a reply was taken for.
    pub(crate) fn took(&mut self, reading: &Reading, all_unknown: bool) {
        match reading {
            Reading::Act if all_unknown => self.unknown += 1,
            // A round of work: the model is on its feet again.
            Reading::Act => {
                *self = Self { continued: self.continued, ..Self::default() };
            }
            Reading::GoOn => self.continued += 1,
            Reading::Again(AgainReason::CutCall, _) => self.cut_calls += 1,
            Reading::Again(..) => self.empty += 1,
            Reading::Nudge(Nudge::AfterTools) => self.nudged = true,
            Reading::Nudge(Nudge::OnlyThoughts) => self.thoughts += 1,
            Reading::Nudge(Nudge::SmallerCalls(_)) => self.told_of_cut_calls = true,
            Reading::Leave(..) => *self = Self { continued: self.continued, ..Self::default() },
            Reading::Answer | Reading::End(_) => {}
        }
    }

    /// How much longer the next output may be: twice as long for each time it was too short.
    pub(crate) fn doublings(&self) -> u32 {
        self.continued + self.cut_calls
    }

    pub(crate) fn has_continued(&self) -> bool {
        self.continued > 0
    }
}

/// What the turn knows besides the reply.
#[derive(Debug, Clone, Default)]
pub(crate) struct Facts<'a> {
    pub(crate) offered: BTreeSet<&'a str>,
    /// Results of tools are among the last messages.
    pub(crate) after_tools: bool,
    /// Text that stood beside the calls of the reply before, when those only kept house.
    pub(crate) said_before: bool,
}

impl Facts<'_> {
    pub(crate) fn knows_none_of(&self, reply: &Reply) -> bool {
        let mut calls = reply.tool_calls().iter();
        calls.all(|call| meant(&call.function.name, &self.offered).is_none())
    }
}

pub(crate) fn read(reply: &Reply, strikes: &Strikes, facts: &Facts<'_>) -> Reading {
    let stopped = reply.stop_reason();
    let text = reply.text();
    let has_text = !text.trim().is_empty();
    if stopped == StopReason::ContentFilter {
        let told = if has_text { text.trim() } else { "the provider withheld the answer" };
        return Reading::Leave(Fault::new(FaultKind::ContentBlocked, told), End::Filtered);
    }
    if !reply.tool_calls().is_empty() {
        return match strikes.unknown + 1 >= MOST_UNKNOWN && facts.knows_none_of(reply) {
            true => Reading::End(End::UnknownTools),
            false => Reading::Act,
        };
    }
    if !reply.dropped.is_empty() {
        return match () {
            () if strikes.cut_calls < MOST_REPEATS_OF_CUT_CALLS => Reading::Again(AgainReason::CutCall, Room::More),
            () if !strikes.told_of_cut_calls => Reading::Nudge(Nudge::SmallerCalls(reply.dropped.clone())),
            () => Reading::End(End::CutCalls),
        };
    }
    match (has_text, stopped) {
        (true, _) if reply.cut_off => Reading::End(End::BrokenOff),
        (true, StopReason::Length | StopReason::Incomplete) if strikes.continued < MOST_CONTINUATIONS => Reading::GoOn,
        (true, StopReason::Length | StopReason::Incomplete) => Reading::End(End::TooLong),
        (true, _) => Reading::Answer,
        (false, StopReason::Length) if has_thoughts(reply) => Reading::End(End::ThoughtTooLong),
        (false, _) => read_nothing(reply, strikes, facts),
    }
}

/// Nothing to show to anybody.
fn read_nothing(reply: &Reply, strikes: &Strikes, facts: &Facts<'_>) -> Reading {
    if strikes.has_continued() {
        // The rest of an answer that was cut: there was none, and what is there is whole.
        return Reading::Answer;
    }
    if facts.said_before {
        return Reading::End(End::SaidBefore);
    }
    if facts.after_tools && !strikes.nudged {
        return Reading::Nudge(Nudge::AfterTools);
    }
    if has_thoughts(reply) && strikes.thoughts < MOST_THOUGHTS {
        return Reading::Nudge(Nudge::OnlyThoughts);
    }
    if strikes.empty < MOST_EMPTY {
        return Reading::Again(AgainReason::Empty, Room::Same);
    }
    Reading::Leave(Fault::new(FaultKind::EmptyStream, "the model gave no answer"), End::Empty)
}

fn has_thoughts(reply: &Reply) -> bool {
    let message = &reply.message;
    message.reasoning.as_ref().is_some_and(|text| !text.trim().is_empty())
        || message.reasoning_details.as_ref().is_some_and(|details| !details.is_empty())
        || message.codex_reasoning_items.as_ref().is_some_and(|items| !items.is_empty())
}
