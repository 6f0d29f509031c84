//! Where a change would happen, and whether it may.

use super::wish::{Change, Wish};
use crate::files::place::{CrossProfile, Rules, Writable};
use crate::settings::Settings;
use crate::skills::catalogue::{Catalogue, SKILL, Skill};
use crate::skills::lookup::{Known, find};
use crate::skills::settings::roots;
use crate::skills::shelf::Shelf;
use crate::skills::usage;
use crate::threat::Scanner;
use std::path::Path;

/// A change that was aimed at a place which may be written.
#[derive(Debug)]
pub(super) struct Aim {
    /// What the skill calls itself.
    pub(super) name: String,
    /// Its folder, below the own skills.
    pub(super) below: String,
    pub(super) shelf: Shelf,
    /// The file that changes; the folder when all of it goes.
    pub(super) target: Writable,
}

impl Aim {
    pub(super) fn take(wish: &Wish, settings: &Settings, scanner: &Scanner) -> Result<Self, String> {
        let shelf = Shelf::of(&settings.around.hermes_home);
        let roots = roots(settings);
        let catalogue = Catalogue::scan(&roots, scanner);
        let known = |name: &str| find(&catalogue, &roots, name).map_err(|error| error.to_string());
        let (name, below) = match &wish.change {
            Change::Create { category, .. } => {
                let taken = catalogue.skills.iter().find(|skill| is_called(skill, &wish.name));
                if let Some(taken) = taken {
                    let place = taken.folder.display();
                    return Err(format!(
                        "There is a skill '{}' already, at {place}. Patch it, or use another name.",
                        wish.name
                    ));
                }
                let below = category.as_ref().map_or(wish.name.clone(), |category| format!("{category}/{}", wish.name));
                (wish.name.clone(), below)
            }
            _ => match known(&wish.name)? {
                Known::Skill(skill) => (skill.name.clone(), own(skill, &shelf)?),
                Known::Flat { file, .. } => {
                    return Err(format!(
                        "'{}' is a single file of the old kind; change {} as a file.",
                        wish.name,
                        file.display()
                    ));
                }
            },
        };
        if let Change::Delete { absorbed_into } = &wish.change {
            if usage::is_pinned(&shelf, &name) {
                return Err(format!(
                    "The person pinned the skill '{name}': it is not deleted. It may be patched and edited."
                ));
            }
            if let Some(heir) = absorbed_into {
                match known(heir) {
                    Ok(Known::Skill(heir)) if heir.name != name => {}
                    Ok(_) => return Err(format!("absorbed_into must name another skill than '{name}'.")),
                    Err(error) => return Err(format!("absorbed_into: {error} Create or patch that skill first.")),
                }
            }
        }
        let file = wish.file().map_or(below.clone(), |file| format!("{below}/{file}"));
        let place = shelf.place(&file).map_err(|error| format!("{error}."))?;
        if place.parent().is_some_and(Path::is_file) {
            return Err(format!("A file lies where a folder of '{name}' should be; move it away."));
        }
        let rules = Rules::of(&settings.around);
        let target = rules.writable(&place.to_string_lossy(), shelf.root(), CrossProfile::No);
        let target = target.map_err(|why| why.to_string())?;
        if target.path() != place {
            return Err(format!("{} is a link; skills are not written through links.", place.display()));
        }
        Ok(Self { name, below, shelf, target })
    }

    pub(super) fn path(&self) -> &Path {
        self.target.path()
    }

    /// The folder of the skill.
    pub(super) fn folder(&self) -> std::path::PathBuf {
        self.shelf.root().join(&self.below)
    }

    pub(super) fn is_skill_file(&self) -> bool {
        self.path().file_name().is_some_and(|name| name == SKILL)
            && self.path().parent() == Some(self.folder().as_path())
    }
}

fn is_called(skill: &Skill, name: &str) -> bool {
    skill.name == name || skill.folder_name() == name
}

/// Where one of the own skills lies. Others are read and never written.
fn own(skill: &Skill, shelf: &Shelf) -> Result<String, String> {
    shelf.below(&skill.folder).ok_or_else(|| {
        format!(
            "The skill '{}' lies in {}, a folder of skills.external_dirs, which is only read. Create one of your own with \
             another name, or ask the person to change it.",
            skill.name,
            skill.folder.display()
        )
    })
}
