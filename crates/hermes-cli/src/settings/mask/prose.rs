//! Secrets in free text: what people paste, what programs print, code and logs.
//!
//! The text is read once, word by word. Covered are words that begin like the key of a known vendor, signed tokens,
//! passwords in addresses, private keys, what follows `Bearer`, and the value that stands behind the name of a secret
//! (`password=…`, `"api_key": …`, `--token …`). Everything else stays byte for byte, hashes and ids with it: without a
//! name or a known beginning nothing tells a secret from them.

use super::{MARK, is_credential, secret};

/// How keys and tokens of known vendors begin, in their own case.
const BEGINNINGS: [&str; 38] = [
    "sk-",
    "sk_",
    "rk_",
    "pk_",
    "gsk_",
    "xai-",
    "AIza",
    "ya29.",
    "ghp_",
    "gho_",
    "ghu_",
    "ghs_",
    "ghr_",
    "github_pat_",
    "glpat-",
    "hf_",
    "nvapi-",
    "pplx-",
    "csk-",
    "fw_",
    "tgp_",
    "r8_",
    "xoxb-",
    "xoxp-",
    "xoxa-",
    "xoxr-",
    "xoxs-",
    "xapp-",
    "AKIA",
    "ASIA",
    "npm_",
    "pypi-",
    "dop_v1_",
    "SG.",
    "shpat_",
    "whsec_",
    "tvly-",
    "GOCSPX-",
];
/// `{"` in the alphabet of signed tokens.
const SIGNED: &str = "eyJ";
/// One piece behind such a beginning is this long and has a digit in it, or is longer than words are.
const KEY_PIECE: usize = 8;
const LONG_PIECE: usize = 20;
/// What follows `Bearer` is a word of the sentence when it is shorter.
const BEARER: usize = 8;

/// Names of secrets, in small letters with `_` between words. A longer name that ends in one is a secret's, too.
const NAMES: [&str; 17] = [
    "api_key",
    "apikey",
    "access_key",
    "secret_key",
    "private_key",
    "session_key",
    "token",
    "secret",
    "password",
    "passwd",
    "passphrase",
    "pwd",
    "credentials",
    "authorization",
    "cookie",
    "password_hash",
    "bearer",
];
/// Names that also stand before ordinary words; only a value that no word looks like is covered.
const WEAK_NAMES: [&str; 4] = ["key", "token", "bearer", "pwd"];
/// Words before the secret in a header.
const SCHEMES: [&str; 4] = ["bearer", "basic", "token", "digest"];
const PRIVATE: &str = "PRIVATE KEY";
/// How far is looked ahead, so that no text takes longer than its length: for a key, an address, a list.
const LONGEST_KEY: usize = 256;
const LONGEST_ADDRESS: usize = 512;
const LONGEST_LIST: usize = 4_096;

/// A text without its secrets.
pub fn text(text: &str) -> String {
    let mut reader = Reader { rest: text, out: String::with_capacity(text.len()) };
    while !reader.rest.is_empty() {
        reader.step();
    }
    reader.out
}

/// Whether a value under this name is a secret, whatever it is.
pub fn is_secret_name(name: &str) -> bool {
    let name = name.trim_matches('-').rsplit('.').next().unwrap_or_default();
    let plain = snake(name);
    let ends = |secret: &str| plain.strip_suffix(secret).is_some_and(|rest| rest.is_empty() || rest.ends_with('_'));
    NAMES.iter().any(|secret| ends(secret)) || is_credential(name)
}

/// Whether a value looks like nothing a person would say.
pub fn is_unlike_words(value: &str) -> bool {
    let has = |what: fn(&u8) -> bool| value.as_bytes().iter().any(what);
    value.len() >= KEY_PIECE && has(u8::is_ascii_digit) && has(u8::is_ascii_alphabetic)
        || value.len() >= LONG_PIECE && !value.contains(char::is_whitespace)
}

