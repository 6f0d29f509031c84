//! Looking at snapshots and going back to one.
//!
//! Going back makes the kept files of the project equal to the snapshot. The state before is a snapshot of its own, so
//! every way back can be taken back; what is in no snapshot (excluded, ignored, too large) is never touched.

use super::git::Bench;
use super::project::Project;
use super::store::{CheckpointFault, ProjectTurn, Staged, Store, disk, joined, parts};
use jiff::Timestamp;
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Component, Path, PathBuf};
use std::str::FromStr;

const MOST_DIFF: u64 = 1 << 20;

/// One snapshot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checkpoint {
    /// 1 is the newest.
    pub number: usize,
    pub hash: String,
    pub taken: Timestamp,
    pub reason: String,
    /// How it differs from the snapshot before it, in git's words: `2 files changed, 3 insertions(+)`.
    pub changes: String,
}

/// A checkpoint as a person names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Which {
    Number(usize),
    /// 4 to 64 hexadecimal digits.
    Hash(String),
}

impl FromStr for Which {
    type Err = CheckpointFault;

    fn from_str(text: &str) -> Result<Self, CheckpointFault> {
        let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        let hash = (4..=64).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        match text.parse() {
            Ok(number) if digits && text.len() < 4 => Ok(Self::Number(number)),
            _ if hash => Ok(Self::Hash(text.to_ascii_lowercase())),
            _ => Err(CheckpointFault::NotANumber(text.to_owned())),
        }
    }
}

/// How the project differs from a snapshot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Changes {
    pub since: Checkpoint,
    /// A line for each file.
    pub summary: String,
    pub diff: String,
    /// The diff goes on; only its beginning is here.
    pub cut: bool,
}

/// What going back did. Paths are below the project.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Restored {
    pub project: PathBuf,
    pub to: Checkpoint,
    /// The snapshot of the state before, when it was not one already.
    pub before: Option<String>,
    pub written: Vec<PathBuf>,
    pub removed: Vec<PathBuf>,
    /// What could not be brought back, and why.
    pub failed: Vec<(PathBuf, String)>,
}

impl Store {
    pub(super) async fn list(&self, project: &Project, most: usize) -> Result<Vec<Checkpoint>, CheckpointFault> {
        if !self.exists() {
            return Ok(Vec::new());
        }
        let reference = project.reference();
        let known = ["for-each-ref", "--format=%(objectname)", &reference];
        if self.git.line(Bench::default(), &known, Vec::new()).await?.is_empty() {
            return Ok(Vec::new());
        }
        let count = format!("--max-count={most}");
        let format = "--format=%x1e%H%x1f%ct%x1f%s%x1f";
        let args = ["log", "--first-parent", &count, format, "--shortstat", "--no-ext-diff", "--no-textconv", &reference];
        let printed = self.git.run(Bench::default(), &args, Vec::new()).await?;
        let text = String::from_utf8_lossy(&printed);
        Ok(text.split('\u{1e}').skip(1).enumerate().filter_map(|(place, record)| read(place + 1, record)).collect())
    }

    pub(super) async fn find(
        &self,
        project: &Project,
        which: &Which,
        most: usize,
    ) -> Result<Checkpoint, CheckpointFault> {
        let all = self.list(project, most).await?;
        match which {
            Which::Number(number) => {
                let found = all.into_iter().find(|one| one.number == *number);
                found.ok_or_else(|| CheckpointFault::Unknown(number.to_string()))
            }
            Which::Hash(hash) => {
                let mut fitting = all.into_iter().filter(|one| one.hash.starts_with(hash.as_str()));
                match (fitting.next(), fitting.next()) {
                    (Some(found), None) => Ok(found),
                    (None, _) => Err(CheckpointFault::Unknown(hash.clone())),
                    (Some(_), Some(_)) => Err(CheckpointFault::Ambiguous(hash.clone())),
                }
            }
        }
    }

