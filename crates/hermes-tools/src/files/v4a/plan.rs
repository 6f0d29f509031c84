//! What a patch would make of the files, played in memory.
//!
//! Operations see the result of the ones before them. The first fault of an operation ends it, the other operations are
//! still checked, and all faults are reported together. A plan has at most one change for a path and is never empty.

use super::{Action, Hunk, HunkLine, Operation, Patch};
use crate::files::matching::{self, Edit, MatchError, Occurrences, Scope};
use std::collections::BTreeMap;
use std::fmt;

/// How far around a hint a hunk is looked for when the whole file is ambiguous.
const BEFORE_HINT: usize = 500;
const AFTER_HINT: usize = 2_000;

/// What is read for a patch.
pub trait Files {
    /// The one name of a file, so that a file that a patch names twice in two ways is one file. Without knowledge of
    /// directories and links only `.` and empty parts go.
    fn resolve(&self, path: &str) -> String {
        let root = if path.starts_with('/') { "/" } else { "" };
        let parts: Vec<&str> = path.split('/').filter(|part| !matches!(*part, "" | ".")).collect();
        format!("{root}{}", parts.join("/"))
    }

    /// The file of a resolved name as it is, or why that cannot be told.
    fn read(&self, path: &str) -> Result<Stored, String>;
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Stored {
    Absent,
    Text(String),
    /// Not text: it can be moved or removed, not edited.
    Binary,
}

/// One file before and after the patch. Contents are absent where the file is not text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    Create { path: String, after: String },
    Update { path: String, before: String, after: String },
    Delete { path: String, before: Option<String> },
    Move { from: String, to: String, before: Option<String>, after: Option<String> },
}

/// Every reason why a patch does not apply.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct PlanError {
    pub faults: Vec<Fault>,
}

impl fmt::Display for PlanError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "The patch does not apply; no files were modified.")?;
        self.faults.iter().try_for_each(|fault| write!(out, "\n- {fault}"))
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// The line of the patch.
    pub line: usize,
    pub path: String,
    pub reason: Reason,
}

impl fmt::Display for Fault {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "line {}, {}: {}", self.line, self.path, self.reason)
    }
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Reason {
    #[error("the file does not exist. Check the path, or create it with Add File.")]
    Missing,
    #[error("the file exists already. Change it with Update File, or remove it first.")]
    Exists,
    #[error("the file is not text. It can be moved or deleted, not edited.")]
    Binary,
    #[error("the file cannot be read: {0}.")]
    Unreadable(String),
    #[error("{0}")]
    Hunk(#[from] MatchError),
    #[error("the hint \"{0}\" is not in the file. Copy a line of it, or add context lines to the hunk.")]
    HintMissing(String),
    #[error("the hint \"{hint}\" is in the file {count} times. Add context lines to the hunk instead.")]
    HintAmbiguous { hint: String, count: usize },
    #[error("the patch changes nothing. Check that it has lines with \"-\" or \"+\" that differ.")]
    NoChange,
}

/// The changes that the patch makes, each file once and under its resolved name.
pub fn plan(patch: &Patch, files: &dyn Files) -> Result<Vec<Change>, PlanError> {
    let mut play = Play { files, now: BTreeMap::new(), order: Vec::new() };
    let mut faults = Vec::new();
    for operation in &patch.operations {
        faults.extend(play.run(operation).err());
    }
    if !faults.is_empty() {
        return Err(PlanError { faults });
    }
    let changes = play.changes();
    if changes.is_empty() {
        let first = patch.operations.first();
        let line = first.map_or(1, |operation| operation.line);
        let path = first.map_or("the patch", |operation| operation.action.path()).to_owned();
        return Err(PlanError { faults: vec![Fault { line, path, reason: Reason::NoChange }] });
    }
    Ok(changes)
}

impl Action {
    fn path(&self) -> &str {
        match self {
            Self::Update { path, .. } | Self::Add { path, .. } | Self::Delete { path } => path,
            Self::Move { from, .. } => from,
        }
    }
}

/// A file in the play.
struct Entry {
    before: Stored,
    now: Stored,
    /// The path whose content this is, when it was moved here.
    from: Option<String>,
}

struct Play<'f> {
    files: &'f dyn Files,
    now: BTreeMap<String, Entry>,
    /// Paths in the order in which the patch came to them.
    order: Vec<String>,
}

