//! What providers would bill for the requests of a session, by their published rules of prefix caching.
//!
//! A [`Till`] is told each request in the order in which it was sent, with its time, and says what of it was read from the
//! cache, written to it, or neither. [`Rules::Explicit`] keeps what is marked with `cache_control`, [`Rules::Automatic`]
//! keeps every beginning unasked. Tokens are a quarter of the bytes of each block's own JSON text, without its marker.
//! Beside the bill stands the least a session that goes on can cost: each block is written once and read ever after.
//!
//! Pure: no clock, no network, the same bill for the same requests.

mod automatic;
mod explicit;
mod layout;
#[cfg(test)]
mod tests;

pub use layout::{Block, Layout, Section, Shared, Ttl};

use serde_json::Value;
use std::collections::HashSet;
use std::time::Duration;

/// What a token costs, in tokens of plain input.
const READ: f64 = 0.1;
const PLAIN: f64 = 1.0;

/// How a provider caches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rules {
    /// What is marked: the Messages protocol, and chat completions of routers that pass marks on.
    Explicit,
    /// Every beginning: `OpenAI`, in both protocols.
    Automatic,
}

/// What one request was billed for, in tokens.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Cost {
    pub read: u64,
    /// Written for five minutes.
    pub written: u64,
    /// Written for an hour.
    pub written_for_an_hour: u64,
    pub plain: u64,
    /// What it has in common with the request before.
    pub shared: Shared,
}

impl Cost {
    /// Everything that was sent.
    pub fn tokens(&self) -> u64 {
        self.read + self.written + self.written_for_an_hour + self.plain
    }

    /// What it costs, in tokens of plain input.
    pub fn units(&self) -> f64 {
        let priced = [
            (self.read, READ),
            (self.written, Ttl::FiveMinutes.price()),
            (self.written_for_an_hour, Ttl::Hour.price()),
            (self.plain, PLAIN),
        ];
        priced.into_iter().map(|(tokens, price)| tokens as f64 * price).sum()
    }
}

/// The sum of a session.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Bill {
    pub requests: usize,
    pub units: f64,
    /// The theoretical minimum: every block that was ever sent is written once, everything else is read.
    pub minimum: f64,
    /// Requests that do not begin with the whole of the one before.
    pub breaks: usize,
}

impl Bill {
    /// How many times the minimum was paid.
    pub fn ratio(&self) -> f64 {
        if self.minimum > 0.0 { self.units / self.minimum } else { 1.0 }
    }
}

/// Keeps the cache of a provider and the bill of a session.
///
/// ```
/// use hermes_testkit::cache::{Rules, Till};
/// use std::time::Duration;
///
/// let body = serde_json::json!({"model": "m", "messages": [{"role": "user", "content": "a".repeat(8_000)}]});
/// let mut till = Till::new(Rules::Automatic);
/// assert_eq!(till.ring(&body, Duration::ZERO).read, 0);
/// assert_eq!(till.ring(&body, Duration::from_secs(1)).read, 1_920);
/// ```
#[derive(Debug)]
pub struct Till {
    cache: Cache,
    known: HashSet<u64>,
    before: Option<Layout>,
    bill: Bill,
}

#[derive(Debug)]
enum Cache {
    Explicit(explicit::Cache),
    Automatic(automatic::Cache),
}

impl Till {
    pub fn new(rules: Rules) -> Self {
        let cache = match rules {
            Rules::Explicit => Cache::Explicit(explicit::Cache::default()),
            Rules::Automatic => Cache::Automatic(automatic::Cache::default()),
        };
        Self { cache, known: HashSet::new(), before: None, bill: Bill::default() }
    }

    /// The next request of the session, sent at this time since its beginning.
    pub fn ring(&mut self, body: &Value, at: Duration) -> Cost {
        let layout = Layout::of(body);
        let paid = match &mut self.cache {
            Cache::Explicit(cache) => cache.ask(&layout, at),
            Cache::Automatic(cache) => cache.ask(&layout, at),
        };
        let shared = self.before.as_ref().map(|before| before.shared_with(&layout)).unwrap_or_default();
        let cost = Cost { shared, ..paid };
        self.bill.requests += 1;
        self.bill.units += cost.units();
        self.bill.minimum += self.least(&layout);
        self.bill.breaks += usize::from(shared.broke);
        self.before = Some(layout);
        cost
    }

    pub fn bill(&self) -> Bill {
        self.bill
    }

    /// What this request costs where each block that was sent before, wherever it stood, is read.
    fn least(&mut self, layout: &Layout) -> f64 {
        let first = match self.cache {
            Cache::Explicit(_) => layout.longest_mark().unwrap_or(Ttl::FiveMinutes).price(),
            Cache::Automatic(_) => PLAIN,
        };
        let price = |is_new: bool| if is_new { first } else { READ };
        layout.blocks.iter().map(|block| block.tokens as f64 * price(self.known.insert(block.key))).sum()
    }
}
