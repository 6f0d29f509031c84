//! One page out of any number of hits, in an order that does not depend on when they came in.
//!
//! Only what can still be on the page or before it is kept: at most `offset + limit` entries. Everything is counted.

use std::collections::BTreeMap;

/// Which hits are wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Window {
    pub(super) offset: u64,
    pub(super) limit: u64,
}

impl Window {
    fn end(self) -> u64 {
        self.offset.saturating_add(self.limit)
    }
}

/// Entries by their place in the order, each standing for one or several hits.
#[derive(Debug)]
pub(super) struct Ranking<K> {
    window: Window,
    kept: BTreeMap<K, u64>,
    /// Hits of all kept entries.
    held: u64,
    total: u64,
}

/// The part of one entry that is on the page: skip so many of its hits, then take so many.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Share<K> {
    pub(super) key: K,
    pub(super) skip: u64,
    pub(super) take: u64,
}

impl<K: Ord> Ranking<K> {
    pub(super) fn new(window: Window) -> Self {
        Self { window, kept: BTreeMap::new(), held: 0, total: 0 }
    }

    /// All hits there were.
    pub(super) fn total(&self) -> u64 {
        self.total
    }

    pub(super) fn add(&mut self, key: K, hits: u64) {
        self.total = self.total.saturating_add(hits);
        if hits == 0 {
            return;
        }
        self.held = self.held.saturating_add(hits);
        self.kept.insert(key, hits);
        while let Some(last) = self.kept.last_entry() {
            let before = self.held.saturating_sub(*last.get());
            if before < self.window.end() {
                break;
            }
            last.remove();
            self.held = before;
        }
    }

    /// The last entry that can still be on the page, once there are enough before it.
    pub(super) fn last_if_full(&self) -> Option<&K> {
        if self.held < self.window.end() { None } else { self.kept.last_key_value().map(|(key, _)| key) }
    }

    pub(super) fn page(self) -> Vec<Share<K>> {
        let Window { offset, limit } = self.window;
        let (mut seen, mut taken) = (0_u64, 0_u64);
        let mut page = Vec::new();
        for (key, hits) in self.kept {
            let skip = offset.saturating_sub(seen).min(hits);
            let take = (hits - skip).min(limit - taken);
            seen = seen.saturating_add(hits);
            taken += take;
            if take > 0 {
                page.push(Share { key, skip, take });
            }
        }
        page
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_page_is_what_sorting_everything_would_show(
            hits in prop::collection::btree_map(0_u32..500, 1_u64..6, 0..60),
            order in any::<prop::sample::Index>(), offset in 0_u64..80, limit in 1_u64..20,
        ) {
            let window = Window { offset, limit };
            let mut ranking = Ranking::new(window);
            let mut arriving: Vec<(u32, u64)> = hits.iter().map(|(key, count)| (*key, *count)).collect();
            let middle = if arriving.is_empty() { 0 } else { order.index(arriving.len()) };
            arriving.rotate_left(middle);
            for (key, count) in arriving {
                ranking.add(key, count);
                prop_assert!(ranking.kept.len() as u64 <= offset + limit);
            }
            let all: Vec<(u32, u64)> =
                hits.iter().flat_map(|(key, count)| (0..*count).map(move |index| (*key, index))).collect();
            prop_assert_eq!(ranking.total(), all.len() as u64);
            let wanted: Vec<(u32, u64)> = all.into_iter().skip(offset as usize).take(limit as usize).collect();
            let page = ranking.page();
            let shown: Vec<(u32, u64)> = page
                .into_iter()
                .flat_map(|share| (share.skip..share.skip + share.take).map(move |index| (share.key, index)))
                .collect();
            prop_assert_eq!(shown, wanted);
        }
    }
}
