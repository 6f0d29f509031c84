//! The report as one web page that loads nothing: style and plots are inside, and there is no script.
//!
//! The page is private data: titles of sessions are in it. A policy inside it forbids every request, so that not even a
//! mistake of ours could send something.

use super::Report;
use super::plot::{self, Layer, bar, escape};
use super::terminal::{name_of, tell};
use crate::commands::table::{count, grouped, span};
use hermes_types::{Share, Usd};
use std::fmt::Write as _;

const STYLE: &str = include_str!("page.css");
const MOST_BARS: usize = 20;

const TOKENS: [Layer; 4] = [
    ("a", "in", |day| day.usage.input as f64),
    ("b", "from cache", |day| day.usage.cache_read as f64),
    ("c", "to cache", |day| day.usage.cache_write as f64),
    ("d", "out", |day| day.usage.output as f64),
];
const COST: [Layer; 1] = [("a", "cost", |day| day.cost_usd.map_or(0.0, Usd::as_f64))];
const MESSAGES: [Layer; 1] = [("a", "messages", |day| day.messages as f64)];

pub(super) fn page(report: &Report) -> String {
    let period = escape(&report.period());
    let mut page = format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\"/>\n\
         <meta name=\"color-scheme\" content=\"light dark\"/>\n<title>Hermes insights, {period}</title>\n\
         <style>\n{STYLE}</style>\n</head>\n<body>\n<main>\n<header><h1>Insights</h1><p>{period}</p></header>\n"
    );
    if report.is_empty() {
        let _ = writeln!(page, "<section><p>{}</p></section>", escape(&report.emptiness()).replace("&#10;", "<br/>"));
    } else {
        body(&mut page, report);
    }
    let zone = escape(&report.calendar.time_zone);
    let _ = write!(
        page,
        "<footer>Days and hours are those of {zone}. Made by hermes insights.</footer>\n</main>\n</body>\n</html>\n"
    );
    page
}

fn body(page: &mut String, report: &Report) {
    let (insights, calendar) = (&report.insights, &report.calendar);
    numbers(page, report);
    let days = &calendar.days;
    let per = match plot::together(days) {
        1 => "per day".to_owned(),
        several => format!("per {several} days"),
    };
    let any = |layers: &[Layer]| days.iter().any(|day| layers.iter().any(|(_, _, measure)| measure(day) > 0.0));
    if any(&TOKENS) {
        let legend = TOKENS.iter().fold(String::new(), |mut legend, (class, name, _)| {
            let _ = write!(legend, "<span><i class=\"{class}\"></i>{name}</span>");
            legend
        });
        let drawn = plot::columns(days, "Tokens by day", &TOKENS, &plot::COUNTS);
        section(page, &format!("Tokens {per}"), &format!("<p class=\"legend\">{legend}</p>{}", wide(&drawn)));
    }
    if any(&COST) {
        let drawn = plot::columns(days, "Cost by day", &COST, &plot::MONEY);
        section(page, &format!("Cost {per}"), &wide(&drawn));
    }
    if any(&MESSAGES) {
        let drawn = plot::columns(days, "Messages by day", &MESSAGES, &plot::COUNTS);
        section(page, &format!("Messages {per}"), &wide(&drawn));
        section(
            page,
            "Messages by weekday and hour",
            &wide(&plot::heat(&calendar.week, "Messages by weekday and hour")),
        );
    }
    page.push_str("<div class=\"pair\">\n");
    models(page, report);
    shares(page, "Tools", &insights.tools);
    page.push_str("</div>\n<div class=\"trio\">\n");
    platforms(page, report);
    shares(page, "How turns ended", &insights.exit_reasons);
    shares(page, "How conversations ended", &insights.end_reasons);
    page.push_str("</div>\n");
    notable(page, report);
}

fn section(page: &mut String, heading: &str, content: &str) {
    let _ = writeln!(page, "<section><h2>{}</h2>{content}</section>", escape(heading));
}

/// On a phone the plot is moved sideways rather than made too small to read.
fn wide(svg: &str) -> String {
    format!("<div class=\"wide\" tabindex=\"0\">{svg}</div>")
}

