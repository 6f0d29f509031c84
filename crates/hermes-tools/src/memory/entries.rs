//! The text of a file of notes and the entries in it. Pure.

/// Stands alone on a line between two entries.
const MARK: &str = "§";
const SEPARATOR: &str = "\n§\n";

/// What a file holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Parsed {
    /// Trimmed, without empty ones, each once.
    pub(super) entries: Vec<String>,
    pub(super) form: Form,
}

/// Whether writing the entries back gives the file again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// But for a byte order mark, line ends, space around the whole, and repeated entries.
    Clean,
    /// Somebody else gave it another shape, which a rewrite would lose.
    Other,
}

pub(super) fn parse(text: &str) -> Parsed {
    let text = plain_lines(text);
    let text = text.trim();
    let mut all: Vec<String> = Vec::new();
    let mut open: Vec<&str> = Vec::new();
    for line in text.split('\n') {
        if line.trim() == MARK {
            all.push(open.join("\n").trim().to_owned());
            open.clear();
        } else {
            open.push(line);
        }
    }
    all.push(open.join("\n").trim().to_owned());
    let form = if text.is_empty() || all.join(SEPARATOR) == text && all.iter().all(|entry| !entry.is_empty()) {
        Form::Clean
    } else {
        Form::Other
    };
    let mut entries: Vec<String> = Vec::new();
    for entry in all {
        if !entry.is_empty() && !entries.contains(&entry) {
            entries.push(entry);
        }
    }
    Parsed { entries, form }
}

pub(super) fn join(entries: &[String]) -> String {
    entries.join(SEPARATOR)
}

/// What counts against the limit.
pub(super) fn size(entries: &[String]) -> usize {
    let separators = entries.len().saturating_sub(1) * SEPARATOR.chars().count();
    entries.iter().map(|entry| entry.chars().count()).sum::<usize>() + separators
}

/// Text of a model as it can be an entry: trimmed, with plain line ends and without control characters.
pub(super) fn clean(content: &str) -> String {
    let plain = plain_lines(content);
    let kept: String = plain.chars().filter(|c| matches!(c, '\n' | '\t') || !c.is_control()).collect();
    kept.trim().to_owned()
}

/// Whether it would become several entries when it is read again.
pub(super) fn has_mark(content: &str) -> bool {
    content.split('\n').any(|line| line.trim() == MARK)
}

fn plain_lines(text: &str) -> String {
    text.trim_start_matches('\u{FEFF}').replace("\r\n", "\n").replace('\r', "\n")
}

/// 1234567 as `1,234,567`.
pub(super) fn grouped(number: usize) -> String {
    let digits = number.to_string();
    let mut grouped = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

/// `12/2,200`.
pub(super) fn fill(size: usize, limit: usize) -> String {
    format!("{}/{}", grouped(size), grouped(limit))
}

/// `0% — 12/2,200 chars`.
pub(super) fn usage(size: usize, limit: usize) -> String {
    let percent = (size * 100).checked_div(limit).unwrap_or(100);
    format!("{percent}% — {} chars", fill(size, limit))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn entries_and_what_somebody_else_made_of_the_file() {
        let parsed = |text: &str| {
            let Parsed { entries, form } = parse(text);
            (entries.join("|"), form)
        };
        let clean = [
            ("", ""),
            ("a", "a"),
            ("a\n§\nb", "a|b"),
            ("a\n§\nb\n", "a|b"),
            ("\u{feff}a\r\n§\r\nb\r\n", "a|b"),
            ("a\n\nstill a\n§\nb", "a\n\nstill a|b"),
            ("a\n§\na", "a"),
            ("a § b", "a § b"),
        ];
        for (text, entries) in clean {
            assert_eq!(parsed(text), (entries.to_owned(), Form::Clean), "{text:?}");
        }
        let other = [("a\n§\n\nb", "a|b"), ("a\n§\n", "a"), ("§\na", "a"), ("a\n § \nb", "a|b"), ("a\n§\n§\nb", "a|b")];
        for (text, entries) in other {
            assert_eq!(parsed(text), (entries.to_owned(), Form::Other), "{text:?}");
        }
    }

    #[test]
    fn numbers_as_people_write_them() {
        let shown = [0, 999, 1000, 1375, 1_234_567].map(grouped);
        assert_eq!(shown, ["0", "999", "1,000", "1,375", "1,234,567"]);
        assert_eq!(usage(156, 1375), "11% — 156/1,375 chars");
        assert_eq!(usage(1, 0), "100% — 1/0 chars");
    }

    proptest! {
        #[test]
        fn what_was_written_is_read_again(raw in proptest::collection::vec("[a-z§\u{e9} \n\r\t\u{feff}]{0,20}", 0..6)) {
            let mut entries: Vec<String> = Vec::new();
            for entry in raw.iter().map(|entry| clean(entry)) {
                if !entry.is_empty() && !has_mark(&entry) && !entries.contains(&entry) {
                    entries.push(entry);
                }
            }
            let text = join(&entries);
            prop_assert_eq!(text.chars().count(), size(&entries));
            prop_assert_eq!(parse(&text), Parsed { entries, form: Form::Clean });
        }

        #[test]
        fn any_text_is_a_list_and_a_second_reading_changes_nothing(text in "[a§ \n\r\u{feff}]{0,60}") {
            let first = parse(&text);
            let again = parse(&join(&first.entries));
            prop_assert_eq!(again, Parsed { entries: first.entries, form: Form::Clean });
        }
    }
}
