//! `hermes config`: looking at settings and changing them.
//!
//! Names of variables (`OPENROUTER_API_KEY`) go to `.env`, everything else to `config.yaml`. Secrets are always shown
//! masked. Only `set`, `unset`, `edit` and `migrate` write, and each says what it wrote and where.

mod model;
pub(super) mod report;

use super::person::Person;
use super::{Console, Exit, Trouble};
use crate::settings::disk::{self, Lock};
use crate::settings::edit::{self, Change, EditError};
use crate::settings::keys::{self, Known};
use crate::settings::migrate::{self, Action, Step};
use crate::settings::{Environment, Home, KeyPath, Settings, Source, UserFile, document, dotenv, mask};
use serde_json::Value;
use std::collections::BTreeMap;
use std::process::Command;

#[derive(Debug, clap::Args)]
pub struct ConfigArgs {
    #[command(subcommand)]
    pub command: Option<ConfigCommand>,
}

#[derive(Debug, clap::Subcommand)]
pub enum ConfigCommand {
    /// Show what is set (the default)
    Show {
        /// Every setting there is, with its value and meaning
        #[arg(long)]
        all: bool,
        /// As JSON
        #[arg(long, conflicts_with = "all")]
        json: bool,
    },
    /// Print one setting, or its default
    Get {
        /// Such as agent.max_turns; without it, everything
        key: Option<String>,
        /// As JSON
        #[arg(long)]
        json: bool,
    },
    /// Change one setting, or save a key such as OPENROUTER_API_KEY
    Set {
        /// Write a value of the wrong kind too
        #[arg(long)]
        force: bool,
        /// Such as agent.max_turns
        key: String,
        /// The new value; `-` reads it from standard input
        #[arg(allow_hyphen_values = true)]
        value: String,
    },
    /// Remove one setting, so that its default counts again
    Unset {
        /// Such as agent.max_turns
        key: String,
    },
    /// Open config.yaml in your editor
    Edit,
    /// Print the path of config.yaml
    Path,
    /// Print the path of .env
    EnvPath,
    /// Look for misspelt keys and wrong values
    Check,
    /// Bring an older config.yaml into the present layout
    Migrate {
        /// Only say what would change
        #[arg(long)]
        dry_run: bool,
    },
}

pub fn run(args: ConfigArgs, home: &Home, environment: &Environment, console: &mut Console<'_>) -> Exit {
    let command = args.command.unwrap_or(ConfigCommand::Show { all: false, json: false });
    let outcome = match command {
        ConfigCommand::Show { all, json } => show(home, environment, console, all, json),
        ConfigCommand::Get { key, json } => get(home, environment, console, key.as_deref(), json),
        ConfigCommand::Set { force, key, value } => set(home, environment, console, &key, &value, force),
        ConfigCommand::Unset { key } => unset(home, environment, console, &key),
        ConfigCommand::Edit => edit_by_hand(home, environment, console),
        ConfigCommand::Path => line(console, &home.config_file().display().to_string()),
        ConfigCommand::EnvPath => line(console, &home.env_file().display().to_string()),
        ConfigCommand::Check => report::check(home, environment, console),
        ConfigCommand::Migrate { dry_run } => migrate_files(home, console, dry_run),
    };
    console.finish(outcome)
}

/// Asks for the secret that `config set KEY -` means, where a person would otherwise type it in plain sight.
pub fn with_secret_typed(args: ConfigArgs) -> Result<ConfigArgs, Trouble> {
    match (args.command, Person::present()) {
        (Some(ConfigCommand::Set { force, key, value }), Some(person)) if value == "-" && is_secret(&key) => {
            let value = person.secret_now(&format!("{key}:"), "it does not appear as you paste it")?;
            Ok(ConfigArgs { command: Some(ConfigCommand::Set { force, key, value }) })
        }
        (command, _) => Ok(ConfigArgs { command }),
    }
}

