//! `hermes insights`: what was done over the last days, and what it cost.
//!
//! The store counts; this draws: as text for a terminal, as JSON, or as one web page that needs nothing besides itself.
//! Days and hours are those of the person's time zone. A period is whole days up to now, today being the last of them.
//! Nothing is sent anywhere and nothing but the page is written.

mod calendar;
mod html;
mod plot;
mod sheet;
mod terminal;
#[cfg(test)]
mod tests;

use super::paper::{Paper, json_pretty};
use super::table::{count, grouped, size};
use super::{Console, Exit, Trouble};
use crate::memory;
use crate::settings::{Home, disk};
use calendar::Calendar;
use clap::Args;
use hermes_core::store::Ledger;
use hermes_types::{Insights, Moment, Usage, Usd};
use jiff::tz::TimeZone;
use jiff::{Span, Timestamp, Zoned};
use serde_json::json;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Narrower than this nothing lines up; wider than this the eye loses the line.
const NARROWEST: usize = 40;
const WIDEST: usize = 120;

#[derive(Debug, Args)]
pub struct InsightsArgs {
    /// How many days to look back, today included
    #[arg(long, value_name = "N", default_value_t = 30, value_parser = clap::value_parser!(u32).range(1..=36_500))]
    pub days: u32,

    /// Only what was held there: cli, telegram, cron …
    #[arg(long, value_name = "SOURCE")]
    pub source: Option<String>,

    /// As JSON
    #[arg(long, conflicts_with = "html")]
    pub json: bool,

    /// Write a web page with plots to this file, replacing it; `-` prints the page
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
}

/// A counted period and how it falls into days and hours.
struct Report {
    insights: Insights,
    calendar: Calendar,
    /// Whole days, as asked for.
    days: u32,
}

pub async fn run(args: InsightsArgs, profile: Option<&str>, console: &mut Console<'_>) -> Exit {
    let outcome = show(&args, profile, console).await;
    console.finish(outcome)
}

async fn show(args: &InsightsArgs, profile: Option<&str>, console: &mut Console<'_>) -> Result<Exit, Trouble> {
    let home = Home::of_process(profile)?;
    let now = Timestamp::now().to_zoned(TimeZone::system());
    let (from, to) = period(&now, args.days)?;
    let insights = match memory::open_existing(&home).await? {
        Some(store) => {
            let insights = store.insights(from, to, args.source.as_deref()).await;
            store.close().await;
            insights?
        }
        None => nothing(from, to, args.source.clone()),
    };
    let report = Report::new(insights, args.days, now.time_zone());
    match &args.html {
        _ if args.json => writeln!(console.out, "{}", report.to_json()?)?,
        Some(path) if path == Path::new("-") => console.out.write_all(html::page(&report).as_bytes())?,
        Some(path) => write_page(path, &report, console)?,
        None if report.is_empty() => writeln!(console.err, "{}", report.emptiness())?,
        None => console.out.write_all(terminal::render(&report, paper()).as_bytes())?,
    }
    Ok(Exit::Done)
}

/// From the first moment of the first day until now, however long the days were.
fn period(now: &Zoned, days: u32) -> Result<(Moment, Moment), Trouble> {
    let back = Span::new().try_days(i64::from(days) - 1);
    let first =
        back.and_then(|back| now.date().checked_sub(back)).and_then(|date| date.to_zoned(now.time_zone().clone()));
    let first = first.map_err(|error| Trouble::Usage(format!("--days {days} reaches too far back: {error}")))?;
    let moment = |zoned: &Zoned| Moment::from_seconds(zoned.timestamp().as_millisecond() as f64 / 1_000.0);
    Ok((moment(&first), moment(now)))
}

fn write_page(path: &Path, report: &Report, console: &mut Console<'_>) -> Result<(), Trouble> {
    let path = std::path::absolute(path)?;
    let page = html::page(report);
    disk::replace(&path, page.as_bytes())?;
    let (held, bytes) = (count(report.insights.sessions, "conversation"), size(page.len() as u64));
    writeln!(console.err, "Wrote {} ({held}, {bytes}). Open it in a browser.", path.display())?;
    Ok(())
}

/// What the report is drawn on; a file or a pipe is as wide as terminals usually are.
fn paper() -> Paper {
    let paper = Paper::of_process();
    Paper { width: paper.width.map(|width| width.clamp(NARROWEST, WIDEST)), ..paper }
}

