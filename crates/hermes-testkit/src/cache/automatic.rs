//! Caches of every beginning, as `OpenAI` documents them.
//!
//! From 1,024 tokens on, in steps of 128, the longest beginning that any request had before is read; writing is free. The
//! beginning may end inside of a block. What nobody used for five minutes is gone: the shortest time that is documented.

use super::Cost;
use super::layout::{BYTES_PER_TOKEN, Block, Layout, digest};
use std::collections::HashMap;
use std::time::Duration;

const LEAST: u64 = 1_024;
const STEP: u64 = 128;
const LASTS: Duration = Duration::from_secs(300);

/// The beginnings of all requests, by what they are made of. What two have in common is there once.
#[derive(Debug, Default)]
pub(super) struct Cache(HashMap<u64, Kept>);

/// A beginning that was sent.
#[derive(Debug, Default)]
struct Kept {
    used: Duration,
    /// The blocks that were sent behind it, with the names of the longer beginnings.
    behind: Vec<(u64, String)>,
}

impl Cache {
    pub(super) fn ask(&mut self, layout: &Layout, at: Duration) -> Cost {
        let mut name = digest(&layout.model);
        let mut same = 0;
        let mut is_known = true;
        for block in &layout.blocks {
            let longer = digest(&(name, block.key));
            if is_known {
                is_known = self.lives(longer, at);
                same += if is_known { block.tokens } else { self.begun_behind(name, block, at) };
            }
            let kept = self.0.entry(name).or_default();
            if !kept.behind.iter().any(|(known, _)| *known == longer) {
                kept.behind.push((longer, block.text.clone()));
            }
            self.0.entry(longer).or_default().used = at;
            name = longer;
        }
        let read = if same < LEAST { 0 } else { same - same % STEP };
        Cost { read, plain: layout.tokens() - read, ..Cost::default() }
    }

    fn lives(&self, name: u64, at: Duration) -> bool {
        self.0.get(&name).is_some_and(|kept| at < kept.used + LASTS)
    }

    /// The tokens at the beginning of a block that another block had, which was sent in its place.
    fn begun_behind(&self, name: u64, block: &Block, at: Duration) -> u64 {
        let behind = self.0.get(&name).into_iter().flat_map(|kept| &kept.behind);
        let living = behind.filter(|(longer, _)| self.lives(*longer, at));
        let bytes = living.map(|(_, text)| hermes_core::prefix::shared(text.as_bytes(), block.text.as_bytes())).max();
        // The rest of a token is another token.
        (bytes.unwrap_or_default() / BYTES_PER_TOKEN) as u64
    }
}
