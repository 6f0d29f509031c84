//! Times as people type and read them. Pure: what time it is now comes from the caller.
//!
//! A time is typed as a length before now (`5h`, `2d`, `1w`, `90` for days) or as a date (`2026-07-05`,
//! `2026-07-05 14:30`, with or without an offset). A date alone is its first moment, in the time zone of the person.

use hermes_types::Moment;
use jiff::civil::{Date, DateTime};
use jiff::{Span, Timestamp, Unit, Zoned};

/// `20260705`: as many days would be no time at all.
const DIGITS_OF_A_DATE: usize = 8;

/// Now and here.
#[derive(Debug, Clone)]
pub(super) struct Clock {
    now: Zoned,
}

#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{typed}` is no time. Type how long ago (`5h`, `2d`, `1w`, or a number of days), or a date (`2026-07-05`, \
     `\"2026-07-05 14:30\"`)."
)]
pub(super) struct NoTime {
    typed: String,
}

impl Clock {
    pub(super) fn of_process() -> Self {
        Self { now: Zoned::now() }
    }

    #[cfg(test)]
    pub(super) fn at(time: &str) -> Self {
        Self::within(time, jiff::tz::TimeZone::UTC)
    }

    #[cfg(test)]
    fn within(time: &str, zone: jiff::tz::TimeZone) -> Self {
        let time: Timestamp = time.parse().expect("a time");
        Self { now: time.to_zoned(zone) }
    }

    /// Whether a moment is still to come.
    pub(super) fn is_ahead(&self, moment: Moment) -> bool {
        moment.seconds() > self.now.timestamp().as_millisecond() as f64 / 1_000.0
    }

    /// The moment somebody means.
    pub(super) fn parse(&self, typed: &str) -> Result<Moment, NoTime> {
        let text = typed.trim();
        let found = self.ago_or_at(text);
        found.map(|time| moment(time.timestamp())).ok_or_else(|| NoTime { typed: typed.to_owned() })
    }

    fn ago_or_at(&self, text: &str) -> Option<Zoned> {
        let zone = self.now.time_zone();
        if text.bytes().all(|byte| byte.is_ascii_digit()) && text.len() != DIGITS_OF_A_DATE {
            let days: i32 = text.parse().ok()?;
            return self.now.checked_sub(Span::new().try_days(days).ok()?).ok();
        }
        match text.to_ascii_lowercase().as_str() {
            "now" => return Some(self.now.clone()),
            "today" => return self.now.start_of_day().ok(),
            "yesterday" => return self.now.yesterday().ok()?.start_of_day().ok(),
            _ => {}
        }
        // A length that was given a sign, or `ago`, still means the past.
        if let Ok(length) = text.parse::<Span>() {
            return self.now.checked_sub(length.abs()).ok();
        }
        if let Ok(time) = text.parse::<Timestamp>() {
            return Some(time.to_zoned(zone.clone()));
        }
        if let Ok(time) = text.parse::<DateTime>() {
            return time.to_zoned(zone.clone()).ok();
        }
        text.parse::<Date>().ok()?.to_zoned(zone.clone()).ok()
    }

    /// When something happened, as somebody would say it.
    pub(super) fn ago(&self, moment: Moment) -> String {
        let Some(then) = self.zoned(moment) else { return UNKNOWN.to_owned() };
        let (minutes, days) = (self.minutes_since(&then), self.days_since(&then));
        match (minutes, days) {
            (0, _) => "just now".to_owned(),
            (1..60, _) => format!("{minutes} min ago"),
            (60.., 0) => format!("{} h ago", minutes / 60),
            (60.., 1) => then.strftime("yesterday %H:%M").to_string(),
            (60.., 2..7) => then.strftime("%a %H:%M").to_string(),
            _ => then.strftime("%Y-%m-%d").to_string(),
        }
    }

    /// Date and time to the minute.
    pub(super) fn stamp(&self, moment: Moment) -> String {
        self.format(moment, "%Y-%m-%d %H:%M")
    }

    /// The time of day.
    pub(super) fn time(&self, moment: Moment) -> String {
        self.format(moment, "%H:%M")
    }

    /// The day.
    pub(super) fn day(&self, moment: Moment) -> String {
        self.format(moment, "%Y-%m-%d")
    }

    fn format(&self, moment: Moment, form: &str) -> String {
        self.zoned(moment).map_or_else(|| UNKNOWN.to_owned(), |time| time.strftime(form).to_string())
    }

    /// Another program may have written a time that no calendar holds.
    fn zoned(&self, moment: Moment) -> Option<Zoned> {
        let micros = moment.seconds() * 1e6;
        let time = micros.is_finite().then(|| Timestamp::from_microsecond(micros as i64).ok())??;
        Some(time.to_zoned(self.now.time_zone().clone()))
    }

    /// Whole minutes since then; negative for what is still to come.
    fn minutes_since(&self, then: &Zoned) -> i64 {
        let seconds = self.now.timestamp().as_second() - then.timestamp().as_second();
        seconds.div_euclid(60)
    }

