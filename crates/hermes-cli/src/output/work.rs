//! What a person sees of an agent at work: one line for each call of a tool, with what it was about and how it went.

use crate::commands::paper::one_line;
use hermes_types::{CallId, Event, SessionId, ToolStatus, clip};
use std::collections::HashMap;
use std::fmt;
use std::time::{Duration, Instant};

/// Quicker than this is not worth a number.
const WORTH_A_NUMBER: Duration = Duration::from_millis(100);
const WIDEST_ABOUT: usize = 60;
/// Less than this says nothing; a narrower screen wraps.
const NARROWEST_ABOUT: usize = 16;
/// As much of how it went has room on every line.
const NARROWEST_WORD: usize = 20;

/// Calls that are running. Ids of calls are unique in one conversation only.
#[derive(Debug, Default)]
pub(super) struct Work {
    running: HashMap<(Caller, CallId), Started>,
}

/// Who makes a call.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum Caller {
    /// The agent the person speaks to.
    Agent,
    /// One that was sent out: every generation down to it, each with the place of its task, which counts from 1.
    Subagent(Vec<(SessionId, usize)>),
}

impl Caller {
    /// What happened, and to whom.
    pub(super) fn of(event: &Event) -> (Self, &Event) {
        let (mut caller, mut told) = (Self::Agent, event);
        while let Event::Subagent { task, session_id, event, .. } = told {
            let mut line = match caller {
                Self::Agent => Vec::new(),
                Self::Subagent(line) => line,
            };
            line.push((session_id.clone(), task + 1));
            caller = Self::Subagent(line);
            told = event;
        }
        (caller, told)
    }

    /// Whether it is another one, or was sent out by it or by those it sent out.
    fn is_of(&self, other: &Self) -> bool {
        match (self, other) {
            (_, Self::Agent) => true,
            (Self::Agent, Self::Subagent(_)) => false,
            (Self::Subagent(line), Self::Subagent(beginning)) => line.starts_with(beginning),
        }
    }
}

/// What a line begins with: the first task of the second one's is 2.1.
impl fmt::Display for Caller {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Agent => Ok(()),
            Self::Subagent(line) => {
                let place: Vec<String> = line.iter().map(|(_, place)| place.to_string()).collect();
                write!(f, "  sub-agent {} ", place.join("."))
            }
        }
    }
}

/// A call that has its result.
#[derive(Debug, Clone, Copy)]
pub(super) struct Ended<'a> {
    pub(super) name: &'a str,
    pub(super) status: ToolStatus,
    pub(super) took: Duration,
    /// What it was about, if nobody saw it begin.
    pub(super) about: &'a str,
    /// Of a command, unless it is 0.
    pub(super) exit_code: Option<i64>,
    pub(super) note: Option<&'a str>,
}

impl Ended<'_> {
    /// How it went. A command that ended with something else than 0 has its result, but no person calls that done.
    fn mark_and_word(&self) -> (&'static str, String) {
        let note = one_line(self.note.unwrap_or_default());
        match (self.status, self.exit_code) {
            (ToolStatus::Done, Some(code)) => ("✗", format!("exit {code}")),
            (ToolStatus::Done, None) => ("✓", note),
            (ToolStatus::Failed, _) => ("✗", note),
            (ToolStatus::TimedOut, _) => ("✗", "ran out of time".to_owned()),
            (ToolStatus::Blocked, _) if note.is_empty() => ("⊘", "not permitted".to_owned()),
            (ToolStatus::Blocked, _) => ("⊘", format!("not permitted: {note}")),
            (ToolStatus::Cancelled, _) => ("–", "interrupted".to_owned()),
        }
    }
}

#[derive(Debug)]
struct Started {
    name: String,
    about: String,
    since: Instant,
}

impl Work {
    pub(super) fn begins(&mut self, caller: Caller, call: &CallId, name: &str, about: &str) {
        let started = Started { name: one_line(name), about: one_line(about), since: Instant::now() };
        self.running.insert((caller, call.clone()), started);
    }

    /// A call ended that nobody is told about here.
    pub(super) fn forget(&mut self, caller: Caller, call: &CallId) {
        self.running.remove(&(caller, call.clone()));
    }

    /// Somebody is done. Calls that were dropped with them never end, and nobody waits for those any more.
    pub(super) fn leaves(&mut self, caller: &Caller) {
        self.running.retain(|(whose, _), _| !whose.is_of(caller));
    }

