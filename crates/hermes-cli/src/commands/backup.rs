//! `hermes backup` and `hermes import`: a whole home in one file, and back.
//!
//! Databases are copied through SQLite, so a backup can be taken while others write. The file holds keys and logins, and is
//! readable by its owner only. An import first unpacks and checks everything beside the home, then saves what it is about
//! to replace, and only then puts file after file in its place.

mod archive;
mod content;
mod restore;
mod snapshot;
mod unpack;

use super::person::Person;
use super::{Console, Exit, Trouble};
use crate::settings::Home;
use clap::Args;
use std::path::PathBuf;

#[derive(Debug, Args)]
pub struct BackupArgs {
    /// Where to put it [default: ~/hermes-backup-DATE-TIME.zip]
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
    writeln!(console.err, "Saved {} files. They hold keys and logins: keep them to yourself.", taken.files)?;
    Ok(if taken.troubles.is_empty() { Exit::Done } else { Exit::Failed })
}

pub async fn import(args: ImportArgs, profile: Option<&str>, console: &mut Console<'_>) -> Exit {
    let outcome = restore(args, profile, console).await;
    console.finish(outcome)
}

async fn restore(args: ImportArgs, profile: Option<&str>, console: &mut Console<'_>) -> Result<Exit, Trouble> {
    let home = Home::of_process(profile)?;
    let plan = restore::Plan::read(&args.file, &home)?;
    let replaced = plan.replaced();
    if !replaced.is_empty() && !args.yes {
        let what = format!("This replaces {} of the files in {}", replaced.len(), home.dir().display());
        let Some(person) = Person::present() else {
            return Err(Trouble::Refused(format!(
                "{what}. Nothing was changed.\nType `hermes import {} -y` to go on; they are saved in state-snapshots first.",
                args.file.display()
            )));
        };
        writeln!(console.err, "{what}. They are saved in state-snapshots first.")?;
        if person.line("Go on? (yes/no)", "", "").await? != "yes" {
            return Err(Trouble::Refused("Nothing was changed.".into()));
        }
    }
    let done = plan.carry_out(&home)?;
    if let Some(folder) = &done.saved {
        writeln!(console.err, "What was replaced is in {}.", folder.display())?;
    }
    writeln!(console.out, "Brought {} files back to {}.", done.files, home.dir().display())?;
    Ok(Exit::Done)
}