/// `apiKey`, `API-KEY` and `api_key` are one name.
fn snake(name: &str) -> String {
    let mut out = String::with_capacity(name.len() + 4);
    let mut after_small = false;
    for c in name.chars() {
        if c.is_ascii_uppercase() && after_small {
            out.push('_');
        }
        after_small = c.is_ascii_lowercase() || c.is_ascii_digit();
        out.push(if c == '-' { '_' } else { c.to_ascii_lowercase() });
    }
    out
}

fn in_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.')
}

/// What is left to read, and what was written.
struct Reader<'a> {
    rest: &'a str,
    out: String,
}

/// Where the value of a name stands: behind `lead` bytes, `length` bytes long.
struct Value {
    lead: usize,
    length: usize,
}

impl<'a> Reader<'a> {
    fn step(&mut self) {
        let Some(first) = self.rest.chars().next() else { return };
        if self.rest.starts_with(MARK) {
            return self.keep(self.rest.find('»').map_or(MARK.len(), |end| end + '»'.len_utf8()));
        }
        if self.rest.starts_with("-----BEGIN ") && self.private_key() {
            return;
        }
        if in_word(first) {
            return self.word();
        }
        let length = match first {
            '\\' => escape_length(self.rest),
            '\u{1b}' => colour_length(self.rest),
            _ => first.len_utf8(),
        };
        self.keep(length);
    }

    /// Moves on, and copies what is passed.
    fn keep(&mut self, length: usize) {
        let passed = self.pass(length);
        self.out.push_str(passed);
    }

    fn cover(&mut self, length: usize) {
        let passed = self.pass(length);
        self.out.push_str(&secret(passed));
    }

    /// Moves on by so many bytes; by everything where they would end inside of a character.
    fn pass(&mut self, length: usize) -> &'a str {
        let (passed, rest) = self.rest.split_at_checked(length).unwrap_or((self.rest, ""));
        self.rest = rest;
        passed
    }

    /// A private key between its two lines; one whose end was cut off goes to the end of the text.
    fn private_key(&mut self) -> bool {
        let label = self.rest.strip_prefix("-----BEGIN ").and_then(|label| label.split_once("-----"));
        let Some((label, body)) = label.filter(|(label, _)| label.contains(PRIVATE) && label.len() < 60) else {
            return false;
        };
        self.keep("-----BEGIN ".len() + label.len() + "-----".len());
        self.out.push_str(&secret(""));
        self.pass(body.find("-----END").unwrap_or(body.len()));
        true
    }

    fn word(&mut self) {
        let length = self.rest.find(|c| !in_word(c)).unwrap_or(self.rest.len());
        let (word, after) = self.rest.split_at_checked(length).unwrap_or((self.rest, ""));
        if let Some(address) = after.strip_prefix("://") {
            return self.address(length + "://".len(), address);
        }
        if let Some(value) = value_of(word, after) {
            self.keep(length + value.lead);
            return self.cover(value.length);
        }
        if SCHEMES.iter().take(2).any(|scheme| word.eq_ignore_ascii_case(scheme)) {
            let gap = after.len() - after.trim_start_matches([' ', '\t']).len();
            let token = after.get(gap..).map_or(0, token_length);
            let credential = after.get(gap..gap + token).unwrap_or_default();
            if gap > 0 && token >= BEARER && (is_unlike_words(credential) || credential.contains(['=', '/', '+'])) {
                self.keep(length + gap);
                return self.cover(token);
            }
        }
        match key_start(word) {
            Some(start) => {
                let key = word.get(start..).map_or(0, |key| key.trim_end_matches(['.', '-', '_']).len());
                self.keep(start);
                self.cover(key);
            }
            None => self.keep(length),
        }
    }

    /// `scheme://name:password@host`; what follows the password is read on.
    fn address(&mut self, lead: usize, address: &str) {
        self.keep(lead);
        let end = |c: char| c.is_whitespace() || matches!(c, '"' | '\'' | '`' | '<' | '>');
        let whole = head(address, LONGEST_ADDRESS).split(end).next().unwrap_or_default();
        let host = whole.split(['/', '?', '#']).next().unwrap_or_default();
        let is_port = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
        let holder = match (host.contains('@'), host.split_once(':')) {
            (true, _) => host,
            // A password may have a `/` in it; a port has digits only.
            (false, Some((_, port))) if !is_port(port) => whole,
            _ => return,
        };
        let Some((name, password)) = holder.rsplit_once('@').and_then(|(login, _)| login.split_once(':')) else {
            return;
        };
        if !password.is_empty() && !holder.contains(MARK) && !is_reference(password) {
            // A key may stand in the place of the name.
            self.out.push_str(&text(name));
            self.pass(name.len());
            self.keep(1);
            self.out.push_str(&secret(""));
            self.pass(password.len());
        }
    }
}

