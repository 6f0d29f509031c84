//! Keeps the index of parts of words up to date, beside everything else: in small pieces through the writer, so that
//! messages get between them. Nothing here keeps a store open: whoever works on it in the background holds it only while
//! a piece is written, and ends with it.

use super::grams;
use crate::store::{Acquaintance, SqliteStore};
use hermes_core::store::StoreError;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};
use tokio::task::AbortHandle;

/// A search that has to look at more messages than this one by one asks for them to be indexed.
pub(super) const WORTHWHILE: u64 = 500;
/// A person rather waits this long for a whole answer than gets half of one at once.
pub(super) const WHILE_ASKED: Duration = Duration::from_millis(1500);
/// At the end of a program fewer are worth it, and nobody waits long.
const WORTHWHILE_AT_THE_END: u64 = 200;
const AT_THE_END: Duration = Duration::from_millis(300);
/// As many messages are indexed at once; others may write in between.
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

/// Whether somebody is at it, and who.
#[derive(Default)]
pub(crate) struct Upkeep {
    is_busy: AtomicBool,
    task: Mutex<Option<AbortHandle>>,
}

impl Drop for Upkeep {
    fn drop(&mut self) {
        if let Some(task) = self.task.get_mut().unwrap_or_else(PoisonError::into_inner).take() {
            task.abort();
        }
    }
}

impl SqliteStore {
    /// Indexes every message that is still waiting for it. Searching finds them before, too, only slower.
    pub async fn catch_up(&self) -> Result<(), StoreError> {
        while self.write(|db| grams::catch_up(db, BATCH)).await? {}
        Ok(())
    }

    /// Does what is needed, some time soon. One at a time.
    pub(super) fn keep_up(&self, need: Need) {
        if need == Need::Nothing || self.upkeep().is_busy.swap(true, Ordering::AcqRel) {
            return;
        }
        let task = tokio::spawn(work_off(self.acquaintance(), need));
        *self.upkeep().task.lock().unwrap_or_else(PoisonError::into_inner) = Some(task.abort_handle());
    }

    /// Indexes for a while; tells whether anything was.
    pub(super) async fn catch_up_within(&self, time: Duration) -> bool {
        let begun = Instant::now();
        let mut any = false;
        while begun.elapsed() < time {
            let more = self.write(|db| grams::catch_up(db, BATCH)).await;
            any |= more.is_ok();
            if more != Ok(true) {
                break;
            }
        }
        any
    }

    /// Before the file is let go: a program that wrote much leaves little to look at one by one.
    pub(crate) async fn tidy_up(&self) {
        if self.read(grams::backlog).await.is_ok_and(|waiting| waiting >= WORTHWHILE_AT_THE_END) {
            self.catch_up_within(AT_THE_END).await;
        }
    }
}

/// Piece after piece while the store is there and there is something to do. What fails here fails again for those who
/// wait for an answer, and is told to them.
async fn work_off(store: Acquaintance, need: Need) {
    let mut anew = need == Need::Anew;
    while let Some(store) = store.meet() {
        let more = if std::mem::take(&mut anew) {
            store.write(|db| grams::reset(db).map(|()| true)).await
        } else {
            store.write(|db| grams::catch_up(db, BATCH)).await
        };
        if more != Ok(true) {
            store.upkeep().is_busy.store(false, Ordering::Release);
            break;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hermes_core::clock::RealClock;
    use hermes_core::store::{Search, Sessions, Transcript};
    use hermes_types::{Message, NewMessage, NewSession, SearchQuery, SessionId};
    use std::sync::Arc;

    /// On one thread the work begins only when the test waits for something, so that the store is gone before it.
    #[tokio::test]
    async fn nobody_in_the_background_keeps_a_store_open() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("state.db");
        let open = async || SqliteStore::open(&path, Arc::new(RealClock::default())).await.expect("a store");
        let store = open().await;
        let id = SessionId::new("s");
        store.create(NewSession::new(id.clone(), "cli")).await.expect("a session");
        let many: Vec<NewMessage> = (0..=WORTHWHILE).map(|_| Message::user("x").into()).collect();
        store.append(&id, many).await.expect("kept");
        store.search(SearchQuery::new("y")).await.expect("searched");
        assert!(store.upkeep().is_busy.load(Ordering::Acquire), "there is something to do");
        let known = store.acquaintance();
        drop(store);
        assert!(known.meet().is_none(), "it is closed at once");
        let waiting = open().await.read(grams::backlog).await.expect("read");
        assert_eq!(waiting, WORTHWHILE + 1, "and nothing was done in its name since");
    }
}
