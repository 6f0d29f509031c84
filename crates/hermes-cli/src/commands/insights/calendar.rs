//! Quarters of an hour as days, weekdays and hours of one time zone.
//!
//! Each quarter goes to the local day and hour it began in. A day on which the clocks change has 23 or 25 hours and stays
//! one day; the hour that comes twice is one hour of the day.

use hermes_types::{Bucket, Insights, Moment, Usage, Usd};
use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{Timestamp, Zoned};
use serde::{Serialize, Serializer};

/// A longer period begins with the first day on which something happened.
const LONG: usize = 92;

#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct Calendar {
    pub(super) time_zone: String,
    #[serde(skip)]
    pub(super) first: Date,
    #[serde(skip)]
    pub(super) last: Date,
    pub(super) days: Vec<Day>,
    /// Messages by weekday, Monday first.
    pub(super) weekdays: [u64; 7],
    /// Messages by hour of the day.
    pub(super) hours: [u64; 24],
    /// Messages by weekday and hour.
    pub(super) week: [[u64; 24]; 7],
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct Day {
    #[serde(serialize_with = "as_text")]
    pub(super) date: Date,
    pub(super) sessions: u64,
    pub(super) messages: u64,
    #[serde(flatten)]
    pub(super) usage: Usage,
    pub(super) cost_usd: Option<Usd>,
}

fn as_text<S: Serializer>(date: &Date, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(date)
}

impl Calendar {
    pub(super) fn of(insights: &Insights, zone: &TimeZone) -> Self {
        let date = |moment| local(moment, zone).map(|zoned| zoned.date()).unwrap_or_default();
        let (first, last) = (date(insights.from), date(insights.to));
        let placed: Vec<(Zoned, &Bucket)> =
            insights.buckets.iter().filter_map(|bucket| Some((local(bucket.start, zone)?, bucket))).collect();
        let mut calendar = Self {
            time_zone: name(zone, insights.to),
            first,
            last,
            days: days(first, last, placed.first().map(|(at, _)| at.date())),
            weekdays: [0; 7],
            hours: [0; 24],
            week: [[0; 24]; 7],
        };
        for (at, bucket) in placed {
            calendar.take(&at, bucket);
        }
        calendar
    }

    fn take(&mut self, at: &Zoned, bucket: &Bucket) {
        let weekday = usize::try_from(at.weekday().to_monday_zero_offset()).unwrap_or_default();
        let hour = usize::try_from(at.hour()).unwrap_or_default();
        self.weekdays.get_mut(weekday).into_iter().for_each(|count| *count += bucket.messages);
        self.hours.get_mut(hour).into_iter().for_each(|count| *count += bucket.messages);
        let cell = self.week.get_mut(weekday).and_then(|hours| hours.get_mut(hour));
        cell.into_iter().for_each(|count| *count += bucket.messages);
        // A clock that was wrong put it outside the period; it counts on the nearest day.
        let place = self.days.partition_point(|day| day.date < at.date()).min(self.days.len().saturating_sub(1));
        if let Some(day) = self.days.get_mut(place) {
            day.sessions += bucket.sessions;
            day.messages += bucket.messages;
            day.usage += bucket.usage;
            day.cost_usd = match (day.cost_usd, bucket.cost_usd) {
                (Some(a), Some(b)) => Some(a + b),
                (one, other) => one.or(other),
            };
        }
    }
}

/// A zone without a name is told by its distance from UTC.
fn name(zone: &TimeZone, at: Moment) -> String {
    let distance = || local(at, zone).map_or("UTC".to_owned(), |at| format!("UTC{}", at.strftime("%:z")));
    zone.iana_name().filter(|name| *name != "Etc/Unknown").map_or_else(distance, str::to_owned)
}

fn days(first: Date, last: Date, active: Option<Date>) -> Vec<Day> {
    let empty = |date| Day { date, sessions: 0, messages: 0, usage: Usage::default(), cost_usd: None };
    let mut dates: Vec<Date> = first.series(jiff::Span::new().days(1)).take_while(|date| *date <= last).collect();
    if dates.len() > LONG
        && let Some(active) = active
    {
        let shown = dates.len().saturating_sub(LONG);
        let idle = dates.iter().take_while(|date| **date < active).count().min(shown);
        dates.drain(..idle);
    }
    dates.into_iter().map(empty).collect()
}

fn local(moment: Moment, zone: &TimeZone) -> Option<Zoned> {
    let milliseconds = (moment.seconds() * 1_000.0).round();
    Timestamp::from_millisecond(milliseconds as i64).ok().map(|at| at.to_zoned(zone.clone()))
}
