//! Skills from elsewhere: fetched, looked through, and only then put beside the person's own.
//!
//! The way of a skill: [`Source`] says where it is, [`fetch`] brings all its files into memory, [`Hub::examine`] scans them
//! and holds the verdict against the trust in the source, [`Hub::install`] moves exactly those bytes to their place and
//! writes down where they are from (`.hub/lock.json`, `.hub/audit.log`, both in the form of the Python program). What the
//! person changed is not overwritten unless they insist, and nothing outside of the folder of skills is removed.

mod fetch;
mod index;
mod ledger;
mod source;

pub use fetch::{Offer, fetch};
pub use index::{Fetch, Index, Listed};
pub use ledger::Entry;
pub use source::{Place, Source, is_address};

use super::catalogue::{Catalogue, SKILL};
use super::frontmatter::Frontmatter;
use super::naming;
use super::parcel::{Parcel, ParcelError};
use super::scan::{self, Decision, Force, Report, Trust, Verdict, decide, is_lifted};
use super::settings::roots;
use super::shelf::{Shelf, ShelfError, Turn};
use crate::repository::CloneError;
use crate::settings::Settings;
use crate::threat::Scanner;
use hermes_core::stop::Stop;
use jiff::Timestamp;
use ledger::Ledger;
use serde_json::json;
use std::path::{Path, PathBuf};

#[derive(Debug, thiserror::Error)]
pub enum HubError {
    #[error(
        "'{0}' is no skill that can be fetched. Name a folder, a git address (https://host/repository.git#folder), \
             owner/repository/folder on GitHub, or a skill of a list (`hermes skills search`)"
    )]
    NoSource(String),
    #[error("{0}")]
    Refused(String),
    #[error(transparent)]
    Git(CloneError),
    #[error("{0} holds several skills: {1}. Name one of them, as in `{2}`")]
    Several(String, String, String),
    #[error("there is no skill in {0}: no folder in it has a SKILL.md")]
    Nothing(String),
    #[error("the list {0} cannot be read: {1}")]
    Index(String, String),
    #[error("what was fetched for '{0}' is not what the list promises (sha256 {1}, not {2}). Nothing was installed")]
    WrongHash(String, String, String),
    #[error(transparent)]
    Parcel(#[from] ParcelError),
    #[error(transparent)]
    Shelf(#[from] ShelfError),
    /// Kept out by the scan. The text names what was found.
    #[error("{name} was not installed: the scan calls it {} and it is from {} sources.\n{worst}\n{advice}", verdict.name(), trust.name())]
    Blocked { name: String, verdict: Verdict, trust: Trust, worst: String, advice: &'static str },
    #[error("'{name}' calls itself '{poses_as}', and so does another of your skills ({}). Nothing was installed; if you want \
             both, install it under a name of your own (--name)", place.display())]
    Poses { name: String, poses_as: String, place: PathBuf },
    #[error("there is a skill '{0}' of your own. Install it under another name (--name), or replace yours (--force)")]
    Taken(String),
    #[error("you changed the skill '{0}' since it was installed. `--force` replaces your changes")]
    Modified(String),
    #[error("no skill '{0}' was installed from elsewhere; `hermes skills list` shows where each is from")]
    NotInstalled(String),
    #[error("interrupted; nothing was installed")]
    Interrupted,
}

impl From<CloneError> for HubError {
    fn from(error: CloneError) -> Self {
        match error {
            CloneError::Interrupted => Self::Interrupted,
            error => Self::Git(error),
        }
    }
}

/// How something is to be installed.
#[derive(Debug, Clone, Default)]
pub struct Wanted {
    pub category: Option<String>,
    pub name: Option<String>,
    pub force: Force,
}

/// What is there now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Installed {
    pub name: String,
    pub folder: PathBuf,
    pub verdict: Verdict,
}

/// How one skill stands to its source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Standing {
    Current,
    /// There is something newer.
    Outdated,
    /// The person changed it, whatever the source has.
    Modified,
}

/// What a scan of an installed skill gave.
#[derive(Debug)]
pub struct Audited {
    pub name: String,
    pub entry: Entry,
    pub report: Report,
    /// Whether the person, or somebody, changed it since.
    pub is_modified: bool,
}

pub struct Hub<'h> {
    settings: &'h Settings,
    scanner: &'h Scanner,
    now: Timestamp,
    stop: &'h Stop,
}

impl<'h> Hub<'h> {
    pub fn new(settings: &'h Settings, scanner: &'h Scanner, now: Timestamp, stop: &'h Stop) -> Self {
        Self { settings, scanner, now, stop }
    }

