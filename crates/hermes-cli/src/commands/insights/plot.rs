//! Plots as SVG, drawn by hand: days as columns, a week as a map of heat, shares as bars.
//!
//! Colours are classes of the page's style sheet, so that light and dark are its concern. Every mark has a `<title>`,
//! which browsers show on hovering and read aloud.

use super::calendar::Day;
use super::terminal::date_spelling;
use crate::commands::table::grouped;
use hermes_types::Usd;
use std::fmt::Write as _;

const WIDTH: f64 = 720.0;
const HEIGHT: f64 = 220.0;
const LEFT: f64 = 56.0;
const TOP: f64 = 12.0;
const BOTTOM: f64 = 28.0;
/// Dates below the days stand at least this far apart.
const DATE_WIDTH: f64 = 80.0;
/// More days than this share columns.
const MOST_COLUMNS: usize = 184;
const WIDEST_COLUMN: f64 = 36.0;
const WEEKDAYS: [&str; 7] = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"];

/// How the numbers of an axis are told: in full beside a column, short beside the axis.
pub(super) struct Axis {
    spell: fn(f64) -> String,
    tick: fn(f64) -> String,
    ceiling: fn(f64) -> f64,
}

pub(super) const COUNTS: Axis = Axis { spell: count, tick: short, ceiling: whole_ceiling };
pub(super) const MONEY: Axis = Axis { spell: money, tick: dollars, ceiling };

/// An axis has this many parts.
const PARTS: i32 = 4;

/// One layer of stacked columns: its class, its name and its height for a day.
pub(super) type Layer = (&'static str, &'static str, fn(&Day) -> f64);

/// Columns for days, their layers stacked from the ground up. Days that [`together`] puts together share a column.
pub(super) fn columns(days: &[Day], label: &str, layers: &[Layer], axis: &Axis) -> String {
    let Axis { spell, tick, ceiling } = axis;
    let groups: Vec<&[Day]> = days.chunks(together(days)).collect();
    let sum = |days: &[Day]| layers.iter().map(|(_, _, measure)| layer(days, *measure)).sum::<f64>();
    let top = ceiling(groups.iter().map(|days| sum(days)).fold(0.0, f64::max));
    let step = (WIDTH - LEFT) / groups.len().max(1) as f64;
    let column = (step * 0.78).min(WIDEST_COLUMN);
    let ground = HEIGHT - BOTTOM;
    let height = |value: f64| value / top * (ground - TOP);
    let mut svg = format!("<svg viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" aria-label=\"{}\">", escape(label));
    for part in 0..=PARTS {
        let value = top * f64::from(part) / f64::from(PARTS);
        let y = ground - height(value);
        let _ = write!(svg, "<line class=\"grid\" x1=\"{LEFT}\" x2=\"{WIDTH}\" y1=\"{y:.1}\" y2=\"{y:.1}\"/>");
        let (x, y, told) = (LEFT - 8.0, y + 4.0, escape(&tick(value)));
        let _ = write!(svg, "<text class=\"axis\" x=\"{x}\" y=\"{y:.1}\" text-anchor=\"end\">{told}</text>");
    }
    for (place, days) in groups.iter().enumerate() {
        let from = LEFT + step * place as f64;
        let mut told = format!("{}: {}", span_of(days), spell(sum(days)));
        for (_, name, measure) in layers.iter().filter(|_| layers.len() > 1) {
            let _ = write!(told, "\n{name} {}", spell(layer(days, *measure)));
        }
        // The whole height answers the pointer: small days are hard to hit.
        let (told, reach) = (escape(&told), ground - TOP);
        let _ = write!(
            svg,
            "<g><title>{told}</title>\
             <rect class=\"reach\" x=\"{from:.1}\" y=\"{TOP}\" width=\"{step:.2}\" height=\"{reach:.1}\"/>"
        );
        let (x, mut y) = (from + (step - column) / 2.0, ground);
        for (class, _, measure) in layers {
            let high = height(layer(days, *measure));
            if high > 0.0 {
                y -= high;
                let _ = write!(
                    svg,
                    "<rect class=\"{class}\" x=\"{x:.1}\" y=\"{y:.2}\" width=\"{column:.2}\" height=\"{high:.2}\"/>"
                );
            }
        }
        svg.push_str("</g>");
    }
    dates(&mut svg, days, step);
    svg.push_str("</svg>");
    svg
}

/// How many days share a column, so that a page of many years stays small.
pub(super) fn together(days: &[Day]) -> usize {
    days.len().div_ceil(MOST_COLUMNS).max(1)
}

fn layer(days: &[Day], measure: fn(&Day) -> f64) -> f64 {
    days.iter().map(measure).sum()
}

fn span_of(days: &[Day]) -> String {
    let spelled = |day: Option<&Day>| day.map(|day| day.date.strftime("%a %-d %b %Y").to_string()).unwrap_or_default();
    let (first, last) = (spelled(days.first()), spelled(days.last()));
    if days.len() < 2 { first } else { format!("{first} to {last}") }
}

