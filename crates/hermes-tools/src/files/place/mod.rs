//! Where a path really leads, and whether a tool may go there.
//!
//! A path is resolved first (`~`, the directory of the conversation, `..`, every link; what does not exist yet is
//! resolved as far as it does) and then held against one table ([`rules`]). [`Readable`] and [`Writable`] are made here
//! alone, so a path that nobody checked cannot be opened. [`open`] opens what was resolved without following another
//! link, so a link that is put into the path after the check leads nowhere.
//!
//! Not covered: a hard link to a protected file is another name for it, and commands of a shell do not come this way.

pub(crate) mod open;
mod resolve;
mod rules;
#[cfg(test)]
mod tests;

pub(crate) use resolve::{Place, real};

use crate::settings::Surroundings;
use std::fmt;
use std::path::{Path, PathBuf};

/// Directories, separated as in `PATH`: when it is set, nothing outside of them is written.
const SAFE_ROOT: &str = "HERMES_WRITE_SAFE_ROOT";

/// Why a tool may not touch a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Why {
    pub(crate) kind: Kind,
    message: String,
}

/// What stands against it. The order of refusals of a write depends on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// It is no path at all.
    Unusable,
    /// Never ends, or speaks of the insides of a process.
    Device,
    /// Belongs to the machine, or decides what Hermes may do.
    System,
    /// Holds keys, or is the memory of Hermes.
    Protected,
    /// Belongs to another profile and was not asked for by that name.
    OtherProfile,
    OutsideSafeRoot,
}

impl Why {
    fn new(kind: Kind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into() }
    }
}

impl fmt::Display for Why {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.message)
    }
}

/// Whether a call said that it means the files of another profile.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum CrossProfile {
    #[default]
    No,
    Meant,
}

impl From<bool> for CrossProfile {
    fn from(meant: bool) -> Self {
        if meant { Self::Meant } else { Self::No }
    }
}

/// A path that may be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Readable(Place);

/// A path that may be written, and read to see what is there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Writable {
    place: Place,
    warning: Option<String>,
}

impl Readable {
    /// Absolute and without links.
    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }
}

impl Writable {
    /// Absolute and without links.
    pub(crate) fn path(&self) -> &Path {
        self.place.path()
    }

    /// Something about this place that whoever writes there should know.
    pub(crate) fn warning(&self) -> Option<&str> {
        self.warning.as_deref()
    }
}

/// The table, with the directories of this program in it.
#[derive(Debug, Clone)]
pub(crate) struct Rules {
    home: PathBuf,
    hermes_home: PathBuf,
    hermes_root: PathBuf,
    temp: PathBuf,
    safe_roots: Vec<PathBuf>,
}

impl Rules {
    pub(crate) fn of(around: &Surroundings) -> Self {
        let home = real(&around.home);
        let safe = around.variables.get(SAFE_ROOT).map(String::as_str).unwrap_or_default();
        let safe = safe.split(':').map(str::trim).filter(|entry| !entry.is_empty());
        let safe_roots =
            safe.filter_map(|entry| Place::find(entry, &around.cwd, &home).ok()).map(Place::into_path).collect();
        Self {
            hermes_home: real(&around.hermes_home),
            hermes_root: real(&around.hermes_root),
            temp: real(&around.temp),
            home,
            safe_roots,
        }
    }

    /// The path as a model wrote it, resolved and allowed to be read.
    pub(crate) fn readable(&self, given: &str, cwd: &Path) -> Result<Readable, Why> {
        let place = Place::find(given, cwd, &self.home)?;
        self.may_read(&place)?;
        Ok(Readable(place))
    }

    /// The path as a model wrote it, resolved and allowed to be written.
    pub(crate) fn writable(&self, given: &str, cwd: &Path, cross: CrossProfile) -> Result<Writable, Why> {
        if given.ends_with('/') {
            let message = format!("{given} names a directory. Leave out the slash at its end, or name a file in it.");
            return Err(Why::new(Kind::Unusable, message));
        }
        let place = Place::find(given, cwd, &self.home)?;
        let warning = self.may_write(&place, cross)?;
        Ok(Writable { place, warning })
    }

