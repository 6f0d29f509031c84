//! All skills there are, found by walking through their folders.
//!
//! A skill is a folder with a `SKILL.md`; the folders above it are its category. Links to folders are followed, because
//! people keep skills elsewhere and link them here; a `SKILL.md` that is a link out of its own folder is none, and
//! neither is one whose name wants to steer the agent: names are shown without their text. Only the head of each file
//! is read. The walk is bounded in depth, folders and skills, and its result is sorted: the same folders give the same
//! catalogue.

use super::frontmatter::{Frontmatter, LONGEST_DESCRIPTION};
use super::naming::LONGEST_NAME;
use super::vet::alone;
use super::words::one_line;
use crate::threat::{Scanner, Scope};
use hermes_types::clip;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::Read as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

pub(super) const SKILL: &str = "SKILL.md";
const DESCRIPTION: &str = "DESCRIPTION.md";
/// What belongs to a skill and holds no others.
pub(super) const SUPPORT: [&str; 4] = ["references", "templates", "assets", "scripts"];
/// Folders of tools, and of the hub.
const SKIPPED: [&str; 17] = [
    ".git",
    ".github",
    ".hub",
    ".archive",
    ".venv",
    "venv",
    "node_modules",
    "site-packages",
    "__pycache__",
    ".tox",
    ".nox",
    ".cache",
    ".mypy_cache",
    ".pytest_cache",
    ".ruff_cache",
    ".eggs",
    ".idea",
];
/// The category of a skill that lies in no folder of others.
const GENERAL: &str = "general";
const DEEPEST: usize = 6;
const MOST_FOLDERS: usize = 10_000;
const MOST_SKILLS: usize = 2_000;
/// As much of a file is read to know what it is about.
const HEAD: u64 = 32 * 1024;
const LONGEST_CATEGORY: usize = 128;

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Skill {
    pub(super) name: String,
    pub(super) description: String,
    /// On one line, to be shown.
    pub(super) category: String,
    /// Where it is below its root: `category/folder`.
    pub(super) place: String,
    /// Which of the roots it is in.
    pub(super) root: usize,
    pub(super) folder: PathBuf,
    pub(super) front: Frontmatter,
}

impl Skill {
    /// The name of its folder.
    pub(super) fn folder_name(&self) -> &str {
        self.place.rsplit('/').next().unwrap_or_default()
    }

    fn of(folder: &Path, place: &str, root: usize) -> Option<Self> {
        let file = own_file(folder, SKILL)?;
        let head = head(&file)?;
        let (front, text) = Frontmatter::split(&head);
        let folder_name = place.rsplit('/').next().unwrap_or_default();
        let name = clip(&front.name().unwrap_or_else(|| one_line(folder_name)), LONGEST_NAME);
        (!name.is_empty()).then(|| Self {
            name,
            description: description(&front, text),
            category: category(place.rsplit_once('/').map_or("", |(category, _)| category)),
            place: place.to_owned(),
            root,
            folder: folder.to_owned(),
            front,
        })
    }
}

#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Catalogue {
    /// By category and name; of two with the same name the one of the earlier root is first in every lookup.
    pub(super) skills: Vec<Skill>,
    /// What folders of skills say about themselves.
    pub(super) categories: BTreeMap<String, String>,
}

impl Catalogue {
    pub(super) fn scan(roots: &[PathBuf], scanner: &Scanner) -> Self {
        let mut walk = Walk::default();
        for (number, root) in roots.iter().enumerate() {
            walk.folder(root, "", number, 0);
        }
        let Walk { mut found, .. } = walk;
        let order = |skill: &Skill| (skill.category.clone(), skill.name.clone(), skill.root, skill.place.clone());
        found.skills.sort_by_cached_key(order);
        let names: Vec<String> =
            found.skills.iter().map(|skill| format!("{} {}", one_line(&skill.place), skill.name)).collect();
        let hostile = alone(&names, scanner, Scope::Strict);
        let mut places = 0..;
        found.skills.retain(|_| !places.next().is_some_and(|place| hostile.contains(&place)));
        found
    }

