//! `hermes tools`: what the agent can do, what it may do, and a way to try each tool by hand.

mod call;
mod info;
mod list;
mod switch;

pub(super) use call::alike;

use super::{Console, Exit, Trouble, paper};
use crate::app::App;
use crate::hands::{self, Hands};
use hermes_core::stop::Stop;
use hermes_tools::gate::Yolo;
use hermes_tools::toolset::Catalogue;
use std::path::PathBuf;
use std::sync::Arc;

/// Columns where no terminal says how many it has.
const USUAL_WIDTH: usize = 80;

const EXAMPLES: &str = "\
Examples:
  hermes tools call read_file '{\"path\": \"notes.txt\"}'
  hermes tools call terminal '{\"command\": \"cargo test\", \"timeout\": 300}' --cwd ~/project
  echo '{\"pattern\": \"TODO\"}' | hermes tools call search_files -

The result is one line of JSON on stdout; questions and warnings go to stderr.
Exit codes: 0 done, 1 failed (a command too) or not allowed, 2 wrong usage,
130 interrupted.";

#[derive(Debug, clap::Args)]
pub struct ToolsArgs {
    #[command(subcommand)]
    pub command: Option<ToolsCommand>,
}

#[derive(Debug, clap::Subcommand)]
pub enum ToolsCommand {
    /// Show every toolset, and which of them the agent uses (the default)
    #[command(alias = "ls")]
    List {
        #[command(flatten)]
        platform: Platform,
        /// As JSON, for programs
        #[arg(long)]
        json: bool,
    },
    /// Let the agent use toolsets
    Enable {
        #[arg(value_name = "TOOLSET", required = true)]
        names: Vec<String>,
        #[command(flatten)]
        platform: Platform,
    },
    /// Take toolsets away from the agent
    Disable {
        #[arg(value_name = "TOOLSET", required = true)]
        names: Vec<String>,
        #[command(flatten)]
        platform: Platform,
    },
    /// Show what a tool or a toolset is, takes and costs
    Info {
        #[arg(value_name = "NAME")]
        name: String,
        /// The definition as the model sees it
        #[arg(long)]
        json: bool,
    },
    /// Call a tool as the model would, through the gate, and print its result
    Call(CallArgs),
}

/// For whom toolsets are chosen.
#[derive(Debug, clap::Args)]
pub struct Platform {
    /// Where the agent is talked to: cli, telegram, discord, …
    #[arg(long, value_name = "NAME", default_value = "cli")]
    pub platform: String,
}

#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct CallArgs {
    #[arg(value_name = "TOOL")]
    pub tool: String,
    /// The arguments as a JSON object; `-` reads them from standard input
    #[arg(value_name = "JSON", default_value = "{}")]
    pub arguments: String,
    /// Run in this directory
    #[arg(long, value_name = "DIR")]
    pub cwd: Option<PathBuf>,
    /// Do not ask about dangerous commands; what is denied for good still does not run
    #[arg(long)]
    pub yolo: bool,
}

pub async fn run(args: ToolsArgs, profile: Option<&str>, console: &mut Console<'_>) -> Exit {
    let outcome = dispatch(args, profile, console).await;
    console.finish(outcome)
}

async fn dispatch(args: ToolsArgs, profile: Option<&str>, console: &mut Console<'_>) -> Result<Exit, Trouble> {
    let app = App::load(profile, None).await?;
    let default = ToolsCommand::List { platform: Platform { platform: "cli".to_owned() }, json: false };
    match args.command.unwrap_or(default) {
        ToolsCommand::List { platform, json } => list::run(&app, &to_look_at(&app), &platform.platform, json, console),
        ToolsCommand::Enable { names, platform } => {
            switch::run(&app, &to_look_at(&app), &names, &platform.platform, switch::To::On, console)
        }
        ToolsCommand::Disable { names, platform } => {
            switch::run(&app, &to_look_at(&app), &names, &platform.platform, switch::To::Off, console)
        }
        ToolsCommand::Info { name, json } => info::run(&app, &to_look_at(&app), &name, json, console),
        ToolsCommand::Call(args) => call::run(&app, args, console).await,
    }
}

/// A word about a platform that neither the program nor the settings know.
pub(super) fn doubt(app: &App, platform: &str, catalogue: &Catalogue<'_>) -> Option<String> {
    let set = hands::effective(app).pointer("/platform_toolsets").and_then(|all| all.get(platform)).is_some();
    let known = set || catalogue.description(&format!("hermes-{platform}")).is_some();
    (!known).then(|| format!("… no platform `{}` is known; the terminal is `cli`", paper::one_line(platform)))
}

/// Hands to look at: nobody listens to them.
pub(super) fn to_look_at(app: &App) -> Hands {
    Hands::new(app, Arc::new(|_| {}), Yolo::Off, &Stop::new())
}
