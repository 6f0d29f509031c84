//! A V4A patch: its plan over real files, and the steps that make it true.

use super::{Content, Draft, Patched, failed, quoted, quoting};
use crate::desk::Desk;
use crate::files::change::{Over, Step};
use crate::files::current::{self, Current};
use crate::files::diff::{Sides, unified};
use crate::files::place::Writable;
use crate::files::stamp::Stamp;
use crate::files::text::{Encoding, encode};
use crate::files::v4a::{self, Action, Change, Files, Patch, Stored};
use crate::files::write::display;
use crate::tool::ToolError;
use serde_json::json;
use std::cell::RefCell;
use std::collections::BTreeMap;

/// Every path a patch names.
pub(super) fn paths(patch: &Patch) -> impl Iterator<Item = &str> {
    patch.operations.iter().flat_map(|operation| match &operation.action {
        Action::Update { path, .. } | Action::Add { path, .. } | Action::Delete { path } => vec![path.as_str()],
        Action::Move { from, to } => vec![from.as_str(), to.as_str()],
    })
}

/// The files of a patch as they are on disk, each looked at once.
struct Disk<'a> {
    /// By the words of the patch.
    targets: &'a BTreeMap<String, Writable>,
    /// By their real names.
    seen: RefCell<BTreeMap<String, (Writable, Current)>>,
}

impl Files for Disk<'_> {
    fn resolve(&self, path: &str) -> String {
        self.targets.get(path).map_or_else(|| path.to_owned(), |target| target.path().display().to_string())
    }

    fn read(&self, path: &str) -> Result<Stored, String> {
        let target = self.targets.values().find(|target| target.path().to_str() == Some(path));
        let target = target.ok_or("its name is not UTF-8")?;
        let now = current::look(target)?;
        let stored = match &now {
            Current::Absent => Stored::Absent,
            Current::Text { decoded, .. } => Stored::Text(decoded.text.clone()),
            Current::Other { .. } => Stored::Binary,
        };
        self.seen.borrow_mut().insert(path.to_owned(), (target.clone(), now));
        Ok(stored)
    }
}

pub(super) fn draft(desk: &Desk, patch: &Patch, targets: &BTreeMap<String, Writable>) -> Result<Draft, ToolError> {
    let disk = Disk { targets, seen: RefCell::default() };
    let changes = v4a::plan(patch, &disk).map_err(|error| {
        let seen = disk.seen.borrow();
        let texts = seen.values().filter_map(|(_, now)| now.text());
        let error = texts.fold(error.to_string(), |error, text| quoted(desk, error, Some(text)));
        ToolError::Tell(json!({"success": false, "error": quoting(desk, &error, None)}))
    })?;
    let mut draft = Draft { steps: Vec::new(), told: Patched::default(), contents: Vec::new() };
    let seen = disk.seen.into_inner();
    for change in changes {
        add(desk, &mut draft, &seen, change).map_err(|reason| failed(format!("{reason} No files were modified.")))?;
    }
    let stale = targets.iter().filter_map(|(given, target)| {
        let (_, now) = seen.get(&target.path().display().to_string())?;
        current::stale(desk, given, target.path(), now)
    });
    let stale: Vec<String> = stale.collect();
    draft.told.stale = (!stale.is_empty()).then(|| stale.join(" "));
    Ok(draft)
}

type Seen = BTreeMap<String, (Writable, Current)>;

fn add(desk: &Desk, draft: &mut Draft, seen: &Seen, change: Change) -> Result<(), String> {
    let entry = |path: &str| seen.get(path).ok_or_else(|| format!("{path} was not looked at."));
    match change {
        Change::Create { path, after } => {
            let (target, now) = entry(&path)?;
            draft.told.diff.push_str(&unified(Sides { before: None, after: Some((&path, &after)) }));
            // What was there may have been moved away by the same patch.
            let left = draft.told.files_deleted.contains(&path);
            let over = match now.about().filter(|_| !left) {
                Some(about) => Over::File(Box::new(about.clone())),
                None => Over::Nothing,
            };
            draft.put(target, None, after, Encoding::Utf8, over)?;
            draft.told.files_created.push(path);
        }
        Change::Update { path, before, after } => {
            let (target, now) = entry(&path)?;
            let about = now.about().ok_or_else(|| format!("{path} is gone."))?;
            let sides = Sides { before: Some((&path, &before)), after: Some((&path, &after)) };
            draft.told.diff.push_str(&quoted(desk, unified(sides), Some(&before)));
            let over = Over::File(Box::new(about.clone()));
            draft.put(target, Some(before), after, now.encoding().unwrap_or_default(), over)?;
            draft.told.files_modified.push(path);
        }
        Change::Delete { path, before } => {
            let (target, now) = entry(&path)?;
            draft.told.diff.push_str(&quoted(desk, gone(&path, before.as_deref()), before.as_deref()));
            draft.remove(target, now)?;
            draft.told.files_deleted.push(path);
        }
        Change::Move { from, to, before, after } => {
            let ((source, now), (target, _)) = (entry(&from)?, entry(&to)?);
            let about = now.about().ok_or_else(|| format!("{from} is gone."))?;
            match after {
                Some(after) => {
                    let old = before.clone().unwrap_or_default();
                    let sides = Sides { before: Some((&from, &old)), after: Some((&to, &after)) };
                    let diff = quoted(desk, unified(sides), Some(&old));
                    draft.told.diff.push_str(&named(&from, &to, &diff));
                    let over = Over::NothingLike(Box::new(about.clone()));
                    draft.put(target, before, after, now.encoding().unwrap_or_default(), over)?;
                    draft.remove(source, now)?;
                }
                None => {
                    draft.told.diff.push_str(&named(&from, &to, ""));
                    let (from, to) = (source.clone(), target.clone());
                    draft.steps.push(Step::Rename { from, to, seen: Stamp::of(about) });
                }
            }
            draft.told.files_created.push(to);
            draft.told.files_deleted.push(from);
        }
    }
    Ok(())
}

impl Draft {
    fn put(
        &mut self,
        target: &Writable,
        before: Option<String>,
        after: String,
        encoding: Encoding,
        over: Over,
    ) -> Result<(), String> {
        let path = target.path();
        if before.as_deref().is_some_and(|before| display::covers_secret(&after, before)) {
            return Err(format!("The patch puts a covered secret (`«redacted:…»`) into {}.", path.display()));
        }
        if let Some(fault) = current::broken_data(path, before.as_deref(), &after) {
            return Err(format!("Refusing to change {}: {fault}", path.display()));
        }
        self.steps.push(Step::Put { target: target.clone(), bytes: encode(&after, encoding), over });
        self.contents.push(Content { target: target.clone(), before, after });
        Ok(())
    }

    fn remove(&mut self, target: &Writable, now: &Current) -> Result<(), String> {
        let about = now.about().ok_or_else(|| format!("{} is gone.", target.path().display()))?;
        self.steps.push(Step::Remove { target: target.clone(), seen: Stamp::of(about) });
        Ok(())
    }
}

fn gone(path: &str, before: Option<&str>) -> String {
    match before {
        Some(before) if !before.is_empty() => unified(Sides { before: Some((path, before)), after: None }),
        _ => format!("--- a/{}\n+++ /dev/null\n", path.trim_start_matches('/')),
    }
}

/// A diff of a file that has another name now; without a change of its text there is nothing else to show.
fn named(from: &str, to: &str, diff: &str) -> String {
    format!("rename from {from}\nrename to {to}\n{diff}")
}
