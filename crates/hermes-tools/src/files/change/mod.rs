//! Changes of files that happen all or not at all.
//!
//! New contents are written to files beside their targets and flushed; only when all of them are on disk are they put in
//! their places, each by one rename that keeps the old file aside. What was put aside is looked at: when it is not the
//! state the change was made for, somebody else was quicker, and everything goes back. So does everything when a later
//! step fails. A program that is killed in between leaves whole files, old or new, and `.hermes-tmp.*` beside them.
//!
//! A file keeps its mode, its access list and, where the system allows it, its owner. Other names of it (hard links) keep the old content:
//! the notes say so. A link is not replaced; its target is.

mod attributes;
mod folder;
#[cfg(test)]
mod tests;

use super::place::Writable;
use super::stamp::Stamp;
use folder::Folder;
use rustix::fs::{AtFlags, Mode};
use std::ffi::{OsStr, OsString};
use std::fs::Metadata;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// One file and what becomes of it.
#[derive(Debug)]
pub(crate) enum Step {
    Put { target: Writable, bytes: Vec<u8>, over: Over },
    Remove { target: Writable, seen: Stamp },
    Rename { from: Writable, to: Writable, seen: Stamp },
}

/// What a new content is put over.
#[derive(Debug)]
pub(crate) enum Over {
    Nothing,
    /// A new file that should be like this one.
    NothingLike(Box<Metadata>),
    File(Box<Metadata>),
}

/// What a change did beside changing files.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Done {
    pub(crate) folders_made: bool,
    pub(crate) notes: Vec<String>,
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Failure {
    /// Somebody else changed this file in the meantime. Everything is as they left it.
    Overtaken(PathBuf),
    /// Nothing is changed, or everything was put back.
    Undone(String),
    /// Some of it could not be put back; each line says which file is in which state.
    Torn { reason: String, state: Vec<String> },
}

/// Makes all changes, or none.
pub(crate) fn apply(steps: Vec<Step>) -> Result<Done, Failure> {
    let mut work = Work::default();
    match work.run(steps) {
        Ok(()) => Ok(work.finish()),
        Err(fault) => Err(work.undo(fault)),
    }
}

enum Fault {
    Overtaken(PathBuf),
    Failed(String),
}

/// A place in an open directory.
struct Spot {
    folder: Folder,
    name: OsString,
    path: PathBuf,
}

/// How to take one step back.
enum Back {
    /// The old file lies under this name beside its place.
    Restore {
        spot: Spot,
        aside: OsString,
    },
    Unlink(Spot),
    Return {
        from: Spot,
        to: Spot,
    },
}

enum Ready {
    Put { spot: Spot, temp: OsString, old: Option<Stamp> },
    Remove { spot: Spot, seen: Stamp },
    Rename { from: Spot, to: Spot, seen: Stamp },
}

#[derive(Default)]
struct Work {
    done: Done,
    made: Vec<PathBuf>,
    /// One for each file that is touched.
    folders: Vec<Folder>,
    /// Names that go away in any case, once the change is decided.
    temps: Vec<(Folder, OsString)>,
    back: Vec<Back>,
}

impl Work {
    fn run(&mut self, steps: Vec<Step>) -> Result<(), Fault> {
        let mut ready = Vec::with_capacity(steps.len());
        for step in steps {
            ready.push(self.prepare(step)?);
        }
        ready.into_iter().try_for_each(|step| self.perform(step))
    }

    fn prepare(&mut self, step: Step) -> Result<Ready, Fault> {
        match step {
            Step::Put { target, bytes, over } => {
                let spot = self.spot(&target)?;
                let (like, old) = match &over {
                    Over::Nothing => (None, None),
                    Over::NothingLike(about) => (Some(about), None),
                    Over::File(about) => (Some(about), Some(Stamp::of(about))),
                };
                if let Over::File(about) = &over {
                    self.consider(&spot, about)?;
                }
                let temp = self.written(&spot, &bytes, like.map(AsRef::as_ref), old.as_ref())?;
                Ok(Ready::Put { spot, temp, old })
            }
            Step::Remove { target, seen } => Ok(Ready::Remove { spot: self.spot(&target)?, seen }),
            Step::Rename { from, to, seen } => Ok(Ready::Rename { from: self.spot(&from)?, to: self.spot(&to)?, seen }),
        }
    }

