//! When a line of a process is news. Pure: time is given.
//!
//! One event in 15 s for each process. A window in which lines had to be dropped is a strike; the third in a row ends the
//! watching, and the conversation hears of the end of the process instead. Over all processes, more than 15 events in
//! 10 s close the breaker for 30 s; what was held back is counted and told afterwards.

use hermes_types::SessionId;
use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

const WINDOW: Duration = Duration::from_secs(15);
const MOST_STRIKES: u32 = 3;
const BREAKER_EVENTS: usize = 15;
const BREAKER_WINDOW: Duration = Duration::from_secs(10);
const BREAKER_PAUSE: Duration = Duration::from_secs(30);
/// A line without end is looked at in portions of this many characters.
const LONGEST_LINE: usize = 4096;

/// Looks at the lines of one process.
#[derive(Debug)]
pub(super) struct Watch {
    pub(super) patterns: Vec<String>,
    pub(super) hit: bool,
    partial: String,
    last: Option<Duration>,
    dropped: usize,
    strikes: u32,
    state: State,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Watching,
    /// Too many lines matched.
    GivenUp,
}

/// What came of some output.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Sight {
    /// A line with a pattern in it, and how many were dropped since the last one.
    Line { pattern: String, line: String, dropped: usize },
    /// Watching ends here.
    GivenUp,
}

impl Watch {
    pub(super) fn new(patterns: Vec<String>) -> Self {
        let patterns = patterns.into_iter().filter(|pattern| !pattern.is_empty()).collect();
        Self { patterns, hit: false, partial: String::new(), last: None, dropped: 0, strikes: 0, state: State::Watching }
    }

    /// Takes the next output of the process.
    pub(super) fn see(&mut self, text: &str, now: Duration) -> Vec<Sight> {
        let mut sights = Vec::new();
        for part in text.split_inclusive('\n') {
            self.partial.push_str(part);
            if part.ends_with('\n') || self.partial.chars().count() >= LONGEST_LINE {
                let line = std::mem::take(&mut self.partial);
                sights.extend(self.line(&line, now));
            }
        }
        sights
    }

    /// The last line may have no end.
    pub(super) fn finish(&mut self, now: Duration) -> Vec<Sight> {
        let line = std::mem::take(&mut self.partial);
        self.line(&line, now).into_iter().collect()
    }

    fn line(&mut self, line: &str, now: Duration) -> Option<Sight> {
        if self.state == State::GivenUp {
            return None;
        }
        let line = super::buffer::plain(line);
        let pattern = self.patterns.iter().find(|pattern| line.contains(pattern.as_str()))?.clone();
        self.hit = true;
        if self.last.is_some_and(|last| now.saturating_sub(last) < WINDOW) {
            self.dropped += 1;
            // The first drop makes the window a strike.
            if self.dropped == 1 {
                self.strikes += 1;
            }
            if self.strikes < MOST_STRIKES {
                return None;
            }
            self.state = State::GivenUp;
            return Some(Sight::GivenUp);
        }
        if self.dropped == 0 {
            self.strikes = 0;
        }
        self.last = Some(now);
        Some(Sight::Line { pattern, line: line.trim_end().to_owned(), dropped: std::mem::take(&mut self.dropped) })
    }
}

/// Holds events of all processes back when there are too many.
#[derive(Debug, Default)]
pub(super) struct Breaker {
    passed: VecDeque<Duration>,
    closed_until: Option<Duration>,
    held: BTreeMap<SessionId, usize>,
}

/// What becomes of one event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Passage {
    Through,
    /// This one is held, and its conversation is told that events are held from now on.
    Closing,
    Held,
}

impl Breaker {
    pub(super) fn pass(&mut self, session: &SessionId, now: Duration) -> Passage {
        if self.closed_until.is_some_and(|until| now < until) {
            let held = self.held.entry(session.clone()).or_default();
            *held += 1;
            return if *held == 1 { Passage::Closing } else { Passage::Held };
        }
        while self.passed.front().is_some_and(|then| now.saturating_sub(*then) >= BREAKER_WINDOW) {
            self.passed.pop_front();
        }
        if self.passed.len() >= BREAKER_EVENTS {
            self.passed.clear();
            self.closed_until = Some(now + BREAKER_PAUSE);
            *self.held.entry(session.clone()).or_default() += 1;
            return Passage::Closing;
        }
        self.passed.push_back(now);
        Passage::Through
    }

