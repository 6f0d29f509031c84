//! What one call of a model leaves behind for the books: who was asked, what was counted, what it cost.
//!
//! Made once, where the answer comes in, while the model that gave it is still at hand; whoever steps in later has not
//! earned it. The purse and the ledger are given the same receipt, so they cannot differ.

use crate::ports::{Card, Model};
use hermes_types::{CallRecord, Cost, CostStatus, Moment, Object, SessionId, Spent, Usage};
use std::time::Duration;

/// The word of the Python program for what a subscription covers.
const SUBSCRIPTION: &str = "subscription_included";

#[derive(Debug, Clone, PartialEq)]
pub struct Receipt {
    pub card: Card,
    pub usage: Usage,
    pub cost: Cost,
    pub took: Duration,
}

impl Receipt {
    pub fn of(model: &dyn Model, usage: Usage, took: Duration) -> Self {
        Self { card: model.card().clone(), usage, cost: model.price(&usage), took }
    }

    pub fn spent(&self) -> Spent {
        Spent::on(&self.usage, &self.cost)
    }

    /// The call as the ledger keeps it. `task` is empty for the conversation itself.
    pub fn record(&self, session: SessionId, at: Moment, task: &str) -> CallRecord {
        let covered = self.cost.status == CostStatus::Included;
        CallRecord {
            session,
            at,
            provider: self.card.provider.clone(),
            base_url: self.card.base_url.clone(),
            billing_mode: if covered { SUBSCRIPTION.to_owned() } else { String::new() },
            model: self.card.model.clone(),
            task: task.to_owned(),
            usage: self.usage,
            cost: self.cost.clone(),
            took: self.took,
            facts: Object::new(),
        }
    }
}