    /// The line for a call that ended, in one line of `width` cells as far as that goes.
    pub(super) fn ends(&mut self, caller: Caller, call: &CallId, ended: Ended<'_>, width: usize) -> String {
        let (whose, name) = (caller.to_string(), one_line(ended.name));
        let begun = self.running.remove(&(caller, call.clone())).map(|started| started.about);
        // What never began says itself what it was about.
        let about = begun.unwrap_or_else(|| one_line(ended.about));
        let (mark, word) = ended.mark_and_word();
        let time = match ended.took < WORTH_A_NUMBER {
            true => String::new(),
            false => format!("  {:.1} s", ended.took.as_secs_f64()),
        };
        let fixed = format!("{whose}{mark} {name}{time}").chars().count();
        // The words at the end of a line say how it went, so what it was about gives way to the first of them.
        let kept = word.chars().count().min(NARROWEST_WORD);
        let room = width.saturating_sub(fixed + kept + 3).clamp(NARROWEST_ABOUT, WIDEST_ABOUT);
        let about = if about.is_empty() { String::new() } else { format!("  {}", clip(&about, room)) };
        let room = width.saturating_sub(fixed + about.chars().count() + 3).max(NARROWEST_WORD);
        let word = if word.is_empty() { word } else { format!("  {}", clip(&word, room)) };
        format!("{whose}{mark} {name}{about}{word}{time}")
    }

    /// What is running, and since when the longest of it is.
    pub(super) fn now(&self) -> Option<(String, Instant)> {
        let oldest = self.running.values().min_by_key(|started| started.since)?;
        let about =
            if oldest.about.is_empty() { String::new() } else { format!(" {}", clip(&oldest.about, WIDEST_ABOUT)) };
        let more = match self.running.len() {
            0 | 1 => String::new(),
            all => format!(" and {} more", all - 1),
        };
        Some((format!("{}{about}{more}", oldest.name), oldest.since))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at_its_end(status: ToolStatus, milliseconds: u64) -> Ended<'static> {
        let took = Duration::from_millis(milliseconds);
        Ended { name: "terminal", status, took, about: "", exit_code: None, note: None }
    }

    fn ended(about: &str, status: ToolStatus, milliseconds: u64, width: usize) -> String {
        let (mut work, call) = (Work::default(), CallId::new("c"));
        work.begins(Caller::Agent, &call, "terminal", about);
        work.ends(Caller::Agent, &call, at_its_end(status, milliseconds), width)
    }

    /// The line of a call that nobody saw begin.
    fn unbegun(ended: Ended<'_>, width: usize) -> String {
        Work::default().ends(Caller::Agent, &CallId::new("c"), ended, width)
    }

    #[test]
    fn what_did_not_go_well_says_why() {
        let why = Some("nobody to ask (recursive delete)");
        let refused = Ended { about: "rm -rf build", note: why, ..at_its_end(ToolStatus::Blocked, 0) };
        let whole = "⊘ terminal  rm -rf build  not permitted: nobody to ask (recursive delete)";
        assert_eq!((unbegun(refused, 80), unbegun(refused, usize::MAX)), (whole.to_owned(), whole.to_owned()));
        assert_eq!(unbegun(refused, 60), "⊘ terminal  rm -rf build  not permitted: nobody to ask (re…");
        let failed = Ended { about: "cargo test", exit_code: Some(101), ..at_its_end(ToolStatus::Done, 0) };
        assert_eq!(unbegun(failed, 60), "✗ terminal  cargo test  exit 101");
        let planned = Ended { note: Some("1 of 3 done, now: Look"), ..at_its_end(ToolStatus::Done, 0) };
        assert_eq!(unbegun(planned, 60), "✓ terminal  1 of 3 done, now: Look");
    }

    #[test]
    fn a_call_is_one_line_with_what_it_was_about_and_how_it_went() {
        assert_eq!(ended("ls", ToolStatus::Done, 99, 80), "✓ terminal  ls");
        assert_eq!(ended("ls", ToolStatus::Failed, 1234, 80), "✗ terminal  ls  1.2 s");
        assert_eq!(ended("", ToolStatus::Blocked, 0, 80), "⊘ terminal  not permitted");
        assert_eq!(ended("make", ToolStatus::TimedOut, 60_000, 80), "✗ terminal  make  ran out of time  60.0 s");
        assert_eq!(ended("make", ToolStatus::Cancelled, 500, 80), "– terminal  make  interrupted  0.5 s");
    }

