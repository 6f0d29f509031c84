//! The one pass over a text. What is kept is not copied until something before it was covered.

use super::{MARK, head, in_word, is_unlike_words, key, mark_length, named, secret, text};
use std::borrow::Cow;

const PRIVATE: &str = "PRIVATE KEY";
const LONGEST_LABEL: usize = 60;
const LONGEST_ADDRESS: usize = 512;
/// What follows `Bearer` is a word of the sentence when it is shorter.
const BEARER: usize = 8;
/// A name in an address that is shorter is somebody's.
const BARE_TOKEN: usize = 8;

/// What tells a secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sight {
    /// Its own form, or the name before it.
    Names,
    /// Its own form alone; headers of requests count as one.
    Forms,
}

/// What is left to read, and what was written.
pub(super) struct Reader<'a> {
    all: &'a str,
    rest: &'a str,
    /// Up to here everything is in `out`.
    copied: usize,
    out: String,
    sight: Sight,
}

impl<'a> Reader<'a> {
    pub(super) fn new(all: &'a str, sight: Sight) -> Self {
        Self { all, rest: all, copied: 0, out: String::new(), sight }
    }

    pub(super) fn read(mut self) -> Cow<'a, str> {
        while !self.rest.is_empty() {
            self.step();
        }
        if self.copied == 0 {
            return Cow::Borrowed(self.all);
        }
        self.out.push_str(self.all.get(self.copied..).unwrap_or_default());
        Cow::Owned(self.out)
    }

    fn step(&mut self) {
        let Some(first) = self.rest.chars().next() else { return };
        if let Some(length) = mark_length(self.rest) {
            self.pass(length);
            return;
        }
        if self.rest.starts_with("-----BEGIN ") && self.private_key() {
            return;
        }
        if in_word(first) {
            return self.word();
        }
        let length = match first {
            '\\' => escape_length(self.rest),
            '%' => percent_length(self.rest),
            '\u{1b}' => colour_length(self.rest),
            _ => first.len_utf8(),
        };
        self.pass(length);
    }

    /// Moves on by so many bytes; by everything where they would end inside of a character.
    fn pass(&mut self, length: usize) -> &'a str {
        let (passed, rest) = self.rest.split_at_checked(length).unwrap_or((self.rest, ""));
        self.rest = rest;
        passed
    }

    fn cover(&mut self, length: usize) {
        let passed = self.rest.get(..length).unwrap_or(self.rest);
        self.replace(length, &secret(passed));
    }

    /// Moves on, and writes something else for what is passed.
    fn replace(&mut self, length: usize, with: &str) {
        let begin = self.all.len() - self.rest.len();
        self.out.push_str(self.all.get(self.copied..begin).unwrap_or_default());
        self.out.push_str(with);
        self.pass(length);
        self.copied = self.all.len() - self.rest.len();
    }

    /// A private key between its two lines; one whose end was cut off goes to the end of the text.
    fn private_key(&mut self) -> bool {
        let label = self.rest.strip_prefix("-----BEGIN ").and_then(|label| label.split_once("-----"));
        let Some((label, body)) = label.filter(|(label, _)| label.contains(PRIVATE) && label.len() < LONGEST_LABEL)
        else {
            return false;
        };
        let length = body.find("-----END").unwrap_or(body.len());
        self.pass("-----BEGIN ".len() + label.len() + "-----".len());
        // Between the two lines of a key that was covered before, and of an empty one, nothing is left to hide.
        if length > 0 && mark_length(body) != Some(length) {
            self.replace(length, &secret(""));
        }
        true
    }

    fn word(&mut self) {
        let length = self.rest.find(|c| !in_word(c)).unwrap_or(self.rest.len());
        let (word, after) = self.rest.split_at_checked(length).unwrap_or((self.rest, ""));
        if let Some(address) = after.strip_prefix("://") {
            return self.address(word, length + "://".len(), address);
        }
        if word == "base64" && after.starts_with(',') {
            // A picture inside of an address; random letters form any beginning.
            self.pass(length + 1 + token_length(after.get(1..).unwrap_or_default()));
            return;
        }
        if let Some(length) = key::bot_token_length(word, after) {
            return self.cover(length);
        }
        if let Some(value) = named::value_of(word, after, self.sight) {
            self.key_in(word);
            self.pass(value.lead);
            return self.cover(value.length);
        }
        if ["bearer", "basic"].iter().any(|scheme| word.eq_ignore_ascii_case(scheme)) {
            let gap = after.len() - after.trim_start_matches([' ', '\t']).len();
            let token = after.get(gap..).map_or(0, token_length);
            let credential = after.get(gap..gap + token).unwrap_or_default();
            if gap > 0 && token >= BEARER && (is_unlike_words(credential) || credential.contains(['=', '/', '+'])) {
                self.pass(length + gap);
                return self.cover(token);
            }
        }
        self.key_in(word);
    }

    /// Passes a word, and covers the key that it is or ends in.
    fn key_in(&mut self, word: &str) {
        let Some(start) = key::start(word) else {
            self.pass(word.len());
            return;
        };
        let key = word.get(start..).map_or(0, |key| key.trim_end_matches(['.', '-', '_']).len());
        self.pass(start);
        self.cover(key);
        self.pass(word.len().saturating_sub(start + key));
    }

    /// `scheme://name:password@host` and `https://token@host`; what follows is read on.
    fn address(&mut self, scheme: &str, lead: usize, address: &str) {
        self.pass(lead);
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
        let Some((login, _)) = holder.rsplit_once('@') else { return };
        if holder.contains(MARK) {
            return;
        }
        match login.split_once(':') {
            Some((name, password)) if !password.is_empty() && !named::is_reference(password) => {
                // A key may stand in the place of the name.
                match text(name) {
                    Cow::Borrowed(_) => {
                        self.pass(name.len());
                    }
                    Cow::Owned(covered) => self.replace(name.len(), &covered),
                }
                self.pass(1);
                self.replace(password.len(), &secret(""));
            }
            None if matches!(scheme, "http" | "https") && is_bare_token(login) => self.cover(login.len()),
            _ => {}
        }
    }
}

/// A token where the name of a person would stand: no name has both digits and letters of both sizes, or is that long.
fn is_bare_token(login: &str) -> bool {
    let has = |what: fn(&u8) -> bool| login.as_bytes().iter().any(what);
    let digits = has(u8::is_ascii_digit);
    let random = digits && has(u8::is_ascii_uppercase) && has(u8::is_ascii_lowercase) && login.len() >= BARE_TOKEN;
    let long = login.len() >= key::LONG_PIECE && digits && !login.contains('.');
    login.chars().all(in_word) && (random || long)
}

fn token_length(text: &str) -> usize {
    text.find(|c: char| !in_word(c) && !matches!(c, '/' | '+' | '=' | '~')).unwrap_or(text.len())
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

/// `%20` in addresses: its digits belong to no word.
fn percent_length(text: &str) -> usize {
    let code = text.get(1..3).is_some_and(|code| code.bytes().all(|byte| byte.is_ascii_hexdigit()));
    if code { 3 } else { 1 }
}

/// `ESC [ 3 1 m`: its letter belongs to no word either.
fn colour_length(text: &str) -> usize {
    let Some(parameters) = text.strip_prefix("\u{1b}[") else { return 1 };
    let length = parameters.find(|c: char| !c.is_ascii_digit() && c != ';').unwrap_or(parameters.len());
    let letter = parameters.get(length..).is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_alphabetic()));
    2 + length + usize::from(letter)
}
