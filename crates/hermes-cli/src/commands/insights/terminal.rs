//! The report as text for a terminal: sections that line up, bars of blocks, nothing that blinks.

use super::Report;
use super::calendar::Day;
use super::sheet::{Entry, Sheet, columns, left, right, sparkline};
use crate::commands::paper::{Paper, cells};
use crate::commands::table::{grouped, span};
use hermes_types::{ModelUse, Notable, Share, Usd};
use std::time::Duration;

const MOST_MODELS: usize = 10;
const MOST_TOOLS: usize = 15;
const MOST_REASONS: usize = 10;
const HOURS_HEIGHT: usize = 4;
const WEEKDAYS: [&str; 7] = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"];
/// The cells of a sentence about the busiest day.
const PEAK: usize = 35;
/// Two pairs of label and number stand side by side where lines are this long.
const TWO_PAIRS: usize = 64;

pub(super) fn render(report: &Report, paper: Paper) -> String {
    let mut sheet = Sheet::new(paper);
    sheet.title("Insights", &report.period());
    overview(&mut sheet, report);
    models(&mut sheet, &report.insights.models);
    platforms(&mut sheet, report);
    shares(&mut sheet, "Tools", &report.insights.tools, MOST_TOOLS);
    days(&mut sheet, &report.calendar.days);
    weekdays(&mut sheet, &report.calendar.weekdays);
    hours(&mut sheet, &report.calendar.hours, &report.calendar.time_zone);
    shares(&mut sheet, "How turns ended", &report.insights.exit_reasons, MOST_REASONS);
    shares(&mut sheet, "How conversations ended", &report.insights.end_reasons, MOST_REASONS);
    notable(&mut sheet, &report.insights.notable);
    sheet.finish()
}

fn overview(sheet: &mut Sheet, report: &Report) {
    let insights = &report.insights;
    let usage = &insights.usage;
    let per_session = |sum: f64| if insights.sessions == 0 { 0.0 } else { sum / insights.sessions as f64 };
    let hit_rate = insights.cache_hit_rate().map_or("-".to_owned(), |rate| format!("{:.1} %", rate * 100.0));
    let (active, average) = report.active();
    let mut pairs = vec![
        ("Conversations", grouped(insights.sessions)),
        ("Messages", grouped(insights.messages)),
        ("Active time", span(active)),
        ("Messages by you", grouped(insights.user_messages)),
        ("Average length", span(average)),
        ("Messages each", format!("{:.1}", per_session(insights.messages as f64))),
        ("Tool calls", grouped(insights.tool_calls)),
        ("Tool calls each", format!("{:.1}", per_session(insights.tool_calls as f64))),
        ("Tokens in", grouped(usage.input)),
        ("Tokens out", grouped(usage.output)),
        ("Read from cache", grouped(usage.cache_read)),
        ("Out for reasoning", grouped(usage.reasoning)),
        ("Written to cache", grouped(usage.cache_write)),
        ("Cache hit rate", hit_rate),
        ("Tokens together", grouped(usage.total())),
        ("Tokens each", grouped(per_session(usage.total() as f64).round() as u64)),
    ];
    if insights.compressions > 0 {
        pairs.push(("Compressions", grouped(insights.compressions)));
        pairs.push(("Tokens saved", grouped(insights.compression_tokens_saved)));
    }
    pairs.push(("Cost", report.cost().map_or("unknown".to_owned(), |cost| cost.to_string())));
    sheet.heading("Overview");
    let label = pairs.iter().map(|(label, _)| cells(label)).max().unwrap_or(0);
    let number = pairs.iter().map(|(_, number)| cells(number)).max().unwrap_or(0);
    let pair = |(name, value): &(&str, String)| format!("{}  {}", left(name, label), right(value, number));
    let per_line = if sheet.width >= TWO_PAIRS { 2 } else { 1 };
    for line in pairs.chunks(per_line) {
        sheet.line(&line.iter().map(pair).collect::<Vec<_>>().join("      "));
    }
    for note in report.cost_notes() {
        sheet.dim(&format!("  {note}"));
    }
}

fn length(seconds: f64) -> String {
    span(Duration::try_from_secs_f64(seconds.round()).unwrap_or_default())
}

fn models(sheet: &mut Sheet, models: &[ModelUse]) {
    if models.is_empty() {
        return;
    }
    let entry = |model: &ModelUse| {
        let sum = &model.sum;
        let cost = model.cost_usd.map_or("-".to_owned(), |cost| cost.to_string());
        let tokens = sum.usage.total();
        Entry { name: name_of(model), cells: vec![grouped(sum.calls), grouped(tokens), cost], value: tokens as f64 }
    };
    sheet.heading("Models");
    let entries: Vec<Entry> = models.iter().map(entry).collect();
    sheet.chart(&["", "calls", "tokens", "cost"], &entries, MOST_MODELS);
}

/// `model (task), provider`: what tells two lines apart comes before what may be cut.
pub(super) fn name_of(model: &ModelUse) -> String {
    let sum = &model.sum;
    let provider = if sum.provider.is_empty() { String::new() } else { format!(", {}", sum.provider) };
    let task = if sum.task.is_empty() { String::new() } else { format!(" ({})", sum.task.replace('_', " ")) };
    format!("{}{task}{provider}", sum.model)
}

fn platforms(sheet: &mut Sheet, report: &Report) {
    let sources = &report.insights.sources;
    if !sources.iter().any(|source| source.source != "cli") {
        return;
    }
    let entries: Vec<Entry> = sources
        .iter()
        .map(|source| Entry {
            name: source.source.clone(),
            cells: vec![grouped(source.sessions), grouped(source.messages), grouped(source.tokens)],
            value: source.messages as f64,
        })
        .collect();
    sheet.heading("Platforms");
    sheet.chart(&["", "held", "messages", "tokens"], &entries, MOST_TOOLS);
}