fn is_secret(key: &str) -> bool {
    match variable_name(key) {
        Some(name) => mask::is_credential(&name),
        None => KeyPath::parse(key).is_ok_and(|path| mask::is_secret(&path)),
    }
}

fn line(console: &mut Console<'_>, text: &str) -> Result<Exit, Trouble> {
    writeln!(console.out, "{text}")?;
    Ok(Exit::Done)
}

fn show(
    home: &Home,
    environment: &Environment,
    console: &mut Console<'_>,
    all: bool,
    json: bool,
) -> Result<Exit, Trouble> {
    let settings = Settings::load_for_display(home, environment)?;
    if all {
        report::everything(&settings, console)?;
    } else if json {
        report::as_json(home, environment, &settings, console)?;
    } else {
        report::what_is_set(home, environment, &settings, console)?;
    }
    Ok(Exit::Done)
}

fn get(
    home: &Home,
    environment: &Environment,
    console: &mut Console<'_>,
    key: Option<&str>,
    json: bool,
) -> Result<Exit, Trouble> {
    let settings = Settings::load_for_display(home, environment)?;
    let Some(key) = key else {
        let shown = mask::settings(&KeyPath::of(Vec::<String>::new()), settings.value());
        return line(console, &format!("{shown:#}"));
    };
    if let Some(name) = variable_name(key) {
        let value = environment.get(&name).ok_or_else(|| {
            Trouble::Refused(format!("`{name}` is not set. Save it with `hermes config set {name} …`."))
        })?;
        return line(console, &report::variable(&name, value));
    }
    let path = KeyPath::parse(key)?;
    let Some(value) = settings.effective(&path) else {
        return Err(Trouble::Refused(format!("{}\n`hermes config show --all` lists every setting.", unknown(&path))));
    };
    match mask::settings(&path, &value) {
        Value::String(text) if !json => line(console, &text),
        shown => line(console, &format!("{shown:#}")),
    }
}

fn set(
    home: &Home,
    environment: &Environment,
    console: &mut Console<'_>,
    key: &str,
    value: &str,
    force: bool,
) -> Result<Exit, Trouble> {
    let typed = if value == "-" { console.read_line()? } else { value.to_owned() };
    if mask::is_masked(&typed) {
        return Err(Trouble::Refused("That is a masked secret, not the secret itself. Nothing was written.".into()));
    }
    if let Some(name) = variable_name(key) {
        return set_variable(home, environment, console, &name, &typed);
    }
    let path = KeyPath::parse(key)?;
    refuse_managed(home, environment, &path)?;
    let value = edit::coerce(&typed, &path);
    let known = keys::known(&path);
    if !force {
        check_value(&path, known, &value)?;
        check_model(home, environment, &path, &value)?;
    }
    let change = Change::Set(path.clone(), value.clone());
    let file = edit::change_config(home, |_| Ok::<_, EditError>(vec![change]))?;
    writeln!(console.out, "Set {path} to {} in {}.", mask::settings(&path, &value), file.display())?;
    if known == Known::No {
        writeln!(
            console.err,
            "Note: {} It was written all the same; `hermes config unset {path}` removes it.",
            unknown(&path)
        )?;
    }
    Ok(Exit::Done)
}

fn check_value(path: &KeyPath, known: Known, value: &Value) -> Result<(), Trouble> {
    let Some(expected) = keys::objection(known, value) else { return Ok(()) };
    let got = keys::describe(&mask::settings(path, value));
    Err(Trouble::Refused(format!(
        "`{path}` must be {expected}, got {got}. Nothing was written.\n`--force` writes it all the same."
    )))
}

/// Refuses what would keep the model from being asked.
fn check_model(home: &Home, environment: &Environment, path: &KeyPath, value: &Value) -> Result<(), Trouble> {
    let mut settings = Settings::load(home, environment, UserFile::Read)?.value().clone();
    path.put(&mut settings, value.clone());
    let key = path.to_string();
    match model::faults(&settings, environment).into_iter().find(|fault| fault.key == key) {
        None => Ok(()),
        Some(fault) => {
            Err(Trouble::Refused(format!("{fault}. Nothing was written.\n`--force` writes it all the same.")))
        }
    }
}

