//! The files that belong to a skill, by kind.

use super::catalogue::SUPPORT;
use serde::Serialize;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// As many files are named.
const MOST_FILES: usize = 100;
const DEEPEST: usize = 4;

/// `references`, `templates`, `assets` and `scripts`, as far as there are any: paths below the skill.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
#[serde(transparent)]
pub(super) struct Linked(BTreeMap<&'static str, Vec<String>>);

impl Linked {
    pub(super) fn paths(&self) -> impl Iterator<Item = &String> {
        self.0.values().flatten()
    }

    /// How to load one of them.
    pub(super) fn hint(&self, skill: &str) -> Option<String> {
        let first = self.paths().next()?;
        let full = self.0.values().map(Vec::len).sum::<usize>() == MOST_FILES;
        let more = if full { " There are more than are named here." } else { "" };
        Some(format!("Load a linked file with skill_view(name=\"{skill}\", file_path=\"{first}\").{more}"))
    }
}

/// Links are not listed: what they lead to may be anything.
pub(super) fn linked(folder: &Path) -> Linked {
    let mut left = MOST_FILES;
    let mut found = BTreeMap::new();
    for kind in SUPPORT {
        let mut files = Vec::new();
        walk(&folder.join(kind), kind, &mut files, &mut left, DEEPEST);
        if !files.is_empty() {
            found.insert(kind, files);
        }
    }
    Linked(found)
}

fn walk(folder: &Path, place: &str, files: &mut Vec<String>, left: &mut usize, depth: usize) {
    let is_folder = fs::symlink_metadata(folder).is_ok_and(|about| about.is_dir());
    let Ok(entries) = fs::read_dir(folder) else { return };
    if !is_folder {
        return;
    }
    let named =
        entries.flatten().filter_map(|entry| Some((entry.file_name().into_string().ok()?, entry.file_type().ok()?)));
    let mut named: Vec<_> = named.filter(|(name, _)| !name.starts_with('.') && name != "__pycache__").collect();
    named.sort_by(|(one, _), (other, _)| one.cmp(other));
    for (name, kind) in named {
        if *left == 0 {
            return;
        }
        let below = format!("{place}/{name}");
        if kind.is_file() {
            files.push(below);
            *left -= 1;
        } else if kind.is_dir() && depth > 0 {
            walk(&folder.join(&name), &below, files, left, depth - 1);
        }
    }
}
