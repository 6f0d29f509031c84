//! What the model reads after a change of the notes.

use super::Target;
use super::disk::DiskError;
use super::edit::{Failed, Obstacle};
use super::entries::{fill, size, usage};
use crate::tool::ToolError;
use serde::Serialize;
use serde_json::json;

const PREVIEW_CHARS: usize = 80;

#[derive(Debug, Serialize)]
pub(super) struct Saved {
    success: bool,
    done: bool,
    target: &'static str,
    usage: String,
    entry_count: usize,
    message: String,
    note: &'static str,
}

impl Saved {
    pub(super) fn new(target: Target, entries: &[String], limit: usize, message: String) -> Self {
        Self {
            success: true,
            done: true,
            target: target.name(),
            usage: usage(size(entries), limit),
            entry_count: entries.len(),
            message,
            note: "Saved; do not repeat this call. The prompt shows it from the next conversation on.",
        }
    }
}

#[derive(Debug, Serialize)]
pub(super) struct Staged {
    success: bool,
    staged: bool,
    pending_id: String,
    message: &'static str,
}

impl Staged {
    pub(super) fn new(pending_id: String) -> Self {
        let message = "Not saved yet: it waits until the person approves it (memory.write_approval).";
        Self { success: true, staged: true, pending_id, message }
    }
}

#[derive(Debug, Default, Serialize)]
pub(super) struct Failure {
    success: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    done: Option<bool>,
    error: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    current_entries: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    usage: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    matches: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    drift_backup: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    remediation: Option<&'static str>,
}

/// Whether a failure is one more attempt at making the notes fit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Counts {
    Yes,
    No,
}

impl Failure {
    pub(super) fn saying(error: impl Into<String>) -> Self {
        Self { error: error.into(), ..Self::default() }
    }

    /// Tried too often; nothing the model does now will help.
    pub(super) fn terminal(times: usize) -> Self {
        let error = format!(
            "{times} changes of the notes failed in this turn. Stop changing them now: leave them as they are and go on \
             with the answer. There will be another time to save this."
        );
        Self { done: Some(true), ..Self::saying(error) }
    }

    pub(super) fn threat(found: &str) -> Self {
        Self::saying(format!(
            "Not saved: the text looks like an attack on later conversations ({found}). Notes become part of the prompt: \
             keep to facts in plain words, without instructions, commands for secrets or invisible characters."
        ))
    }

    pub(super) fn drift(file: &str, backup: String) -> Self {
        Self {
            drift_backup: Some(backup.clone()),
            remediation: Some(
                "Rewrite the file as entries with a line § between them, each shorter than the limit; or move what was \
                 added elsewhere. Then try again.",
            ),
            ..Self::saying(format!(
                "Nothing was changed: {file} was edited by hand or by another tool into a form that this change would \
                 destroy. It was copied to {backup}."
            ))
        }
    }

    pub(super) fn of(failed: Failed, entries: &[String], limit: usize, operations: usize) -> (Self, Counts) {
        let Failed { operation, obstacle } = failed;
        let counts = match obstacle {
            Obstacle::EmptyContent | Obstacle::EmptyOldText | Obstacle::SeveralEntries => Counts::No,
            _ => Counts::Yes,
        };
        let matches = match &obstacle {
            Obstacle::SeveralMatches { matches, .. } => Some(matches.iter().map(|entry| preview(entry)).collect()),
            _ => None,
        };
        let shows_entries = !matches!(obstacle, Obstacle::SeveralMatches { .. } | Obstacle::EmptyContent | Obstacle::SeveralEntries);
        let place = operation.filter(|_| operations > 1).map(|number| format!("Operation {number}: "));
        let whole = if operations > 1 { " None of the operations was made." } else { "" };
        let failure = Self {
            error: format!("{}{}{whole}", place.unwrap_or_default(), describe(&obstacle, limit)),
            current_entries: shows_entries.then(|| entries.to_vec()),
            usage: shows_entries.then(|| fill(size(entries), limit)),
            matches,
            ..Self::default()
        };
        (failure, counts)
    }

    pub(super) fn told(&self) -> ToolError {
        ToolError::Tell(serde_json::to_value(self).unwrap_or_else(|_| json!({"success": false, "error": self.error})))
    }

    pub(super) fn error(&self) -> &str {
        &self.error
    }
}

impl From<DiskError> for Failure {
    fn from(error: DiskError) -> Self {
        Self::saying(error.to_string())
    }
}

fn describe(obstacle: &Obstacle, limit: usize) -> String {
    match obstacle {
        Obstacle::EmptyContent => "content is needed to add or replace an entry.".to_owned(),
        Obstacle::EmptyOldText => {
            "old_text is needed: a piece of the entry that is meant, and of no other in current_entries.".to_owned()
        }
        Obstacle::SeveralEntries => {
            "content has a line § in it, which separates entries. Give each entry as an operation of its own.".to_owned()
        }
        Obstacle::NoMatch { old } => {
            format!("No entry has '{}' in it. Take old_text from current_entries.", preview(old))
        }
        Obstacle::Vanished { old } => format!(
            "The entry with '{}' was changed or removed by another session meanwhile. Look at current_entries and decide anew.",
            preview(old)
        ),
        Obstacle::Changed { old } => format!(
            "The entry with '{}' was changed by another session meanwhile; nothing was overwritten. Look at \
             current_entries, keep what is new in it, and try again.",
            preview(old)
        ),
        Obstacle::SeveralMatches { old, .. } => {
            format!("Several entries have '{}' in them. Give a longer old_text.", preview(old))
        }
        Obstacle::OverLimit { before, after } => format!(
            "The notes would have {} chars (now {}). Make room in this turn: merge entries that overlap into shorter ones \
             or remove what matters least, in one batch with this change.",
            fill(*after, limit),
            before
        ),
    }
}

/// The beginning of a text, on one line.
fn preview(text: &str) -> String {
    let mut shown: String = text.chars().take(PREVIEW_CHARS).collect();
    if text.chars().nth(PREVIEW_CHARS).is_some() {
        shown.push('…');
    }
    shown
}
