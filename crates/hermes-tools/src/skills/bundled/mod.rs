//! Skills that come with the program, copied to the person's own when an agent first starts.
//!
//! `.bundled_manifest` says what was copied (`name:hash`, as the Python program writes it). A skill that is new is copied;
//! one that is as it was copied is renewed; one that the person changed or deleted is left in peace. `.no-bundled-skills` in
//! the home keeps all of them away. A stamp says which set was copied last, so that a start reads one small file and
//! hashes nothing.

mod set;

pub use set::{Bundled, SET};

use super::catalogue::{Catalogue, SKILL};
use super::parcel::Parcel;
use super::shelf::{Shelf, ShelfError, Turn};
use crate::files::diff::{Sides, unified};
use crate::settings::Surroundings;
use crate::threat::Scanner;
use hermes_core::stop::Stop;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::PathBuf;

const MANIFEST: &str = ".bundled_manifest";
const STAMP: &str = ".bundled_stamp";
const OPT_OUT: &str = ".no-bundled-skills";
/// Skills that a tidying program took away for good.
const SUPPRESSED: &str = ".curator_suppressed";
const HASH_DIGITS: usize = 32;

/// What a copy did, by name.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Synced {
    pub added: Vec<String>,
    pub renewed: Vec<String>,
    /// Left as the person made them.
    pub kept: Vec<String>,
}

/// How a copy stands to the skill that comes with the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    Same,
    /// As it was copied, and there is a newer one.
    Older,
    Modified,
    Deleted,
}

/// Copies what is due. Cheap when nothing is.
pub fn seed(around: &Surroundings, scanner: &Scanner, stop: &Stop) -> Result<Synced, ShelfError> {
    let shelf = Shelf::of(&around.hermes_home);
    let is_current = fs::read(shelf.root().join(STAMP)).is_ok_and(|stamp| stamp == set::STAMP.as_bytes());
    if is_current || is_unwanted(around) {
        return Ok(Synced::default());
    }
    sync(around, scanner, stop)
}

/// Copies what is new or renewed, whatever the stamp says.
pub fn sync(around: &Surroundings, scanner: &Scanner, stop: &Stop) -> Result<Synced, ShelfError> {
    let shelf = Shelf::open(&around.hermes_home)?;
    let turn = shelf.turn(stop)?;
    let mut manifest = Manifest::load(&shelf);
    let suppressed = fs::read_to_string(shelf.root().join(SUPPRESSED)).unwrap_or_default();
    let mut synced = Synced::default();
    for bundled in SET.iter().filter(|one| !suppressed.lines().any(|line| line.trim() == one.name)) {
        match state(bundled, &shelf, &manifest, scanner) {
            None => {
                turn.put(&bundled.place(), &bundled.parcel())?;
                synced.added.push(bundled.name.to_owned());
            }
            Some((State::Older, place)) => {
                turn.put(&place, &bundled.parcel())?;
                synced.renewed.push(bundled.name.to_owned());
            }
            Some((State::Same, _)) => {}
            Some((State::Modified | State::Deleted, _)) => {
                synced.kept.push(bundled.name.to_owned());
                continue;
            }
        }
        manifest.0.insert(bundled.name.to_owned(), hash(&bundled.parcel()));
    }
    manifest.save(&turn)?;
    turn.keep(STAMP, set::STAMP.as_bytes())?;
    Ok(synced)
}

/// How each of them stands; nothing for one that was never copied.
pub fn states(around: &Surroundings, scanner: &Scanner) -> Vec<(&'static Bundled, Option<State>)> {
    let shelf = Shelf::of(&around.hermes_home);
    let manifest = Manifest::load(&shelf);
    SET.iter().map(|bundled| (bundled, state(bundled, &shelf, &manifest, scanner).map(|(state, _)| state))).collect()
}

/// Where it stands, and where it lies below the own skills.
fn state(bundled: &Bundled, shelf: &Shelf, manifest: &Manifest, scanner: &Scanner) -> Option<(State, String)> {
    let copied = manifest.0.get(bundled.name);
    let Some(place) = find(bundled, shelf, scanner) else { return copied.map(|_| (State::Deleted, String::new())) };
    let here = Parcel::read(&shelf.root().join(&place)).map(|parcel| hash(&parcel)).unwrap_or_default();
    let state = match copied {
        _ if here == hash(&bundled.parcel()) => State::Same,
        Some(copied) if *copied == here => State::Older,
        // One of the same name that was never copied is the person's own.
        _ => State::Modified,
    };
    Some((state, place))
}

