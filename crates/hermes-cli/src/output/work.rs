//! What a person sees of an agent at work: one line for each call of a tool, with what it was about and how it went.

use hermes_types::{CallId, ToolStatus, clip};
use std::collections::HashMap;
use std::time::{Duration, Instant};

/// Quicker than this is not worth a number.
const WORTH_A_NUMBER: Duration = Duration::from_millis(100);
const WIDEST_ABOUT: usize = 60;
/// Less than this says nothing; a narrower screen wraps.
const NARROWEST_ABOUT: usize = 16;

/// Calls that are running.
#[derive(Debug, Default)]
pub(super) struct Work {
    running: HashMap<CallId, Started>,
}

#[derive(Debug)]
struct Started {
    name: String,
    about: String,
    since: Instant,
}

impl Work {
    pub(super) fn begins(&mut self, call: &CallId, name: &str, about: &str) {
        let started = Started { name: name.to_owned(), about: about.to_owned(), since: Instant::now() };
        self.running.insert(call.clone(), started);
    }

    /// A call ended that nobody is told about here.
    pub(super) fn forget(&mut self, call: &CallId) {
        self.running.remove(call);
    }

    /// The line for a call that ended, in one line of `width` cells as far as that goes.
    pub(super) fn ends(
        &mut self,
        call: &CallId,
        name: &str,
        status: ToolStatus,
        took: Duration,
        width: usize,
    ) -> String {
        let about = self.running.remove(call).map(|started| started.about).unwrap_or_default();
        let mark = match status {
            ToolStatus::Done => "✓",
            ToolStatus::Failed | ToolStatus::TimedOut => "✗",
            ToolStatus::Blocked => "⊘",
            ToolStatus::Cancelled => "–",
        };
        let word = match status {
            ToolStatus::Done | ToolStatus::Failed => "",
            ToolStatus::TimedOut => "  ran out of time",
            ToolStatus::Blocked => "  not permitted",
            ToolStatus::Cancelled => "  interrupted",
        };
        let time = match took < WORTH_A_NUMBER {
            true => String::new(),
            false => format!("  {:.1} s", took.as_secs_f64()),
        };
        let others = [mark, " ", name, "  ", word, &time].iter().map(|part| part.chars().count()).sum();
        let room = width.saturating_sub(others).saturating_sub(1).clamp(NARROWEST_ABOUT, WIDEST_ABOUT);
        let about = if about.is_empty() { String::new() } else { format!("  {}", clip(&about, room)) };
        format!("{mark} {name}{about}{word}{time}")
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

    fn ended(about: &str, status: ToolStatus, milliseconds: u64, width: usize) -> String {
        let (mut work, call) = (Work::default(), CallId::new("c"));
        work.begins(&call, "terminal", about);
        work.ends(&call, "terminal", status, Duration::from_millis(milliseconds), width)
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
            work.begins(&CallId::new(id), "terminal", about);
        }
        assert_eq!(work.now().map(|(what, _)| what).as_deref(), Some("terminal make and 2 more"));
        work.forget(&CallId::new("b"));
        work.forget(&CallId::new("c"));
        assert_eq!(work.now().map(|(what, _)| what).as_deref(), Some("terminal make"));
    }
}
