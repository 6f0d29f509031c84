//! Clearing up: snapshots beyond the count, beyond their age, beyond the size of the store, and of projects that are
//! gone. A shorter history is written anew with the same trees and dates, then the reference moves; killed in between,
//! the old history is still there.

use super::CheckpointSettings;
use super::git::Bench;
use super::lock::{Turn, take};
use super::store::{CheckpointFault, Store, disk, old, replace, seconds};
use std::fs;
use std::path::Path;
use std::time::{Duration, SystemTime};

const WAIT_FOR_ALL: Duration = Duration::from_secs(5);
const DAY: f64 = 86_400.0;
/// Scraps of killed processes.
const LITTER: Duration = Duration::from_secs(3_600);
/// Each round drops the older half of what is left.
const MOST_ROUNDS: usize = 8;

/// What clearing up did.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Pruned {
    pub projects: usize,
    pub snapshots: usize,
    pub bytes: u64,
}

struct Snapshot {
    commit: String,
    tree: String,
    time: i64,
    reason: String,
}

impl Store {
    /// Clears up if that was not done for a while. `None`: it is not time yet, or somebody is at work.
    pub(super) async fn tidy_if_due(&self, settings: &CheckpointSettings) -> Result<Option<Pruned>, CheckpointFault> {
        let stamp = self.folder.join(".last_prune");
        let interval = Duration::from_secs(settings.min_interval_hours.saturating_mul(3_600));
        let due = fs::metadata(&stamp).and_then(|known| known.modified()).map_or(true, |then| old(then, interval));
        if !settings.auto_prune || !due || !self.exists() {
            return Ok(None);
        }
        let pruned = self.tidy(settings).await?;
        replace(&stamp, format!("{}\n", seconds(SystemTime::now())).as_bytes())?;
        Ok(Some(pruned))
    }

    pub(super) async fn tidy(&self, settings: &CheckpointSettings) -> Result<Pruned, CheckpointFault> {
        let mut pruned = Pruned::default();
        if !self.exists() {
            return Ok(pruned);
        }
        let lock = self.store_lock();
        // Alone: packing removes what nothing refers to yet, such as the files of a snapshot that is just being taken.
        let _alone = take(&lock, Turn::Alone, WAIT_FOR_ALL).await.map_err(disk(&lock))?;
        let before = size(self.path());
        self.sweep();
        let now = seconds(SystemTime::now());
        let oldest = now - settings.retention_days as f64 * DAY;
        for key in self.keys().await? {
            let note = self.read_note(&key);
            let orphan = note.as_ref().is_some_and(|note| !Path::new(&note.workdir).is_dir());
            let history = self.history(&key).await?;
            let touched = note.map(|note| note.last_touch).or(history.first().map(|one| one.time as f64));
            if (orphan && settings.delete_orphans) || touched.is_some_and(|time| time < oldest) {
                self.forget(&key).await?;
                pruned.projects += 1;
                pruned.snapshots += history.len();
                continue;
            }
            // The newest stays as long as the project is in use.
            let young = history.iter().filter(|one| one.time as f64 >= oldest).count().max(1);
            pruned.snapshots += self.shorten(&key, &history, young.min(settings.max_snapshots.max(1))).await?;
        }
        self.pack().await?;
        self.fit(settings.max_total_size_mb.saturating_mul(1 << 20), &mut pruned).await?;
        pruned.bytes = before.saturating_sub(size(self.path()));
        Ok(pruned)
    }

    /// Halves histories until the store fits, the projects with the most snapshots first; then forgets projects.
    async fn fit(&self, most: u64, pruned: &mut Pruned) -> Result<(), CheckpointFault> {
        for _ in 0..MOST_ROUNDS {
            if size(self.path()) <= most {
                return Ok(());
            }
            let mut histories = Vec::new();
            for key in self.keys().await? {
                histories.push((self.history(&key).await?, key));
            }
            let longest = histories.iter().map(|(history, _)| history.len()).max().unwrap_or_default();
            match longest {
                0 => return Ok(()),
                1 => {
                    let oldest = histories.iter().min_by_key(|(history, _)| history.first().map(|one| one.time));
                    if let Some((history, key)) = oldest {
                        self.forget(key).await?;
                        pruned.projects += 1;
                        pruned.snapshots += history.len();
                    }
                }
                longest => {
                    for (history, key) in &histories {
                        pruned.snapshots += self.shorten(key, history, history.len().min(longest / 2)).await?;
                    }
                }
            }
            self.pack().await?;
        }
        Ok(())
    }

