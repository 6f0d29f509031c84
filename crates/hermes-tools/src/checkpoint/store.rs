//! The shared store: one bare repository for all projects, a reference, an index and a note for each.
//!
//! Everything is made beside its place and renamed into it. Git works on a copy of the index, so what a killed process
//! leaves behind is a file nobody looks at, never a half-written one or a lock that stays.

use super::git::{ATTRIBUTES, Bench, Git, GitFault};
use super::lock::{Held, Turn, take};
use super::project::{NoProject, Project};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::fs::{self, File, FileTimes};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

const WAIT_FOR_PROJECT: Duration = Duration::from_secs(20);
/// A lock of a reference that is older than this has no owner: all our own work on it happens under the project's lock.
const STALE: Duration = Duration::from_secs(10);

#[derive(Debug, thiserror::Error)]
pub enum CheckpointFault {
    #[error(transparent)]
    NoProject(#[from] NoProject),
    #[error(transparent)]
    Git(#[from] GitFault),
    #[error("{path}: {reason}")]
    Disk { path: String, reason: io::Error },
    #[error("there is no checkpoint {0} of this project; the list has the numbers and hashes there are")]
    Unknown(String),
    #[error("{0} stands for several checkpoints; give more digits of the hash")]
    Ambiguous(String),
    #[error("`{0}` is neither the number of a checkpoint nor a hash of 4 to 64 hexadecimal digits")]
    NotANumber(String),
    #[error("{0} is outside of the project")]
    Outside(String),
    #[error("{file} is not in checkpoint {checkpoint}")]
    NotInCheckpoint { file: String, checkpoint: String },
}

pub(super) fn disk(path: &Path) -> impl FnOnce(io::Error) -> CheckpointFault {
    let path = path.display().to_string();
    move |reason| CheckpointFault::Disk { path, reason }
}

pub(super) struct Store {
    pub(super) git: Git,
    /// `<home>/checkpoints`.
    pub(super) folder: PathBuf,
    pub(super) largest_file: u64,
}

/// What is known of a project besides its snapshots.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Note {
    pub(super) workdir: String,
    pub(super) created_at: f64,
    pub(super) last_touch: f64,
}

/// The state of a project's files, in the store but not yet a snapshot.
pub(super) struct Staged {
    pub(super) tree: String,
    /// The last snapshot and its tree.
    pub(super) head: Option<(String, String)>,
    index: Scrap,
}

/// The right to work on one project, while nobody clears up the store.
pub(super) struct ProjectTurn {
    _project: Held,
    _store: Held,
}

/// A file that is only there until it is put into its place or dropped.
pub(super) struct Scrap(pub(super) PathBuf);

impl Drop for Scrap {
    fn drop(&mut self) {
        // Gone already when it was put into its place; what stays is swept by the next clean-up.
        let _ = fs::remove_file(&self.0);
    }
}

pub(super) fn seconds(time: SystemTime) -> f64 {
    time.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs_f64()
}

impl Store {
    pub(super) fn path(&self) -> &Path {
        &self.git.store
    }

    pub(super) fn index(&self, key: &str) -> PathBuf {
        self.path().join("indexes").join(key)
    }

    pub(super) fn note(&self, key: &str) -> PathBuf {
        self.path().join("projects").join(format!("{key}.json"))
    }

    pub(super) fn store_lock(&self) -> PathBuf {
        self.folder.join("store.lock")
    }

    pub(super) fn exists(&self) -> bool {
        self.path().join("HEAD").is_file()
    }