    #[test]
    fn a_call_that_never_began_says_what_it_was_about_and_nothing_makes_another_line() {
        let refused =
            |name, about, note| unbegun(Ended { name, about, note, ..at_its_end(ToolStatus::Blocked, 0) }, 80);
        assert_eq!(refused("terminal", "git reset --hard", None), "⊘ terminal  git reset --hard  not permitted");
        assert_eq!(
            refused("a\n✓ terminal", "x\u{202e}y\u{1b}[2J", Some("no\n✓ \u{9b}2Jforged")),
            "⊘ a ✓ terminal  xy  not permitted: no ✓ forged"
        );
    }

    #[test]
    fn what_it_was_about_gives_way_to_the_rest() {
        let command = "cargo test --workspace --all-targets -- --nocapture --test-threads 4 --include-ignored";
        for width in [36, 40, 60, 80] {
            let line = ended(command, ToolStatus::Done, 2000, width);
            assert!(line.chars().count() < width && line.ends_with("…  2.0 s"), "{width}: {line}");
        }
        let in_a_pipe = ended(command, ToolStatus::Done, 2000, usize::MAX);
        assert_eq!(in_a_pipe, format!("✓ terminal  {}  2.0 s", clip(command, WIDEST_ABOUT)));
    }

    #[test]
    fn the_oldest_of_several_is_named() {
        let mut work = Work::default();
        assert_eq!(work.now().map(|(what, _)| what), None);
        for (id, about) in [("a", "make"), ("b", "ls"), ("c", "pwd")] {
            work.begins(Caller::Agent, &CallId::new(id), "terminal", about);
        }
        assert_eq!(work.now().map(|(what, _)| what).as_deref(), Some("terminal make and 2 more"));
        work.forget(Caller::Agent, &CallId::new("b"));
        work.forget(Caller::Agent, &CallId::new("c"));
        assert_eq!(work.now().map(|(what, _)| what).as_deref(), Some("terminal make"));
    }

    fn of_child(task: usize, session: &str, event: Event) -> Event {
        let (call_id, session_id) = (CallId::new("sent"), SessionId::new(session));
        Event::Subagent { call_id, task, session_id, event: Box::new(event) }
    }

    #[test]
    fn the_calls_of_sub_agents_are_told_apart_and_named() {
        let step = || Event::Step { iteration: 1, of: 2 };
        assert_eq!(Caller::of(&step()), (Caller::Agent, &step()));
        let (first, grandchild) = (of_child(0, "a", step()), of_child(1, "b", of_child(0, "c", step())));
        let ((first, _), (grandchild, told)) = (Caller::of(&first), Caller::of(&grandchild));
        assert_eq!((told, grandchild.to_string().as_str()), (&step(), "  sub-agent 2.1 "));

        let (mut work, call) = (Work::default(), CallId::new("c"));
        for (caller, about) in [(Caller::Agent, "mine"), (first.clone(), "its"), (grandchild.clone(), "theirs")] {
            work.begins(caller, &call, "terminal", about);
        }
        let mut ends = |caller| work.ends(caller, &call, at_its_end(ToolStatus::Done, 0), 80);
        assert_eq!(ends(first), "  sub-agent 1 ✓ terminal  its");
        assert_eq!(ends(grandchild), "  sub-agent 2.1 ✓ terminal  theirs");
        assert_eq!(ends(Caller::Agent), "✓ terminal  mine");
    }

    #[test]
    fn nobody_waits_for_calls_of_one_who_has_left() {
        let step = || Event::Step { iteration: 1, of: 2 };
        let (lead, other) = (of_child(0, "lead", step()), of_child(1, "other", step()));
        let below = of_child(0, "lead", of_child(0, "below", step()));
        let [lead, other, below] = [&lead, &other, &below].map(|event| Caller::of(event).0);
        let (mut work, call) = (Work::default(), CallId::new("c"));
        for caller in [&lead, &other, &below] {
            work.begins(caller.clone(), &call, "terminal", &caller.to_string());
        }
        work.leaves(&lead);
        assert_eq!(work.now().map(|(what, _)| what).as_deref(), Some("terminal sub-agent 2"));
        work.leaves(&other);
        assert_eq!(work.now().map(|(what, _)| what), None);
    }
}
