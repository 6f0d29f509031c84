//! The session store of a home.

use crate::settings::Home;
use hermes_core::clock::RealClock;
use hermes_core::store::StoreError;
use hermes_store::SqliteStore;
use std::sync::Arc;

/// The store of a home, created where there is none yet.
pub(crate) async fn open(home: &Home) -> Result<SqliteStore, StoreError> {
    SqliteStore::open(&home.state_db(), Arc::new(RealClock::default())).await
}

/// The store, when there is one: looking at an empty home leaves it empty.
pub(crate) async fn open_existing(home: &Home) -> Result<Option<SqliteStore>, StoreError> {
    if home.state_db().exists() { open(home).await.map(Some) } else { Ok(None) }
}
