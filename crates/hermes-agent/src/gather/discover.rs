//! Which files of a project speak to agents. There are four kinds of projects; the first kind that has a file with text in
//! it counts, the others are not looked at.

use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

const HERMES: [&str; 2] = [".hermes.md", "HERMES.md"];
const AGENTS: [&str; 2] = ["AGENTS.md", "agents.md"];
const CLAUDE: [&str; 2] = ["CLAUDE.md", "claude.md"];
const CURSOR: &str = ".cursorrules";
const CURSOR_RULES: &str = ".cursor/rules";
const CURSOR_RULE: &str = "mdc";
/// Rules of one project that are read, and entries of their folder that are looked at.
const MOST_RULES: usize = 100;
const MOST_ENTRIES: usize = 10_000;
const GIT: &str = ".git";

/// Files that stand for each other.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Kind {
    pub(super) candidates: Vec<Candidate>,
    pub(super) take: Take,
    pub(super) front: Front,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) struct Candidate {
    pub(super) path: PathBuf,
    /// As seen from the working directory.
    pub(super) name: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Take {
    First,
    All,
}

/// What becomes of YAML at the beginning of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Front {
    Removed,
    Kept,
}

/// The root of the repository a directory is in. One that somebody else put above it, such as in `/tmp`, is none: its files
/// would speak to the agent.
pub(super) fn tree(cwd: &Path) -> Option<PathBuf> {
    let owner = |path: &Path| std::fs::metadata(path).ok().map(|about| about.uid());
    let root = cwd.ancestors().find(|folder| folder.join(GIT).exists())?;
    (owner(&root.join(GIT)) == owner(cwd)).then(|| root.to_owned())
}

/// The kinds in the order in which they are tried.
pub(super) fn kinds(cwd: &Path, tree: Option<&Path>) -> [Kind; 4] {
    let one_of = |names: [&str; 2]| Kind {
        candidates: names.map(|name| Candidate { path: cwd.join(name), name: name.to_owned() }).into(),
        take: Take::First,
        front: Front::Kept,
    };
    let upwards = Kind { candidates: upwards(cwd, tree), take: Take::First, front: Front::Removed };
    let cursor = Kind { candidates: cursor(cwd), take: Take::All, front: Front::Kept };
    [upwards, one_of(AGENTS), one_of(CLAUDE), cursor]
}

/// In this directory and, inside of a repository, in those above it.
fn upwards(cwd: &Path, tree: Option<&Path>) -> Vec<Candidate> {
    let root = tree.unwrap_or(cwd);
    let folders = cwd.ancestors().take_while(|folder| folder.starts_with(root)).enumerate();
    let in_folder = |(steps, folder): (usize, &Path)| {
        let candidate = |name| Candidate { path: folder.join(name), name: format!("{}{name}", "../".repeat(steps)) };
        HERMES.map(candidate)
    };
    folders.flat_map(in_folder).collect()
}

fn cursor(cwd: &Path) -> Vec<Candidate> {
    let entries = std::fs::read_dir(cwd.join(CURSOR_RULES)).into_iter().flatten().flatten().take(MOST_ENTRIES);
    let is_rule = |path: &PathBuf| path.extension().is_some_and(|ending| ending == CURSOR_RULE);
    let mut rules: Vec<PathBuf> = entries.map(|entry| entry.path()).filter(is_rule).collect();
    rules.sort_unstable();
    rules.truncate(MOST_RULES);
    let rule = |path: PathBuf| {
        let name = on_one_line(path.strip_prefix(cwd).unwrap_or(&path));
        Candidate { path, name }
    };
    let first = Candidate { path: cwd.join(CURSOR), name: CURSOR.to_owned() };
    std::iter::once(first).chain(rules.into_iter().map(rule)).collect()
}

/// A path as a line can hold it: folders and rules are named by whoever wrote them. What only looks odd stays, or the path
/// would lead nowhere.
pub(crate) fn on_one_line(path: &Path) -> String {
    let is_trick = |c: char| {
        c.is_control() || matches!(c, '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{e0000}'..='\u{e007f}')
    };
    path.to_string_lossy().chars().map(|c| if is_trick(c) { char::REPLACEMENT_CHARACTER } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_keeps_every_character_that_is_no_trick() {
        let usual = "/home/ada/cafe\u{301}/❤\u{fe0f}/👩\u{200d}💻/部署 2";
        assert_eq!(on_one_line(Path::new(usual)), usual);
        assert_eq!(on_one_line(Path::new("a\nb\u{1b}c\u{2028}d\u{202e}e")), "a\u{fffd}b\u{fffd}c\u{fffd}d\u{fffd}e");
    }
}
