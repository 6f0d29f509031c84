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