/// Where a known kind of key begins in a word. `disk-…` is a word, `20sk-…` (behind `%`) is a key.
fn key_start(word: &str) -> Option<usize> {
    let known = BEGINNINGS.iter().flat_map(|beginning| word.match_indices(beginning));
    let known = known.filter(|(at, beginning)| {
        let rest = head(word.get(at + beginning.len()..).unwrap_or_default(), LONGEST_KEY);
        let is_key = |piece: &str| {
            piece.len() >= KEY_PIECE && piece.bytes().any(|byte| byte.is_ascii_digit()) || piece.len() >= LONG_PIECE
        };
        let long = rest.len() > LONG_PIECE && rest.bytes().any(|byte| byte.is_ascii_digit());
        long || rest.split(['-', '_', '.']).any(is_key)
    });
    let signed = word.match_indices(SIGNED).filter(|(at, _)| {
        let mut parts = head(word.get(*at..).unwrap_or_default(), 2 * LONGEST_KEY).split('.');
        parts.next().is_some_and(|head| head.len() > KEY_PIECE)
            && parts.next().is_some_and(|body| body.len() > KEY_PIECE)
    });
    let stands_alone = |at: &usize| !word.get(..*at).unwrap_or_default().ends_with(|c: char| c.is_ascii_alphabetic());
    known.chain(signed).map(|(at, _)| at).filter(stands_alone).min()
}

/// The value behind a name that is a secret's.
fn value_of(word: &str, after: &str) -> Option<Value> {
    let weak = WEAK_NAMES.contains(&snake(word.trim_matches('-')).as_str());
    if !weak && !is_secret_name(word) {
        return None;
    }
    let lead = assignment(word, after)?;
    let (open, body) = opening(after.get(lead..)?);
    let scheme = scheme_length(body);
    let lead = lead + open.len() + scheme;
    let body = body.get(scheme..)?;
    let length = match (open, body.chars().next()?) {
        ("", '[' | '{') => bracket_length(body),
        ("", _) => bare_length(body),
        _ => quoted_length(body, open),
    };
    let value = body.get(..length)?;
    let called = body.get(length..).is_some_and(|next| open.is_empty() && next.starts_with(['(', '[']));
    let nothing =
        ["null", "none", "nil", "true", "false", "undefined"].iter().any(|word| value.eq_ignore_ascii_case(word));
    let is_path = weak && value.starts_with(['/', '~', '.']);
    let harmless = value.trim().is_empty() || nothing || called || is_path || is_reference(value);
    (!harmless && (!weak || is_unlike_words(value)) && !value.starts_with(MARK)).then_some(Value { lead, length })
}

/// Bytes between a name and its value: `=`, `:`, `=>`, with quotes that close the name; a space behind `--name`.
fn assignment(word: &str, after: &str) -> Option<usize> {
    let rest = after.strip_prefix("\\\"").or_else(|| after.strip_prefix(['"', '\'', '`'])).unwrap_or(after);
    let rest = rest.strip_prefix(']').unwrap_or(rest).trim_start_matches([' ', '\t']);
    let assigned = [":=", "=>", "=", ":"].iter().find_map(|sign| rest.strip_prefix(sign));
    // `==` compares, `::` is a path.
    let assigned = assigned.filter(|value| !value.starts_with(['=', ':']));
    let flag = (word.starts_with("--") && after.starts_with([' ', '\t'])).then_some(after);
    let value = assigned.or(flag)?.trim_start_matches([' ', '\t']);
    // A value on the next line belongs to its name only where brackets hold it.
    let flagged = assigned.is_none() && value.starts_with('-');
    (!flagged).then(|| after.len() - value.len())
}