/// What a home without sessions has to tell.
fn nothing(from: Moment, to: Moment, source: Option<String>) -> Insights {
    Insights {
        from,
        to,
        source,
        sessions: 0,
        messages: 0,
        user_messages: 0,
        tool_calls: 0,
        usage: Usage::default(),
        estimated_cost_usd: None,
        actual_cost_usd: None,
        sessions_without_cost: 0,
        sessions_included: 0,
        active_seconds: 0.0,
        ended_sessions: 0,
        compressions: 0,
        compression_tokens_saved: 0,
        models: Vec::new(),
        sources: Vec::new(),
        tools: Vec::new(),
        exit_reasons: Vec::new(),
        end_reasons: Vec::new(),
        buckets: Vec::new(),
        notable: Vec::new(),
    }
}

impl Report {
    fn new(insights: Insights, days: u32, zone: &TimeZone) -> Self {
        Self { calendar: Calendar::of(&insights, zone), insights, days }
    }

    /// Calls of removed sessions count as something, too.
    fn is_empty(&self) -> bool {
        self.insights.sessions == 0 && self.insights.models.is_empty()
    }

    fn period(&self) -> String {
        let (first, last) = (self.calendar.first, self.calendar.last);
        let days = count(self.days.into(), "day");
        let source = self.insights.source.as_ref().map(|source| format!(", only {source}")).unwrap_or_default();
        match (first == last, first.year() == last.year()) {
            (true, _) => format!("{}{source}", last.strftime("%a %-d %b %Y")),
            (_, true) => format!("{} to {}, {days}{source}", first.strftime("%-d %b"), last.strftime("%-d %b %Y")),
            _ => format!("{} to {}, {days}{source}", first.strftime("%-d %b %Y"), last.strftime("%-d %b %Y")),
        }
    }

    /// One honest sentence for a period without anything, and what to type next.
    fn emptiness(&self) -> String {
        let next = match &self.insights.source {
            Some(_) => "`hermes insights` looks at every source; `hermes sessions list` shows what there is.",
            None => "Ask something with `hermes -z \"…\"`, or look further back with `hermes insights --days 365`.",
        };
        format!("No conversations began in this time ({}).\n{next}", self.period())
    }

    /// For each call what the provider said, else what was computed.
    fn cost(&self) -> Option<Usd> {
        let costs = self.insights.buckets.iter().filter_map(|bucket| bucket.cost_usd);
        costs.reduce(|sum, cost| sum + cost)
    }

    /// How far the sum of money can be trusted, in words.
    fn cost_notes(&self) -> Vec<String> {
        let insights = &self.insights;
        let mut notes = Vec::new();
        if let Some(total) = self.cost() {
            let actual = insights.actual_cost_usd.unwrap_or_default();
            let computed = Usd::from_pico(total.pico().saturating_sub(actual.pico()).max(0));
            match (actual.pico() > 0, computed.pico() > 0) {
                (true, true) => notes.push(format!("{actual} billed, {computed} estimated")),
                (true, false) => notes.push("as billed".to_owned()),
                (false, _) => notes.push("estimated".to_owned()),
            }
        }
        if insights.sessions_included > 0 {
            notes.push(format!("{} included in a subscription", grouped(insights.sessions_included)));
        }
        if insights.sessions_without_cost > 0 {
            notes.push(format!("{} with an unknown price", grouped(insights.sessions_without_cost)));
        }
        notes
    }

    /// How long conversations took that have ended, together and on average.
    fn active(&self) -> (Duration, Duration) {
        let whole = |seconds: f64| Duration::try_from_secs_f64(seconds.round()).unwrap_or_default();
        let (all, ended) = (self.insights.active_seconds, self.insights.ended_sessions);
        (whole(all), if ended == 0 { Duration::ZERO } else { whole(all / ended as f64) })
    }

    fn to_json(&self) -> Result<String, Trouble> {
        let mut value = serde_json::to_value(&self.insights).map_err(std::io::Error::from)?;
        if let Some(object) = value.as_object_mut() {
            object.insert("days".into(), self.days.into());
            object.insert("cost_usd".into(), json!(self.cost()));
            object.insert("cache_hit_rate".into(), json!(self.insights.cache_hit_rate()));
            object.insert("local".into(), json!(self.calendar));
        }
        Ok(json_pretty(&value).map_err(std::io::Error::from)?)
    }
}
