//! The skills there are.

use super::{Bench, write_json};
use crate::commands::paper::{self, Paper};
use crate::commands::{Console, Exit, Trouble, table};
use clap::ValueEnum;
use hermes_tools::skills::inventory::{Held, Origin, inventory};

#[derive(Debug, Default, clap::Args)]
pub struct ListArgs {
    /// Only those from here
    #[arg(long, value_enum, default_value_t)]
    source: From,
    /// Leave out those that are switched off
    #[arg(long)]
    enabled_only: bool,
    /// As JSON, for programs
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
enum From {
    #[default]
    All,
    /// Installed from elsewhere
    Hub,
    /// Came with the program
    Builtin,
    /// Written here, also those of skills.external_dirs
    Local,
}

impl From {
    fn fits(self, origin: Origin) -> bool {
        match self {
            Self::All => true,
            Self::Hub => origin == Origin::Hub,
            Self::Builtin => origin == Origin::Builtin,
            Self::Local => matches!(origin, Origin::Local | Origin::External),
        }
    }
}

pub(super) fn list(bench: &Bench<'_>, how: &ListArgs, console: &mut Console<'_>) -> Result<Exit, Trouble> {
    let mut held = inventory(bench.settings, bench.scanner, &bench.hub());
    held.retain(|one| how.source.fits(one.source) && (one.enabled || !how.enabled_only));
    if how.json {
        return write_json(console, &held);
    }
    if held.is_empty() {
        let folder = bench.settings.around.hermes_home.join("skills");
        let kind = if how.source == From::All { "no skills" } else { "no such skills" };
        let mut out = console.sentences();
        writeln!(out, "There are {kind}; they live in {}.", folder.display())?;
        writeln!(out, "`hermes skills install` brings one, `hermes skills opt-in --sync` those of the program.")?;
        return Ok(Exit::Done);
    }
    let row = |one: &Held| {
        let state = if one.enabled { "" } else { "off" };
        let from =
            one.trust.as_ref().map_or(one.source.name().to_owned(), |trust| format!("{}, {trust}", one.source.name()));
        [&one.name, &one.category, &from, state, &one.description].map(|cell: &str| paper::one_line(cell))
    };
    let rows: Vec<[String; 5]> = held.iter().map(row).collect();
    table::write_within(Paper::of_process().width, console.out, &rows)?;
    for misread in held.iter().filter_map(|one| one.misread.as_ref()) {
        writeln!(console.err, "… {}; it is read line by line", paper::one_line(misread))?;
    }
    writeln!(console.out, "{}. `hermes skills view NAME` prints one.", table::count(held.len() as u64, "skill"))?;
    Ok(Exit::Done)
}
