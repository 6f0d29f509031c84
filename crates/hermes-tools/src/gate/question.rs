//! How something that would run is shown to the person who decides about it: nothing invisible, nothing reordered, no
//! secrets, and never so long that its end is out of sight.

use std::fmt::Write as _;

/// From this many characters or lines on, the middle is left out.
const MOST_CHARACTERS: usize = 1_600;
const MOST_LINES: usize = 24;
/// What stays of it at each end.
const CHARACTERS_AT_ENDS: usize = 700;
const LINES_AT_ENDS: usize = 10;

/// Text with everything that a screen would hide or obey spelled out: `⟨U+202E⟩`, `⟨ESC⟩`.
pub fn visible(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for found in text.chars() {
        match found {
            '\n' | '\t' => out.push(found),
            '\u{1b}' => out.push_str("⟨ESC⟩"),
            '\r' => out.push_str("⟨CR⟩"),
            '\0' => out.push_str("⟨NUL⟩"),
            found if hides(found) => {
                // Writing into a string cannot fail.
                let _ = write!(out, "⟨U+{:04X}⟩", u32::from(found));
            }
            found => out.push(found),
        }
    }
    out
}

/// Controls, marks of direction, spaces that look like none or like another, private characters and tags.
fn hides(found: char) -> bool {
    found.is_control()
        || (found.is_whitespace() && found != ' ')
        || matches!(found,
            '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180f}'
            | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{2800}' | '\u{3164}'
            | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}' | '\u{e000}'..='\u{f8ff}'
            | '\u{e0000}'..='\u{e0fff}' | '\u{f0000}'..='\u{10ffff}')
}

/// A text as it is first shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Excerpt {
    Whole(String),
    /// The beginning, the end, and how many characters stand between them.
    Ends {
        head: String,
        left_out: usize,
        tail: String,
    },
}

/// Head and tail of a long text: what it begins with is no more telling than what it ends with.
pub fn excerpt(text: &str) -> Excerpt {
    let count = text.chars().count();
    let lines: Vec<&str> = text.lines().collect();
    if count <= MOST_CHARACTERS && lines.len() <= MOST_LINES {
        return Excerpt::Whole(text.to_owned());
    }
    let end = |lines: &[&str]| lines.join("\n");
    let first = end(lines.get(..LINES_AT_ENDS.min(lines.len())).unwrap_or_default());
    let last = end(lines.get(lines.len().saturating_sub(LINES_AT_ENDS)..).unwrap_or_default());
    let head: String = first.chars().take(CHARACTERS_AT_ENDS).collect();
    let skip = last.chars().count().saturating_sub(CHARACTERS_AT_ENDS);
    let tail: String = last.chars().skip(skip).collect();
    let left_out = count.saturating_sub(head.chars().count() + tail.chars().count());
    Excerpt::Ends { head, left_out, tail }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_a_screen_would_hide_is_spelled_out() {
        for (text, shown) in [
            ("ls -l\n\tx é 日本", "ls -l\n\tx é 日本"),
            ("a\u{1b}[2Kb\r", "a⟨ESC⟩[2Kb⟨CR⟩"),
            ("rm \u{202e}fr-", "rm ⟨U+202E⟩fr-"),
            ("r\u{200b}m\u{a0}x", "r⟨U+200B⟩m⟨U+00A0⟩x"),
            ("a\u{e0041}\0", "a⟨U+E0041⟩⟨NUL⟩"),
        ] {
            assert_eq!(visible(text), shown);
        }
    }

    #[test]
    fn the_end_of_a_long_command_is_always_in_sight() {
        assert_eq!(excerpt("ls"), Excerpt::Whole("ls".into()));
        let long = format!("echo {}; rm -rf x", "a".repeat(5_000));
        let Excerpt::Ends { head, left_out, tail } = excerpt(&long) else { panic!("it is cut") };
        assert!(head.starts_with("echo aaa") && tail.ends_with("; rm -rf x"));
        assert_eq!(head.len() + left_out + tail.len(), long.len());
        let many = "true\n".repeat(100) + "rm -rf y";
        assert!(matches!(excerpt(&many), Excerpt::Ends { tail, .. } if tail.ends_with("rm -rf y")));
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn nothing_that_is_shown_can_hide(text in any::<String>()) {
            let shown = visible(&text);
            prop_assert!(shown.chars().all(|found| matches!(found, '\n' | '\t') || !hides(found)));
            let again = visible(&shown);
            prop_assert_eq!(&again, &shown);
            match excerpt(&shown) {
                Excerpt::Whole(whole) => prop_assert_eq!(whole, shown),
                Excerpt::Ends { head, tail, .. } => prop_assert!(shown.starts_with(&head) && shown.trim_end().ends_with(tail.trim_end())),
            }
        }
    }
}