    /// Makes the store when there is none. Of several processes one wins; the others use what it made.
    async fn ensure(&self) -> Result<(), CheckpointFault> {
        if !self.exists() {
            fs::create_dir_all(&self.folder).map_err(disk(&self.folder))?;
            let made = tempfile::Builder::new().prefix("new-store.").tempdir_in(&self.folder);
            let made = made.map_err(disk(&self.folder))?;
            let young = Git::new(made.path().join("store"), self.git.path());
            fs::create_dir_all(&young.store).map_err(disk(&young.store))?;
            young.run(Bench::default(), &["init", "--quiet", "--bare", "--template="], Vec::new()).await?;
            if let Err(error) = fs::rename(&young.store, self.path())
                && !self.exists()
            {
                return Err(disk(self.path())(error));
            }
        }
        for folder in ["indexes", "projects", "info"] {
            let folder = self.path().join(folder);
            fs::create_dir_all(&folder).map_err(disk(&folder))?;
        }
        let attributes = self.path().join("info/attributes");
        if fs::read(&attributes).is_ok_and(|found| found == ATTRIBUTES.as_bytes()) {
            return Ok(());
        }
        replace(&attributes, ATTRIBUTES.as_bytes())
    }

    /// Waits until nobody else works on the project.
    pub(super) async fn turn(&self, project: &Project) -> Result<ProjectTurn, CheckpointFault> {
        let store = self.store_lock();
        let shared = take(&store, Turn::Shared, WAIT_FOR_PROJECT).await.map_err(disk(&store))?;
        self.ensure().await?;
        let path = self.folder.join("locks").join(&project.key);
        let own = take(&path, Turn::Alone, WAIT_FOR_PROJECT).await.map_err(disk(&path))?;
        let stale = self.path().join(format!("{}.lock", project.reference()));
        if fs::metadata(&stale).and_then(|known| known.modified()).is_ok_and(|then| old(then, STALE)) {
            fs::remove_file(&stale).map_err(disk(&stale))?;
        }
        Ok(ProjectTurn { _project: own, _store: shared })
    }

    /// Brings the files of a project into the store.
    pub(super) async fn stage(&self, project: &Project, _turn: &ProjectTurn) -> Result<Staged, CheckpointFault> {
        let files = {
            let (project, largest, folder) = (project.clone(), self.largest_file, self.folder.clone());
            let walk = tokio::task::spawn_blocking(move || project.files(largest, &folder));
            walk.await.map_err(|error| disk(&self.folder)(io::Error::other(error)))??
        };
        let index = self.scrap(&project.key)?;
        copy_with_time(&self.index(&project.key), &index.0)?;
        let bench = Bench { tree: Some(&project.root), index: Some(&index.0), date: None };
        let known = self.git.run(bench, &["ls-files", "-z"], Vec::new()).await;
        // An index that cannot be read costs time, not a snapshot: it is made anew.
        let known = known.or_else(|_| fs::remove_file(&index.0).map(|()| Vec::new()).map_err(disk(&index.0)))?;
        let gone: Vec<&[u8]> = parts(&known).filter(|path| !files.contains(*path)).collect();
        if !gone.is_empty() {
            self.git.run(bench, &["update-index", "-z", "--force-remove", "--stdin"], joined(gone)).await?;
        }
        // A file that vanishes meanwhile is one that is not there: `--remove`.
        let present = joined(files.iter().map(Vec::as_slice));
        self.git.run(bench, &["update-index", "-z", "--add", "--remove", "--replace", "--stdin"], present).await?;
        let tree = self.git.line(bench, &["write-tree"], Vec::new()).await?;
        let head = self.head(project).await?;
        Ok(Staged { tree, head, index })
    }

    async fn head(&self, project: &Project) -> Result<Option<(String, String)>, CheckpointFault> {
        let format = "--format=%(objectname) %(tree)";
        let found =
            self.git.line(Bench::default(), &["for-each-ref", format, &project.reference()], Vec::new()).await?;
        Ok(found.split_once(' ').map(|(commit, tree)| (commit.to_owned(), tree.to_owned())))
    }

