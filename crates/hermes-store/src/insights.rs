//! What happened over a period, in numbers.
//!
//! A period owns the sessions that began in it, with everything they ever did, so that all numbers of a report speak of
//! the same conversations. Calls whose session was removed belong to the period they were made in, as long as no source
//! is asked for: what was spent stays spent. Messages count while they are live or were summarised away, not when they
//! were taken back. A tool was used, in each session, as often as the larger one of its results and the calls that
//! models asked for: either may be missing. What other programs spent has no times; it counts where the session began.

mod messages;

use crate::db::Db;
use crate::fault::DbResult;
use crate::ledger::{Account, Price, Route, Scope, Tally, accounts, known_sum};
use crate::row::text_at;
use hermes_types::{Bucket, Insights, ModelUse, Moment, Notable, SessionId, Share, SourceUse, Usd};
use messages::Talk;
use rusqlite::params_from_iter;
use std::collections::{BTreeMap, HashMap};

const QUARTER_HOUR: f64 = 900.0;

pub(crate) fn gather(db: &Db, from: Moment, to: Moment, source: Option<String>) -> DbResult<Insights> {
    let scope = Scope::Period { from, to, source: source.clone() };
    let mut buckets = Buckets::default();
    let accounts = accounts(db, &scope)?;
    let talks = messages::read(db, &scope, &mut buckets)?;
    for account in &accounts {
        buckets.take(account);
    }
    let mut total = Tally::default();
    accounts.iter().for_each(|account| total.add(&account.total()));
    let sessions = || accounts.iter().filter_map(|account| account.record.as_ref().map(|record| (account, record)));
    let lengths = || sessions().filter_map(|(_, record)| length(record.started_at, record.ended_at));
    let (compressions, compression_tokens_saved) = compressions(db, &scope)?;
    let priced = |price| count(accounts.iter().filter(|account| account.price() == Some(price)));
    Ok(Insights {
        from,
        to,
        source,
        sessions: count(sessions()),
        messages: talks.values().map(|talk| talk.messages).sum(),
        user_messages: talks.values().map(|talk| talk.of_user).sum(),
        tool_calls: talks.values().map(Talk::tool_calls).sum(),
        usage: total.usage,
        estimated_cost_usd: total.estimated,
        actual_cost_usd: total.actual,
        sessions_without_cost: priced(Price::Unknown),
        sessions_included: priced(Price::Included),
        active_seconds: lengths().sum(),
        ended_sessions: count(lengths()),
        compressions,
        compression_tokens_saved,
        models: models(&accounts),
        sources: sources(&accounts, &talks),
        tools: shares(talks.values().flat_map(Talk::tools)),
        exit_reasons: exit_reasons(db, &scope)?,
        end_reasons: shares(sessions().filter_map(|(_, record)| Some((record.end_reason.clone()?, 1)))),
        buckets: buckets.sorted(),
        notable: notable(&accounts, &talks),
    })
}

fn count<T>(things: impl Iterator<Item = T>) -> u64 {
    u64::try_from(things.count()).unwrap_or(u64::MAX)
}

/// How long a session that ended took; a clock that was set back makes it nothing.
fn length(started: Moment, ended: Option<Moment>) -> Option<f64> {
    ended.map(|ended| ended.since(started).as_secs_f64())
}

fn models(accounts: &[Account]) -> Vec<ModelUse> {
    let mut sums: BTreeMap<&Route, (u64, Option<Usd>, Tally)> = BTreeMap::new();
    for account in accounts {
        for route in account.routes() {
            sums.entry(route).or_default().0 += 1;
        }
        for part in account.parts() {
            let (_, cost, sum) = sums.entry(part.route).or_default();
            *cost = known_sum(*cost, part.tally.cost());
            sum.add(part.tally);
        }
    }
    let used = |(route, (sessions, cost_usd, tally)): (&Route, (u64, Option<Usd>, Tally))| ModelUse {
        sessions,
        cost_usd,
        sum: tally.into_row(route.clone()),
    };
    let mut models: Vec<ModelUse> = sums.into_iter().map(used).collect();
    models.sort_by_key(|model| std::cmp::Reverse(model.sum.usage.total()));
    models
}

fn sources(accounts: &[Account], talks: &HashMap<String, Talk>) -> Vec<SourceUse> {
    let mut sums: BTreeMap<&str, SourceUse> = BTreeMap::new();
    for account in accounts {
        let Some(record) = &account.record else { continue };
        let empty = || SourceUse { source: record.source.clone(), sessions: 0, messages: 0, tokens: 0 };
        let sum = sums.entry(&record.source).or_insert_with(empty);
        sum.sessions += 1;
        sum.messages += talks.get(&account.session).map_or(0, |talk| talk.messages);
        sum.tokens = sum.tokens.saturating_add(account.total().usage.total());
    }
    let mut sources: Vec<SourceUse> = sums.into_values().collect();
    sources.sort_by_key(|source| std::cmp::Reverse((source.sessions, source.messages, source.tokens)));
    sources
}