    /// Keeps a history from growing without end between two clearings.
    pub(super) async fn trim(&self, key: &str, most: usize) -> Result<(), CheckpointFault> {
        let history = self.history(key).await?;
        if history.len() > most.max(1).saturating_mul(2) {
            self.shorten(key, &history, most.max(1)).await?;
        }
        Ok(())
    }

    async fn keys(&self) -> Result<Vec<String>, CheckpointFault> {
        let args = ["for-each-ref", "--format=%(refname:lstrip=2)", "refs/hermes"];
        let printed = self.git.line(Bench::default(), &args, Vec::new()).await?;
        Ok(printed.lines().filter(|key| key.bytes().all(|byte| byte.is_ascii_hexdigit())).map(str::to_owned).collect())
    }

    /// The newest first.
    async fn history(&self, key: &str) -> Result<Vec<Snapshot>, CheckpointFault> {
        let reference = format!("refs/hermes/{key}");
        let args = ["log", "--first-parent", "--format=%H%x1f%T%x1f%ct%x1f%s", &reference];
        let printed = self.git.line(Bench::default(), &args, Vec::new()).await?;
        Ok(printed.lines().filter_map(read).collect())
    }

    /// Writes the newest `keep` snapshots anew, without those before them. Gives how many were dropped.
    async fn shorten(&self, key: &str, history: &[Snapshot], keep: usize) -> Result<usize, CheckpointFault> {
        if keep == 0 || history.len() <= keep {
            return Ok(0);
        }
        let mut parent: Option<String> = None;
        for one in history.iter().take(keep).rev() {
            let mut args = vec!["commit-tree", one.tree.as_str()];
            args.extend(parent.iter().flat_map(|parent| ["-p", parent.as_str()]));
            let bench = Bench { date: Some(one.time), ..Bench::default() };
            parent = Some(self.git.line(bench, &args, one.reason.clone().into_bytes()).await?);
        }
        if let (Some(new), Some(newest)) = (parent, history.first()) {
            let reference = format!("refs/hermes/{key}");
            self.git.run(Bench::default(), &["update-ref", &reference, &new, &newest.commit], Vec::new()).await?;
        }
        Ok(history.len() - keep)
    }

    async fn forget(&self, key: &str) -> Result<(), CheckpointFault> {
        let reference = format!("refs/hermes/{key}");
        self.git.run(Bench::default(), &["update-ref", "-d", &reference], Vec::new()).await?;
        for path in [self.index(key), self.note(key)] {
            if let Err(error) = fs::remove_file(&path)
                && error.kind() != std::io::ErrorKind::NotFound
            {
                return Err(disk(&path)(error));
            }
        }
        Ok(())
    }

    /// Indexes refer to files too, and git does not know of them: those of the last snapshots are in the histories.
    async fn pack(&self) -> Result<(), CheckpointFault> {
        self.git.run(Bench::default(), &["gc", "--quiet", "--prune=now"], Vec::new()).await?;
        Ok(())
    }

    /// What killed processes left behind.
    fn sweep(&self) {
        let scraps = [(self.path().join("indexes"), ".scrap"), (self.folder.clone(), "new-store.")];
        for (folder, mark) in scraps {
            for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
                let aged = entry.metadata().and_then(|known| known.modified()).is_ok_and(|then| old(then, LITTER));
                if entry.file_name().to_string_lossy().contains(mark) && aged {
                    let path = entry.path();
                    let swept = if path.is_dir() { fs::remove_dir_all(&path) } else { fs::remove_file(&path) };
                    if let Err(error) = swept {
                        tracing::debug!(path = %path.display(), %error, "a scrap stays");
                    }
                }
            }
        }
    }
}

fn read(line: &str) -> Option<Snapshot> {
    let mut fields = line.split('\u{1f}').map(str::to_owned);
    let (commit, tree, time, reason) = (fields.next()?, fields.next()?, fields.next()?, fields.next()?);
    Some(Snapshot { commit, tree, time: time.parse().ok()?, reason })
}

/// All bytes below a directory.
pub(super) fn size(folder: &Path) -> u64 {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries
        .map(|entry| match entry.metadata() {
            Ok(known) if known.is_dir() => size(&entry.path()),
            Ok(known) => known.len(),
            Err(_) => 0,
        })
        .sum()
}
