//! "Did you mean": the places of a text that are most like what was looked for and not found.

use super::lines::Lines;
use super::similarity::{Budget, Measured, Probe};
use std::fmt;
use std::fmt::Write as _;

const MOST: usize = 3;
const CONTEXT: usize = 2;
const LEAST: f64 = 0.3;
/// Enough of a line to compare and to show; the rest is paid for and tells nothing.
const SHOWN: usize = 200;

/// A place that could be meant: numbered lines around a similar one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Near {
    /// The number of the similar line.
    pub line: usize,
    pub lines: Vec<(usize, String)>,
}

impl fmt::Display for Near {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = String::new();
        for (number, line) in &self.lines {
            writeln!(text, "{number}|{line}")?;
        }
        out.write_str(text.trim_end_matches('\n'))
    }
}

/// Up to three places, the most similar first. A place within the lines shown for a better one is left out.
pub(super) fn nearest(lines: &Lines<'_>, old: &str, budget: &Budget) -> Vec<Near> {
    let Some(wanted) = old.lines().map(str::trim).find(|line| !line.is_empty()) else { return Vec::new() };
    let probe = Probe::of(&shown(wanted));
    // The most promising first: most lines are never compared in full.
    let mut promising: Vec<(f64, usize, Measured)> = Vec::new();
    for (index, line) in lines.all().iter().enumerate() {
        let measured = Measured::of(&shown(line.text.trim()));
        let bound = probe.bound(&measured, LEAST, budget);
        if bound > LEAST {
            promising.push((bound, index, measured));
        }
    }
    promising.sort_by(|left, right| right.0.total_cmp(&left.0).then(left.1.cmp(&right.1)));
    let mut found: Vec<(f64, usize)> = Vec::new();
    for (bound, index, measured) in &promising {
        // Nine good ones leave three when neighbours fall away.
        let enough = found.get(MOST * 3 - 1).map_or(LEAST, |(ratio, _)| *ratio);
        if *bound <= enough || budget.is_spent() {
            break;
        }
        if let Some(ratio) = probe.at_least(enough, measured, budget)
            && ratio > LEAST
        {
            let place = found.partition_point(|(other, at)| *other > ratio || (*other >= ratio && at < index));
            found.insert(place, (ratio, *index));
            found.truncate(MOST * 3);
        }
    }
    let mut chosen: Vec<usize> = Vec::new();
    for (_, index) in found {
        if chosen.len() < MOST && chosen.iter().all(|other| other.abs_diff(index) > CONTEXT) {
            chosen.push(index);
        }
    }
    chosen.into_iter().map(|index| around(lines, index)).collect()
}

fn around(lines: &Lines<'_>, index: usize) -> Near {
    let first = index.saturating_sub(CONTEXT);
    let picked = lines.all().iter().enumerate().skip(first).take(index + CONTEXT + 1 - first);
    Near { line: index + 1, lines: picked.map(|(at, line)| (at + 1, shown(line.text))).collect() }
}

fn shown(line: &str) -> String {
    line.chars().take(SHOWN).collect()
}
