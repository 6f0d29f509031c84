//! What one conversation cost, however many sessions it is kept in.

use super::books::{Part, Price, Scope, accounts};
use super::tally::Route;
use crate::db::Db;
use crate::fault::DbResult;
use crate::{lineage, removal, session};
use hermes_types::{Bill, BillRow, Payer, SessionId, Spent, Usage};
use std::collections::BTreeMap;

/// A conversation that nobody knows is refused.
pub(super) fn bill(db: &Db, id: &SessionId) -> DbResult<Bill> {
    session::exists(db, id)?;
    let root = lineage::continued(db, id)?.pop().unwrap_or_else(|| id.clone());
    let sessions = removal::with_delegates(db, &root)?;
    let mut sums: BTreeMap<(Payer, Route), (Usage, Spent)> = BTreeMap::new();
    let mut bill = Bill::default();
    for session in &sessions {
        let payer = payer(db, session, &root)?;
        for account in accounts(db, &Scope::One(session.clone()))? {
            for part in account.parts() {
                let spent = spent(&part);
                let (usage, sum) = sums.entry((payer, part.route.clone())).or_default();
                *usage += part.tally.usage;
                *sum += spent;
                bill.usage += part.tally.usage;
                bill.spent += spent;
            }
        }
    }
    let row = |((payer, route), (usage, spent)): ((Payer, Route), (Usage, Spent))| {
        let Route { model, provider, task } = route;
        BillRow { model, provider, task, payer, usage, spent }
    };
    bill.rows = sums.into_iter().map(row).collect();
    bill.rows.sort_by_key(|row| std::cmp::Reverse((row.spent.cost, row.usage.total())));
    bill.sessions = sessions;
    Ok(bill)
}

/// A sub-agent continues nobody's conversation but its own.
fn payer(db: &Db, session: &SessionId, root: &SessionId) -> DbResult<Payer> {
    let first = lineage::continued(db, session)?.pop();
    Ok(if first.as_ref() == Some(root) { Payer::Conversation } else { Payer::SubAgent })
}

fn spent(part: &Part<'_>) -> Spent {
    let tally = part.tally;
    let counts = |is: bool| if is { tally.calls } else { 0 };
    Spent {
        calls: tally.calls,
        tokens: tally.usage.total(),
        cost: tally.cost().unwrap_or_default(),
        unpriced: counts(part.price == Price::Unknown),
        estimated: counts(part.price != Price::Included && tally.actual.is_none() && tally.estimated.is_some()),
        included: counts(part.price == Price::Included),
    }
}
