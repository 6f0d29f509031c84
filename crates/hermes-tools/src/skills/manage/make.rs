//! The change itself: under the lock of all writers, on the newest content, as a whole or not at all.

use super::aim::Aim;
use super::wish::{Change, Wish, checked};
use crate::files::change::{self, Failure, Over, Step};
use crate::files::current::{self, Current};
use crate::files::matching::{self, Occurrences, Scope};
use crate::files::place::Writable;
use crate::files::stamp::Stamp;
use crate::files::text::{Encoding, encode};
use crate::files::write::{self, display};
use crate::settings::Settings;
use crate::skills::parcel::{Parcel, Piece};
use crate::skills::scan::{self, Decision, Trust, decide};
use crate::skills::shelf::{Shelf, ShelfError};
use crate::skills::usage;
use crate::threat::Scanner;
use hermes_core::stop::Stop;
use jiff::Timestamp;
use serde::Serialize;
use std::time::SystemTime;

/// How often a change is made anew because an editor was quicker.
const TRIES: usize = 4;

#[derive(Debug, Serialize)]
pub(super) struct Told {
    success: bool,
    pub(super) message: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    path: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<String>,
}

pub(super) struct Made {
    pub(super) told: Told,
    /// The file that has a new content.
    pub(super) written: Option<Writable>,
}

/// Makes a change. Where it would happen is found anew: another session may have been here since.
pub(super) fn make(
    wish: &Wish,
    settings: &Settings,
    scanner: &Scanner,
    now: SystemTime,
    stop: &Stop,
) -> Result<Made, String> {
    let shelf = Shelf::open(&settings.around.hermes_home).map_err(sentence)?;
    let turn = shelf.turn(stop).map_err(sentence)?;
    let aim = Aim::take(wish, settings, scanner)?;
    if let Change::Delete { absorbed_into } = &wish.change {
        turn.remove(&aim.below).map_err(sentence)?;
        usage::forget(&turn, &aim.name);
        let heir = absorbed_into.as_ref().map(|heir| format!(" Its content is in '{heir}' now.")).unwrap_or_default();
        let message = format!("The skill '{}' is deleted.{heir}", aim.name);
        return Ok(Made { told: Told { success: true, message, path: None, hint: None }, written: None });
    }
    let done = land(wish, &aim, settings, scanner)?;
    if !matches!(wish.change, Change::Create { .. }) {
        usage::patched(&turn, &aim.name, Timestamp::try_from(now).unwrap_or(Timestamp::UNIX_EPOCH));
    }
    let written = !matches!(wish.change, Change::RemoveFile { .. });
    Ok(Made { told: told(wish, &aim, &done), written: written.then(|| aim.target.clone()) })
}

/// Plans and changes, again when somebody without our lock was quicker. Says how often a text was replaced.
fn land(wish: &Wish, aim: &Aim, settings: &Settings, scanner: &Scanner) -> Result<usize, String> {
    let mut tries = 0;
    loop {
        tries += 1;
        let now = current::look(&aim.target)?;
        let (after, count) = after(wish, aim, &now)?;
        if settings.skills.guard_agent_created {
            guard(wish, aim, after.as_deref(), scanner)?;
        }
        let step = match (after, now.about()) {
            (Some(text), about) => {
                let bytes = encode(&text, now.encoding().unwrap_or(Encoding::Utf8));
                let over = about.map_or(Over::Nothing, |about| Over::File(Box::new(about.clone())));
                Step::Put { target: aim.target.clone(), bytes, over }
            }
            (None, Some(about)) => Step::Remove { target: aim.target.clone(), seen: Stamp::of(about) },
            (None, None) => return Err(format!("The skill '{}' has no such file.", aim.name)),
        };
        match change::apply(vec![step]) {
            Ok(_) => {
                if let (Change::RemoveFile { .. }, Some(folder)) = (&wish.change, aim.path().parent()) {
                    // A folder that holds something else stays.
                    let _ = std::fs::remove_dir(folder);
                }
                return Ok(count);
            }
            Err(Failure::Overtaken(_)) if tries < TRIES => {}
            Err(failure) => return Err(write::told(&failure)),
        }
    }
}

