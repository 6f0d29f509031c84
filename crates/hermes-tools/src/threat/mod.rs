//! Looks for text that wants to steer the agent: notes, context files, skills and jobs are scanned before a model reads
//! them.
//!
//! One table (`table.rs`) has all patterns; a scope says how much of it applies, and each scope holds the one before it.
//! Text is read twice: as prose (words only, so that markup, case and look-alike letters hide nothing) and as code. Time
//! grows with the length of the text and with nothing else. A finding is a reason to doubt, never a proof, and no finding
//! is no proof of harmlessness: what may be done is decided by the gate.

mod hint;
mod invisible;
mod table;
mod view;

use hint::Hint;
use regex::{Regex, RegexBuilder};
use std::borrow::Cow;
use std::sync::OnceLock;
use table::{Row, TABLE};
use view::{View, Views};

/// As many characters are looked at together; longer text is read in overlapping windows of this size, so that padding
/// hides nothing.
pub const WINDOW_CHARS: usize = 65_536;
const OVERLAP_CHARS: usize = 2_048;

/// Who will read the text, and so how much is suspicious in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Scope {
    /// What is wrong everywhere.
    All,
    /// Files that become part of the instructions.
    Context,
    /// What stays in every later conversation.
    Strict,
}

/// One thing that was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Threat {
    /// Stable, for logs and messages.
    pub id: Cow<'static, str>,
    /// For people.
    pub meaning: &'static str,
}

/// The table, made ready. Made once and shared; a pattern is compiled for the first text that it may fit.
#[derive(Debug, Default)]
pub struct Scanner {
    rules: OnceLock<Vec<Rule>>,
}

#[derive(Debug)]
struct Rule {
    row: &'static Row,
    hint: Hint,
    /// `None` when the pattern cannot be compiled: such a row finds everything, so that a mistake is seen at once.
    regex: OnceLock<Option<Regex>>,
}

impl Scanner {
    pub fn new() -> Self {
        Self::default()
    }

    /// Everything suspicious, each once: first by the table, then invisible characters by their number.
    pub fn scan(&self, text: &str, scope: Scope) -> Vec<Threat> {
        let rules = self.rules.get_or_init(|| TABLE.iter().map(Rule::of).collect());
        let mut found: Vec<&'static Row> = Vec::new();
        for window in windows(text) {
            let views = Views::of(window);
            let open = rules.iter().filter(|rule| rule.row.scope <= scope);
            for rule in open {
                let known = found.iter().any(|row| row.id == rule.row.id);
                if !known && rule.fits(&views) {
                    found.push(rule.row);
                }
            }
        }
        let by_table = found.into_iter().map(|row| Threat { id: Cow::Borrowed(row.id), meaning: row.meaning });
        by_table.chain(invisible::hidden(text).into_iter().map(invisible_threat)).collect()
    }
}

/// The ids, for a message.
pub fn ids(threats: &[Threat]) -> String {
    threats.iter().map(|threat| threat.id.as_ref()).collect::<Vec<_>>().join(", ")
}

impl Rule {
    fn of(row: &'static Row) -> Self {
        Self { row, hint: Hint::of(row.view, row.pattern), regex: OnceLock::new() }
    }

    fn fits(&self, views: &Views) -> bool {
        self.hint.may_fit(views.small(self.row.view)) && self.matches(views)
    }

    fn matches(&self, views: &Views) -> bool {
        self.regex().is_none_or(|regex| regex.is_match(views.get(self.row.view)))
    }

    fn regex(&self) -> Option<&Regex> {
        let compiled = self.regex.get_or_init(|| {
            let expression = view::expression(self.row.view, self.row.pattern);
            let compiled = RegexBuilder::new(&expression).case_insensitive(self.row.view == View::Code).build();
            if let Err(error) = &compiled {
                tracing::error!(id = self.row.id, %error, "a pattern of the threat table cannot be compiled");
            }
            compiled.ok()
        });
        compiled.as_ref()
    }
}

fn invisible_threat(character: char) -> Threat {
    let id = Cow::Owned(format!("invisible_unicode_U+{:04X}", u32::from(character)));
    Threat { id, meaning: "a character nobody sees, which can hide text or turn it around" }
}

/// Pieces of at most [`WINDOW_CHARS`], each beginning a little before the end of the one before.
fn windows(text: &str) -> Vec<&str> {
    let mut windows = Vec::new();
    let mut rest = text;
    loop {
        let Some((end, _)) = rest.char_indices().nth(WINDOW_CHARS) else {
            windows.push(rest);
            return windows;
        };
        let step = rest.char_indices().nth(WINDOW_CHARS - OVERLAP_CHARS).map_or(end, |(at, _)| at);
        windows.extend(rest.get(..end));
        rest = rest.get(step..).unwrap_or_default();
    }
}

#[cfg(test)]
mod tests;
