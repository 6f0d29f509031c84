//! Where everything lives: the root folder, and the profile inside it that this run works in.
//!
//! The root is `$HERMES_HOME`, else `~/.hermes`. A profile is a home of its own below `profiles/`; the profile `default` is
//! the root itself. The choice is `-p NAME`, else `HERMES_PROFILE`, else the sticky one in `active_profile`. Finding a home
//! creates nothing. A profile that is gone is an error and is never made again behind the person's back.

use super::disk::{self, DiskError};
use std::ffi::OsString;
use std::fmt;
use std::path::{Path, PathBuf};

const PROFILES: &str = "profiles";
const STICKY: &str = "active_profile";
const LONGEST_NAME: usize = 64;

/// Names that would be mistaken for something else: the program, its default, system words, and every command.
const RESERVED: &[&str] = &[
    "hermes",
    "default",
    "test",
    "tmp",
    "root",
    "sudo",
    "chat",
    "model",
    "moa",
    "fallback",
    "secrets",
    "migrate",
    "gateway",
    "proxy",
    "lsp",
    "setup",
    "postinstall",
    "whatsapp",
    "whatsapp-cloud",
    "slack",
    "send",
    "login",
    "logout",
    "auth",
    "status",
    "cron",
    "webhook",
    "portal",
    "kanban",
    "project",
    "hooks",
    "doctor",
    "security",
    "dump",
    "debug",
    "backup",
    "import",
    "checkpoints",
    "config",
    "console",
    "pairing",
    "skills",
    "bundles",
    "plugins",
    "curator",
    "pets",
    "journey",
    "learning",
    "memory-graph",
    "memory",
    "tools",
    "computer-use",
    "mcp",
    "sessions",
    "insights",
    "claw",
    "version",
    "update",
    "uninstall",
    "completion",
    "acp",
    "profile",
    "dashboard",
    "serve",
    "desktop",
    "gui",
    "logs",
    "prompt-size",
    "batch",
    "demo",
    "help",
];

/// The folder that holds the default home and all profiles.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Root {
    dir: PathBuf,
    /// Set when `$HERMES_HOME` points into a profile, as it does in processes a profile has started.
    inside: Option<ProfileName>,
}

/// A checked profile name. `default` is not one: it is the root.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ProfileName(String);

/// The home this run works in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Home {
    root: PathBuf,
    profile: Option<ProfileName>,
    dir: PathBuf,
}

#[derive(Debug, thiserror::Error)]
pub enum HomeError {
    #[error(
        "No home folder is known: neither HERMES_HOME nor HOME is set.\nSet one, for example `export HERMES_HOME=/path/to/hermes`."
    )]
    NoHome,
    #[error(
        "`{name}` cannot name a profile: {reason}.\nUse small letters, digits, `-` and `_`, starting with a letter or digit, for example `work`."
    )]
    BadName { name: String, reason: &'static str },
    #[error(
        "The profile `{name}`{chosen_by} does not exist.\n`hermes profile list` shows those that do; `hermes profile create {name}` makes it{reset}."
    )]
    Missing { name: String, chosen_by: &'static str, reset: &'static str },
    #[error(transparent)]
    Disk(#[from] DiskError),
}

/// Reads one variable of the process environment, or of a test's.
pub type ReadVar<'a> = &'a dyn Fn(&str) -> Option<OsString>;

impl Root {
    /// The root named by the environment. Nothing is created.
    pub fn find(var: ReadVar<'_>) -> Result<Self, HomeError> {
        let filled = |name| var(name).filter(|value| !value.is_empty());
        let dir = match filled("HERMES_HOME") {
            Some(dir) => untilde(PathBuf::from(dir), filled("HOME")),
            None => PathBuf::from(filled("HOME").or_else(|| filled("USERPROFILE")).ok_or(HomeError::NoHome)?)
                .join(".hermes"),
        };
        Ok(Self::at(dir))
    }

    pub fn at(dir: impl Into<PathBuf>) -> Self {
        let dir = dir.into();
        let name = dir.file_name().and_then(|name| name.to_str()).and_then(|name| ProfileName::parse(name).ok());
        let above = dir.parent().filter(|parent| parent.file_name().is_some_and(|name| name == PROFILES));
        match (name, above.and_then(Path::parent)) {
            (Some(name), Some(root)) => Self { dir: root.to_owned(), inside: Some(name) },
            _ => Self { dir, inside: None },
        }
    }

    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// The home of the profile the person chose.
    pub fn home(&self, flag: Option<&str>, var: ReadVar<'_>) -> Result<Home, HomeError> {
        let asked = var("HERMES_PROFILE").map(|value| value.to_string_lossy().trim().to_owned());
        let (name, chosen_by, reset) = match (flag, asked.filter(|name| !name.is_empty()), &self.inside) {
            (Some(name), _, _) => (name.trim().to_owned(), "", ""),
            (None, Some(name), _) => (name, " (from HERMES_PROFILE)", ""),
            (None, None, Some(inside)) => (inside.0.clone(), " (from HERMES_HOME)", ""),
            (None, None, None) => match self.sticky()? {
                Some(name) => (name, " (chosen by `hermes profile use`)", "; `hermes profile use default` goes back"),
                None => return Ok(self.default_home()),
            },
        };
        if name == "default" {
            return Ok(self.default_home());
        }
        let profile = ProfileName::parse(&name)?;
        if !self.profile_dir(&profile).is_dir() {
            return Err(HomeError::Missing { name, chosen_by, reset });
        }
        Ok(self.profile_home(&profile))
    }

