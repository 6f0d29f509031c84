//! From a source to all files of one skill, in memory.

use super::HubError;
use super::index::{Fetch, Index};
use super::source::{Place, Source};
use crate::repository;
use crate::settings::Settings;
use crate::skills::catalogue::SKILL;
use crate::skills::frontmatter::Frontmatter;
use crate::skills::naming;
use crate::skills::parcel::Parcel;
use crate::skills::scan::Trust;
use crate::skills::shelf::Shelf;
use hermes_core::stop::Stop;
use hermes_types::Object;
use serde_json::json;
use std::fs;
use std::path::{Path, PathBuf};

/// How deep a repository is searched for skills.
const DEEPEST: usize = 4;
/// More is no text that anybody loads at once.
const LARGEST_FILE: u64 = 1 << 20;
const MOST_FOUND: usize = 200;
/// Names told when a repository has several.
const MOST_TOLD: usize = 12;

/// A skill that could be installed.
#[derive(Debug, Clone)]
pub struct Offer {
    pub name: String,
    pub description: String,
    pub parcel: Parcel,
    /// The word for its source in `lock.json`.
    pub source: &'static str,
    pub identifier: String,
    pub trust: Trust,
    pub metadata: Object,
}

/// Brings a skill here. Nothing is installed, and nothing of it is run.
pub async fn fetch(source: &Source, settings: &Settings, web: &dyn Fetch, stop: &Stop) -> Result<Offer, HubError> {
    match source {
        Source::Folder(folder) => of_folder(folder, source),
        Source::Repository { url, folder, branch } => {
            let shelf = Shelf::open(&settings.around.hermes_home)?;
            let quarantine = shelf.quarantine()?;
            let clone = quarantine.path().join("clone");
            repository::clone(url, branch.as_deref(), &clone, &settings.around, stop).await?;
            let found = within(&clone, folder.as_deref(), source)?;
            let below = found.strip_prefix(&clone).ok().and_then(Path::to_str).filter(|below| !below.is_empty());
            let exact =
                Source::Repository { url: url.clone(), folder: below.map(str::to_owned), branch: branch.clone() };
            let mut offer = of_folder(&found, &exact)?;
            if below.is_none() {
                // A repository that is a skill is called like itself, not like the folder it was brought to.
                offer.name = named(&offer.parcel, &repository_name(url)).unwrap_or(offer.name);
            }
            Ok(offer)
        }
        Source::File(url) => of_file(url, source, web).await,
        Source::Named(name) => {
            let (listed, index) = Index::find(name, settings, web).await?;
            let place = Place { cwd: &index.folder(), home: &settings.around.home };
            let real = Source::read(&listed.source, place)?;
            // A list from the web says nothing about what is on this machine, and no list about other lists.
            if matches!(real, Source::Named(_)) || real.is_here() && index.is_from_web() {
                return Err(HubError::NoSource(listed.source.clone()));
            }
            let mut offer = Box::pin(fetch(&real, settings, web, stop)).await?;
            let digest = offer.parcel.digest();
            match &listed.sha256 {
                Some(promised) if !promised.eq_ignore_ascii_case(&digest) => {
                    Err(HubError::WrongHash(name.clone(), digest, promised.clone()))
                }
                _ => {
                    offer.metadata.insert("index".to_owned(), json!(index.place));
                    offer.name = listed.name.clone();
                    (offer.source, offer.identifier) = ("index", name.clone());
                    Ok(offer)
                }
            }
        }
    }
}

fn of_folder(folder: &Path, source: &Source) -> Result<Offer, HubError> {
    let real =
        folder.canonicalize().map_err(|_| HubError::Refused(format!("there is no folder {}", folder.display())))?;
    let parcel = Parcel::read(&real)?.without_ignored();
    let folder_name = real.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let name = named(&parcel, folder_name).ok_or_else(|| {
        HubError::Refused(format!(
            "{} names no skill that can be installed; give it a name with --name",
            folder.display()
        ))
    });
    let front = Frontmatter::split(&parcel.text(SKILL).unwrap_or_default()).0;
    let identifier = match source {
        Source::Folder(_) => real.display().to_string(),
        other => other.identifier(),
    };
    Ok(Offer {
        name: name?,
        description: front.text("description").unwrap_or_default(),
        parcel,
        source: source.kind(),
        identifier,
        trust: source.trust(),
        metadata: Object::new(),
    })
}

