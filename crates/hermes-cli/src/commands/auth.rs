//! `hermes auth`: keys and logins, stored in `auth.json` of the home.
//!
//! A key is typed where nobody sees it, piped in, or given on the command line; it is never shown again. Variables are
//! listed because they count, but they are set and removed elsewhere, and each refusal says where.

mod add;
mod login;
mod report;

pub(super) use add::{obtain, store_key};

use super::access::Who;
use super::{Console, Exit, Trouble};
use crate::app::App;
use crate::settings::edit::{self, Change, EditError};
use crate::settings::{KeyPath, Source as VariableSource, mask, migrate};
use clap::ValueEnum;
use hermes_model::auth::edit::pick;
use hermes_model::auth::{Row, Source};
use serde_json::Value;
use std::convert::Infallible;
use std::fmt;
use std::str::FromStr;

#[derive(Debug, clap::Args)]
pub struct AuthArgs {
    #[command(subcommand)]
    pub command: Option<AuthCommand>,
}

#[derive(Debug, clap::Subcommand)]
pub enum AuthCommand {
    /// Store a key or log in
    Add(AddArgs),
    /// List keys and logins (the default)
    #[command(alias = "ls")]
    List {
        /// Only those of this provider
        #[arg(value_name = "PROVIDER")]
        who: Option<String>,
        /// As JSON
        #[arg(long)]
        json: bool,
    },
    /// Remove one key or login
    #[command(alias = "rm")]
    Remove {
        #[arg(value_name = "PROVIDER")]
        who: String,
        /// Its number, id or label, as `hermes auth list` shows it
        target: String,
    },
    /// Use credentials again that rest after an error
    Reset {
        #[arg(value_name = "PROVIDER")]
        who: String,
    },
    /// Say whether a provider can be used; the exit code tells too
    Status {
        /// Without it, every provider something is stored for
        #[arg(value_name = "PROVIDER")]
        who: Option<String>,
        /// As JSON
        #[arg(long)]
        json: bool,
    },
    /// Forget every key and login of a provider
    Logout {
        #[arg(value_name = "PROVIDER")]
        who: String,
    },
}

#[derive(Debug, clap::Args)]
pub struct AddArgs {
    /// Such as openrouter, anthropic, nous, openai-codex, copilot
    #[arg(value_name = "PROVIDER")]
    pub who: String,
    /// What to add, where a provider takes both
    #[arg(long = "type", value_enum, value_name = "TYPE")]
    pub kind: Option<Kind>,
    /// A name for the key
    #[arg(long)]
    pub label: Option<String>,
    /// The key; `-` reads it from standard input
    #[arg(long, value_name = "KEY", allow_hyphen_values = true)]
    pub api_key: Option<TypedKey>,
    /// Only print the address to open
    #[arg(long)]
    pub no_browser: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Kind {
    #[value(name = "oauth")]
    OAuth,
    ApiKey,
}

/// A key from the command line. It does not print itself.
#[derive(Clone)]
pub struct TypedKey(String);

impl FromStr for TypedKey {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<Self, Infallible> {
        Ok(Self(text.to_owned()))
    }
}

impl fmt::Debug for TypedKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&mask::secret(&self.0))
    }
}

pub async fn run(args: AuthArgs, profile: Option<&str>, console: &mut Console<'_>) -> Exit {
    let command = args.command.unwrap_or(AuthCommand::List { who: None, json: false });
    let outcome = match command {
        AuthCommand::Add(args) => add::run(args, profile, console).await,
        AuthCommand::List { who, json } => report::list(who.as_deref(), json, profile, console).await,
        AuthCommand::Remove { who, target } => remove(&who, &target, profile, console).await,
        AuthCommand::Reset { who } => reset(&who, profile, console).await,
        AuthCommand::Status { who, json } => report::status(who.as_deref(), json, profile, console).await,
        AuthCommand::Logout { who } => logout(&who, profile, console).await,
    };
    console.finish(outcome)
}

/// `hermes login`, which other programs' guides still name.
pub fn point_to_auth(console: &mut Console<'_>) -> Exit {
    let text = "hermes login is called hermes auth add now:\n  \
        hermes auth add nous          log in to the Nous Portal\n  \
        hermes auth add openrouter    store a key\n  \
        hermes model                  choose provider and model";
    let written = writeln!(console.out, "{text}");
    console.finish(written.map(|()| Exit::Done).map_err(Trouble::from))
}

/// `hermes logout [--provider P]`: without a provider, the one in use.
pub async fn leave(who: Option<&str>, profile: Option<&str>, console: &mut Console<'_>) -> Exit {
    let outcome = async {
        if let Some(who) = who {
            return logout(who, profile, console).await;
        }
        let app = App::load(profile, None).await?;
        let logins = &app.knowledge.logins;
        let configured = app.knowledge.config.model.provider.as_deref();
        let in_use = configured.filter(|name| !logins.rows(name).is_empty()).or_else(|| logins.active_provider());
        match in_use.map(str::to_owned) {
            Some(who) => logout(&who, profile, console).await,
            None => {
                writeln!(
                    console.out,
                    "No login is in use. `hermes auth list` shows what is stored, `hermes auth logout PROVIDER` forgets it."
                )?;
                Ok(Exit::Done)
            }
        }
    };
    let outcome = outcome.await;
    console.finish(outcome)
}

async fn load(who: &str, profile: Option<&str>) -> Result<(App, Who), Trouble> {
    let app = App::load(profile, Some(who)).await?;
    let who = Who::find(who, &app.knowledge.config)?;
    Ok((app, who))
}

