//! `hermes plugins`: the programs that add tools and hooks; looking at them, letting them run, bringing and removing them.
//!
//! A plugin runs only once the owner enabled it by name. Enabling starts it once, so that the person sees what it adds and
//! the next conversation knows its tools from the start. Nothing of a plugin runs while it is installed.

mod fetch;
mod report;

pub(super) use report::problem;

use super::config::refuse_managed;
use super::waiting::watch;
use super::{Console, Exit, Trouble, paper};
use crate::app::App;
use crate::extensions;
use crate::settings::KeyPath;
use crate::settings::edit::{self, Change};
use hermes_plugins::{Found, Records, Source, introduce};
use serde_json::{Value, json};

const EXAMPLES: &str = "\
Examples:
  hermes plugins install examples/plugins/clock   from a folder
  hermes plugins install owner/repo               from GitHub, or any git URL
  hermes plugins enable clock                     let it run from the next conversation on
  hermes plugins info clock                       what it adds

docs/plugins.md tells how to write one.";

#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct PluginsArgs {
    #[command(subcommand)]
    pub command: Option<PluginsCommand>,
}

#[derive(Debug, clap::Subcommand)]
pub enum PluginsCommand {
    /// Show every plugin and whether it runs (the default)
    #[command(alias = "ls")]
    List {
        /// Only those that are enabled
        #[arg(long)]
        enabled: bool,
        /// Only those of your home, not of the project
        #[arg(long)]
        user: bool,
        /// As JSON, for programs
        #[arg(long)]
        json: bool,
        /// The list is plain already
        #[arg(long, hide = true)]
        plain: bool,
        /// None is bundled
        #[arg(long, hide = true)]
        no_bundled: bool,
    },
    /// Show all about one plugin
    Info { name: String },
    /// Let a plugin run from the next conversation on
    Enable {
        name: String,
        /// Its tools may take the place of others with the same name
        #[arg(long, conflicts_with = "no_allow_tool_override")]
        allow_tool_override: bool,
        /// They may not (the default)
        #[arg(long)]
        no_allow_tool_override: bool,
    },
    /// Let it run no more
    Disable { name: String },
    /// Bring a plugin from a folder, a git URL, or owner/repo on GitHub
    Install {
        #[arg(value_name = "FOLDER|URL|OWNER/REPO")]
        identifier: String,
        /// Replace the one that is there
        #[arg(short, long)]
        force: bool,
        /// Enable it as well
        #[arg(long, conflicts_with = "no_enable")]
        enable: bool,
        /// Leave it disabled (the default)
        #[arg(long)]
        no_enable: bool,
    },
    /// Get the newest version of a plugin that came from git
    Update { name: String },
    /// Delete a plugin of your home; its data stays
    #[command(alias = "rm", alias = "uninstall")]
    Remove { name: String },
}

pub async fn run(args: PluginsArgs, profile: Option<&str>, console: &mut Console<'_>) -> Exit {
    let outcome = dispatch(args, profile, console).await;
    console.finish(outcome)
}

async fn dispatch(args: PluginsArgs, profile: Option<&str>, console: &mut Console<'_>) -> Result<Exit, Trouble> {
    let app = App::load(profile, None).await?;
    let usual = PluginsCommand::List { enabled: false, user: false, json: false, plain: false, no_bundled: false };
    match args.command.unwrap_or(usual) {
        PluginsCommand::List { enabled, user, json, .. } => report::list(&app, enabled, user, json, console),
        PluginsCommand::Info { name } => report::info(&app, &one(&app, &name)?, console),
        PluginsCommand::Enable { name, allow_tool_override, no_allow_tool_override } => {
            let may_override = match (allow_tool_override, no_allow_tool_override) {
                (true, _) => Some(true),
                (false, true) => Some(false),
                (false, false) => None,
            };
            enable(&app, &one(&app, &name)?, may_override, console).await
        }
        PluginsCommand::Disable { name } => disable(&app, &one(&app, &name)?, console),
        PluginsCommand::Install { identifier, force, enable: wanted, no_enable: _ } => {
            let key = fetch::install(&app, &identifier, force, console).await?;
            match wanted {
                true => enable(&app, &one(&app, &key)?, None, console).await,
                false => {
                    writeln!(console.out, "Look at it, then `hermes plugins enable {key}` lets it run.")?;
                    Ok(Exit::Done)
                }
            }
        }
        PluginsCommand::Update { name } => fetch::update(&app, &one(&app, &name)?, console).await,
        PluginsCommand::Remove { name } => remove(&app, &one(&app, &name)?, console),
    }
}

