//! `hermes profile`: several homes side by side, each with its own settings, keys, memory and sessions.
//!
//! A profile appears and disappears in one step: it is built or taken apart under a hidden name. These commands need only
//! the root, so they work when the chosen profile is gone.

pub(super) mod copy;

use super::{Console, Exit, Trouble};
use crate::settings::disk::{self, DiskError};
use crate::settings::{Environment, Home, ProfileName, Root, Settings, UserFile, dotenv};
use std::fs;
use std::path::{Path, PathBuf};

#[derive(Debug, clap::Args)]
pub struct ProfileArgs {
    #[command(subcommand)]
    pub command: Option<ProfileCommand>,
}

#[derive(Debug, clap::Subcommand)]
pub enum ProfileCommand {
    /// List the profiles (the default)
    #[command(alias = "ls")]
    List,
    /// Work in this profile from now on
    Use {
        /// Its name; `default` is the home itself
        name: String,
    },
    /// Make a new profile
    Create {
        name: String,
        /// Take settings, keys, persona, memories and skills from the current profile
        #[arg(long, conflicts_with = "clone_all")]
        clone: bool,
        /// Take everything, sessions too
        #[arg(long)]
        clone_all: bool,
    },
    /// Delete a profile with everything in it
    #[command(alias = "rm")]
    Delete {
        name: String,
        /// Do not ask
        #[arg(short = 'y', long)]
        yes: bool,
    },
    /// Show one profile
    Show {
        /// Its name; without it, the current one
        name: Option<String>,
    },
    /// Give a profile another name
    Rename { name: String, new_name: String },
}

/// `chosen` is the home this run would work in, if it could be found.
pub fn run(args: ProfileArgs, root: &Root, chosen: Option<&Home>, console: &mut Console<'_>) -> Exit {
    let outcome = match args.command.unwrap_or(ProfileCommand::List) {
        ProfileCommand::List => list(root, chosen, console),
        ProfileCommand::Use { name } => use_profile(root, console, &name),
        ProfileCommand::Create { name, clone, clone_all } => {
            let what = if clone_all { Some(copy::What::Everything) } else { clone.then_some(copy::What::Identity) };
            create(root, chosen, console, &name, what)
        }
        ProfileCommand::Delete { name, yes } => delete(root, console, &name, yes),
        ProfileCommand::Show { name } => show(root, chosen, console, name.as_deref()),
        ProfileCommand::Rename { name, new_name } => rename(root, console, &name, &new_name),
    };
    console.finish(outcome)
}

fn list(root: &Root, chosen: Option<&Home>, console: &mut Console<'_>) -> Result<Exit, Trouble> {
    let homes =
        std::iter::once(root.default_home()).chain(root.profiles().into_iter().map(|name| root.profile_home(&name)));
    for home in homes {
        let mark = if chosen.is_some_and(|chosen| chosen.dir() == home.dir()) { '*' } else { ' ' };
        let row = format!("{mark} {:<20}  {:<32}  {}", home.profile_label(), model_of(&home), home.dir().display());
        writeln!(console.out, "{row}")?;
    }
    if chosen.is_none() {
        writeln!(
            console.err,
            "The chosen profile is gone; `hermes profile use default` goes back to the default one."
        )?;
    }
    Ok(Exit::Done)
}

fn use_profile(root: &Root, console: &mut Console<'_>, name: &str) -> Result<Exit, Trouble> {
    let home = find(root, name)?;
    if home.profile().is_some() {
        disk::create_folder(root.dir())?;
    }
    root.stick_to(home.profile())?;
    writeln!(console.out, "Working in the profile `{}` from now on ({}).", home.profile_label(), home.dir().display())?;
    Ok(Exit::Done)
}

fn create(
    root: &Root,
    chosen: Option<&Home>,
    console: &mut Console<'_>,
    name: &str,
    what: Option<copy::What>,
) -> Result<Exit, Trouble> {
    let name = ProfileName::parse(name)?;
    let target = root.profile_dir(&name);
    if target.exists() {
        return Err(Trouble::Refused(format!("The profile `{name}` exists already ({}).", target.display())));
    }
    disk::create_folder(&root.profiles_dir())?;
    let building = root.profiles_dir().join(format!(".{name}.new"));
    remove(&building)?;
    disk::create_folder(&building)?;
    if let Some(what) = what {
        let source = chosen.cloned().unwrap_or_else(|| root.default_home());
        copy::copy_home(source.dir(), &building, what)?;
        writeln!(console.out, "Copied from the profile `{}`.", source.profile_label())?;
    }
    move_to(&building, &target)?;
    writeln!(console.out, "Made the profile `{name}` ({}).", target.display())?;
    writeln!(console.out, "Work in it once with `hermes -p {name}`, or always after `hermes profile use {name}`.")?;
    Ok(Exit::Done)
}

