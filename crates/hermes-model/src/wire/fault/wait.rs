//! How long a provider asks us to wait: read from headers, from fields of the body, and from its sentences.

use serde_json::Value;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Quotas come back within a month; a later promise is a mistake.
const LONGEST_WAIT: Duration = Duration::from_secs(31 * 24 * 3600);
const DEEPEST: usize = 8;

/// A wait as it was said: a span, or a point in time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Wait {
    For(Duration),
    Until(SystemTime),
}

impl Wait {
    /// The span from `now`; a point in time needs to know it.
    pub(super) fn from(self, now: Option<SystemTime>) -> Option<Duration> {
        let span = match self {
            Self::For(span) => span,
            Self::Until(then) => then.duration_since(now?).unwrap_or_default(),
        };
        Some(span.min(LONGEST_WAIT))
    }
}

pub(super) fn in_headers(headers: &[(String, String)]) -> Option<Wait> {
    stated(headers).or_else(|| exhausted_bucket(headers))
}

/// The wait the server asks for in so many words.
pub(super) fn stated(headers: &[(String, String)]) -> Option<Wait> {
    let header =
        |name: &str| headers.iter().find(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value.trim());
    let milliseconds = || seconds(header("retry-after-ms")?.parse::<f64>().ok()? / 1000.0);
    milliseconds().map(Wait::For).or_else(|| {
        let value = header("retry-after")?;
        http_date(value).map(Wait::Until).or_else(|| moment(value))
    })
}

/// The reset of a rate-limit bucket, the latest one if several are empty. A bucket that says it has something left is
/// not the one that stopped us.
fn exhausted_bucket(headers: &[(String, String)]) -> Option<Wait> {
    let mut latest: Option<Wait> = None;
    for (name, value) in headers {
        let name = name.to_ascii_lowercase();
        if !name.contains("ratelimit") || !name.contains("reset") {
            continue;
        }
        let remaining = name.replace("reset", "remaining");
        let left = headers.iter().find(|(key, _)| key.eq_ignore_ascii_case(&remaining));
        if left.is_some_and(|(_, left)| left.trim().parse::<f64>().is_ok_and(|left| left > 0.0)) {
            continue;
        }
        let Some(wait) = moment(value.trim()) else { continue };
        latest = match (latest, wait) {
            (Some(Wait::For(a)), Wait::For(b)) => Some(Wait::For(a.max(b))),
            (Some(Wait::Until(a)), Wait::Until(b)) => Some(Wait::Until(a.max(b))),
            (None, wait) => Some(wait),
            (known, _) => known,
        };
    }
    latest
}

/// Fields that name a wait, anywhere in the body.
pub(super) fn in_body(body: &Value) -> Option<Wait> {
    find(body, 0)
}

fn find(value: &Value, depth: usize) -> Option<Wait> {
    if depth > DEEPEST {
        return None;
    }
    match value {
        Value::Array(items) => items.iter().find_map(|item| find(item, depth + 1)),
        Value::Object(object) => object
            .iter()
            .find_map(|(key, value)| field(key, value))
            .or_else(|| {
                let headers = object.get("headers").and_then(Value::as_object);
                let quoted = headers.map(|headers| headers.iter().filter_map(text_pair).collect::<Vec<_>>());
                quoted.and_then(|headers| in_headers(&headers))
            })
            .or_else(|| object.values().find_map(|value| find(value, depth + 1))),
        _ => None,
    }
}

fn field(key: &str, value: &Value) -> Option<Wait> {
    let number = || value.as_f64().or_else(|| value.as_str()?.trim().parse().ok());
    match key {
        "reset_at" | "resets_at" | "retry_until" | "resetAt" | "retryDelay" | "quotaResetDelay" => match value {
            Value::String(text) => moment(text.trim()),
            Value::Number(number) => point_or_span(number.as_f64()?),
            _ => None,
        },
        "resets_in_seconds" | "retry_after" | "retry_after_seconds" | "retryAfter" => seconds(number()?).map(Wait::For),
        "retry_after_ms" => seconds(number()? / 1000.0).map(Wait::For),
        _ => None,
    }
}

