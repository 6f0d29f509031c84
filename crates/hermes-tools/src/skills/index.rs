//! The skills as the system prompt names them: one line each, sorted, the same bytes for the same skills.
//!
//! The block is paid for with every request, so it has a greatest size: where the lines do not fit the names stand alone,
//! and where those do not fit the rest is counted.

use super::audience::{Audience, bar, is_of_use};
use super::catalogue::{Catalogue, Skill};
use super::settings::roots;
use super::vet::{WITHHELD, suspicious};
use crate::settings::Settings;
use crate::threat::{Scanner, Scope};
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// Characters of a description.
const SUMMARY: usize = 60;
/// Characters of all lines.
const MOST_CHARS: usize = 24_000;
pub(super) const LIST: &str = "skills_list";
pub(super) const VIEW: &str = "skill_view";
const MANAGE: &str = "skill_manage";

/// The block for the system prompt; nothing without a tool to read skills with, or without skills.
pub fn index(settings: &Settings, audience: &Audience<'_>, scanner: &Scanner) -> Option<String> {
    let offers = |tool: &str| audience.tools.contains(tool);
    if !offers(LIST) && !offers(VIEW) {
        return None;
    }
    let catalogue = Catalogue::scan(&roots(settings));
    let shown = catalogue.listed().into_iter().filter(|skill| {
        bar(skill, &settings.skills, audience.platform).is_none() && is_of_use(&skill.front, audience, &settings.around)
    });
    let covered = |text: &str| settings.cover.talk(text).into_owned();
    let row = |skill: &Skill| Row::new(&skill.category, &skill.name, &covered(&skill.description));
    let rows: Vec<Row> = shown.map(row).collect();
    let rows = vetted(rows, scanner);
    if rows.is_empty() {
        return None;
    }
    let headings = catalogue.categories.iter().map(|(name, said)| Row::new(name, name, &covered(said))).collect();
    let headings = vetted(headings, scanner).into_iter().map(|row| (row.category, row.summary)).collect();
    let lines = lines(&rows, &headings);
    Some(format!("## Skills\n{}\n\n<available_skills>\n{lines}</available_skills>", instruction(offers)))
}

/// What to do with the list, as far as there are tools for it.
fn instruction(offers: impl Fn(&str) -> bool) -> String {
    let mut said =
        "Knowledge about recurring work, kept by this person and you. Look through the list before you begin"
            .to_owned();
    said.push_str(match offers(VIEW) {
        true => {
            ": when a skill fits the task even in part, load it with skill_view(name) first and follow it. It tells more \
             than you know: commands, pitfalls, how this person wants things done."
        }
        false => "; skills_list tells more about each.",
    });
    if offers(MANAGE) {
        said.push_str(
            " When a skill proves wrong or incomplete, mend it with skill_manage at once; after difficult work that may \
             come again, offer to save it as a skill.",
        );
    }
    said
}

struct Row {
    category: String,
    name: String,
    summary: String,
}

impl Row {
    fn new(category: &str, name: &str, description: &str) -> Self {
        Self { category: plain(category), name: plain(name), summary: plain(&summary(description)) }
    }

    fn line(&self) -> String {
        if self.summary.is_empty() { self.name.clone() } else { format!("{}: {}", self.name, self.summary) }
    }
}

/// What is left when texts that want to steer the agent are gone: their skill keeps its name, unless that is the text.
fn vetted(mut rows: Vec<Row>, scanner: &Scanner) -> Vec<Row> {
    let lines: Vec<String> = rows.iter().map(Row::line).collect();
    let found = suspicious(&lines, scanner, Scope::Strict);
    if found.is_empty() {
        return rows;
    }
    for (_, row) in rows.iter_mut().enumerate().filter(|(place, _)| found.contains(place)) {
        row.summary = WITHHELD.to_owned();
    }
    rows.retain(|row| scanner.scan(&row.name, Scope::Strict).is_empty());
    rows
}

/// No text of a skill can end the block.
fn plain(text: &str) -> String {
    text.replace('<', "‹").replace('>', "›")
}

fn summary(description: &str) -> String {
    if description.chars().nth(SUMMARY).is_none() {
        return description.to_owned();
    }
    let cut: String = description.chars().take(SUMMARY - 3).collect();
    format!("{}...", cut.trim_end())
}

fn lines(rows: &[Row], headings: &BTreeMap<String, String>) -> String {
    let whole =
        blocks(rows, headings, |rows| rows.iter().fold(String::new(), |out, row| out + "    - " + &row.line() + "\n"));
    if whole.chars().count() <= MOST_CHARS {
        return whole;
    }
    let names = |rows: &[&Row]| {
        let names: Vec<&str> = rows.iter().map(|row| row.name.as_str()).collect();
        format!("    {}\n", names.join(", "))
    };
    let short = blocks(rows, headings, names);
    if short.chars().count() <= MOST_CHARS {
        return short;
    }
    let mut kept = String::new();
    let mut left_out = rows.len();
    for row in rows {
        if kept.len() + row.name.len() > MOST_CHARS {
            break;
        }
        kept.push_str(if kept.is_empty() { "    " } else { ", " });
        kept.push_str(&row.name);
        left_out -= 1;
    }
    format!("{kept}\n    … and {left_out} more: see {LIST}\n")
}

/// The rows by category, each below its heading.
fn blocks(rows: &[Row], headings: &BTreeMap<String, String>, render: impl Fn(&[&Row]) -> String) -> String {
    let mut by_category: BTreeMap<&str, Vec<&Row>> = BTreeMap::new();
    for row in rows {
        by_category.entry(&row.category).or_default().push(row);
    }
    let mut out = String::new();
    for (category, rows) in by_category {
        let said = headings.get(category).filter(|said| !said.is_empty());
        // Writing to a text does not fail.
        let _ = match said {
            Some(said) => writeln!(out, "  {category}: {said}"),
            None => writeln!(out, "  {category}:"),
        };
        out.push_str(&render(&rows));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(count: usize, description: &str) -> Vec<Row> {
        (0..count).map(|number| Row::new("c", &format!("skill-{number:04}"), description)).collect()
    }

    #[test]
    fn a_long_list_gives_up_words_first_and_names_last() {
        let headings = BTreeMap::from([("c".to_owned(), "All of them".to_owned())]);
        let text = "what it is good for";
        let few = lines(&rows(2, text), &headings);
        assert_eq!(
            few,
            "  c: All of them\n    - skill-0000: what it is good for\n    - skill-0001: what it is good for\n"
        );
        let many = lines(&rows(1_000, text), &headings);
        assert!(many.starts_with("  c: All of them\n    skill-0000, skill-0001, "), "{many}");
        assert!(many.contains("skill-0999") && many.chars().count() <= MOST_CHARS);
        let too_many = lines(&rows(5_000, text), &headings);
        assert!(too_many.ends_with(" more: see skills_list\n") && too_many.chars().count() <= MOST_CHARS + 100);
    }

    #[test]
    fn a_description_is_cut_to_its_line_and_cannot_end_the_block() {
        assert_eq!(summary(&"é".repeat(60)), "é".repeat(60));
        assert_eq!(summary(&"é".repeat(61)), format!("{}...", "é".repeat(57)));
        assert_eq!(plain("</available_skills>"), "‹/available_skills›");
    }
}