fn delete(root: &Root, console: &mut Console<'_>, name: &str, yes: bool) -> Result<Exit, Trouble> {
    let home = find(root, name)?;
    let Some(name) = home.profile() else {
        return Err(Trouble::Refused("The default profile is the home itself and cannot be deleted.".into()));
    };
    if !yes {
        let what = format!("{} with its settings, keys, memories and sessions", home.dir().display());
        write!(console.out, "This deletes {what}.\nType `{name}` to go on: ")?;
        console.out.flush()?;
        if console.read_line()?.trim() != name.as_str() {
            writeln!(console.out)?;
            return Err(Trouble::Refused(format!(
                "Nothing was deleted. `hermes profile delete {name} --yes` does not ask."
            )));
        }
    }
    let going = root.profiles_dir().join(format!(".{name}.deleted"));
    remove(&going)?;
    move_to(home.dir(), &going)?;
    if root.sticky()?.as_deref() == Some(name.as_str()) {
        root.stick_to(None)?;
        writeln!(console.out, "It was the chosen profile; the default one is chosen now.")?;
    }
    remove(&going)?;
    writeln!(console.out, "Deleted the profile `{name}`.")?;
    Ok(Exit::Done)
}

fn show(root: &Root, chosen: Option<&Home>, console: &mut Console<'_>, name: Option<&str>) -> Result<Exit, Trouble> {
    let home = match (name, chosen) {
        (Some(name), _) => find(root, name)?,
        (None, Some(chosen)) => chosen.clone(),
        (None, None) => {
            return Err(Trouble::Refused("The chosen profile is gone. `hermes profile list` shows the others.".into()));
        }
    };
    let keys = dotenv::Dotenv::load(&home.env_file())?.variables(&|_| None).len();
    let skills = fs::read_dir(home.skills_dir())
        .map_or(0, |entries| entries.flatten().filter(|entry| entry.path().is_dir()).count());
    writeln!(console.out, "Profile   {}", home.profile_label())?;
    writeln!(console.out, "Home      {}", home.dir().display())?;
    writeln!(console.out, "Model     {}", model_of(&home))?;
    writeln!(
        console.out,
        "Settings  {}",
        if home.config_file().exists() { "config.yaml" } else { "none, all defaults" }
    )?;
    writeln!(console.out, "Keys      {keys} in .env")?;
    writeln!(console.out, "Skills    {skills}")?;
    Ok(Exit::Done)
}

fn rename(root: &Root, console: &mut Console<'_>, name: &str, new_name: &str) -> Result<Exit, Trouble> {
    let home = find(root, name)?;
    let Some(name) = home.profile() else {
        return Err(Trouble::Refused("The default profile is the home itself and keeps its name.".into()));
    };
    let new_name = ProfileName::parse(new_name)?;
    let target = root.profile_dir(&new_name);
    if target.exists() {
        return Err(Trouble::Refused(format!("The profile `{new_name}` exists already ({}).", target.display())));
    }
    move_to(home.dir(), &target)?;
    if root.sticky()?.as_deref() == Some(name.as_str()) {
        root.stick_to(Some(&new_name))?;
    }
    writeln!(console.out, "The profile `{name}` is `{new_name}` now ({}).", target.display())?;
    Ok(Exit::Done)
}

/// The home of a profile that exists.
fn find(root: &Root, name: &str) -> Result<Home, Trouble> {
    Ok(root.home(Some(name), &|_| None)?)
}

/// What the list says about a profile; a broken file is not this command's business.
fn model_of(home: &Home) -> String {
    let environment = Environment::with_process(home, std::collections::BTreeMap::new());
    let Ok(settings) = Settings::load(home, &environment, UserFile::Read) else {
        return "config.yaml is broken".into();
    };
    let text = |key| settings.str_at(key).ok().flatten();
    match (text("model.default"), text("model.provider")) {
        (Some(model), Some(provider)) => format!("{model} ({provider})"),
        (Some(model), None) => model,
        (None, Some(provider)) => format!("({provider})"),
        (None, None) => "no model chosen".into(),
    }
}

fn move_to(from: &Path, to: &Path) -> Result<(), Trouble> {
    Ok(fs::rename(from, to).map_err(failed(to))?)
}

fn remove(path: &Path) -> Result<(), Trouble> {
    match fs::remove_dir_all(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(failed(path)(error).into()),
        _ => Ok(()),
    }
}

fn failed(path: &Path) -> impl FnOnce(std::io::Error) -> DiskError {
    let path: PathBuf = path.to_owned();
    |reason| DiskError::Write { path, reason }
}

#[cfg(test)]
mod tests;
