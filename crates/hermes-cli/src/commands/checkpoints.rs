//! `hermes checkpoints`: the snapshots that were taken of a project before it was changed, and the way back to them.
//!
//! Looking changes nothing. Going back keeps the state before as a checkpoint of its own, so it can be taken back too.

use super::paper::{self, Paper};
use super::waiting::stop_on_signal;
use super::{Console, Exit, Trouble, table};
use crate::app::App;
use crate::hands::Hands;
use hermes_core::stop::Stop;
use hermes_tools::checkpoint::{Changes, Checkpoint, CheckpointFault, Checkpoints, Pruned, Restored, Which};
use hermes_tools::gate::Yolo;
use jiff::tz::TimeZone;
use serde::Serialize;
use std::path::{Path, PathBuf};
use std::sync::Arc;

const EXAMPLES: &str = "\
Examples:
  hermes checkpoints                         the checkpoints of the project you are in
  hermes checkpoints diff 1                  what has changed since the newest
  hermes checkpoints restore 1               go back to it
  hermes checkpoints restore 2 src/main.rs   bring back one file

Checkpoints are taken where `checkpoints.enabled` is true.";

#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct CheckpointsArgs {
    #[command(subcommand)]
    pub command: Option<CheckpointsCommand>,
    /// The project around this directory instead of the current one
    #[arg(long, value_name = "DIR", global = true)]
    pub cwd: Option<PathBuf>,
}

#[derive(Debug, clap::Subcommand)]
pub enum CheckpointsCommand {
    /// Show the checkpoints of a project, the newest first (the default)
    #[command(alias = "ls")]
    List {
        /// As JSON, for programs
        #[arg(long)]
        json: bool,
    },
    /// Show how the project differs from a checkpoint now
    Diff {
        /// Its number in the list, or its hash
        #[arg(value_name = "N")]
        which: String,
    },
    /// Make the project, or one file of it, as it was
    Restore {
        /// Its number in the list, or its hash
        #[arg(value_name = "N")]
        which: String,
        /// Only this file or directory
        #[arg(value_name = "FILE")]
        file: Option<PathBuf>,
    },
    /// Delete what is too old, too much, or of a project that is gone
    Prune,
}

pub async fn run(args: CheckpointsArgs, profile: Option<&str>, console: &mut Console<'_>) -> Exit {
    let outcome = dispatch(args, profile, console).await;
    console.finish(outcome)
}

async fn dispatch(args: CheckpointsArgs, profile: Option<&str>, console: &mut Console<'_>) -> Result<Exit, Trouble> {
    let app = App::load(profile, None).await?;
    let stop = stop_on_signal();
    let hands = Hands::new(&app, Arc::new(|_| {}), Yolo::Off, &stop);
    hands.tell_warnings(console)?;
    let checkpoints = &hands.shop.checkpoints;
    let dir = super::directory(args.cwd, &app.knowledge.cwd)?;
    let command = args.command.unwrap_or(CheckpointsCommand::List { json: false });
    let work = async {
        match command {
            CheckpointsCommand::List { json } => list(&hands, &dir, json, console).await,
            CheckpointsCommand::Diff { which } => diff(checkpoints, &dir, &which, console).await,
            CheckpointsCommand::Restore { which, file } => {
                restore(checkpoints, &dir, &which, file.as_deref(), console).await
            }
            CheckpointsCommand::Prune => {
                let pruned = checkpoints.tidy().await.map_err(trouble)?;
                writeln!(console.out, "{}", told(&pruned))?;
                Ok(Exit::Done)
            }
        }
    };
    unless_stopped(work, &stop).await
}

/// Git ends with the future that waits for it.
async fn unless_stopped(work: impl Future<Output = Result<Exit, Trouble>>, stop: &Stop) -> Result<Exit, Trouble> {
    tokio::select! {
        biased;
        () = stop.wait() => Err(Trouble::Interrupted),
        done = work => done,
    }
}

/// A checkpoint as programs read it.
#[derive(Serialize)]
struct Row<'a> {
    number: usize,
    hash: &'a str,
    taken: String,
    reason: &'a str,
    changes: &'a str,
}

impl<'a> Row<'a> {
    fn of(one: &'a Checkpoint) -> Self {
        let Checkpoint { number, hash, taken, reason, changes } = one;
        Self { number: *number, hash, taken: taken.to_string(), reason, changes }
    }
}

