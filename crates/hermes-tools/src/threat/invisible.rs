//! Characters without a shape: they hide text from people or show it in another order.

use std::collections::BTreeSet;

const ZERO_WIDTH_NON_JOINER: char = '\u{200C}';
const ZERO_WIDTH_JOINER: char = '\u{200D}';
const BYTE_ORDER_MARK: char = '\u{FEFF}';

/// The seventeen: zero width, joiners, order of writing, invisible operators, byte order mark.
const INVISIBLE: [char; 17] = [
    '\u{200B}',
    ZERO_WIDTH_NON_JOINER,
    ZERO_WIDTH_JOINER,
    '\u{202A}',
    '\u{202B}',
    '\u{202C}',
    '\u{202D}',
    '\u{202E}',
    '\u{2060}',
    '\u{2062}',
    '\u{2063}',
    '\u{2064}',
    '\u{2066}',
    '\u{2067}',
    '\u{2068}',
    '\u{2069}',
    BYTE_ORDER_MARK,
];

/// Stands for all letters that nobody sees: whole sentences are written with them.
const TAG: char = '\u{E0000}';
/// Stands for all selectors: one chooses how the character before it is drawn, a row of them is a text.
const SELECTOR: char = '\u{FE00}';
/// A black flag with the letters of a region behind it, in tags, is the flag of that region.
const FLAG: char = '\u{1F3F4}';
const LONGEST_REGION: usize = 7;

/// Those that stand where no script needs them. A byte order mark at the very beginning is an editor's, not a trick.
pub(super) fn hidden(text: &str) -> Vec<char> {
    let mut found = BTreeSet::new();
    let mut before: Option<char> = None;
    // Tags that a flag still has room for.
    let mut region = 0_usize;
    let mut characters = text.char_indices().peekable();
    while let Some((at, character)) = characters.next() {
        let after = characters.peek().map(|(_, next)| *next);
        let is_marked_file = character == BYTE_ORDER_MARK && at == 0;
        match character {
            _ if INVISIBLE.contains(&character) => {
                let is_trick = !is_marked_file && !is_needed(character, before, after);
                found.extend(is_trick.then_some(character));
            }
            TAG..='\u{E007F}' => found.extend((region == 0).then_some(TAG)),
            selector if is_selector(selector) => found.extend(before.is_none_or(is_selector).then_some(SELECTOR)),
            _ => {}
        }
        region = if character == FLAG { LONGEST_REGION } else { region.saturating_sub(1) };
        before = Some(character);
    }
    found.into_iter().collect()
}

fn is_selector(character: char) -> bool {
    matches!(character, SELECTOR..='\u{FE0F}' | '\u{E0100}'..='\u{E01EF}')
}

/// Joiners build emoji from emoji, and shape the letters of Arabic and Indic scripts.
fn is_needed(character: char, before: Option<char>, after: Option<char>) -> bool {
    let (Some(before), Some(after)) = (before, after) else { return false };
    let joins_emoji = character == ZERO_WIDTH_JOINER && is_emoji(before) && is_emoji(after);
    let is_joiner = matches!(character, ZERO_WIDTH_JOINER | ZERO_WIDTH_NON_JOINER);
    joins_emoji || (is_joiner && is_shaped(before) && is_shaped(after))
}

/// Pictures, symbols, skin tones and the selector that makes a symbol a picture.
fn is_emoji(character: char) -> bool {
    matches!(u32::from(character), 0x2190..=0x2BFF | 0xFE0F | 0x1F000..=0x1FAFF)
}

fn is_shaped(character: char) -> bool {
    matches!(u32::from(character), 0x0600..=0x109F) && character.is_alphanumeric()
        || matches!(u32::from(character), 0x093C..=0x0DFF)
}
