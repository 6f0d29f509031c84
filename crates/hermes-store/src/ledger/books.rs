//! The accounts of sessions, read from all the places they are kept in: one pass over each table.

use super::tally::{Route, Sums, Tally, elsewhere};
use crate::db::Db;
use crate::fault::DbResult;
use crate::row::text_at;
use hermes_types::{Moment, PARTIAL, SessionId, Usage, Usd};
use rusqlite::types::{Value, ValueRef};
use rusqlite::{Row, params_from_iter};
use std::collections::{BTreeSet, HashMap};

const UNNAMED: &str = "unknown";

/// Which sessions are meant.
#[derive(Debug, Clone)]
pub(crate) enum Scope {
    All,
    One(SessionId),
    /// Those that began in it.
    Period {
        from: Moment,
        to: Moment,
        source: Option<String>,
    },
}

/// Whether a price is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Price {
    Known,
    /// A subscription covers it.
    Included,
    Unknown,
}

/// A call of ours.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Call {
    pub(crate) at: Moment,
    pub(crate) route: Route,
    pub(crate) tally: Tally,
    pub(crate) price: Price,
}

/// One entry of an account: a call of ours, or a sum of another program.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Part<'a> {
    pub(crate) route: &'a Route,
    pub(crate) tally: &'a Tally,
    pub(crate) price: Price,
}

/// Everything known about what one session spent.
#[derive(Debug, Clone, Default)]
pub(crate) struct Account {
    pub(crate) session: String,
    /// What the record says; `None` when the session was removed and only its calls are left.
    pub(crate) record: Option<Record>,
    pub(crate) calls: Vec<Call>,
    /// What other programs did, without times.
    pub(crate) elsewhere: Vec<(Route, Tally)>,
}

/// The record of a session, as far as reports need it.
#[derive(Debug, Clone)]
pub(crate) struct Record {
    pub(crate) source: String,
    pub(crate) title: Option<String>,
    pub(crate) started_at: Moment,
    pub(crate) ended_at: Option<Moment>,
    pub(crate) end_reason: Option<String>,
    price: Price,
}

impl Account {
    /// Each part of the bill, ours call by call.
    pub(crate) fn parts(&self) -> impl Iterator<Item = Part<'_>> {
        let ours = self.calls.iter().map(|call| Part { route: &call.route, tally: &call.tally, price: call.price });
        let theirs = self.elsewhere.iter();
        ours.chain(theirs.map(|(route, tally)| Part { route, tally, price: self.price_elsewhere(tally) }))
    }

    /// What another program says about the price of what it did.
    fn price_elsewhere(&self, tally: &Tally) -> Price {
        match (tally.cost(), &self.record) {
            (Some(cost), _) if cost.pico() > 0 => Price::Known,
            (_, Some(record)) if record.price == Price::Included => Price::Included,
            (Some(_), _) => Price::Known,
            (None, _) => Price::Unknown,
        }
    }

    pub(crate) fn total(&self) -> Tally {
        let mut sum = Tally::default();
        self.parts().for_each(|part| sum.add(part.tally));
        sum
    }

    /// What it cost as far as it is known: for each part what the provider said, else what was computed.
    pub(crate) fn cost(&self) -> Option<Usd> {
        self.parts().map(|part| part.tally.cost()).fold(None, super::tally::known_sum)
    }

    pub(crate) fn routes(&self) -> BTreeSet<&Route> {
        self.parts().map(|part| part.route).collect()
    }

    /// One part without a price makes the whole unknown; `None` when nothing was used.
    pub(crate) fn price(&self) -> Option<Price> {
        let prices: Vec<Price> = self.parts().map(|part| part.price).collect();
        let has = |price| prices.contains(&price);
        match (has(Price::Unknown), has(Price::Included), has(Price::Known)) {
            (true, _, _) => Some(Price::Unknown),
            (_, true, _) => Some(Price::Included),
            (_, _, true) => Some(Price::Known),
            _ => None,
        }
    }
}

impl Scope {
    /// A condition on `sessions s`, and its values.
    pub(crate) fn of_sessions(&self) -> (&'static str, Vec<Value>) {
        match self {
            Self::All => ("1", Vec::new()),
            Self::One(id) => ("s.id = ?1", vec![Value::Text(id.to_string())]),
            Self::Period { from, to, source: None } => ("s.started_at >= ?1 AND s.started_at < ?2", span(*from, *to)),
            Self::Period { from, to, source: Some(source) } => {
                let mut values = span(*from, *to);
                values.push(Value::Text(source.clone()));
                ("s.started_at >= ?1 AND s.started_at < ?2 AND s.source = ?3", values)
            }
        }
    }