fn opening(value: &str) -> (&str, &str) {
    for quote in ["\\\"", "\"", "'", "`"] {
        if let Some(body) = value.strip_prefix(quote) {
            return (value.get(..quote.len()).unwrap_or_default(), body);
        }
    }
    ("", value)
}

/// `Bearer ` and the like stay readable.
fn scheme_length(value: &str) -> usize {
    let Some((scheme, rest)) = head(value, LONGEST_KEY).split_once([' ', '\t']) else { return 0 };
    let known = SCHEMES.iter().any(|known| scheme.eq_ignore_ascii_case(known));
    if known && !rest.starts_with(['\n', ' ']) { scheme.len() + 1 } else { 0 }
}

fn quoted_length(value: &str, quote: &str) -> usize {
    let mut escaped = false;
    for (at, c) in value.char_indices() {
        if !escaped && value.get(at..).is_some_and(|rest| rest.starts_with(quote)) {
            return at;
        }
        escaped = c == '\\' && !escaped && quote.len() == 1;
    }
    value.find('\n').unwrap_or(value.len())
}

fn bare_length(value: &str) -> usize {
    let ends = |c: char| {
        c.is_whitespace() || matches!(c, ',' | ';' | '&' | '"' | '\'' | '`' | ')' | ']' | '}' | '<' | '|' | '\\')
    };
    let length = value.find(ends).unwrap_or(value.len());
    let word = value.get(..length).unwrap_or_default();
    // Code that fetches the value is no value.
    match word.split_once(['(', '[']) {
        Some((called, _)) if !called.is_empty() && called.chars().all(in_word) => called.len(),
        _ => length,
    }
}

/// At most this many characters of a text.
fn head(text: &str, most: usize) -> &str {
    text.char_indices().nth(most).and_then(|(end, _)| text.get(..end)).unwrap_or(text)
}

/// A list or an object up to the bracket that closes it; up to the end of the line where none does.
fn bracket_length(value: &str) -> usize {
    let (mut depth, mut quoted, mut escaped) = (0_usize, false, false);
    for (at, c) in head(value, LONGEST_LIST).char_indices() {
        match c {
            _ if std::mem::take(&mut escaped) => {}
            '\\' => escaped = quoted,
            '"' => quoted = !quoted,
            '[' | '{' if !quoted => depth += 1,
            ']' | '}' if !quoted => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    return at + c.len_utf8();
                }
            }
            _ => {}
        }
    }
    value.find('\n').unwrap_or(value.len())
}

fn token_length(text: &str) -> usize {
    text.find(|c: char| !in_word(c) && !matches!(c, '/' | '+' | '=' | '~')).unwrap_or(text.len())
}

/// A variable that stands for the value, or a place to put it, tells nothing.
fn is_reference(value: &str) -> bool {
    let named = |open, close| value.starts_with(open) && value.ends_with(close);
    let variable = value.strip_prefix('$').is_some_and(|name| {
        !name.is_empty() && name.chars().all(|c| c.is_ascii_uppercase() || matches!(c, '_' | '{' | '}' | '0'..='9'))
    });
    variable
        || named("${", "}")
        || named("<", ">")
        || named("{{", "}}")
        || value.chars().all(|c| matches!(c, '*' | '.' | '…'))
}

/// `\n` and `\u0022` inside of JSON: letters that belong to no word.
fn escape_length(text: &str) -> usize {
    let second = text.chars().nth(1);
    match second {
        Some('u') if text.get(2..6).is_some_and(|code| code.bytes().all(|byte| byte.is_ascii_hexdigit())) => 6,
        Some(second) => 1 + second.len_utf8(),
        None => 1,
    }
}

/// `ESC [ 3 1 m`: its letter belongs to no word either.
fn colour_length(text: &str) -> usize {
    let Some(parameters) = text.strip_prefix("\u{1b}[") else { return 1 };
    let length = parameters.find(|c: char| !c.is_ascii_digit() && c != ';').unwrap_or(parameters.len());
    let letter = parameters.get(length..).is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_alphabetic()));
    2 + length + usize::from(letter)
}

#[cfg(test)]
mod tests;
