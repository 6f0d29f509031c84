//! Snapshots of a project before it is changed, and the way back to them.
//!
//! All snapshots live in one store below the home of Hermes; the project and its own repository are never written to
//! except by [`Checkpoints::restore`]. Taking a snapshot never fails a tool: what goes wrong is told to the log.
//! Several processes share the store ([`lock`]), and one that is killed leaves it usable ([`store`]).

mod destructive;
mod git;
mod history;
mod lock;
mod project;
mod prune;
mod store;

pub use destructive::looks_destructive;
pub use git::GitFault;
pub use history::{Changes, Checkpoint, Restored, Which};
pub use project::NoProject;
pub use prune::Pruned;
pub use store::CheckpointFault;

use crate::settings::Settings;
use git::Git;
use project::Project;
use serde::Deserialize;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use store::Store;
use tokio::sync::OnceCell;

/// `checkpoints.*`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct CheckpointSettings {
    pub enabled: bool,
    pub max_snapshots: usize,
    pub max_total_size_mb: u64,
    pub max_file_size_mb: u64,
    pub auto_prune: bool,
    pub retention_days: u64,
    pub delete_orphans: bool,
    pub min_interval_hours: u64,
}

impl Default for CheckpointSettings {
    fn default() -> Self {
        Self {
            enabled: false,
            max_snapshots: 20,
            max_total_size_mb: 500,
            max_file_size_mb: 10,
            auto_prune: true,
            retention_days: 7,
            delete_orphans: true,
            min_interval_hours: 24,
        }
    }
}

/// The shadow store of snapshots.
pub struct Checkpoints {
    settings: CheckpointSettings,
    home: PathBuf,
    store: Store,
    /// The projects that have had their snapshot in this turn. Whoever comes second waits for the first.
    taken: Mutex<HashMap<Project, Arc<OnceCell<()>>>>,
}

impl Checkpoints {
    pub fn new(settings: &Settings) -> Self {
        let (own, around) = (settings.checkpoints.clone(), &settings.around);
        let folder = around.hermes_home.join("checkpoints");
        let git = Git::new(folder.join("store"), around.variables.get("PATH").cloned());
        let store = Store { git, folder, largest_file: own.max_file_size_mb.saturating_mul(1 << 20) };
        Self { settings: own, home: around.home.clone(), store, taken: Mutex::default() }
    }

    /// From now on the first change of each project gets a snapshot again.
    pub fn begin_turn(&self) {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }

    /// Keeps the state of the project around a file or directory, once in a turn. Returns when it is safe to change it.
    pub async fn before_change(&self, path_or_cwd: &Path, reason: &str) {
        if !self.settings.enabled {
            return;
        }
        let project = match Project::around(path_or_cwd, &self.home) {
            Ok(project) => project,
            Err(why) => return tracing::debug!(%why, "no checkpoint"),
        };
        let taken = {
            let mut all = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
            all.entry(project.clone()).or_default().clone()
        };
        let once = || async {
            match self.take(&project, reason).await {
                Ok(Some(hash)) => tracing::debug!(project = %project.root.display(), hash, "checkpoint"),
                Ok(None) => {}
                Err(fault) => tracing::warn!(project = %project.root.display(), %fault, "no checkpoint was taken"),
            }
        };
        taken.get_or_init(once).await;
    }

    async fn take(&self, project: &Project, reason: &str) -> Result<Option<String>, CheckpointFault> {
        let turn = self.store.turn(project).await?;
        let staged = self.store.stage(project, &turn).await?;
        let taken = self.store.commit(project, &staged, reason).await?;
        if taken.is_some() {
            self.store.trim(&project.key, self.settings.max_snapshots).await?;
        }
        Ok(taken)
    }

    /// The snapshots of the project around a directory, the newest first.
    pub async fn list(&self, dir: &Path) -> Result<Vec<Checkpoint>, CheckpointFault> {
        self.store.list(&Project::around(dir, &self.home)?, self.settings.max_snapshots).await
    }

    /// How the project differs from a snapshot now.
    pub async fn diff(&self, dir: &Path, which: &Which) -> Result<Changes, CheckpointFault> {
        let project = Project::around(dir, &self.home)?;
        let since = self.store.find(&project, which, self.settings.max_snapshots).await?;
        let turn = self.store.turn(&project).await?;
        let staged = self.store.stage(&project, &turn).await?;
        self.store.changes(since, &staged).await
    }

    /// Goes back to a snapshot, as a whole or with one file or directory. The state before is kept first; where that is
    /// not possible nothing is changed.
    pub async fn restore(&self, dir: &Path, which: &Which, file: Option<&Path>) -> Result<Restored, CheckpointFault> {
        let project = Project::around(dir, &self.home)?;
        let to = self.store.find(&project, which, self.settings.max_snapshots).await?;
        let only = match file {
            Some(file) => Some(self.store.wanted(&project, dir, file, &to).await?),
            None => None,
        };
        let turn = self.store.turn(&project).await?;
        let staged = self.store.stage(&project, &turn).await?;
        let short: String = to.hash.chars().take(8).collect();
        let before = self.store.commit(&project, &staged, &format!("before going back to {short}")).await?;
        self.store.go_back(&project, to, only.as_deref(), (&staged, before), &turn).await
    }

    /// Clears up the store if that was not done for a while. For the beginning or the end of a conversation: it can take
    /// a minute.
    pub async fn tidy_if_due(&self) -> Result<Option<Pruned>, CheckpointFault> {
        self.store.tidy_if_due(&self.settings).await
    }

    /// Clears up the store now.
    pub async fn tidy(&self) -> Result<Pruned, CheckpointFault> {
        self.store.tidy(&self.settings).await
    }
}