pub(super) fn set_variable(
    home: &Home,
    environment: &Environment,
    console: &mut Console<'_>,
    name: &str,
    value: &str,
) -> Result<Exit, Trouble> {
    if environment.source(name) == Some(Source::Managed) {
        return Err(fixed_by_administrator(name, &environment.managed_dir().join(".env").display().to_string()));
    }
    let value = value.trim();
    if mask::is_credential(name) && value.is_empty() {
        return Err(Trouble::Refused(format!(
            "An empty {name} opens nothing; nothing was written. To remove it: hermes config unset {name}"
        )));
    }
    // A password may have spaces; in a key they are left over from copying.
    let is_key = name.ends_with("_KEY") || name.ends_with("_TOKEN");
    let is_odd = |c: char| !c.is_ascii() || (is_key && !c.is_ascii_graphic());
    if mask::is_credential(name) && value.contains(is_odd) {
        return Err(Trouble::Refused(format!(
            "{name} has characters no key can have. Copy it again; nothing was written."
        )));
    }
    dotenv::change(home, |file| file.set(name, value))?;
    writeln!(console.out, "Saved {name} ({}) in {}.", report::variable(name, value), home.env_file().display())?;
    Ok(Exit::Done)
}

fn unset(home: &Home, environment: &Environment, console: &mut Console<'_>, key: &str) -> Result<Exit, Trouble> {
    if let Some(name) = variable_name(key) {
        let file = home.env_file();
        if !dotenv::Dotenv::load(&file)?.has(&name) {
            return Err(Trouble::Refused(format!(
                "{name} is not in {}, so there is nothing to remove.",
                file.display()
            )));
        }
        dotenv::change(home, |file| {
            file.unset(&name);
        })?;
        return line(console, &format!("Removed {name} from {}.", file.display()));
    }
    let path = KeyPath::parse(key)?;
    refuse_managed(home, environment, &path)?;
    if !home.config_file().exists() {
        return Err(EditError::Refused(edit::Refusal::NotSet(path.to_string())).into());
    }
    let change = Change::Unset(path.clone());
    let file = edit::change_config(home, |_| Ok::<_, EditError>(vec![change]))?;
    let now = keys::default_at(&path).filter(|default| !default.is_object() && !default.is_null());
    let now = now.map_or_else(String::new, |default| format!(" Its default {default} counts again."));
    line(console, &format!("Removed {path} from {}.{now}", file.display()))
}

fn edit_by_hand(home: &Home, environment: &Environment, console: &mut Console<'_>) -> Result<Exit, Trouble> {
    let file = home.config_file();
    if !file.exists() {
        home.create()?;
        disk::replace(&file, b"# Settings of hermes. `hermes config show --all` lists what can be set.\n")?;
    }
    let editor = environment.get("VISUAL").or_else(|| environment.get("EDITOR")).unwrap_or("vi");
    let mut words = editor.split_whitespace();
    let program = words.next().unwrap_or("vi");
    let status = Command::new(program).args(words).arg(&file).status().map_err(|error| {
        Trouble::Refused(format!(
            "The editor `{program}` could not be started: {error}.\nSet EDITOR to one you have, or edit {} yourself.",
            file.display()
        ))
    })?;
    if !status.success() {
        return Err(Trouble::Refused(format!(
            "The editor `{program}` ended with an error; {} may be unchanged.",
            file.display()
        )));
    }
    report::check(home, environment, console)
}

