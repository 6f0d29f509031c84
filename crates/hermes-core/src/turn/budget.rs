//! What a turn may spend: iterations of its own, and time, tokens and money shared by the whole tree of agents.

use crate::receipt::Receipt;
use hermes_types::{Spent, Usage, Usd};
use std::collections::BTreeSet;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// Iterations of a turn where nobody set another number.
pub const ITERATIONS: u32 = 90;
/// The same for a sub-agent.
pub const ITERATIONS_OF_CHILD: u32 = 50;

/// How often one agent may ask its model in one turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Iterations {
    used: u32,
    refunded: u32,
    most: u32,
}

impl Iterations {
    pub fn of(most: u32) -> Self {
        Self { used: 0, refunded: 0, most: most.max(1) }
    }

    /// Takes one; `None` when all are used.
    pub(crate) fn take(&mut self) -> Option<u32> {
        self.remain().then(|| {
            self.used += 1;
            self.used
        })
    }

    /// Gives one back that went into something other than the work itself; as often as there are iterations, so that a
    /// model that does nothing else comes to an end too.
    pub(crate) fn refund(&mut self) {
        if self.refunded < self.most {
            self.refunded += 1;
            self.used = self.used.saturating_sub(1);
        }
    }

    /// Whether there is one left.
    pub(crate) fn remain(self) -> bool {
        self.used < self.most
    }

    pub fn used(self) -> u32 {
        self.used
    }

    pub fn most(self) -> u32 {
        self.most
    }
}

/// What may be spent in one span. `None` is no limit.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Caps {
    pub tokens: Option<u64>,
    pub usd: Option<Usd>,
    /// Of the turn; sessions and days take as long as they take.
    pub time: Option<Duration>,
}

/// `budget.*`
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Limits {
    pub turn: Caps,
    pub session: Caps,
    pub day: Caps,
}

impl Limits {
    fn spans(&self) -> [(Span, &Caps); 3] {
        [(Span::Turn, &self.turn), (Span::Session, &self.session), (Span::Day, &self.day)]
    }

    /// Whether what was spent before the turn has to be known.
    pub fn look_back(&self) -> bool {
        self.session != Caps::default() || self.day != Caps::default()
    }

    fn in_dollars(&self) -> bool {
        self.spans().iter().any(|(_, caps)| caps.usd.is_some())
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Span {
    Turn,
    Session,
    Day,
}

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Turn => "turn",
            Self::Session => "session",
            Self::Day => "day",
        })
    }
}

/// A limit that is reached, in words a person can act on.
#[derive(Debug, Clone, PartialEq)]
pub struct Exhausted {
    pub span: Span,
    /// The setting that says so.
    pub key: String,
    pub message: String,
}

/// The purse of a turn and of every agent it sends out.
#[derive(Debug, Default)]
pub struct Purse {
    limits: Limits,
    /// Before the turn: in its session, in its day.
    before: [Spent; 2],
    /// The clock when the turn began.
    began: Duration,
    now: Mutex<Now>,
    /// Whose money it is, where that is somebody else's.
    giver: Option<Arc<Purse>>,
}

/// What this turn has spent so far.
#[derive(Debug, Default)]
struct Now {
    spent: Spent,
    usage: Option<Usage>,
    /// Who named the prices.
    sources: BTreeSet<String>,
}

impl Now {
    fn add(&mut self, receipt: &Receipt) {
        *self.usage.get_or_insert_default() += receipt.usage;
        self.spent += receipt.spent();
        self.sources.insert(receipt.cost.source.clone());
    }
}

impl Purse {
    pub fn new(limits: Limits, session: Spent, day: Spent, began: Duration) -> Self {
        Self { limits, before: [session, day], began, ..Self::default() }
    }

    /// For an agent that is sent out: the same money, and an account of its own.
    #[must_use]
    pub fn lend(self: &Arc<Self>) -> Arc<Self> {
        Arc::new(Self { giver: Some(self.clone()), ..Self::default() })
    }

    /// Takes note of a call. False when a limit in dollars cannot be held, because nobody knows all it cost.
    pub fn pay(&self, receipt: Option<&Receipt>) -> bool {
        if let Some(receipt) = receipt {
            self.now.lock().unwrap_or_else(PoisonError::into_inner).add(receipt);
        }
        match &self.giver {
            Some(giver) => giver.pay(receipt),
            None => receipt.is_some_and(|receipt| receipt.cost.is_whole()) || !self.limits.in_dollars(),
        }
    }

    /// Whether both pay from the same money in the end.
    pub fn shares_with(&self, other: &Self) -> bool {
        std::ptr::eq(self.first(), other.first())
    }

    fn first(&self) -> &Self {
        self.giver.as_ref().map_or(self, |giver| giver.first())
    }

    /// What everybody who pays from this purse spent together in this turn.
    pub fn spent(&self) -> Spent {
        self.now.lock().unwrap_or_else(PoisonError::into_inner).spent
    }

    /// Who named the prices of this turn, each once.
    pub fn price_sources(&self) -> Vec<String> {
        self.now.lock().unwrap_or_else(PoisonError::into_inner).sources.iter().cloned().collect()
    }

    /// What everybody who pays from this purse, or from what it lent, used together.
    pub fn usage(&self) -> Option<Usage> {
        self.now.lock().unwrap_or_else(PoisonError::into_inner).usage
    }

    /// When, on the clock, there is no time left, where time is limited.
    pub fn deadline(&self) -> Option<Duration> {
        match &self.giver {
            Some(giver) => giver.deadline(),
            None => {
                let most = self.limits.spans().into_iter().filter_map(|(_, caps)| caps.time).min();
                most.map(|most| self.began.saturating_add(most))
            }
        }
    }

    /// The first limit that is reached, if any. Asked before each call of a model.
    pub fn exhausted(&self, clock: Duration) -> Option<Exhausted> {
        if let Some(giver) = &self.giver {
            return giver.exhausted(clock);
        }
        let now = self.now.lock().unwrap_or_else(PoisonError::into_inner).spent;
        let took = clock.saturating_sub(self.began);
        let [session, day] = self.before;
        let spent = [Spent::default(), session, day];
        self.limits.spans().into_iter().zip(spent).find_map(|((span, caps), before)| {
            let tokens = before.tokens.saturating_add(now.tokens);
            let usd = before.cost + now.cost;
            let reached = |what: &str, used: String, most: String| Exhausted {
                span,
                key: format!("budget.{span}_{what}"),
                message: format!(
                    "the limit of {most} for one {span} is reached ({used} used); budget.{span}_{what} sets it"
                ),
            };
            let tokens = caps
                .tokens
                .filter(|most| tokens >= *most)
                .map(|most| reached("tokens", format!("{tokens}"), format!("{most} tokens")));
            let usd =
                caps.usd.filter(|most| usd >= *most).map(|most| reached("usd", usd.to_string(), most.to_string()));
            let time = caps
                .time
                .filter(|most| took >= *most)
                .map(|most| reached("seconds", format!("{} s", took.as_secs()), format!("{} s", most.as_secs())));
            tokens.or(usd).or(time)
        })
    }
}
