//! Who may use a skill, and whom it is of use to.
//!
//! A skill for another system, or one the owner switched off, does not exist for anybody. One that asks for surroundings
//! or tools that are not there, or stands in for tools that are, is only left out of the index: whoever names it gets it.

use super::catalogue::Skill;
use super::frontmatter::Frontmatter;
use super::settings::SkillSettings;
use crate::settings::Surroundings;
use std::collections::BTreeSet;
use std::path::Path;

/// Names of systems as skills write them, and as Rust does.
const SYSTEMS: [(&str, &str); 7] = [
    ("macos", "macos"),
    ("darwin", "macos"),
    ("linux", "linux"),
    ("linux", "android"),
    ("termux", "android"),
    ("android", "android"),
    ("windows", "windows"),
];

/// Who reads the index.
#[derive(Debug, Clone, Copy)]
pub struct Audience<'a> {
    /// `cli`, `telegram` …
    pub platform: &'a str,
    /// The tools that the model sees.
    pub tools: &'a BTreeSet<String>,
    /// The sets they are from.
    pub toolsets: &'a BTreeSet<String>,
}

/// Why nobody may use a skill.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Bar {
    System,
    Disabled,
}

pub(super) fn bar(skill: &Skill, settings: &SkillSettings, platform: &str) -> Option<Bar> {
    bar_of(&skill.front, &[skill.name.as_str(), skill.folder_name()], settings, platform)
}

/// The same for whatever has these names.
pub(super) fn bar_of(front: &Frontmatter, names: &[&str], settings: &SkillSettings, platform: &str) -> Option<Bar> {
    if !runs_on(front, std::env::consts::OS) {
        return Some(Bar::System);
    }
    names.iter().any(|name| settings.is_disabled(name, platform)).then_some(Bar::Disabled)
}

fn runs_on(front: &Frontmatter, system: &str) -> bool {
    let wanted = front.words("platforms");
    let is_this =
        |name: &String| SYSTEMS.iter().any(|(written, real)| name.eq_ignore_ascii_case(written) && *real == system);
    wanted.is_empty() || wanted.iter().any(is_this)
}

/// Whether the index names it.
pub(super) fn is_of_use(front: &Frontmatter, audience: &Audience<'_>, around: &Surroundings) -> bool {
    let has_all = |key: &str, there: &BTreeSet<String>| front.own_words(key).iter().all(|name| there.contains(name));
    let has_any = |key: &str, there: &BTreeSet<String>| front.own_words(key).iter().any(|name| there.contains(name));
    is_at_home(front, around)
        && has_all("requires_tools", audience.tools)
        && has_all("requires_toolsets", audience.toolsets)
        && !has_any("fallback_for_tools", audience.tools)
        && !has_any("fallback_for_toolsets", audience.toolsets)
}

/// Whether one of the surroundings it is for is here. Those that nobody knows do not count.
pub(super) fn is_at_home(front: &Frontmatter, around: &Surroundings) -> bool {
    let known: Vec<bool> = front.words("environments").iter().filter_map(|tag| is_here(tag, around)).collect();
    known.is_empty() || known.contains(&true)
}

fn is_here(tag: &str, around: &Surroundings) -> Option<bool> {
    let is_set = |name: &str| around.variables.get(name).is_some_and(|value| !value.trim().is_empty());
    let any = |paths: &[&str]| paths.iter().any(|path| Path::new(path).exists());
    match tag.to_ascii_lowercase().as_str() {
        "kanban" => Some(is_set("HERMES_KANBAN_TASK") || is_set("HERMES_KANBAN_BOARD")),
        "docker" => Some(any(&["/.dockerenv", "/run/.containerenv"])),
        "s6" => Some(any(&["/run/s6", "/package/admin/s6-overlay"])),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn front(yaml: &str) -> Frontmatter {
        Frontmatter::split(&format!("---\n{yaml}\n---\n")).0
    }

    #[test]
    fn a_skill_runs_where_it_says() {
        let table = [
            ("name: x", "linux", true),
            ("platforms: []", "linux", true),
            ("platforms: [linux]", "linux", true),
            ("platforms: macOS, Windows", "linux", false),
            ("platforms: [macos]", "macos", true),
            ("platforms: [linux]", "android", true),
            ("platforms: [termux]", "android", true),
            ("platforms: [amiga]", "linux", false),
        ];
        for (yaml, system, runs) in table {
            assert_eq!(runs_on(&front(yaml), system), runs, "{yaml} on {system}");
        }
    }

    #[test]
    fn tools_and_surroundings_decide_over_the_index() {
        let set = |names: &str| names.split_whitespace().map(str::to_owned).collect::<BTreeSet<String>>();
        let (tools, toolsets) = (set("terminal web_search"), set("terminal web"));
        let audience = Audience { platform: "cli", tools: &tools, toolsets: &toolsets };
        let mut around = Surroundings::all_at("/nonexistent");
        around.variables.insert("HERMES_KANBAN_TASK".to_owned(), "7".to_owned());
        let hermes = |line: &str| format!("metadata:\n  hermes:\n    {line}");
        let table = [
            (hermes("requires_tools: [terminal, web_search]"), true),
            (hermes("requires_tools: [terminal, browser_navigate]"), false),
            (hermes("requires_toolsets: browser"), false),
            (hermes("requires_toolsets: web"), true),
            (hermes("fallback_for_tools: [web_search]"), false),
            (hermes("fallback_for_toolsets: [browser]"), true),
            (hermes("fallback_for_toolsets: [browser, web]"), false),
            ("environments: [kanban]".to_owned(), true),
            ("environments: [spaceship]".to_owned(), true),
        ];
        for (yaml, shown) in table {
            assert_eq!(is_of_use(&front(&yaml), &audience, &around), shown, "{yaml}");
        }
        around.variables.clear();
        assert!(!is_of_use(&front("environments: [kanban, spaceship]"), &audience, &around));
    }
}
