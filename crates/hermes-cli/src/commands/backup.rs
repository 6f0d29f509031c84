//! `hermes backup` and `hermes import`: a whole home in one file, and back.
//!
//! Databases are copied through SQLite, so a backup can be taken while others write. The file holds keys and logins, and is
//! readable by its owner only. What a backup takes, an import brings back: both go by the same rules. An import first
//! unpacks and checks everything beside the home, then asks, saves what it is about to replace, and only then puts file
//! after file in its place.

mod archive;
mod content;
mod links;
mod restore;
mod snapshot;
mod times;
mod tray;
mod unpack;

use super::person::Person;
use super::{Console, Exit, Trouble};
use crate::settings::Home;
use clap::Args;
use std::path::{Path, PathBuf};

/// Names of files that are told; of more there is only the number.
const NAMES_TOLD: usize = 3;

const WHAT_IS_PACKED: &str = "\
Everything in the home is packed, but not what can be made again or is a copy itself; such is named. At the top of the \
home these are hermes-agent, caches, backups, checkpoints, state-snapshots and what a recovery left; anywhere \
node_modules, virtual environments and compiled Python. Locks and process numbers of running programs stay behind too.

Links are not followed. Those that stay in the home are kept as links; others are named and left out.

The exit code is 1 when something is missing in the backup, or damaged.";

#[derive(Debug, Args)]
#[command(after_help = WHAT_IS_PACKED)]
pub struct BackupArgs {
    /// Where to put it, `-` for standard output [default: ~/hermes-backup-DATE-TIME.zip]
    #[arg(short, long, value_name = "FILE", conflicts_with = "quick")]
    pub output: Option<PathBuf>,

    /// Only copy settings, keys and databases, into the home itself; the newest 20 such copies are kept
    #[arg(short, long)]
    pub quick: bool,

    /// A word for the name of the quick copy
    #[arg(short, long, value_name = "WORD", requires = "quick")]
    pub label: Option<String>,
}

#[derive(Debug, Args)]
pub struct ImportArgs {
    /// A file made by `hermes backup`
    pub file: PathBuf,

    /// Do not ask before files are replaced
    #[arg(short = 'y', long)]
    pub yes: bool,
}

pub async fn run(args: BackupArgs, profile: Option<&str>, console: &mut Console<'_>) -> Exit {
    let outcome = Home::of_process(profile).map_err(Trouble::from).and_then(|home| match args.quick {
        true => quick(&home, args.label.as_deref(), console),
        false => archive::make(&home, args.output, console),
    });
    console.finish(outcome)
}

fn quick(home: &Home, label: Option<&str>, console: &mut Console<'_>) -> Result<Exit, Trouble> {
    let taken = snapshot::take(home, label)?;
    for trouble in &taken.troubles {
        writeln!(console.err, "{trouble}")?;
    }
    writeln!(console.out, "{}", taken.folder.display())?;
    let files = counted(taken.files, "file");
    writeln!(console.err, "Saved {files}, with keys and logins: keep them to yourself.")?;
    Ok(if taken.troubles.is_empty() { Exit::Done } else { Exit::Failed })
}

pub async fn import(args: ImportArgs, profile: Option<&str>, console: &mut Console<'_>) -> Exit {
    let outcome = restore(args, profile, console).await;
    console.finish(outcome)
}

async fn restore(args: ImportArgs, profile: Option<&str>, console: &mut Console<'_>) -> Result<Exit, Trouble> {
    if args.file == Path::new("-") {
        return Err(Trouble::Usage("A backup is read back and forth: save it to a file, and import that.".into()));
    }
    let home = Home::of_process(profile)?;
    let plan = restore::Plan::read(&args.file, &home)?;
    let replaced = plan.replaced();
    let question = (!args.yes && !replaced.is_empty()).then(|| {
        let (number, names) = (counted(replaced.len(), "file"), listed(replaced, NAMES_TOLD));
        format!("This replaces {number} in {}: {names}.", home.dir().display())
    });
    let person = Person::present();
    if let (Some(question), None) = (&question, person) {
        return Err(Trouble::Refused(format!(
            "{question} Nothing was changed.\n\
             Type `hermes import {} -y` to go on; what is replaced is saved in state-snapshots first.",
            args.file.display()
        )));
    }
    if !plan.left_out().is_empty() {
        let (number, names) = (counted(plan.left_out().len(), "file"), listed(plan.left_out(), NAMES_TOLD));
        writeln!(console.err, "Passed over {number} that no backup needs: {names}.")?;
    }
    let staged = plan.stage(&home)?;
    for warning in &staged.warnings {
        writeln!(console.err, "{warning}")?;
    }
    if let (Some(question), Some(person)) = (question, person) {
        writeln!(console.err, "{question} What is replaced is saved in state-snapshots first.")?;
        if !person.confirm("Go on?").await? {
            return Err(Trouble::Refused("Nothing was changed.".into()));
        }
    }
    let done = staged.carry_out(&home)?;
    if let Some(saved) = &done.saved {
        for trouble in &saved.troubles {
            writeln!(console.err, "{trouble}")?;
        }
        writeln!(console.err, "What was replaced is in {}.", saved.folder.display())?;
    }
    writeln!(console.out, "Brought {} back to {}.", counted(done.files, "file"), home.dir().display())?;
    Ok(Exit::Done)
}

/// `1 file`, `2 files`.
fn counted(count: usize, thing: &str) -> String {
    format!("{count} {thing}{}", if count == 1 { "" } else { "s" })
}

/// The first few names: `a, b and 3 more`.
fn listed(names: &[String], most: usize) -> String {
    let first: Vec<String> = names.iter().take(most).map(|name| told(name)).collect();
    let more = match names.len().saturating_sub(most) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    format!("{}{more}", first.join(", "))
}

/// The name of a file as it may be shown: anybody may have given it, and a terminal obeys some characters.
fn told(name: &str) -> String {
    // These are escaped in code, but do nothing on a terminal.
    let plain = name.replace(['\\', '"', '\''], "");
    if plain.escape_debug().to_string() == plain { name.to_owned() } else { name.escape_debug().to_string() }
}
