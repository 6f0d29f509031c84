//! Logins that were renewed and could not be written down.
//!
//! The refresh token on disk is spent, so what is kept here is the only key to the login. It serves this run, and each
//! further renewal tries to write it again.

use super::tokens::{Fresh, Pair, Place};
use jiff::Timestamp;
use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// A pair no disk took. Not `Debug`: it holds secrets in the clear.
#[derive(Clone)]
pub(super) struct Unsaved {
    /// The refresh token it was bought with, which is still on disk.
    pub(super) spent: String,
    pub(super) fresh: Fresh,
    pub(super) at: Timestamp,
    /// Why it could not be written.
    pub(super) message: String,
}

#[derive(Default)]
pub(super) struct Keeper(Mutex<HashMap<Place, Unsaved>>);

impl Unsaved {
    pub(super) fn pair(&self) -> Pair {
        Pair {
            expires_at: self.fresh.expires_at(self.at),
            access: Some(self.fresh.access.clone()),
            refresh: Some(self.fresh.refresh.clone().unwrap_or_else(|| self.spent.clone())),
            ..Pair::default()
        }
    }
}

impl Keeper {
    /// The pair that belongs to a place.
    pub(super) fn of(&self, place: &Place) -> Option<Unsaved> {
        self.map().get(place).cloned()
    }

    pub(super) fn keep(&self, place: Place, unsaved: Unsaved) {
        tracing::warn!(reason = unsaved.message, "a renewed login could not be saved");
        self.map().insert(place, unsaved);
    }

    pub(super) fn forget(&self, place: &Place) {
        self.map().remove(place);
    }

    pub(super) fn warnings(&self) -> Vec<String> {
        let warn = |unsaved: &Unsaved| {
            format!("the renewed login could not be saved and is lost when this program ends: {}", unsaved.message)
        };
        self.map().values().map(warn).collect()
    }

    fn map(&self) -> MutexGuard<'_, HashMap<Place, Unsaved>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