    /// What was installed from elsewhere, by name.
    pub fn installed(&self) -> Vec<(String, Entry)> {
        Ledger::load(&self.shelf()).installed.into_iter().collect()
    }

    fn shelf(&self) -> Shelf {
        Shelf::of(&self.settings.around.hermes_home)
    }

    /// What is in it, and whether it may be installed.
    pub fn examine(&self, offer: &Offer, force: Force) -> (Report, Result<(), HubError>) {
        let report = scan::scan(&offer.parcel, self.scanner);
        let verdict = report.verdict();
        let allowed = match decide(offer.trust, verdict) {
            Decision::Allow => Ok(()),
            Decision::Block | Decision::Ask if is_lifted(verdict, force) => Ok(()),
            Decision::Block | Decision::Ask => Err(HubError::Blocked {
                name: offer.name.clone(),
                verdict,
                trust: offer.trust,
                worst: report.worst(),
                advice: match verdict {
                    Verdict::Dangerous => {
                        "Nothing lifts this; if you trust its author, read it and write a skill of your own."
                    }
                    _ => "Read it first; `--force` installs it all the same.",
                },
            }),
        };
        (report, allowed)
    }

    /// Looks through an offer and puts it in its place.
    pub fn install(&self, offer: &Offer, wanted: &Wanted) -> Result<Installed, HubError> {
        let name = wanted.name.clone().unwrap_or_else(|| offer.name.clone());
        naming::fault(&name, "skill").map_or(Ok(()), |fault| Err(HubError::Refused(fault)))?;
        let shelf = Shelf::open(&self.settings.around.hermes_home)?;
        let turn = shelf.turn(self.stop)?;
        let mut ledger = Ledger::load(&shelf);
        let below = self.place_for(&name, wanted, &ledger, &shelf)?;
        self.is_itself(&name, offer, wanted, &shelf.place(&below)?)?;
        let (report, allowed) = self.examine(offer, wanted.force);
        let verdict = report.verdict();
        if let Err(blocked) = allowed {
            let count = format!("{}_findings", report.findings.len());
            self.log(&turn, ["BLOCKED", &name, offer.source, offer.trust.name(), verdict.name(), &count]);
            return Err(blocked);
        }
        let folder = turn.put(&below, &offer.parcel)?;
        let hash = offer.parcel.content_hash();
        ledger.record(&name, self.entry(offer, &report, &below, ledger.installed.get(&name)));
        ledger.save(&turn)?;
        self.log(&turn, ["INSTALL", &name, offer.source, offer.trust.name(), verdict.name(), &hash]);
        Ok(Installed { name, folder, verdict })
    }

    /// Where a skill goes, unless something of the person is there.
    fn place_for(&self, name: &str, wanted: &Wanted, ledger: &Ledger, shelf: &Shelf) -> Result<String, HubError> {
        let category = wanted.category.as_deref().filter(|category| !category.is_empty());
        for part in category.into_iter().flat_map(|category| category.split('/')) {
            naming::fault(part, "category").map_or(Ok(()), |fault| Err(HubError::Refused(fault)))?;
        }
        if let Some(entry) = ledger.installed.get(name) {
            if wanted.force == Force::No && self.is_modified(name, entry, shelf)? {
                return Err(HubError::Modified(name.to_owned()));
            }
            return entry.place(name);
        }
        let catalogue = Catalogue::scan(&[shelf.root().to_owned()], self.scanner);
        let known = catalogue.skills.iter().find(|skill| skill.name == name || skill.folder_name() == name);
        match (known, wanted.force) {
            // One whose folder is called otherwise would stay beside the new one.
            (Some(skill), Force::Yes) if skill.folder_name() == name => Ok(skill.place.clone()),
            (Some(_), _) => Err(HubError::Taken(name.to_owned())),
            (None, _) => Ok(category.map_or(name.to_owned(), |category| format!("{category}/{name}"))),
        }
    }

    /// Refuses a skill that would be found under the name of another one: a list, or an update, says what it is called, its
    /// own text says what it is listed as. Who gives a new one a name of their own knows both.
    fn is_itself(&self, name: &str, offer: &Offer, wanted: &Wanted, folder: &Path) -> Result<(), HubError> {
        let name_in = |text: Option<String>| Frontmatter::split(&text.unwrap_or_default()).0.name();
        let Some(poses_as) = name_in(offer.parcel.text(SKILL)) else { return Ok(()) };
        let before = std::fs::read_to_string(folder.join(SKILL)).ok();
        let is_known = match &before {
            Some(_) => name_in(before.clone()).as_ref() == Some(&poses_as),
            None => wanted.name.is_some(),
        };
        if is_known || wanted.force == Force::Yes {
            return Ok(());
        }
        let catalogue = Catalogue::scan(&roots(self.settings), self.scanner);
        let other = catalogue.skills.iter().find(|skill| skill.name == poses_as && skill.folder != folder);
        other.map_or(Ok(()), |other| {
            Err(HubError::Poses { name: name.to_owned(), poses_as, place: other.folder.clone() })
        })
    }

