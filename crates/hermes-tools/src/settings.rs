//! What the owner decided and what the program found around it, read once into plain values.

use crate::checkpoint::CheckpointSettings;
use crate::clarify::ClarifySettings;
use crate::code::CodeSettings;
use crate::cover::Cover;
use crate::delegate::DelegationSettings;
use crate::files::FileSettings;
use crate::gate::ApprovalSettings;
use crate::loader::LoaderSettings;
use crate::memory::MemorySettings;
use crate::run::RunSettings;
use crate::skills::SkillSettings;
use crate::terminal::TerminalSettings;
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;

/// Where the program runs and what it was started with. Only the face knows how to find out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Surroundings {
    /// The person's home.
    pub home: PathBuf,
    /// The home of Hermes: the active profile's.
    pub hermes_home: PathBuf,
    /// The home of Hermes without a profile.
    pub hermes_root: PathBuf,
    /// Where the conversation starts.
    pub cwd: PathBuf,
    pub temp: PathBuf,
    pub variables: BTreeMap<String, String>,
    /// Variables that belong to Hermes (keys of providers, tools and messengers): no child sees them.
    pub private_variables: BTreeSet<String>,
}

#[cfg(test)]
impl Surroundings {
    /// Everything at this place, and no variables.
    pub(crate) fn all_at(place: &str) -> Self {
        let place = || PathBuf::from(place);
        Self {
            home: place(),
            hermes_home: place(),
            hermes_root: place(),
            cwd: place(),
            temp: place(),
            variables: BTreeMap::new(),
            private_variables: BTreeSet::new(),
        }
    }
}

#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    pub around: Surroundings,
    pub approvals: ApprovalSettings,
    pub terminal: TerminalSettings,
    pub files: FileSettings,
    pub memory: MemorySettings,
    pub checkpoints: CheckpointSettings,
    pub clarify: ClarifySettings,
    pub code: CodeSettings,
    pub delegation: DelegationSettings,
    pub run: RunSettings,
    /// Shared by all conversations.
    pub loader: Arc<LoaderSettings>,
    pub skills: SkillSettings,
    pub cover: Cover,
}

impl Settings {
    /// Reads a whole `config.yaml`, already with its defaults. What cannot be read is named and gets its default.
    pub fn read(config: &Value, around: Surroundings) -> (Self, Vec<String>) {
        let mut odd = Vec::new();
        let approvals = ApprovalSettings::read(config, &around, &mut odd);
        let cover = Cover::read(config, &around, &mut odd);
        let settings = Self {
            around,
            approvals,
            terminal: TerminalSettings::read(config, &mut odd),
            files: FileSettings::read(config, &mut odd),
            memory: section(config, "memory", &mut odd),
            checkpoints: section(config, "checkpoints", &mut odd),
            clarify: section(config, "agent", &mut odd),
            code: section(config, "code_execution", &mut odd),
            delegation: section(config, "delegation", &mut odd),
            run: RunSettings::read(config, &mut odd),
            loader: Arc::new(LoaderSettings::read(config, &mut odd)),
            skills: section(config, "skills", &mut odd),
            cover,
        };
        (settings, odd)
    }

    /// Everything at its default, for these surroundings.
    pub fn plain(around: Surroundings) -> Self {
        Self::read(&Value::Null, around).0
    }
}

/// One section of the settings by its name; a missing one has its defaults.
pub(crate) fn section<T: DeserializeOwned + Default>(config: &Value, name: &str, odd: &mut Vec<String>) -> T {
    match config.get(name) {
        None | Some(Value::Null) => T::default(),
        Some(value) => T::deserialize(value).unwrap_or_else(|error| {
            odd.push(format!("{name}: {error}; its defaults are used"));
            T::default()
        }),
    }
}
