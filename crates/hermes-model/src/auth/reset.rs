//! When a provider says its limit ends. Read once from an error answer, where the fault is made; later code sees only
//! the duration in [`Fault::retry_after`](hermes_types::Fault::retry_after).

use super::moment;
use hermes_types::Object;
use jiff::Timestamp;
use serde_json::Value;
use std::time::Duration;

const MOMENTS: [&str; 3] = ["reset_at", "resets_at", "retry_until"];
/// Error objects nest their details; deeper than this nobody does.
const DEEPEST: usize = 4;
const LONGEST_TEXT: usize = 4_000;

/// How long until the limit ends, from the fields of an error body or the words of its messages.
pub fn reset_after(error: &Object, now: Timestamp) -> Option<Duration> {
    in_fields(error, now, DEEPEST).or_else(|| in_texts(error, DEEPEST))
}

fn in_fields(error: &Object, now: Timestamp, depth: usize) -> Option<Duration> {
    let stated = MOMENTS.iter().find_map(|key| error.get(*key).and_then(moment::parse));
    if let Some(at) = stated {
        return Some(moment::until(now, at));
    }
    if let Some(delay) = error.get("quotaResetDelay").and_then(Value::as_str).and_then(spoken) {
        return Some(delay);
    }
    nested(error, depth).find_map(|inner| in_fields(inner, now, depth - 1))
}

fn in_texts(error: &Object, depth: usize) -> Option<Duration> {
    let own = error.values().filter_map(Value::as_str).find_map(in_text);
    own.or_else(|| nested(error, depth).find_map(|inner| in_texts(inner, depth - 1)))
}

fn nested(error: &Object, depth: usize) -> impl Iterator<Item = &Object> {
    error
        .values()
        .filter(move |_| depth > 0)
        .flat_map(|value| match value {
            Value::Array(list) => list.as_slice(),
            single => std::slice::from_ref(single),
        })
        .filter_map(Value::as_object)
}

/// `retry after 20 s`, `resets in 3hr 12min`, `quotaResetDelay: 1h2m`.
fn in_text(text: &str) -> Option<Duration> {
    let text: String = text.chars().take(LONGEST_TEXT).collect::<String>().to_ascii_lowercase();
    ["quotaresetdelay", "retry after", "try again in", "resets in"].iter().find_map(|lead| {
        let (_, rest) = text.split_once(lead)?;
        spoken(rest.trim_start_matches(|c: char| c.is_whitespace() || "\":=".contains(c)))
    })
}

/// The amounts of time at the start of `text`, added up. A bare number counts seconds.
fn spoken(text: &str) -> Option<Duration> {
    let mut seconds = 0.0;
    let mut found = false;
    let mut rest = text.trim_start();
    loop {
        let after_number = rest.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
        let Some(number) =
            rest.strip_suffix(after_number).and_then(|number| number.trim_end_matches('.').parse::<f64>().ok())
        else {
            break;
        };
        let unit_text = after_number.trim_start();
        let after_unit = unit_text.trim_start_matches(|c: char| c.is_ascii_alphabetic());
        let unit = unit_text.strip_suffix(after_unit).unwrap_or_default();
        let Some(size) = unit_size(unit).or((!found).then_some(1.0)) else { break };
        seconds += number * size;
        found = true;
        rest = after_unit.trim_start_matches([' ', ',']);
    }
    found.then(|| Duration::try_from_secs_f64(seconds).ok()).flatten()
}

fn unit_size(unit: &str) -> Option<f64> {
    Some(match unit {
        "ms" | "millisecond" | "milliseconds" => 0.001,
        "s" | "sec" | "secs" | "second" | "seconds" => 1.0,
        "m" | "min" | "mins" | "minute" | "minutes" => 60.0,
        "h" | "hr" | "hrs" | "hour" | "hours" => 3600.0,
        "d" | "day" | "days" => 86400.0,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn providers_say_it_in_many_ways() {
        let now: Timestamp = "2026-03-01T12:00:00Z".parse().expect("a time");
        let cases = [
            (json!({"error": {"resets_at": 1_772_366_460}}), Some(60)),
            (json!({"reset_at": 1_772_366_460_000_i64}), Some(60)),
            (json!({"retry_until": "2026-03-01T12:05:00Z"}), Some(300)),
            (json!({"reset_at": "2020-01-01T00:00:00Z"}), Some(0)),
            (json!({"error": {"details": [{"metadata": {"quotaResetDelay": "1h2m3s"}}]}}), Some(3723)),
            (json!({"error": {"message": "Rate limited, retry after 20 s."}}), Some(20)),
            (json!({"error": {"message": "Please retry after 7"}}), Some(7)),
            (json!({"message": "Usage limit: resets in 3hr 12min"}), Some(11520)),
            (json!({"message": "Limit reached"}), None),
            (json!({"message": "retry after the weekend"}), None),
            (json!({"message": "retry after 99999999999999999999999999 d"}), None),
            (json!({"reset_at": true}), None),
        ];
        for (body, expected) in cases {
            let Value::Object(object) = body else { panic!("an object") };
            assert_eq!(reset_after(&object, now), expected.map(Duration::from_secs), "{object:?}");
        }
    }
}
