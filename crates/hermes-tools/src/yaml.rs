//! What is wrong with a file of YAML, in words for its author and with its place. Who reads such files decides what it
//! means: a skill is read line by line then, a plugin is refused.

use std::fmt;

/// Why a text could not be read, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Misread {
    /// Line and column, from 1.
    pub place: Option<(u64, u64)>,
    pub reason: String,
}

impl Misread {
    pub fn at(line: u64, column: u64, reason: impl Into<String>) -> Self {
        Self { place: Some((line, column)), reason: reason.into() }
    }

    /// The same in a file that has so many lines before the text.
    #[must_use]
    pub fn below(self, lines: u64) -> Self {
        Self { place: self.place.map(|(line, column)| (line + lines, column)), ..self }
    }
}

impl From<&serde_saphyr::Error> for Misread {
    fn from(error: &serde_saphyr::Error) -> Self {
        let place = error.location().map(|at| (at.line(), at.column()));
        Self { place, reason: plainly(&error.without_snippet().to_string()) }
    }
}

/// `4:7: what is wrong`, or ` what is wrong`: to be written behind the name of a file and a colon.
impl fmt::Display for Misread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.place {
            Some((line, column)) => write!(f, "{line}:{column}: {}", self.reason),
            None => write!(f, " {}", self.reason),
        }
    }
}

/// The words of the parser without the place, which is told beside them.
fn plainly(reason: &str) -> String {
    let first = reason.lines().next().unwrap_or_default();
    let end = first.find(" at line ").unwrap_or(first.len());
    first.get(..end).unwrap_or(first).trim_end_matches([',', ':']).to_owned()
}
