//! Where jobs beside a conversation are paid: summaries, titles, advice, looking at images.
//!
//! A turn opens an account with its purse, and so does every sub-agent with the same one; a job for a session pays from
//! it, is asked for before, and is in the ledger of its session under its task. A job that does not say whom it is for is
//! paid by the one conversation that is at work, where there is only one.

use crate::clock::Clock;
use crate::receipt::Receipt;
use crate::store::{SessionStore, StoreError};
use crate::turn::budget::{Exhausted, Purse};
use hermes_types::SessionId;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

pub struct Till {
    /// Where calls are written down; without one only purses are asked.
    store: Option<Arc<dyn SessionStore>>,
    clock: Arc<dyn Clock>,
    /// Turns at work, those that began first at the beginning.
    accounts: Mutex<Vec<Account>>,
}

#[derive(Clone)]
struct Account {
    session: SessionId,
    purse: Arc<Purse>,
}

/// A turn that pays. When it goes, so does its account.
pub struct Paying<'a> {
    till: &'a Till,
    account: Account,
}

/// What became of a payment.
#[derive(Debug, Clone, PartialEq)]
pub struct Paid {
    /// False when a limit in dollars cannot be held, because nobody knows all the job cost.
    pub limits_hold: bool,
    /// Whether it is in the ledger.
    pub written: Result<(), StoreError>,
}

impl Drop for Paying<'_> {
    fn drop(&mut self) {
        let is_own =
            |open: &Account| open.session == self.account.session && Arc::ptr_eq(&open.purse, &self.account.purse);
        let mut accounts = self.till.accounts();
        if let Some(own) = accounts.iter().rposition(is_own) {
            accounts.remove(own);
        }
    }
}

impl Till {
    pub fn new(store: Option<Arc<dyn SessionStore>>, clock: Arc<dyn Clock>) -> Self {
        Self { store, clock, accounts: Mutex::default() }
    }

    /// The turn of a session pays from this purse until it is over.
    #[must_use]
    pub fn open(&self, session: SessionId, purse: Arc<Purse>) -> Paying<'_> {
        let account = Account { session, purse };
        self.accounts().push(account.clone());
        Paying { till: self, account }
    }

    /// Why nothing may be spent on a job any more, if so. To be asked before it is done.
    pub fn exhausted(&self, session: Option<&SessionId>) -> Option<Exhausted> {
        self.account(session)?.purse.exhausted(self.clock.elapsed())
    }

    /// Pays for a job that was done.
    pub async fn pay(&self, session: Option<&SessionId>, task: &str, receipt: &Receipt) -> Paid {
        let account = self.account(session);
        let limits_hold = account.as_ref().is_none_or(|account| account.purse.pay(Some(receipt)));
        let payer = session.cloned().or(account.map(|account| account.session));
        let written = match (&self.store, payer) {
            (Some(store), Some(payer)) => store.record_call(receipt.record(payer, self.clock.now().into(), task)).await,
            _ => Ok(()),
        };
        Paid { limits_hold, written }
    }

    /// Who pays: the newest turn of the session; without a session the first turn, if all at work share one purse.
    fn account(&self, session: Option<&SessionId>) -> Option<Account> {
        let accounts = self.accounts();
        match session {
            Some(session) => accounts.iter().rfind(|open| open.session == *session).cloned(),
            None => {
                let first = accounts.first()?;
                let is_alone = accounts.iter().all(|open| open.purse.shares_with(&first.purse));
                is_alone.then(|| first.clone())
            }
        }
    }

    fn accounts(&self) -> MutexGuard<'_, Vec<Account>> {
        self.accounts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::RealClock;
    use crate::ports::Card;
    use crate::turn::budget::{Caps, Limits};
    use hermes_types::{Cost, Spent, Usage, Usd};
    use std::time::Duration;

    fn receipt(dollars: f64) -> Receipt {
        let card = Card {
            provider: "p".into(),
            model: "m".into(),
            base_url: String::new(),
            context_window: 1,
            output_cap: None,
            stale_after: Duration::ZERO,
            first_byte_after: None,
            give_up_after: Duration::ZERO,
        };
        let cost = Cost::actual(Usd::from_f64(dollars).expect("money"));
        Receipt { card, usage: Usage { input: 10, ..Usage::default() }, cost, took: Duration::ZERO }
    }

    fn purse() -> Arc<Purse> {
        let turn = Caps { usd: Usd::from_f64(1.0), ..Caps::default() };
        let limits = Limits { turn, ..Limits::default() };
        Arc::new(Purse::new(limits, Spent::default(), Spent::default(), Duration::ZERO))
    }

    #[tokio::test]
    async fn a_job_is_paid_by_the_turn_it_is_for() {
        let till = Till::new(None, Arc::new(RealClock::default()));
        let (one, other) = (SessionId::new("one"), SessionId::new("other"));
        let (purse, foreign) = (purse(), purse());
        let open = till.open(one.clone(), purse.clone());
        let child = till.open(SessionId::new("child"), purse.clone());
        till.pay(None, "approval", &receipt(0.25)).await;
        assert_eq!(purse.spent().cost, Usd::from_f64(0.25).expect("money"), "all at work share one purse");
        let third = till.open(other.clone(), foreign.clone());
        till.pay(None, "approval", &receipt(0.25)).await;
        assert_eq!(purse.spent().cost, Usd::from_f64(0.25).expect("money"), "nobody knows who should pay");
        till.pay(Some(&other), "title_generation", &receipt(2.0)).await;
        assert_eq!(till.exhausted(Some(&other)).map(|reached| reached.key), Some("budget.turn_usd".into()));
        assert!(till.exhausted(Some(&one)).is_none());
        drop(third);
        assert!(till.exhausted(Some(&other)).is_none(), "a turn that is over has no limit");
        till.pay(Some(&SessionId::new("child")), "compression", &receipt(1.0)).await;
        assert!(till.exhausted(Some(&one)).is_some() && till.exhausted(None).is_some(), "one purse for the whole tree");
        drop((child, open));
        assert!(till.exhausted(None).is_none());
    }
}
