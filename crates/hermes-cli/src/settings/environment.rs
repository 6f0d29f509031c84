//! A snapshot of every variable this run can see, taken once: the process environment, the home's `.env`, and what an
//! administrator has fixed.
//!
//! For credentials the `.env` file wins over the process environment, so that a forgotten `export` does not shadow the key a
//! person just saved; for everything else the process environment wins. The administrator's `.env` wins over both. An empty
//! value counts as not set.

use super::dotenv::Dotenv;
use super::home::Home;
use super::mask;
use hermes_model::resolve::Env;
use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

const MANAGED_DIR: &str = "/etc/hermes";

#[derive(Clone, Default)]
pub struct Environment {
    process: BTreeMap<String, String>,
    file: BTreeMap<String, String>,
    managed: BTreeMap<String, String>,
    managed_dir: PathBuf,
    warnings: Vec<String>,
}

/// Where a variable's value is from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    Process,
    EnvFile,
    Managed,
}

impl Environment {
    pub fn capture(home: &Home) -> Self {
        let text = |value: std::ffi::OsString| value.into_string().ok();
        let process = std::env::vars_os().filter_map(|(name, value)| Some((text(name)?, text(value)?)));
        Self::with_process(home, process.collect())
    }

    /// The same with a given process environment.
    pub fn with_process(home: &Home, process: BTreeMap<String, String>) -> Self {
        let managed_dir =
            process.get("HERMES_MANAGED_DIR").filter(|dir| !dir.is_empty()).map_or(MANAGED_DIR.into(), PathBuf::from);
        let mut warnings = Vec::new();
        let mut variables = |path: &Path| match Dotenv::load(path) {
            Ok(mut file) => {
                warnings.append(&mut file.warnings);
                file.variables(&|name| process.get(name).cloned())
            }
            Err(error) => {
                warnings.push(error.to_string());
                BTreeMap::new()
            }
        };
        let file = variables(&home.env_file());
        let managed = variables(&managed_dir.join(".env"));
        Self { process, file, managed, managed_dir, warnings }
    }

    pub fn get(&self, name: &str) -> Option<&str> {
        self.find(name).map(|(value, _)| value)
    }

    pub fn source(&self, name: &str) -> Option<Source> {
        self.find(name).map(|(_, source)| source)
    }

    /// The names of all credentials that are set, sorted.
    pub fn credentials(&self) -> Vec<&str> {
        let mut names: Vec<&str> = [&self.process, &self.file, &self.managed]
            .into_iter()
            .flat_map(|variables| variables.keys())
            .map(String::as_str)
            .filter(|name| mask::is_credential(name) && self.get(name).is_some())
            .collect();
        names.sort_unstable();
        names.dedup();
        names
    }

    /// The same as the resolver takes it: what is written in files, and what the process was started with. Where the
    /// process wins, the file's value is left out.
    pub fn for_resolver(&self) -> Env {
        let written = self.file.keys().chain(self.managed.keys());
        let from_files = written.filter(|name| self.source(name) != Some(Source::Process));
        let value = |name: &String| Some((name.clone(), self.get(name)?.to_owned()));
        Env::new(from_files.filter_map(value), self.process.clone())
    }

    /// What this process was started with.
    pub fn process(&self) -> &BTreeMap<String, String> {
        &self.process
    }

    /// The names that stand in a `.env`.
    pub fn written(&self) -> impl Iterator<Item = &str> {
        self.file.keys().chain(self.managed.keys()).map(String::as_str)
    }

    /// Where the administrator's settings are.
    pub fn managed_dir(&self) -> &Path {
        &self.managed_dir
    }

    /// What was odd about the files; no value is ever in it.
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    fn find(&self, name: &str) -> Option<(&str, Source)> {
        let in_order = if mask::is_credential(name) {
            [(&self.managed, Source::Managed), (&self.file, Source::EnvFile), (&self.process, Source::Process)]
        } else {
            [(&self.managed, Source::Managed), (&self.process, Source::Process), (&self.file, Source::EnvFile)]
        };
        in_order.into_iter().find_map(|(variables, source)| {
            variables.get(name).filter(|value| !value.trim().is_empty()).map(|value| (value.as_str(), source))
        })
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Process => "environment",
            Self::EnvFile => ".env",
            Self::Managed => "managed .env",
        })
    }
}

/// Names only: half of these values are keys.
impl fmt::Debug for Environment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Environment")
            .field("process", &self.process.len())
            .field("file", &self.file.keys().collect::<Vec<_>>())
            .field("managed", &self.managed.keys().collect::<Vec<_>>())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::home::Root;

    #[test]
    fn the_file_wins_for_credentials_and_the_process_for_the_rest() {
        let folder = tempfile::tempdir().expect("a folder");
        let managed = folder.path().join("managed");
        std::fs::create_dir(&managed).expect("created");
        let home = Root::at(folder.path()).default_home();
        std::fs::write(home.env_file(), "A_KEY=file\nPLAIN=file\nB_KEY=\nONLY=file\nFIXED_TOKEN=file\n")
            .expect("written");
        std::fs::write(managed.join(".env"), "FIXED_TOKEN=managed\n").expect("written");
        let process = [("A_KEY", "process"), ("PLAIN", "process"), ("B_KEY", "process"), ("FIXED_TOKEN", "process")];
        let mut process: BTreeMap<String, String> = process.map(|(k, v)| (k.to_owned(), v.to_owned())).into();
        process.insert("HERMES_MANAGED_DIR".into(), managed.display().to_string());
        let environment = Environment::with_process(&home, process);
        let found: Vec<_> = ["A_KEY", "PLAIN", "B_KEY", "ONLY", "FIXED_TOKEN", "NONE"]
            .map(|name| environment.get(name).zip(environment.source(name)))
            .into();
        assert_eq!(
            found,
            [
                Some(("file", Source::EnvFile)),
                Some(("process", Source::Process)),
                Some(("process", Source::Process)),
                Some(("file", Source::EnvFile)),
                Some(("managed", Source::Managed)),
                None,
            ]
        );
        assert_eq!(environment.credentials(), ["A_KEY", "B_KEY", "FIXED_TOKEN"]);
        assert!(!format!("{environment:?}").contains("process\""), "{environment:?}");
        assert!(!home.config_file().exists());
    }
}
