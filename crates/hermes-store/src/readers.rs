//! Readers beside the writer: connections that are opened when they are needed and kept for the next question.

use crate::db::{Access, Db};
use crate::fault::DbResult;
use crate::patience::Patience;
use hermes_core::store::StoreError;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::Semaphore;

/// So many questions are answered at once, the others wait their turn: each needs a connection, and files a process may
/// have open are few.
const AT_ONCE: usize = 8;
/// More than this many at once are rare; their connections are not kept.
const KEPT: usize = 4;

#[derive(Clone)]
pub(crate) struct Readers(Arc<Pool>);

struct Pool {
    path: PathBuf,
    turns: Arc<Semaphore>,
    patience: Patience,
    /// `None` after the end.
    idle: Mutex<Option<Vec<Db>>>,
}

/// Why there is no answer.
pub(crate) struct Unread {
    pub(crate) told: StoreError,
    /// The writer should look what is damaged.
    pub(crate) met_damage: bool,
}

impl Readers {
    pub(crate) fn new(path: PathBuf, patience: Patience) -> Self {
        Self(Arc::new(Pool {
            path,
            turns: Arc::new(Semaphore::new(AT_ONCE)),
            patience,
            idle: Mutex::new(Some(Vec::new())),
        }))
    }

    /// Runs `question` on a thread that may block, in one snapshot of the file.
    pub(crate) async fn read<T: Send + 'static>(
        &self,
        question: impl FnOnce(&Db) -> DbResult<T> + Send + 'static,
    ) -> Result<T, Unread> {
        let unread = |told| Unread { told, met_damage: false };
        // Held by the work itself: it goes on when whoever asked has gone.
        let turn = Arc::clone(&self.0.turns).acquire_owned().await.map_err(|_| unread(StoreError::Closed))?;
        let pool = Arc::clone(&self.0);
        let asked = tokio::task::spawn_blocking(move || {
            let answer = pool.ask(question);
            drop(turn);
            answer
        })
        .await;
        asked.unwrap_or_else(|error| Err(unread(StoreError::Failed(error.to_string()))))
    }

    /// Lets go of the file; questions that are being answered do so when they are.
    pub(crate) fn close(&self) {
        self.0.idle.lock().unwrap_or_else(PoisonError::into_inner).take();
    }
}

impl Pool {
    fn ask<T>(&self, question: impl FnOnce(&Db) -> DbResult<T>) -> Result<T, Unread> {
        self.answer(question).map_err(|error| {
            let met_damage = error.is_damage();
            Unread { told: error.told_of_open(&self.path), met_damage }
        })
    }

    fn answer<T>(&self, question: impl FnOnce(&Db) -> DbResult<T>) -> DbResult<T> {
        let idle = match &mut *self.idle.lock().unwrap_or_else(PoisonError::into_inner) {
            Some(idle) => idle.pop(),
            None => return Err(StoreError::Closed.into()),
        };
        let mut db = match idle.filter(|db| db.is_current(&self.path)) {
            Some(db) => db,
            None => Db::open(&self.path, Access::Read, &self.patience)?,
        };
        db.connection.execute_batch("BEGIN")?;
        db.refresh()?;
        let answer = question(&db);
        // A connection that cannot end its snapshot would hold it for ever; it is not kept.
        if db.connection.execute_batch("COMMIT").is_ok()
            && let Some(idle) = &mut *self.idle.lock().unwrap_or_else(PoisonError::into_inner)
            && idle.len() < KEPT
            && db.is_current(&self.path)
        {
            idle.push(db);
        }
        answer
    }
}
