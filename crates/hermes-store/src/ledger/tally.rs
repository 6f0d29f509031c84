//! Sums of calls, and how the sums of two programs become one account.
//!
//! Both programs may have worked on one session. Ours are single calls; the other program's are sums, and ours were added
//! to them. So for each session and task: what the sums hold beyond our own calls happened **elsewhere**, and nothing else
//! did. The sum of the conversation is the larger one of the session's columns and its rows by model, number by number,
//! because each may lag behind the other. What happened elsewhere goes to the models whose rows exceed our calls, as far
//! as they do; the rest goes to the model the session names. Every token is counted once, also when the other program
//! built its rows by model from sums that we wrote. Where our own side calls are older than the other program's table,
//! as many of its side calls for the same task cannot be told apart from them and stay uncounted.
//!
//! Money has a sum as far as it is known: a part without a price adds nothing, and whoever reports the sum has to tell.

use hermes_types::{Usage, UsageRow, Usd};
use std::collections::BTreeMap;

/// Sums stay far enough below the largest number to be added up by others.
const LARGEST: u64 = u64::MAX / 8;
/// Other programs add dollars as fractions; less than a billionth of a dollar is the dust of that.
const DUST: i64 = 1_000;

/// Who was asked, and for what.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Route {
    pub(crate) model: String,
    pub(crate) provider: String,
    pub(crate) task: String,
}

/// The sum of some calls.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    pub(crate) calls: u64,
    /// Without a cost of its own.
    pub(crate) usage: Usage,
    pub(crate) estimated: Option<Usd>,
    pub(crate) actual: Option<Usd>,
}

/// What the sums in the file say about one session.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Sums {
    /// The columns of the session: the conversation alone.
    pub(crate) columns: Tally,
    /// Whom the session names.
    pub(crate) named: Route,
    /// By model, of the conversation and of calls on the side.
    pub(crate) rows: Vec<(Route, Tally)>,
}

impl Tally {
    pub(crate) fn add(&mut self, other: &Self) {
        *self = self.merge(other, |a, b| a.saturating_add(b).min(LARGEST), known_sum);
    }

    /// Nothing was used; that nothing was free says nothing.
    fn is_nothing(&self) -> bool {
        self.calls == 0 && self.usage == Usage::default() && self.cost().is_none_or(|cost| cost.pico() == 0)
    }

    /// What it cost, by the best knowledge there is.
    pub(crate) fn cost(&self) -> Option<Usd> {
        self.actual.or(self.estimated)
    }

    pub(crate) fn into_row(self, route: Route) -> UsageRow {
        UsageRow {
            model: route.model,
            provider: route.provider,
            task: route.task,
            calls: self.calls,
            usage: self.usage,
            estimated_cost_usd: self.estimated,
            actual_cost_usd: self.actual,
        }
    }

    fn larger(&self, other: &Self) -> Self {
        self.merge(other, u64::max, |a, b| match (a, b) {
            (Some(a), Some(b)) => Some(if a.pico() > b.pico() { a } else { b }),
            (one, other) => one.or(other),
        })
    }

    /// As much of this as fits into `other`.
    fn within(&self, other: &Self) -> Self {
        self.merge(other, u64::min, |a, b| a.zip(b).map(|(a, b)| if a.pico() < b.pico() { a } else { b }))
    }

    /// What is left without `other`.
    fn beyond(&self, other: &Self) -> Self {
        self.merge(other, u64::saturating_sub, |a, b| match (a, b) {
            (Some(a), Some(b)) => {
                let left = a.pico().saturating_sub(b.pico());
                (left > DUST).then(|| Usd::from_pico(left))
            }
            (a, _) => a,
        })
    }

    fn merge(
        &self,
        other: &Self,
        count: impl Fn(u64, u64) -> u64,
        money: impl Fn(Option<Usd>, Option<Usd>) -> Option<Usd>,
    ) -> Self {
        let (a, b) = (&self.usage, &other.usage);
        Self {
            calls: count(self.calls, other.calls),
            usage: Usage {
                input: count(a.input, b.input),
                output: count(a.output, b.output),
                cache_read: count(a.cache_read, b.cache_read),
                cache_write: count(a.cache_write, b.cache_write),
                cache_write_1h: count(a.cache_write_1h, b.cache_write_1h),
                reasoning: count(a.reasoning, b.reasoning),
                cost: None,
            },
            estimated: money(self.estimated, other.estimated),
            actual: money(self.actual, other.actual),
        }
    }
}