/// What the file holds afterwards, nothing when it goes, and how often a text was replaced.
fn after(wish: &Wish, aim: &Aim, now: &Current) -> Result<(Option<String>, usize), String> {
    let file = wish.file().unwrap_or_default();
    let (after, count) = match &wish.change {
        Change::Create { .. } if now.about().is_some() => {
            return Err(format!("{} is there already. Patch it, or use another name.", aim.path().display()));
        }
        Change::Create { content, .. } | Change::Edit { content } | Change::WriteFile { content, .. } => {
            (content.clone(), 0)
        }
        Change::Patch { old, new, all, .. } => {
            let text = now.text().ok_or_else(|| format!("The skill '{}' has no text file '{file}'.", aim.name))?;
            let occurrences = if *all { Occurrences::All } else { Occurrences::Only };
            let edit = matching::Edit { old, new, occurrences, scope: Scope::Text };
            let edited = matching::replace(text, &edit).map_err(|error| format!("{file}: {error}"))?;
            (edited.text, edited.count)
        }
        Change::RemoveFile { .. } | Change::Delete { .. } => return Ok((None, 0)),
    };
    if let Some(fault) = display::fault(&after, Some(now.text().unwrap_or_default())) {
        return Err(fault);
    }
    let after = checked(file, after).map_err(|why| match &wish.change {
        Change::Patch { .. } => format!("The patch would break {file}: {why} Nothing was changed."),
        _ => why,
    })?;
    Ok((Some(after), count))
}

/// Where the owner wants skills of the agent checked: nothing dangerous is written at all.
fn guard(wish: &Wish, aim: &Aim, after: Option<&str>, scanner: &Scanner) -> Result<(), String> {
    let mut parcel = match &wish.change {
        Change::Create { .. } => Parcel::default(),
        _ => Parcel::read(&aim.folder()).map_err(|error| format!("{error}."))?,
    };
    if let (Some(file), Some(text)) = (wish.file(), after) {
        let executable = parcel.files.get(file).is_some_and(|piece| piece.executable);
        parcel.files.insert(file.to_owned(), Piece { bytes: text.as_bytes().to_vec(), executable });
    }
    let report = scan::scan(&parcel, scanner);
    match decide(Trust::AgentCreated, report.verdict()) {
        Decision::Allow => Ok(()),
        Decision::Ask | Decision::Block => Err(format!(
            "Not written: the skill would be dangerous (skills.guard_agent_created).\n{}\nLeave that out, or ask the person.",
            report.worst()
        )),
    }
}

fn told(wish: &Wish, aim: &Aim, count: &usize) -> Told {
    let Aim { name, below, .. } = aim;
    let file = wish.file().unwrap_or_default();
    let message = match &wish.change {
        Change::Create { .. } => {
            format!("The skill '{name}' is there. New conversations list it; skill_view loads it now.")
        }
        Change::Edit { .. } => format!("The skill '{name}' has a new SKILL.md."),
        Change::Patch { .. } => format!("{file} of the skill '{name}' is patched ({count} replaced)."),
        Change::WriteFile { .. } => format!("{file} of the skill '{name}' is written."),
        Change::RemoveFile { .. } => format!("{file} of the skill '{name}' is removed."),
        Change::Delete { .. } => format!("The skill '{name}' is deleted."),
    };
    let hint = match &wish.change {
        Change::Create { .. } => Some(format!(
            "Longer material goes to files: skill_manage(action=\"write_file\", name=\"{name}\", \
             file_path=\"references/…\", file_content=…), and is named in SKILL.md."
        )),
        Change::WriteFile { .. } if !aim.is_skill_file() => {
            Some(format!("Name {file} in SKILL.md, so that it is found."))
        }
        _ => None,
    };
    Told { success: true, message, path: Some(below.clone()), hint }
}

fn sentence(error: ShelfError) -> String {
    format!("{error}.")
}