    fn entry(&self, offer: &Offer, report: &Report, below: &str, before: Option<&Entry>) -> Entry {
        let now = self.now.to_string();
        let hash = offer.parcel.content_hash();
        Entry {
            source: offer.source.to_owned(),
            identifier: offer.identifier.clone(),
            trust_level: offer.trust.name().to_owned(),
            scan_verdict: report.verdict().name().to_owned(),
            content_hash: hash,
            install_path: below.to_owned(),
            files: offer.parcel.files.keys().cloned().collect(),
            metadata: offer.metadata.clone(),
            scan_provenance: json!({
                "source": offer.source, "source_url": offer.identifier,
                "bundle_hash": format!("sha256:{}", offer.parcel.plain_digest()),
                "scanner_version": format!("hermes-rust-{}", scan::VERSION),
                "verdict": report.verdict(), "trust_level": offer.trust, "findings": report, "scanned_at": now,
            }),
            installed_at: before.map_or_else(|| now.clone(), |before| before.installed_at.clone()),
            updated_at: now,
            rest: before.map(|before| before.rest.clone()).unwrap_or_default(),
        }
    }

    fn is_modified(&self, name: &str, entry: &Entry, shelf: &Shelf) -> Result<bool, HubError> {
        let folder = shelf.place(&entry.place(name)?)?;
        match Parcel::read(&folder) {
            Ok(parcel) => Ok(parcel.content_hash() != entry.content_hash),
            // What is gone can be brought again; nothing of the person is lost by it.
            Err(_) if !folder.exists() => Ok(false),
            Err(_) => Ok(true),
        }
    }

    /// How an installed skill stands to what its source has now.
    pub fn standing(&self, name: &str, entry: &Entry, offer: &Offer) -> Result<Standing, HubError> {
        if self.is_modified(name, entry, &self.shelf())? {
            return Ok(Standing::Modified);
        }
        let is_current = offer.parcel.content_hash() == entry.content_hash;
        let is_there = self.shelf().place(&entry.place(name)?)?.exists();
        Ok(if is_current && is_there { Standing::Current } else { Standing::Outdated })
    }

    /// Removes what was installed from elsewhere, and nothing else.
    pub fn remove(&self, name: &str) -> Result<PathBuf, HubError> {
        let shelf = Shelf::open(&self.settings.around.hermes_home)?;
        let turn = shelf.turn(self.stop)?;
        let mut ledger = Ledger::load(&shelf);
        let entry = ledger.installed.remove(name).ok_or_else(|| HubError::NotInstalled(name.to_owned()))?;
        let below = entry.place(name)?;
        let folder = shelf.place(&below)?;
        if folder.exists() {
            turn.remove(&below)?;
        }
        ledger.save(&turn)?;
        self.log(&turn, ["UNINSTALL", name, &entry.source, &entry.trust_level, "n/a", "user_request"]);
        Ok(folder)
    }

    /// Scans what is installed, as it is on the disk now.
    pub fn audit(&self, name: Option<&str>) -> Result<Vec<Audited>, HubError> {
        let shelf = self.shelf();
        let mut audited = Vec::new();
        for (known, entry) in self.installed() {
            if name.is_some_and(|name| name != known) {
                continue;
            }
            let folder = shelf.place(&entry.place(&known)?)?;
            let report = match Parcel::read(&folder) {
                Ok(parcel) => scan::scan(&parcel, self.scanner),
                Err(_) if !folder.exists() => Report::default(),
                Err(error) => return Err(error.into()),
            };
            let is_modified = self.is_modified(&known, &entry, &shelf)?;
            audited.push(Audited { name: known, entry, report, is_modified });
        }
        match (name, audited.is_empty()) {
            (Some(name), true) => Err(HubError::NotInstalled(name.to_owned())),
            _ => Ok(audited),
        }
    }

    /// `time action name source:trust verdict more`
    fn log(&self, turn: &Turn<'_>, [action, name, source, trust, verdict, more]: [&str; 6]) {
        let time = self.now.strftime("%Y-%m-%dT%H:%M:%SZ");
        if let Err(error) =
            turn.note(ledger::AUDIT, &format!("{time} {action} {name} {source}:{trust} {verdict} {more}"))
        {
            tracing::warn!(%error, "what happened to a skill was not written down");
        }
    }
}
