//! The skills that come with the program.

use super::{Bench, agreed, trouble, write_json};
use crate::commands::paper::{self, Paper};
use crate::commands::{Console, Exit, Trouble, table};
use hermes_tools::skills::bundled::{self, State};
use serde_json::json;

pub(super) async fn reset(
    bench: &Bench<'_>,
    name: &str,
    restore: bool,
    yes: bool,
    console: &mut Console<'_>,
) -> Result<Exit, Trouble> {
    if restore && !agreed(&format!("Replace your copy of '{name}' by the original?"), yes).await? {
        return Ok(Exit::Interrupted);
    }
    let put = bundled::reset(name, restore, &bench.settings.around, bench.scanner, bench.stop).map_err(trouble)?;
    match put {
        Some(folder) => writeln!(console.out, "'{name}' is the original again, in {}.", folder.display())?,
        None => writeln!(console.out, "'{name}' stays as it is now; the next version of it replaces it.")?,
    }
    Ok(Exit::Done)
}

pub(super) fn list_modified(bench: &Bench<'_>, as_json: bool, console: &mut Console<'_>) -> Result<Exit, Trouble> {
    let states = bundled::states(&bench.settings.around, bench.scanner).into_iter();
    let changed: Vec<(&str, &str)> = states
        .filter_map(|(skill, state)| match state? {
            State::Modified => Some((skill.name, "changed")),
            State::Deleted => Some((skill.name, "deleted")),
            State::Same | State::Older => None,
        })
        .collect();
    if as_json {
        let rows: Vec<_> = changed.iter().map(|(name, state)| json!({"name": name, "state": state})).collect();
        return write_json(console, &rows);
    }
    if changed.is_empty() {
        writeln!(console.out, "All skills that came with the program are as they came.")?;
        return Ok(Exit::Done);
    }
    let rows: Vec<[String; 2]> =
        changed.iter().map(|(name, state)| [(*name).to_owned(), (*state).to_owned()]).collect();
    table::write(console.out, &rows)?;
    writeln!(console.out, "They are left in peace. `hermes skills diff NAME` shows what you changed,")?;
    writeln!(console.out, "`hermes skills reset NAME --restore` brings the original back.")?;
    Ok(Exit::Done)
}

pub(super) fn diff(bench: &Bench<'_>, name: &str, console: &mut Console<'_>) -> Result<Exit, Trouble> {
    let Some(diff) = bundled::diff(name, &bench.settings.around, bench.scanner) else {
        return Err(Trouble::Refused(format!("No skill '{name}' that comes with the program is here.")));
    };
    if diff.is_empty() {
        writeln!(console.err, "Your '{name}' is the original.")?;
        return Ok(Exit::Done);
    }
    let diff =
        if Paper::of_process().is_terminal() { paper::shown(diff.trim_end()) } else { diff.trim_end().to_owned() };
    writeln!(console.out, "{diff}")?;
    Ok(Exit::Done)
}

pub(super) async fn opt_out(
    bench: &Bench<'_>,
    remove: bool,
    yes: bool,
    console: &mut Console<'_>,
) -> Result<Exit, Trouble> {
    if remove && !agreed("Delete the skills that came with the program and that you did not change?", yes).await? {
        return Ok(Exit::Interrupted);
    }
    let around = &bench.settings.around;
    bundled::want(around, false)?;
    writeln!(console.out, "No skills of the program are copied to this profile any more.")?;
    if remove {
        let removed = bundled::remove_unmodified(around, bench.scanner, bench.stop).map_err(trouble)?;
        writeln!(console.out, "Deleted {}.", table::count(removed.len() as u64, "skill"))?;
    }
    Ok(Exit::Done)
}

pub(super) fn opt_in(bench: &Bench<'_>, sync: bool, console: &mut Console<'_>) -> Result<Exit, Trouble> {
    let around = &bench.settings.around;
    bundled::want(around, true)?;
    if !sync {
        writeln!(console.out, "The skills of the program are copied again when a conversation begins.")?;
        return Ok(Exit::Done);
    }
    let synced = bundled::sync(around, bench.scanner, bench.stop).map_err(trouble)?;
    let (new, kept) = (synced.added.len() + synced.renewed.len(), synced.kept.len());
    writeln!(console.out, "Copied {}.", table::count(new as u64, "skill"))?;
    if kept > 0 {
        writeln!(
            console.out,
            "Left {} as you made them; `hermes skills list-modified` names them.",
            table::count(kept as u64, "skill")
        )?;
    }
    Ok(Exit::Done)
}
