//! Long files keep their beginning and their end: what matters most is at the beginning, what was added last at the end.

use super::document::End;

/// Parts of the room, in percent; the rest is for the line that says what is missing.
const HEAD: usize = 70;
const TAIL: usize = 20;

/// A text that was too long.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Cut {
    pub(super) text: String,
    /// How many characters it had; of a file without a known end, how many were looked at.
    whole: usize,
    left_out: usize,
    end: End,
}

/// The text in so many characters; none where it fits.
pub(super) fn to(text: &str, name: &str, room: usize, end: End) -> Option<Cut> {
    let whole = text.chars().count();
    if whole <= room && end == End::Reached {
        return None;
    }
    let (head, tail) = match end {
        End::Reached => (room * HEAD / 100, room * TAIL / 100),
        // What was read last is somewhere in the middle.
        End::Open => (whole.min(room * (HEAD + TAIL) / 100), 0),
    };
    let left_out = whole.saturating_sub(head + tail);
    let (beginning, rest) = split(text, head);
    let (_, ending) = split(rest, left_out);
    let amount = match end {
        End::Reached => format!("{left_out} characters of {name} are left out here; read the file to see them"),
        End::Open => format!("the rest of {name} is left out; read the file to see it"),
    };
    let marker = format!("[… {amount} …]");
    let text = format!("{}\n\n{marker}\n\n{}", beginning.trim_end(), ending.trim_start()).trim_end().to_owned();
    Some(Cut { text, whole, left_out, end })
}

fn split(text: &str, characters: usize) -> (&str, &str) {
    let at = text.char_indices().nth(characters).map_or(text.len(), |(at, _)| at);
    text.split_at_checked(at).unwrap_or((text, ""))
}

impl Cut {
    /// For the person.
    pub(super) fn told(&self, name: &str) -> String {
        match self.end {
            End::Reached => format!(
                "{name} is long: {} of its {} characters are left out of the prompt. `context_file_max_chars` sets how \
                 many are read",
                self.left_out, self.whole
            ),
            End::Open => format!("{name} is huge: only its beginning is in the prompt"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_long_text_keeps_its_beginning_and_its_end() {
        let text = format!("{}{}{}", "a".repeat(70), "b".repeat(30), "c".repeat(20));
        let cut = to(&text, "AGENTS.md", 100, End::Reached).unwrap();
        let marker = "[… 30 characters of AGENTS.md are left out here; read the file to see them …]";
        assert_eq!(cut.text, format!("{}\n\n{marker}\n\n{}", "a".repeat(70), "c".repeat(20)));
        assert!(cut.told("AGENTS.md").starts_with("AGENTS.md is long: 30 of its 120 characters"));
        assert_eq!(to(&text, "AGENTS.md", 120, End::Reached), None);
    }

    #[test]
    fn of_a_file_without_an_end_only_the_beginning_is_shown() {
        let cut = to(&"x".repeat(200), "HERMES.md", 100, End::Open).unwrap();
        let marker = "[… the rest of HERMES.md is left out; read the file to see it …]";
        assert_eq!(cut.text, format!("{}\n\n{marker}", "x".repeat(90)));
        assert_eq!(cut.told("HERMES.md"), "HERMES.md is huge: only its beginning is in the prompt");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(128))]
        #[test]
        fn nothing_is_longer_than_its_room_and_a_line(text in "\\PC{0,300}", room in 0usize..200) {
            let cut = to(&text, "f", room, End::Reached);
            prop_assert_eq!(cut.is_none(), text.chars().count() <= room);
            if let Some(cut) = cut {
                prop_assert!(cut.text.chars().count() <= room + 80);
                let head: String = text.chars().take(room * HEAD / 100).collect();
                prop_assert!(cut.text.starts_with(head.trim_end()));
            }
        }
    }
}