    /// How many events were held back from each conversation, once the pause is over.
    pub(super) fn release(&mut self, now: Duration) -> BTreeMap<SessionId, usize> {
        if self.closed_until.is_none_or(|until| now < until) {
            return BTreeMap::new();
        }
        self.closed_until = None;
        std::mem::take(&mut self.held)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hermes_core::clock::Clock;
    use hermes_testkit::FakeClock;

    /// What a process that prints `hit` at these seconds brings.
    fn story(seconds: &[u64]) -> Vec<String> {
        let clock = FakeClock::new();
        let mut watch = Watch::new(vec!["hit".to_owned()]);
        let mut told = Vec::new();
        for second in seconds {
            clock.advance(Duration::from_secs(*second).saturating_sub(clock.elapsed()));
            for sight in watch.see("a miss\na hit!\n", clock.elapsed()) {
                told.push(match sight {
                    Sight::Line { line, dropped, .. } => format!("{second}: {line} ({dropped} dropped)"),
                    Sight::GivenUp => format!("{second}: given up"),
                });
            }
        }
        told
    }

    #[test]
    fn one_event_in_fifteen_seconds_and_three_strikes() {
        let table: &[(&[u64], &[&str])] = &[
            (&[0], &["0: a hit! (0 dropped)"]),
            (&[0, 14, 15], &["0: a hit! (0 dropped)", "15: a hit! (1 dropped)"]),
            (&[0, 1, 2, 3, 4, 5], &["0: a hit! (0 dropped)"]),
            (
                &[0, 1, 15, 16, 30, 31, 32, 60],
                &["0: a hit! (0 dropped)", "15: a hit! (1 dropped)", "30: a hit! (1 dropped)", "31: given up"],
            ),
            // A quiet window in between forgives.
            (
                &[0, 1, 15, 16, 30, 45, 46, 60],
                &[
                    "0: a hit! (0 dropped)",
                    "15: a hit! (1 dropped)",
                    "30: a hit! (1 dropped)",
                    "45: a hit! (0 dropped)",
                    "60: a hit! (1 dropped)",
                ],
            ),
        ];
        for (seconds, expected) in table {
            assert_eq!(story(seconds), *expected, "{seconds:?}");
        }
    }

    #[test]
    fn a_line_may_come_in_pieces_and_end_without_a_newline() {
        let mut watch = Watch::new(vec!["ready".to_owned(), String::new()]);
        assert_eq!(watch.see("server re", Duration::ZERO), []);
        let sight = |line: &str| Sight::Line { pattern: "ready".into(), line: line.into(), dropped: 0 };
        assert_eq!(watch.see("ady\nnot ", Duration::ZERO), [sight("server ready")]);
        assert_eq!(watch.see("yet ready", Duration::from_secs(20)), []);
        assert_eq!(watch.finish(Duration::from_secs(20)), [sight("not yet ready")]);
    }

    #[test]
    fn too_many_events_close_the_breaker_and_the_held_ones_are_counted() {
        let (one, two) = (SessionId::new("one"), SessionId::new("two"));
        let mut breaker = Breaker::default();
        for second in 0..15 {
            assert_eq!(breaker.pass(&one, Duration::from_millis(second * 100)), Passage::Through);
        }
        let at = Duration::from_secs(2);
        assert_eq!(breaker.pass(&one, at), Passage::Closing);
        assert_eq!(breaker.pass(&one, at), Passage::Held);
        assert_eq!(breaker.pass(&two, at), Passage::Closing);
        assert_eq!(breaker.release(Duration::from_secs(31)), BTreeMap::new());
        let released = breaker.release(Duration::from_secs(32));
        assert_eq!(released, BTreeMap::from([(one.clone(), 2), (two, 1)]));
        assert_eq!(breaker.pass(&one, Duration::from_secs(32)), Passage::Through);
    }
}
