//! The folder of the person's own skills, for those who write there.
//!
//! One writer at a time, also between processes ([`Turn`], a lock that the system frees when its holder dies). A skill is
//! written whole beside its place, under `.hub/quarantine`, and moved in by a rename; one that goes is moved out before it
//! is deleted. So whoever reads meets whole skills, old or new. No path is followed through a link, and nothing outside of
//! the folder is ever written or removed.

use super::naming;
use super::parcel::Parcel;
use crate::files::place::real;
use hermes_core::stop::Stop;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// The folder in the home of Hermes.
pub(super) const OWN: &str = "skills";
const LOCK: &str = ".lock";
/// What a skill is called while it is out of the way.
const OLD: &str = "old";
const QUARANTINE: &str = ".hub/quarantine";
const PATIENCE: Duration = Duration::from_secs(10);
const POLL: Duration = Duration::from_millis(5);
const FILE_MODE: u32 = 0o644;
const PROGRAM_MODE: u32 = 0o755;
const FOLDER_MODE: u32 = 0o755;

#[derive(Debug, thiserror::Error)]
pub enum ShelfError {
    #[error("{0}")]
    Path(String),
    #[error("{} is a link; skills are neither written nor removed through links", .0.display())]
    Link(PathBuf),
    #[error("another session has been changing the skills for {} s; nothing was changed, try again later", PATIENCE.as_secs())]
    Busy,
    #[error("interrupted; nothing was changed")]
    Interrupted,
    #[error("{} cannot be changed: {reason}", path.display())]
    Disk { path: PathBuf, reason: io::Error },
}

#[derive(Debug, Clone)]
pub(super) struct Shelf {
    /// Without links.
    root: PathBuf,
}

/// The right to change skills, until dropped.
pub(super) struct Turn<'s> {
    shelf: &'s Shelf,
    _lock: File,
}

impl Shelf {
    /// Creates the folder if need be.
    pub(super) fn open(hermes_home: &Path) -> Result<Self, ShelfError> {
        let folder = hermes_home.join(OWN);
        fs::create_dir_all(&folder).map_err(at(&folder))?;
        Ok(Self { root: folder.canonicalize().map_err(at(&folder))? })
    }

    /// The same without a look whether it is there, for those who only ask where something would be.
    pub(super) fn of(hermes_home: &Path) -> Self {
        Self { root: real(&hermes_home.join(OWN)) }
    }

    pub(super) fn root(&self) -> &Path {
        &self.root
    }

    /// Waits for other writers, but not for ever.
    pub(super) fn turn(&self, stop: &Stop) -> Result<Turn<'_>, ShelfError> {
        let path = self.root.join(LOCK);
        let mut options = OpenOptions::new();
        options.create(true).truncate(false).write(true).mode(0o600);
        // A link of that name, or a pipe, is nobody's lock.
        options.custom_flags((rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK).bits().cast_signed());
        let lock = options.open(&path).map_err(at(&path))?;
        let start = Instant::now();
        loop {
            match lock.try_lock() {
                Ok(()) => return Ok(Turn { shelf: self, _lock: lock }),
                Err(TryLockError::Error(reason)) => return Err(ShelfError::Disk { path, reason }),
                Err(TryLockError::WouldBlock) if stop.stopped() => return Err(ShelfError::Interrupted),
                Err(TryLockError::WouldBlock) if start.elapsed() >= PATIENCE => return Err(ShelfError::Busy),
                Err(TryLockError::WouldBlock) => std::thread::sleep(POLL),
            }
        }
    }

    /// The place below the folder. No part of it that is there may be a link.
    pub(super) fn place(&self, below: &str) -> Result<PathBuf, ShelfError> {
        let below = naming::inner(below).map_err(ShelfError::Path)?;
        let mut place = self.root.clone();
        for part in below.split('/') {
            place.push(part);
            match fs::symlink_metadata(&place) {
                Ok(about) if about.is_symlink() => return Err(ShelfError::Link(place)),
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(reason) => return Err(ShelfError::Disk { path: place, reason }),
            }
        }
        Ok(place)
    }

    /// An empty folder nobody else has, on the same disk; it goes away when it is dropped.
    pub(super) fn quarantine(&self) -> Result<TempDir, ShelfError> {
        let quarantine = self.place(QUARANTINE)?;
        let mut folders = fs::DirBuilder::new();
        folders.recursive(true).mode(0o700).create(&quarantine).map_err(at(&quarantine))?;
        tempfile::tempdir_in(&quarantine).map_err(at(&quarantine))
    }

    /// Where something lies below the folder; nothing for what lies elsewhere.
    pub(super) fn below(&self, path: &Path) -> Option<String> {
        path.strip_prefix(&self.root).ok().and_then(Path::to_str).filter(|below| !below.is_empty()).map(str::to_owned)
    }
}