fn shares(sheet: &mut Sheet, heading: &str, shares: &[Share], most: usize) {
    let all: u64 = shares.iter().map(|share| share.count).sum();
    if all == 0 {
        return;
    }
    let entry = |share: &Share| {
        let percent = share.count as f64 * 100.0 / all as f64;
        Entry {
            name: share.name.clone(),
            cells: vec![grouped(share.count), format!("{percent:.1} %")],
            value: share.count as f64,
        }
    };
    let entries: Vec<Entry> = shares.iter().map(entry).collect();
    sheet.heading(heading);
    sheet.chart(&[], &entries, most);
}

/// The year is told where it could be another.
pub(super) fn date_spelling(days: &[Day]) -> &'static str {
    let year = |day: Option<&Day>| day.map(|day| day.date.year());
    if year(days.first()) == year(days.last()) { "%-d %b" } else { "%-d %b %Y" }
}

/// What is measured, how, and how its largest value is spelled.
type Measure = (&'static str, fn(&Day) -> f64, fn(f64) -> String);

/// Sparklines over the period. More days than cells share a cell.
fn days(sheet: &mut Sheet, days: &[Day]) {
    let (Some(first), Some(last)) = (days.first(), days.last()) else { return };
    if days.len() < 2 {
        return;
    }
    let measures: [Measure; 3] = [
        ("messages", |day| day.messages as f64, |most| grouped(most as u64)),
        ("tokens", |day| day.usage.total() as f64, |most| grouped(most as u64)),
        (
            "cost",
            |day| day.cost_usd.map_or(0.0, Usd::as_f64),
            |most| Usd::from_f64(most).unwrap_or_default().to_string(),
        ),
    ];
    let spelling = date_spelling(days);
    let label = "messages".len() + 2;
    let room = sheet.room().saturating_sub(label).max(1);
    let together = days.len().div_ceil(room);
    let shown = days.len().div_ceil(together);
    sheet.heading(&if together == 1 { "Days".to_owned() } else { format!("Days, {together} to a column") });
    let mut peaks = Vec::new();
    for (name, measure, spell) in measures {
        let most = days.iter().max_by(|a, b| measure(a).total_cmp(&measure(b)));
        let Some(most) = most.filter(|day| measure(day) > 0.0) else { continue };
        let values: Vec<f64> = days.chunks(together).map(|days| days.iter().map(measure).sum()).collect();
        let peak = format!("most {} on {}", spell(measure(most)), most.date.strftime(&format!("%a {spelling}")));
        let line = format!("{}{}", left(name, label), sparkline(&values));
        if shown + 2 + PEAK <= room {
            sheet.line(&format!("{line}  {peak}"));
        } else {
            sheet.line(&line);
            peaks.push(format!("{}{peak}", left(name, label)));
        }
    }
    let [first, last] = [first, last].map(|day| day.date.strftime(spelling).to_string());
    let between = shown.saturating_sub(cells(&first) + cells(&last));
    if between > 0 {
        sheet.dim(&format!("{}{first}{}{last}", " ".repeat(label), " ".repeat(between)));
    }
    peaks.iter().for_each(|peak| sheet.dim(peak));
}

fn weekdays(sheet: &mut Sheet, counts: &[u64; 7]) {
    if counts.iter().all(|count| *count == 0) {
        return;
    }
    let entry = |(name, count): (&&str, &u64)| Entry {
        name: (*name).to_owned(),
        cells: vec![grouped(*count)],
        value: *count as f64,
    };
    let entries: Vec<Entry> = WEEKDAYS.iter().zip(counts).map(entry).collect();
    sheet.heading("Weekdays, by messages");
    sheet.chart(&[], &entries, entries.len());
}

fn hours(sheet: &mut Sheet, counts: &[u64; 24], zone: &str) {
    if counts.iter().all(|count| *count == 0) {
        return;
    }
    sheet.heading(&format!("Hours of the day, by messages ({zone})"));
    let (wide, gap) = match sheet.room() {
        71.. => (2, 1),
        47.. => (1, 1),
        _ => (1, 0),
    };
    for line in columns(counts, HOURS_HEIGHT, wide, gap) {
        sheet.line(&line);
    }
    let label = |hour: usize| left(&format!("{hour:02}"), 3 * (wide + gap));
    let labels: String = (0..24).step_by(3).map(label).collect();
    sheet.dim(labels.trim_end());
}

fn notable(sheet: &mut Sheet, notable: &[Notable]) {
    if notable.is_empty() {
        return;
    }
    sheet.heading("Notable conversations");
    let told: Vec<(&str, String, String)> = notable.iter().map(tell).collect();
    let what = told.iter().map(|(what, _, _)| cells(what)).max().unwrap_or(0);
    let value = told.iter().map(|(_, value, _)| cells(value)).max().unwrap_or(0);
    for (name, number, session) in &told {
        sheet.line(&format!("{}  {}  {session}", left(name, what), right(number, value)));
    }
}

/// What stands out, how much, and which session it is.
pub(super) fn tell(notable: &Notable) -> (&str, String, String) {
    let count = grouped(notable.value as u64);
    let (what, value) = match notable.what.as_str() {
        "longest" => ("Longest", length(notable.value)),
        "most_messages" => ("Most messages", count),
        "most_tokens" => ("Most tokens", count),
        "most_tool_calls" => ("Most tool calls", count),
        "most_expensive" => ("Most expensive", Usd::from_f64(notable.value).unwrap_or_default().to_string()),
        other => (other, count),
    };
    let id = notable.session.as_str();
    let session = notable.title.as_ref().map_or_else(|| id.to_owned(), |title| format!("{id}  {title}"));
    (what, value, session)
}
