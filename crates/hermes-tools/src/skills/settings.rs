//! `skills.*`, and the folders that skills are looked for in.

use super::shelf::OWN;
use super::words::{fill, words};
use crate::settings::{Settings, Surroundings};
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Names the messenger a process works for; the terminal where it is not set.
const PLATFORM: &str = "HERMES_PLATFORM";
const TERMINAL: &str = "cli";

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct SkillSettings {
    /// Further folders, read and never written.
    #[serde(deserialize_with = "list")]
    pub external_dirs: Vec<String>,
    /// Whether `${HERMES_SKILL_DIR}` and `${HERMES_SESSION_ID}` are filled in.
    pub template_vars: bool,
    /// Names of skills that are never used.
    #[serde(deserialize_with = "list")]
    pub disabled: Vec<String>,
    /// The same for one platform.
    #[serde(deserialize_with = "lists")]
    pub platform_disabled: BTreeMap<String, Vec<String>>,
    /// Whether what the agent writes is scanned like what comes from strangers.
    pub guard_agent_created: bool,
    /// Whether changes wait in `pending/skills` until a person approves them.
    pub write_approval: bool,
    /// Whether commands that skills hold are run when they are loaded.
    pub inline_shell: bool,
    /// Seconds for each of them.
    pub inline_shell_timeout: u64,
    /// Values that skills ask for in their frontmatter.
    pub config: Value,
    /// Lists of skills that can be installed by name: files, or addresses.
    #[serde(deserialize_with = "list")]
    pub hub_indexes: Vec<String>,
}

impl Default for SkillSettings {
    fn default() -> Self {
        Self {
            external_dirs: Vec::new(),
            template_vars: true,
            disabled: Vec::new(),
            platform_disabled: BTreeMap::new(),
            guard_agent_created: false,
            write_approval: false,
            inline_shell: false,
            inline_shell_timeout: 10,
            config: Value::Null,
            hub_indexes: Vec::new(),
        }
    }
}

impl SkillSettings {
    pub(super) fn is_disabled(&self, name: &str, platform: &str) -> bool {
        let here = self.platform_disabled.get(platform);
        self.disabled.iter().chain(here.into_iter().flatten()).any(|disabled| disabled == name)
    }
}

/// The folders with skills: the person's own before all others.
pub(super) fn roots(settings: &Settings) -> Vec<PathBuf> {
    let around = &settings.around;
    let further = settings.skills.external_dirs.iter().map(|written| expanded(written, around));
    let mut roots: Vec<PathBuf> = Vec::new();
    for root in std::iter::once(around.hermes_home.join(OWN)).chain(further) {
        // One that is not there, or is there twice, has nothing to add.
        if let Ok(root) = root.canonicalize()
            && !roots.contains(&root)
        {
            roots.push(root);
        }
    }
    roots
}

fn expanded(written: &str, around: &Surroundings) -> PathBuf {
    let filled = fill(written, |name| around.variables.get(name).map(|value| Cow::Borrowed(value.as_str())));
    match filled.strip_prefix('~') {
        Some(rest) => around.home.join(rest.trim_start_matches('/')),
        None => around.hermes_home.join(Path::new(&filled)),
    }
}

/// The platform whose skills the tools offer.
pub(super) fn platform(around: &Surroundings) -> &str {
    let named = around.variables.get(PLATFORM).map(|name| name.trim());
    named.filter(|name| !name.is_empty()).unwrap_or(TERMINAL)
}

fn list<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    Ok(words(&Value::deserialize(deserializer)?))
}

fn lists<'de, D: Deserializer<'de>>(deserializer: D) -> Result<BTreeMap<String, Vec<String>>, D::Error> {
    let written = Option::<BTreeMap<String, Value>>::deserialize(deserializer)?.unwrap_or_default();
    Ok(written.into_iter().map(|(platform, names)| (platform, words(&names))).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn lists_are_read_however_they_are_written() {
        let written = json!({"skills": {"disabled": "a, b", "platform_disabled": {"telegram": ["c"], "cli": null},
            "external_dirs": null, "config": {"x": 1}}});
        let (settings, odd) = Settings::read(&written, Surroundings::all_at("/nonexistent"));
        let skills = &settings.skills;
        assert_eq!((odd, skills.template_vars, skills.external_dirs.len()), (Vec::new(), true, 0));
        let disabled = |name, platform| skills.is_disabled(name, platform);
        assert!(disabled("a", "cli") && disabled("b", "x") && disabled("c", "telegram") && !disabled("c", "cli"));
    }

    #[test]
    fn further_folders_are_expanded_and_must_be_there() {
        let folder = tempfile::tempdir().expect("a folder");
        let place = folder.path().canonicalize().expect("its real path");
        for name in ["skills", "mine", "team/skills"] {
            std::fs::create_dir_all(place.join(name)).expect("a folder");
        }
        let mut around = Surroundings::all_at(&place.display().to_string());
        around.variables.insert("TEAM".to_owned(), place.join("team").display().to_string());
        let dirs = json!(["~/mine", "${TEAM}/skills", "${NOBODY}/skills", "/nonexistent", "~/skills"]);
        let (settings, _) = Settings::read(&json!({"skills": {"external_dirs": dirs}}), around);
        assert_eq!(roots(&settings), ["skills", "mine", "team/skills"].map(|name| place.join(name)));
    }
}