    /// A condition on rows `r` of ours whose session was removed; nobody knows where such a session was held.
    pub(crate) fn of_orphans(&self, time: &str) -> Option<(String, Vec<Value>)> {
        let (own, values) = match self {
            Self::All => ("1".to_owned(), Vec::new()),
            Self::One(id) => ("r.session_id = ?1".to_owned(), vec![Value::Text(id.to_string())]),
            Self::Period { from, to, source: None } => (format!("r.{time} >= ?1 AND r.{time} < ?2"), span(*from, *to)),
            Self::Period { source: Some(_), .. } => return None,
        };
        Some((format!("{own} AND NOT EXISTS (SELECT 1 FROM sessions s WHERE s.id = r.session_id)"), values))
    }
}

fn span(from: Moment, to: Moment) -> Vec<Value> {
    vec![Value::Real(from.seconds()), Value::Real(to.seconds())]
}

/// The accounts of the sessions meant, in the order they began, then those of removed sessions.
pub(crate) fn accounts(db: &Db, scope: &Scope) -> DbResult<Vec<Account>> {
    let mut shelf = Shelf::default();
    shelf.read_sessions(db, scope)?;
    let (condition, values) = scope.of_sessions();
    if db.shape.model_usage {
        shelf.read_model_rows(db, condition, &values)?;
    }
    let of_sessions = format!("sessions s CROSS JOIN hermes_calls r ON r.session_id = s.id WHERE {condition}");
    shelf.read_calls(db, &of_sessions, &values)?;
    if let Some((condition, values)) = scope.of_orphans("at") {
        shelf.read_calls(db, &format!("hermes_calls r WHERE {condition}"), &values)?;
    }
    Ok(shelf.close())
}

/// Accounts while they are being read.
#[derive(Default)]
struct Shelf {
    accounts: Vec<(Account, Sums)>,
    places: HashMap<String, usize>,
}

impl Shelf {
    fn of(&mut self, session: String) -> Option<&mut (Account, Sums)> {
        let next = self.accounts.len();
        let place = *self.places.entry(session.clone()).or_insert(next);
        if place == next {
            self.accounts.push((Account { session, ..Account::default() }, Sums::default()));
        }
        self.accounts.get_mut(place)
    }

    fn read_sessions(&mut self, db: &Db, scope: &Scope) -> DbResult<()> {
        let (condition, values) = scope.of_sessions();
        // An old file that cannot be written lacks some of these.
        let columns = [
            "id",
            "source",
            "title",
            "started_at",
            "ended_at",
            "end_reason",
            "cost_status",
            "model",
            "billing_provider",
            "api_call_count",
            "input_tokens",
            "output_tokens",
            "cache_read_tokens",
            "cache_write_tokens",
            "reasoning_tokens",
            "estimated_cost_usd",
            "actual_cost_usd",
        ]
        .map(|name| if db.shape.session_has(name) { format!("s.{name}") } else { "NULL".to_owned() });
        let sql = format!("SELECT {} FROM sessions s WHERE {condition} ORDER BY s.started_at", columns.join(", "));
        let mut statement = db.connection.prepare_cached(&sql)?;
        let mut rows = statement.query(params_from_iter(values))?;
        while let Some(row) = rows.next()? {
            let status = text_at(row, 6)?;
            let record = Record {
                source: text_at(row, 1)?.unwrap_or_default(),
                title: text_at(row, 2)?,
                started_at: Moment::from_seconds(number(row, 3)?.unwrap_or_default()),
                ended_at: number(row, 4)?.map(Moment::from_seconds),
                end_reason: text_at(row, 5)?,
                price: price(status.as_deref()),
            };
            let columns = summed(row, 9, status.as_deref())?;
            let named =
                Route { model: model(row, 7)?, provider: text_at(row, 8)?.unwrap_or_default(), ..Route::default() };
            if let Some((account, sums)) = self.of(text_at(row, 0)?.unwrap_or_default()) {
                account.record = Some(record);
                (sums.columns, sums.named) = (columns, named);
            }
        }
        Ok(())
    }

    fn read_model_rows(&mut self, db: &Db, condition: &str, values: &[Value]) -> DbResult<()> {
        let mut statement = db.connection.prepare_cached(&format!(
            "SELECT s.id, r.model, r.billing_provider, r.task, r.cost_status, r.api_call_count, r.input_tokens,
                 r.output_tokens, r.cache_read_tokens, r.cache_write_tokens, r.reasoning_tokens, r.estimated_cost_usd,
                 r.actual_cost_usd
             FROM sessions s CROSS JOIN session_model_usage r ON r.session_id = s.id WHERE {condition}"
        ))?;
        let mut rows = statement.query(params_from_iter(values))?;
        while let Some(row) = rows.next()? {
            let tally = summed(row, 5, text_at(row, 4)?.as_deref())?;
            let route = route(row, 1)?;
            if let Some((_, sums)) = self.of(text_at(row, 0)?.unwrap_or_default()) {
                sums.rows.push((route, tally));
            }
        }
        Ok(())
    }