fn text_pair((key, value): (&String, &Value)) -> Option<(String, String)> {
    match value {
        Value::String(text) => Some((key.clone(), text.clone())),
        Value::Number(number) => Some((key.clone(), number.to_string())),
        _ => None,
    }
}

/// Sentences that announce a wait; the span follows at once.
const ANNOUNCEMENTS: [&str; 8] =
    ["try again in", "retry after", "retry in", "resets in", "reset in", "reset after", "wait for", "available in"];

/// A wait in lower-case prose.
pub(super) fn in_text(text: &str) -> Option<Wait> {
    ANNOUNCEMENTS.iter().find_map(|lead| {
        let (_, rest) = text.split_once(lead)?;
        span(rest.trim_start_matches([' ', ':', '~'])).map(Wait::For)
    })
}

/// A header or field that may be seconds, an epoch in seconds or milliseconds, a span (`6m0s`) or a timestamp.
fn moment(text: &str) -> Option<Wait> {
    if let Ok(number) = text.parse::<f64>() {
        return point_or_span(number);
    }
    if let Ok(timestamp) = text.parse::<jiff::Timestamp>() {
        return Some(Wait::Until(timestamp.into()));
    }
    span(&text.to_ascii_lowercase()).map(Wait::For)
}

fn point_or_span(number: f64) -> Option<Wait> {
    const FIRST_EPOCH_SECONDS: f64 = 1e9;
    const FIRST_EPOCH_MILLISECONDS: f64 = 1e12;
    if number >= FIRST_EPOCH_MILLISECONDS {
        point(number / 1000.0)
    } else if number >= FIRST_EPOCH_SECONDS {
        point(number)
    } else {
        seconds(number).map(Wait::For)
    }
}

fn point(epoch: f64) -> Option<Wait> {
    UNIX_EPOCH.checked_add(seconds(epoch)?).map(Wait::Until)
}

fn seconds(number: f64) -> Option<Duration> {
    Duration::try_from_secs_f64(number).ok()
}

/// Numbers with units, one after another: `7m11.5s`, `3hr 20min`, `20 seconds`. A bare number is seconds.
fn span(text: &str) -> Option<Duration> {
    let mut rest = text;
    let mut total: Option<f64> = None;
    loop {
        let digits = rest.trim_start();
        let after = digits.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
        let number = digits.strip_suffix(after)?.trim_end_matches('.');
        let Ok(number) = number.parse::<f64>() else { break };
        let unit_on = after.trim_start();
        let tail = unit_on.trim_start_matches(|c: char| c.is_ascii_alphabetic());
        let Some(factor) = unit_on.strip_suffix(tail).and_then(unit) else {
            total = Some(total.unwrap_or_default() + number);
            break;
        };
        total = Some(total.unwrap_or_default() + number * factor);
        rest = tail.trim_start_matches([' ', ',']);
    }
    seconds(total?)
}

fn unit(word: &str) -> Option<f64> {
    Some(match word {
        "ms" | "millisecond" | "milliseconds" => 0.001,
        "s" | "sec" | "secs" | "second" | "seconds" => 1.0,
        "m" | "min" | "mins" | "minute" | "minutes" => 60.0,
        "h" | "hr" | "hrs" | "hour" | "hours" => 3600.0,
        "d" | "day" | "days" => 86400.0,
        _ => return None,
    })
}

