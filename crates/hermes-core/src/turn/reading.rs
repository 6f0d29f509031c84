//! What a reply of the model means for the turn: one pure function, like [`plan`](crate::plan::plan) for faults.
//!
//! The order of the branches is the order of this file: withheld, calls, cut calls, cut text, text, nothing. Each way to
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
            Reading::Act => *self = Self::default(),
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
}

/// What the turn knows besides the reply.
#[derive(Debug, Clone, Default)]
pub(crate) struct Facts<'a> {
    pub(crate) offered: BTreeSet<&'a str>,
    /// Results of tools are among the last messages.
    pub(crate) after_tools: bool,
    /// Text that stood beside the calls of the reply before, when those only kept house.
    pub(crate) said_before: bool,
    /// Parts of the answer are there already.
    pub(crate) answer_begun: bool,
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
    if facts.answer_begun {
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
    reply.usage.is_some_and(|usage| usage.reasoning > 0)
        || message.reasoning.as_ref().is_some_and(|text| !text.trim().is_empty())
        || message.reasoning_details.as_ref().is_some_and(|details| !details.is_empty())
        || message.codex_reasoning_items.as_ref().is_some_and(|items| !items.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use hermes_types::{Assistant, CallId, ToolCall, Usage};
    use proptest::prelude::*;

    /// A reply as a few words: text, then why it stopped.
    fn said(text: &str, stopped: StopReason) -> Reply {
        let content = (!text.is_empty()).then(|| text.into());
        let message = Assistant { content, finish_reason: Some(stopped), ..Assistant::default() };
        Reply { message, ..Reply::default() }
    }

    fn calling(names: &[&str]) -> Reply {
        let mut reply = said("", StopReason::ToolCalls);
        reply.message.tool_calls = names.iter().map(|name| ToolCall::new(CallId::new(*name), *name, "{}")).collect();
        reply
    }

    fn thinking(stopped: StopReason) -> Reply {
        let mut reply = said("", stopped);
        reply.message.reasoning = Some("hm".into());
        reply
    }

    fn dropping(text: &str) -> Reply {
        Reply { dropped: vec!["write_file".into()], ..said(text, StopReason::Length) }
    }

    fn facts() -> Facts<'static> {
        Facts { offered: ["look", "todo"].into(), ..Facts::default() }
    }

    /// What becomes of one reply after another, until the turn ends; in a word each.
    fn course(replies: impl IntoIterator<Item = Reply>, facts: &Facts<'_>) -> Vec<String> {
        let mut strikes = Strikes::default();
        let mut facts = facts.clone();
        let mut words = Vec::new();
        for reply in replies {
            let reading = read(&reply, &strikes, &facts);
            strikes.took(&reading, facts.knows_none_of(&reply));
            match reading {
                Reading::GoOn => facts.answer_begun = true,
                Reading::Act => facts.answer_begun = false,
                _ => {}
            }
            words.push(match &reading {
                Reading::Act => "act".to_owned(),
                Reading::Answer => "answer".to_owned(),
                Reading::GoOn => "go on".to_owned(),
                Reading::Again(reason, room) => format!("again {reason:?} {room:?}"),
                Reading::Nudge(nudge) => format!("nudge {:?}", nudge.reason()),
                Reading::Leave(fault, end) => format!("leave {:?} or {}", fault.kind, end.exit_reason()),
                Reading::End(end) => format!("end {}", end.exit_reason()),
            });
        }
        words
    }

    #[test]
    fn one_reply_by_itself() {
        use StopReason::{ContentFilter, Incomplete, Length, Stop, ToolCalls};
        let cut_off = |text| Reply { cut_off: true, ..said(text, Stop) };
        let hidden = Usage { reasoning: 40, ..Usage::default() };
        let table = [
            (said("Hi.", Stop), "answer"),
            (said("Hi.", StopReason::Other("refusal".into())), "answer"),
            (said("Hi.", ToolCalls), "answer"),
            (said("Hi, and", Length), "go on"),
            (said("Hi, and", Incomplete), "go on"),
            (cut_off("Hi, and"), "end partial_stream_recovery"),
            (calling(&["look"]), "act"),
            (calling(&["rocket", "look"]), "act"),
            (calling(&["rocket"]), "act"),
            (dropping(""), "again CutCall More"),
            (dropping("I will write."), "again CutCall More"),
            (said("", Stop), "again Empty Same"),
            (said(" \n", Stop), "again Empty Same"),
            (said("", Length), "again Empty Same"),
            (thinking(Stop), "nudge OnlyThoughts"),
            (thinking(Length), "end thinking_budget_exhausted"),
            (Reply { usage: Some(hidden), ..said("", Length) }, "end thinking_budget_exhausted"),
            (said("I must not.", ContentFilter), "leave ContentBlocked or content_policy_blocked"),
            (said("", ContentFilter), "leave ContentBlocked or content_policy_blocked"),
        ];
        for (reply, expected) in table {
            assert_eq!(course([reply.clone()], &facts()), [expected], "{reply:?}");
        }
        let mut filtered = calling(&["look"]);
        filtered.message.finish_reason = Some(ContentFilter);
        assert_eq!(course([filtered], &facts()), ["leave ContentBlocked or content_policy_blocked"], "it never runs");
        let mixed = Reply { dropped: vec!["look".into()], ..calling(&["look"]) };
        assert_eq!(course([mixed], &facts()), ["act"], "what arrived whole runs");
    }

    #[test]
    fn what_was_withheld_is_told_in_the_words_of_the_model() {
        let Reading::Leave(fault, _) =
            read(&said(" I must not. ", StopReason::ContentFilter), &Strikes::default(), &facts())
        else {
            panic!("it is withheld");
        };
        assert_eq!(fault.message, "I must not.");
    }

    #[test]
    fn bad_replies_are_borne_so_often_and_no_more() {
        let many = |reply: Reply| std::iter::repeat_n(reply, 6);
        let until = |words: Vec<String>| words.join(", ");
        let cut = until(course(many(said("more", StopReason::Length)), &facts()));
        assert!(cut.starts_with("go on, go on, go on, end length_continuation_exhausted"), "{cut}");
        let unknown = until(course(many(calling(&["rocket"])), &facts()));
        assert!(unknown.starts_with("act, act, end invalid_tool_name_exhausted"), "{unknown}");
        let dropped = until(course(many(dropping("")), &facts()));
        assert!(
            dropped.starts_with("again CutCall More, again CutCall More, nudge CutCall, end truncated_tool_call"),
            "{dropped}"
        );
        let empty = until(course(many(said("", StopReason::Stop)), &facts()));
        let thrice = "again Empty Same, again Empty Same, again Empty Same, ";
        assert!(empty.starts_with(&format!("{thrice}leave EmptyStream or empty_response_exhausted")), "{empty}");
        let thoughts = until(course(many(thinking(StopReason::Stop)), &facts()));
        assert!(thoughts.starts_with(&format!("nudge OnlyThoughts, nudge OnlyThoughts, {thrice}leave")), "{thoughts}");
    }

    #[test]
    fn silence_is_met_in_its_order() {
        let quiet = || said("", StopReason::Stop);
        let after = Facts { after_tools: true, ..facts() };
        assert_eq!(course([quiet(), quiet()], &after), ["nudge Empty", "again Empty Same"]);
        assert_eq!(
            course([thinking(StopReason::Stop), thinking(StopReason::Stop)], &after),
            ["nudge Empty", "nudge OnlyThoughts"]
        );
        let housekeeping = Facts { said_before: true, ..after };
        assert_eq!(course([quiet()], &housekeeping), ["end fallback_prior_turn_content"]);
        let continued = [said("a", StopReason::Length), quiet()];
        assert_eq!(course(continued, &housekeeping), ["go on", "answer"], "what is there is whole");
    }

    #[test]
    fn a_round_of_work_makes_up_for_what_was_before() {
        let bad = [said("", StopReason::Stop), calling(&["rocket"]), calling(&["rocket"]), calling(&["look"])];
        let words = course(bad.into_iter().chain([calling(&["rocket"]), calling(&["rocket"])]), &facts());
        assert_eq!(words, ["again Empty Same", "act", "act", "act", "act", "act"]);
        let cut = [said("a", StopReason::Length), calling(&["look"]), said("", StopReason::Stop)];
        assert_eq!(
            course(cut, &facts()),
            ["go on", "act", "again Empty Same"],
            "work lies between: nothing to go on with"
        );
        let in_vain = [said("a", StopReason::Length), calling(&["rocket"]), said("", StopReason::Stop)];
        assert_eq!(course(in_vain, &facts()), ["go on", "act", "again Empty Same"], "also work that came to nothing");
    }

    #[test]
    fn the_output_gets_twice_the_room_for_each_time_it_was_too_small() {
        let mut strikes = Strikes::default();
        for (reply, doublings) in [(said("a", StopReason::Length), 1), (dropping(""), 2), (calling(&["look"]), 0)] {
            let reading = read(&reply, &strikes, &facts());
            strikes.took(&reading, false);
            assert_eq!(strikes.doublings(), doublings);
        }
    }

    fn any_reply() -> impl Strategy<Value = Reply> {
        let text = prop::sample::select(vec!["", " ", "text"]);
        let stopped = prop::sample::select(vec![
            StopReason::Stop,
            StopReason::Length,
            StopReason::Incomplete,
            StopReason::ContentFilter,
            StopReason::ToolCalls,
        ]);
        let names = prop::collection::vec(prop::sample::select(vec!["rocket", "xyzzy"]), 0..2);
        (text, stopped, names, any::<[bool; 3]>()).prop_map(|(text, stopped, names, [thinks, drops, cut_off])| {
            let mut reply =
                Reply { cut_off, message: Assistant { ..calling(&names).message }, ..said(text, stopped.clone()) };
            reply.message.content = Some(text.into());
            reply.message.finish_reason = Some(stopped);
            reply.message.reasoning = thinks.then(|| "hm".into());
            reply.dropped = drops.then(|| "look".to_owned()).into_iter().collect();
            reply
        })
    }

    proptest! {
        /// Only work can go on for ever; everything else is counted.
        #[test]
        fn every_chain_of_bad_replies_ends(replies in prop::collection::vec(any_reply(), 24), after_tools: bool) {
            let facts = Facts { after_tools, ..facts() };
            let words = course(replies, &facts);
            prop_assert!(
                words.iter().any(|word| word == "answer" || word.starts_with("end") || word.starts_with("leave")),
                "{:?}", words
            );
        }
    }
}