    fn read_calls(&mut self, db: &Db, from: &str, values: &[Value]) -> DbResult<()> {
        let mut statement = db.connection.prepare_cached(&format!(
            "SELECT r.session_id, r.model, r.provider, r.task, r.at, r.cost_status, r.input_tokens, r.output_tokens,
                 r.cache_read_tokens, r.cache_write_tokens, r.reasoning_tokens, r.estimated_pico, r.actual_pico,
                 r.cost_source
             FROM {from}"
        ))?;
        let mut rows = statement.query(params_from_iter(values))?;
        while let Some(row) = rows.next()? {
            let pico = |column| row.get::<_, Option<i64>>(column).map(|pico| pico.map(Usd::from_pico));
            let tally = Tally { calls: 1, usage: usage(row, 6)?, estimated: pico(11)?, actual: pico(12)? };
            let is_partial = text_at(row, 13)?.is_some_and(|source| source.ends_with(PARTIAL));
            let price = match (price(text_at(row, 5)?.as_deref()), tally.cost()) {
                (Price::Included, _) => Price::Included,
                (_, Some(_)) if is_partial => Price::Unknown,
                (_, Some(_)) => Price::Known,
                // A call that used nothing, such as a refused one, leaves no bill.
                (_, None) if tally.usage.total() == 0 => Price::Known,
                (_, None) => Price::Unknown,
            };
            let at = Moment::from_seconds(number(row, 4)?.unwrap_or_default());
            let call = Call { at, route: route(row, 1)?, tally, price };
            if let Some((account, _)) = self.of(text_at(row, 0)?.unwrap_or_default()) {
                account.calls.push(call);
            }
        }
        Ok(())
    }

    fn close(self) -> Vec<Account> {
        let close = |(mut account, sums): (Account, Sums)| {
            let ours: Vec<(Route, Tally)> = account.calls.iter().map(|call| (call.route.clone(), call.tally)).collect();
            account.elsewhere = elsewhere(&ours, &sums);
            account
        };
        self.accounts.into_iter().map(close).collect()
    }
}

fn model(row: &Row<'_>, column: usize) -> DbResult<String> {
    Ok(text_at(row, column)?.filter(|name| !name.is_empty()).unwrap_or_else(|| UNNAMED.to_owned()))
}

fn route(row: &Row<'_>, first: usize) -> DbResult<Route> {
    Ok(Route {
        model: model(row, first)?,
        provider: text_at(row, first + 1)?.unwrap_or_default(),
        task: text_at(row, first + 2)?.unwrap_or_default(),
    })
}

/// Calls, tokens and dollars of another program, in the order every query here has them. Its rows say zero where they
/// mean that nobody knows, unless their status says otherwise.
fn summed(row: &Row<'_>, first: usize, status: Option<&str>) -> DbResult<Tally> {
    let is_told = price(status) != Price::Unknown;
    let money = |column| -> DbResult<Option<Usd>> {
        let dollars = number(row, column)?.and_then(Usd::from_f64);
        Ok(dollars.filter(|dollars| dollars.pico() != 0 || is_told))
    };
    let actual = money(first + 7)?.filter(|actual| actual.pico() != 0 || status == Some("actual"));
    Ok(Tally { calls: count(row, first)?, usage: usage(row, first + 1)?, estimated: money(first + 6)?, actual })
}

fn usage(row: &Row<'_>, first: usize) -> DbResult<Usage> {
    Ok(Usage {
        input: count(row, first)?,
        output: count(row, first + 1)?,
        cache_read: count(row, first + 2)?,
        cache_write: count(row, first + 3)?,
        cache_write_1h: 0,
        reasoning: count(row, first + 4)?,
        cost: None,
    })
}

fn price(status: Option<&str>) -> Price {
    match status {
        Some("included") => Price::Included,
        Some("actual" | "estimated") => Price::Known,
        _ => Price::Unknown,
    }
}

/// A number in whatever form another program left it; what is none counts as nothing.
pub(crate) fn number(row: &Row<'_>, column: usize) -> DbResult<Option<f64>> {
    Ok(match row.get_ref(column)? {
        ValueRef::Integer(number) => Some(number as f64),
        ValueRef::Real(number) => Some(number),
        ValueRef::Text(bytes) => std::str::from_utf8(bytes).ok().and_then(|text| text.trim().parse().ok()),
        ValueRef::Null | ValueRef::Blob(_) => None,
    }
    .filter(|number: &f64| number.is_finite()))
}

fn count(row: &Row<'_>, column: usize) -> DbResult<u64> {
    Ok(match row.get_ref(column)? {
        ValueRef::Integer(number) => u64::try_from(number).unwrap_or_default(),
        _ => number(row, column)?.map_or(0, |number| number as u64),
    })
}
