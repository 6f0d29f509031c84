//! A circuit breaker: a server that failed three times in a row is left alone for a minute, then one call may try.

use std::time::Duration;

const FAILURES: u32 = 3;
const REST: Duration = Duration::from_secs(60);

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Breaker {
    failures: u32,
    /// Since when nothing is let through.
    closed_since: Option<Duration>,
}

/// Whether a call may go through.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Admission {
    Granted,
    /// Not before so long.
    Refused(Duration),
}

impl Breaker {
    /// Asks for one call at this time. Whoever is admitted after a rest is alone until it ended.
    pub(crate) fn admit(&mut self, now: Duration) -> Admission {
        let Some(closed_since) = self.closed_since else { return Admission::Granted };
        let rested = now.saturating_sub(closed_since);
        if rested < REST {
            return Admission::Refused(REST.saturating_sub(rested));
        }
        self.closed_since = Some(now);
        Admission::Granted
    }

    pub(crate) fn answered(&mut self) {
        *self = Self::default();
    }

    pub(crate) fn failed(&mut self, now: Duration) {
        self.failures = self.failures.saturating_add(1);
        if self.failures >= FAILURES {
            self.closed_since = Some(now);
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
        assert_eq!(breaker.admit(at(5)), Admission::Granted, "an answer between them starts the count anew");
        breaker.failed(at(6));
        assert_eq!(breaker.admit(at(7)), Admission::Refused(at(59)));
        assert_eq!(breaker.admit(at(66)), Admission::Granted, "one may try");
        assert_eq!(breaker.admit(at(67)), Admission::Refused(at(59)), "and one alone");
        breaker.failed(at(68));
        assert_eq!(breaker.admit(at(127)), Admission::Refused(at(1)));
        assert_eq!(breaker.admit(at(128)), Admission::Granted);
        breaker.answered();
        assert_eq!(breaker.admit(at(129)), Admission::Granted);
    }
}