/// The plugin of this name.
fn one(app: &App, name: &str) -> Result<Found, Trouble> {
    let (found, _) = extensions::plugins(app, &mut Vec::new());
    let is_it = |one: &&Found| one.key == name || one.read.as_ref().is_ok_and(|read| read.manifest.name == name);
    if let Some(one) = found.iter().find(is_it) {
        return Ok(one.clone());
    }
    let keys = found.iter().map(|one| one.key.as_str());
    let meant = super::tools::alike(keys, name).map(|meant| format!("; did you mean `{meant}`?"));
    let name = paper::one_line(name);
    Err(Trouble::Usage(format!(
        "there is no plugin `{name}`{} `hermes plugins list` shows all",
        meant.as_deref().unwrap_or(";")
    )))
}

fn list_key(name: &str) -> KeyPath {
    KeyPath::of(["plugins", name])
}

/// A list of names with one in it, or without it.
fn changed(settings: &Value, list: &str, name: &str, is_in: bool) -> Option<Change> {
    let path = list_key(list);
    let before: Vec<&str> =
        path.find(settings).and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str).collect();
    if before.contains(&name) == is_in {
        return None;
    }
    let mut after: Vec<&str> = before.into_iter().filter(|other| *other != name).collect();
    if is_in {
        after.push(name);
    }
    Some(Change::Set(path, json!(after)))
}

async fn enable(
    app: &App,
    found: &Found,
    may_override: Option<bool>,
    console: &mut Console<'_>,
) -> Result<Exit, Trouble> {
    let key = found.key.as_str();
    refuse_managed(&app.home, &app.environment, &list_key("enabled"))?;
    let changes = |settings: &Value| {
        let mut changes: Vec<Change> =
            [changed(settings, "enabled", key, true), changed(settings, "disabled", key, false)]
                .into_iter()
                .flatten()
                .collect();
        let may = KeyPath::of(["plugins", "entries", key, "allow_tool_override"]);
        changes.extend(may_override.map(|may_override| Change::Set(may, may_override.into())));
        Ok::<_, Trouble>(changes)
    };
    // A plugin that cannot be started here may still be enabled: the Python program shares these settings.
    let file = edit::change_config(&app.home, changes)?;
    if let Some(problem) = problem(found) {
        let told = format!("`{key}` is enabled in {}, and does not run here: {problem}.", file.display());
        return Err(Trouble::Refused(told));
    }
    writeln!(console.out, "`{key}` runs from the next conversation on. Written to {}.", file.display())?;
    let start = introduce(found, super::hooks::outside(app), app.clock.clone());
    match watch(console, |_| format!("`{key}` starts"), start).await? {
        Ok(registered) => {
            let forgiven = Records::new(app.home.dir()).forgive(key);
            forgiven.map_err(|error| Trouble::Refused(format!("how `{key}` fell over is still on record: {error}")))?;
            report::additions(&registered, console)?;
            Ok(Exit::Done)
        }
        Err(reason) => Err(Trouble::Refused(format!("It was started once, and failed: {reason}"))),
    }
}

fn disable(app: &App, found: &Found, console: &mut Console<'_>) -> Result<Exit, Trouble> {
    let key = found.key.as_str();
    refuse_managed(&app.home, &app.environment, &list_key("disabled"))?;
    let changes = |settings: &Value| {
        let both = [changed(settings, "enabled", key, false), changed(settings, "disabled", key, true)];
        Ok::<_, Trouble>(both.into_iter().flatten().collect())
    };
    let file = edit::change_config(&app.home, changes)?;
    writeln!(console.out, "`{key}` runs no more from the next conversation on. Written to {}.", file.display())?;
    Ok(Exit::Done)
}

fn remove(app: &App, found: &Found, console: &mut Console<'_>) -> Result<Exit, Trouble> {
    if found.source == Source::Project {
        let told = format!("`{}` belongs to the project; delete {} yourself.", found.key, found.folder.display());
        return Err(Trouble::Refused(told));
    }
    let refused = |error: std::io::Error| Trouble::Refused(format!("{}: {error}", found.folder.display()));
    // A link is taken away, not what it leads to.
    match std::fs::symlink_metadata(&found.folder).map_err(refused)?.is_symlink() {
        true => std::fs::remove_file(&found.folder),
        false => std::fs::remove_dir_all(&found.folder),
    }
    .map_err(refused)?;
    Records::new(app.home.dir()).forget(&found.key).map_err(refused)?;
    let changes = |settings: &Value| {
        let both = [changed(settings, "enabled", &found.key, false), changed(settings, "disabled", &found.key, false)];
        Ok::<_, Trouble>(both.into_iter().flatten().collect())
    };
    edit::change_config(&app.home, changes)?;
    writeln!(console.out, "Removed {}.", found.folder.display())?;
    let data = app.home.dir().join("plugin-data").join(&found.key);
    // A plugin that wrote nothing leaves nothing behind.
    if data.exists() && std::fs::remove_dir(&data).is_err() {
        writeln!(console.out, "What it wrote is still in {}.", data.display())?;
    }
    Ok(Exit::Done)
}
