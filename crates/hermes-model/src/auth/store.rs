//! `auth.json` on disk: read without a lock, changed only under one.
//!
//! A change is a function from the document as it is on disk at that moment to the next one, so two processes never
//! overwrite each other's work. A file that cannot be parsed is copied aside before anything replaces it; a file that
//! cannot be read is an error and stays untouched.

use super::document::Document;
use super::error::{AuthCode, AuthError};
use super::lock::FileLock;
use super::{AuthPaths, files, moment};
use hermes_core::clock::Clock;
use jiff::Timestamp;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

const LOCK_PATIENCE: Duration = Duration::from_secs(15);

/// The store of one home.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuthStore {
    home: PathBuf,
    /// The root home, when this store is that of a profile.
    root: Option<PathBuf>,
}

/// What was on disk, and what a person should know about it.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Loaded {
    pub document: Document,
    pub warning: Option<StoreWarning>,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StoreWarning {
    #[error("{} is not valid JSON; it was copied to {} and logins start empty. Log in again, or repair the copy and put it back", path.display(), copy.display())]
    Corrupt { path: PathBuf, copy: PathBuf },
    #[error("{} cannot be read: {reason}. Stored logins are not used", path.display())]
    Unreadable { path: PathBuf, reason: String },
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StoreError {
    #[error("another process has been holding {} for {} s; try again when it is done", path.display(), waited.as_secs())]
    Busy { path: PathBuf, waited: Duration },
    #[error("{} cannot be used: {reason}", path.display())]
    Unusable { path: PathBuf, reason: String },
}

/// The store while nobody else may change it. Work on files holds the lock too, so that a caller who hangs up does not
/// let others in before his write has landed.
#[derive(Debug)]
pub(super) struct Locked {
    path: PathBuf,
    lock: Arc<FileLock>,
}

impl AuthStore {
    pub fn new(paths: &AuthPaths) -> Self {
        Self { home: paths.home.clone(), root: paths.root.clone() }
    }

    pub fn path(&self) -> PathBuf {
        self.home.join("auth.json")
    }

    /// The store this one falls back to.
    pub fn root(&self) -> Option<Self> {
        self.root.as_ref().map(|home| Self { home: home.clone(), root: None })
    }

    /// What is on disk now. Needs no lock: a reader sees the old file or the new one.
    pub async fn load(&self) -> Result<Loaded, StoreError> {
        load(self.path()).await
    }

    /// The store that holds what `owns` looks for: this one, else the root's, else this one.
    pub async fn holding(&self, owns: impl Fn(&Document) -> bool) -> Result<Self, StoreError> {
        let Some(root) = self.root() else { return Ok(self.clone()) };
        if owns(&self.load().await?.document) || !owns(&root.load().await?.document) {
            return Ok(self.clone());
        }
        Ok(root)
    }

    /// Changes the document under the lock. Nothing is written when nothing changed.
    pub async fn edit<T>(&self, clock: &dyn Clock, change: impl FnOnce(&mut Document) -> T) -> Result<T, StoreError> {
        let locked = self.lock(clock, LOCK_PATIENCE).await?;
        locked.edit(moment::now(clock), change).await
    }

    pub(super) async fn lock(&self, clock: &dyn Clock, patience: Duration) -> Result<Locked, StoreError> {
        let path = self.home.join("auth.lock");
        let unusable = |error: io::Error| StoreError::unusable(&path, &error);
        // The home of a profile was made on purpose; when it is gone, somebody deleted the profile.
        if self.root.is_none() || self.home.is_dir() {
            let home = self.home.clone();
            files::off_thread(move || files::private_folder(&home)).await.map_err(unusable)?;
        }
        let lock = FileLock::acquire(&path, clock, patience.max(LOCK_PATIENCE)).await.map_err(unusable)?;
        match lock {
            Some(lock) => Ok(Locked { path: self.path(), lock: Arc::new(lock) }),
            None => Err(StoreError::Busy { path, waited: patience.max(LOCK_PATIENCE) }),
        }
    }
}

impl Locked {
    pub(super) async fn read(&self) -> Result<Document, StoreError> {
        let loaded = load(self.path.clone()).await?;
        if let Some(warning) = loaded.warning {
            tracing::warn!(%warning, "stored logins");
        }
        Ok(loaded.document)
    }

    pub(super) async fn edit<T>(
        &self,
        now: Timestamp,
        change: impl FnOnce(&mut Document) -> T,
    ) -> Result<T, StoreError> {
        let before = self.read().await?;
        let mut after = before.clone();
        let result = change(&mut after);
        if after != before {
            let path = self.path.clone();
            let write = move || files::replace(&path, &after.to_bytes(now)?);
            self.work(write).await.map_err(|error| StoreError::unusable(&self.path, &error))?;
        }
        Ok(result)
    }

    /// Runs file work that ends under the lock it began under, whether or not somebody waits for it.
    pub(super) async fn work<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> io::Result<T> + Send + 'static,
    ) -> io::Result<T> {
        let lock = Arc::clone(&self.lock);
        files::off_thread(move || {
            let done = work();
            drop(lock);
            done
        })
        .await
    }

    /// Proves that a file can be replaced, before something is done that cannot be done twice.
    pub(super) async fn prove_writable(&self, path: &Path) -> Result<(), StoreError> {
        let target = path.to_owned();
        self.work(move || files::prove_writable(&target)).await.map_err(|error| StoreError::unusable(path, &error))
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }
}

