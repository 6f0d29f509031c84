//! Which of the matches come first.

use super::gather::Match;
use hermes_types::SearchOrder;

/// The usual constants of BM25: how soon repeating a word stops helping, and how much a long text counts against it.
const SATURATION: f64 = 1.2;
const LENGTH_WEIGHT: f64 = 0.75;
/// The newest match is worth this much more than a very old one that says the same.
const FRESHNESS: f64 = 0.15;
const MONTH: f64 = 30.0 * 86_400.0;

/// The matches in the order they are shown.
pub(super) fn order(matches: Vec<Match>, by: SearchOrder) -> Vec<Match> {
    let newer_first = |left: &Match, right: &Match| right.at.total_cmp(&left.at).then(right.id.cmp(&left.id));
    let mut matches = matches;
    match by {
        SearchOrder::Newest => matches.sort_by(newer_first),
        SearchOrder::Oldest => matches.sort_by(|left, right| newer_first(right, left)),
        SearchOrder::Best => {
            let mut scored = score(matches);
            scored.sort_by(|(one, left), (other, right)| other.total_cmp(one).then(newer_first(left, right)));
            matches = scored.into_iter().map(|(_, found)| found).collect();
        }
    }
    matches
}

/// Words that few of the matches have weigh more, and so do matches that are short, full of them, and new.
fn score(matches: Vec<Match>) -> Vec<(f64, Match)> {
    let total = matches.len().max(1) as f64;
    let usual_length = (matches.iter().map(|found| found.length as f64).sum::<f64>() / total).max(1.0);
    let newest = matches.iter().map(|found| found.at).max_by(f64::total_cmp).unwrap_or_default();
    let terms = matches.iter().map(|found| found.counts.len()).max().unwrap_or_default();
    let weights: Vec<f64> = (0..terms)
        .map(|term| {
            let having = matches.iter().filter(|found| found.counts.get(term).is_some_and(|count| *count > 0)).count();
            (1.0 + (total - having as f64 + 0.5) / (having as f64 + 0.5)).ln()
        })
        .collect();
    let of_match = |found: &Match| {
        let length = 1.0 - LENGTH_WEIGHT + LENGTH_WEIGHT * found.length as f64 / usual_length;
        let relevance: f64 = (found.counts.iter().zip(&weights))
            .map(|(count, weight)| {
                let count = *count as f64;
                weight * count * (SATURATION + 1.0) / (count + SATURATION * length)
            })
            .sum();
        let age = (newest - found.at).max(0.0) / MONTH;
        relevance * (1.0 + FRESHNESS / (1.0 + age))
    };
    matches.into_iter().map(|found| (of_match(&found), found)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(id: i64, days_ago: f64, counts: &[usize], length: usize) -> Match {
        Match { id, at: 1e9 - days_ago * 86_400.0, counts: counts.to_vec(), length }
    }

    fn ids(matches: Vec<Match>, by: SearchOrder) -> Vec<i64> {
        order(matches, by).iter().map(|found| found.id).collect()
    }

    #[test]
    fn what_says_more_comes_first_and_of_equals_the_newer() {
        let matches = vec![
            found(1, 300.0, &[3, 2], 100),
            found(2, 0.0, &[1, 0], 2000),
            found(3, 20.0, &[1, 0], 100),
            found(4, 200.0, &[1, 0], 100),
        ];
        assert_eq!(ids(matches.clone(), SearchOrder::Best), [1, 3, 4, 2]);
        assert_eq!(ids(matches.clone(), SearchOrder::Newest), [2, 3, 4, 1]);
        assert_eq!(ids(matches, SearchOrder::Oldest), [1, 4, 3, 2]);
    }
}
