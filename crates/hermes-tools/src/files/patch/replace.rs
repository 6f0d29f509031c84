//! One text in one file for another.

use super::{Content, Draft, Patched, failed, quoted, quoting};
use crate::desk::Desk;
use crate::files::change::{Over, Step};
use crate::files::current::{self, Current};
use crate::files::diff::{Sides, unified};
use crate::files::matching::{self, MatchError, Occurrences, Scope};
use crate::files::place::Writable;
use crate::files::text::encode;
use crate::files::write::display;
use crate::tool::ToolError;
use serde_json::json;

/// Misses after which reading the file again is advised in earnest.
const ESCALATED: u32 = 3;

pub(super) struct Edit<'a> {
    pub(super) given: &'a str,
    pub(super) target: &'a Writable,
    pub(super) old: &'a str,
    pub(super) new: &'a str,
    pub(super) all: bool,
}

pub(super) fn draft(desk: &Desk, edit: &Edit<'_>) -> Result<Draft, ToolError> {
    let Edit { given, target, .. } = *edit;
    let path = target.path();
    let now = current::look(target).map_err(failed)?;
    let (decoded, about) = match &now {
        Current::Text { decoded, about, .. } => (decoded, about),
        Current::Absent => return Err(failed(format!("File not found: {given}. Use write_file to make it."))),
        Current::Other { .. } => {
            let error = format!("{given} is not text in UTF-8 or UTF-16, or is too large, and cannot be edited.");
            return Err(failed(error));
        }
    };
    if display::covers_secret(edit.new, edit.old) {
        let error = "The new text has a covered secret (`«redacted:…»`) that the old text does not have; writing it would \
                     destroy the secret. Leave that line out of the edit.";
        return Err(failed(error));
    }
    let occurrences = if edit.all { Occurrences::All } else { Occurrences::Only };
    let wanted = matching::Edit { old: edit.old, new: edit.new, occurrences, scope: Scope::Text };
    let edited =
        matching::replace(&decoded.text, &wanted).map_err(|error| missed(desk, edit, &decoded.text, &error))?;
    if let Some(fault) = current::broken_data(path, Some(&decoded.text), &edited.text) {
        return Err(failed(format!("Refusing to change {given}: {fault} The file is as it was.")));
    }
    let shown = path.display().to_string();
    let sides = Sides { before: Some((given, &decoded.text)), after: Some((given, &edited.text)) };
    let told = Patched {
        diff: quoted(desk, unified(sides), Some(&decoded.text)),
        files_modified: vec![shown.clone()],
        resolved_path: Some(shown),
        stale: current::stale(desk, given, path, &now),
        ..Patched::default()
    };
    let bytes = encode(&edited.text, decoded.encoding);
    let step = Step::Put { target: target.clone(), bytes, over: Over::File(about.clone()) };
    let content = Content { target: target.clone(), before: Some(decoded.text.clone()), after: edited.text };
    Ok(Draft { steps: vec![step], told, contents: vec![content] })
}

/// A miss, with advice that grows with the number of misses.
fn missed(desk: &Desk, edit: &Edit<'_>, text: &str, error: &MatchError) -> ToolError {
    if !matches!(error, MatchError::NotFound { .. } | MatchError::EscapeDrift { .. }) {
        return failed(error.to_string());
    }
    let count = desk.history.missed(edit.target.path());
    let hint = match count {
        1 => {
            format!("Read the lines you want to change with read_file and copy them, then try again on {}.", edit.given)
        }
        count if count < ESCALATED => {
            format!("This is the second miss on {}. Your picture of the file is old: read it again first.", edit.given)
        }
        count => format!(
            "{count} edits of {} in a row missed. Stop guessing: read the file, copy old_string from it exactly, take fewer \
             lines, or write the whole file with write_file.",
            edit.given
        ),
    };
    ToolError::Tell(json!({"success": false, "error": quoting(desk, &error.to_string(), Some(text)), "_hint": hint}))
}
