//! Points in time as other programs write them: seconds, milliseconds or ISO text, as numbers or strings.

use hermes_core::clock::Clock;
use jiff::Timestamp;
use serde_json::Value;
use std::time::Duration;

/// Epoch numbers above this are milliseconds: as seconds they would lie beyond the year 5000.
const MILLISECONDS_FROM: f64 = 1e11;

pub(super) fn now(clock: &dyn Clock) -> Timestamp {
    Timestamp::try_from(clock.now()).unwrap_or(Timestamp::UNIX_EPOCH)
}

pub(super) fn parse(value: &Value) -> Option<Timestamp> {
    match value {
        Value::Number(number) => from_epoch(number.as_f64()?),
        Value::String(text) => match text.trim().parse::<f64>() {
            Ok(number) => from_epoch(number),
            Err(_) => text.trim().parse().ok(),
        },
        _ => None,
    }
}

fn from_epoch(number: f64) -> Option<Timestamp> {
    if !number.is_finite() || number <= 0.0 {
        return None;
    }
    let milliseconds = if number > MILLISECONDS_FROM { number } else { number * 1000.0 };
    Timestamp::from_millisecond(milliseconds as i64).ok()
}

pub(super) fn later(at: Timestamp, by: Duration) -> Timestamp {
    at.checked_add(by).unwrap_or(Timestamp::MAX)
}

/// How long from `now` until `at`; zero when it is past.
pub(super) fn until(now: Timestamp, at: Timestamp) -> Duration {
    Duration::try_from(at.duration_since(now)).unwrap_or_default()
}

/// Seconds with a fraction, as the Python program stores them.
pub(super) fn epoch(at: Timestamp) -> Value {
    Value::from(at.as_millisecond() as f64 / 1000.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn every_notation_means_the_same_moment() {
        let expected = Some("2026-03-01T12:00:00Z".parse().expect("a time"));
        for value in [
            json!(1_772_366_400),
            json!(1_772_366_400.0),
            json!(1_772_366_400_000_i64),
            json!("1772366400"),
            json!("2026-03-01T12:00:00Z"),
            json!("2026-03-01T13:00:00+01:00"),
        ] {
            assert_eq!(parse(&value), expected, "{value}");
        }
        for value in [json!(null), json!(-5), json!("soon"), json!(1e300), json!({})] {
            assert_eq!(parse(&value), None, "{value}");
        }
    }
}
