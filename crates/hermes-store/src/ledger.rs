//! What was spent and what was done.
//!
//! Every call of a model is a row of `hermes_calls`, with its money in whole picodollars, and is added in the same
//! transaction to the sums that other programs read: the columns of the session and, where it is there, the table
//! `session_model_usage`. Turns, compressions and effects are rows of our own tables. What a session that nobody knows is
//! said to have done is refused. How our rows and the sums of others become one account is told in [`tally`].

mod bill;
mod books;
mod calls;
mod compressions;
pub(crate) mod effects;
pub(crate) mod rest;
mod tally;

pub(crate) use books::{Account, Price, Scope, accounts, number};
pub(crate) use tally::{Route, Tally, known_sum};

use crate::db::Db;
use crate::fault::DbResult;
use crate::insights;
use crate::session;
use crate::store::SqliteStore;
use hermes_core::store::{Kept, Ledger};
use hermes_types::{
    Bill, CallId, CallRecord, CompressionRecord, EffectRecord, EffectState, Insights, Moment, SessionId, Spent, SummaryRest,
    TurnRecord, UsageRow,
};
use std::collections::BTreeMap;
use std::time::Duration;

impl Ledger for SqliteStore {
    fn record_call(&self, call: CallRecord) -> Kept<'_, ()> {
        self.write(move |db| calls::record(db, &call))
    }

    fn record_turn(&self, turn: TurnRecord) -> Kept<'_, ()> {
        self.write(move |db| record_turn(db, &turn))
    }

    fn record_compression(&self, compression: CompressionRecord) -> Kept<'_, ()> {
        self.write(move |db| compressions::record(db, &compression))
    }

    fn compressions(&self, session: &SessionId) -> Kept<'_, Vec<CompressionRecord>> {
        let session = session.clone();
        self.read(move |db| compressions::of_conversation(db, &session))
    }

    fn summary_rest(&self, session: &SessionId) -> Kept<'_, SummaryRest> {
        let session = session.clone();
        self.read(move |db| rest::get(db, &session))
    }

    fn set_summary_rest(&self, session: &SessionId, rest: SummaryRest) -> Kept<'_, ()> {
        let session = session.clone();
        self.write(move |db| rest::set(db, &session, &rest))
    }

    fn begin_effect(&self, effect: EffectRecord) -> Kept<'_, ()> {
        self.write(move |db| effects::begin(db, &effect))
    }

    fn end_effect(&self, session: &SessionId, call: &CallId, state: EffectState, at: Moment) -> Kept<'_, ()> {
        let (session, call) = (session.clone(), call.clone());
        self.write(move |db| effects::end(db, &session, &call, state, at))
    }

    fn open_effects(&self, session: &SessionId) -> Kept<'_, Vec<EffectRecord>> {
        let session = session.clone();
        self.read(move |db| effects::open(db, &session))
    }

    fn usage(&self, session: Option<&SessionId>) -> Kept<'_, Vec<UsageRow>> {
        let scope = session.map_or(Scope::All, |id| Scope::One(id.clone()));
        self.read(move |db| usage(db, &scope))
    }

    fn bill(&self, session: &SessionId) -> Kept<'_, Bill> {
        let session = session.clone();
        self.read(move |db| bill::bill(db, &session))
    }

    fn spent(&self, since: Moment) -> Kept<'_, Spent> {
        self.read(move |db| calls::spent(db, since))
    }

    fn insights(&self, from: Moment, to: Moment, source: Option<&str>) -> Kept<'_, Insights> {
        let source = source.map(str::to_owned);
        self.read(move |db| insights::gather(db, from, to, source))
    }
}

fn record_turn(db: &Db, turn: &TurnRecord) -> DbResult<()> {
    session::exists(db, &turn.session)?;
    db.connection
        .prepare_cached(
            "INSERT INTO hermes_turns(session_id, started_at, ended_at, exit_reason, model_calls, tool_calls, error)
             VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7)",
        )?
        .execute((
            turn.session.as_str(),
            turn.started_at.seconds(),
            turn.ended_at.seconds(),
            &turn.exit_reason,
            integer(turn.model_calls),
            integer(turn.tool_calls),
            &turn.error,
        ))?;
    Ok(())
}

/// The sums by model, provider and task, the largest first.
fn usage(db: &Db, scope: &Scope) -> DbResult<Vec<UsageRow>> {
    let mut sums: BTreeMap<Route, Tally> = BTreeMap::new();
    for account in accounts(db, scope)? {
        for part in account.parts() {
            sums.entry(part.route.clone()).or_default().add(part.tally);
        }
    }
    let mut rows: Vec<UsageRow> = sums.into_iter().map(|(route, tally)| tally.into_row(route)).collect();
    rows.sort_by_key(|row| std::cmp::Reverse(row.usage.total()));
    Ok(rows)
}

/// A count as SQLite holds it.
/// The largest number that SQLite holds stands for all beyond it.
pub(crate) fn integer(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

fn milliseconds(time: Duration) -> i64 {
    i64::try_from(time.as_millis()).unwrap_or(i64::MAX)
}
