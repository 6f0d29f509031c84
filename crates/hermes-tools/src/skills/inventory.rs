//! All skills as a person asks for them: where each is from, and whether the agent uses it.

use super::audience::{Bar, bar};
use super::bundled::Bundled;
use super::catalogue::{Catalogue, SKILL, Skill};
use super::frontmatter::Frontmatter;
use super::hub::Hub;
use super::lookup::{Known, find};
use super::parcel::{Parcel, ParcelError};
use super::settings::{platform, roots};
use super::shelf::Shelf;
use crate::settings::Settings;
use crate::threat::Scanner;
use serde::Serialize;
use std::path::PathBuf;

pub use super::frontmatter::Variable;

/// Where a skill is from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Origin {
    /// It came with the program.
    Builtin,
    /// It was installed.
    Hub,
    /// The person or the agent wrote it.
    Local,
    /// It lies in a folder of `skills.external_dirs`.
    External,
}

impl Origin {
    pub fn name(self) -> &'static str {
        match self {
            Self::Builtin => "builtin",
            Self::Hub => "hub",
            Self::Local => "local",
            Self::External => "external",
        }
    }
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Held {
    pub name: String,
    pub category: String,
    pub description: String,
    pub source: Origin,
    /// What the source is trusted with, of one that was installed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trust: Option<String>,
    pub enabled: bool,
    pub path: PathBuf,
    /// What could not be read of its frontmatter, with file, line and column.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub misread: Option<String>,
}

/// By category and name.
pub fn inventory(settings: &Settings, scanner: &Scanner, hub: &Hub<'_>) -> Vec<Held> {
    let catalogue = Catalogue::scan(&roots(settings), scanner);
    let shelf = Shelf::of(&settings.around.hermes_home);
    let installed = hub.installed();
    let held = |skill: &&Skill| {
        let below = shelf.below(&skill.folder);
        let is_of = |place: &str| {
            let rest = below.as_deref().and_then(|below| below.strip_prefix(place));
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        let entry = installed.iter().find(|(_, entry)| !entry.install_path.is_empty() && is_of(&entry.install_path));
        let came_along = Bundled::named(&skill.name).is_some_and(|bundled| is_of(&bundled.place()));
        let source = match (&below, entry) {
            (None, _) => Origin::External,
            (Some(_), Some(_)) => Origin::Hub,
            (Some(_), None) if came_along => Origin::Builtin,
            (Some(_), None) => Origin::Local,
        };
        let barred = bar(skill, &settings.skills, platform(&settings.around));
        // Of those for other systems a person hears nothing: nothing can be done about them here.
        (barred != Some(Bar::System)).then(|| Held {
            name: skill.name.clone(),
            category: skill.category.clone(),
            description: skill.description.clone(),
            source,
            trust: entry.map(|(_, entry)| entry.trust_level.clone()),
            enabled: barred.is_none(),
            path: skill.folder.clone(),
            misread: skill.front.misread.as_ref().map(|why| format!("{}:{why}", skill.folder.join(SKILL).display())),
        })
    };
    catalogue.listed().iter().filter_map(held).collect()
}

/// The variables that a skill asks for, and its name; the error is for people.
pub fn needs(name: &str, settings: &Settings, scanner: &Scanner) -> Result<(String, Vec<Variable>), String> {
    let (name, parcel) = open(name, settings, scanner)?;
    let front = Frontmatter::split(&parcel.text(SKILL).unwrap_or_default()).0;
    Ok((name, front.variables()))
}

/// All files of a skill that is there, and its name; the error is for people.
pub fn open(name: &str, settings: &Settings, scanner: &Scanner) -> Result<(String, Parcel), String> {
    let roots = roots(settings);
    let catalogue = Catalogue::scan(&roots, scanner);
    match find(&catalogue, &roots, name).map_err(|error| error.to_string())? {
        Known::Skill(skill) => {
            let parcel = Parcel::read(&skill.folder).map_err(|error: ParcelError| format!("{error}."))?;
            Ok((skill.name.clone(), parcel))
        }
        Known::Flat { file, .. } => {
            let text = std::fs::read_to_string(&file).map_err(|error| format!("{}: {error}.", file.display()))?;
            Ok((name.to_owned(), Parcel::of_texts([("SKILL.md", text.as_str())])))
        }
    }
}
