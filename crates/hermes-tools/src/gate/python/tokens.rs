//! The words of a Python script: names, texts with their escapes resolved, and where statements end.

use unicode_normalization::UnicodeNormalization;

/// What a reader of Python sees.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Token {
    Name(String),
    /// What a text says, as far as that is written down.
    Text(String),
    Mark(char),
    /// The end of a statement.
    End,
}

/// Reads a script. What is no Python is read as well as it goes: it will not run.
pub(super) fn tokens(code: &str) -> Vec<Token> {
    let mut reader = Reader { rest: code, open: 0, tokens: Vec::new() };
    while reader.step().is_some() {}
    reader.tokens
}

struct Reader<'a> {
    rest: &'a str,
    /// Brackets that are open: a line that ends in them is not over.
    open: usize,
    tokens: Vec<Token>,
}

impl<'a> Reader<'a> {
    fn step(&mut self) -> Option<()> {
        let first = self.rest.chars().next()?;
        match first {
            '#' => self.skip(|c| c != '\n'),
            '\\' if self.rest.starts_with("\\\n") => self.advance(2),
            '\n' | ';' => {
                self.advance(1);
                if self.open == 0 {
                    self.tokens.push(Token::End);
                }
            }
            '\'' | '"' => self.string(""),
            _ if first == '_' || first.is_alphabetic() => {
                let name = self.take(|c| c == '_' || c.is_alphanumeric());
                let is_prefix = name.len() <= 2 && name.chars().all(|c| "rRbBuUfFtT".contains(c));
                if is_prefix && self.rest.starts_with(['\'', '"']) {
                    self.string(name);
                } else {
                    // Python takes look-alike letters for the plain ones, too.
                    self.tokens.push(Token::Name(name.nfkc().collect()));
                }
            }
            _ if first.is_numeric() => self.skip(|c| c == '_' || c == '.' || c.is_alphanumeric()),
            _ if first.is_whitespace() => self.skip(|c| c.is_whitespace() && c != '\n'),
            _ => {
                match first {
                    '(' | '[' | '{' => self.open += 1,
                    ')' | ']' | '}' => self.open = self.open.saturating_sub(1),
                    _ => {}
                }
                self.advance(first.len_utf8());
                self.tokens.push(Token::Mark(first));
            }
        }
        Some(())
    }

    fn advance(&mut self, bytes: usize) {
        self.rest = self.rest.get(bytes..).unwrap_or_default();
    }

    fn take(&mut self, fits: impl Fn(char) -> bool) -> &'a str {
        let end = self.rest.find(|c| !fits(c)).unwrap_or(self.rest.len());
        let (taken, rest) = self.rest.split_at(end);
        self.rest = rest;
        taken
    }

    fn skip(&mut self, fits: impl Fn(char) -> bool) {
        self.take(fits);
    }

    /// A text that begins here. Expressions inside of one are code.
    fn string(&mut self, prefix: &str) {
        let quote = self.rest.get(..1).unwrap_or_default();
        let triple = quote.repeat(3);
        let end = if self.rest.starts_with(&triple) { triple.as_str() } else { quote };
        self.advance(end.len());
        let raw = prefix.contains(['r', 'R']);
        let body = self.until(end);
        if prefix.contains(['f', 'F', 't', 'T']) {
            for hole in body.split('{').skip(1) {
                let inner = tokens(hole.split('}').next().unwrap_or(hole));
                self.tokens.extend(inner);
            }
        }
        let value = if raw { body.to_owned() } else { unescaped(body) };
        self.tokens.push(Token::Text(value));
    }

    /// All before the end of a text, which is passed.
    fn until(&mut self, end: &str) -> &'a str {
        let whole = self.rest;
        let mut escaped = false;
        for (at, c) in whole.char_indices() {
            let here = whole.get(at..).unwrap_or_default();
            if !escaped && here.starts_with(end) {
                self.rest = here.get(end.len()..).unwrap_or_default();
                return whole.get(..at).unwrap_or_default();
            }
            escaped = !escaped && c == '\\';
        }
        self.rest = "";
        whole
    }
}

/// A text with its escapes as the characters they stand for.
fn unescaped(body: &str) -> String {
    let mut out = String::with_capacity(body.len());
    let mut rest = body;
    while let Some((before, after)) = rest.split_once('\\') {
        out.push_str(before);
        let Some(kind) = after.chars().next() else { break };
        let digits = match kind {
            'x' => 2,
            'u' => 4,
            'U' => 8,
            _ => 0,
        };
        let octal: String = after.chars().take(3).take_while(|c| ('0'..='7').contains(c)).collect();
        let (code, length) = if digits > 0 {
            (after.get(1..1 + digits).and_then(|hex| u32::from_str_radix(hex, 16).ok()), 1 + digits)
        } else if !octal.is_empty() {
            (u32::from_str_radix(&octal, 8).ok(), octal.len())
        } else {
            (Some(u32::from(plain(kind))), kind.len_utf8())
        };
        if kind != '\n' {
            out.extend(code.and_then(char::from_u32));
        }
        rest = after.get(length..).unwrap_or_default();
    }
    out.push_str(rest);
    out
}

fn plain(kind: char) -> char {
    match kind {
        'n' => '\n',
        't' => '\t',
        'r' => '\r',
        other => other,
    }
}
