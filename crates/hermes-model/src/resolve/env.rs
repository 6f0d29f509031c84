//! The environment as data: the person's `.env` file and what the process was started with.
//!
//! `.env` wins, because it is what `hermes` itself writes; a stale export in some shell must not override a key the
//! person just saved. Blank values count as not set in both.

use crate::secret::Secret;
use std::collections::BTreeMap;
use std::fmt;

#[derive(Clone, Default)]
pub struct Env {
    dotenv: BTreeMap<String, String>,
    process: BTreeMap<String, String>,
}

impl Env {
    pub fn new(
        dotenv: impl IntoIterator<Item = (String, String)>,
        process: impl IntoIterator<Item = (String, String)>,
    ) -> Self {
        Self { dotenv: dotenv.into_iter().collect(), process: process.into_iter().collect() }
    }

    /// A setting that is not secret.
    pub fn setting(&self, name: &str) -> Option<&str> {
        self.values(name).map(str::trim).find(|value| !value.is_empty())
    }

    /// The first usable key under `name`; a placeholder in `.env` does not hide a real key in the shell.
    pub fn credential(&self, name: &str) -> Option<Secret> {
        self.values(name).find_map(Secret::usable)
    }

    /// What the process was started with.
    pub fn process(&self) -> impl Iterator<Item = (&str, &str)> {
        self.process.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }

    fn values(&self, name: &str) -> impl Iterator<Item = &str> {
        [self.dotenv.get(name), self.process.get(name)].into_iter().flatten().map(String::as_str)
    }
}

/// Names only: most values here are secrets.
impl fmt::Debug for Env {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Env")
            .field("dotenv", &self.dotenv.keys())
            .field("process", &format_args!("{} variables", self.process.len()))
            .finish()
    }
}
