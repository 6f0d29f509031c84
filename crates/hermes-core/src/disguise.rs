//! Characters in which a text can hide what it says: letters that look like Latin ones, and characters nobody sees.
//!
//! Whoever looks for words in foreign text (markers of our own, attempts to steer the agent) reads it through these two
//! functions, so that one disguise does not work in one place and fail in another. Nothing here changes a text.

/// The small Latin letter that a character looks like; itself where there is none.
///
/// ```
/// use hermes_core::disguise::latin;
/// let read = |text: &str| text.chars().map(latin).collect::<String>();
/// assert_eq!(read("IGNОRЕ ɪɢɴᴏʀᴇ Ｉｇｎｏｒｅ 𝐢𝐠𝐧𝐨𝐫𝐞 ⓘⓖⓝⓞⓡⓔ"), "ignore ignore ignore ignore ignore");
/// assert_eq!(read("жé5"), "жé5");
/// ```
pub fn latin(character: char) -> char {
    let code = u32::from(character);
    let from_a = |offset: u32| char::from_u32(u32::from('a') + offset % 26).unwrap_or(character);
    match character {
        _ if character.is_ascii() => character.to_ascii_lowercase(),
        '\u{FF01}'..='\u{FF5E}' => char::from_u32(code - 0xFEE0).unwrap_or(character).to_ascii_lowercase(),
        // Bold, italic, script and other alphabets of mathematics, each with 26 capitals and 26 small letters.
        '\u{1D400}'..='\u{1D6A3}' => from_a(code - 0x1D400),
        'Ⓐ'..='ⓩ' => from_a(code - 0x24B6),
        'а' | 'А' | 'α' | 'Α' | 'ɑ' | 'ᴀ' => 'a',
        'в' | 'В' | 'β' | 'Β' | 'ʙ' | 'Ь' => 'b',
        'с' | 'С' | 'ϲ' | 'Ϲ' | 'ᴄ' => 'c',
        'ԁ' | 'Ԁ' | 'ᴅ' => 'd',
        'е' | 'Е' | 'ε' | 'Ε' | 'ᴇ' | 'ҽ' => 'e',
        'ƒ' | 'ϝ' | 'Ϝ' | 'ꜰ' => 'f',
        'ɡ' | 'ց' | 'ɢ' | 'Ԍ' => 'g',
        'һ' | 'Һ' | 'Н' | 'н' | 'Η' | 'ʜ' | 'հ' => 'h',
        'і' | 'І' | 'ι' | 'Ι' | 'ı' | 'ɪ' => 'i',
        'ј' | 'Ј' | 'ϳ' | 'ᴊ' => 'j',
        'к' | 'К' | 'κ' | 'Κ' | 'ᴋ' => 'k',
        'ӏ' | 'Ӏ' | 'ʟ' | 'ⅼ' => 'l',
        'м' | 'М' | 'Μ' | 'ᴍ' => 'm',
        'ո' | 'Ν' | 'η' | 'п' | 'ɴ' => 'n',
        'о' | 'О' | 'ο' | 'Ο' | 'օ' | 'Օ' | 'ᴏ' | 'σ' => 'o',
        'р' | 'Р' | 'ρ' | 'Ρ' | 'ᴘ' => 'p',
        'ԛ' | 'Ԛ' => 'q',
        'г' | 'ʀ' | 'Ʀ' | 'ᴦ' => 'r',
        'ѕ' | 'Ѕ' | 'Տ' | 'ꜱ' => 's',
        'т' | 'Т' | 'τ' | 'Τ' | 'ᴛ' => 't',
        'υ' | 'ս' | 'Ս' | 'ᴜ' => 'u',
        'ν' | 'ѵ' | 'Ѵ' | 'ᴠ' => 'v',
        'ԝ' | 'Ԝ' | 'ѡ' | 'ᴡ' => 'w',
        'х' | 'Х' | 'χ' | 'Χ' => 'x',
        'у' | 'У' | 'Υ' | 'γ' | 'ү' | 'Ү' | 'ʏ' => 'y',
        'Ζ' | 'ᴢ' => 'z',
        other => other,
    }
}

/// Whether a character has no shape of its own: it takes no room, sits on the letter before it, or only steers how others
/// are drawn.
pub fn is_invisible(character: char) -> bool {
    matches!(character,
        '\u{ad}' | '\u{300}'..='\u{36f}' | '\u{483}'..='\u{489}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}'
        | '\u{17b5}' | '\u{180b}'..='\u{180e}' | '\u{1ab0}'..='\u{1aff}' | '\u{1dc0}'..='\u{1dff}'
        | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{20d0}'..='\u{20ff}'
        | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{fe20}'..='\u{fe2f}' | '\u{feff}' | '\u{ffa0}'
        | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e0fff}')
}
