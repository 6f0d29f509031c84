//! From the name a model writes to one skill.
//!
//! `category/folder` names a place. Otherwise the folder, or the name that the skill gives itself, decides; the person's
//! own skills come before those of other folders, as they do in the lists. Two that cannot be told apart are an error
//! that names both: a guess could load what a stranger put beside the right one.

use super::catalogue::{Catalogue, Skill};
use crate::files::page::similar_names;
use crate::tool::ToolError;
use serde_json::json;
use std::path::{Path, PathBuf};

/// Names told when one is not found.
const MOST_NAMES: usize = 20;

/// What a name leads to.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Known<'c> {
    Skill(&'c Skill),
    /// A single file of the old kind, `<name>.md`: where it is, and in which root.
    Flat {
        file: PathBuf,
        root: PathBuf,
    },
}

/// The name as a place below a root, or why it cannot be one.
pub(super) fn acceptable(name: &str) -> Result<String, ToolError> {
    let name = name.trim();
    let is_way_out =
        name.starts_with(['/', '~']) || name.contains(['\\', '\0']) || name.split(['/', ':']).any(|part| part == "..");
    if name.is_empty() || is_way_out {
        let error = format!("'{name}' is no name of a skill. Use a name of skills_list, or category/name.");
        return Err(ToolError::Tell(json!({"success": false, "error": error})));
    }
    Ok(name.trim_matches('/').replacen(':', "/", 1))
}

pub(super) fn find<'c>(catalogue: &'c Catalogue, roots: &[PathBuf], name: &str) -> Result<Known<'c>, ToolError> {
    let place = acceptable(name)?;
    for (number, root) in roots.iter().enumerate() {
        let here = || catalogue.skills.iter().filter(|skill| skill.root == number);
        if let Some(skill) = here().find(|skill| skill.place == place) {
            return Ok(Known::Skill(skill));
        }
        let called: Vec<&Skill> =
            here().filter(|skill| skill.folder_name() == place || skill.name == name.trim()).collect();
        match called.as_slice() {
            [] => {}
            [skill] => return Ok(Known::Skill(skill)),
            several => return Err(ambiguous(name, several)),
        }
        let file = root.join(format!("{place}.md"));
        if file.is_file() && is_of_nobody(catalogue, &place, &file) {
            return Ok(Known::Flat { file, root: root.clone() });
        }
    }
    Err(unknown(catalogue, name))
}

/// Whether a file is a skill of its own: neither a part of one, which may be switched off, nor put away.
fn is_of_nobody(catalogue: &Catalogue, place: &str, file: &Path) -> bool {
    let is_put_away = place.split('/').any(|part| part.starts_with('.'));
    !is_put_away && !catalogue.skills.iter().any(|skill| file.starts_with(&skill.folder))
}

fn ambiguous(name: &str, several: &[&Skill]) -> ToolError {
    let places: Vec<&str> = several.iter().map(|skill| skill.place.as_str()).collect();
    let paths: Vec<String> = several.iter().map(|skill| skill.folder.display().to_string()).collect();
    let error = format!("Several skills are called '{name}'. Use one of: {}.", places.join(", "));
    ToolError::Tell(json!({"success": false, "error": error, "paths": paths}))
}

fn unknown(catalogue: &Catalogue, name: &str) -> ToolError {
    let names: Vec<&str> = catalogue.listed().iter().map(|skill| skill.name.as_str()).collect();
    let similar = similar_names(name, names.iter().copied());
    let shown = similar.iter().copied().chain(names.iter().copied().filter(|name| !similar.contains(name)));
    let shown: Vec<&str> = shown.take(MOST_NAMES).collect();
    let error = format!("There is no skill '{name}'.");
    ToolError::Tell(json!({
        "success": false, "error": error, "available_skills": shown,
        "hint": "skills_list shows all of them."
    }))
}
