//! Which credential of a pool is used next, and what a fault does to it. Pure functions over rows.
//!
//! A row that rests or is dead is never chosen. A rest ends by itself; death ends with a new login.

use super::error::DeadReason;
use super::moment;
use super::row::{AuthType, LONGEST_REST, REST_AFTER_401, REST_OTHERWISE, Row, Standing};
use super::source::Source;
use crate::secret::Secret;
use hermes_types::{Fault, FaultKind, clip};
use jiff::Timestamp;
use sha2::{Digest, Sha256};
use std::time::Duration;

const DEAD_ROWS_KEPT: Duration = Duration::from_secs(24 * 3600);
const LONGEST_MESSAGE: usize = 300;
/// A credential that failed for a reason of its server's is passed over for a moment only.
const REST_AFTER_A_HICCUP: Duration = Duration::from_secs(60);

/// How a pool shares the work (`credential_pool_strategies.<provider>`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Strategy {
    /// The first usable row until it needs a rest.
    #[default]
    FillFirst,
    /// Each use sends the row to the end of the line.
    RoundRobin,
    Random,
    LeastUsed,
}

/// A credential found outside `auth.json` right now.
#[derive(Debug, Clone)]
pub struct Live {
    pub source: Source,
    pub label: String,
    pub auth_type: AuthType,
    pub secret: Secret,
    pub base_url: Option<String>,
    pub expires_at: Option<Timestamp>,
}

impl Strategy {
    pub const ALL: [Self; 4] = [Self::FillFirst, Self::RoundRobin, Self::Random, Self::LeastUsed];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::FillFirst => "fill_first",
            Self::RoundRobin => "round_robin",
            Self::Random => "random",
            Self::LeastUsed => "least_used",
        }
    }

    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|strategy| strategy.as_str() == word.trim())
    }
}

/// The row to use now. The seed is drawn by the caller, so that a run can be repeated.
pub fn choose(rows: &[Row], strategy: Strategy, now: Timestamp, seed: u64) -> Option<usize> {
    let mut ready: Vec<(usize, &Row)> = rows
        .iter()
        .enumerate()
        .filter(|(_, row)| row.standing(now) == Standing::Ready && row.secret().is_some())
        .collect();
    ready.sort_by_key(|(index, row)| (row.priority(), *index));
    let chosen = match strategy {
        Strategy::FillFirst | Strategy::RoundRobin => ready.first(),
        Strategy::Random => {
            let place = seed.checked_rem(ready.len() as u64)?;
            ready.get(usize::try_from(place).ok()?)
        }
        Strategy::LeastUsed => ready.iter().min_by_key(|(_, row)| row.request_count()),
    };
    chosen.map(|(index, _)| *index)
}

/// The rows after the one with this id answered a request: counted, well again, and last in line if they take turns.
pub fn used(mut rows: Vec<Row>, id: &str, strategy: Strategy) -> Vec<Row> {
    let last = rows.iter().map(Row::priority).max().unwrap_or(0);
    let several = rows.len() > 1;
    if let Some(row) = rows.iter_mut().find(|row| row.id() == id) {
        row.clear_verdict();
        row.set("last_status", "ok");
        row.set("request_count", row.request_count().saturating_add(1));
        if strategy == Strategy::RoundRobin && several {
            row.set("priority", last.saturating_add(1));
        }
    }
    rows
}

/// What a fault means for the credential it happened to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Consequence {
    /// The fault says nothing about this credential.
    None,
    Rest,
    Death,
}

fn consequence(fault: &Fault) -> Consequence {
    match fault.kind {
        FaultKind::AuthPermanent => Consequence::Death,
        FaultKind::Auth if fault.code.as_deref().and_then(DeadReason::parse).is_some() => Consequence::Death,
        FaultKind::Auth | FaultKind::RateLimit | FaultKind::Billing => Consequence::Rest,
        _ => Consequence::None,
    }
}

/// How long a credential is left alone after a fault.
pub fn rest(fault: &Fault) -> Duration {
    match (consequence(fault), fault.retry_after) {
        (Consequence::Death, _) => LONGEST_REST,
        (_, Some(asked)) => asked.min(LONGEST_REST),
        (Consequence::Rest, None) if status_of(fault) == 401 => REST_AFTER_401,
        (Consequence::Rest, None) => REST_OTHERWISE,
        (Consequence::None, None) => REST_AFTER_A_HICCUP,
    }
}