    /// Every name once: of two the one of the earlier root.
    pub(super) fn listed(&self) -> Vec<&Skill> {
        let mut first: BTreeMap<&str, &Skill> = BTreeMap::new();
        for skill in &self.skills {
            let known = first.entry(&skill.name).or_insert(skill);
            if skill.root < known.root {
                *known = skill;
            }
        }
        let is_first =
            |skill: &&Skill| first.get(skill.name.as_str()).is_some_and(|known| std::ptr::eq(*known, *skill));
        self.skills.iter().filter(is_first).collect()
    }
}

#[derive(Default)]
struct Walk {
    found: Catalogue,
    /// Folders by device and number: a link may lead in circles.
    seen: BTreeSet<(u64, u64)>,
}

impl Walk {
    fn folder(&mut self, folder: &Path, place: &str, root: usize, depth: usize) {
        let Ok(about) = fs::metadata(folder) else { return };
        let full = self.seen.len() >= MOST_FOLDERS || self.found.skills.len() >= MOST_SKILLS;
        if full || !self.seen.insert((about.dev(), about.ino())) {
            return;
        }
        let Ok(entries) = fs::read_dir(folder) else { return };
        let (mut folders, mut is_skill, mut is_category) = (BTreeSet::new(), false, false);
        for entry in entries.flatten() {
            // A name that is no text cannot be asked for.
            let Ok(name) = entry.file_name().into_string() else { continue };
            match entry.file_type() {
                Ok(kind) if kind.is_dir() => drop(folders.insert(name)),
                Ok(kind) if kind.is_symlink() && entry.path().is_dir() => drop(folders.insert(name)),
                _ if name == SKILL => is_skill = true,
                _ if name == DESCRIPTION => is_category = true,
                _ => {}
            }
        }
        let is_skill = is_skill && depth > 0;
        if is_skill {
            self.found.skills.extend(Skill::of(folder, place, root));
        } else if is_category {
            self.category(folder, place);
        }
        if depth == DEEPEST {
            return;
        }
        let is_skipped = |name: &str| SKIPPED.contains(&name) || is_skill && SUPPORT.contains(&name);
        for name in folders.iter().filter(|name| !is_skipped(name)) {
            let below = if place.is_empty() { name.clone() } else { format!("{place}/{name}") };
            self.folder(&folder.join(name), &below, root, depth + 1);
        }
    }

    fn category(&mut self, folder: &Path, place: &str) {
        let Some(head) = own_file(folder, DESCRIPTION).and_then(|file| head(&file)) else { return };
        let (front, text) = Frontmatter::split(&head);
        self.found.categories.entry(category(place)).or_insert_with(|| description(&front, text));
    }
}

/// The folders above a skill, as they are shown.
fn category(place: &str) -> String {
    clip(&one_line(if place.is_empty() { GENERAL } else { place }), LONGEST_CATEGORY)
}

/// What it says it is for; else the first line that is no heading.
fn description(front: &Frontmatter, text: &str) -> String {
    let first =
        || text.lines().map(str::trim).find(|line| !line.is_empty() && !line.starts_with('#')).map(str::to_owned);
    let said = front.text("description").or_else(first).unwrap_or_default();
    clip(&one_line(&said), LONGEST_DESCRIPTION)
}

/// A regular file of a folder that does not lie elsewhere.
fn own_file(folder: &Path, name: &str) -> Option<PathBuf> {
    let file = folder.join(name);
    let about = fs::symlink_metadata(&file).ok()?;
    if about.is_symlink() {
        let real = file.canonicalize().ok()?;
        let is_own = real.starts_with(folder.canonicalize().ok()?) && real.is_file();
        return is_own.then_some(real);
    }
    about.is_file().then_some(file)
}

fn head(file: &Path) -> Option<String> {
    let mut bytes = Vec::new();
    File::open(file).ok()?.take(HEAD).read_to_end(&mut bytes).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}
