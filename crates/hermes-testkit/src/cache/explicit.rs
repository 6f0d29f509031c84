//! Caches of what is marked, as Anthropic documents them.
//!
//! A marker asks for the beginning up to its block to be kept, if it is long enough. A later request reads the longest
//! beginning that is kept and ends at one of its own markers or within twenty blocks before one. Reading keeps a beginning,
//! and every shorter one of it, alive. Settings and images stand in front of the messages: another `tool_choice` makes
//! all messages unknown, but neither tools nor system.

use super::Cost;
use super::layout::{Layout, Section, Ttl, digest};
use std::collections::HashMap;
use std::time::Duration;

/// A request with more markers is refused.
const MOST_MARKS: usize = 4;
/// So many blocks before a marker are looked at.
const LOOK_BACK: usize = 20;
/// Shorter beginnings are not kept.
const LEAST: u64 = 1_024;
const LEAST_OF_HAIKU: u64 = 2_048;

/// Beginnings, by what they are made of.
#[derive(Debug, Default)]
pub(super) struct Cache(HashMap<u64, Kept>);

#[derive(Debug, Clone, Copy)]
struct Kept {
    ttl: Ttl,
    used: Duration,
}

impl Kept {
    fn lives(self, at: Duration) -> bool {
        at < self.used + self.ttl.lasts()
    }
}

/// A beginning of a request: up to and including a block.
#[derive(Debug, Clone, Copy)]
struct Beginning {
    name: u64,
    tokens: u64,
    mark: Option<Ttl>,
}

impl Cache {
    pub(super) fn ask(&mut self, layout: &Layout, at: Duration) -> Cost {
        let beginnings = beginnings(layout);
        let marked: Vec<usize> = (0..beginnings.len()).filter(|index| beginnings[*index].mark.is_some()).collect();
        assert!(marked.len() <= MOST_MARKS, "{} cache markers are more than {MOST_MARKS}", marked.len());
        let hit = marked.iter().filter_map(|marked| self.found(&beginnings, *marked, at)).max();
        let read = hit.map_or(0, |hit| beginnings[hit].tokens);
        for beginning in beginnings.iter().take(hit.map_or(0, |hit| hit + 1)) {
            if let Some(kept) = self.0.get_mut(&beginning.name).filter(|kept| kept.lives(at)) {
                kept.used = at;
            }
        }
        let least = if layout.model.contains("haiku") { LEAST_OF_HAIKU } else { LEAST };
        let mut cost = Cost { read, ..Cost::default() };
        // Up to the last marker for an hour it is written for an hour, behind it for five minutes.
        let mut upto = read;
        for ttl in [Ttl::Hour, Ttl::FiveMinutes] {
            let wanted = marked.iter().map(|index| beginnings[*index]).filter(|beginning| beginning.mark == Some(ttl));
            for beginning in wanted.filter(|beginning| beginning.tokens >= least) {
                let fresh = beginning.tokens.saturating_sub(upto);
                match ttl {
                    Ttl::Hour => cost.written_for_an_hour += fresh,
                    Ttl::FiveMinutes => cost.written += fresh,
                }
                upto += fresh;
                let kept = self.0.entry(beginning.name).or_insert(Kept { ttl, used: at });
                // What was kept for longer stays so; what ran out is kept anew.
                *kept = Kept { ttl: if kept.lives(at) { kept.ttl.max(ttl) } else { ttl }, used: at };
            }
        }
        cost.plain = layout.tokens() - upto;
        cost
    }

    /// The longest beginning that is kept and ends at this marker or not far before it.
    fn found(&self, beginnings: &[Beginning], marked: usize, at: Duration) -> Option<usize> {
        let lives = |index: &usize| self.0.get(&beginnings[*index].name).is_some_and(|kept| kept.lives(at));
        (marked.saturating_sub(LOOK_BACK)..=marked).rev().find(lives)
    }
}

fn beginnings(layout: &Layout) -> Vec<Beginning> {
    let mut name = digest(&layout.model);
    let mut tokens = 0;
    let mut section = Section::Tools;
    let each = layout.blocks.iter().map(|block| {
        if block.section == Section::Messages && section != Section::Messages {
            name = digest(&(name, layout.settings));
        }
        section = block.section;
        name = digest(&(name, block.section, block.key));
        tokens += block.tokens;
        Beginning { name, tokens, mark: block.mark }
    });
    each.collect()
}