    /// From the snapshot to the files as they are.
    pub(super) async fn changes(&self, since: Checkpoint, staged: &Staged) -> Result<Changes, CheckpointFault> {
        let plain = ["--no-ext-diff", "--no-textconv", "--no-color", "-M", since.hash.as_str(), staged.tree.as_str()];
        let with = |first: [&'static str; 2]| first.into_iter().chain(plain).collect::<Vec<_>>();
        let summary = self.git.run_up_to(MOST_DIFF, Bench::default(), &with(["diff", "--stat=100"]), Vec::new()).await?;
        let diff = self.git.run_up_to(MOST_DIFF, Bench::default(), &with(["diff", "--patch"]), Vec::new()).await?;
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        Ok(Changes { summary: text(&summary.bytes), diff: text(&diff.bytes), cut: diff.cut || summary.cut, since })
    }

    /// Makes the files, or the one that is wanted, equal to the snapshot. `staged` is the state before, already kept.
    pub(super) async fn go_back(
        &self,
        project: &Project,
        to: Checkpoint,
        only: Option<&Path>,
        (staged, before): (&Staged, Option<String>),
        _turn: &ProjectTurn,
    ) -> Result<Restored, CheckpointFault> {
        let args = ["diff-tree", "-r", "-z", "--no-renames", staged.tree.as_str(), to.hash.as_str()];
        let printed = self.git.run(Bench::default(), &args, Vec::new()).await?;
        let wanted = |path: &Path| only.is_none_or(|only| path.starts_with(only));
        let changed: Vec<Changed> = read_changes(&printed).into_iter().filter(|one| wanted(&one.path)).collect();
        let mut restored =
            Restored { project: project.root.clone(), to, before, written: vec![], removed: vec![], failed: vec![] };
        let (gone, written): (Vec<Changed>, Vec<Changed>) = changed.into_iter().partition(|one| one.status == b'D');
        for one in gone {
            match remove(&project.root, &one.path) {
                Ok(()) => restored.removed.push(one.path),
                Err(reason) => restored.failed.push((one.path, reason.to_string())),
            }
        }
        let (blocked, written): (Vec<Changed>, Vec<Changed>) =
            written.into_iter().partition(|one| real_directory(&project.root.join(&one.path)));
        // Git would remove the directory with all that is in it, also what no snapshot has.
        let reason = || "a directory with other files is in its place".to_owned();
        restored.failed.extend(blocked.into_iter().map(|one| (one.path, reason())));
        self.write_out(project, &mut restored, written).await?;
        Ok(restored)
    }

    async fn write_out(
        &self,
        project: &Project,
        restored: &mut Restored,
        files: Vec<Changed>,
    ) -> Result<(), CheckpointFault> {
        if files.is_empty() {
            return Ok(());
        }
        let modes: BTreeMap<PathBuf, u32> = files.iter().filter_map(|one| mode_now(project, one)).collect();
        let index = self.scrap(&project.key)?;
        let bench = Bench { tree: Some(&project.root), index: Some(&index.0), date: None };
        self.git.run(bench, &["read-tree", &restored.to.hash], Vec::new()).await?;
        let names = joined(files.iter().map(|one| one.path.as_os_str().as_bytes()));
        let outcome = self.git.run(bench, &["checkout-index", "-f", "-u", "-q", "-z", "--stdin"], names).await;
        // One file that cannot be written does not hide what became of the others: git is asked afterwards.
        let missed = self.git.run(bench, &["diff-files", "-z", "--name-only"], Vec::new()).await?;
        let missed: Vec<&Path> = parts(&missed).map(|name| Path::new(OsStr::from_bytes(name))).collect();
        let reason = outcome.err().map_or_else(|| "it changed meanwhile".to_owned(), |fault| fault.to_string());
        for one in files {
            if missed.contains(&one.path.as_path()) {
                restored.failed.push((one.path, reason.clone()));
                continue;
            }
            if let Some(mode) = modes.get(&one.path) {
                let path = project.root.join(&one.path);
                // Who may read a file is not in a snapshot; it stays as it was.
                let mode = (mode & 0o666) | if one.executable { (mode & 0o444) >> 2 } else { 0 };
                fs::set_permissions(&path, fs::Permissions::from_mode(mode)).map_err(disk(&path))?;
            }
            restored.written.push(one.path);
        }
        Ok(())
    }

    /// The path below the project that a person means, and whether the snapshot has it.
    pub(super) async fn wanted(
        &self,
        project: &Project,
        dir: &Path,
        file: &Path,
        to: &Checkpoint,
    ) -> Result<PathBuf, CheckpointFault> {
        let below = below(project, dir, file)?;
        let given = below.to_str().map(str::to_owned);
        let listed = self.git.run(Bench::default(), &["ls-tree", "-r", "-z", "--name-only", &to.hash], Vec::new()).await?;
        let there = parts(&listed).any(|name| Path::new(OsStr::from_bytes(name)).starts_with(&below));
        if there {
            return Ok(below);
        }
        let file = given.unwrap_or_else(|| below.to_string_lossy().into_owned());
        Err(CheckpointFault::NotInCheckpoint { file, checkpoint: to.number.to_string() })
    }
}

fn read(number: usize, record: &str) -> Option<Checkpoint> {
    let mut fields = record.split('\u{1f}');
    let (hash, time, reason, rest) = (fields.next()?, fields.next()?, fields.next()?, fields.next()?);
    let taken = Timestamp::from_second(time.parse().ok()?).ok()?;
    Some(Checkpoint { number, hash: hash.to_owned(), taken, reason: reason.to_owned(), changes: rest.trim().to_owned() })
}

struct Changed {
    status: u8,
    executable: bool,
    path: PathBuf,
}

/// `:100644 100755 <hash> <hash> M`, then the name.
fn read_changes(printed: &[u8]) -> Vec<Changed> {
    let mut parts = parts(printed);
    let mut changes = Vec::new();
    while let (Some(head), Some(name)) = (parts.next(), parts.next()) {
        let status = head.last().copied().unwrap_or_default();
        let executable = head.split(|byte| *byte == b' ').nth(1) == Some(b"100755".as_slice());
        changes.push(Changed { status, executable, path: PathBuf::from(OsStr::from_bytes(name)) });
    }
    changes
}

fn mode_now(project: &Project, one: &Changed) -> Option<(PathBuf, u32)> {
    let known = fs::symlink_metadata(project.root.join(&one.path)).ok()?;
    (one.status == b'M' && known.is_file()).then(|| (one.path.clone(), known.permissions().mode() & 0o777))
}

fn real_directory(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|known| known.is_dir())
}

