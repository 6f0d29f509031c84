//! Text as search compares it: small letters without accents, and what kind of writing each character belongs to.
//!
//! The same folding is used for messages, queries and the index of parts of words, so that whatever one of them sees the
//! others see too. A folded text has other offsets than the one it came from; [`Folded`] knows the way back.

use std::ops::Range;
use unicode_normalization::char::decompose_canonical;

/// How a script is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Between words: spaces, punctuation, signs.
    Gap,
    /// Words are apart: a word begins and ends at a gap.
    Spaced,
    /// Chinese, Japanese, Korean: a character or two say something.
    Dense,
    /// Thai, Lao, Khmer, Burmese, Tibetan: letters without spaces between words.
    Joined,
}

impl Kind {
    pub(crate) fn of(character: char) -> Self {
        match u32::from(character) {
            0..0x80 if character.is_ascii_alphanumeric() => Self::Spaced,
            0..0x80 => Self::Gap,
            0x0E01..=0x0E4E | 0x0E81..=0x0ECF | 0x0EDC..=0x0EDF => Self::Joined,
            0x0F40..=0x0FBC | 0x1000..=0x109F | 0x1780..=0x17D3 => Self::Joined,
            0x1100..=0x11FF | 0x3005 | 0x3007 | 0x3041..=0x30FA | 0x30FC..=0x30FF | 0x3131..=0x318E => Self::Dense,
            0x31F0..=0x31FF | 0x3400..=0x4DBF | 0x4E00..=0x9FFF | 0xAC00..=0xD7A3 | 0xF900..=0xFAFF => Self::Dense,
            0xFF66..=0xFF9F | 0x20000..=0x3FFFF => Self::Dense,
            _ if character.is_alphanumeric() => Self::Spaced,
            _ => Self::Gap,
        }
    }

    /// Nothing separates the words of such a script.
    pub(crate) fn is_unspaced(self) -> bool {
        matches!(self, Self::Dense | Self::Joined)
    }
}

/// Appends the folded form of a text.
pub(crate) fn fold_into(text: &str, folded: &mut String) {
    if text.is_ascii() {
        let start = folded.len();
        folded.push_str(text);
        if let Some(fresh) = folded.get_mut(start..) {
            fresh.make_ascii_lowercase();
        }
        return;
    }
    folded.reserve(text.len());
    text.chars().for_each(|character| fold_char(character, |part| folded.push(part)));
}

pub(crate) fn fold(text: &str) -> String {
    let mut folded = String::new();
    fold_into(text, &mut folded);
    folded
}

/// Accents disappear, alone or as part of a letter; letters that are not cased pass as they are.
fn fold_char(character: char, mut each: impl FnMut(char)) {
    if character.is_ascii() {
        return each(character.to_ascii_lowercase());
    }
    if Kind::of(character).is_unspaced() {
        return each(character);
    }
    for small in character.to_lowercase() {
        let mut is_accented = is_accent(small);
        decompose_canonical(small, |part| is_accented |= is_accent(part));
        match small {
            'ς' => each('σ'),
            _ if is_accented => decompose_canonical(small, |part| {
                if !is_accent(part) {
                    each(part);
                }
            }),
            _ => each(small),
        }
    }
}

fn is_accent(character: char) -> bool {
    matches!(character, '\u{300}'..='\u{36F}')
}

/// A folded text and where each of its characters came from.
pub(crate) struct Folded {
    pub(crate) text: String,
    /// Offsets in the folded and in the original text, both growing.
    ways: Vec<(usize, usize)>,
    original: usize,
}

impl Folded {
    pub(crate) fn of(original: &str) -> Self {
        let mut text = String::with_capacity(original.len());
        let mut ways = Vec::with_capacity(original.len());
        for (from, character) in original.char_indices() {
            fold_char(character, |part| {
                ways.push((text.len(), from));
                text.push(part);
            });
        }
        Self { text, ways, original: original.len() }
    }

    /// The part of the original that became this part of the folded text; at least the character it begins in.
    pub(crate) fn origin(&self, span: &Range<usize>) -> Range<usize> {
        let place = |offset: usize| self.ways.partition_point(|(folded, _)| *folded < offset);
        let source = |index: usize| self.ways.get(index).map_or(self.original, |(_, from)| *from);
        let start = source(place(span.start));
        let mut end = place(span.end);
        // A character that became several ends where the last of them does.
        while end < self.ways.len() && (source(end) <= start || end.checked_sub(1).map(source) == Some(source(end))) {
            end += 1;
        }
        start..source(end).max(start)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn case_and_accents_do_not_count_and_other_scripts_stay_whole() {
        let table = [
            ("Résumé", "resume"),
            ("re\u{301}sume\u{301}", "resume"),
            ("NAÏVE Café", "naive cafe"),
            ("ΟΔΟΣ οδος", "οδοσ οδοσ"),
            ("İstanbul", "istanbul"),
            ("Tiếng Việt", "tieng viet"),
            ("한국어 ひらがな ガ", "한국어 ひらがな ガ"),
            ("ไฟล์ข้อมูล", "ไฟล์ข้อมูล"),
            ("हिन्दी", "हिन्दी"),
        ];
        for (text, folded) in table {
            assert_eq!(fold(text), folded);
        }
    }

    #[test]
    fn the_way_back_leads_to_whole_characters() {
        let text = "Ein re\u{301}sumé!";
        let folded = Folded::of(text);
        let start = folded.text.find("resume").expect("there");
        let origin = |span| text.get(folded.origin(&span)).expect("whole characters");
        assert_eq!(origin(start..start + 6), "re\u{301}sumé");
        assert_eq!(origin(0..3), "Ein");
        assert_eq!(origin(0..folded.text.len()), text);
    }
}
