//! The `.env` file: variables, mostly keys, one per line.
//!
//! Reading is forgiving, because people paste into this file: byte order marks, UTF-16, NUL bytes, two assignments glued
//! together, stray non-ASCII characters in keys. What was mended is said in a warning that never shows a value. Values are
//! taken as the shell's simplest form would: `$` and `\` outside double quotes are ordinary characters, since passwords have
//! them. Writing keeps comments, order and every line it does not change.

use super::disk::{self, DiskError, Lock};
use super::document::expand_text;
use super::edit::EditError;
use super::home::Home;
use super::mask;
use hermes_model::provider::table::PROVIDERS;
use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;

/// Variables besides the providers' own that a value may be glued to.
const OTHER_VARIABLES: &[&str] = &[
    "EXA_API_KEY",
    "PARALLEL_API_KEY",
    "FIRECRAWL_API_KEY",
    "FIRECRAWL_API_URL",
    "TAVILY_API_KEY",
    "SEARXNG_URL",
    "BRAVE_SEARCH_API_KEY",
    "BROWSERBASE_API_KEY",
    "BROWSERBASE_PROJECT_ID",
    "BROWSER_USE_API_KEY",
    "FAL_KEY",
    "VOICE_TOOLS_OPENAI_KEY",
    "ELEVENLABS_API_KEY",
    "HONCHO_API_KEY",
    "MEM0_API_KEY",
    "TELEGRAM_BOT_TOKEN",
    "TELEGRAM_ALLOWED_USERS",
    "DISCORD_BOT_TOKEN",
    "DISCORD_ALLOWED_USERS",
    "SLACK_BOT_TOKEN",
    "SLACK_APP_TOKEN",
    "WEBHOOK_SECRET",
    "API_SERVER_KEY",
    "SUDO_PASSWORD",
    "HF_TOKEN",
    "GITHUB_TOKEN",
];

/// A file taken apart: its lines in order, joined again byte for byte.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Dotenv {
    lines: Vec<Line>,
    /// What had to be mended, without any value.
    pub warnings: Vec<String>,
}

#[derive(Clone, PartialEq, Eq)]
struct Line {
    /// The text with its line end; a quoted value may span several.
    raw: String,
    variable: Option<(String, String)>,
}

impl Dotenv {
    /// The variables of a file; no file has none.
    pub fn load(path: &Path) -> Result<Self, DiskError> {
        let Some(bytes) = disk::read(path)? else { return Ok(Self::default()) };
        let mut warnings = Vec::new();
        let text = decode(&bytes, &mut warnings);
        let mut file = Self::parse(&text);
        warnings.append(&mut file.warnings);
        file.warnings = warnings.into_iter().map(|warning| format!("{}: {warning}", path.display())).collect();
        Ok(file)
    }

    pub fn parse(text: &str) -> Self {
        let mut file = Self::default();
        let mut rest = text;
        let mut number = 1;
        while !rest.is_empty() {
            let (line, after) = take_line(rest);
            let line_number = number;
            number += line.raw.matches('\n').count();
            rest = after;
            match line {
                Line { raw, variable: Some((name, value)) } => file.add(raw, name, &value, line_number),
                Line { raw, variable: None } => {
                    let content = raw.trim();
                    if !content.is_empty() && !content.starts_with('#') {
                        file.warnings.push(format!("line {line_number} is not `NAME=value` and was skipped"));
                    }
                    file.lines.push(Line { raw, variable: None });
                }
            }
        }
        file
    }

    /// Every variable, the last one of a name winning, with `${NAME}` filled in from `lookup` and from lines above.
    pub fn variables(&self, lookup: &dyn Fn(&str) -> Option<String>) -> BTreeMap<String, String> {
        let mut known: BTreeMap<String, String> = BTreeMap::new();
        for line in &self.lines {
            let Some((name, value)) = &line.variable else { continue };
            let literal = line.raw.split_once('=').is_some_and(|(_, value)| value.trim_start().starts_with('\''));
            let value = if literal || !value.contains("${") {
                value.clone()
            } else {
                expand_text(value, &|name| known.get(name).cloned().or_else(|| lookup(name)))
            };
            known.insert(name.clone(), value);
        }
        known
    }

    pub fn has(&self, name: &str) -> bool {
        self.lines.iter().any(|line| line.is(name))
    }

