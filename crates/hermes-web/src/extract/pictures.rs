//! Pictures that are written out inside of a text would fill a conversation with noise: their words stay, their bytes go.
//!
//! The text is gone through once, and from where a picture begins nobody looks back or ahead further than a bound: a text
//! that is all beginnings costs no more than any other.

use regex::Regex;
use std::borrow::Cow;
use std::sync::OnceLock;

const BEGINNING: &str = r"(?i)data:image/[a-z0-9.+-]+";
/// Bytes of the words that tell what a picture shows.
const LONGEST_WORDS: usize = 2_000;
/// Bytes between the kind of a picture and its data (`;base64` and the like).
const LONGEST_PARAMETERS: usize = 200;

/// The text with `[IMAGE: what it shows]` for every picture in it: in Markdown, in brackets, and bare, which is also what is
/// left of one that was cut off. Links to pictures stay.
pub(super) fn without_pictures(text: &str) -> Cow<'_, str> {
    static FOUND: OnceLock<Option<Regex>> = OnceLock::new();
    // The pattern is fixed and a test reads it, so there always is one.
    let Some(found) = FOUND.get_or_init(|| Regex::new(BEGINNING).ok()) else { return Cow::Borrowed(text) };
    let mut out = String::new();
    let mut done = 0;
    // Where no bracket is closed any more, none is looked for.
    let mut brackets_close = true;
    for beginning in found.find_iter(text) {
        if beginning.start() < done {
            continue;
        }
        let before = text.get(done..beginning.start()).unwrap_or_default();
        let behind = text.get(beginning.end()..).unwrap_or_default();
        let bracket = before.trim_end().strip_suffix('(').filter(|_| brackets_close);
        let closed = bracket.and_then(|before| Some((before, behind.find(')')? + 1)));
        brackets_close = brackets_close && (bracket.is_none() || closed.is_some());
        let (kept, words, length) = match closed {
            Some((before, length)) => {
                let (kept, words) = described(before);
                (kept, words, length)
            }
            None => match data(behind) {
                Some(length) => (before, "", length),
                None => continue,
            },
        };
        out.push_str(kept);
        match words.trim() {
            "" => out.push_str("[IMAGE]"),
            words => out.extend(["[IMAGE: ", words, "]"]),
        }
        done = beginning.end() + length;
    }
    if done == 0 {
        return Cow::Borrowed(text);
    }
    out.push_str(text.get(done..).unwrap_or_default());
    Cow::Owned(out)
}

/// The words of `![words]` at the end of a text, and what stands before them.
fn described(before: &str) -> (&str, &str) {
    let inside = before.strip_suffix(']').unwrap_or_default();
    let from = (inside.len().saturating_sub(LONGEST_WORDS)..=inside.len()).find(|at| inside.is_char_boundary(*at));
    let near = from.and_then(|from| inside.get(from..)).unwrap_or_default();
    let near = near.rsplit(']').next().unwrap_or_default();
    match near.split_once("![") {
        Some((_, words)) => (inside.get(..inside.len() - words.len() - 2).unwrap_or_default(), words),
        None => (before, ""),
    }
}

/// How long parameters and data are together; nothing where there is no data.
fn data(behind: &str) -> Option<usize> {
    let parameters = behind.bytes().take(LONGEST_PARAMETERS);
    let comma = parameters
        .take_while(|byte| !byte.is_ascii_whitespace() && !b"\"')".contains(byte))
        .position(|byte| byte == b',')?;
    let is_data = |byte: &u8| byte.is_ascii_alphanumeric() || b"+/=%_-".contains(byte);
    Some(comma + 1 + behind.bytes().skip(comma + 1).take_while(is_data).count())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_a_picture_shows_stays_and_its_bytes_go() {
        for (text, expected) in [
            ("a ![A cat](data:image/png;base64,iVBORw0KGgo=) b", "a [IMAGE: A cat] b"),
            ("![](data:image/svg+xml,%3Csvg%20x%3D'1'%3E) b", "[IMAGE] b"),
            ("see (data:image/gif;base64,R0lG) there", "see [IMAGE] there"),
            ("src=\"DATA:image/jpeg;base64,/9j/4AAQ\" and words", "src=\"[IMAGE]\" and words"),
            ("![cut](data:image/png;base64,iVBORw0", "![cut]([IMAGE]"),
            ("![real](https://a.test/cat.png)", "![real](https://a.test/cat.png)"),
            ("[x] ![a ![b]( data:image/png,AA) c", "[x] [IMAGE: a ![b] c"),
            ("[link](data:image/png,AA) ![ü](data:image/png,BB)!", "[link][IMAGE] [IMAGE: ü]!"),
            ("data:image/png and data:image/png;base64 AA", "data:image/png and data:image/png;base64 AA"),
        ] {
            assert_eq!(without_pictures(text), expected);
        }
    }

    #[test]
    fn a_text_of_nothing_but_beginnings_is_gone_through_once() {
        for unit in ["![ data:image/a, ", "(data:image/a, ", "(data:image/a;", "data:image/a;;;", "![]]("] {
            let text = unit.repeat((1 << 20) / unit.len());
            assert!(without_pictures(&text).len() <= text.len(), "{unit}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(512))]
        #[test]
        fn what_is_around_pictures_stays(text in "(data:image/png,AA=|!\\[|\\]|\\(|\\)|[a-zä ,]){0,40}") {
            let shown = without_pictures(&text);
            prop_assert_eq!(without_pictures(&shown), shown.clone(), "once is enough");
            if !text.contains("data:image/") {
                prop_assert_eq!(&shown, &text);
            }
        }
    }
}