impl Play<'_> {
    fn run(&mut self, operation: &Operation) -> Result<(), Fault> {
        let at = |line: usize, path: &str| {
            let path = path.to_owned();
            move |reason: Reason| Fault { line, path, reason }
        };
        let line = operation.line;
        match &operation.action {
            Action::Add { path, content } => {
                let entry = self.entry(path).map_err(at(line, path))?;
                if entry.now != Stored::Absent {
                    return Err(at(line, path)(Reason::Exists));
                }
                entry.now = Stored::Text(content.clone());
                entry.from = None;
            }
            Action::Delete { path } => {
                self.take(path).map_err(at(line, path))?;
            }
            Action::Move { from, to } => {
                if self.entry(to).map_err(at(line, to))?.now != Stored::Absent {
                    return Err(at(line, to)(Reason::Exists));
                }
                let (content, origin) = self.take(from).map_err(at(line, from))?;
                let entry = self.entry(to).map_err(at(line, to))?;
                entry.now = content;
                entry.from = Some(origin);
            }
            Action::Update { path, hunks } => {
                let entry = self.entry(path).map_err(at(line, path))?;
                let mut text = match &entry.now {
                    Stored::Text(text) => text.clone(),
                    Stored::Binary => return Err(at(line, path)(Reason::Binary)),
                    Stored::Absent => return Err(at(line, path)(Reason::Missing)),
                };
                for hunk in hunks.iter().filter(|hunk| !hunk.is_context()) {
                    text = applied(&text, hunk).map_err(at(hunk.line, path))?;
                }
                entry.now = Stored::Text(text);
            }
        }
        Ok(())
    }

    fn entry(&mut self, path: &str) -> Result<&mut Entry, Reason> {
        use std::collections::btree_map::Entry::{Occupied, Vacant};
        match self.now.entry(self.files.resolve(path)) {
            Occupied(entry) => Ok(entry.into_mut()),
            Vacant(place) => {
                let before = self.files.read(place.key()).map_err(Reason::Unreadable)?;
                self.order.push(place.key().clone());
                Ok(place.insert(Entry { now: before.clone(), before, from: None }))
            }
        }
    }

    /// Removes a file and tells what it held and under which path that began.
    fn take(&mut self, path: &str) -> Result<(Stored, String), Reason> {
        let name = self.files.resolve(path);
        let entry = self.entry(path)?;
        match std::mem::replace(&mut entry.now, Stored::Absent) {
            Stored::Absent => Err(Reason::Missing),
            content => Ok((content, entry.from.take().unwrap_or(name))),
        }
    }

    fn changes(&self) -> Vec<Change> {
        let moved_away: Vec<&String> = self.now.values().filter_map(|entry| self.origin(entry)).collect();
        let in_order = self.order.iter().filter_map(|path| Some((path, self.now.get(path)?)));
        in_order.filter_map(|(path, entry)| self.change(path, entry, &moved_away)).collect()
    }

    /// Where a file was moved from, when that path is empty now and this one was empty before.
    fn origin<'e>(&self, entry: &'e Entry) -> Option<&'e String> {
        let from = entry.from.as_ref()?;
        let source = self.now.get(from)?;
        let left = source.now == Stored::Absent && source.before != Stored::Absent;
        (left && entry.before == Stored::Absent && entry.now != Stored::Absent).then_some(from)
    }

    fn change(&self, path: &str, entry: &Entry, moved_away: &[&String]) -> Option<Change> {
        let path = path.to_owned();
        if let Some(from) = self.origin(entry) {
            let before = self.now.get(from).and_then(|source| text_of(&source.before));
            return Some(Change::Move { from: from.clone(), to: path, before, after: text_of(&entry.now) });
        }
        match (&entry.before, &entry.now) {
            (before, now) if before == now => None,
            (_, Stored::Absent) if moved_away.contains(&&path) => None,
            (before, Stored::Absent) => Some(Change::Delete { path, before: text_of(before) }),
            (Stored::Text(before), Stored::Text(after)) => {
                Some(Change::Update { path, before: before.clone(), after: after.clone() })
            }
            (_, Stored::Text(after)) => Some(Change::Create { path, after: after.clone() }),
            (_, Stored::Binary) => {
                let from = entry.from.clone()?;
                Some(Change::Move { from, to: path, before: None, after: None })
            }
        }
    }
}