/// Takes every step of the ladder that is left, keeping a copy of what was there.
fn migrate_files(home: &Home, console: &mut Console<'_>, dry_run: bool) -> Result<Exit, Trouble> {
    let file = home.config_file();
    let variables = || -> Result<BTreeMap<String, String>, Trouble> {
        Ok(dotenv::Dotenv::load(&home.env_file())?.variables(&|_| None))
    };
    let steps = migrate::plan(&Value::Object(document::load(&file)?), &variables()?);
    if steps.is_empty() {
        return line(console, "Nothing to do: the settings are in the present layout.");
    }
    for step in &steps {
        writeln!(console.out, "{} (layout {})", step.title, step.version)?;
        for action in &step.actions {
            writeln!(console.out, "  {action}")?;
        }
    }
    if dry_run {
        return line(console, "Nothing was written. `hermes config migrate` makes these changes.");
    }
    let drops = dropped_variables(&steps);
    for source in [&file, &home.env_file()] {
        if let Some(bytes) = disk::read(source)?.filter(|_| *source == file || !drops.is_empty()) {
            let _lock = Lock::acquire(&home.lock_file())?;
            let copy = source.with_file_name(format!(
                "{}.before-migration",
                source.file_name().unwrap_or_default().to_string_lossy()
            ));
            disk::replace(&copy, &bytes)?;
            writeln!(console.out, "Kept a copy in {}.", copy.display())?;
        }
    }
    let variables = variables()?;
    edit::change_config(home, |config| Ok::<_, EditError>(config_changes(migrate::plan(config, &variables))))?;
    if !drops.is_empty() {
        dotenv::change(home, |file| {
            for name in &drops {
                file.unset(name);
            }
        })?;
    }
    line(console, "Done.")
}

fn dropped_variables(steps: &[Step]) -> Vec<&'static str> {
    let actions = steps.iter().flat_map(|step| &step.actions);
    actions.filter_map(|action| if let Action::DropVariable(name) = action { Some(*name) } else { None }).collect()
}

fn config_changes(steps: Vec<Step>) -> Vec<Change> {
    let actions = steps.into_iter().flat_map(|step| step.actions);
    actions.filter_map(|action| if let Action::Config(change) = action { Some(change) } else { None }).collect()
}

/// The environment variable a key names: an undotted word in capitals, or one that ends like a key.
fn variable_name(key: &str) -> Option<String> {
    let key = key.trim();
    let word = key.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
        && key.starts_with(|c: char| c.is_ascii_alphabetic());
    let upper = key.to_ascii_uppercase();
    let in_capitals = key == upper && key.contains('_');
    let like_a_key = upper.ends_with("_API_KEY") || upper.ends_with("_TOKEN");
    (word && (in_capitals || like_a_key)).then_some(upper)
}

pub(super) fn refuse_managed(home: &Home, environment: &Environment, path: &KeyPath) -> Result<(), Trouble> {
    let managed_file = environment.managed_dir().join("config.yaml");
    if managed_file == home.config_file() {
        return Ok(());
    }
    let managed = Value::Object(document::load(&managed_file)?);
    let fixed = key_or_above(path).any(|path| path.find(&managed).is_some_and(|value| !value.is_object()))
        || path.find(&managed).is_some();
    if fixed { Err(fixed_by_administrator(&path.to_string(), &managed_file.display().to_string())) } else { Ok(()) }
}

fn key_or_above(path: &KeyPath) -> impl Iterator<Item = KeyPath> {
    std::iter::successors(Some(path.clone()), KeyPath::parent)
}

fn fixed_by_administrator(key: &str, file: &str) -> Trouble {
    Trouble::Refused(format!(
        "`{key}` is fixed by the administrator in {file}. Nothing was written; ask them to change it."
    ))
}

/// That a key is unknown, and what was probably meant.
fn unknown(path: &KeyPath) -> String {
    match keys::suggest(path) {
        Some(known) => format!("hermes does not know `{path}`. Did you mean `{known}`?"),
        None => format!("hermes does not know `{path}`."),
    }
}

#[cfg(test)]
mod tests;
