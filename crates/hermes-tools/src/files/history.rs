//! What a conversation has read and written: for repeated reads, and for files that others changed meanwhile.
//!
//! A page that the conversation has already is not sent twice, and a model that asks for it again and again is told, then
//! refused. Any other call lifts that. What was read is remembered with its state, so that a write over something the
//! model never saw is pointed out. Every list here is bounded.

use super::stamp::Stamp;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Pages that are remembered as shown.
const PAGES: usize = 1_000;
/// Files that are remembered as read or written.
const FILES: usize = 1_000;
/// Paths whose failed edits are counted.
const MISSES: usize = 500;
const WARNED_AT: u32 = 3;

/// The memory of one conversation.
#[derive(Debug, Default)]
pub struct History {
    memory: Mutex<Memory>,
}

#[derive(Debug, Default)]
struct Memory {
    shown: Bounded<PageKey, Stamp>,
    last: Option<(PageKey, u32)>,
    known: Bounded<PathBuf, Known>,
    misses: Bounded<PathBuf, u32>,
}

/// One page of one file.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct PageKey {
    pub(crate) path: PathBuf,
    pub(crate) offset: usize,
    pub(crate) limit: usize,
}

/// A file as the conversation knows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Known {
    pub(crate) stamp: Stamp,
    /// Of the whole content, where all of it was at hand.
    pub(crate) print: Option<u64>,
    /// When, on the clock of the traffic.
    pub(crate) at: u64,
}

/// How often a page was asked for in a row, and whether the conversation has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Asked {
    Fresh,
    /// It is shown, with a word about the repetition.
    Often(u32),
    Unchanged,
    TooOften(u32),
}

impl History {
    /// Another tool ran: repeating a read may make sense now.
    pub fn other_tool_ran(&self) {
        self.memory().last = None;
    }

    /// The conversation was shortened: what was shown may no longer be in it.
    pub fn forget_reads(&self) {
        let mut memory = self.memory();
        memory.last = None;
        memory.shown = Bounded::default();
    }

    /// Counts a wish for a page of a file in this state.
    pub(crate) fn ask(&self, key: &PageKey, stamp: &Stamp) -> Asked {
        let mut memory = self.memory();
        let count = match &memory.last {
            Some((last, count)) if last == key => count.saturating_add(1),
            _ => 1,
        };
        memory.last = Some((key.clone(), count));
        let unchanged = memory.shown.get(key) == Some(stamp);
        match (unchanged, count) {
            (true, count) if count >= WARNED_AT => Asked::TooOften(count),
            (true, _) => Asked::Unchanged,
            (false, count) if count > WARNED_AT => Asked::TooOften(count),
            (false, WARNED_AT) => Asked::Often(count),
            (false, _) => Asked::Fresh,
        }
    }

    /// The page is in the conversation now.
    pub(crate) fn showed(&self, key: PageKey, stamp: Stamp) {
        self.memory().shown.put(key, stamp, PAGES);
    }

    /// The conversation knows this state of the file, by reading or by writing it.
    pub(crate) fn knows(&self, path: &Path, known: Known) {
        self.memory().known.put(path.to_path_buf(), known, FILES);
    }

    pub(crate) fn known(&self, path: &Path) -> Option<Known> {
        self.memory().known.get(&path.to_path_buf()).copied()
    }

    /// An edit found nothing; how many times in a row for this file.
    pub(crate) fn missed(&self, path: &Path) -> u32 {
        let mut memory = self.memory();
        let path = path.to_path_buf();
        let count = memory.misses.get(&path).copied().unwrap_or_default().saturating_add(1);
        memory.misses.put(path, count, MISSES);
        count
    }

    pub(crate) fn hit(&self, path: &Path) {
        self.memory().misses.remove(&path.to_path_buf());
    }

    fn memory(&self) -> MutexGuard<'_, Memory> {
        self.memory.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A map that lets its oldest entry go.
#[derive(Debug)]
struct Bounded<K, V> {
    entries: BTreeMap<K, (u64, V)>,
    ages: BTreeMap<u64, K>,
    next: u64,
}

impl<K, V> Default for Bounded<K, V> {
    fn default() -> Self {
        Self { entries: BTreeMap::new(), ages: BTreeMap::new(), next: 0 }
    }
}

impl<K: Ord + Clone, V> Bounded<K, V> {
    fn get(&self, key: &K) -> Option<&V> {
        self.entries.get(key).map(|(_, value)| value)
    }

    fn remove(&mut self, key: &K) {
        if let Some((age, _)) = self.entries.remove(key) {
            self.ages.remove(&age);
        }
    }

    fn put(&mut self, key: K, value: V, most: usize) {
        self.remove(&key);
        self.ages.insert(self.next, key.clone());
        self.entries.insert(key, (self.next, value));
        self.next += 1;
        if self.entries.len() > most
            && let Some((_, oldest)) = self.ages.pop_first()
        {
            self.entries.remove(&oldest);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stamp() -> Stamp {
        Stamp::of(&std::fs::metadata("/").unwrap())
    }

    fn key(offset: usize) -> PageKey {
        PageKey { path: "/a".into(), offset, limit: 500 }
    }

    #[test]
    fn a_page_that_is_there_is_not_sent_again_and_asking_thrice_is_refused() {
        let history = History::default();
        let asked = || history.ask(&key(1), &stamp());
        assert_eq!(asked(), Asked::Fresh);
        history.showed(key(1), stamp());
        assert_eq!([asked(), asked(), asked()], [Asked::Unchanged, Asked::TooOften(3), Asked::TooOften(4)]);
        history.other_tool_ran();
        assert_eq!(asked(), Asked::Unchanged);
        history.forget_reads();
        assert_eq!(asked(), Asked::Fresh);
    }

    #[test]
    fn a_file_that_changes_is_shown_until_it_was_asked_for_too_often() {
        let history = History::default();
        let asked = || history.ask(&key(1), &stamp());
        assert_eq!(
            [asked(), asked(), asked(), asked()],
            [Asked::Fresh, Asked::Fresh, Asked::Often(3), Asked::TooOften(4)]
        );
        assert_eq!(history.ask(&key(2), &stamp()), Asked::Fresh);
        assert_eq!(asked(), Asked::Fresh);
    }

    #[test]
    fn the_memory_is_bounded_and_loses_the_oldest() {
        let mut bounded = Bounded::default();
        for number in 0..5 {
            bounded.put(number, (), 3);
            bounded.put(2, (), 3);
        }
        assert_eq!(bounded.entries.keys().copied().collect::<Vec<_>>(), [2, 3, 4]);
        assert_eq!(bounded.ages.len(), 3);
    }
}
