//! Patterns of the shell: matching, removing, braces, and the escapes of `$'…'`, `echo -e` and `printf`.

use super::word::UNKNOWN;

const MOST_BRACES: usize = 1_024;

/// Whether a glob matches the whole text. Unknown parts of the pattern match anything.
pub(super) fn matches(pattern: &str, text: &str) -> bool {
    let pattern: Vec<char> = pattern.chars().collect();
    let text: Vec<char> = text.chars().collect();
    let (mut at, mut from) = (0, 0);
    let mut retry: Option<(usize, usize)> = None;
    loop {
        if matches!(pattern.get(at), Some('*' | &UNKNOWN)) {
            retry = Some((at, from));
            at += 1;
            continue;
        }
        if from >= text.len() && at >= pattern.len() {
            return true;
        }
        let step = match (pattern.get(at), text.get(from)) {
            (Some('?'), Some(_)) => Some(1),
            (Some('['), Some(found)) => class(pattern.get(at..).unwrap_or_default(), *found),
            (Some('\\'), Some(found)) if pattern.get(at + 1) == Some(found) => Some(2),
            (Some(wanted), Some(found)) if wanted == found => Some(1),
            _ => None,
        };
        match (step, retry) {
            (Some(step), _) => (at, from) = (at + step, from + 1),
            (None, Some((star, tried))) if tried < text.len() => {
                retry = Some((star, tried + 1));
                (at, from) = (star + 1, tried + 1);
            }
            _ => return false,
        }
    }
}

/// The length of a bracket expression if it accepts the character.
fn class(pattern: &[char], found: char) -> Option<usize> {
    let negated = matches!(pattern.get(1), Some('!' | '^'));
    let start = if negated { 2 } else { 1 };
    let end = (start + 1..pattern.len()).find(|at| pattern.get(*at) == Some(&']'))?;
    let members = pattern.get(start..end)?;
    let mut inside = false;
    let mut at = 0;
    while let Some(first) = members.get(at) {
        if let (Some('-'), Some(last)) = (members.get(at + 1), members.get(at + 2)) {
            inside |= (*first..=*last).contains(&found);
            at += 3;
        } else {
            inside |= *first == found;
            at += 1;
        }
    }
    // A named class is taken to accept everything.
    (inside != negated || members.first() == Some(&'[')).then_some(end + 1)
}

pub(super) fn has_glob(text: &str) -> bool {
    text.contains(['*', '?', '['])
}

/// Where a pattern may be cut off.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Cut {
    ShortestPrefix,
    LongestPrefix,
    ShortestSuffix,
    LongestSuffix,
}

pub(super) fn without(text: &str, pattern: &str, cut: Cut) -> String {
    let mut places: Vec<usize> = text.char_indices().map(|(at, _)| at).chain([text.len()]).collect();
    if matches!(cut, Cut::LongestPrefix | Cut::ShortestSuffix) {
        places.reverse();
    }
    for at in places {
        let (head, tail) = text.split_at(at);
        match cut {
            Cut::ShortestPrefix | Cut::LongestPrefix if matches(pattern, head) => return tail.to_owned(),
            Cut::ShortestSuffix | Cut::LongestSuffix if matches(pattern, tail) => return head.to_owned(),
            _ => {}
        }
    }
    text.to_owned()
}

/// The words that `{a,b}` and `{a..c}` stand for, in the raw text of a word.
pub(super) fn braces(word: &str) -> Vec<String> {
    let mut open = vec![word.to_owned()];
    let mut done = Vec::new();
    while let Some(next) = open.pop() {
        match first_brace(&next) {
            Some(more) if open.len() + done.len() + more.len() <= MOST_BRACES => open.extend(more.into_iter().rev()),
            _ => done.push(next),
        }
    }
    done
}

/// The text with its first brace expression replaced by each of its members.
fn first_brace(word: &str) -> Option<Vec<String>> {
    let (mut quote, mut escaped, mut previous) = (None, false, ' ');
    for (at, found) in word.char_indices() {
        match (quote, found) {
            _ if escaped => escaped = false,
            (None | Some('"'), '\\') => escaped = true,
            (Some(open), _) if open == found => quote = None,
            (Some(_), _) => {}
            (None, '\'' | '"' | '`') => quote = Some(found),
            (None, '{') if previous != '$' => {
                let (head, tail) = word.split_at(at);
                if let Some((members, rest)) = members(tail.strip_prefix('{')?) {
                    return Some(members.into_iter().map(|member| format!("{head}{member}{rest}")).collect());
                }
            }
            _ => {}
        }
        previous = found;
    }
    None
}

