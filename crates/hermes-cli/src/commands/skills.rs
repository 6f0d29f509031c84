//! `hermes skills`: what the agent knows how to do, where it is from, and what comes from elsewhere.

mod bundled;
mod install;
mod list;
mod look;
mod setup;
mod waiting;

use super::waiting::stop_on_signal;
use super::{Console, Exit, Trouble, paper};
use crate::app::App;
use crate::hands;
use crate::web::Shop;
use hermes_core::stop::Stop;
use hermes_tools::settings::Settings;
use hermes_tools::skills::hub::{Fetch, Hub, HubError};
use hermes_tools::skills::scan::Force;
use hermes_tools::threat::Scanner;
use jiff::Timestamp;
use serde::Serialize;

const EXAMPLES: &str = "\
Examples:
  hermes skills                                    all skills, and where each is from
  hermes skills inspect ./my-skill                 what is in it, and what the scan says
  hermes skills install ./my-skill
  hermes skills install openai/skills/skill-creator
  hermes skills install https://example.org/skills.git#cook --category kitchen
  hermes skills update                             everything that has changed at its source
  hermes skills audit                              scan what is installed again

Exit codes: 0 done, 1 failed, refused or (audit, check) something found, 2 wrong usage.";

#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct SkillsArgs {
    #[command(subcommand)]
    pub command: Option<SkillsCommand>,
}

#[derive(Debug, clap::Subcommand)]
pub enum SkillsCommand {
    /// Show the skills there are (the default)
    #[command(alias = "ls")]
    List(list::ListArgs),
    /// Print a skill, or one of its files
    #[command(alias = "show")]
    View {
        name: String,
        /// A file below it, such as references/api.md
        #[arg(value_name = "FILE")]
        file: Option<String>,
    },
    /// Search the lists of skills that can be installed (skills.hub_indexes)
    Search {
        /// Words that must be in a line of the list
        query: String,
        #[command(flatten)]
        how: look::SearchArgs,
    },
    /// Show all of those lists
    Browse {
        #[command(flatten)]
        how: look::SearchArgs,
    },
    /// Look at a skill without installing it
    Inspect {
        /// A folder, a git address, owner/repository/folder on GitHub, the https address of a SKILL.md, or a name in a list
        #[arg(value_name = "SKILL")]
        identifier: String,
        /// As JSON, for programs
        #[arg(long)]
        json: bool,
    },
    /// Install a skill from elsewhere
    Install(install::InstallArgs),
    /// Set the variables that a skill asks for, and let commands see them
    Setup { name: String },
    /// See whether installed skills have changed at their source
    Check {
        name: Option<String>,
        /// As JSON, for programs
        #[arg(long)]
        json: bool,
    },
    /// Bring installed skills to what their source has now
    Update {
        name: Option<String>,
        /// Also replace what you changed, and what the scan finds doubtful
        #[arg(long)]
        force: bool,
    },
    /// Scan installed skills again
    Audit {
        name: Option<String>,
        /// As JSON, for programs
        #[arg(long)]
        json: bool,
    },
    /// Remove a skill that was installed
    #[command(aliases = ["remove", "rm"])]
    Uninstall {
        name: String,
        /// Do not ask
        #[arg(short, long)]
        yes: bool,
    },
    /// Let a skill that comes with the program be renewed again
    Reset {
        name: String,
        /// Put the original in place of yours
        #[arg(long)]
        restore: bool,
        /// Do not ask
        #[arg(short, long)]
        yes: bool,
    },
    /// Show which skills that come with the program you changed or deleted
    ListModified {
        /// As JSON, for programs
        #[arg(long)]
        json: bool,
    },
    /// Show how your copy of a skill that comes with the program differs
    Diff { name: String },
    /// Keep skills that come with the program away from this profile
    OptOut {
        /// Also delete those you did not change
        #[arg(long)]
        remove: bool,
        /// Do not ask
        #[arg(short, long)]
        yes: bool,
    },
    /// Let them come again
    OptIn {
        /// Copy them now
        #[arg(long)]
        sync: bool,
    },
    /// Changes of skills that wait for your approval (skills.write_approval)
    Pending {
        /// As JSON, for programs
        #[arg(long)]
        json: bool,
    },
    /// Make a change that waits
    Approve { id: String },
    /// Throw a change away that waits
    Reject { id: String },
}

impl SkillsCommand {
    /// Whether it may ask the web.
    fn fetches(&self) -> bool {
        matches!(
            self,
            Self::Search { .. }
                | Self::Browse { .. }
                | Self::Inspect { .. }
                | Self::Install(_)
                | Self::Check { .. }
                | Self::Update { .. }
        )
    }
}

