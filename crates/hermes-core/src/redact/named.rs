//! Names of secrets, and where the value behind a name begins and ends.
//!
//! Whether a value is covered is decided from its first thousand characters; only a value that is covered is followed
//! further, so no text is read twice.

use super::key::{KEY_PIECE, LONG_PIECE};
use super::reader::Sight;
use super::{MARK, head, in_word, is_credential};

/// Names of secrets, in small letters with `_` between words. A longer name that ends in one is a secret's, too.
const NAMES: &[&str] = &[
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
const WEAK_NAMES: &[&str] = &["key", "token", "bearer", "pwd"];
/// Parts of the names of variables that hold a secret, or speak of one.
const VARIABLE_PARTS: &[&str] =
    &["TOKEN", "SECRET", "PASSWORD", "PASSWD", "CREDENTIAL", "CREDENTIALS", "AUTH", "APIKEY", "API_KEY"];
/// Headers of requests; what stands behind them in a file is no code.
const HEADERS: &[&str] = &["authorization", "proxy_authorization", "x_api_key", "x_auth_token"];
/// Words before the secret in a header.
const SCHEMES: &[&str] =
    &["bearer", "basic", "token", "digest", "negotiate", "ntlm", "oauth", "apikey", "api-key", "bot", "ssws", "splunk"];
/// Values that say that there is none, and types that say what kind it would be.
const EMPTY_WORDS: &[&str] = &["null", "none", "nil", "true", "false", "undefined"];
const TYPE_WORDS: &[&str] = &[
    "string",
    "str",
    "text",
    "bytes",
    "int",
    "integer",
    "number",
    "bool",
    "boolean",
    "any",
    "object",
    "option",
    "optional",
    "vec",
    "arc",
    "box",
    "secretstring",
    "&str",
    "&string",
    "varchar",
];
const LONGEST_NAME: usize = 128;
/// A value is judged by this much of it.
const LONGEST_LOOK: usize = 1_024;
const LONGEST_SCHEME: usize = 32;

/// Where the value of a name stands: behind `lead` bytes, `length` bytes long.
pub(super) struct Value {
    pub(super) lead: usize,
    pub(super) length: usize,
}

/// How much a name says about its value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Strength {
    Sure,
    /// The value has to look like a secret itself.
    Doubtful,
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

/// What a name promises, where it is the name of a secret.
fn strength(word: &str, sight: Sight) -> Option<Strength> {
    if word.len() > LONGEST_NAME {
        return None;
    }
    let plain = snake(word.trim_matches('-'));
    match sight {
        Sight::Forms => HEADERS.contains(&plain.as_str()).then_some(Strength::Doubtful),
        Sight::Names if WEAK_NAMES.contains(&plain.as_str()) => Some(Strength::Doubtful),
        Sight::Names if is_secret_name(word) => Some(Strength::Sure),
        Sight::Names => speaks_of_a_secret(word).then_some(Strength::Doubtful),
    }
}

/// `GITHUB_TOKEN_2`, `MY_SECRET_VALUE`: a variable with such a word somewhere in its name.
fn speaks_of_a_secret(name: &str) -> bool {
    let is_variable = name.bytes().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_');
    let framed = || format!("_{name}_");
    is_variable && VARIABLE_PARTS.iter().any(|part| framed().contains(&format!("_{part}_")))
}

/// The value behind a name that is a secret's.
pub(super) fn value_of(word: &str, after: &str, sight: Sight) -> Option<Value> {
    let strength = strength(word, sight)?;
    let lead = assignment(word, after)?;
    let (open, quote, body) = opening(after.get(lead..)?);
    let scheme = scheme_length(body);
    let lead = lead + open + scheme;
    let body = body.get(scheme..)?;
    let form = match body.chars().next()? {
        _ if !quote.is_empty() => Form::Quoted(quote),
        '[' | '{' => Form::Bracket,
        _ => Form::Bare,
    };
    let look = head(body, LONGEST_LOOK);
    let length = form.length(look);
    let value = look.get(..length)?;
    if is_harmless(value, body.get(length..)?, form, strength) || value.starts_with(MARK) {
        return None;
    }
    // Only what is covered is followed beyond the look.
    Some(Value { lead, length: if length == look.len() { form.length(body) } else { length } })
}

fn is_harmless(value: &str, next: &str, form: Form<'_>, strength: Strength) -> bool {
    let said = |words: &[&str]| words.iter().any(|word| value.eq_ignore_ascii_case(word));
    let bare = form == Form::Bare;
    let code = bare && (said(TYPE_WORDS) || next.starts_with(['(', '[']) || is_member(value, strength));
    let nothing = value.trim().is_empty() || said(EMPTY_WORDS) || is_reference(value) || code;
    match strength {
        Strength::Sure => nothing,
        Strength::Doubtful => {
            let elsewhere = value.starts_with(['/', '~', '.']) || value.contains("://");
            nothing || elsewhere || !is_unlike_words(value)
        }
    }
}

/// `user.password`, `process.env.API_KEY`, `API_KEY`, `Token::End`: code that says where the value comes from.
fn is_member(value: &str, strength: Strength) -> bool {
    let segment = |part: &str| {
        part.len() < LONG_PIECE
            && part.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
            && part.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
    };
    if value.contains("::") {
        return value.split("::").all(segment);
    }
    let is_path = value.contains('.') && value.split('.').all(segment);
    let is_constant = value.bytes().all(|byte| byte.is_ascii_uppercase() || byte == b'_');
    (is_path || is_constant) && (strength == Strength::Doubtful || is_secret_name(value))
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

/// Bytes up to the value itself, the quote that will close it, and what follows. `f"` and `rb'` open one, too.
fn opening(value: &str) -> (usize, &'static str, &str) {
    let letters = value.bytes().take_while(u8::is_ascii_alphabetic).take(3).count();
    let lead = if letters < 3 { letters } else { 0 };
    for quote in ["\\\"", "\"", "'", "`"] {
        if let Some(body) = value.get(lead..).and_then(|value| value.strip_prefix(quote)) {
            return (lead + quote.len(), quote, body);
        }
    }
    (0, "", value)
}

/// `Bearer ` and the like stay readable.
fn scheme_length(value: &str) -> usize {
    let Some((scheme, rest)) = head(value, LONGEST_SCHEME).split_once([' ', '\t']) else { return 0 };
    let known = SCHEMES.iter().any(|known| scheme.eq_ignore_ascii_case(known));
    if known && !rest.starts_with(['\n', ' ']) { scheme.len() + 1 } else { 0 }
}

/// How a value is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form<'a> {
    Quoted(&'a str),
    Bracket,
    Bare,
}

impl Form<'_> {
    /// Bytes of the value a text begins with. One that is not closed ends with its line.
    fn length(self, text: &str) -> usize {
        let closed = match self {
            Self::Bare => Some(bare_length(text)),
            Self::Quoted(quote) => quoted_length(text, quote),
            Self::Bracket => bracket_length(text),
        };
        closed.or_else(|| text.find('\n')).unwrap_or(text.len())
    }
}

fn quoted_length(value: &str, quote: &str) -> Option<usize> {
    let mut escaped = false;
    for (at, c) in value.char_indices() {
        if !escaped && value.get(at..).is_some_and(|rest| rest.starts_with(quote)) {
            return Some(at);
        }
        escaped = c == '\\' && !escaped && quote.len() == 1;
    }
    None
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

/// A list or an object up to the bracket that closes it.
fn bracket_length(value: &str) -> Option<usize> {
    let (mut depth, mut quoted, mut escaped) = (0_usize, false, false);
    for (at, c) in value.char_indices() {
        match c {
            _ if std::mem::take(&mut escaped) => {}
            '\\' => escaped = quoted,
            '"' => quoted = !quoted,
            '[' | '{' if !quoted => depth += 1,
            ']' | '}' if !quoted => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    return Some(at + c.len_utf8());
                }
            }
            _ => {}
        }
    }
    None
}

/// A variable that stands for the value, a command that fetches it, or a place to put it, tells nothing.
pub(super) fn is_reference(value: &str) -> bool {
    let named = |open, close| value.starts_with(open) && value.ends_with(close);
    let inner = |open: char, close: char| value.strip_prefix(open).and_then(|inner| inner.strip_suffix(close));
    let variable = value.strip_prefix('$').is_some_and(|name| {
        let upper = |c| matches!(c, 'A'..='Z' | '_' | '{' | '}' | '0'..='9');
        let word = |c: char| c.is_ascii_alphanumeric() || c == '_';
        name.starts_with('(')
            || !name.is_empty() && (name.chars().all(upper) || name.chars().all(word) && is_secret_name(name))
    });
    let field = inner('{', '}').is_some_and(|name| !name.is_empty() && name.chars().all(in_word));
    let mark = inner('[', ']').is_some_and(|name| name.bytes().all(|byte| byte.is_ascii_uppercase()));
    variable
        || field
        || mark
        || named("${", "}")
        || named("<", ">")
        || named("{{", "}}")
        || value.chars().all(|c| matches!(c, '*' | '.' | '…'))
}