/// Removes one file, and the directories that it leaves empty. Nothing is reached through a link.
fn remove(root: &Path, below: &Path) -> std::io::Result<()> {
    let parents = below.ancestors().skip(1).filter(|parent| !parent.as_os_str().is_empty());
    if parents.clone().any(|parent| !real_directory(&root.join(parent))) {
        return Err(std::io::Error::other("a link is in its way"));
    }
    fs::remove_file(root.join(below))?;
    for parent in parents {
        if fs::remove_dir(root.join(parent)).is_err() {
            break;
        }
    }
    Ok(())
}

fn below(project: &Project, dir: &Path, file: &Path) -> Result<PathBuf, CheckpointFault> {
    let outside = || CheckpointFault::Outside(file.display().to_string());
    let dir = dir.canonicalize().map_err(|_| outside())?;
    let mut path = PathBuf::new();
    for component in dir.join(file).components() {
        match component {
            Component::ParentDir => drop(path.pop()),
            Component::CurDir => {}
            other => path.push(other),
        }
    }
    let inside = |path: &Path| path.strip_prefix(&project.root).ok().map(Path::to_owned);
    let resolved = || Some(path.parent()?.canonicalize().ok()?.join(path.file_name()?));
    let found = inside(&path).or_else(|| inside(&resolved()?));
    found.filter(|below| !below.as_os_str().is_empty()).ok_or_else(outside)
}
