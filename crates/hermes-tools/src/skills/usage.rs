//! `.usage.json`: how often skills were changed, and which of them are pinned. Shared with the Python program, which locks
//! it the same way.

use super::shelf::{Shelf, ShelfError, Turn};
use hermes_types::Object;
use jiff::Timestamp;
use serde_json::{Value, json};
use std::fs::OpenOptions;
use std::os::unix::fs::OpenOptionsExt as _;

const FILE: &str = ".usage.json";
const LOCK: &str = ".usage.json.lock";

/// Whether the person wants a skill to stay, whatever the agent thinks of it.
pub(super) fn is_pinned(shelf: &Shelf, skill: &str) -> bool {
    load(shelf).get(skill).and_then(|record| record.get("pinned")).and_then(Value::as_bool) == Some(true)
}

/// Counts a change.
pub(super) fn patched(turn: &Turn<'_>, skill: &str, now: Timestamp) {
    let now = now.to_string();
    change(turn, |all| {
        let record = all.entry(skill.to_owned()).or_insert_with(|| fresh(&now));
        if let Some(record) = record.as_object_mut() {
            let count = record.get("patch_count").and_then(Value::as_u64).unwrap_or_default() + 1;
            record.insert("patch_count".to_owned(), json!(count));
            record.insert("last_patched_at".to_owned(), json!(now));
        }
    });
}

pub(super) fn forget(turn: &Turn<'_>, skill: &str) {
    change(turn, |all| drop(all.remove(skill)));
}

fn fresh(now: &str) -> Value {
    json!({
        "created_by": null, "use_count": 0, "view_count": 0, "last_used_at": null, "last_viewed_at": null,
        "patch_count": 0, "last_patched_at": null, "created_at": now, "state": "active", "pinned": false,
        "archived_at": null
    })
}

fn load(shelf: &Shelf) -> Object {
    let text = shelf.place(FILE).ok().and_then(|path| std::fs::read(path).ok()).unwrap_or_default();
    serde_json::from_slice(&text).unwrap_or_default()
}

/// Counters are a convenience: one that cannot be written costs the log a line and the change nothing.
fn change(turn: &Turn<'_>, edit: impl FnOnce(&mut Object)) {
    let write = || -> Result<(), ShelfError> {
        let path = turn.shelf().place(LOCK)?;
        let failed = |reason| ShelfError::Disk { path: path.clone(), reason };
        let lock = OpenOptions::new().create(true).append(true).mode(0o600).open(&path).map_err(failed)?;
        lock.lock().map_err(failed)?;
        let mut all = load(turn.shelf());
        let before = all.clone();
        edit(&mut all);
        if all == before {
            return Ok(());
        }
        turn.keep(FILE, &serde_json::to_vec_pretty(&all).unwrap_or_default())
    };
    if let Err(error) = write() {
        tracing::warn!(%error, "how often skills are used was not written down");
    }
}
