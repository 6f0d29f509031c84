//! A point in time as databases and trajectories hold it.

use serde::{Deserialize, Serialize};
use std::time::{Duration, SystemTime};

/// Seconds since 1970 with their fraction, exactly as they were written down.
#[derive(Debug, Clone, Copy, Default, PartialEq, PartialOrd, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Moment(f64);

impl Moment {
    pub const fn from_seconds(seconds: f64) -> Self {
        Self(seconds)
    }

    pub const fn seconds(self) -> f64 {
        self.0
    }

    /// How long after `earlier` this is; nothing when it is not after it.
    pub fn since(self, earlier: Self) -> Duration {
        Duration::try_from_secs_f64(self.0 - earlier.0).unwrap_or_default()
    }

    #[must_use]
    pub fn plus(self, time: Duration) -> Self {
        Self(self.0 + time.as_secs_f64())
    }

    #[must_use]
    pub fn minus(self, time: Duration) -> Self {
        Self(self.0 - time.as_secs_f64())
    }

    /// The larger of this and the next representable microsecond after `last`, so that what was written later reads later.
    #[must_use]
    pub fn after(self, last: Self) -> Self {
        if self.0 > last.0 { self } else { Self(last.0 + 0.000_001) }
    }
}

impl From<SystemTime> for Moment {
    fn from(time: SystemTime) -> Self {
        match time.duration_since(SystemTime::UNIX_EPOCH) {
            Ok(since) => Self(since.as_secs_f64()),
            Err(before) => Self(-before.duration().as_secs_f64()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_written_later_reads_later() {
        let noon = Moment::from_seconds(1_700_000_000.25);
        let (stuck, back) = (noon.after(noon), Moment::from_seconds(1.0).after(noon));
        assert!(stuck > noon && back > noon, "{stuck:?} {back:?}");
        assert_eq!(Moment::from_seconds(1_700_000_001.0).after(noon).seconds(), 1_700_000_001.0);
        assert_eq!(noon.since(stuck), Duration::ZERO);
        assert_eq!(noon.minus(Duration::from_millis(250)).seconds(), 1_700_000_000.0);
    }
}