    pub fn default_home(&self) -> Home {
        Home { root: self.dir.clone(), profile: None, dir: self.dir.clone() }
    }

    pub fn profile_home(&self, name: &ProfileName) -> Home {
        Home { root: self.dir.clone(), profile: Some(name.clone()), dir: self.profile_dir(name) }
    }

    pub fn profile_dir(&self, name: &ProfileName) -> PathBuf {
        self.profiles_dir().join(&name.0)
    }

    pub fn profiles_dir(&self) -> PathBuf {
        self.dir.join(PROFILES)
    }

    /// The profiles there are, by name, without `default`.
    pub fn profiles(&self) -> Vec<ProfileName> {
        let entries = std::fs::read_dir(self.profiles_dir()).into_iter().flatten().flatten();
        let mut names: Vec<ProfileName> = entries
            .filter(|entry| entry.path().is_dir())
            .filter_map(|entry| ProfileName::parse(entry.file_name().to_str()?).ok())
            .collect();
        names.sort();
        names
    }

    /// What `hermes profile use` chose last.
    pub fn sticky(&self) -> Result<Option<String>, HomeError> {
        let bytes = disk::read(&self.dir.join(STICKY))?.unwrap_or_default();
        let name = String::from_utf8_lossy(&bytes).trim().to_owned();
        Ok((!name.is_empty()).then_some(name))
    }

    /// Chooses the profile for every later run; `None` is the default one.
    pub fn stick_to(&self, name: Option<&ProfileName>) -> Result<(), HomeError> {
        let path = self.dir.join(STICKY);
        match name {
            Some(name) => disk::replace(&path, format!("{name}\n").as_bytes())?,
            None => match std::fs::remove_file(&path) {
                Ok(()) => {}
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
                Err(reason) => return Err(DiskError::Write { path, reason }.into()),
            },
        }
        Ok(())
    }
}

