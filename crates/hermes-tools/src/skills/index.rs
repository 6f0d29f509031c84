//! The skills as the system prompt names them: one line each, sorted, the same bytes for the same skills.
//!
//! The block is paid for with every request, so it has a greatest size: where the lines do not fit the names stand alone,
//! and where those do not fit the rest is counted.

use super::audience::{Audience, bar, is_of_use};
use super::catalogue::{Catalogue, Skill};
use super::settings::roots;
use super::vet::{WITHHELD, is_attack, suspicious};
use crate::cover::Cover;
use crate::settings::Settings;
use crate::threat::{Scanner, Scope};
use std::collections::BTreeMap;

/// Characters of a description.
const SUMMARY: usize = 60;
/// Characters of all lines.
const MOST_CHARS: usize = 24_000;
pub(super) const LIST: &str = "skills_list";
pub(super) const VIEW: &str = "skill_view";
pub(super) const MANAGE: &str = "skill_manage";

/// The block for the system prompt; nothing without a tool to read skills with, or without skills.
pub fn index(settings: &Settings, audience: &Audience<'_>, scanner: &Scanner) -> Option<String> {
    let offers = |tool: &str| audience.tools.contains(tool);
    if !offers(LIST) && !offers(VIEW) {
        return None;
    }
    let catalogue = Catalogue::scan(&roots(settings), scanner);
    let mut shown: Vec<&Skill> = catalogue.listed();
    shown.retain(|skill| {
        bar(skill, &settings.skills, audience.platform).is_none() && is_of_use(&skill.front, audience, &settings.around)
    });
    if shown.is_empty() {
        return None;
    }
    let lines = lines(&vetted(entries(&shown, &catalogue.categories, settings.cover), scanner));
    // Names alone can be put in an order that says something. No list is better than that one.
    if is_attack(&lines, scanner, Scope::Strict) {
        tracing::warn!("the list of skills is kept from the model: its names together are an attack");
        return None;
    }
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

/// One line of the block.
struct Entry {
    kind: Kind,
    name: String,
    summary: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// The skills of it follow.
    Category,
    Skill,
}

impl Entry {
    fn new(kind: Kind, name: &str, description: &str) -> Self {
        Self { kind, name: plain(name), summary: plain(&summary(description)) }
    }

    fn line(&self) -> String {
        match (self.kind, self.summary.is_empty()) {
            (_, false) => format!("{}: {}", self.name, self.summary),
            (Kind::Category, true) => format!("{}:", self.name),
            (Kind::Skill, true) => self.name.clone(),
        }
    }
}

/// The skills by category, each below its heading, as they will be read.
fn entries(skills: &[&Skill], categories: &BTreeMap<String, String>, cover: Cover) -> Vec<Entry> {
    let mut by_category: BTreeMap<&str, Vec<&Skill>> = BTreeMap::new();
    for skill in skills {
        by_category.entry(&skill.category).or_default().push(skill);
    }
    let mut entries = Vec::new();
    for (category, skills) in by_category {
        let said = categories.get(category).map(|said| cover.talk(said)).unwrap_or_default();
        entries.push(Entry::new(Kind::Category, category, &said));
        let of_skill = |skill: &&Skill| Entry::new(Kind::Skill, &skill.name, &cover.talk(&skill.description));
        entries.extend(skills.iter().map(of_skill));
    }
    entries
}

/// What is left when texts that want to steer the agent are gone: their skill keeps its name.
fn vetted(mut entries: Vec<Entry>, scanner: &Scanner) -> Vec<Entry> {
    let lines: Vec<String> = entries.iter().map(Entry::line).collect();
    for place in suspicious(&lines, scanner, Scope::Strict) {
        if let Some(entry) = entries.get_mut(place) {
            entry.summary = WITHHELD.to_owned();
        }
    }
    entries
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

fn lines(entries: &[Entry]) -> String {
    let whole = entries.iter().map(|entry| match entry.kind {
        Kind::Category => format!("  {}\n", entry.line()),
        Kind::Skill => format!("    - {}\n", entry.line()),
    });
    let whole: String = whole.collect();
    if whole.chars().count() <= MOST_CHARS {
        return whole;
    }
    let short = short(entries);
    if short.chars().count() <= MOST_CHARS {
        return short;
    }
    let names: Vec<&str> =
        entries.iter().filter(|entry| entry.kind == Kind::Skill).map(|entry| entry.name.as_str()).collect();
    let mut kept = String::new();
    let mut left_out = names.len();
    for name in names {
        if kept.len() + name.len() > MOST_CHARS {
            break;
        }
        kept.push_str(if kept.is_empty() { "    " } else { ", " });
        kept.push_str(name);
        left_out -= 1;
    }
    format!("{kept}\n    … and {left_out} more: see {LIST}\n")
}

/// The names alone, those of a category on one line.
fn short(entries: &[Entry]) -> String {
    let mut out = String::new();
    let mut before = Kind::Category;
    for entry in entries {
        match (entry.kind, before) {
            (Kind::Category, Kind::Category) => out.push_str("  "),
            (Kind::Category, Kind::Skill) => out.push_str("\n  "),
            (Kind::Skill, Kind::Category) => out.push_str("\n    "),
            (Kind::Skill, Kind::Skill) => out.push_str(", "),
        }
        match entry.kind {
            Kind::Category => out.push_str(&entry.line()),
            Kind::Skill => out.push_str(&entry.name),
        }
        before = entry.kind;
    }
    out + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entries(count: usize, description: &str) -> Vec<Entry> {
        let skill = |number| Entry::new(Kind::Skill, &format!("skill-{number:04}"), description);
        std::iter::once(Entry::new(Kind::Category, "c", "All of them")).chain((0..count).map(skill)).collect()
    }

    #[test]
    fn a_long_list_gives_up_words_first_and_names_last() {
        let text = "what it is good for";
        let few = lines(&entries(2, text));
        assert_eq!(
            few,
            "  c: All of them\n    - skill-0000: what it is good for\n    - skill-0001: what it is good for\n"
        );
        let many = lines(&entries(1_000, text));
        assert!(many.starts_with("  c: All of them\n    skill-0000, skill-0001, "), "{many}");
        assert!(many.ends_with("skill-0999\n") && many.chars().count() <= MOST_CHARS);
        let too_many = lines(&entries(5_000, text));
        assert!(too_many.ends_with(" more: see skills_list\n") && too_many.chars().count() <= MOST_CHARS + 100);
    }

    #[test]
    fn the_names_of_a_category_stand_below_it() {
        let all = [("a", "x"), ("b", "y")].into_iter().flat_map(|(category, name)| {
            [
                Entry::new(Kind::Category, category, ""),
                Entry::new(Kind::Skill, name, "z"),
                Entry::new(Kind::Skill, "w", ""),
            ]
        });
        assert_eq!(short(&all.collect::<Vec<_>>()), "  a:\n    x, w\n  b:\n    y, w\n");
    }

    #[test]
    fn a_description_is_cut_to_its_line_and_cannot_end_the_block() {
        assert_eq!(summary(&"é".repeat(60)), "é".repeat(60));
        assert_eq!(summary(&"é".repeat(61)), format!("{}...", "é".repeat(57)));
        assert_eq!(plain("</available_skills>"), "‹/available_skills›");
    }
}