/// The sum as far as it is known.
pub(crate) fn known_sum(a: Option<Usd>, b: Option<Usd>) -> Option<Usd> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a + b),
        (one, other) => one.or(other),
    }
}

/// What other programs did on a session, given our own calls of it.
pub(crate) fn elsewhere(ours: &[(Route, Tally)], sums: &Sums) -> Vec<(Route, Tally)> {
    let (ours, theirs) = (by_route(ours), by_route(&sums.rows));
    let mut tasks: Vec<&str> = theirs.keys().map(|route| route.task.as_str()).chain([""]).collect();
    tasks.sort_unstable();
    tasks.dedup();
    let mut found = Vec::new();
    for task in tasks {
        let mut all = total(&theirs, task);
        if task.is_empty() {
            all = all.larger(&sums.columns);
        }
        let mut missing = all.beyond(&total(&ours, task));
        for (route, row) in theirs.iter().filter(|(route, _)| route.task == task) {
            let same = ours.get(route).copied().unwrap_or_default();
            let part = row.beyond(&same).within(&missing);
            if !part.is_nothing() {
                missing = missing.beyond(&part);
                found.push((route.clone(), part));
            }
        }
        if !missing.is_nothing() {
            found.push((Route { task: task.to_owned(), ..sums.named.clone() }, missing));
        }
    }
    found
}

fn by_route(parts: &[(Route, Tally)]) -> BTreeMap<Route, Tally> {
    let mut sums: BTreeMap<Route, Tally> = BTreeMap::new();
    for (route, tally) in parts {
        sums.entry(route.clone()).or_default().add(tally);
    }
    sums
}

fn total(parts: &BTreeMap<Route, Tally>, task: &str) -> Tally {
    let mut sum = Tally::default();
    parts.iter().filter(|(route, _)| route.task == task).for_each(|(_, tally)| sum.add(tally));
    sum
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn route(model: &str, task: &str) -> Route {
        Route { model: model.into(), provider: "p".into(), task: task.into() }
    }

    fn tally(calls: u64, input: u64, pico: Option<i64>) -> Tally {
        let usage = Usage { input, ..Usage::default() };
        Tally { calls, usage, estimated: pico.map(Usd::from_pico), actual: None }
    }

    #[test]
    fn what_the_sums_hold_beyond_our_calls_happened_elsewhere() {
        let ours = [(route("a", ""), tally(1, 100, Some(5_000)))];
        let sums = Sums {
            columns: tally(5, 350, Some(9_000)),
            named: route("first", ""),
            rows: vec![
                (route("a", ""), tally(2, 150, Some(7_000))),
                (route("b", ""), tally(1, 50, None)),
                (route("a", "vision"), tally(1, 7, None)),
            ],
        };
        let found = elsewhere(&ours, &sums);
        let expected = [
            (route("a", ""), tally(1, 50, Some(2_000))),
            (route("b", ""), tally(1, 50, None)),
            (route("first", ""), tally(2, 150, Some(2_000))),
            (route("a", "vision"), tally(1, 7, None)),
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn rows_built_from_our_own_sums_are_not_counted_again() {
        let ours = [(route("a", ""), tally(1, 100, Some(5_000))), (route("b", ""), tally(1, 20, Some(1_000)))];
        let whole = tally(2, 120, Some(6_001));
        let sums = Sums { columns: whole, named: route("a", ""), rows: vec![(route("a", ""), whole)] };
        assert_eq!(elsewhere(&ours, &sums), []);
    }

    fn parts() -> impl Strategy<Value = Vec<(Route, Tally)>> {
        let part = ("[ab]", prop_oneof![Just(""), Just("vision")], 0..4u64, 0..500u64);
        let part = part.prop_map(|(model, task, calls, input)| (route(&model, task), tally(calls, input, None)));
        prop::collection::vec(part, 0..5)
    }

    proptest! {
        #[test]
        fn nothing_is_lost_and_nothing_counted_twice(ours in parts(), rows in parts(), calls in 0..9u64, input in 0..999u64) {
            let sums = Sums { columns: tally(calls, input, None), named: route("first", ""), rows };
            let found = elsewhere(&ours, &sums);
            for task in ["", "vision"] {
                let of_task = |parts: &[(Route, Tally)]| total(&by_route(parts), task);
                let mut together = of_task(&ours);
                together.add(&of_task(&found));
                let mut told = of_task(&sums.rows);
                if task.is_empty() {
                    told = told.larger(&sums.columns);
                }
                prop_assert_eq!(together, told.larger(&of_task(&ours)));
            }
        }
    }
}
