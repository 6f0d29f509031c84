//! The session store in one SQLite file, shared by every program that opens it.

use crate::db::{Access, Db};
use crate::fault::{DbError, DbResult};
use crate::health::{Health, HealthReport};
use crate::patience::Patience;
use crate::readers::Readers;
use crate::search::Upkeep;
use crate::writer::Writer;
use hermes_core::clock::Clock;
use hermes_core::store::{Kept, StoreError};
use hermes_types::Moment;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Weak};
use std::time::Duration;

/// Sessions in one SQLite file. Cheap to clone; all clones share one writer. A process opens a file once.
#[derive(Clone)]
pub struct SqliteStore(Arc<Inner>);

/// A store that may be gone.
pub(crate) struct Acquaintance(Weak<Inner>);

impl Acquaintance {
    pub(crate) fn meet(&self) -> Option<SqliteStore> {
        self.0.upgrade().map(SqliteStore)
    }
}

struct Inner {
    path: PathBuf,
    /// Let go of before the writer: whoever leaves last removes the log, and readers may not.
    readers: Readers,
    writer: Writer,
    health: Arc<Health>,
    upkeep: Upkeep,
    clock: Arc<dyn Clock>,
}

impl SqliteStore {
    /// Opens the file, creating it where there is none.
    pub async fn open(path: &Path, clock: Arc<dyn Clock>) -> Result<Self, StoreError> {
        Self::open_with(path, clock, Patience::default()).await
    }

    /// The same for somebody who has not much time: other programs that hold the file are waited for about this long,
    /// here and at every write.
    pub async fn open_within(path: &Path, clock: Arc<dyn Clock>, limit: Duration) -> Result<Self, StoreError> {
        Self::open_with(path, clock, Patience::within(limit)).await
    }

    async fn open_with(path: &Path, clock: Arc<dyn Clock>, patience: Patience) -> Result<Self, StoreError> {
        let path = path.to_owned();
        let for_readers = patience.clone();
        let opened = tokio::task::spawn_blocking(move || {
            let health = Arc::new(Health::new(&path));
            let db = open_file(&path, &health, &patience)?;
            let writer = Writer::start(db, &path, Arc::clone(&health), patience);
            Ok((path.clone(), writer.map_err(|error| error.told(&path))?, health))
        });
        let (path, writer, health) = opened.await.unwrap_or_else(|error| Err(StoreError::Failed(error.to_string())))?;
        let readers = Readers::new(path.clone(), for_readers);
        let upkeep = Upkeep::default();
        Ok(Self(Arc::new(Inner { path, readers, writer, health, upkeep, clock })))
    }

    /// Writes down what is waiting, empties the log into the file and lets go of it.
    pub async fn close(&self) {
        self.tidy_up().await;
        self.0.readers.close();
        self.0.writer.close().await;
    }

    pub fn path(&self) -> &Path {
        &self.0.path
    }

    /// What is known about the state of the file.
    pub fn health(&self) -> Kept<'_, HealthReport> {
        let health = Arc::clone(&self.0.health);
        self.read(move |db| health.report(db))
    }

    pub(crate) fn now(&self) -> Moment {
        self.0.clock.now().into()
    }

    /// The store as those know it who do not keep it open.
    pub(crate) fn acquaintance(&self) -> Acquaintance {
        Acquaintance(Arc::downgrade(&self.0))
    }

    pub(crate) fn upkeep(&self) -> &Upkeep {
        &self.0.upkeep
    }

    pub(crate) fn write<T: Send + 'static>(
        &self,
        work: impl FnMut(&Db) -> DbResult<T> + Send + 'static,
    ) -> Kept<'_, T> {
        Box::pin(self.0.writer.write(work))
    }

    pub(crate) fn read<T: Send + 'static>(
        &self,
        question: impl FnOnce(&Db) -> DbResult<T> + Send + 'static,
    ) -> Kept<'_, T> {
        Box::pin(async move {
            let answer = self.0.readers.read(question).await;
            answer.map_err(|unread| {
                if unread.met_damage {
                    self.0.writer.examine();
                }
                unread.told
            })
        })
    }
}

/// The file for writing, or `None` when it can only be read for now. Why that is so is told to those who write.
fn open_file(path: &Path, health: &Health, patience: &Patience) -> Result<Option<Db>, StoreError> {
    let opened = health.permit().map_err(DbError::from).and_then(|()| Db::open(path, Access::Write, patience));
    let refused = match opened {
        Ok(db) => return Ok(Some(db)),
        Err(error) => error.told(path),
    };
    health.hear(&refused);
    match Db::open(path, Access::Read, patience) {
        Ok(_) => Ok(None),
        Err(_) => Err(refused),
    }
}
