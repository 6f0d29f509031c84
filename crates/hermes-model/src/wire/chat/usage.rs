//! The token counts of chat servers in our five buckets.

use hermes_types::{Usage, Usd};
use serde_json::Value;

const MOST_TOKENS: u64 = 1 << 40;

/// Where servers put their counts, best first.
const CACHE_READS: [&str; 4] =
    ["/prompt_tokens_details/cached_tokens", "/cache_read_input_tokens", "/prompt_cache_hit_tokens", "/cached_tokens"];
const CACHE_WRITES: [&str; 2] = ["/prompt_tokens_details/cache_write_tokens", "/cache_creation_input_tokens"];
const REASONING: [&str; 2] = ["/completion_tokens_details/reasoning_tokens", "/output_tokens_details/reasoning_tokens"];

/// What the server counted, if it counted anything. `{}` and foreign shapes are no count.
pub(super) fn read(usage: &Value) -> Option<Usage> {
    let count = |path: &str| usage.pointer(path).and_then(whole);
    let first = |paths: &[&str]| paths.iter().find_map(|path| count(path));
    let prompt = count("/prompt_tokens");
    let written = count("/completion_tokens");
    if prompt.is_none() && written.is_none() {
        return None;
    }
    let prompt = prompt.unwrap_or_default();
    let written = written.unwrap_or_default();
    let cache_read = first(&CACHE_READS).unwrap_or_default();
    let cache_write = first(&CACHE_WRITES).unwrap_or_default();
    // Some servers leave thoughts out of what was written and count them only in the total. Where the prompt is smaller
    // than what was cached of it, the total holds the cache too and tells nothing.
    let is_inclusive = prompt >= cache_read + cache_write;
    let total = count("/total_tokens").filter(|_| is_inclusive).unwrap_or_default();
    let output = written.max(total.saturating_sub(prompt));
    let reasoning = first(&REASONING).unwrap_or_default().max(output - written);
    let mut read = Usage::from_inclusive(prompt, cache_read, cache_write, output, reasoning);
    read.cost = usage.get("cost").and_then(Value::as_f64).filter(|cost| *cost >= 0.0).and_then(Usd::from_f64);
    Some(read)
}

/// Some servers count in floating point, some below zero, and a hostile one beyond what can be added up.
fn whole(value: &Value) -> Option<u64> {
    let count = value.as_u64().or_else(|| value.as_f64().map(|number| number.max(0.0) as u64))?;
    Some(count.min(MOST_TOKENS))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn every_dialect_of_counting_is_understood() {
        let counted = |input, cache_read, cache_write, output, reasoning| {
            Some(Usage { input, output, cache_read, cache_write, cache_write_1h: 0, reasoning, cost: None })
        };
        let table = [
            (json!({}), None),
            (json!(null), None),
            (json!([1]), None),
            (json!({"prompt_tokens": null}), None),
            (json!({"prompt_tokens": 10, "completion_tokens": 5}), counted(10, 0, 0, 5, 0)),
            (json!({"prompt_tokens": 10.0, "completion_tokens": -5}), counted(10, 0, 0, 0, 0)),
            (
                json!({"prompt_tokens": u64::MAX, "completion_tokens": 1e300}),
                counted(MOST_TOKENS, 0, 0, MOST_TOKENS, 0),
            ),
            (
                json!({"prompt_tokens": 100, "completion_tokens": 9,
                    "prompt_tokens_details": {"cached_tokens": 60, "cache_write_tokens": 30},
                    "completion_tokens_details": {"reasoning_tokens": 7}}),
                counted(10, 60, 30, 9, 7),
            ),
            (
                json!({"prompt_tokens": 100, "completion_tokens": 9, "prompt_cache_hit_tokens": 64}),
                counted(36, 64, 0, 9, 0),
            ),
            (
                json!({"prompt_tokens": 5, "completion_tokens": 9, "cache_read_input_tokens": 64,
                    "cache_creation_input_tokens": 3, "prompt_tokens_details": null}),
                counted(0, 64, 3, 9, 0),
            ),
            (
                json!({"prompt_tokens": 100, "completion_tokens": 9, "total_tokens": 109, "cached_tokens": 64}),
                counted(36, 64, 0, 9, 0),
            ),
            (json!({"prompt_tokens": 100, "completion_tokens": 9, "total_tokens": 159}), counted(100, 0, 0, 59, 50)),
            (
                json!({"prompt_tokens": 100, "completion_tokens": 9, "total_tokens": 159,
                    "completion_tokens_details": {"reasoning_tokens": 50}}),
                counted(100, 0, 0, 59, 50),
            ),
            (
                json!({"prompt_tokens": 5, "completion_tokens": 9, "total_tokens": 78, "cache_read_input_tokens": 64}),
                counted(0, 64, 0, 9, 0),
            ),
            (json!({"prompt_tokens": 100, "completion_tokens": 9, "total_tokens": 1}), counted(100, 0, 0, 9, 0)),
        ];
        for (usage, expected) in table {
            assert_eq!(read(&usage), expected, "{usage}");
        }
        let priced = read(&json!({"prompt_tokens": 1, "completion_tokens": 1, "cost": 0.00078}));
        assert_eq!(priced.and_then(|usage| usage.cost), Usd::from_f64(0.00078));
    }
}
