//! A circuit breaker: a server that failed three times in a row is left alone for a minute, then one call may try.

use std::time::Duration;

const FAILURES: u32 = 3;
const REST: Duration = Duration::from_secs(60);

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Breaker {
    failures: u32,
    /// Since when nothing is let through.
    opened: Option<Duration>,
}

/// Whether a call may go through.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Admission {
    Open,
    /// Not before so long.
    Closed(Duration),
}

impl Breaker {
    /// Asks for one call at this time. Whoever is admitted after a rest is alone until it ended.
    pub(crate) fn admit(&mut self, now: Duration) -> Admission {
        let Some(opened) = self.opened else { return Admission::Open };
        let rested = now.saturating_sub(opened);
        if rested < REST {
            return Admission::Closed(REST.saturating_sub(rested));
        }
        self.opened = Some(now);
        Admission::Open
    }

    pub(crate) fn answered(&mut self) {
        *self = Self::default();
    }

    pub(crate) fn failed(&mut self, now: Duration) {
        self.failures = self.failures.saturating_add(1);
        if self.failures >= FAILURES {
            self.opened = Some(now);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_failures_in_a_row_close_the_way_for_a_minute() {
        let at = Duration::from_secs;
        let mut breaker = Breaker::default();
        breaker.failed(at(1));
        breaker.failed(at(2));
        breaker.answered();
        breaker.failed(at(3));
        breaker.failed(at(4));
        assert_eq!(breaker.admit(at(5)), Admission::Open, "an answer between them starts the count anew");
        breaker.failed(at(6));
        assert_eq!(breaker.admit(at(7)), Admission::Closed(at(59)));
        assert_eq!(breaker.admit(at(66)), Admission::Open, "one may try");
        assert_eq!(breaker.admit(at(67)), Admission::Closed(at(59)), "and one alone");
        breaker.failed(at(68));
        assert_eq!(breaker.admit(at(127)), Admission::Closed(at(1)));
        assert_eq!(breaker.admit(at(128)), Admission::Open);
        breaker.answered();
        assert_eq!(breaker.admit(at(129)), Admission::Open);
    }
}