    fn spot(&mut self, target: &Writable) -> Result<Spot, Fault> {
        let path = target.path();
        let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
            return Err(Fault::Failed(format!("{} is no place for a file", path.display())));
        };
        let folder = Folder::reach(parent, &mut self.made).map_err(|error| {
            Fault::Failed(format!("the directory {} cannot be opened or made: {error}", parent.display()))
        })?;
        self.folders.push(folder.clone());
        Ok(Spot { folder, name: name.to_owned(), path: path.to_path_buf() })
    }

    /// What cannot be kept is told; what must not be done is refused.
    fn consider(&mut self, spot: &Spot, about: &Metadata) -> Result<(), Fault> {
        let writable = rustix::fs::accessat(&spot.folder, &spot.name, rustix::fs::Access::WRITE_OK, AtFlags::empty());
        if writable == Err(rustix::io::Errno::ACCESS) {
            let told = format!("{} is read-only (mode {:o})", spot.path.display(), about.mode() & 0o7777);
            return Err(Fault::Failed(told));
        }
        if about.nlink() > 1 {
            self.done.notes.push(format!(
                "{} had {} names (hard links); the others keep the old content.",
                spot.path.display(),
                about.nlink()
            ));
        }
        Ok(())
    }

    /// The content on disk, under a name nobody looks at.
    fn written(
        &mut self,
        spot: &Spot,
        bytes: &[u8],
        like: Option<&Metadata>,
        over: Option<&Stamp>,
    ) -> Result<OsString, Fault> {
        let failed = |error: io::Error| Fault::Failed(format!("{} cannot be written: {error}", spot.path.display()));
        // A new file gets what the process is set to give; a file that replaces another is closed until it has its mode.
        let mode = if like.is_some() { Mode::RUSR | Mode::WUSR } else { Mode::from_raw_mode(0o666) };
        let (temp, mut file) = spot.folder.temporary(mode).map_err(failed)?;
        self.temps.push((spot.folder.clone(), temp.clone()));
        io::Write::write_all(&mut file, bytes).map_err(failed)?;
        if let Some(like) = like {
            let mine = file.metadata().map_err(failed)?;
            if (mine.uid(), mine.gid()) != (like.uid(), like.gid())
                && std::os::unix::fs::fchown(&file, Some(like.uid()), Some(like.gid())).is_err()
            {
                self.done.notes.push(format!(
                    "{} belonged to user {} and group {}; that could not be kept.",
                    spot.path.display(),
                    like.uid(),
                    like.gid()
                ));
            }
            // After the owner, because a change of the owner takes special bits away.
            file.set_permissions(like.permissions()).map_err(failed)?;
            // And last what says more than a mode can. A file that cannot be opened for reading was not read either.
            let lost = match over.map(|_| spot.folder.open(&spot.name)) {
                Some(Ok(old)) => attributes::carry(&old, &file),
                Some(Err(_)) | None => Vec::new(),
            };
            if !lost.is_empty() {
                let lost = lost.join(", ");
                self.done.notes.push(format!("{} had attributes that could not be kept: {lost}.", spot.path.display()));
            }
        }
        file.sync_all().map_err(failed)?;
        Ok(temp)
    }

    fn perform(&mut self, step: Ready) -> Result<(), Fault> {
        match step {
            Ready::Put { spot, temp, old: Some(seen) } => self.replace(spot, &temp, &seen),
            Ready::Put { spot, temp, old: None } => {
                spot.folder.place(&temp, &spot.folder, &spot.name).map_err(|error| spot.fault(&error))?;
                self.back.push(Back::Unlink(spot));
                Ok(())
            }
            Ready::Remove { spot, seen } => {
                let aside = spot.folder.free_name();
                spot.folder.place(&spot.name, &spot.folder, &aside).map_err(|error| spot.fault(&error))?;
                let found = spot.folder.stamp(&aside);
                let (folder, path) = (spot.folder.clone(), spot.path.clone());
                self.back.push(Back::Restore { spot, aside: aside.clone() });
                self.temps.push((folder, aside));
                agreed(found, &seen, path)
            }
            Ready::Rename { from, to, seen } => {
                let found = from.folder.stamp(&from.name);
                agreed(found, &seen, from.path.clone())?;
                from.folder.place(&from.name, &to.folder, &to.name).map_err(|error| to.fault(&error))?;
                self.back.push(Back::Return { from, to });
                Ok(())
            }
        }
    }

    fn replace(&mut self, spot: Spot, temp: &OsStr, seen: &Stamp) -> Result<(), Fault> {
        let path = spot.path.clone();
        // Looking first is not enough, and looking only afterwards would show the others a content for a moment that
        // must be taken back.
        agreed(spot.folder.stamp(&spot.name), seen, path.clone())?;
        let aside = spot.folder.swap(temp, &spot.name).map_err(|error| spot.fault(&error))?;
        let found = spot.folder.stamp(&aside);
        self.temps.push((spot.folder.clone(), aside.clone()));
        self.back.push(Back::Restore { spot, aside });
        agreed(found, seen, path)
    }

    fn finish(self) -> Done {
        for (folder, name) in &self.temps {
            folder.unlink(name);
        }
        for folder in &self.folders {
            folder.sync();
        }
        Done { folders_made: !self.made.is_empty(), ..self.done }
    }

    fn undo(mut self, fault: Fault) -> Failure {
        let mut state = Vec::new();
        let mut kept: Vec<OsString> = Vec::new();
        for back in std::mem::take(&mut self.back).into_iter().rev() {
            let undone = match &back {
                Back::Restore { spot, aside } => spot.folder.rename(aside, &spot.folder, &spot.name),
                Back::Unlink(spot) => spot.folder.remove(&spot.name),
                Back::Return { from, to } => to.folder.rename(&to.name, &from.folder, &from.name),
            };
            if let Err(error) = undone {
                state.push(back.told(&error));
                if let Back::Restore { aside, .. } = back {
                    kept.push(aside);
                }
            }
        }
        for (folder, name) in self.temps.iter().filter(|(_, name)| !kept.contains(name)) {
            folder.unlink(name);
        }
        for path in self.made.iter().rev() {
            // A directory that somebody put something into meanwhile stays.
            let _ = std::fs::remove_dir(path);
        }
        match fault {
            Fault::Overtaken(path) if state.is_empty() => Failure::Overtaken(path),
            Fault::Failed(reason) if state.is_empty() => Failure::Undone(reason),
            Fault::Overtaken(path) => Failure::Torn { reason: overtaken(&path), state },
            Fault::Failed(reason) => Failure::Torn { reason, state },
        }
    }
}

