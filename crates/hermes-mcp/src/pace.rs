//! How often a server may have its tools listed again: at once when it was quiet, then with growing pauses. A server that
//! never stops saying that its tools changed costs a listing a minute.

use std::time::Duration;

const SHORTEST: Duration = Duration::from_secs(1);
const LONGEST: Duration = Duration::from_secs(60);

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Pace {
    last: Option<Duration>,
    pause: Duration,
}

impl Pace {
    /// How long to wait before the next time.
    pub(crate) fn wait(&self, now: Duration) -> Duration {
        self.last.map_or(Duration::ZERO, |last| (last + self.pause).saturating_sub(now))
    }

    /// Counts one time. Whoever was quiet for a minute begins anew.
    pub(crate) fn used(&mut self, now: Duration) {
        let was_quiet = self.last.is_none_or(|last| now.saturating_sub(last) > self.pause + LONGEST);
        self.pause = if was_quiet { SHORTEST } else { (self.pause * 2).min(LONGEST) };
        self.last = Some(now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_never_stops_is_heard_once_a_minute_and_who_was_quiet_at_once() {
        let (mut pace, mut now, mut waits) = (Pace::default(), Duration::ZERO, Vec::new());
        for _ in 0..9 {
            let wait = pace.wait(now);
            waits.push(wait.as_secs());
            now += wait;
            pace.used(now);
        }
        assert_eq!(waits, [0, 1, 2, 4, 8, 16, 32, 60, 60]);
        now += Duration::from_secs(121);
        assert_eq!(pace.wait(now), Duration::ZERO);
        pace.used(now);
        assert_eq!(pace.wait(now), SHORTEST);
    }
}