    /// Puts a value in the place of the old one, or at the end.
    pub fn set(&mut self, name: &str, value: &str) {
        let raw = format!("{name}={}\n", quoted(value));
        let new = Line { raw, variable: Some((name.to_owned(), value.to_owned())) };
        match self.lines.iter().position(|line| line.is(name)) {
            Some(first) => {
                let mut index = 0;
                self.lines.retain(|line| {
                    index += 1;
                    index - 1 == first || !line.is(name)
                });
                if let Some(line) = self.lines.get_mut(first) {
                    *line = new;
                }
            }
            None => {
                if let Some(last) = self.lines.last_mut().filter(|line| !line.raw.ends_with('\n')) {
                    last.raw.push('\n');
                }
                self.lines.push(new);
            }
        }
        self.secure();
    }

    /// False when there was no such variable.
    pub fn unset(&mut self, name: &str) -> bool {
        let before = self.lines.len();
        self.lines.retain(|line| !line.is(name));
        self.secure();
        self.lines.len() < before
    }

    /// A quote that was never closed may find an end in lines that an edit brought near, and swallow what stands between.
    /// Where that would happen, the lines with such quotes are written anew, so that they go on meaning what they meant.
    fn secure(&mut self) {
        let meant = |file: &Self| file.lines.iter().filter_map(|line| line.variable.clone()).collect::<Vec<_>>();
        if meant(&Self::parse(&self.text())) == meant(self) {
            return;
        }
        for line in &mut self.lines {
            if let Some((name, value)) = line.variable.as_ref().filter(|(_, value)| value.starts_with(['"', '\''])) {
                line.raw = format!("{name}={}\n", quoted(value));
            }
        }
    }

    pub fn text(&self) -> String {
        self.lines.iter().map(|line| line.raw.as_str()).collect()
    }

    /// Takes in one assignment, split where another one was glued to it.
    fn add(&mut self, raw: String, name: String, value: &str, line_number: usize) {
        let glued = if raw.contains(['"', '\'']) { None } else { glued_at(value) };
        if let Some((own, glued_name, glued_value)) = glued {
            self.warnings
                .push(format!("line {line_number} holds {name} and {glued_name}; they were read as two lines"));
            self.add(format!("{name}={own}\n"), name, own, line_number);
            self.add(format!("{glued_name}={glued_value}\n"), glued_name.to_owned(), glued_value, line_number);
            return;
        }
        let mut value = value.to_owned();
        if mask::is_credential(&name) && !value.is_ascii() {
            value.retain(|c| c.is_ascii());
            self.warnings
                .push(format!("line {line_number}: {name} had characters no key can have; they were left out"));
        }
        self.lines.push(Line { raw, variable: Some((name, value)) });
    }
}

impl Line {
    fn is(&self, name: &str) -> bool {
        self.variable.as_ref().is_some_and(|(own, _)| own == name)
    }
}

/// Names only; the values are mostly keys.
impl fmt::Debug for Dotenv {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = self.lines.iter().filter_map(|line| line.variable.as_ref().map(|(name, _)| name));
        f.debug_set().entries(names).finish()
    }
}

/// Changes the `.env` of a home, one process at a time.
pub fn change(home: &Home, edit: impl FnOnce(&mut Dotenv)) -> Result<(), EditError> {
    home.create()?;
    let _lock = Lock::acquire(&home.lock_file())?;
    let path = home.env_file();
    let mut file = Dotenv::load(&path)?;
    edit(&mut file);
    Ok(disk::replace(&path, file.text().as_bytes())?)
}

fn decode(bytes: &[u8], warnings: &mut Vec<String>) -> String {
    let wide = |read: fn([u8; 2]) -> u16| {
        let units: Vec<u16> = bytes.chunks_exact(2).skip(1).filter_map(|pair| pair.try_into().ok()).map(read).collect();
        String::from_utf16_lossy(&units)
    };
    let text = match bytes {
        [0xff, 0xfe, 0, 0, ..] | [0, 0, 0xfe, 0xff, ..] => {
            warnings.push("the text is UTF-32, which is not read; save it as UTF-8".into());
            return String::new();
        }
        [0xff, 0xfe, ..] => wide(u16::from_le_bytes),
        [0xfe, 0xff, ..] => wide(u16::from_be_bytes),
        _ => String::from_utf8_lossy(bytes).trim_start_matches('\u{feff}').to_owned(),
    };
    if !text.contains('\0') {
        return text;
    }
    warnings.push("NUL characters were left out".into());
    text.replace('\0', "")
}