/// What every command works with.
struct Bench<'b> {
    settings: &'b Settings,
    scanner: &'b Scanner,
    /// What is fetched without git.
    web: &'b dyn Fetch,
    now: Timestamp,
    stop: &'b Stop,
}

impl Bench<'_> {
    /// Who looks at the skills before the first conversation sees those that come along, too.
    fn seeded(&self) -> &Self {
        if let Err(error) = hermes_tools::skills::bundled::seed(&self.settings.around, self.scanner, self.stop) {
            tracing::warn!(%error, "the skills that come with the program were not copied");
        }
        self
    }

    fn hub(&self) -> Hub<'_> {
        Hub::new(self.settings, self.scanner, self.now, self.stop)
    }
}

pub async fn run(args: SkillsArgs, profile: Option<&str>, console: &mut Console<'_>) -> Exit {
    let outcome = dispatch(args, profile, console).await;
    console.finish(outcome)
}

async fn dispatch(args: SkillsArgs, profile: Option<&str>, console: &mut Console<'_>) -> Result<Exit, Trouble> {
    let app = App::load(profile, None).await?;
    let stop = stop_on_signal();
    let command = args.command.unwrap_or(SkillsCommand::List(list::ListArgs::default()));
    let (settings, mut odd) = Settings::read(&hands::effective(&app), hands::surroundings(&app));
    // What is odd about the rest of the settings is told by what it is about.
    odd.retain(|warning| warning.starts_with("skills"));
    let mut odd_web = Vec::new();
    let web = Shop::new(&app, &mut odd_web);
    if command.fetches() {
        odd.append(&mut odd_web);
    }
    odd.iter().try_for_each(|warning| writeln!(console.err, "… {}", paper::shown(warning)))?;
    let bench = &Bench { settings: &settings, scanner: &Scanner::new(), web: &web, now: app.now(), stop: &stop };
    match command {
        SkillsCommand::List(how) => list::list(bench.seeded(), &how, console),
        SkillsCommand::View { name, file } => look::view(bench.seeded(), &name, file.as_deref(), console),
        SkillsCommand::Search { query, how } => look::search(bench, &query, &how, console).await,
        SkillsCommand::Browse { how } => look::search(bench, "", &how, console).await,
        SkillsCommand::Inspect { identifier, json } => look::inspect(bench, &identifier, json, console).await,
        SkillsCommand::Install(how) => install::install(bench, &app, how, console).await,
        SkillsCommand::Setup { name } => setup::setup(bench, &app, &name, console).await,
        SkillsCommand::Check { name, json } => install::check(bench, name.as_deref(), json, console).await,
        SkillsCommand::Update { name, force } => install::update(bench, name.as_deref(), forced(force), console).await,
        SkillsCommand::Audit { name, json } => look::audit(bench, name.as_deref(), json, console),
        SkillsCommand::Uninstall { name, yes } => install::uninstall(bench, &name, yes, console).await,
        SkillsCommand::Reset { name, restore, yes } => bundled::reset(bench, &name, restore, yes, console).await,
        SkillsCommand::ListModified { json } => bundled::list_modified(bench, json, console),
        SkillsCommand::Diff { name } => bundled::diff(bench, &name, console),
        SkillsCommand::OptOut { remove, yes } => bundled::opt_out(bench, remove, yes, console).await,
        SkillsCommand::OptIn { sync } => bundled::opt_in(bench, sync, console),
        SkillsCommand::Pending { json } => waiting::pending(bench, json, console),
        SkillsCommand::Approve { id } => waiting::approve(bench, &id, console),
        SkillsCommand::Reject { id } => waiting::reject(bench, &id, console),
    }
}

fn forced(force: bool) -> Force {
    if force { Force::Yes } else { Force::No }
}

/// Errors of the libraries are sentences without their end.
fn trouble(error: impl std::fmt::Display) -> Trouble {
    let text = error.to_string();
    Trouble::Refused(if text.ends_with(['.', '\n']) { text } else { format!("{text}.") })
}

fn hub_trouble(error: HubError) -> Trouble {
    match error {
        HubError::Interrupted => Trouble::Interrupted,
        HubError::NoSource(_) => Trouble::Usage(format!("{error}.")),
        error => trouble(error),
    }
}

fn write_json<T: Serialize>(console: &mut Console<'_>, value: &T) -> Result<Exit, Trouble> {
    writeln!(console.out, "{}", paper::json_pretty(value).map_err(std::io::Error::other)?)?;
    Ok(Exit::Done)
}

/// Whether a person agrees; where nobody can be asked, the command line has said it.
async fn agreed(question: &str, yes: bool) -> Result<bool, Trouble> {
    match super::person::Person::present() {
        Some(person) if !yes => person.confirm(question).await,
        _ => Ok(true),
    }
}
