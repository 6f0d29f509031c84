//! What is done to a command before it is read: limits, and the second spelling of disguised text.
//!
//! A disguise is never judged instead of the original but beside it. Removing escape sequences or folding letters can
//! hide a command as well as uncover one: a fullwidth `＃` folds to the start of a comment.

use unicode_normalization::UnicodeNormalization;

const MOST_CHARACTERS: usize = 128_000;
const MOST_CHARACTERS_OF_ONE_COMMAND: usize = 4_096;
const MOST_SEPARATORS: usize = 25_000;

/// Text that is too large to be read with care.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TooLarge;

/// The spellings to judge: the text itself and, where it differs, the text as a person would see it.
pub(super) fn spellings(command: &str) -> Result<Vec<String>, TooLarge> {
    let separators = command.chars().filter(|found| matches!(found, ';' | '&' | '|' | '\n')).count();
    let length = command.chars().count();
    if length > MOST_CHARACTERS
        || separators >= MOST_SEPARATORS
        || (separators == 0 && length > MOST_CHARACTERS_OF_ONE_COMMAND)
    {
        return Err(TooLarge);
    }
    let plain: String = command.chars().filter(|found| *found != '\0' && *found != super::word::UNKNOWN).collect();
    if plain.bytes().all(|byte| byte.is_ascii_graphic() || matches!(byte, b' ' | b'\n' | b'\t')) {
        return Ok(vec![plain]);
    }
    let seen: String =
        without_escapes(&plain).replace("\r\n", "\n").nfkc().filter(|found| !is_invisible(*found)).collect();
    let mut spellings = vec![plain];
    if !spellings.contains(&seen) {
        spellings.push(seen);
    }
    Ok(spellings)
}

/// Characters that take no room on the screen and can stand inside a word.
fn is_invisible(found: char) -> bool {
    matches!(found, '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2064}'
        | '\u{2066}'..='\u{206f}' | '\u{feff}' | '\u{fe00}'..='\u{fe0f}')
        || (found.is_control() && !matches!(found, '\n' | '\t'))
}

/// Without the control sequences of ECMA-48.
fn without_escapes(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text.chars().peekable();
    while let Some(found) = rest.next() {
        match found {
            '\u{9b}' => skip_parameters(&mut rest),
            '\u{1b}' => match rest.next() {
                Some('[') => skip_parameters(&mut rest),
                Some(']' | 'P' | 'X' | '^' | '_') => skip_string(&mut rest),
                Some(' '..='/') => {
                    rest.next();
                }
                _ => {}
            },
            other => out.push(other),
        }
    }
    out
}

type Rest<'a> = std::iter::Peekable<std::str::Chars<'a>>;

fn skip_parameters(rest: &mut Rest<'_>) {
    while rest.next_if(|next| matches!(next, ' '..='?')).is_some() {}
    rest.next_if(|next| matches!(next, '@'..='~'));
}

fn skip_string(rest: &mut Rest<'_>) {
    while let Some(found) = rest.next() {
        if found == '\u{7}' || found == '\u{9c}' {
            return;
        }
        if found == '\u{1b}' {
            rest.next_if_eq(&'\\');
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_disguise_is_judged_beside_the_original() {
        assert_eq!(spellings("ls -l"), Ok(vec!["ls -l".into()]));
        assert_eq!(spellings("ｒｍ x"), Ok(vec!["ｒｍ x".into(), "rm x".into()]));
        assert_eq!(spellings("\u{1b}[31mrm\u{1b}[0m"), Ok(vec!["\u{1b}[31mrm\u{1b}[0m".into(), "rm".into()]));
        assert_eq!(
            spellings("a\u{1b}]0;t\u{7}b r\u{200b}m"),
            Ok(vec!["a\u{1b}]0;t\u{7}b r\u{200b}m".into(), "ab rm".into()])
        );
        assert_eq!(spellings(&"a".repeat(4_097)), Err(TooLarge));
        assert_eq!(spellings(&"a;".repeat(25_000)), Err(TooLarge));
    }
}