async fn remove(who: &str, target: &str, profile: Option<&str>, console: &mut Console<'_>) -> Result<Exit, Trouble> {
    let (app, who) = load(who, profile).await?;
    let rows = who.credentials(&app);
    refuse_variable(pick(&who.name, &rows, target)?, &app)?;
    let (store, logins) = (app.auth.store(), &app.knowledge.logins);
    let removed = store.remove(&*app.clock, &app.auth.paths, logins, &rows, &who.name, target).await?;
    let (label, provider) = (&removed.label, &who.label);
    if removed.suppressed {
        writeln!(
            console.out,
            "\"{label}\" of {provider} is not used any more. It belongs to another program and was left there; \
             `hermes auth add {}` brings it back.",
            who.name
        )?;
    } else {
        writeln!(console.out, "Removed \"{label}\" of {provider}.")?;
    }
    Ok(Exit::Done)
}

/// A variable would still be set afterwards.
fn refuse_variable(row: &Row, app: &App) -> Result<(), Trouble> {
    let Source::Env(name) = row.source() else { return Ok(()) };
    let how = match app.environment.source(&name) {
        Some(VariableSource::EnvFile) => format!("Remove it there with `hermes config unset {name}`"),
        Some(VariableSource::Managed) => "It is fixed by the administrator".to_owned(),
        Some(VariableSource::Process) | None => {
            format!("Remove it there with `unset {name}`, or from your shell's profile")
        }
    };
    let place = app.environment.source(&name).map_or_else(String::new, |place| format!(" ({place})"));
    Err(Trouble::Refused(format!("{name} is a variable{place}, not stored here. {how}.")))
}

async fn reset(who: &str, profile: Option<&str>, console: &mut Console<'_>) -> Result<Exit, Trouble> {
    let (app, who) = load(who, profile).await?;
    let done = app.auth.store().reset(&*app.clock, &who.name).await?;
    match done.woken {
        0 => writeln!(console.out, "No credential of {} was resting.", who.label)?,
        1 => writeln!(console.out, "1 credential of {} is used again.", who.label)?,
        several => writeln!(console.out, "{several} credentials of {} are used again.", who.label)?,
    }
    if done.still_dead > 0 {
        writeln!(console.err, "Refused for good: {}. To replace: hermes auth add {}", done.still_dead, who.name)?;
    }
    Ok(Exit::Done)
}

async fn logout(who: &str, profile: Option<&str>, console: &mut Console<'_>) -> Result<Exit, Trouble> {
    let (app, who) = load(who, profile).await?;
    let done = app.auth.store().log_out(&*app.clock, &app.auth.paths, &who.name).await?;
    if done.cleared {
        writeln!(console.out, "Forgot every stored key and login of {}.", who.label)?;
    } else {
        writeln!(console.out, "Nothing was stored for {}.", who.label)?;
    }
    if done.root_remains {
        writeln!(
            console.err,
            "The default profile still has a login that this one uses; leave there too: hermes -p default auth logout {}",
            who.name
        )?;
        return Ok(Exit::Done);
    }
    let (app, who) = load(&who.name, profile).await?;
    let left = who.credentials(&app);
    if let Some(row) = left.first() {
        writeln!(console.err, "Still there, because it is kept elsewhere: {}.", row.label())?;
    } else if done.cleared {
        forget_choice(&app, &who, console)?;
    }
    Ok(Exit::Done)
}

/// A choice that nothing opens any more would only fail.
fn forget_choice(app: &App, who: &Who, console: &mut Console<'_>) -> Result<(), Trouble> {
    let config = &app.knowledge.config;
    let chosen = config.model.provider.as_deref().and_then(|name| Who::find(name, config).ok());
    if chosen.is_none_or(|chosen| chosen.name != who.name) {
        return Ok(());
    }
    let file = edit::change_config(&app.home, |raw| Ok::<_, EditError>(without_choice(raw)))?;
    writeln!(
        console.out,
        "It was the chosen provider; {} names none now. Choose with `hermes model`.",
        file.display()
    )?;
    Ok(())
}

/// A section with nothing left in it goes too.
fn without_choice(raw: &Value) -> Vec<Change> {
    const CHOICE: [&str; 3] = ["provider", "default", "base_url"];
    let (mut changes, present) = migrate::model_section(raw);
    let section = KeyPath::of(["model"]);
    let keys: Vec<&String> =
        section.find(&present).and_then(Value::as_object).into_iter().flat_map(|map| map.keys()).collect();
    let (chosen, others): (Vec<&String>, Vec<&String>) =
        keys.into_iter().partition(|key| CHOICE.contains(&key.as_str()));
    if others.is_empty() {
        changes.push(Change::Unset(section));
    } else {
        changes.extend(chosen.into_iter().map(|key| Change::Unset(section.child(key.as_str()))));
    }
    changes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_forgotten_choice_leaves_what_is_not_part_of_it() {
        let forgotten = |yaml: &str| {
            let raw = crate::settings::document::parse_text(yaml).expect("YAML");
            edit::apply(yaml, &without_choice(&raw)).expect("applied")
        };
        assert_eq!(forgotten("a: 1\nmodel:\n  default: x\n  provider: nous\n"), "a: 1\n");
        assert_eq!(forgotten("model:\n  default: x\n  provider: nous\n  max_tokens: 5\n"), "model:\n  max_tokens: 5\n");
        assert_eq!(forgotten("model: x\nprovider: nous\n"), "");
    }
}