/// The first line of `text`, together with the lines a quoted value goes on over, and what follows.
fn take_line(text: &str) -> (Line, &str) {
    let (first, after) = split_after_line(text);
    let plain = |raw: &str| Line { raw: raw.to_owned(), variable: None };
    let content = first.trim_start();
    let content = content.strip_prefix("export ").unwrap_or(content).trim_start();
    let Some((name, value)) = content.split_once('=') else { return (plain(first), after) };
    let name = name.trim_end();
    let starts_well = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    if !starts_well || !name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-')) {
        return (plain(first), after);
    }
    let assigned = |raw: &str, value: String| Line { raw: raw.to_owned(), variable: Some((name.to_owned(), value)) };
    let value_text = value.trim_start_matches([' ', '\t']);
    if value_text.starts_with(['"', '\'']) {
        // The value may end on a later line, so it is read from the whole rest.
        let from_value = text.len() - after.len() - value_text.len();
        if let Some((value, used)) = text.get(from_value..).and_then(quoted_value) {
            let end = from_value + used;
            let (tail, rest) = text.get(end..).map_or(("", ""), split_after_line);
            if tail.trim().is_empty() || tail.trim_start().starts_with('#') {
                return (assigned(text.get(..end + tail.len()).unwrap_or(first), value), rest);
            }
        }
    }
    (assigned(first, unquoted_value(value_text)), after)
}

fn split_after_line(text: &str) -> (&str, &str) {
    text.find('\n').and_then(|at| text.split_at_checked(at + 1)).unwrap_or((text, ""))
}

/// Up to the end of the line, or to a `#` behind white space.
fn unquoted_value(text: &str) -> String {
    let mut before_is_space = true;
    let end = text.char_indices().find(|(_, c)| {
        let comment = *c == '#' && before_is_space;
        before_is_space = c.is_whitespace();
        comment
    });
    text.get(..end.map_or(text.len(), |(at, _)| at)).unwrap_or_default().trim().to_owned()
}

/// A value in quotes and how many bytes of `text` it takes, quotes included. `None` when the quote is never closed.
fn quoted_value(text: &str) -> Option<(String, usize)> {
    let mut chars = text.char_indices();
    let (_, quote) = chars.next()?;
    let mut value = String::new();
    while let Some((at, c)) = chars.next() {
        match c {
            c if c == quote => return Some((value, at + c.len_utf8())),
            '\\' => match (quote, chars.next()?.1) {
                ('"', 'n') => value.push('\n'),
                ('"', 'r') => value.push('\r'),
                ('"', 't') => value.push('\t'),
                (_, escaped) if escaped == quote || escaped == '\\' => value.push(escaped),
                (_, other) => value.extend(['\\', other]),
            },
            c => value.push(c),
        }
    }
    None
}

/// The variables providers and tools read.
pub fn known_variables() -> impl Iterator<Item = &'static str> {
    let providers = PROVIDERS.iter().flat_map(|row| row.key_env.iter().chain(row.base_env));
    providers.chain(OTHER_VARIABLES).copied()
}

/// The first known variable that is assigned inside a value: what comes before, its name, its value.
fn glued_at(value: &str) -> Option<(&str, &'static str, &str)> {
    known_variables()
        .filter_map(|name| {
            let (before, after) = value.split_once(name)?;
            // A longer name that only ends like this one belongs to the earlier match of that name.
            Some((before, name, after.strip_prefix('=')?))
        })
        .min_by_key(|(before, name, _)| (before.len(), std::cmp::Reverse(name.len())))
}