/// How often something became shorter, and by how many tokens. What did not is no compression to anybody.
fn compressions(db: &Db, scope: &Scope) -> DbResult<(u64, u64)> {
    let (condition, values) = scope.of_sessions();
    let sql = format!(
        "SELECT count(*), coalesce(sum(r.tokens_before - r.tokens_after), 0)
         FROM sessions s CROSS JOIN hermes_compressions r ON r.session_id = s.id
         WHERE r.tokens_after < r.tokens_before AND {condition}"
    );
    let mut statement = db.connection.prepare_cached(&sql)?;
    let counted = statement.query_row(params_from_iter(values), |row| Ok((row.get(0)?, row.get(1)?)))?;
    Ok(counted)
}

fn exit_reasons(db: &Db, scope: &Scope) -> DbResult<Vec<Share>> {
    let (condition, values) = scope.of_sessions();
    let of_sessions = format!("sessions s CROSS JOIN hermes_turns r ON r.session_id = s.id WHERE {condition}");
    let mut counts = reasons(db, &of_sessions, values)?;
    if let Some((condition, values)) = scope.of_orphans("started_at") {
        counts.extend(reasons(db, &format!("hermes_turns r WHERE {condition}"), values)?);
    }
    Ok(shares(counts))
}

fn reasons(db: &Db, from: &str, values: Vec<rusqlite::types::Value>) -> DbResult<Vec<(String, u64)>> {
    let sql = format!("SELECT r.exit_reason, count(*) FROM {from} GROUP BY r.exit_reason");
    let mut statement = db.connection.prepare_cached(&sql)?;
    let mut rows = statement.query(params_from_iter(values))?;
    let mut counts = Vec::new();
    while let Some(row) = rows.next()? {
        counts.push((text_at(row, 0)?.unwrap_or_default(), row.get(1)?));
    }
    Ok(counts)
}

/// The sums by name, the most frequent first.
fn shares(counts: impl IntoIterator<Item = (String, u64)>) -> Vec<Share> {
    let mut sums: BTreeMap<String, u64> = BTreeMap::new();
    for (name, count) in counts {
        *sums.entry(name).or_default() += count;
    }
    let mut shares: Vec<Share> = sums.into_iter().map(|(name, count)| Share { name, count }).collect();
    shares.sort_by_key(|share| std::cmp::Reverse(share.count));
    shares
}

type Measure<'a> = &'a dyn Fn(&Account) -> f64;

/// The session at the top of each list that has one; of equals the earliest.
fn notable(accounts: &[Account], talks: &HashMap<String, Talk>) -> Vec<Notable> {
    let talk = |account: &Account| talks.get(&account.session);
    let measures: [(&str, Measure<'_>); 5] = [
        ("longest", &|account| {
            account.record.as_ref().and_then(|record| length(record.started_at, record.ended_at)).unwrap_or_default()
        }),
        ("most_messages", &|account| talk(account).map_or(0.0, |talk| talk.messages as f64)),
        ("most_tokens", &|account| account.total().usage.total() as f64),
        ("most_tool_calls", &|account| talk(account).map_or(0.0, |talk| talk.tool_calls() as f64)),
        ("most_expensive", &|account| account.cost().map_or(0.0, Usd::as_f64)),
    ];
    let mut found = Vec::new();
    for (what, measure) in measures {
        let mut best: Option<Notable> = None;
        for account in accounts {
            let (Some(record), value) = (&account.record, measure(account)) else { continue };
            if value > best.as_ref().map_or(0.0, |best| best.value) {
                let session = SessionId::new(account.session.clone());
                best = Some(Notable { what: what.to_owned(), session, title: record.title.clone(), value });
            }
        }
        found.extend(best);
    }
    found
}

/// The quarters of an hour in which something happened, by their number since 1970.
#[derive(Default)]
struct Buckets(HashMap<i64, Counts>);

#[derive(Default)]
struct Counts {
    sessions: u64,
    messages: u64,
    spent: Tally,
    cost: Option<Usd>,
}

impl Buckets {
    fn at(&mut self, time: Moment) -> &mut Counts {
        self.0.entry((time.seconds() / QUARTER_HOUR).floor() as i64).or_default()
    }

    fn take(&mut self, account: &Account) {
        let mut spend = |at: Moment, tally: &Tally| {
            let counts = self.at(at);
            counts.spent.add(tally);
            counts.cost = known_sum(counts.cost, tally.cost());
        };
        account.calls.iter().for_each(|call| spend(call.at, &call.tally));
        if let Some(record) = &account.record {
            account.elsewhere.iter().for_each(|(_, tally)| spend(record.started_at, tally));
            self.at(record.started_at).sessions += 1;
        }
    }

    fn sorted(self) -> Vec<Bucket> {
        let mut buckets: Vec<(i64, Counts)> = self.0.into_iter().collect();
        buckets.sort_by_key(|(number, _)| *number);
        let bucket = |(number, counts): (i64, Counts)| Bucket {
            start: Moment::from_seconds(number as f64 * QUARTER_HOUR),
            sessions: counts.sessions,
            messages: counts.messages,
            usage: counts.spent.usage,
            cost_usd: counts.cost,
        };
        buckets.into_iter().map(bucket).collect()
    }
}
