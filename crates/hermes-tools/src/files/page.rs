//! The lines of a text that a reader sees: numbered, cut, and with the way to the rest.
//!
//! A page never splits a line and never loses one: whatever does not fit is named with the offset that continues.
//! Whether bytes are text at all, and which file was meant by a name that does not exist, is decided here too.

use std::fmt::Write as _;
use std::ops::RangeInclusive;

const CUT: &str = "... [truncated]";
const MARK: char = '\u{feff}';

/// Which lines are wanted, and how much of them fits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PageRequest {
    /// The first line, from 1.
    pub offset: usize,
    pub limit: usize,
    /// Characters of a line that are shown.
    pub line_chars: usize,
    /// Characters of the page, numbers included.
    pub page_chars: usize,
}

impl Default for PageRequest {
    fn default() -> Self {
        Self { offset: 1, limit: 500, line_chars: 2_000, page_chars: 100_000 }
    }
}

/// Why a page ends before the text does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EndedBy {
    /// There were as many lines as were asked for.
    Lines,
    /// The page was full.
    Bytes,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page {
    /// `N|text` for each line, without a last line break.
    pub content: String,
    /// The numbers of the lines shown, when there are any.
    pub shown: Option<RangeInclusive<usize>>,
    pub total_lines: usize,
    pub ended_by: Option<EndedBy>,
    /// The offset that continues.
    pub next_offset: Option<usize>,
    pub hint: Option<String>,
}

/// One page of a text. A byte order mark at its beginning is not shown, and neither are carriage returns at line ends.
pub fn page(text: &str, request: &PageRequest) -> Page {
    let text = text.strip_prefix(MARK).unwrap_or(text);
    let total_lines = text.split_inclusive('\n').count();
    paged(text.split_inclusive('\n').skip(request.offset.max(1) - 1), total_lines, request)
}

/// The same from the lines that begin at the offset, for a text that is not at hand as a whole.
pub fn paged<'l>(lines: impl Iterator<Item = &'l str>, total_lines: usize, request: &PageRequest) -> Page {
    let offset = request.offset.max(1);
    let mut content = String::new();
    let mut used = 0;
    let mut ended_by = None;
    let mut next = offset;
    for line in lines {
        if next - offset == request.limit.max(1) {
            ended_by = Some(EndedBy::Lines);
            break;
        }
        let mut row = numbered(next, line, request.line_chars);
        let mut size = row.chars().count() + usize::from(next > offset);
        if used + size > request.page_chars {
            ended_by = Some(EndedBy::Bytes);
            if next > offset {
                break;
            }
            // A first line that is too long for any page is shown as far as it goes, or reading could not go on.
            row = row.chars().take(request.page_chars.saturating_sub(CUT.len())).chain(CUT.chars()).collect();
            size = row.chars().count();
        }
        if next > offset {
            content.push('\n');
        }
        content.push_str(&row);
        used += size;
        next += 1;
        if ended_by.is_some() {
            break;
        }
    }
    let shown = (next > offset).then(|| offset..=next - 1);
    let next_offset = (next <= total_lines && shown.is_some()).then_some(next);
    let ended_by = ended_by.filter(|_| next_offset.is_some());
    let hint = hint(offset, total_lines, next_offset, ended_by);
    Page { content, shown, total_lines, ended_by, next_offset, hint }
}

fn numbered(number: usize, line: &str, longest: usize) -> String {
    let line = line.strip_suffix('\n').unwrap_or(line);
    let line = line.strip_suffix('\r').unwrap_or(line);
    let mut row = format!("{number}|");
    match line.char_indices().nth(longest) {
        Some((end, _)) => row.extend([line.get(..end).unwrap_or_default(), CUT]),
        None => row.push_str(line),
    }
    row
}