fn quoted(value: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_-./:@%+=,~^".contains(c);
    if value.chars().all(plain) {
        return value.to_owned();
    }
    if !value.contains(['\'', '\\', '\n', '\r']) {
        return format!("'{value}'");
    }
    let escaped = value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n").replace('\r', "\\r");
    format!("\"{escaped}\"")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read(text: &str) -> Vec<(String, String)> {
        Dotenv::parse(text).variables(&|name| (name == "HOST").then(|| "box".into())).into_iter().collect()
    }

    fn one(text: &str) -> String {
        read(text).into_iter().next().map(|(_, value)| value).expect(text)
    }

    #[test]
    fn an_open_quote_does_not_swallow_a_new_line() {
        let mut file = Dotenv::parse("A=1\nB=\"open\n");
        file.set("C", "#it's");
        assert_eq!(file.text(), "A=1\nB='\"open'\nC=\"#it's\"\n");
        let pairs = [("A", "1"), ("B", "\"open"), ("C", "#it's")];
        assert_eq!(read(&file.text()), pairs.map(|(name, value)| (name.to_owned(), value.to_owned())));
    }

    #[test]
    fn values_are_read_as_they_were_meant() {
        let table = [
            ("A=1\n", "1"),
            ("A=", ""),
            ("export A = spaced value  # note\n", "spaced value"),
            ("A=pa$word#1\\n\n", "pa$word#1\\n"),
            ("A='it is $5 # really'\n", "it is $5 # really"),
            ("A=\"two\\nlines \\\"x\\\"\" # note\n", "two\nlines \"x\""),
            ("A='over\ntwo lines'\nB=2\n", "over\ntwo lines"),
            ("A=it's fine\nB='x'\n", "it's fine"),
            ("A=http://${HOST}:1/\n", "http://box:1/"),
            ("A='${HOST}'\n", "${HOST}"),
            ("A=${NOPE}\n", "${NOPE}"),
            ("A=\r\n", ""),
            ("A=x\r\nB=y\r\n", "x"),
            ("A=1\nA=2\n", "2"),
        ];
        for (text, expected) in table {
            assert_eq!(one(text), expected, "{text:?}");
        }
    }

    #[test]
    fn what_people_paste_is_mended_and_said_without_values() {
        let file = Dotenv::parse(
            "OPENROUTER_API_KEY=sk-or-1OPENROUTER_BASE_URL=http://xFAL_KEY=f\nHF_TOKEN=hf_\u{201c}abc\u{201d}\njust words\n",
        );
        assert_eq!(
            file.variables(&|_| None).into_iter().collect::<Vec<_>>(),
            [
                ("FAL_KEY".into(), "f".into()),
                ("HF_TOKEN".into(), "hf_abc".into()),
                ("OPENROUTER_API_KEY".into(), "sk-or-1".into()),
                ("OPENROUTER_BASE_URL".to_owned(), "http://x".to_owned()),
            ]
        );
        assert_eq!(
            file.warnings,
            [
                "line 1 holds OPENROUTER_API_KEY and OPENROUTER_BASE_URL; they were read as two lines",
                "line 1 holds OPENROUTER_BASE_URL and FAL_KEY; they were read as two lines",
                "line 2: HF_TOKEN had characters no key can have; they were left out",
                "line 3 is not `NAME=value` and was skipped",
            ]
        );
    }

    #[test]
    fn every_encoding_of_a_text_editor_is_read() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join(".env");
        let load = |bytes: &[u8]| {
            std::fs::write(&path, bytes).expect("written");
            let file = Dotenv::load(&path).expect("read");
            (file.variables(&|_| None).get("A").cloned(), file.warnings.len())
        };
        assert_eq!(load(b"\xef\xbb\xbfA=x\n"), (Some("x".into()), 0));
        assert_eq!(load(b"\xff\xfeA\0=\0x\0\n\0"), (Some("x".into()), 0));
        assert_eq!(load(b"\xfe\xff\0A\0=\0x\0\n"), (Some("x".into()), 0));
        assert_eq!(load(b"A=\0x\n"), (Some("x".into()), 1));
        assert_eq!(load(b"\xff\xfe\0\0A\0\0\0"), (None, 1));
        assert_eq!(Dotenv::load(&folder.path().join("none")).expect("read"), Dotenv::default());
    }

    #[test]
    fn a_write_keeps_everything_else() {
        let mut file = Dotenv::parse("# keys\n\nA=1 # one\nexport B='2'\nA=3\nno newline=");
        file.set("A", "new");
        file.set("C", "it's $5");
        assert!(file.unset("B"));
        assert!(!file.unset("B"));
        assert_eq!(file.text(), "# keys\n\nA=new\nno newline=\nC=\"it's $5\"\n");
    }

    proptest! {
        #[test]
        fn any_value_survives_being_written(value in "\\PC{0,20}", odd in "[\"'\\\\$#\n ={}a]{0,8}") {
            for value in [value, odd] {
                prop_assume!(!value.contains("${"));
                let mut file = Dotenv::parse("# top\nOTHER=kept\n");
                file.set("NAME", &value);
                let again = Dotenv::parse(&file.text()).variables(&|_| None);
                prop_assert_eq!(again.get("NAME"), Some(&value), "{}", file.text());
                prop_assert_eq!(again.get("OTHER").map(String::as_str), Some("kept"));
            }
        }

        #[test]
        fn any_text_is_taken_apart_without_loss(text in "[A-Z=\"'\\\\# \na-z$]{0,60}") {
            prop_assert_eq!(Dotenv::parse(&text).text(), text);
        }
    }
}