/// `Sun, 06 Nov 1994 08:49:37 GMT`.
pub(super) fn http_date(text: &str) -> Option<SystemTime> {
    jiff::fmt::rfc2822::DateTimeParser::new().parse_timestamp(text).ok().map(Into::into)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn retry_after(headers: &[(String, String)], now: SystemTime) -> Option<Duration> {
        in_headers(headers)?.from(Some(now))
    }

    fn headers(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
        pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn every_dialect_of_headers() {
        let now = http_date("Sun, 06 Nov 1994 08:49:37 GMT").expect("a date");
        type Pairs<'a> = &'a [(&'a str, &'a str)];
        let table: [(Pairs<'_>, Option<f64>); 15] = [
            (&[("retry-after", "30")], Some(30.0)),
            (&[("Retry-After", "0.5")], Some(0.5)),
            (&[("retry-after", "Sun, 06 Nov 1994 08:50:07 GMT")], Some(30.0)),
            (&[("retry-after", "Sun, 06 Nov 1994 08:40:00 GMT")], Some(0.0)),
            (&[("retry-after", "86400")], Some(86400.0)),
            (&[("retry-after", "-5")], None),
            (&[("retry-after", "soon")], None),
            (&[("retry-after-ms", "1500"), ("retry-after", "9")], Some(1.5)),
            (&[("x-ratelimit-reset-requests", "1m2.5s"), ("x-ratelimit-reset-tokens", "120ms")], Some(62.5)),
            (
                &[
                    ("x-ratelimit-reset-requests", "8s"),
                    ("x-ratelimit-remaining-requests", "99"),
                    ("x-ratelimit-reset-tokens", "3s"),
                    ("x-ratelimit-remaining-tokens", "0"),
                ],
                Some(3.0),
            ),
            (&[("x-ratelimit-reset", "784111807")], Some(31.0 * 86400.0)),
            (&[("anthropic-ratelimit-requests-reset", "1994-11-06T08:50:37Z")], Some(60.0)),
            (&[("x-ratelimit-limit", "5")], None),
            (&[("retry-after", "NaN")], None),
            (&[], None),
        ];
        for (pairs, expected) in table {
            let expected = expected.map(Duration::from_secs_f64);
            assert_eq!(retry_after(&headers(pairs), now), expected, "{pairs:?}");
        }
        let epoch_ms = UNIX_EPOCH + Duration::from_secs(1_741_305_590);
        assert_eq!(
            retry_after(&headers(&[("x-ratelimit-reset", "1741305600000")]), epoch_ms),
            Some(Duration::from_secs(10))
        );
    }

    #[test]
    fn fields_and_sentences() {
        let span =
            |wait: Option<Wait>| wait.and_then(|wait| wait.from(Some(UNIX_EPOCH + Duration::from_secs(1_738_888_000))));
        let fields = [
            (json!({"error": {"resets_in_seconds": 42}}), 42.0),
            (json!({"error": {"resets_at": 1_738_888_060}}), 60.0),
            (json!({"retry_until": "1738888060000"}), 60.0),
            (json!({"reset_at": "2025-02-07T00:27:10Z"}), 30.0),
            (json!([{"error": {"details": [{"@type": "t/google.rpc.RetryInfo", "retryDelay": "23.5s"}]}}]), 23.5),
            (json!({"error": {"metadata": {"headers": {"X-RateLimit-Reset": "1738888005000"}}}}), 5.0),
        ];
        for (body, expected) in fields {
            assert_eq!(span(in_body(&body)), Some(Duration::from_secs_f64(expected)), "{body}");
        }
        let sentences = [
            ("please try again in 7m11.5s. need more?", Some(431.5)),
            ("please retry after 38 seconds.", Some(38.0)),
            ("usage limit reached, resets in 0hr 4min", Some(240.0)),
            ("please retry in 23.4s.", Some(23.4)),
            ("try again in 20ms", Some(0.02)),
            ("retry after 5", Some(5.0)),
            ("try again in a moment", None),
            ("try again later", None),
        ];
        for (text, expected) in sentences {
            assert_eq!(span(in_text(text)), expected.map(Duration::from_secs_f64), "{text}");
        }
    }
}
