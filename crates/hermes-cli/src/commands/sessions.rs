//! `hermes sessions`: past conversations, found, read, named and removed.
//!
//! Every command works on the store port. A session is named by its id, the beginning of its id, or its title. Stdout
//! carries what was asked for, `--json` one value (docs/sessions.md has the shapes); everything else goes to stderr.

mod change;
mod compress;
mod cost;
mod export;
mod fork;
mod lineage;
mod list;
mod name;
mod prune;
mod recover;
mod replay;
mod search;
mod show;
mod stats;
mod when;

use super::table::count;
use super::{Console, Exit, Trouble, paper};
use crate::memory;
use crate::settings::Home;
use clap::{Args, Subcommand};
use hermes_core::store::SessionStore;
use paper::{Paper, json_pretty, one_line};
use serde::Serialize;
use when::Clock;

const EXAMPLES: &str = "\
Examples:
  hermes sessions                            the newest conversations
  hermes sessions show \"Fix the build\"       read one, by title or id
  hermes sessions search docker NOT compose --since 2w
  hermes sessions export --all -o all.jsonl
  hermes sessions prune --older-than 90d --dry-run

A time is how long ago (5h, 2d, 1w, or a number of days) or a date
(2026-07-05, \"2026-07-05 14:30\").";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct SessionsArgs {
    #[command(subcommand)]
    pub command: Option<SessionsCommand>,
    #[command(flatten)]
    pub list: list::ListArgs,
}

#[derive(Debug, Subcommand)]
pub enum SessionsCommand {
    #[command(flatten)]
    Whole(StoreCommand),
    /// Make a conversation shorter now, with a summary in the place of its older part
    Compress(compress::CompressArgs),
    /// Save what can be read of a damaged file into a new one
    Recover(recover::RecoverArgs),
}

/// The commands that need a store in order.
#[derive(Debug, Subcommand)]
pub enum StoreCommand {
    /// List conversations, the newest first (the default)
    #[command(alias = "ls")]
    List(list::ListArgs),
    /// Read a conversation
    Show(show::ShowArgs),
    /// Find something that was said; finding nothing is no failure
    Search(search::SearchArgs),
    /// Write conversations to a file or to stdout
    Export(export::ExportArgs),
    /// Give a conversation another title; an empty one takes it away
    Rename(change::RenameArgs),
    /// Delete conversations
    #[command(alias = "rm")]
    Delete(change::DeleteArgs),
    /// Delete old conversations that have ended
    Prune(prune::PruneArgs),
    /// The store in numbers
    Stats(stats::StatsArgs),
    /// Copy a conversation, to try another way from there
    Branch(change::BranchArgs),
    /// Go back to a message: a copy up to there, to go on with
    Fork(fork::ForkArgs),
    /// Hold a recorded conversation again without network, and compare what would be sent
    Replay(replay::ReplayArgs),
    /// What a conversation cost, sub-agents and side jobs included
    Cost(cost::CostArgs),
    /// Draw how conversations descend from each other
    Lineage(lineage::LineageArgs),
}

/// What every command works with.
struct Desk<'a> {
    store: &'a dyn SessionStore,
    clock: Clock,
    paper: Paper,
}

pub async fn run(args: SessionsArgs, profile: Option<&str>, console: &mut Console<'_>) -> Exit {
    let outcome = match Home::of_process(profile) {
        Ok(home) => in_home(args, &home, profile, console).await,
        Err(error) => Err(error.into()),
    };
    console.finish(outcome)
}

