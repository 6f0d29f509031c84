//! `hermes mcp`: the MCP servers whose tools the agent may use. Looking starts none of them; `add` and `test` start the one
//! they are about, and end it again.

mod add;
mod list;
mod login;
mod test;

use super::waiting::stop_on_signal;
use super::{Console, Exit, Trouble, paper};
use crate::app::App;
use crate::settings::KeyPath;
use crate::settings::edit::{self, Change};
use hermes_mcp::settings::{Found, SECTION, ServerSettings};
use serde_json::Value;

const EXAMPLES: &str = "\
Examples:
  hermes mcp add time --command uvx mcp-server-time
  hermes mcp add files --command npx -y @modelcontextprotocol/server-filesystem ~/notes
  hermes mcp add github --url https://api.githubcopilot.com/mcp \\
      --header 'Authorization=Bearer ${GITHUB_TOKEN}'
  hermes mcp add linear --url https://mcp.linear.app/mcp --oauth
  hermes mcp login linear
  hermes mcp test time

Their tools are called `mcp__SERVER__TOOL`; the toolset of a server is `mcp-SERVER`.";

#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct McpArgs {
    #[command(subcommand)]
    pub command: Option<McpCommand>,
}

#[derive(Debug, clap::Subcommand)]
pub enum McpCommand {
    /// Show the servers (the default)
    #[command(alias = "ls")]
    List {
        /// As JSON, for programs
        #[arg(long)]
        json: bool,
    },
    /// Write a server into the settings and try it
    Add(Box<add::AddArgs>),
    /// Start a server and show its tools
    Test { name: String },
    /// Take a server out of the settings, and its login from this machine
    #[command(alias = "rm")]
    Remove { name: String },
    /// Log in at a server with `auth: oauth`
    #[command(alias = "reauth")]
    Login { name: String },
}

pub async fn run(args: McpArgs, profile: Option<&str>, console: &mut Console<'_>) -> Exit {
    let outcome = dispatch(args, profile, console).await;
    console.finish(outcome)
}

async fn dispatch(args: McpArgs, profile: Option<&str>, console: &mut Console<'_>) -> Result<Exit, Trouble> {
    let app = App::load(profile, None).await?;
    match args.command.unwrap_or(McpCommand::List { json: false }) {
        McpCommand::List { json } => list::run(&app, json, console),
        McpCommand::Remove { name } => remove(&app, &name, console),
        McpCommand::Add(args) => {
            let added = add::run(&app, *args, console)?;
            let stop = stop_on_signal();
            test::after_adding(&App::load(profile, None).await?, &added, &stop, console).await
        }
        McpCommand::Test { name } => {
            let stop = stop_on_signal();
            test::run(&app, &name, &stop, console).await
        }
        McpCommand::Login { name } => login::run(&app, &name, console).await,
    }
}

/// The servers of the settings.
fn found(app: &App) -> Found {
    crate::hands::servers(app)
}

/// A server by its name, where it is switched on.
fn named(app: &App, name: &str) -> Result<ServerSettings, Trouble> {
    let found = found(app);
    if let Some(server) = found.servers.into_iter().find(|server| server.name == name) {
        return Ok(server);
    }
    let wrong: Vec<String> =
        found.problems.iter().filter(|problem| problem.server == name).map(ToString::to_string).collect();
    let name = paper::one_line(name);
    Err(Trouble::Refused(match () {
        () if !wrong.is_empty() => wrong.join("\n"),
        () if found.disabled.contains(&name) => {
            format!(
                "The server `{name}` is switched off; `hermes config set {SECTION}.{name}.enabled true` switches it on."
            )
        }
        () => format!("There is no server `{name}`; `hermes mcp list` shows all, `hermes mcp add` adds one."),
    }))
}

fn remove(app: &App, name: &str, console: &mut Console<'_>) -> Result<Exit, Trouble> {
    let path = KeyPath::of([SECTION, name]);
    let file = edit::change_config(&app.home, |settings: &Value| {
        if path.find(settings).is_none() {
            let name = paper::one_line(name);
            return Err(Trouble::Refused(format!("There is no server `{name}`; `hermes mcp list` shows all.")));
        }
        Ok(vec![Change::Unset(path)])
    })?;
    let had_login = hermes_mcp::forget(app.home.dir(), name)?;
    let login = if had_login { " Its login is forgotten." } else { "" };
    writeln!(console.out, "The server `{}` is taken out of {}.{login}", paper::one_line(name), file.display())?;
    Ok(Exit::Done)
}
