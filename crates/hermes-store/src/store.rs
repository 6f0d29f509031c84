//! The session store in one SQLite file, shared by every program that opens it.

use crate::db::{Access, Db};
use crate::fault::DbResult;
use crate::health::Health;
use crate::readers::Readers;
use crate::search::Upkeep;
use crate::writer::Writer;
use hermes_core::clock::Clock;
use hermes_core::store::{Kept, StoreError};
use hermes_types::Moment;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Sessions in one SQLite file. Cheap to clone; all clones share one writer. A process opens a file once.
#[derive(Clone)]
pub struct SqliteStore(Arc<Inner>);

struct Inner {
    path: PathBuf,
    writer: Writer,
    readers: Readers,
    upkeep: Upkeep,
    clock: Arc<dyn Clock>,
}

impl SqliteStore {
    /// Opens the file, creating it where there is none.
    pub async fn open(path: &Path, clock: Arc<dyn Clock>) -> Result<Self, StoreError> {
        let path = path.to_owned();
        let opened = tokio::task::spawn_blocking(move || {
            let health = Arc::new(Health::default());
            let db = Db::open(&path, Access::Write).map_err(|error| error.told(&path))?;
            let writer = Writer::start(db, &path, health).map_err(|error| error.told(&path))?;
            Ok((path, writer))
        });
        let (path, writer) = opened.await.unwrap_or_else(|error| Err(StoreError::Failed(error.to_string())))?;
        let readers = Readers::new(path.clone());
        Ok(Self(Arc::new(Inner { path, writer, readers, upkeep: Upkeep::default(), clock })))
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

    pub(crate) fn now(&self) -> Moment {
        self.0.clock.now().into()
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
        Box::pin(self.0.readers.read(question))
    }
}
