//! Whether the file may be written.

use crate::db::Db;
use crate::fault::DbResult;
use hermes_core::store::StoreError;
use std::sync::{Mutex, PoisonError};

#[derive(Default)]
pub(crate) struct Health {
    damage: Mutex<Option<StoreError>>,
}

impl Health {
    /// Refuses once damage is known.
    pub(crate) fn permit(&self) -> Result<(), StoreError> {
        let damage = self.damage.lock().unwrap_or_else(PoisonError::into_inner);
        damage.clone().map_or(Ok(()), Err)
    }

    /// Remembers damage for every write to come.
    pub(crate) fn hear(&self, error: &StoreError) {
        if matches!(error, StoreError::Damaged { .. }) {
            *self.damage.lock().unwrap_or_else(PoisonError::into_inner) = Some(error.clone());
        }
    }

    /// At the beginning of the first transaction: this program writes here.
    pub(crate) fn enter(&self, _db: &Db) -> DbResult<()> {
        Ok(())
    }

    /// At a clean end.
    pub(crate) fn leave(&self, db: &Db) {
        let _ = db.connection.execute_batch("PRAGMA wal_checkpoint(TRUNCATE)");
    }

    /// Builds the word index anew from the messages, inside the transaction of the write that found it damaged.
    pub(crate) fn mend_index(&self, db: &Db) -> DbResult<()> {
        db.connection.execute_batch("INSERT INTO messages_fts(messages_fts) VALUES('rebuild')")?;
        Ok(())
    }
}