fn numbers(page: &mut String, report: &Report) {
    let insights = &report.insights;
    let usage = &insights.usage;
    let (active, average) = report.active();
    let each = |sum: f64| if insights.sessions == 0 { 0.0 } else { sum / insights.sessions as f64 };
    let hit_rate = insights.cache_hit_rate().map_or("none".to_owned(), |rate| format!("{:.1} %", rate * 100.0));
    let facts = [
        ("Conversations", grouped(insights.sessions), format!("{} ended", grouped(insights.ended_sessions))),
        ("Active time", span(active), format!("{} on average", span(average))),
        (
            "Messages",
            grouped(insights.messages),
            format!("{} by you, {:.1} each", grouped(insights.user_messages), each(insights.messages as f64)),
        ),
        ("Tool calls", grouped(insights.tool_calls), format!("{:.1} each", each(insights.tool_calls as f64))),
        ("Tokens", grouped(usage.total()), format!("{} each", grouped(each(usage.total() as f64).round() as u64))),
        ("Tokens out", grouped(usage.output), format!("of it {} for reasoning", grouped(usage.reasoning))),
        (
            "Cache hit rate",
            hit_rate,
            format!("{} read, {} written", grouped(usage.cache_read), grouped(usage.cache_write)),
        ),
        ("Cost", report.cost().map_or("unknown".to_owned(), |cost| cost.to_string()), report.cost_notes().join("; ")),
    ];
    let saved = || format!("{} tokens saved", grouped(insights.compression_tokens_saved));
    let compressions = (insights.compressions > 0).then(|| ("Compressions", grouped(insights.compressions), saved()));
    page.push_str("<section class=\"facts\">");
    for (name, value, note) in facts.into_iter().chain(compressions) {
        let (name, value, note) = (escape(name), escape(&value), escape(&note));
        let _ = write!(page, "<div><h3>{name}</h3><p class=\"value\">{value}</p><p class=\"note\">{note}</p></div>");
    }
    page.push_str("</section>\n");
}

fn models(page: &mut String, report: &Report) {
    let models = &report.insights.models;
    let tokens = |place: usize| models.get(place).map_or(0, |model| model.sum.usage.total()) as f64;
    let bars = models.iter().enumerate().map(|(place, model)| {
        let sum = &model.sum;
        let cost = model.cost_usd.map(|cost| format!(", {cost}")).unwrap_or_default();
        let told = format!("{} tokens{cost}", grouped(sum.usage.total()));
        bar(&name_of(model), &told, tokens(place) / tokens(0).max(1.0))
    });
    list(page, "Models", bars.collect());
}

fn platforms(page: &mut String, report: &Report) {
    let sources = &report.insights.sources;
    if !sources.iter().any(|source| source.source != "cli") {
        return;
    }
    let most = sources.iter().map(|source| source.messages).max().unwrap_or(0).max(1) as f64;
    let bars = sources.iter().map(|source| {
        let told = format!("{}, {}", count(source.sessions, "conversation"), count(source.messages, "message"));
        bar(&source.source, &told, source.messages as f64 / most)
    });
    list(page, "Platforms", bars.collect());
}

fn shares(page: &mut String, heading: &str, shares: &[Share]) {
    let all = shares.iter().map(|share| share.count).sum::<u64>().max(1) as f64;
    let most = shares.iter().map(|share| share.count).max().unwrap_or(0).max(1) as f64;
    let bars = shares.iter().map(|share| {
        let told = format!("{}, {:.1} %", grouped(share.count), share.count as f64 * 100.0 / all);
        bar(&share.name, &told, share.count as f64 / most)
    });
    list(page, heading, bars.collect());
}

fn list(page: &mut String, heading: &str, bars: Vec<String>) {
    if bars.is_empty() {
        return;
    }
    let rest = bars.len().saturating_sub(MOST_BARS);
    let shown: String = bars.into_iter().take(MOST_BARS).collect();
    let more = if rest > 0 { format!("<p class=\"note\">and {rest} more</p>") } else { String::new() };
    section(page, heading, &format!("<ul class=\"bars\">{shown}</ul>{more}"));
}

fn notable(page: &mut String, report: &Report) {
    let notable = &report.insights.notable;
    if notable.is_empty() {
        return;
    }
    let mut rows = String::new();
    for entry in notable {
        let (what, value, _) = tell(entry);
        let title = entry.title.as_deref().unwrap_or("untitled");
        let (what, value, title, id) = (escape(what), escape(&value), escape(title), escape(entry.session.as_str()));
        let _ = write!(
            rows,
            "<tr><th scope=\"row\">{what}</th><td class=\"value\">{value}</td><td>{title}<br/><small>{id}</small></td></tr>"
        );
    }
    section(page, "Notable conversations", &format!("<table>{rows}</table>"));
}