async fn load(path: PathBuf) -> Result<Loaded, StoreError> {
    let name = path.clone();
    files::off_thread(move || read(&path)).await.map_err(|error| StoreError::unusable(&name, &error))
}

/// The document in a file, read here and now. What cannot be understood is copied aside.
pub(super) fn read(path: &Path) -> io::Result<Loaded> {
    let Some(bytes) = files::read(path)? else { return Ok(Loaded::default()) };
    if let Some(document) = Document::parse(&bytes) {
        return Ok(Loaded { document, warning: None });
    }
    let copy = path.with_file_name("auth.json.corrupt");
    files::replace(&copy, &bytes)?;
    let warning = Some(StoreWarning::Corrupt { path: path.to_owned(), copy });
    Ok(Loaded { document: Document::default(), warning })
}

impl StoreError {
    pub(super) fn unusable(path: &Path, error: &io::Error) -> Self {
        Self::Unusable { path: path.to_owned(), reason: error.to_string() }
    }

    pub(super) fn about(self, provider: &str) -> AuthError {
        let code = match self {
            Self::Busy { .. } => AuthCode::StoreBusy,
            Self::Unusable { .. } => AuthCode::StoreUnusable,
        };
        AuthError::new(provider, code, self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hermes_core::clock::RealClock;
    use serde_json::{Value, json};
    use std::fs;

    fn store(home: &Path) -> AuthStore {
        AuthStore::new(&AuthPaths::root(home))
    }

    fn on_disk(path: &Path) -> Value {
        let mut value: Value = serde_json::from_slice(&fs::read(path).expect("a file")).expect("JSON");
        value.as_object_mut().expect("an object").remove("updated_at");
        value
    }

    #[tokio::test]
    async fn an_edit_keeps_what_it_does_not_know() {
        let home = tempfile::tempdir().expect("a home");
        let store = store(home.path());
        let before = json!({
            "version": 1, "future": {"a": [1, null]}, "active_provider": "nous",
            "providers": {"zai": {"detected_endpoint": {"label": "x"}}, "nous": {"access_token": "t", "odd": 7}},
            "credential_pool": {"groq": [{"id": "1", "source": "manual", "access_token": "k", "tls": {"insecure": false}}]},
        });
        fs::write(store.path(), before.to_string()).expect("written");
        store.edit(&RealClock::default(), |document| document.suppress("groq", "env:X")).await.expect("edited");
        let mut expected = before;
        expected["suppressed_sources"] = json!({"groq": ["env:X"]});
        assert_eq!(on_disk(&store.path()), expected);
    }

    #[tokio::test]
    async fn a_broken_file_is_set_aside_and_never_lost() {
        let home = tempfile::tempdir().expect("a home");
        let store = store(home.path());
        fs::write(store.path(), "{\"providers\": {\"nous\": ").expect("written");
        let copy = home.path().join("auth.json.corrupt");
        let loaded = store.load().await.expect("loaded");
        let warning = StoreWarning::Corrupt { path: store.path(), copy: copy.clone() };
        assert_eq!(loaded, Loaded { document: Document::default(), warning: Some(warning) });
        assert_eq!(fs::read_to_string(copy).expect("kept"), "{\"providers\": {\"nous\": ");
        store.edit(&RealClock::default(), |document| document.activate_first("nous")).await.expect("edited");
        assert_eq!(on_disk(&store.path()), json!({"version": 1, "active_provider": "nous"}));
    }

    #[tokio::test]
    async fn a_file_that_cannot_be_read_is_not_replaced() {
        let home = tempfile::tempdir().expect("a home");
        let store = store(home.path());
        fs::create_dir(store.path()).expect("a folder in the way");
        let edited = store.edit(&RealClock::default(), |document| document.activate_first("nous")).await;
        let expected = StoreError::Unusable { path: store.path(), reason: "not a regular file".into() };
        assert_eq!(edited, Err(expected));
        assert!(store.path().is_dir());
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn many_writers_lose_nothing() {
        let home = tempfile::tempdir().expect("a home");
        let mut writers = tokio::task::JoinSet::new();
        for number in 0..8 {
            let store = store(home.path());
            writers.spawn(async move {
                let add = |document: &mut Document| document.suppress("groq", &format!("env:K{number}"));
                store.edit(&RealClock::default(), add).await.expect("edited");
            });
        }
        writers.join_all().await;
        let mut sources = store(home.path()).load().await.expect("loaded").document.suppressed("groq");
        sources.sort();
        assert_eq!(sources, (0..8).map(|number| format!("env:K{number}")).collect::<Vec<_>>());
    }

    #[tokio::test]
    async fn a_lock_held_by_another_process_is_waited_for_and_reported() {
        use super::super::rehearsal::SkippingClock;
        let home = tempfile::tempdir().expect("a home");
        let (mine, theirs) = (store(home.path()), store(home.path()));
        let clock = SkippingClock::default();
        let held = theirs.lock(&clock, Duration::ZERO).await.expect("free");
        let busy = mine.edit(&clock, |document| document.activate_first("nous")).await;
        let expected = StoreError::Busy { path: home.path().join("auth.lock"), waited: Duration::from_secs(15) };
        assert_eq!((busy, clock.elapsed()), (Err(expected), Duration::from_secs(15)));
        assert!(!mine.path().exists());
        drop(held);
        mine.edit(&clock, |document| document.activate_first("nous")).await.expect("free again");
    }

    /// Whoever hangs up in the middle of a write keeps the others out until it has landed (promise P16).
    #[tokio::test]
    async fn a_dropped_edit_keeps_the_lock_until_its_write_has_landed() {
        let home = tempfile::tempdir().expect("a home");
        let (store, clock) = (store(home.path()), RealClock::default());
        let (finish, finished) = std::sync::mpsc::channel::<()>();
        let locked = store.lock(&clock, Duration::ZERO).await.expect("free");
        {
            let mut writing = Box::pin(locked.work(move || {
                finished.recv().map_err(io::Error::other)?;
                Ok(())
            }));
            assert!(futures_util::FutureExt::now_or_never(&mut writing).is_none(), "it waits");
        }
        drop(locked);
        let lock_file = home.path().join("auth.lock");
        let free = || FileLock::acquire(&lock_file, &clock, Duration::ZERO);
        assert!(free().await.expect("a file").is_none(), "the write is still under way");
        finish.send(()).expect("heard");
        let patient = FileLock::acquire(&lock_file, &clock, Duration::from_secs(10)).await.expect("a file");
        assert!(patient.is_some(), "the write has landed");
    }

    #[cfg(unix)]
    #[tokio::test]
    async fn home_and_file_are_private_and_a_deleted_profile_stays_deleted() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().expect("a folder");
        let home = folder.path().join("home");
        store(&home).edit(&RealClock::default(), |document| document.activate_first("nous")).await.expect("edited");
        let mode = |path: &Path| fs::metadata(path).expect("there").permissions().mode() & 0o777;
        assert_eq!((mode(&home), mode(&home.join("auth.json"))), (0o700, 0o600));

        let gone = home.join("profiles/gone");
        let profile = AuthStore { home: gone.clone(), root: Some(home) };
        assert!(profile.edit(&RealClock::default(), |document| document.activate_first("nous")).await.is_err());
        assert!(!gone.exists());
    }

    #[tokio::test]
    async fn a_profile_falls_back_to_the_root() {
        let folder = tempfile::tempdir().expect("a folder");
        let (root, home) = (folder.path().to_owned(), folder.path().join("profiles/work"));
        fs::create_dir_all(&home).expect("made");
        fs::write(root.join("auth.json"), json!({"providers": {"nous": {}, "openai-codex": {}}}).to_string())
            .expect("written");
        fs::write(home.join("auth.json"), json!({"providers": {"nous": {}}}).to_string()).expect("written");
        let profile = AuthStore { home, root: Some(root) };
        let holder =
            async |provider: &str| profile.holding(|document| document.state(provider).is_some()).await.expect("read");
        assert_eq!(holder("nous").await, profile);
        assert_eq!(Some(holder("openai-codex").await), profile.root());
        assert_eq!(holder("unknown").await, profile);
    }
}