fn hint(offset: usize, total: usize, next: Option<usize>, ended_by: Option<EndedBy>) -> Option<String> {
    let Some(next) = next else {
        return (total > 0 && offset > total)
            .then(|| format!("The file has {total} lines; line {offset} is after its end. Use a smaller offset."));
    };
    let mut text = String::new();
    if ended_by == Some(EndedBy::Bytes) {
        text.push_str("The page is full. ");
    }
    // Writing to a string does not fail.
    let _ = write!(text, "Lines {offset} to {} of {total} are shown. Use offset={next} to continue.", next - 1);
    Some(text)
}

/// Whether a file is shown as text, judged by its first bytes: more than three in ten characters that are control
/// characters or no characters at all mean that it is not.
pub fn is_binary(sample: &[u8]) -> bool {
    let (mut total, mut strange) = (0_usize, 0_usize);
    for chunk in sample.utf8_chunks() {
        total += chunk.valid().chars().count();
        strange += chunk.valid().chars().filter(|char| is_strange(*char)).count();
        total += chunk.invalid().len();
        strange += chunk.invalid().len();
    }
    strange * 10 > total * 3
}

fn is_strange(char: char) -> bool {
    char.is_control() && !matches!(char, '\n' | '\r' | '\t')
}

/// Entries of a directory that are looked at for a name that is missing.
const LOOKED_AT: usize = 1_000;
const SUGGESTED: usize = 5;

/// The names that could have been meant, the best first.
pub fn similar_names<'e>(wanted: &str, entries: impl IntoIterator<Item = &'e str>) -> Vec<&'e str> {
    let mut scored: Vec<(u8, &str)> =
        entries.into_iter().take(LOOKED_AT).filter_map(|entry| Some((likeness(wanted, entry)?, entry))).collect();
    scored.sort_by(|left, right| right.0.cmp(&left.0).then(left.1.cmp(right.1)));
    scored.into_iter().take(SUGGESTED).map(|(_, entry)| entry).collect()
}

/// How likely an entry is what a name means. Case does not matter.
fn likeness(wanted: &str, entry: &str) -> Option<u8> {
    let (wanted, entry) = (wanted.to_lowercase(), entry.to_lowercase());
    if wanted.is_empty() || entry.is_empty() {
        return None;
    }
    let ((wanted_stem, wanted_ending), (entry_stem, entry_ending)) = (parted(&wanted), parted(&entry));
    if wanted == entry {
        Some(100)
    } else if wanted_stem == entry_stem {
        Some(90)
    } else if entry.starts_with(&wanted) || wanted.starts_with(&entry) {
        Some(70)
    } else if entry.contains(&wanted) {
        Some(60)
    } else if wanted.contains(&entry) && entry.chars().count() > 2 {
        Some(40)
    } else if !wanted_ending.is_empty() && wanted_ending == entry_ending && shares_letters(&wanted, &entry) {
        Some(30)
    } else {
        None
    }
}

/// Stem and ending. A dot at the beginning belongs to the stem.
fn parted(name: &str) -> (&str, &str) {
    match name.rsplit_once('.') {
        Some((stem, ending)) if !stem.is_empty() => (stem, ending),
        _ => (name, ""),
    }
}