async fn in_home(
    args: SessionsArgs,
    home: &Home,
    profile: Option<&str>,
    console: &mut Console<'_>,
) -> Result<Exit, Trouble> {
    // Only what stands alone may have the options of the list; `-p` may stand anywhere.
    if args.command.is_some() && !args.list.is_plain() {
        return Err(Trouble::Usage(
            "options go behind the command they are for: `hermes sessions show NAME --json`.".into(),
        ));
    }
    let command = match args.command {
        Some(SessionsCommand::Compress(args)) => return compress::run(args, profile, console).await,
        Some(SessionsCommand::Recover(args)) => return recover::run(args, home, console).await,
        Some(SessionsCommand::Whole(command)) => command,
        None => StoreCommand::List(args.list),
    };
    if let StoreCommand::Search(args) = &command {
        // A mistake of the command line is one in an empty home, too.
        search::words(&args.query)?;
    }
    let Some(store) = memory::open_existing(home).await? else { return nothing_yet(&command, console) };
    let desk = Desk { store: &store, clock: Clock::of_process(), paper: Paper::of_process() };
    let outcome = act(command, &desk, console).await;
    store.close().await;
    outcome
}

async fn act(command: StoreCommand, desk: &Desk<'_>, console: &mut Console<'_>) -> Result<Exit, Trouble> {
    match command {
        StoreCommand::List(args) => list::run(args, desk, console).await,
        StoreCommand::Show(args) => show::run(args, desk, console).await,
        StoreCommand::Search(args) => search::run(args, desk, console).await,
        StoreCommand::Export(args) => export::run(args, desk, console).await,
        StoreCommand::Rename(args) => change::rename(args, desk, console).await,
        StoreCommand::Delete(args) => change::delete(args, desk, console).await,
        StoreCommand::Prune(args) => prune::run(args, desk, console).await,
        StoreCommand::Stats(args) => stats::run(args, desk, console).await,
        StoreCommand::Branch(args) => change::branch(args, desk, console).await,
        StoreCommand::Fork(args) => fork::run(args, desk, console).await,
        StoreCommand::Replay(args) => replay::run(args, desk, console).await,
        StoreCommand::Cost(args) => cost::run(args, desk, console).await,
        StoreCommand::Lineage(args) => lineage::run(args, desk, console).await,
    }
}

/// A home in which nothing was ever said. Looking around is fine there; a session to name or to export there is none.
fn nothing_yet(command: &StoreCommand, console: &mut Console<'_>) -> Result<Exit, Trouble> {
    let json = match command {
        StoreCommand::List(args) if args.json => Some("[]"),
        StoreCommand::Search(args) if args.json => Some(search::NOTHING),
        StoreCommand::Stats(args) if args.json => Some("null"),
        StoreCommand::List(_) | StoreCommand::Search(_) | StoreCommand::Stats(_) | StoreCommand::Prune(_) => None,
        _ => return Err(Trouble::Refused(NO_STORE.into())),
    };
    if let Some(json) = json {
        writeln!(console.out, "{json}")?;
    }
    writeln!(console.err, "{NO_STORE}")?;
    Ok(Exit::Done)
}

/// What stands for a conversation without a word.
const NOTHING_SAID: &str = "(nothing said)";

/// What a conversation is called where it has no other name: its title, or the question it begins with.
fn called(title: Option<&str>, preview: &str) -> String {
    match title {
        Some(title) => one_line(title),
        None if preview.is_empty() => NOTHING_SAID.to_owned(),
        None => one_line(preview),
    }
}

const NO_STORE: &str = "There are no conversations yet. `hermes -z \"why is the sky blue?\"` begins one.";

/// A number of things to show.
fn at_least_one(typed: &str) -> Result<usize, String> {
    match typed.parse() {
        Ok(0) => Err("one is the least that can be shown".into()),
        Ok(number) => Ok(number),
        Err(_) => Err("this is no whole number".into()),
    }
}

impl Desk<'_> {
    /// One JSON value on stdout.
    fn print_json(&self, value: &impl Serialize, console: &mut Console<'_>) -> Result<Exit, Trouble> {
        let text = json_pretty(value).map_err(std::io::Error::from)?;
        writeln!(console.out, "{text}")?;
        Ok(Exit::Done)
    }

    fn time(&self, typed: Option<&str>) -> Result<Option<hermes_types::Moment>, Trouble> {
        let parsed = typed.map(|typed| self.clock.parse(typed)).transpose();
        parsed.map_err(|error| Trouble::Usage(error.to_string()))
    }
}