impl Back {
    fn told(&self, error: &io::Error) -> String {
        match self {
            Self::Restore { spot, aside } => {
                let aside = spot.path.with_file_name(aside);
                format!("{} is changed; its old content is in {} ({error})", spot.path.display(), aside.display())
            }
            Self::Unlink(spot) => format!("{} is there with the new content ({error})", spot.path.display()),
            Self::Return { from, to } => {
                format!("{} is at {} now ({error})", from.path.display(), to.path.display())
            }
        }
    }
}

impl Spot {
    fn fault(&self, error: &io::Error) -> Fault {
        match error.kind() {
            // It came, or went, after it was looked at.
            io::ErrorKind::AlreadyExists | io::ErrorKind::NotFound => Fault::Overtaken(self.path.clone()),
            _ => Fault::Failed(format!("{} cannot be changed: {error}", self.path.display())),
        }
    }
}

fn agreed(found: io::Result<Stamp>, seen: &Stamp, path: PathBuf) -> Result<(), Fault> {
    match found {
        Ok(found) if found.same_content(seen) => Ok(()),
        Ok(_) => Err(Fault::Overtaken(path)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Err(Fault::Overtaken(path)),
        Err(error) => Err(Fault::Failed(format!("{} cannot be looked at: {error}", path.display()))),
    }
}

pub(crate) fn overtaken(path: &Path) -> String {
    format!("{} was changed by another program at the same moment", path.display())
}
