//! V4A patches: several files changed by one text.
//!
//! [`parse`] reads the text and refuses what it cannot read, with the line. [`plan`] plays the whole patch in memory
//! over a reader of [`Files`] and answers with the final state of every file, or with every reason why not. Nothing is
//! written here: a caller that got a plan writes it, a caller that got an error has nothing to undo.

mod parse;
mod plan;
#[cfg(test)]
mod tests;

pub use parse::{ParseError, ParseFault, parse};
pub use plan::{Change, Fault, Files, PlanError, Reason, Stored, plan};

/// What a patch asks for, in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Patch {
    pub operations: Vec<Operation>,
}

/// One file section.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Operation {
    /// The line of its header.
    pub line: usize,
    pub action: Action,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action {
    Update { path: String, hunks: Vec<Hunk> },
    Add { path: String, content: String },
    Delete { path: String },
    Move { from: String, to: String },
}

/// Lines that stand together in a file, before and after.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Hunk {
    /// Where it begins in the patch.
    pub line: usize,
    /// Text that stands near it in the file.
    pub hint: Option<String>,
    pub lines: Vec<HunkLine>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HunkLine {
    Context(String),
    Removed(String),
    Added(String),
}

impl Hunk {
    /// The lines that must be in the file, each with its line break.
    fn before(&self) -> String {
        self.side(|line| match line {
            HunkLine::Context(text) | HunkLine::Removed(text) => Some(text),
            HunkLine::Added(_) => None,
        })
    }

    /// The lines that are there afterwards, each with its line break.
    fn after(&self) -> String {
        self.side(|line| match line {
            HunkLine::Context(text) | HunkLine::Added(text) => Some(text),
            HunkLine::Removed(_) => None,
        })
    }

    fn side(&self, pick: fn(&HunkLine) -> Option<&String>) -> String {
        self.lines.iter().filter_map(pick).flat_map(|text| [text.as_str(), "\n"]).collect()
    }

    fn is_context(&self) -> bool {
        self.lines.iter().all(|line| matches!(line, HunkLine::Context(_)))
    }
}