fn status_of(fault: &Fault) -> u16 {
    fault.status.unwrap_or(match fault.kind {
        FaultKind::Auth | FaultKind::AuthPermanent => 401,
        FaultKind::Billing => 402,
        _ => 429,
    })
}

/// The row after the fault.
pub fn rested(mut row: Row, fault: &Fault, now: Timestamp) -> Row {
    let status = match consequence(fault) {
        Consequence::None => return row,
        Consequence::Rest => "exhausted",
        Consequence::Death => "dead",
    };
    row.clear_verdict();
    row.set("last_status", status);
    row.set("last_status_at", moment::epoch(now));
    row.set("last_error_code", status_of(fault));
    let reason = fault.code.as_deref().unwrap_or(match fault.kind {
        FaultKind::AuthPermanent => DeadReason::InvalidToken.as_str(),
        FaultKind::Billing => "billing",
        FaultKind::RateLimit => "rate_limit",
        _ => "auth",
    });
    row.set("last_error_reason", clip(reason, LONGEST_MESSAGE));
    row.set("last_error_message", clip(&fault.message, LONGEST_MESSAGE));
    if let Some(wait) = fault.retry_after {
        row.set("last_error_reset_at", moment::epoch(moment::later(now, wait.min(LONGEST_REST))));
    }
    row
}

/// Without the rows a person added by hand that have been dead for a day.
pub fn pruned(rows: Vec<Row>, now: Timestamp) -> Vec<Row> {
    let gone = |row: &Row| {
        row.source().is_manual()
            && matches!(row.standing(now), Standing::Dead { .. })
            && row.status_at().is_some_and(|since| moment::later(since, DEAD_ROWS_KEPT) <= now)
    };
    rows.into_iter().filter(|row| !gone(row)).collect()
}

/// What is on disk, plus those of our rows it does not have, less those removed on purpose. A row on disk wins over our
/// copy of it: every change of a row is made on disk under the lock, so the disk is never older than we are.
pub fn merged(on_disk: Vec<Row>, ours: &[Row], removed: &[&str]) -> Vec<Row> {
    let mut rows = on_disk;
    for row in ours {
        if !rows.iter().any(|known| known.id() == row.id()) {
            rows.push(row.clone());
        }
    }
    rows.retain(|row| !removed.contains(&row.id()));
    rows
}

/// The stored rows with the secrets that live elsewhere put back in, and a new row for each source seen the first time.
/// A borrowed row without its source stays on disk (another process may have the variable) but cannot be chosen.
pub fn seeded(stored: Vec<Row>, live: Vec<Live>, suppressed: &[String]) -> Vec<Row> {
    let hidden = |source: &Source| suppressed.contains(&source.to_string());
    let mut rows: Vec<Row> = stored.into_iter().filter(|row| !hidden(&row.source())).collect();
    for found in live.into_iter().filter(|found| !hidden(&found.source)) {
        let next = rows.iter().map(Row::priority).max().map_or(0, |last| last.saturating_add(1));
        let place = rows.iter().position(|row| row.source() == found.source).unwrap_or_else(|| {
            rows.push(Row::new(seed_id(&found.source), &found.label, found.auth_type, &found.source, next));
            rows.len() - 1
        });
        if let Some(row) = rows.get_mut(place) {
            if let Some(url) = found.base_url {
                row.set("base_url", url);
            }
            if let Some(end) = found.expires_at {
                row.set_expiry(end);
            }
            row.lend(found.secret);
        }
    }
    rows
}

/// The same source gets the same id in every process, so that they agree on whose rest it is.
fn seed_id(source: &Source) -> String {
    let mut hex = hex::encode(Sha256::digest(source.to_string()));
    hex.truncate(6);
    hex
}

