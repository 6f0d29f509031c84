//! The most tokens a model takes, out of the sentence with which a request was refused for its length.
//!
//! Only a number that stands right behind or before words that mean the limit counts: the same sentences also name how
//! long the request was, and a limit that is read too high or too low costs every conversation after it.

/// What can be a limit at all.
const PLAUSIBLE: std::ops::RangeInclusive<u64> = 1_024..=10_000_000;

/// Words before the number, in lower case, best first. Between them and it may stand a few small words and marks.
const BEFORE: [&str; 15] = [
    "maximum context length",
    "maximum context window",
    "maximum prompt length",
    "maximum number of tokens allowed",
    "maximum allowed input length",
    "max_model_len",
    "context window limit",
    "context window",
    "context length",
    "context limit",
    "context size",
    "n_ctx",
    "token limit",
    "must be <=",
    "range of input length",
];
/// Words behind the number.
const BEHIND: [&str; 3] = ["maximum", "tokens maximum", "token limit"];
/// How far behind its words a number may stand.
const REACH: usize = 24;

/// `text` is in lower case.
pub(super) fn stated(text: &str) -> Option<u64> {
    let behind_words = BEFORE
        .iter()
        .find_map(|words| text.match_indices(words).find_map(|(at, _)| number_near(text.get(at + words.len()..)?)));
    behind_words.or_else(|| before_words(text)).filter(|limit| PLAUSIBLE.contains(limit))
}

/// The first number within reach. A range names its end: `[1, 30720]`.
fn number_near(text: &str) -> Option<u64> {
    let start = text.find(|c: char| c.is_ascii_digit()).filter(|start| *start <= REACH)?;
    // Another clause is about something else.
    let between = text.get(..start)?;
    if between.contains([';', '\n']) || between.contains(". ") {
        return None;
    }
    let (first, rest) = number(text.get(start..)?)?;
    match rest.strip_prefix(", ").filter(|_| between.ends_with('[')).and_then(number) {
        Some((end, _)) => Some(end),
        None => Some(first),
    }
}

/// `215000 tokens > 200000 maximum`
fn before_words(text: &str) -> Option<u64> {
    let mut rest = text;
    while let Some(start) = rest.find(|c: char| c.is_ascii_digit()) {
        let (value, behind) = number(rest.get(start..)?)?;
        if BEHIND.iter().any(|words| behind.trim_start().starts_with(words)) {
            return Some(value);
        }
        rest = behind;
    }
    None
}

/// The number a text begins with, commas between its thousands or not, and what is behind it.
fn number(text: &str) -> Option<(u64, &str)> {
    let is_thousand = |rest: &str| {
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        digits == 3
    };
    let mut digits = String::new();
    let mut rest = text;
    loop {
        let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
        let (run, behind) = rest.split_at_checked(end)?;
        digits.push_str(run);
        rest = behind;
        match rest.strip_prefix(',') {
            Some(more) if is_thousand(more) => rest = more,
            _ => return Some((digits.parse().ok()?, rest)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_limit_is_told_from_the_length_of_the_request() {
        let table = [
            (
                "this model's maximum context length is 128000 tokens. however, your messages resulted in 190123 tokens.",
                Some(128_000),
            ),
            ("maximum context length of 131,072 tokens, you requested 140,000", Some(131_072)),
            ("prompt is too long: 215000 tokens > 200000 maximum", Some(200_000)),
            (
                "the input token count (1200000) exceeds the maximum number of tokens allowed (1048576).",
                Some(1_048_576),
            ),
            ("the request exceeds the available context size (8192 tokens), try increasing it", Some(8_192)),
            ("requested tokens (9000) exceed context window of 4096", Some(4_096)),
            ("`inputs` tokens + `max_new_tokens` must be <= 32768. given: 40000", Some(32_768)),
            ("range of input length should be [1, 30720]", Some(30_720)),
            ("this model's maximum prompt length is 131072 but the request contains 150000 tokens.", Some(131_072)),
            ("your input exceeds the context window of this model. please adjust your input and try again.", None),
            ("your request of 190123 tokens is too long", None),
            ("the context length was exceeded; you sent 200000 tokens", None),
            ("maximum context length is 8 tokens", None),
            ("maximum context length is 99999999999999999999999 tokens", None),
            ("", None),
        ];
        for (text, limit) in table {
            assert_eq!(stated(text), limit, "{text}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_read_without_harm(text in "(maximum context length|context window|[0-9]{1,25}|,|\\[1, |é|[a-z .;]{0,8}){0,12}") {
            prop_assert!(stated(&text).is_none_or(|limit| PLAUSIBLE.contains(&limit)));
        }
    }
}
