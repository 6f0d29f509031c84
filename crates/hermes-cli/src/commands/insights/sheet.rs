//! Text in columns with bars, measured in the cells of a terminal, whatever script the names are written in.

use crate::commands::paper::{Ink, Paper, cells, cut, shown};

const EIGHTHS: [char; 8] = ['▏', '▎', '▍', '▌', '▋', '▊', '▉', '█'];
const LEVELS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
const INDENT: &str = "  ";
const GAP: &str = "  ";
const SHORTEST_BAR: usize = 10;
const LONGEST_BAR: usize = 40;
const NARROWEST_NAME: usize = 14;
/// Where nobody counts cells.
const USUAL_WIDTH: usize = 80;

/// A text that grows line by line.
#[derive(Debug)]
pub(super) struct Sheet {
    text: String,
    pub(super) width: usize,
    paper: Paper,
}

/// A line of a chart: a name, numbers, and how long its bar is.
#[derive(Debug, Clone)]
pub(super) struct Entry {
    pub(super) name: String,
    pub(super) cells: Vec<String>,
    pub(super) value: f64,
}

impl Sheet {
    pub(super) fn new(paper: Paper) -> Self {
        Self { text: String::new(), width: paper.width.unwrap_or(USUAL_WIDTH), paper }
    }

    pub(super) fn finish(self) -> String {
        self.text
    }

    pub(super) fn title(&mut self, text: &str, aside: &str) {
        let line = format!(
            "{}  {}",
            self.paper.ink(Ink::Bold, text),
            self.paper.ink(Ink::Dim, &fit(aside, self.width.saturating_sub(cells(text) + 2)))
        );
        self.push(&line);
    }

    /// A headline with air above it.
    pub(super) fn heading(&mut self, text: &str) {
        let line = self.paper.ink(Ink::Bold, &fit(text, self.width));
        self.push("");
        self.push(&line);
    }

    pub(super) fn line(&mut self, text: &str) {
        let text = fit(text, self.room());
        self.push(&format!("{INDENT}{text}"));
    }

    pub(super) fn dim(&mut self, text: &str) {
        let text = self.paper.ink(Ink::Dim, &fit(text, self.room()));
        self.push(&format!("{INDENT}{text}"));
    }

    /// Cells beside the indent.
    pub(super) fn room(&self) -> usize {
        self.width.saturating_sub(INDENT.len())
    }

    /// A table with a bar at the end of each line, as long as there is room for one. `heads` names the columns, or is
    /// empty; at most `most` entries are shown, and what is left out is said.
    pub(super) fn chart(&mut self, heads: &[&str], entries: &[Entry], most: usize) {
        let shown = entries.get(..most.min(entries.len())).unwrap_or_default();
        let columns = shown.iter().map(|entry| entry.cells.len()).max().unwrap_or(0);
        let column_width = |column: usize| {
            let head = heads.get(column + 1).map_or(0, |head| cells(head));
            let widest = shown.iter().filter_map(|entry| entry.cells.get(column)).map(|cell| cells(cell)).max();
            widest.unwrap_or(0).max(head)
        };
        let widths: Vec<usize> = (0..columns).map(column_width).collect();
        let numbers: usize = widths.iter().map(|width| width + GAP.len()).sum();
        let longest = shown.iter().map(|entry| cells(&entry.name)).chain(heads.first().map(|head| cells(head))).max();
        let room = self.room().saturating_sub(numbers);
        let name =
            longest.unwrap_or(0).min(room.saturating_sub(GAP.len() + SHORTEST_BAR).max(NARROWEST_NAME)).min(room);
        let bar = room.saturating_sub(name + GAP.len()).min(LONGEST_BAR);
        let bar = if bar < SHORTEST_BAR { 0 } else { bar };
        if !heads.is_empty() {
            let texts: Vec<String> = heads.iter().map(|head| (*head).to_owned()).collect();
            let (head, rest) = texts.split_first().map_or(("", [].as_slice()), |(head, rest)| (head.as_str(), rest));
            let text = self.paper.ink(Ink::Dim, &row(head, rest, name, &widths));
            self.push(&format!("{INDENT}{text}"));
        }
        let largest = shown.iter().map(|entry| entry.value).fold(0.0, f64::max);
        for entry in shown {
            let drawn = bar_of(entry.value, largest, bar);
            let text = format!("{INDENT}{}{GAP}{drawn}", row(&entry.name, &entry.cells, name, &widths));
            self.push(text.trim_end());
        }
        if entries.len() > shown.len() {
            self.dim(&format!("and {} more", entries.len() - shown.len()));
        }
    }

    fn push(&mut self, line: &str) {
        self.text.push_str(line);
        self.text.push('\n');
    }
}

fn row(name: &str, numbers: &[String], name_width: usize, widths: &[usize]) -> String {
    let mut text = left(name, name_width);
    for (number, width) in numbers.iter().zip(widths) {
        text.push_str(GAP);
        text.push_str(&right(number, *width));
    }
    text
}

/// The text in at most `width` cells, on one line, without anything that acts on a terminal. Its spaces stay.
fn fit(text: &str, width: usize) -> String {
    cut(&shown(text).replace('\n', " "), width)
}

pub(super) fn left(text: &str, width: usize) -> String {
    let text = fit(text, width);
    let space = width.saturating_sub(cells(&text));
    format!("{text}{}", " ".repeat(space))
}

pub(super) fn right(text: &str, width: usize) -> String {
    let text = fit(text, width);
    let space = width.saturating_sub(cells(&text));
    format!("{}{text}", " ".repeat(space))
}

/// A bar of at most `width` cells, exact to an eighth of one; what is not nothing shows.
pub(super) fn bar_of(value: f64, largest: f64, width: usize) -> String {
    if value <= 0.0 || largest <= 0.0 || width == 0 {
        return String::new();
    }
    let eighths = ((value / largest).min(1.0) * width as f64 * 8.0).round().max(1.0) as usize;
    let mut bar = "█".repeat(eighths / 8);
    bar.extend((eighths % 8).checked_sub(1).and_then(|rest| EIGHTHS.get(rest)));
    bar
}

/// One cell per value, as high as it is; nothing is a dot on the ground.
pub(super) fn sparkline(values: &[f64]) -> String {
    let largest = values.iter().copied().fold(0.0, f64::max);
    values.iter().map(|value| level(*value, largest, 1).into_iter().next().unwrap_or('·')).collect()
}

/// Columns `height` lines high, from the top down; each value is `wide` cells, with `gap` cells between them.
pub(super) fn columns(values: &[u64], height: usize, wide: usize, gap: usize) -> Vec<String> {
    let largest = values.iter().copied().max().unwrap_or(0) as f64;
    let stacks: Vec<Vec<char>> = values.iter().map(|value| level(*value as f64, largest, height)).collect();
    let line = |row: usize| {
        let cell = |stack: &Vec<char>| stack.get(row).copied().unwrap_or(' ').to_string().repeat(wide);
        stacks.iter().map(cell).collect::<Vec<_>>().join(&" ".repeat(gap)).trim_end().to_owned()
    };
    (0..height).rev().map(line).collect()
}

/// The blocks of one column from the ground up; empty when there is nothing to show.
fn level(value: f64, largest: f64, height: usize) -> Vec<char> {
    if value <= 0.0 || largest <= 0.0 {
        return Vec::new();
    }
    let eighths = ((value / largest).min(1.0) * height as f64 * 8.0).round().max(1.0) as usize;
    let mut blocks = vec!['█'; eighths / 8];
    blocks.extend((eighths % 8).checked_sub(1).and_then(|rest| LEVELS.get(rest)));
    blocks
}
