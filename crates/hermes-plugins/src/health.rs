//! When a plugin that fell over is started again. Pure: each fall makes the pause before the next start longer, and after
//! a few of them it stays off for the rest of the session. Living for a while forgives them all.

use std::time::Duration;

const FIRST_PAUSE: Duration = Duration::from_millis(250);
/// As many falls in a row, and it stays off.
const MOST_FALLS: u32 = 5;
/// Who lived this long did not fall over at once.
const A_WHILE: Duration = Duration::from_secs(60);

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Health {
    falls: u32,
    last: String,
}

/// What comes next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Next {
    Start { after: Duration },
    Off(String),
}

impl Health {
    /// It ended on its own after this long.
    pub(crate) fn fell(&mut self, lived: Duration, reason: &str) {
        self.falls = if lived >= A_WHILE { 1 } else { self.falls.saturating_add(1) };
        self.last = reason.to_owned();
    }

    pub(crate) fn next(&self) -> Next {
        match self.falls {
            0 => Next::Start { after: Duration::ZERO },
            falls if falls >= MOST_FALLS => Next::Off(format!(
                "it fell over {falls} times and stays off in this session; the last time: {}",
                self.last
            )),
            falls => Next::Start { after: FIRST_PAUSE * 2u32.saturating_pow(falls - 1) },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_and_end() {
        let mut health = Health::default();
        let mut pauses = Vec::new();
        while let Next::Start { after } = health.next() {
            pauses.push(after.as_millis());
            health.fell(Duration::from_secs(1), "exit code 1");
        }
        assert_eq!(pauses, [0, 250, 500, 1_000, 2_000]);
        assert!(matches!(health.next(), Next::Off(told) if told.ends_with("exit code 1")));
    }

    #[test]
    fn who_lived_for_a_while_is_forgiven() {
        let mut health = Health::default();
        (0..4).for_each(|_| health.fell(Duration::ZERO, "x"));
        health.fell(A_WHILE, "x");
        assert_eq!(health.next(), Next::Start { after: FIRST_PAUSE });
    }
}
