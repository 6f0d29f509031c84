//! Finding messages again.

pub(crate) mod grams;

use crate::store::SqliteStore;
use hermes_core::store::{Kept, Search, StoreError};
use hermes_types::{Found, SearchQuery};

impl Search for SqliteStore {
    fn search(&self, _query: SearchQuery) -> Kept<'_, Found> {
        Box::pin(std::future::ready(Err(StoreError::Failed("search is not there yet".into()))))
    }
}
