//! Costs in words, the same ones wherever costs are told.

use super::table::{count, grouped};
use hermes_types::{CostStatus, Spent};

/// What was spent, and how sure that is.
pub(crate) fn told(spent: &Spent) -> String {
    let cost = spent.cost;
    match spent.status() {
        CostStatus::Actual => cost.to_string(),
        CostStatus::Estimated => format!("{cost} (estimated)"),
        CostStatus::Included => "included".to_owned(),
        CostStatus::Unknown if cost.pico() == 0 => "not known".to_owned(),
        CostStatus::Unknown => format!("{cost} and more"),
    }
}

/// The last turn in one line; nothing where nothing was counted.
pub(crate) fn line(spent: &Spent) -> Option<String> {
    let is_unknown = spent.status() == CostStatus::Unknown && spent.cost.pico() == 0;
    let price = if is_unknown { "price not known".to_owned() } else { told(spent) };
    (spent.tokens > 0).then(|| format!("… {}, {} tokens, {price}", count(spent.calls, "call"), grouped(spent.tokens)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use hermes_types::{Cost, Usage, Usd};

    #[test]
    fn a_sum_is_as_sure_as_its_least_sure_call() {
        let usage = Usage { input: 1_000, ..Usage::default() };
        let estimated = Cost { estimated: Usd::from_f64(0.5), status: CostStatus::Estimated, ..Cost::default() };
        let actual = Cost::actual(Usd::from_f64(0.25).expect("money"));
        let (unknown, included) = (Cost::unknown(), Cost::included());
        let table = [
            (vec![&actual, &actual], "… 2 calls, 2,000 tokens, $0.50"),
            (vec![&actual, &estimated], "… 2 calls, 2,000 tokens, $0.75 (estimated)"),
            (vec![&included], "… 1 call, 1,000 tokens, included"),
            (vec![&included, &actual], "… 2 calls, 2,000 tokens, $0.25"),
            (vec![&unknown], "… 1 call, 1,000 tokens, price not known"),
            (vec![&estimated, &unknown], "… 2 calls, 2,000 tokens, $0.50 and more"),
        ];
        for (costs, words) in table {
            let mut spent = Spent::default();
            costs.into_iter().for_each(|cost| spent += Spent::on(&usage, cost));
            assert_eq!(line(&spent).as_deref(), Some(words));
        }
        assert_eq!(line(&Spent::default()), None);
    }
}