    pub(crate) fn may_read(&self, place: &Place) -> Result<(), Why> {
        self.denied(place, rules::Access::Read).map_or(Ok(()), Err)
    }

    /// The same for a path without links, as a walk that follows none gives it: without a look at the disk.
    pub(crate) fn denies_reading(&self, real: &Path) -> bool {
        rules::denial(self, real, rules::Access::Read).is_some()
    }

    fn may_write(&self, place: &Place, cross: CrossProfile) -> Result<Option<String>, Why> {
        if let Some(why) = self.denied(place, rules::Access::Write) {
            return Err(why);
        }
        let path = place.path();
        if cross == CrossProfile::No
            && let Some(owner) = self.other_profile(path)
        {
            let message = format!(
                "Refusing to write to {}: it belongs to the profile {owner}, not to the active one. Write to the active \
                 profile, or pass cross_profile=true when the person asked for that profile by name.",
                path.display()
            );
            return Err(Why::new(Kind::OtherProfile, message));
        }
        if !self.safe_roots.is_empty() && !self.safe_roots.iter().any(|root| path.starts_with(root)) {
            let roots: Vec<String> = self.safe_roots.iter().map(|root| root.display().to_string()).collect();
            let message = format!(
                "Refusing to write to {}: {SAFE_ROOT} allows writing only inside {}.",
                path.display(),
                roots.join(", ")
            );
            return Err(Why::new(Kind::OutsideSafeRoot, message));
        }
        Ok(mirror_warning(path))
    }

    fn denied(&self, place: &Place, access: rules::Access) -> Option<Why> {
        // The name counts as well as the target: `/dev/stdin` may lead to a file, and it is still standard input.
        [place.path(), place.named()].into_iter().find_map(|path| rules::denial(self, path, access))
    }

    /// The profile whose own things these are, when it is not the active one.
    fn other_profile(&self, path: &Path) -> Option<String> {
        let (owner, rest) = self.profile_of(path)?;
        let first = rest.components().next()?;
        let own = ["skills", "plugins", "cron", "memories"];
        let named = own.iter().any(|name| rules::same(first.as_os_str(), name.as_ref()));
        (named && owner != self.hermes_home).then(|| match owner.file_name() {
            Some(name) if owner != self.hermes_root => name.to_string_lossy().into_owned(),
            _ => "default".to_owned(),
        })
    }

    /// The home of Hermes that a path lies in, and the way from there.
    fn profile_of<'p>(&self, path: &'p Path) -> Option<(PathBuf, &'p Path)> {
        let profiles = self.hermes_root.join("profiles");
        if let Some(below) = rules::below(path, &profiles) {
            let name = below.components().next()?;
            let owner = profiles.join(name);
            return Some((owner, below.strip_prefix(name).ok()?));
        }
        let active = rules::below(path, &self.hermes_home).map(|rest| (self.hermes_home.clone(), rest));
        active.or_else(|| Some((self.hermes_root.clone(), rules::below(path, &self.hermes_root)?)))
    }
}

/// The home of a sandbox looks like the home of Hermes, and nothing written there reaches it.
fn mirror_warning(path: &Path) -> Option<String> {
    let names: Vec<_> = path.iter().collect();
    let mirrored = names.windows(5).any(|parts| {
        matches!(parts, [sandboxes, _, _, home, hermes]
            if *sandboxes == "sandboxes" && *home == "home" && *hermes == ".hermes")
    });
    mirrored.then(|| {
        format!(
            "{} is the copy of a Hermes home inside a sandbox. Hermes itself does not read it; write to the real home if \
             that was meant.",
            path.display()
        )
    })
}
