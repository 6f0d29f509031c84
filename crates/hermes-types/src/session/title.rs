//! Titles of sessions: one line, unique, at most a hundred characters; a conversation that goes on elsewhere is numbered.

use serde::Serialize;
use std::fmt;

/// The longest title, in characters.
const LONGEST: usize = 100;
/// As many characters of it a number may take: ` #` and twenty digits.
const ROOM_FOR_NUMBER: usize = 22;

/// A title that is fit to be stored.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(transparent)]
pub struct Title(String);

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TitleFault {
    #[error("the title has {0} characters; at most {LONGEST} fit")]
    TooLong(usize),
}

impl Title {
    /// The title in a text: without control characters and invisible ones, on one line. `None` when nothing is left.
    pub fn parse(text: &str) -> Result<Option<Self>, TitleFault> {
        let visible = without_hidden(text);
        let line = visible.split_whitespace().collect::<Vec<_>>().join(" ");
        match line.chars().count() {
            0 => Ok(None),
            1..=LONGEST => Ok(Some(Self(line))),
            count => Err(TitleFault::TooLong(count)),
        }
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The title without its number: `Fix #3` is `Fix`.
    pub fn base(&self) -> &str {
        base_and_number(&self.0).0
    }

    /// What every numbered title of this lineage begins with, also where the base had to give way to the number.
    pub fn stem(&self) -> String {
        self.base().chars().take(LONGEST - ROOM_FOR_NUMBER).collect()
    }

    /// Whether `other` is this title with a number.
    pub fn is_continued_by(&self, other: &str) -> bool {
        match base_and_number(other) {
            (base, Some(number)) => base == self.0 || numbered(&self.0, number) == other,
            (_, None) => false,
        }
    }

    /// The title for the next session of this lineage, given every title that begins with its [`stem`](Self::stem).
    ///
    /// ```
    /// # use hermes_types::Title;
    /// let title = Title::parse("Fix Docker Build").unwrap().unwrap();
    /// assert_eq!(title.next(&["Fix Docker Build"]), "Fix Docker Build #2");
    /// assert_eq!(title.next::<&str>(&[]), "Fix Docker Build");
    /// ```
    pub fn next<T: AsRef<str>>(&self, existing: &[T]) -> String {
        let base = self.base();
        let existing = || existing.iter().map(AsRef::as_ref);
        let numbers = existing().map(base_and_number).filter(|(other, _)| *other == base);
        let Some(mut number) = numbers.map(|(_, number)| number.unwrap_or(1)).max() else { return base.to_owned() };
        loop {
            // After the last number there is the first again: a title nobody counts to must not end the counting.
            number = number.checked_add(1).unwrap_or(2);
            let next = numbered(base, number);
            if existing().all(|title| title != next) {
                return next;
            }
        }
    }
}

impl fmt::Display for Title {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A numbered title still fits: the base gives way, not the number.
fn numbered(base: &str, number: u64) -> String {
    let number = format!(" #{number}");
    let room = LONGEST.saturating_sub(number.chars().count());
    let head: String = base.chars().take(room).collect();
    format!("{}{number}", head.trim_end())
}

fn base_and_number(title: &str) -> (&str, Option<u64>) {
    let Some((base, digits)) = title.rsplit_once(" #") else { return (title, None) };
    let all_digits = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    match digits.parse() {
        Ok(number) if all_digits && !base.is_empty() => (base, Some(number)),
        _ => (title, None),
    }
}

/// The text without what is not seen. A joiner stays where it shapes what is seen: between two characters of an emoji,
/// or of a script that is written with it. Plain letters are not joined, so that no two titles look the same.
fn without_hidden(text: &str) -> String {
    let mut visible = String::with_capacity(text.len());
    let mut rest = text.chars().peekable();
    let is_shaped = |c: Option<char>| c.is_some_and(|c| !c.is_ascii() && !c.is_whitespace() && !is_hidden(c));
    while let Some(c) = rest.next() {
        let is_joiner = matches!(c, '\u{200C}' | '\u{200D}');
        let mut joins = || is_shaped(visible.chars().next_back()) && is_shaped(rest.peek().copied());
        if !is_hidden(c) || (is_joiner && joins()) {
            visible.push(c);
        }
    }
    visible
}

/// Characters that are not seen, or that turn the direction of what follows.
fn is_hidden(c: char) -> bool {
    let space = matches!(c, '\t' | '\n' | '\r');
    (c.is_control() && !space)
        || matches!(c, '\u{200B}'..='\u{200F}' | '\u{2028}'..='\u{202E}' | '\u{2060}'..='\u{2069}'
            | '\u{FEFF}' | '\u{FFFC}' | '\u{FFF9}'..='\u{FFFB}')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Option<String> {
        Title::parse(text).expect("not too long").map(|title| title.to_string())
    }

    #[test]
    fn a_title_is_one_visible_line() {
        let table = [
            ("  Fix\tthe \n build ", Some("Fix the build")),
            ("a\u{200B}b\u{202E}c\u{FEFF}", Some("abc")),
            ("\u{0}\u{7}bell", Some("bell")),
            ("แก้ไข 构建", Some("แก้ไข 构建")),
            ("👩\u{200D}💻 ❤\u{FE0F}\u{200D}🔥", Some("👩\u{200D}💻 ❤\u{FE0F}\u{200D}🔥")),
            ("می\u{200C}خواهم क्\u{200D}ष", Some("می\u{200C}خواهم क्\u{200D}ष")),
            ("\u{200D}👩\u{200D}\u{200D}💻\u{200D} a\u{200D}b", Some("👩\u{200D}💻 ab")),
            (" \u{200B} ", None),
            ("", None),
        ];
        for (text, title) in table {
            assert_eq!(parsed(text).as_deref(), title, "{text:?}");
        }
        assert_eq!(Title::parse(&"é".repeat(101)), Err(TitleFault::TooLong(101)));
        assert_eq!(parsed(&"é".repeat(100)).map(|title| title.chars().count()), Some(100));
    }

    #[test]
    fn the_next_title_counts_on() {
        let next = |title: &str, existing: &[&str]| Title::parse(title).expect("fits").expect("a title").next(existing);
        assert_eq!(next("T", &["T"]), "T #2");
        assert_eq!(next("T #7", &["T"]), "T #2");
        assert_eq!(next("T #7", &["T", "T #7", "T #x", "Tea #9"]), "T #8");
        assert_eq!(next("New", &[]), "New");
        assert_eq!(next("New #4", &[]), "New");
        assert_eq!(next("#4", &["#4"]), "#4 #2");
        let long = "x".repeat(100);
        let numbered = next(&long, &[&long]);
        assert_eq!((numbered.chars().count(), numbered.ends_with("x #2")), (100, true), "{numbered}");
        assert!(next(&long, &[&long, &numbered]).ends_with("x #3"));
        assert_eq!(next("T", &["T #18446744073709551615", "T #2"]), "T #3", "after the last number");
    }

    #[test]
    fn a_title_is_continued_by_its_numbers() {
        let continued =
            |title: &str, other: &str| Title::parse(title).expect("fits").expect("a title").is_continued_by(other);
        let table = [("T", "T #2", true), ("T", "T", false), ("T", "T #x", false), ("T", "Tea #2", false)];
        for (title, other, expected) in table {
            assert_eq!(continued(title, other), expected, "{title} {other}");
        }
        let long = "x".repeat(100);
        assert!(continued(&long, &format!("{} #2", "x".repeat(97))), "the base gave way to the number");
        assert!(!continued(&long, &format!("{} #2", "x".repeat(90))), "another title");
    }
}
