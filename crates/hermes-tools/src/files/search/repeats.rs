//! The same search again and again with the same result: first a warning, then an error.
//!
//! The result is compared as well, so a search that waits for something to appear gets it as soon as it is there.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::{Mutex, PoisonError};

const WARNED: u32 = 3;
const BLOCKED: u32 = 4;

/// What one conversation searched for last.
#[derive(Debug, Default)]
pub struct Searches(Mutex<Option<Last>>);

#[derive(Debug)]
struct Last {
    search: String,
    result: u64,
    times: u32,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Repeated {
    No,
    Warn(u32),
    Block(u32),
}

impl Searches {
    /// Whatever was searched, the next search is a new one.
    pub fn forget(&self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    pub(super) fn note(&self, search: String, result: &str) -> Repeated {
        let mut hasher = DefaultHasher::new();
        result.hash(&mut hasher);
        let result = hasher.finish();
        let mut last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let times = match &*last {
            Some(before) if before.search == search && before.result == result => before.times + 1,
            _ => 1,
        };
        *last = Some(Last { search, result, times });
        match times {
            ..WARNED => Repeated::No,
            WARNED => Repeated::Warn(times),
            BLOCKED.. => Repeated::Block(times),
        }
    }
}
