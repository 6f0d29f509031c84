//! The two strategies that accept lines that differ. They look at whole blocks of as many lines as were asked for.
//!
//! Blocks that overlap compete: the most similar one stands, equally similar ones all stand and make the edit ambiguous.
//! Lines that do match must hold at least half of the visible text, so that a lone bracket or blank lines never carry a
//! replacement.

use super::lines::{Block, Line};
use super::similarity::{LONGEST, Measured, Probe};
use super::strategies::Haystack;
use std::ops::Range;

const ONLY_CANDIDATE: f64 = 0.50;
const ONE_OF_SEVERAL: f64 = 0.70;
const ALIKE: f64 = 0.80;
/// What it costs to look at a line at all.
const MEASURING: usize = 50;

/// A block of lines that could be meant, and how much it is like the text that was asked for.
struct Candidate {
    first: usize,
    likeness: f64,
}

/// First and last line are equal, and what lies between is alike.
pub(super) fn block_anchor(haystack: &Haystack<'_>, old: &str) -> Vec<Range<usize>> {
    let block = Block::of(old);
    let count = block.lines.len();
    let (Some(head), Some(tail)) = (block.lines.first(), block.lines.last()) else { return Vec::new() };
    if count < 2 || (head.trim().is_empty() && tail.trim().is_empty()) {
        return Vec::new();
    }
    let all = haystack.lines.all();
    let pairs = all.iter().zip(all.iter().skip(count - 1)).enumerate();
    let candidates: Vec<usize> = pairs
        .filter(|(_, (first, last))| first.text.trim() == head.trim() && last.text.trim() == tail.trim())
        .map(|(at, _)| at)
        .collect();
    let least = if candidates.len() > 1 { ONE_OF_SEVERAL } else { ONLY_CANDIDATE };
    let middle = block.lines.get(1..count - 1).unwrap_or_default();
    let probe = Middle::of(middle);
    let alike = candidates.into_iter().filter_map(|first| {
        let lines = all.get(first + 1..first + count - 1).unwrap_or_default();
        let likeness = if middle.is_empty() { 1.0 } else { probe.likeness(lines, least, haystack)? };
        Some(Candidate { first, likeness })
    });
    standing(haystack, &block, &alike.collect::<Vec<_>>())
}

/// The lines between the anchors, compared as one text while that is affordable, else line by line.
enum Middle {
    Text(Probe),
    Lines(Vec<(Probe, usize)>),
}

impl Middle {
    fn of(lines: &[&str]) -> Self {
        let text = lines.join("\n");
        if text.chars().count() <= LONGEST {
            return Self::Text(Probe::of(&text));
        }
        Self::Lines(lines.iter().map(|line| (Probe::of(line.trim()), visible(line))).collect())
    }

    fn likeness(&self, lines: &[Line<'_>], least: f64, haystack: &Haystack<'_>) -> Option<f64> {
        match self {
            Self::Text(probe) => {
                let texts: Vec<&str> = lines.iter().map(|line| line.text).collect();
                let length = texts.iter().map(|text| text.len() + 1).sum::<usize>();
                if length > LONGEST * 4 || !haystack.budget.spend(length) {
                    return None;
                }
                probe.at_least(least, &Measured::of(&texts.join("\n")), &haystack.budget)
            }
            Self::Lines(probes) => {
                let (mut whole, mut same) = (0.0, 0.0);
                for ((probe, weight), line) in probes.iter().zip(lines) {
                    let weight = weighed(*weight);
                    whole += weight;
                    if !haystack.budget.spend(MEASURING + line.text.len()) {
                        return None;
                    }
                    let text = Measured::of(line.text.trim());
                    same += weight * probe.at_least(0.0, &text, &haystack.budget).unwrap_or_default();
                }
                let likeness = if whole > 0.0 { same / whole } else { 1.0 };
                (likeness >= least && !haystack.budget.is_spent()).then_some(likeness)
            }
        }
    }
}

/// At least half of the lines are alike.
pub(super) fn context_aware(haystack: &Haystack<'_>, old: &str) -> Vec<Range<usize>> {
    let block = Block::of(old);
    let count = block.lines.len();
    let probes: Vec<(Probe, usize)> = block.lines.iter().map(|line| (Probe::of(line.trim()), visible(line))).collect();
    let text: usize = probes.iter().map(|(_, weight)| weight).sum();
    let all = haystack.lines.all();
    if text == 0 || count > all.len() {
        return Vec::new();
    }
    let measured: Vec<Measured> = all.iter().map(|line| Measured::of(line.text.trim())).collect();
    let mut alike = Vec::new();
    for (first, window) in measured.windows(count).enumerate() {
        if let Some(likeness) = window_likeness(&probes, window, text, haystack) {
            alike.push(Candidate { first, likeness });
        }
        if haystack.budget.is_spent() {
            return Vec::new();
        }
    }
    standing(haystack, &block, &alike)
}

fn window_likeness(
    probes: &[(Probe, usize)],
    window: &[Measured],
    text: usize,
    haystack: &Haystack<'_>,
) -> Option<f64> {
    let mut unlike = 0;
    let (mut held, mut likeness) = (0, 0.0);
    for ((probe, weight), line) in probes.iter().zip(window) {
        match probe.at_least(ALIKE, line, &haystack.budget) {
            Some(ratio) => {
                held += weight;
                likeness += ratio * weighed(weight + 1);
            }
            None => unlike += 1,
        }
        if unlike * 2 > probes.len() {
            return None;
        }
    }
    (held * 2 >= text).then_some(likeness)
}

/// The candidates that no better one overlaps. When the budget ended before all were seen, none is trusted.
fn standing(haystack: &Haystack<'_>, block: &Block<'_>, candidates: &[Candidate]) -> Vec<Range<usize>> {
    if haystack.budget.is_spent() {
        return Vec::new();
    }
    let count = block.lines.len();
    let mut hits = Vec::new();
    for group in candidates.chunk_by(|left, right| right.first < left.first + count) {
        let Some(best) = group.iter().max_by(|left, right| left.likeness.total_cmp(&right.likeness)) else { continue };
        let stands = |one: &&Candidate| {
            let overlaps = one.first.abs_diff(best.first) < count;
            one.likeness >= best.likeness || !overlaps
        };
        hits.extend(group.iter().filter(stands).map(|one| haystack.lines.span(one.first, count, block.closing)));
    }
    hits
}

fn visible(line: &str) -> usize {
    line.chars().filter(|char| !char.is_whitespace()).count()
}

fn weighed(characters: usize) -> f64 {
    f64::from(u32::try_from(characters).unwrap_or(u32::MAX))
}