impl Turn<'_> {
    pub(super) fn shelf(&self) -> &Shelf {
        self.shelf
    }

    /// Puts a whole skill in its place, over what is there.
    pub(super) fn put(&self, below: &str, parcel: &Parcel) -> Result<PathBuf, ShelfError> {
        let place = self.shelf.place(below)?;
        let draft = self.draft()?;
        for (path, piece) in &parcel.files {
            let path = draft.path().join(naming::inner(path).map_err(ShelfError::Path)?);
            write_new(&path, &piece.bytes, piece.executable).map_err(at(&path))?;
        }
        create_folders(&place)?;
        let old = self.set_aside(&place)?;
        if let Err(reason) = fs::rename(draft.path(), &place) {
            if let Some(old) = &old {
                // What was there comes back; when even that fails, the first reason is the one that helps.
                let _ = fs::rename(old.path().join(OLD), &place);
            }
            return Err(ShelfError::Disk { path: place, reason });
        }
        sync_folder(&place);
        Ok(place)
    }

    /// Takes a skill away, and the folder of its category when nothing else is in it.
    pub(super) fn remove(&self, below: &str) -> Result<(), ShelfError> {
        let place = self.shelf.place(below)?;
        let Some(gone) = self.set_aside(&place)? else {
            let reason = io::ErrorKind::NotFound.into();
            return Err(ShelfError::Disk { path: place, reason });
        };
        sync_folder(&place);
        gone.close().map_err(at(&place))?;
        let mut above = place.parent();
        while let Some(folder) = above.filter(|folder| *folder != self.shelf.root) {
            // A folder that holds something else stays, and so does everything above it.
            if fs::remove_dir(folder).is_err() {
                break;
            }
            above = folder.parent();
        }
        Ok(())
    }

    /// Replaces a file of our own, such as `.hub/lock.json`, in one step.
    pub(super) fn keep(&self, below: &str, content: &[u8]) -> Result<(), ShelfError> {
        let place = self.shelf.place(below)?;
        create_folders(&place)?;
        let write = || {
            let folder = place.parent().unwrap_or(&self.shelf.root);
            let mut draft = tempfile::Builder::new().prefix(".draft-").tempfile_in(folder)?;
            draft.write_all(content)?;
            draft.as_file().sync_all()?;
            draft.persist(&place).map_err(|error| error.error).map(drop)
        };
        write().map_err(at(&place))?;
        sync_folder(&place);
        Ok(())
    }

    /// Adds a line to a file of our own.
    pub(super) fn note(&self, below: &str, line: &str) -> Result<(), ShelfError> {
        let place = self.shelf.place(below)?;
        create_folders(&place)?;
        let file = OpenOptions::new().create(true).append(true).mode(0o600).open(&place);
        file.and_then(|mut file| writeln!(file, "{line}")).map_err(at(&place))
    }

    /// A new skill in the making; what is not moved to its place goes away again.
    fn draft(&self) -> Result<TempDir, ShelfError> {
        let draft = self.shelf.quarantine()?;
        // What is in the making is closed; a skill can be read by whoever may read the home.
        let open = fs::Permissions::from_mode(FOLDER_MODE);
        fs::set_permissions(draft.path(), open).map_err(at(draft.path()))?;
        Ok(draft)
    }

    /// Moves what is at a place out of the way: it is [`OLD`] in a folder that goes away.
    fn set_aside(&self, place: &Path) -> Result<Option<TempDir>, ShelfError> {
        if fs::symlink_metadata(place).is_err() {
            return Ok(None);
        }
        let free = self.shelf.quarantine()?;
        fs::rename(place, free.path().join(OLD)).map_err(at(place))?;
        Ok(Some(free))
    }
}

fn at(path: &Path) -> impl FnOnce(io::Error) -> ShelfError + use<> {
    let path = path.to_owned();
    move |reason| ShelfError::Disk { path, reason }
}

/// The folders above a place.
fn create_folders(place: &Path) -> Result<(), ShelfError> {
    let Some(above) = place.parent() else { return Ok(()) };
    fs::create_dir_all(above).map_err(at(above))
}

fn write_new(path: &Path, bytes: &[u8], executable: bool) -> io::Result<()> {
    if let Some(above) = path.parent() {
        fs::create_dir_all(above)?;
    }
    let mode = if executable { PROGRAM_MODE } else { FILE_MODE };
    let mut file = OpenOptions::new().write(true).create_new(true).mode(mode).open(path)?;
    file.write_all(bytes)?;
    file.sync_all()
}