    /// Makes a snapshot of what was staged, unless the last one is the same. Gives its hash when there is a new one.
    pub(super) async fn commit(
        &self,
        project: &Project,
        staged: &Staged,
        reason: &str,
    ) -> Result<Option<String>, CheckpointFault> {
        let index = self.index(&project.key);
        let unchanged = staged.head.as_ref().is_some_and(|(_, tree)| *tree == staged.tree);
        let commit = if unchanged {
            None
        } else {
            let head = staged.head.as_ref().map(|(commit, _)| commit.as_str());
            let mut args = vec!["commit-tree", staged.tree.as_str()];
            args.extend(head.iter().flat_map(|head| ["-p", head]));
            let commit = self.git.line(Bench::default(), &args, one_line(reason).into_bytes()).await?;
            self.set(project, &commit, head).await?;
            Some(commit)
        };
        match fs::rename(&staged.index.0, &index) {
            // A project without files has no index.
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(disk(&index)(error)),
            _ => {}
        }
        self.touch(project)?;
        Ok(commit)
    }

    /// Moves the reference, if it still is where it was seen.
    pub(super) async fn set(&self, project: &Project, to: &str, from: Option<&str>) -> Result<(), CheckpointFault> {
        let from = from.unwrap_or("0000000000000000000000000000000000000000");
        self.git.run(Bench::default(), &["update-ref", &project.reference(), to, from], Vec::new()).await?;
        Ok(())
    }

    fn touch(&self, project: &Project) -> Result<(), CheckpointFault> {
        let path = self.note(&project.key);
        let now = seconds(SystemTime::now());
        let before = self.read_note(&project.key);
        let created_at = before.map_or(now, |note| note.created_at);
        let note = Note { workdir: project.root.to_string_lossy().into_owned(), created_at, last_touch: now };
        replace(&path, &serde_json::to_vec(&note).map_err(|error| disk(&path)(error.into()))?)
    }

    pub(super) fn read_note(&self, key: &str) -> Option<Note> {
        serde_json::from_slice(&fs::read(self.note(key)).ok()?).ok()
    }

    /// A name beside the indexes that nobody else uses.
    pub(super) fn scrap(&self, key: &str) -> Result<Scrap, CheckpointFault> {
        let folder = self.path().join("indexes");
        let made = tempfile::Builder::new().prefix(&format!("{key}.")).suffix(".scrap").tempfile_in(&folder);
        let (_, path) = made.map_err(disk(&folder))?.keep().map_err(|error| disk(&folder)(error.error))?;
        // Git takes an empty file for a broken index.
        fs::remove_file(&path).map_err(disk(&folder))?;
        Ok(Scrap(path))
    }
}

pub(super) fn old(then: SystemTime, limit: Duration) -> bool {
    SystemTime::now().duration_since(then).is_ok_and(|age| age > limit)
}

/// The names between NULs.
pub(super) fn parts(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    bytes.split(|byte| *byte == 0).filter(|part| !part.is_empty())
}

pub(super) fn joined<'p>(names: impl IntoIterator<Item = &'p [u8]>) -> Vec<u8> {
    let unique: BTreeSet<&[u8]> = names.into_iter().collect();
    unique.into_iter().flat_map(|name| name.iter().copied().chain([0])).collect()
}

fn one_line(reason: &str) -> String {
    let line: String = reason.chars().map(|char| if char.is_control() { ' ' } else { char }).take(200).collect();
    if line.trim().is_empty() { "checkpoint".to_owned() } else { line.trim().to_owned() }
}

/// Git tells by the time of the index which files may have changed unseen, so a copy keeps it.
fn copy_with_time(from: &Path, to: &Path) -> Result<(), CheckpointFault> {
    let copied = fs::metadata(from).and_then(|known| {
        fs::copy(from, to)?;
        File::options().write(true).open(to)?.set_times(FileTimes::new().set_modified(known.modified()?))
    });
    match copied {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(disk(from)(error)),
        _ => Ok(()),
    }
}

/// Writes beside the file and renames.
pub(super) fn replace(path: &Path, content: &[u8]) -> Result<(), CheckpointFault> {
    let folder = path.parent().unwrap_or(Path::new("."));
    let made = tempfile::NamedTempFile::new_in(folder).and_then(|mut file| {
        io::Write::write_all(&mut file, content)?;
        file.persist(path).map_err(|error| error.error)
    });
    made.map(drop).map_err(disk(path))
}