#[cfg(test)]
mod tests {
    use super::Strategy;
    use super::*;
    use proptest::prelude::*;
    use proptest::strategy::Strategy as _;
    use serde_json::{Value, json};

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_second(1_800_000_000 + seconds).expect("a time")
    }

    fn row(fields: Value) -> Row {
        let Value::Object(fields) = fields else { panic!("an object") };
        Row::from_fields(fields)
    }

    fn key(id: &str, priority: i64, count: u64) -> Row {
        row(
            json!({"id": id, "priority": priority, "source": "manual", "access_token": format!("key-{id}"), "request_count": count}),
        )
    }

    fn fault(kind: FaultKind, code: Option<&str>, wait: Option<u64>) -> Fault {
        Fault { code: code.map(str::to_owned), retry_after: wait.map(Duration::from_secs), ..Fault::new(kind, "no") }
    }

    #[test]
    fn each_strategy_shares_the_work_in_its_own_way() {
        let rows = vec![key("a", 5, 9), key("b", 1, 4), key("c", 2, 1)];
        let pick = |strategy, seed| choose(&rows, strategy, at(0), seed);
        assert_eq!(pick(Strategy::FillFirst, 7), Some(1));
        assert_eq!(pick(Strategy::RoundRobin, 7), Some(1));
        assert_eq!(pick(Strategy::LeastUsed, 7), Some(2));
        assert_eq!([0, 1, 2, 3].map(|seed| pick(Strategy::Random, seed)), [Some(1), Some(2), Some(0), Some(1)]);
        assert_eq!(choose(&[], Strategy::Random, at(0), 3), None);
        for strategy in Strategy::ALL {
            assert_eq!(Strategy::parse(strategy.as_str()), Some(strategy));
        }
    }

    #[test]
    fn taking_turns_visits_everyone() {
        let mut rows = vec![key("a", 0, 0), key("b", 1, 0), key("c", 2, 0)];
        let mut seen = Vec::new();
        for _ in 0..6 {
            let id = rows[choose(&rows, Strategy::RoundRobin, at(0), 0).expect("one")].id().to_owned();
            rows = used(rows, &id, Strategy::RoundRobin);
            seen.push(id);
        }
        assert_eq!(seen, ["a", "b", "c", "a", "b", "c"]);
        assert_eq!(rows.iter().map(Row::request_count).collect::<Vec<_>>(), [2, 2, 2]);
    }

    #[test]
    fn a_fault_rests_a_row_for_as_long_as_it_deserves() {
        let cases = [
            (fault(FaultKind::Auth, None, None), Some(300)),
            (fault(FaultKind::RateLimit, None, None), Some(3600)),
            (fault(FaultKind::Billing, None, None), Some(3600)),
            (fault(FaultKind::RateLimit, None, Some(90)), Some(90)),
            (fault(FaultKind::RateLimit, None, Some(u64::MAX)), Some(31 * 24 * 3600)),
            (fault(FaultKind::Entitlement, None, None), None),
            (fault(FaultKind::UpstreamRateLimit, None, Some(60)), None),
            (fault(FaultKind::Overloaded, None, None), None),
            (fault(FaultKind::Timeout, None, None), None),
        ];
        for (fault, expected) in cases {
            let standing = rested(key("a", 0, 0), &fault, at(0)).standing(at(0));
            let expected = expected.map_or(Standing::Ready, |rest| Standing::Resting { until: at(rest) });
            assert_eq!(standing, expected, "{fault:?}");
            if let Standing::Resting { until } = standing {
                assert_eq!(moment::later(at(0), rest(&fault)), until, "{fault:?}: the process and the disk agree");
            }
        }
    }

    #[test]
    fn some_reasons_are_the_end_of_a_row() {
        for reason in DeadReason::ALL {
            let dead = rested(key("a", 0, 0), &fault(FaultKind::Auth, Some(reason.as_str()), Some(5)), at(0));
            assert_eq!(dead.standing(at(1_000_000)), Standing::Dead { reason: reason.as_str().into() });
        }
        let dead = rested(key("a", 0, 0), &fault(FaultKind::AuthPermanent, None, None), at(0));
        assert_eq!(pruned(vec![dead.clone()], at(86_399)), vec![dead.clone()]);
        assert_eq!(pruned(vec![dead.clone()], at(86_400)), vec![]);
        let mut login = dead;
        login.set("source", "device_code");
        assert_eq!(pruned(vec![login.clone()], at(999_999)), vec![login]);
    }

    #[test]
    fn rows_of_other_processes_are_kept_and_theirs_are_newer() {
        let on_disk = vec![key("a", 0, 5), key("theirs", 1, 0)];
        let ours = [key("a", 0, 1), key("new", 2, 0), key("gone", 3, 0)];
        let rows = merged(on_disk, &ours, &["gone"]);
        assert_eq!(rows, vec![key("a", 0, 5), key("theirs", 1, 0), key("new", 2, 0)]);
    }

    fn live(source: &str, secret: &str) -> Live {
        Live {
            source: Source::parse(source),
            label: "found".into(),
            auth_type: AuthType::ApiKey,
            secret: Secret::usable(secret).expect("usable"),
            base_url: None,
            expires_at: None,
        }
    }

    #[test]
    fn borrowed_secrets_come_and_go_without_touching_the_disk() {
        let first = seeded(vec![key("a", 3, 0)], vec![live("env:GROQ_API_KEY", "gsk-one")], &[]);
        let lent = first[1].clone();
        assert_eq!((lent.priority(), lent.secret().is_some()), (4, true));
        let written = lent.to_fields("groq");
        assert!(!Value::from(written.clone()).to_string().contains("gsk-one"));

        let tired = rested(Row::from_fields(written), &fault(FaultKind::RateLimit, None, None), at(0));
        let without_variable = seeded(vec![tired.clone()], vec![], &[]);
        assert_eq!(choose(&without_variable, Strategy::FillFirst, at(9_999), 0), None);

        let same_key = seeded(vec![tired.clone()], vec![live("env:GROQ_API_KEY", "gsk-one")], &[]);
        assert_eq!(same_key[0].standing(at(10)), Standing::Resting { until: at(3600) });
        let new_key = seeded(vec![tired.clone()], vec![live("env:GROQ_API_KEY", "gsk-two")], &[]);
        assert_eq!((new_key.len(), new_key[0].standing(at(10))), (1, Standing::Ready));
        assert_eq!(
            seeded(vec![tired], vec![live("env:GROQ_API_KEY", "gsk-one")], &["env:GROQ_API_KEY".into()]),
            vec![]
        );
    }

    #[test]
    fn a_secret_that_an_older_program_copied_is_not_written_again() {
        let copied = row(
            json!({"id": "1", "source": "claude_code", "access_token": "sk-ant-oat-x", "refresh_token": "r", "new_field": [1]}),
        );
        assert_eq!(
            Value::from(copied.to_fields("anthropic")),
            json!({"id": "1", "source": "claude_code", "new_field": [1]})
        );
        assert!(!format!("{copied:?}").contains("sk-ant-oat-x"));
    }

    fn any_row() -> impl proptest::strategy::Strategy<Value = Row> {
        let status = prop_oneof![Just("ok"), Just("exhausted"), Just("dead")];
        let reset = proptest::option::of(-5_000_i64..5_000);
        (status, -5_000_i64..5_000, reset, prop_oneof![Just(401), Just(429)], 0_i64..4, 0_u64..4).prop_map(
            |(status, since, reset, code, priority, count)| {
                let mut row = key("x", priority, count);
                row.set("last_status", status);
                row.set("last_status_at", moment::epoch(at(since)));
                row.set("last_error_code", code);
                if let Some(reset) = reset {
                    row.set("last_error_reset_at", moment::epoch(at(reset)));
                }
                row
            },
        )
    }

    proptest! {
        #[test]
        fn a_resting_or_dead_row_is_never_chosen(rows in prop::collection::vec(any_row(), 0..6), seed: u64) {
            for strategy in Strategy::ALL {
                let usable = rows.iter().any(|row| row.standing(at(0)) == Standing::Ready);
                match choose(&rows, strategy, at(0), seed) {
                    Some(index) => prop_assert_eq!(rows[index].standing(at(0)), Standing::Ready),
                    None => prop_assert!(!usable),
                }
            }
        }

        #[test]
        fn a_rest_ends_by_itself(row in any_row()) {
            if let Standing::Resting { until } = row.standing(at(0)) {
                let rows = [row];
                prop_assert_eq!(choose(&rows, Strategy::FillFirst, at(0), 0), None);
                prop_assert_eq!(choose(&rows, Strategy::FillFirst, until, 0), Some(0));
            }
        }
    }
}