/// The members up to the closing brace, and what follows it.
fn members(text: &str) -> Option<(Vec<String>, &str)> {
    let (mut depth, mut quote, mut escaped) = (0_usize, None, false);
    let mut members = vec![String::new()];
    for (at, found) in text.char_indices() {
        let ends = quote.is_none() && !escaped && depth == 0;
        match found {
            '}' if ends => {
                let rest = text.get(at + 1..).unwrap_or_default();
                return match members.as_slice() {
                    [only] => sequence(only).map(|members| (members, rest)),
                    _ => Some((members, rest)),
                };
            }
            ',' if ends => {
                members.push(String::new());
                continue;
            }
            _ if escaped => escaped = false,
            '\\' if quote != Some('\'') => escaped = true,
            '\'' | '"' if quote == Some(found) => quote = None,
            '\'' | '"' if quote.is_none() => quote = Some(found),
            '{' if quote.is_none() => depth += 1,
            '}' if quote.is_none() => depth = depth.saturating_sub(1),
            _ => {}
        }
        members.last_mut()?.push(found);
    }
    None
}

fn sequence(text: &str) -> Option<Vec<String>> {
    let (first, rest) = text.split_once("..")?;
    let last = rest.split_once("..").map_or(rest, |(last, _)| last);
    if let (Ok(first), Ok(last)) = (first.parse::<i64>(), last.parse::<i64>()) {
        let (low, high) = (first.min(last), first.max(last));
        return Some((low..=high).take(MOST_BRACES).map(|number| number.to_string()).collect());
    }
    let letter = |text: &str| text.parse::<char>().ok().filter(char::is_ascii_alphabetic);
    let (first, last) = (letter(first)?, letter(last)?);
    Some((first.min(last)..=first.max(last)).map(String::from).collect())
}

/// The text that the escapes of C stand for.
pub(super) fn unescaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text.chars().peekable();
    while let Some(found) = rest.next() {
        if found != '\\' {
            out.push(found);
            continue;
        }
        match rest.next() {
            Some('n') => out.push('\n'),
            Some('t') => out.push('\t'),
            Some('r') => out.push('\r'),
            Some('a' | 'b' | 'e' | 'E' | 'f' | 'v' | 'c') => out.push('\u{1}'),
            Some('x') => out.extend(number(&mut rest, 16, 2)),
            Some('u') => out.extend(number(&mut rest, 16, 4)),
            Some('U') => out.extend(number(&mut rest, 16, 8)),
            Some('0') => out.extend(number(&mut rest, 8, 3)),
            Some(digit @ '1'..='7') => {
                let high = digit.to_digit(8).unwrap_or_default();
                let low = digits(&mut rest, 8, 2);
                let value = low.chars().filter_map(|digit| digit.to_digit(8)).fold(high, |sum, digit| sum * 8 + digit);
                out.extend(char::from_u32(value));
            }
            Some(other) => out.push(other),
            None => out.push('\\'),
        }
    }
    out
}

type Rest<'a> = std::iter::Peekable<std::str::Chars<'a>>;

fn digits(rest: &mut Rest<'_>, base: u32, most: usize) -> String {
    let mut digits = String::new();
    while digits.len() < most {
        let Some(digit) = rest.next_if(|next| next.is_digit(base)) else { break };
        digits.push(digit);
    }
    digits
}

fn number(rest: &mut Rest<'_>, base: u32, most: usize) -> Option<char> {
    u32::from_str_radix(&digits(rest, base, most), base).ok().and_then(char::from_u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn globs_match_as_a_shell_matches() {
        for (pattern, text, expected) in [
            ("r?", "rm", true),
            ("r*m", "rm", true),
            ("[a-r]m", "rm", true),
            ("[!r]m", "rm", false),
            ("*.rs", "a.rs", true),
            ("*.rs", "a.rsx", false),
            ("a*b*c", "aXbYbc", true),
            ("", "", true),
            ("*", "", true),
            ("\\*", "*", true),
        ] {
            assert_eq!(matches(pattern, text), expected, "{pattern} {text}");
        }
    }

    #[test]
    fn braces_and_escapes_are_spelled_out() {
        assert_eq!(braces("{rm,-rf,/}"), ["rm", "-rf", "/"]);
        assert_eq!(braces("/{etc,usr}/{a..c}"), ["/etc/a", "/etc/b", "/etc/c", "/usr/a", "/usr/b", "/usr/c"]);
        assert_eq!(braces("${x}{a}'{b,c}'"), ["${x}{a}'{b,c}'"]);
        assert_eq!(braces("{1..99999999999999999999}"), ["{1..99999999999999999999}"]);
        assert_eq!(unescaped("\\x72\\155 \\u002d\\n"), "rm -\n");
        assert_eq!(without("a.tar.gz", ".*", Cut::ShortestSuffix), "a.tar");
        assert_eq!(without("/usr/bin", "*/", Cut::LongestPrefix), "bin");
    }
}
