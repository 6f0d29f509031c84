//! Changes of skills that wait for the person: `pending/skills/<id>.json`, in the form of the Python program.

use super::make;
use super::wish::{ManageArgs, Wish};
use crate::memory::{Pending, Subsystem};
use crate::settings::Settings;
use crate::skills::frontmatter::Frontmatter;
use crate::threat::Scanner;
use hermes_core::stop::Stop;
use serde::Serialize;
use std::path::PathBuf;
use std::time::SystemTime;

const ROOM: &str = "pending/skills";

/// What the model is told of a change that waits.
#[derive(Debug, Serialize)]
pub(super) struct Staged {
    success: bool,
    staged: bool,
    pending_id: String,
    gist: String,
    message: &'static str,
}

pub(super) fn room(settings: &Settings) -> PathBuf {
    settings.around.hermes_home.join(ROOM)
}

/// Puts a change away until a person approves it.
pub(super) fn stage(settings: &Settings, args: &ManageArgs, now: SystemTime) -> Result<Staged, String> {
    let gist = gist(args);
    let payload = serde_json::to_value(args).map_err(|error| error.to_string())?;
    let pending = Pending::of(Subsystem::Skills, args.action.trim(), gist.clone(), payload, now);
    let room = room(settings);
    let pending_id = pending.keep(&room).map_err(|error| format!("{} cannot be written: {error}.", room.display()))?;
    let message = "The change waits for the person: `hermes skills pending` shows it, `hermes skills approve ID` makes it. \
                   Go on without it.";
    Ok(Staged { success: true, staged: true, pending_id, gist, message })
}

/// One line for the person who decides.
fn gist(args: &ManageArgs) -> String {
    let (name, lines) = (&args.name, |text: &Option<String>| text.as_ref().map_or(0, |text| text.lines().count()));
    let file = args.file_path.as_deref().unwrap_or("SKILL.md");
    match args.action.trim() {
        action @ ("create" | "edit") => {
            let verb = if action == "create" { "create" } else { "rewrite" };
            let content = args.content.as_deref().unwrap_or_default();
            let about = Frontmatter::split(content).0.text("description").unwrap_or_default();
            format!("{verb} '{name}': {about} ({} characters)", content.chars().count())
        }
        "patch" => format!("patch '{name}' {file} (+{}/-{} lines)", lines(&args.new_string), lines(&args.old_string)),
        "write_file" => format!("write {file} in '{name}'"),
        "remove_file" => format!("remove {file} from '{name}'"),
        _ => format!("delete skill '{name}'"),
    }
}

/// The changes that wait, the oldest first.
pub fn pending(settings: &Settings) -> Vec<Pending> {
    crate::memory::pending::all(&room(settings))
}

/// Makes a change that waited, on the skill as it is now. It stays where it is when it cannot be made.
pub fn approve(
    settings: &Settings,
    scanner: &Scanner,
    id: &str,
    now: SystemTime,
    stop: &Stop,
) -> Result<String, String> {
    let room = room(settings);
    let pending = crate::memory::pending::one(&room, id).ok_or_else(|| unknown(id))?;
    let args: ManageArgs = serde_json::from_value(pending.payload().clone())
        .map_err(|error| format!("The change {id} cannot be read ({error}); reject it."))?;
    let made = make::make(&Wish::read(&args)?, settings, scanner, now, stop)?;
    reject(settings, id)?;
    Ok(made.told.message)
}

/// Throws a change away that waited.
pub fn reject(settings: &Settings, id: &str) -> Result<(), String> {
    crate::memory::pending::drop(&room(settings), id).map_err(|_| unknown(id))
}

fn unknown(id: &str) -> String {
    format!("No change of a skill with the id {id} waits; `hermes skills pending` lists them.")
}