impl ProfileName {
    pub fn parse(name: &str) -> Result<Self, HomeError> {
        let refuse = |reason| Err(HomeError::BadName { name: name.to_owned(), reason });
        let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
        if name.is_empty() {
            return refuse("it is empty");
        }
        if name.len() > LONGEST_NAME {
            return refuse("it is longer than 64 characters");
        }
        if !name.starts_with(plain) || !name.chars().all(|c| plain(c) || matches!(c, '-' | '_')) {
            return refuse("it has other characters than allowed");
        }
        if RESERVED.contains(&name) {
            return refuse("the name is taken by hermes itself");
        }
        Ok(Self(name.to_owned()))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ProfileName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Home {
    /// The home of this process: environment, sticky choice and `-p NAME`.
    pub fn of_process(profile: Option<&str>) -> Result<Self, HomeError> {
        let var = |name: &str| std::env::var_os(name);
        Root::find(&var)?.home(profile, &var)
    }

    pub fn dir(&self) -> &Path {
        &self.dir
    }

    pub fn root(&self) -> Root {
        Root { dir: self.root.clone(), inside: None }
    }

    pub fn profile(&self) -> Option<&ProfileName> {
        self.profile.as_ref()
    }

    pub fn profile_label(&self) -> &str {
        self.profile.as_ref().map_or("default", ProfileName::as_str)
    }

    pub fn config_file(&self) -> PathBuf {
        self.dir.join("config.yaml")
    }

    pub fn env_file(&self) -> PathBuf {
        self.dir.join(".env")
    }

    pub fn auth_file(&self) -> PathBuf {
        self.dir.join("auth.json")
    }

    /// Where a profile borrows logins it does not have itself.
    pub fn root_auth_file(&self) -> PathBuf {
        self.root.join("auth.json")
    }

    pub fn state_db(&self) -> PathBuf {
        self.dir.join("state.db")
    }

    pub fn soul_file(&self) -> PathBuf {
        self.dir.join("SOUL.md")
    }

    pub fn memories_dir(&self) -> PathBuf {
        self.dir.join("memories")
    }

    pub fn skills_dir(&self) -> PathBuf {
        self.dir.join("skills")
    }

    pub fn sessions_dir(&self) -> PathBuf {
        self.dir.join("sessions")
    }

    pub fn logs_dir(&self) -> PathBuf {
        self.dir.join("logs")
    }

    pub fn cache_dir(&self) -> PathBuf {
        self.dir.join("cache")
    }

    /// Guards every change of this home's settings.
    pub fn lock_file(&self) -> PathBuf {
        self.dir.join("config.lock")
    }

    /// Makes the folder before the first write. The root may be new; a profile has to be there already.
    pub fn create(&self) -> Result<(), HomeError> {
        match &self.profile {
            Some(name) if !self.dir.is_dir() => {
                Err(HomeError::Missing { name: name.0.clone(), chosen_by: "", reset: "" })
            }
            Some(_) => Ok(()),
            None => Ok(disk::create_folder(&self.dir)?),
        }
    }
}

/// `~/x` as the shell would read it; a quoted `HERMES_HOME="~/x"` reaches us with the tilde.
fn untilde(path: PathBuf, home: Option<OsString>) -> PathBuf {
    match (path.strip_prefix("~"), home) {
        (Ok(rest), Some(home)) => PathBuf::from(home).join(rest),
        _ => path,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn vars<'a>(pairs: &'a [(&'a str, &'a str)]) -> impl Fn(&str) -> Option<OsString> + 'a {
        |name| pairs.iter().find(|(key, _)| *key == name).map(|(_, value)| OsString::from(value))
    }

    #[test]
    fn the_root_is_hermes_home_else_dot_hermes() {
        let root = |pairs: &[(&str, &str)]| Root::find(&vars(pairs)).map(|root| root.dir);
        assert_eq!(root(&[("HOME", "/home/ann")]).expect("found"), Path::new("/home/ann/.hermes"));
        assert_eq!(root(&[("HOME", "/home/ann"), ("HERMES_HOME", "/srv/h")]).expect("found"), Path::new("/srv/h"));
        assert_eq!(root(&[("HOME", "/home/ann"), ("HERMES_HOME", "~/h")]).expect("found"), Path::new("/home/ann/h"));
        assert_eq!(root(&[("HOME", "/home/ann"), ("HERMES_HOME", "")]).expect("found"), Path::new("/home/ann/.hermes"));
        assert!(matches!(root(&[]), Err(HomeError::NoHome)));
    }

    #[test]
    fn flag_beats_variable_beats_sticky_choice_and_nothing_is_created() {
        let folder = tempfile::tempdir().expect("a folder");
        for name in ["work", "play", "rest"] {
            std::fs::create_dir_all(folder.path().join("profiles").join(name)).expect("created");
        }
        let root = Root::at(folder.path());
        let chosen = |flag: Option<&str>, pairs: &[(&str, &str)]| {
            root.home(flag, &vars(pairs)).map(|home| home.profile_label().to_owned()).map_err(|error| error.to_string())
        };
        assert_eq!(chosen(None, &[]), Ok("default".into()));
        root.stick_to(Some(&ProfileName::parse("rest").expect("a name"))).expect("written");
        assert_eq!(chosen(None, &[]), Ok("rest".into()));
        assert_eq!(chosen(None, &[("HERMES_PROFILE", "play")]), Ok("play".into()));
        assert_eq!(chosen(Some("work"), &[("HERMES_PROFILE", "play")]), Ok("work".into()));
        assert_eq!(chosen(Some("default"), &[]), Ok("default".into()));

        std::fs::remove_dir(folder.path().join("profiles/rest")).expect("removed");
        assert_eq!(
            chosen(None, &[]),
            Err("The profile `rest` (chosen by `hermes profile use`) does not exist.\n`hermes profile list` shows those \
                 that do; `hermes profile create rest` makes it; `hermes profile use default` goes back."
                .into())
        );
        let gone = root.profile_home(&ProfileName::parse("rest").expect("a name"));
        assert!(matches!(gone.create(), Err(HomeError::Missing { .. })));
        assert!(!gone.dir().exists());
    }

    #[test]
    fn a_home_inside_profiles_is_that_profile() {
        let folder = tempfile::tempdir().expect("a folder");
        let inside = folder.path().join("profiles/work");
        std::fs::create_dir_all(&inside).expect("created");
        let root = Root::at(&inside);
        assert_eq!(root.dir(), folder.path());
        let home = root.home(None, &vars(&[])).expect("found");
        assert_eq!((home.profile_label(), home.dir()), ("work", inside.as_path()));
    }

    #[test]
    fn names_are_checked() {
        for name in ["a", "work-2", "0_x"] {
            assert!(ProfileName::parse(name).is_ok(), "{name}");
        }
        let long = "a".repeat(65);
        for name in ["", "Work", "../x", "-a", "a b", "default", "config", "å", long.as_str()] {
            assert!(ProfileName::parse(name).is_err(), "{name}");
        }
    }
}