/// Wherever the person moved it.
fn find(bundled: &Bundled, shelf: &Shelf, scanner: &Scanner) -> Option<String> {
    if shelf.root().join(bundled.place()).join(SKILL).is_file() {
        return Some(bundled.place());
    }
    let catalogue = Catalogue::scan(&[shelf.root().to_owned()], scanner);
    let found =
        catalogue.skills.into_iter().find(|skill| skill.name == bundled.name || skill.folder_name() == bundled.name);
    found.map(|skill| skill.place)
}

/// Forgets what was copied, so that the next copy treats a skill as new; with `restore` also puts the original back.
pub fn reset(
    name: &str,
    restore: bool,
    around: &Surroundings,
    scanner: &Scanner,
    stop: &Stop,
) -> Result<Option<PathBuf>, ShelfError> {
    let Some(bundled) = Bundled::named(name) else {
        return Err(ShelfError::Path(format!(
            "no skill '{name}' comes with the program; `hermes skills list` shows those that do"
        )));
    };
    let shelf = Shelf::open(&around.hermes_home)?;
    let turn = shelf.turn(stop)?;
    let mut manifest = Manifest::load(&shelf);
    let place = find(bundled, &shelf, scanner).unwrap_or_else(|| bundled.place());
    let put = match restore || !shelf.root().join(&place).exists() {
        true => Some(turn.put(&place, &bundled.parcel())?),
        false => None,
    };
    // What is there now counts as copied: the next set renews it.
    let now = Parcel::read(&shelf.root().join(&place)).map(|parcel| hash(&parcel)).unwrap_or_default();
    manifest.0.insert(name.to_owned(), now);
    manifest.save(&turn)?;
    Ok(put)
}

/// How the person's copy differs from the original; empty when it does not.
pub fn diff(name: &str, around: &Surroundings, scanner: &Scanner) -> Option<String> {
    let bundled = Bundled::named(name)?;
    let shelf = Shelf::of(&around.hermes_home);
    let place = find(bundled, &shelf, scanner)?;
    let (original, copy) = (bundled.parcel(), Parcel::read(&shelf.root().join(place)).ok()?);
    let paths: BTreeSet<&String> = original.files.keys().chain(copy.files.keys()).collect();
    let difference = |path: &String| {
        let (before, after) = (original.text(path), copy.text(path));
        if before == after {
            return String::new();
        }
        let (from, to) = (format!("original/{path}"), format!("yours/{path}"));
        unified(Sides {
            before: before.as_deref().map(|text| (from.as_str(), text)),
            after: after.as_deref().map(|text| (to.as_str(), text)),
        })
    };
    Some(paths.into_iter().map(difference).collect())
}

pub fn is_unwanted(around: &Surroundings) -> bool {
    around.hermes_home.join(OPT_OUT).exists()
}

/// Keeps them away from now on, or lets them come again.
pub fn want(around: &Surroundings, wanted: bool) -> io::Result<()> {
    let marker = around.hermes_home.join(OPT_OUT);
    match wanted {
        false => fs::create_dir_all(&around.hermes_home).and_then(|()| fs::write(marker, "")),
        true => match fs::remove_file(marker) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        },
    }
}

/// Removes those that are as they were copied; their names.
pub fn remove_unmodified(around: &Surroundings, scanner: &Scanner, stop: &Stop) -> Result<Vec<String>, ShelfError> {
    let shelf = Shelf::open(&around.hermes_home)?;
    let turn = shelf.turn(stop)?;
    let manifest = Manifest::load(&shelf);
    let mut removed = Vec::new();
    for bundled in SET {
        if let Some((State::Same | State::Older, place)) = state(bundled, &shelf, &manifest, scanner) {
            turn.remove(&place)?;
            removed.push(bundled.name.to_owned());
        }
    }
    Ok(removed)
}

/// Tells two contents apart; in the length that the file always had.
fn hash(parcel: &Parcel) -> String {
    parcel.digest().get(..HASH_DIGITS).unwrap_or_default().to_owned()
}

/// What was copied, by name, with its hash then. Lines of others are kept.
struct Manifest(BTreeMap<String, String>);

impl Manifest {
    fn load(shelf: &Shelf) -> Self {
        let text = fs::read_to_string(shelf.root().join(MANIFEST)).unwrap_or_default();
        let pair = |line: &str| {
            let (name, hash) = line.split_once(':').unwrap_or((line, ""));
            (name.trim().to_owned(), hash.trim().to_owned())
        };
        Self(text.lines().filter(|line| !line.trim().is_empty()).map(pair).collect())
    }

    fn save(&self, turn: &Turn<'_>) -> Result<(), ShelfError> {
        let text: String = self.0.iter().map(|(name, hash)| format!("{name}:{hash}\n")).collect();
        turn.keep(MANIFEST, text.as_bytes())
    }
}
