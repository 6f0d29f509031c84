//! The first difference of two request bodies, for people: a few lines of indented JSON around it.
//!
//! A line of JSON can be a whole system prompt, so that of a long line only the place of the difference is shown.

use crate::commands::paper::shown;
use hermes_core::prefix;
use serde_json::Value;
use similar::{ChangeTag, TextDiff};

/// Lines of both bodies around the change.
const AROUND: usize = 2;
/// Lines of the change itself; more of them tell no more.
const MOST_LINES: usize = 16;
/// Characters of a long line before and behind the place of the difference.
const BEFORE: usize = 40;
const BEHIND: usize = 60;

/// What was sent then (`-`) and would be sent now (`+`), where they first part.
pub(super) fn difference(then: &[u8], now: &[u8]) -> Vec<String> {
    match (indented(then), indented(now)) {
        (Some(then), Some(now)) if then != now => first_change(&then, &now),
        _ => in_bytes(then, now),
    }
}

fn indented(body: &[u8]) -> Option<String> {
    let body: Value = serde_json::from_slice(body).ok()?;
    serde_json::to_string_pretty(&body).ok()
}

fn first_change(then: &str, now: &str) -> Vec<String> {
    let diff = TextDiff::from_lines(then, now);
    let Some(group) = diff.grouped_ops(AROUND).into_iter().next() else { return Vec::new() };
    let changes: Vec<(ChangeTag, &str)> = group
        .iter()
        .flat_map(|op| diff.iter_changes(op))
        .map(|change| (change.tag(), change.value().trim_end_matches('\n')))
        .collect();
    let first = |tag| changes.iter().find(|(found, _)| *found == tag).map(|(_, line)| *line);
    let part = match (first(ChangeTag::Delete), first(ChangeTag::Insert)) {
        (Some(then), Some(now)) => prefix::shared(then.as_bytes(), now.as_bytes()),
        _ => 0,
    };
    let line = |(tag, text): &(ChangeTag, &str)| match tag {
        ChangeTag::Equal => format!("  {}", around(text, 0)),
        ChangeTag::Delete => format!("- {}", around(text, part)),
        ChangeTag::Insert => format!("+ {}", around(text, part)),
    };
    let mut lines: Vec<String> = changes.iter().take(MOST_LINES).map(line).collect();
    let missing = changes.len().saturating_sub(MOST_LINES);
    if missing > 0 {
        lines.push(format!("  … {missing} more lines"));
    }
    lines
}

/// Bodies that are no JSON, or the same JSON in other bytes.
fn in_bytes(then: &[u8], now: &[u8]) -> Vec<String> {
    let at = prefix::shared(then, now);
    let (then, now) = (String::from_utf8_lossy(then), String::from_utf8_lossy(now));
    vec![format!("  at byte {at}:"), format!("- {}", around(&then, at)), format!("+ {}", around(&now, at))]
}

/// A line as it may be shown; of a long one the place around a byte of it.
fn around(line: &str, at: usize) -> String {
    let at = line.char_indices().take_while(|(start, _)| *start < at).count();
    let skipped = at.saturating_sub(BEFORE);
    let length = line.chars().count();
    if length <= BEFORE + BEHIND {
        return shown(line);
    }
    let part: String = line.chars().skip(skipped).take(BEFORE + BEHIND).collect();
    let before = if skipped > 0 { "…" } else { "" };
    let behind = if length > skipped + BEFORE + BEHIND { "…" } else { "" };
    format!("{before}{}{behind}", shown(&part))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    fn told(then: &Value, now: &Value) -> String {
        difference(then.to_string().as_bytes(), now.to_string().as_bytes()).join("\n")
    }

    #[test]
    fn the_first_change_is_shown_with_what_stands_around_it() {
        let body = |said: &str, last: &str| json!({"model": "m", "messages": [{"role": "user", "content": said}, {"role": "user", "content": last}]});
        let expected = r#"      {
        "role": "user",
-       "content": "blue"
+       "content": "green"
      },
      {"#;
        assert_eq!(
            told(&body("blue", "x"), &body("green", "y")).lines().take(6).collect::<Vec<_>>(),
            expected.lines().collect::<Vec<_>>()
        );
    }

    #[test]
    fn prompt_and_tools_are_shown_where_they_changed() {
        let body = |prompt: &str, tool: &str| json!({"model": "m", "tools": [{"name": "look", "description": tool}], "system": prompt, "messages": []});
        let then = body("Be kind.", "Looks.");
        let table = [
            (
                body("Be brief.", "Looks."),
                r#"
      }
    ],
-   "system": "Be kind.",
+   "system": "Be brief.",
    "messages": []
  }"#,
            ),
            (
                body("Be kind.", "Looks twice."),
                r#"
      {
        "name": "look",
-       "description": "Looks."
+       "description": "Looks twice."
      }
    ],"#,
            ),
        ];
        for (now, expected) in table {
            assert_eq!(format!("\n{}", told(&then, &now)), expected);
        }
    }

    #[test]
    fn of_a_long_line_the_place_of_the_change_is_shown() {
        let body = |word: &str| json!({"system": format!("{}{word}{}", "a ".repeat(4_000), "b ".repeat(4_000))});
        let told = told(&body("ONE"), &body("TWO"));
        assert!(told.lines().all(|line| line.chars().count() < 120), "{told}");
        assert!(told.contains("a a ONEb b") && told.contains("a a TWOb b"), "{told}");
    }

    #[test]
    fn the_same_json_in_other_bytes_is_told_by_its_bytes() {
        let lines = difference(br#"{"a":1,"b":2}"#, br#"{"a":1, "b":2}"#);
        assert_eq!(lines, ["  at byte 7:", r#"- {"a":1,"b":2}"#, r#"+ {"a":1, "b":2}"#]);
        assert_eq!(difference(b"hi", b"ho"), ["  at byte 1:", "- hi", "+ ho"]);
    }

    proptest! {
        /// Whatever differs, something is shown, and never much.
        #[test]
        fn every_difference_is_shown_in_a_few_lines(then in ".{0,400}", now in ".{0,400}", as_json: bool) {
            prop_assume!(then != now);
            let body = |text: &str| if as_json { json!({"content": [text, text]}).to_string() } else { text.to_owned() };
            let lines = difference(body(&then).as_bytes(), body(&now).as_bytes());
            prop_assert!(lines.iter().any(|line| line.starts_with(['-', '+'])), "{:?}", lines);
            prop_assert!(lines.len() <= MOST_LINES + 1);
        }
    }
}