fn dates(svg: &mut String, days: &[Day], step: f64) {
    let spelling = date_spelling(days);
    let every = (DATE_WIDTH / step).ceil().max(1.0) as usize;
    for (place, day) in days.iter().step_by(together(days)).enumerate().step_by(every) {
        let x = LEFT + step * (place as f64 + 0.5);
        // A date that would be cut off at the edge says less than none.
        if x > WIDTH - DATE_WIDTH / 2.0 && place > 0 {
            break;
        }
        let y = HEIGHT - 8.0;
        let _ = write!(
            svg,
            "<text class=\"axis\" x=\"{x:.1}\" y=\"{y}\" text-anchor=\"middle\">{}</text>",
            day.date.strftime(spelling)
        );
    }
}

/// A weekday per line and an hour per column, the darker the busier.
pub(super) fn heat(week: &[[u64; 24]; 7], label: &str) -> String {
    const CELL: f64 = 27.0;
    const NAMES: f64 = 44.0;
    let most = week.iter().flatten().copied().max().unwrap_or(0).max(1) as f64;
    let (width, height) = (NAMES + 24.0 * CELL, 7.0 * CELL + 22.0);
    let mut svg = format!("<svg viewBox=\"0 0 {width} {height}\" role=\"img\" aria-label=\"{}\">", escape(label));
    for (line, (weekday, hours)) in WEEKDAYS.iter().zip(week).enumerate() {
        let y = line as f64 * CELL;
        let _ = write!(svg, "<text class=\"axis\" x=\"0\" y=\"{:.1}\">{weekday}</text>", y + CELL / 2.0 + 4.0);
        for (hour, count) in hours.iter().enumerate() {
            let x = NAMES + hour as f64 * CELL;
            // A root keeps quiet hours apart from empty ones beside one very busy hour.
            let strength = if *count == 0 { 0.0 } else { 0.12 + 0.88 * (*count as f64 / most).sqrt() };
            let (class, side) = (if *count == 0 { "cold" } else { "hot" }, CELL - 3.0);
            let messages = if *count == 1 { "message" } else { "messages" };
            let _ = write!(
                svg,
                "<rect class=\"{class}\" x=\"{x}\" y=\"{y}\" width=\"{side}\" height=\"{side}\" rx=\"4\" \
                 style=\"fill-opacity:{:.2}\"><title>{weekday} {hour:02}:00, {} {messages}</title></rect>",
                if *count == 0 { 1.0 } else { strength },
                grouped(*count)
            );
        }
    }
    for hour in (0..24).step_by(3) {
        let x = NAMES + f64::from(hour) * CELL;
        let _ = write!(svg, "<text class=\"axis\" x=\"{x}\" y=\"{:.1}\">{hour:02}</text>", height - 4.0);
    }
    svg.push_str("</svg>");
    svg
}

/// A line of a list with its bar below: a name, what is told beside it, and its share of the largest.
pub(super) fn bar(name: &str, told: &str, share: f64) -> String {
    let (name, told) = (escape(name), escape(told));
    let wide = (share.clamp(0.0, 1.0) * 100.0).max(0.5);
    format!(
        "<li><span class=\"name\">{name}</span><span class=\"told\">{told}</span>\
         <svg class=\"bar\" viewBox=\"0 0 100 4\" preserveAspectRatio=\"none\" role=\"img\" aria-label=\"{name}: {told}\">\
         <title>{name}: {told}</title><rect class=\"track\" width=\"100\" height=\"4\"/>\
         <rect class=\"a\" width=\"{wide:.2}\" height=\"4\"/></svg></li>"
    )
}

/// The next round number that the axis can be divided by.
fn ceiling(most: f64) -> f64 {
    if most <= 0.0 {
        return 1.0;
    }
    let magnitude = 10f64.powf(most.log10().floor());
    let steps = [1.0, 1.2, 1.6, 2.0, 2.4, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0];
    steps.iter().map(|step| step * magnitude).find(|step| *step >= most).unwrap_or(most)
}

/// The same for what comes in whole pieces: every part of the axis is a whole number.
fn whole_ceiling(most: f64) -> f64 {
    f64::from(PARTS) * ceiling(most / f64::from(PARTS)).ceil()
}

/// A number short enough for an axis.
fn short(value: f64) -> String {
    let (scaled, unit) = match value {
        value if value >= 1e9 => (value / 1e9, "G"),
        value if value >= 1e6 => (value / 1e6, "M"),
        value if value >= 1e3 => (value / 1e3, "k"),
        value => (value, ""),
    };
    let text = format!("{scaled:.2}");
    format!("{}{unit}", text.trim_end_matches('0').trim_end_matches('.'))
}

/// An amount short enough for an axis.
fn dollars(value: f64) -> String {
    let digits = match value {
        value if value >= 100.0 || value == 0.0 => 0,
        value if value >= 0.1 => 2,
        _ => 4,
    };
    format!("${value:.digits$}")
}

fn count(value: f64) -> String {
    grouped(value as u64)
}

fn money(value: f64) -> String {
    Usd::from_f64(value).unwrap_or_default().to_string()
}

/// Text that stays text in a page, whatever it holds. What no page may hold is left out.
pub(super) fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            '\n' => out.push_str("&#10;"),
            c if c.is_control()
                || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{fffe}' | '\u{ffff}') => {}
            c => out.push(c),
        }
    }
    out
}