/// At least four of ten different letters of the longer alphabet are in both names.
fn shares_letters(left: &str, right: &str) -> bool {
    let letters = |name: &str| name.chars().collect::<std::collections::BTreeSet<char>>();
    let (left, right) = (letters(left), letters(right));
    left.intersection(&right).count() * 10 >= left.len().max(right.len()) * 4
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn small(offset: usize, limit: usize) -> PageRequest {
        PageRequest { offset, limit, line_chars: 6, page_chars: 30 }
    }

    #[test]
    fn a_page_is_numbered_and_says_how_to_go_on() {
        let read = page("\u{feff}one\r\ntwo\nthree\n", &small(1, 2));
        let expected = Page {
            content: "1|one\n2|two".into(),
            shown: Some(1..=2),
            total_lines: 3,
            ended_by: Some(EndedBy::Lines),
            next_offset: Some(3),
            hint: Some("Lines 1 to 2 of 3 are shown. Use offset=3 to continue.".into()),
        };
        assert_eq!(read, expected);
        assert_eq!(page("one\ntwo", &small(1, 2)).next_offset, None);
    }

    #[test]
    fn long_lines_are_cut_and_full_pages_end_at_a_line() {
        let read = page("äöüäöüß\nb\n0123456\nc\n", &small(1, 9));
        assert_eq!(read.content, "1|äöüäöü... [truncated]\n2|b");
        assert_eq!((read.ended_by, read.next_offset), (Some(EndedBy::Bytes), Some(3)));
        assert_eq!(
            read.hint.as_deref(),
            Some("The page is full. Lines 1 to 2 of 4 are shown. Use offset=3 to continue.")
        );
    }

    #[test]
    fn a_line_longer_than_a_page_does_not_stop_the_reader() {
        let request = PageRequest { offset: 1, limit: 5, line_chars: 100, page_chars: 20 };
        let read = page(&format!("{}\nb\n", "x".repeat(50)), &request);
        assert_eq!((read.content.as_str(), read.next_offset), ("1|xxx... [truncated]", Some(2)));
    }

    #[test]
    fn an_offset_after_the_end_is_explained() {
        let read = page("a\nb\n", &small(7, 2));
        assert_eq!((read.content.as_str(), read.shown, read.next_offset), ("", None, None));
        let hint = "The file has 2 lines; line 7 is after its end. Use a smaller offset.";
        assert_eq!(read.hint.as_deref(), Some(hint));
        assert_eq!(page("", &small(1, 2)).hint, None);
    }

    #[test]
    fn control_characters_tell_binary_from_text() {
        assert!(!is_binary(b""));
        assert!(!is_binary("плохо\tили\r\nхорошо".as_bytes()));
        assert!(!is_binary(b"caf\xe9 au lait"));
        assert!(!is_binary(b"\x01\x02\x03aaaaaaa"));
        assert!(is_binary(b"\x01\x02\x03\x04aaaaaaa"));
        assert!(is_binary(b"h\0i\0j\0"));
        assert!(is_binary(&[0x89, 0xff, 0xfe, 0x80, b'P', b'N', b'G']));
    }

    #[test]
    fn missing_names_find_their_neighbours() {
        let rows = [
            ("Main.rs", "main.RS", Some(100)),
            ("main.rs", "main.py", Some(90)),
            ("conf", "config.yaml", Some(70)),
            ("fig", "config.yaml", Some(60)),
            ("my_config_old.yaml", "config", Some(40)),
            ("stroe.rs", "store.rs", Some(30)),
            ("abc.rs", "xyz.rs", Some(30)),
            ("abcdef.rs", "uvwxyz.rs", None),
            (".env", ".gitignore", None),
        ];
        for (wanted, entry, score) in rows {
            assert_eq!(likeness(wanted, entry), score, "{wanted} and {entry}");
        }
        let entries = ["zzz", "main.py", "main.rs.bak", "the_main.rs", "mian.rs", "amain.rs", "main.rsx"];
        assert_eq!(
            similar_names("main.rs", entries),
            ["main.py", "main.rsx", "main.rs.bak", "amain.rs", "the_main.rs"]
        );
    }

    proptest! {
        #[test]
        fn pages_together_are_the_whole_text(
            lines in prop::collection::vec("[a-zé|]{0,12}", 0..40), limit in 1..9_usize, page_chars in 40..90_usize
        ) {
            let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
            let mut read = String::new();
            let mut next = Some(1);
            while let Some(offset) = next {
                let one = page(&text, &PageRequest { offset, limit, line_chars: 2_000, page_chars });
                prop_assert!(one.content.chars().count() <= page_chars);
                for (row, number) in one.content.lines().zip(one.shown.into_iter().flatten()) {
                    let body = row.strip_prefix(&format!("{number}|")).unwrap();
                    read.push_str(body);
                    read.push('\n');
                }
                next = one.next_offset;
            }
            prop_assert_eq!(read, text);
        }
    }
}