/// A skill that is one file, at an address.
async fn of_file(url: &str, source: &Source, web: &dyn Fetch) -> Result<Offer, HubError> {
    let failed = |why: String| HubError::Refused(format!("{url} cannot be fetched: {why}"));
    let bytes = web.get(url, LARGEST_FILE).await.map_err(failed)?;
    let text = String::from_utf8(bytes).map_err(|_| failed("it is no text".to_owned()))?;
    let front = Frontmatter::split(&text).0;
    if front.text("description").is_none() {
        return Err(failed("it has no frontmatter with a description, so it is no skill".to_owned()));
    }
    let parcel = Parcel::of_texts([(SKILL, text.as_str())]);
    let mut parts = url.rsplit('/').map(|part| part.strip_suffix(".md").unwrap_or(part));
    let usual = parts.find(|part| *part != "SKILL").unwrap_or_default();
    let nameless = || failed("it names no skill that can be installed; give it a name with --name".to_owned());
    Ok(Offer {
        name: named(&parcel, usual).ok_or_else(nameless)?,
        description: front.text("description").unwrap_or_default(),
        parcel,
        source: source.kind(),
        identifier: source.identifier(),
        trust: source.trust(),
        metadata: Object::new(),
    })
}

/// What it calls itself, or what its folder is called, where that is a name.
fn named(parcel: &Parcel, folder: &str) -> Option<String> {
    let front = Frontmatter::split(&parcel.text(SKILL).unwrap_or_default()).0;
    let candidates = front.name().into_iter().chain([folder.to_owned()]);
    candidates.map(|name| slug(&name)).find(|name| naming::fault(name, "skill").is_none())
}

fn slug(name: &str) -> String {
    name.trim().to_lowercase().replace([' ', '/'], "-")
}

fn repository_name(url: &str) -> String {
    let last = url.trim_end_matches('/').rsplit(['/', ':']).next().unwrap_or_default();
    last.strip_suffix(".git").unwrap_or(last).to_owned()
}

/// The folder of a clone that is meant.
fn within(clone: &Path, folder: Option<&str>, source: &Source) -> Result<PathBuf, HubError> {
    let is_skill = |path: &Path| fs::symlink_metadata(path.join(SKILL)).is_ok_and(|about| about.is_file());
    let is_inside = |path: &Path| path.canonicalize().is_ok_and(|real| real == path);
    if let Some(folder) = folder {
        let places = [clone.join(folder), clone.join("skills").join(folder)];
        let found = places.into_iter().find(|place| is_inside(place) && is_skill(place));
        return found.ok_or_else(|| HubError::Nothing(source.identifier()));
    }
    if is_skill(clone) {
        return Ok(clone.to_owned());
    }
    let mut found = Vec::new();
    search(clone, 0, &is_skill, &mut found);
    found.sort();
    match found.as_slice() {
        [] => Err(HubError::Nothing(source.identifier())),
        [only] => Ok(only.clone()),
        several => {
            let below = |path: &PathBuf| path.strip_prefix(clone).unwrap_or(path).display().to_string();
            let names: Vec<String> = several.iter().take(MOST_TOLD).map(below).collect();
            let more = if several.len() > MOST_TOLD { ", …" } else { "" };
            let mut example = source.clone();
            if let Source::Repository { folder, .. } = &mut example {
                *folder = names.first().cloned();
            }
            let listed = format!("{}{more}", names.join(", "));
            Err(HubError::Several(source.identifier(), listed, example.identifier()))
        }
    }
}

fn search(folder: &Path, depth: usize, is_skill: &impl Fn(&Path) -> bool, found: &mut Vec<PathBuf>) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries.flatten().filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir())) {
        let path = entry.path();
        if entry.file_name() == ".git" || found.len() >= MOST_FOUND {
            continue;
        }
        if is_skill(&path) {
            found.push(path);
        } else if depth < DEEPEST {
            search(&path, depth + 1, is_skill, found);
        }
    }
}