    /// Midnights since then.
    fn days_since(&self, then: &Zoned) -> i64 {
        then.date().until((Unit::Day, self.now.date())).map_or(i64::MAX, |span| span.get_days().into())
    }
}

const UNKNOWN: &str = "unknown";

fn moment(time: Timestamp) -> Moment {
    Moment::from_seconds(time.as_microsecond() as f64 / 1e6)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Noon of a summer's day in Berlin; spelled out, because not every machine has a list of zones.
    fn noon() -> Clock {
        let zone = jiff::tz::TimeZone::posix("CET-1CEST,M3.5.0,M10.5.0/3").expect("a zone");
        Clock::within("2026-07-15T10:00:00Z", zone)
    }

    fn seconds(text: &str) -> f64 {
        let time: Timestamp = text.parse().expect("a timestamp");
        moment(time).seconds()
    }

    #[test]
    fn a_time_is_a_length_before_now_or_a_date_here() {
        let clock = noon();
        let table = [
            ("5h", "2026-07-15T05:00:00Z"),
            ("30m", "2026-07-15T09:30:00Z"),
            ("2d", "2026-07-13T10:00:00Z"),
            ("1w", "2026-07-08T10:00:00Z"),
            ("1d 12h", "2026-07-13T22:00:00Z"),
            ("3 days ago", "2026-07-12T10:00:00Z"),
            ("-2d", "2026-07-13T10:00:00Z"),
            ("1", "2026-07-14T10:00:00Z"),
            (" 0 ", "2026-07-15T10:00:00Z"),
            // The clocks went forward in between: it is still noon.
            ("180", "2026-01-16T11:00:00Z"),
            ("now", "2026-07-15T10:00:00Z"),
            ("Today", "2026-07-14T22:00:00Z"),
            ("yesterday", "2026-07-13T22:00:00Z"),
            ("2026-07-05", "2026-07-04T22:00:00Z"),
            ("20260705", "2026-07-04T22:00:00Z"),
            ("2026-07-05 14:30", "2026-07-05T12:30:00Z"),
            ("2026-07-05T14:30:15", "2026-07-05T12:30:15Z"),
            ("2026-07-05T14:30:00Z", "2026-07-05T14:30:00Z"),
            ("2026-07-05T14:30:00+07:00", "2026-07-05T07:30:00Z"),
        ];
        for (typed, meant) in table {
            assert_eq!(clock.parse(typed).map(Moment::seconds), Ok(seconds(meant)), "{typed}");
        }
    }

    #[test]
    fn what_is_no_time_is_told() {
        let clock = noon();
        for typed in ["", "soon", "5x", "2026-13-01", "99999999999", "9000000", "1e3", "5h nonsense", "٣d"] {
            assert_eq!(clock.parse(typed), Err(NoTime { typed: typed.to_owned() }), "{typed}");
        }
        assert!(clock.parse("soon").expect_err("no time").to_string().starts_with("`soon` is no time. Type how"));
    }

    #[test]
    fn the_past_is_told_as_people_tell_it() {
        let clock = noon();
        let table = [
            ("2026-07-15T10:00:00Z", "just now"),
            ("2026-07-15T09:59:01Z", "just now"),
            ("2026-07-15T09:57:00Z", "3 min ago"),
            ("2026-07-15T09:00:01Z", "59 min ago"),
            ("2026-07-15T09:00:00Z", "1 h ago"),
            ("2026-07-14T22:00:00Z", "12 h ago"),
            ("2026-07-14T21:59:00Z", "yesterday 23:59"),
            ("2026-07-13T22:00:00Z", "yesterday 00:00"),
            ("2026-07-13T12:02:00Z", "Mon 14:02"),
            ("2026-07-09T12:02:00Z", "Thu 14:02"),
            ("2026-07-08T12:02:00Z", "2026-07-08"),
            ("2025-10-09T08:53:20Z", "2025-10-09"),
            // A clock that was wrong.
            ("2026-07-15T10:05:00Z", "2026-07-15"),
            ("2031-01-01T00:00:00Z", "2031-01-01"),
        ];
        for (then, told) in table {
            assert_eq!(clock.ago(Moment::from_seconds(seconds(then))), told, "{then}");
        }
        for broken in [f64::NAN, f64::INFINITY, 1e300, -1e300] {
            let broken = Moment::from_seconds(broken);
            assert_eq!((clock.ago(broken), clock.stamp(broken)), ("unknown".into(), "unknown".into()));
        }
    }

    #[test]
    fn just_after_midnight_minutes_still_count() {
        let clock = Clock::at("2026-07-15T00:10:00Z");
        assert_eq!(clock.ago(Moment::from_seconds(seconds("2026-07-14T23:50:00Z"))), "20 min ago");
        assert_eq!(clock.ago(Moment::from_seconds(seconds("2026-07-14T22:50:00Z"))), "yesterday 22:50");
    }
}