/// Only the folder's own sync makes a new name survive a power cut.
fn sync_folder(place: &Path) {
    if let Some(folder) = place.parent()
        && let Err(error) = File::open(folder).and_then(|folder| folder.sync_all())
    {
        tracing::warn!(folder = %folder.display(), %error, "a change of the skills may not survive a power cut");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;
    use std::os::unix::fs::symlink;

    fn shelf() -> (tempfile::TempDir, Shelf) {
        let home = tempfile::tempdir().unwrap();
        let shelf = Shelf::open(home.path()).unwrap();
        (home, shelf)
    }

    #[test]
    fn a_skill_comes_is_replaced_and_goes_and_leaves_nothing_behind() {
        let (_home, shelf) = shelf();
        let turn = shelf.turn(&Stop::new()).unwrap();
        let place = turn.put("cooking/soup", &Parcel::of_texts([("SKILL.md", "1"), ("references/a.md", "a")])).unwrap();
        turn.put("cooking/soup", &Parcel::of_texts([("SKILL.md", "2")])).unwrap();
        assert_eq!(fs::read_to_string(place.join("SKILL.md")).unwrap(), "2");
        assert!(!place.join("references").exists(), "the old files went with the old skill");
        turn.remove("cooking/soup").unwrap();
        assert!(!shelf.root().join("cooking").exists());
        assert_eq!(fs::read_dir(shelf.root().join(QUARANTINE)).unwrap().count(), 0);
        assert!(turn.remove("cooking/soup").is_err());
    }

    #[test]
    fn a_link_on_the_way_stops_everything() {
        let (home, shelf) = shelf();
        let outside = home.path().join("outside");
        fs::create_dir_all(outside.join("soup")).unwrap();
        symlink(&outside, shelf.root().join("cooking")).unwrap();
        symlink(outside.join("soup"), shelf.root().join("soup")).unwrap();
        let turn = shelf.turn(&Stop::new()).unwrap();
        let parcel = Parcel::of_texts([("SKILL.md", "1")]);
        for below in ["cooking/soup", "soup", "cooking"] {
            assert!(matches!(turn.put(below, &parcel), Err(ShelfError::Link(_))), "{below}");
            assert!(matches!(turn.remove(below), Err(ShelfError::Link(_))), "{below}");
        }
        assert_eq!(fs::read_dir(outside.join("soup")).unwrap().count(), 0);
    }

    #[test]
    fn somebody_else_at_work_is_waited_for_unless_the_person_leaves() {
        let (_home, shelf) = shelf();
        let _held = shelf.turn(&Stop::new()).unwrap();
        let stop = Stop::new();
        stop.stop();
        assert!(matches!(shelf.turn(&stop), Err(ShelfError::Interrupted)));
    }

    /// Everything below a folder, with its content.
    fn everything(folder: &Path) -> BTreeSet<(PathBuf, Option<Vec<u8>>)> {
        let mut all = BTreeSet::new();
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let is_folder = fs::symlink_metadata(&path).unwrap().is_dir();
            all.insert((path.clone(), (!is_folder).then(|| fs::read(&path).unwrap_or_default())));
            if is_folder {
                all.extend(everything(&path));
            }
        }
        all
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn no_sequence_of_operations_touches_anything_outside(
            steps in prop::collection::vec((0..4u8, "(\\.\\./|/|a|b|a/b|link|link/x|\\.hub|~|\\./){1,4}", "(\\.\\./|a|b/c|SKILL\\.md|/etc/x){1,2}"), 1..8)
        ) {
            let (home, shelf) = shelf();
            fs::write(home.path().join("config.yaml"), "mine").unwrap();
            fs::create_dir(home.path().join("elsewhere")).unwrap();
            fs::write(home.path().join("elsewhere/x"), "mine").unwrap();
            symlink(home.path().join("elsewhere"), shelf.root().join("link")).unwrap();
            let outside = || everything(home.path()).into_iter().filter(|(path, _)| !path.starts_with(shelf.root())).collect::<BTreeSet<_>>();
            let before = outside();
            let turn = shelf.turn(&Stop::new()).unwrap();
            for (kind, below, file) in steps {
                // Whether a step succeeds is not the question here.
                let _ = match kind {
                    0 => turn.put(&below, &Parcel::of_texts([(file.as_str(), "new")])).map(drop),
                    1 => turn.remove(&below),
                    2 => turn.keep(&below, b"new"),
                    _ => turn.note(&below, "new"),
                };
                prop_assert_eq!(&outside(), &before);
                prop_assert!(shelf.root().is_dir());
            }
        }
    }
}
