//! Changes of skills that wait for a person.

use super::{Bench, trouble, write_json};
use crate::commands::paper;
use crate::commands::{Console, Exit, Trouble, table};
use hermes_tools::skills;
use std::time::SystemTime;

pub(super) fn pending(bench: &Bench<'_>, as_json: bool, console: &mut Console<'_>) -> Result<Exit, Trouble> {
    let waiting = skills::pending(bench.settings);
    if as_json {
        return write_json(console, &waiting);
    }
    if waiting.is_empty() {
        writeln!(console.out, "No change of a skill waits for you.")?;
        return Ok(Exit::Done);
    }
    let rows: Vec<[String; 2]> = waiting.iter().map(|one| [one.id.clone(), paper::one_line(&one.summary)]).collect();
    table::write(console.out, &rows)?;
    writeln!(console.out, "`hermes skills approve ID` makes one, `hermes skills reject ID` throws it away;")?;
    writeln!(console.out, "`hermes skills pending --json` shows them whole.")?;
    Ok(Exit::Done)
}

pub(super) fn approve(bench: &Bench<'_>, id: &str, console: &mut Console<'_>) -> Result<Exit, Trouble> {
    let now = SystemTime::from(bench.now);
    let message = skills::approve(bench.settings, bench.scanner, id, now, bench.stop).map_err(trouble)?;
    writeln!(console.out, "{}", paper::shown(&message))?;
    Ok(Exit::Done)
}

pub(super) fn reject(bench: &Bench<'_>, id: &str, console: &mut Console<'_>) -> Result<Exit, Trouble> {
    skills::reject(bench.settings, id).map_err(trouble)?;
    writeln!(console.out, "The change {id} is thrown away.")?;
    Ok(Exit::Done)
}
