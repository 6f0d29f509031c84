//! Keeps the index of parts of words up to date, beside everything else: in small pieces through the writer, so that
//! messages get between them.

use super::grams;
use crate::store::SqliteStore;
use std::sync::atomic::{AtomicBool, Ordering};

/// A search that has to look at more messages than this one by one asks for them to be indexed.
pub(super) const WORTHWHILE: u64 = 500;
/// At the end of a program fewer are worth it, and nobody waits long.
const WORTHWHILE_AT_THE_END: u64 = 200;
const BATCHES_AT_THE_END: usize = 10;
const BATCH: usize = 200;

/// What a search found to be done.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Need {
    #[default]
    Nothing,
    CatchUp,
    /// The index is damaged.
    Anew,
}

/// Whether somebody is at it.
#[derive(Default)]
pub(crate) struct Upkeep {
    is_busy: AtomicBool,
}

impl SqliteStore {
    /// Does what is needed, some time soon. One at a time; a store that closes ends it.
    pub(super) fn keep_up(&self, need: Need) {
        if need == Need::Nothing || self.upkeep().is_busy.swap(true, Ordering::AcqRel) {
            return;
        }
        let store = self.clone();
        tokio::spawn(async move {
            let ready = match need {
                Need::Anew => store.write(grams::reset).await,
                Need::Nothing | Need::CatchUp => Ok(()),
            };
            // What fails here fails again for those who wait for an answer, and is told to them.
            if ready.is_ok() {
                while let Ok(true) = store.write(|db| grams::catch_up(db, BATCH)).await {}
            }
            store.upkeep().is_busy.store(false, Ordering::Release);
        });
    }

    /// Before the file is let go: a program that wrote much leaves little to look at one by one.
    pub(crate) async fn tidy_up(&self) {
        if self.read(grams::backlog).await.is_ok_and(|waiting| waiting >= WORTHWHILE_AT_THE_END) {
            for _ in 0..BATCHES_AT_THE_END {
                if self.write(|db| grams::catch_up(db, BATCH)).await != Ok(true) {
                    break;
                }
            }
        }
    }
}