async fn list(hands: &Hands, dir: &Path, as_json: bool, console: &mut Console<'_>) -> Result<Exit, Trouble> {
    let found = hands.shop.checkpoints.list(dir).await.map_err(trouble)?;
    if as_json {
        let rows: Vec<Row<'_>> = found.iter().map(Row::of).collect();
        writeln!(console.out, "{}", paper::json_pretty(&rows).map_err(std::io::Error::other)?)?;
        return Ok(Exit::Done);
    }
    if found.is_empty() {
        writeln!(console.out, "There are no checkpoints of the project around {}.", dir.display())?;
        if !hands.shop.settings.checkpoints.enabled {
            writeln!(console.out, "None are taken; `hermes config set checkpoints.enabled true` changes that.")?;
        }
        return Ok(Exit::Done);
    }
    let line = |one: &Checkpoint| {
        [one.number.to_string(), short(one), time(one), paper::one_line(&one.changes), paper::one_line(&one.reason)]
    };
    let rows: Vec<[String; 5]> = found.iter().map(line).collect();
    table::write_within(Paper::of_process().width, console.out, &rows)?;
    writeln!(console.out, "Look with `hermes checkpoints diff N`.")?;
    writeln!(console.out, "Go back with `hermes checkpoints restore N [FILE]`.")?;
    Ok(Exit::Done)
}

async fn diff(checkpoints: &Checkpoints, dir: &Path, which: &str, console: &mut Console<'_>) -> Result<Exit, Trouble> {
    let Changes { since, summary, diff, cut } = checkpoints.diff(dir, &named(which)?).await.map_err(trouble)?;
    if diff.trim().is_empty() {
        writeln!(console.err, "Nothing has changed since checkpoint {} ({}).", since.number, short(&since))?;
        return Ok(Exit::Done);
    }
    writeln!(console.err, "Since checkpoint {} ({}, {}):", since.number, short(&since), time(&since))?;
    writeln!(console.err, "{}\n", paper::shown(summary.trim_end()))?;
    // A program that applies the diff needs every byte of it; a terminal must not obey them.
    let diff =
        if Paper::of_process().is_terminal() { paper::shown(diff.trim_end()) } else { diff.trim_end().to_owned() };
    writeln!(console.out, "{diff}")?;
    if cut {
        writeln!(console.err, "… the diff is longer; only its beginning is shown.")?;
    }
    Ok(Exit::Done)
}

async fn restore(
    checkpoints: &Checkpoints,
    dir: &Path,
    which: &str,
    file: Option<&Path>,
    console: &mut Console<'_>,
) -> Result<Exit, Trouble> {
    let Restored { project, to, before, written, removed, failed } =
        checkpoints.restore(dir, &named(which)?, file).await.map_err(trouble)?;
    let where_to = format!("checkpoint {} ({}, {})", to.number, short(&to), time(&to));
    if written.is_empty() && removed.is_empty() && failed.is_empty() {
        writeln!(console.out, "Nothing to do: {} is as it was at {where_to}.", what(&project, file))?;
        return Ok(Exit::Done);
    }
    writeln!(console.out, "{} went back to {where_to}.", what(&project, file))?;
    for (word, files) in [("written", &written), ("removed", &removed)] {
        for path in files {
            writeln!(console.out, "  {word}  {}", paper::one_line(&path.display().to_string()))?;
        }
    }
    for (path, reason) in &failed {
        writeln!(console.err, "  not done  {}: {reason}", paper::one_line(&path.display().to_string()))?;
    }
    if let Some(before) = before {
        let before: String = before.chars().take(SHORT).collect();
        writeln!(console.out, "`hermes checkpoints restore {before}` takes this back; the numbers moved on by one.")?;
    }
    Ok(if failed.is_empty() { Exit::Done } else { Exit::Failed })
}

fn what(project: &Path, file: Option<&Path>) -> String {
    paper::one_line(&file.unwrap_or(project).display().to_string())
}

fn told(pruned: &Pruned) -> String {
    let Pruned { projects, snapshots, bytes } = *pruned;
    let (projects, snapshots) =
        (table::count(projects as u64, "project"), table::count(snapshots as u64, "checkpoint"));
    format!("Deleted {snapshots} and {projects} that are gone; {} are free again.", table::size(bytes))
}

fn named(which: &str) -> Result<Which, Trouble> {
    which.parse().map_err(trouble)
}

fn trouble(fault: CheckpointFault) -> Trouble {
    match fault {
        CheckpointFault::NotANumber(_) => Trouble::Usage(fault.to_string()),
        fault => Trouble::Refused(format!("{fault}.")),
    }
}

/// Digits of a hash that tell checkpoints apart.
const SHORT: usize = 8;

fn short(one: &Checkpoint) -> String {
    one.hash.chars().take(SHORT).collect()
}

fn time(one: &Checkpoint) -> String {
    one.taken.to_zoned(TimeZone::system()).strftime("%Y-%m-%d %H:%M").to_string()
}