fn text_of(stored: &Stored) -> Option<String> {
    match stored {
        Stored::Text(text) => Some(text.clone()),
        Stored::Absent | Stored::Binary => None,
    }
}

fn applied(text: &str, hunk: &Hunk) -> Result<String, Reason> {
    let (old, new) = (hunk.before(), hunk.after());
    if hunk.lines.iter().all(|line| matches!(line, HunkLine::Added(_))) {
        return inserted(text, hunk, &new);
    }
    let edit = Edit { old: &old, new: &new, occurrences: Occurrences::Only, scope: Scope::WholeLines };
    let first = match matching::replace(text, &edit) {
        Ok(edited) => return Ok(edited.text),
        // A hunk that replaces lines by themselves asks for nothing.
        Err(MatchError::Same) => return Ok(text.to_owned()),
        Err(fault) => fault,
    };
    // The hint says which of several places is meant.
    let near = hunk.hint.as_deref().and_then(|hint| around(text, hint));
    if let Some((head, middle, tail)) = near
        && let Ok(edited) = matching::replace(middle, &edit)
    {
        return Ok(format!("{head}{}{tail}", edited.text));
    }
    Err(first.into())
}

/// The text before, around and after the only place of a hint, cut between lines.
fn around<'t>(text: &'t str, hint: &str) -> Option<(&'t str, &'t str, &'t str)> {
    let at = only(text, hint).ok()?;
    let from = at.saturating_sub(BEFORE_HINT);
    let to = (at + AFTER_HINT).min(text.len());
    let bytes = text.as_bytes();
    let start = bytes.get(..from)?.iter().rposition(|byte| *byte == b'\n').map_or(0, |place| place + 1);
    let end = bytes.get(to..)?.iter().position(|byte| *byte == b'\n').map_or(text.len(), |place| to + place + 1);
    Some((text.get(..start)?, text.get(start..end)?, text.get(end..)?))
}

fn only(text: &str, hint: &str) -> Result<usize, Reason> {
    let mut places = text.match_indices(hint);
    let first = places.next().ok_or_else(|| Reason::HintMissing(hint.to_owned()))?;
    match places.count() {
        0 => Ok(first.0),
        more => Err(Reason::HintAmbiguous { hint: hint.to_owned(), count: more + 1 }),
    }
}

/// Lines that are only added go below the line of the hint, or to the end of the file.
fn inserted(text: &str, hunk: &Hunk, new: &str) -> Result<String, Reason> {
    let at = match &hunk.hint {
        None => text.len(),
        Some(hint) => {
            let end = only(text, hint)? + hint.len();
            let rest = text.get(end..).unwrap_or_default();
            rest.find('\n').map_or(text.len(), |place| end + place + 1)
        }
    };
    let (head, tail) = text.split_at(at);
    let ending = if text.contains("\r\n") { "\r\n" } else { "\n" };
    let open = if head.is_empty() || head.ends_with('\n') || head == "\u{feff}" { "" } else { ending };
    Ok(format!("{head}{open}{}{tail}", new.replace('\n', ending)))
}
