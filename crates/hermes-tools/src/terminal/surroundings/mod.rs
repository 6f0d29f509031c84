//! The environment that commands see: the person's, without what belongs to Hermes.
//!
//! [`RULES`] is the one table of what is held back and why. A variable named in `Surroundings::private_variables` never
//! gets through, nor does one whose rule says so, whatever the owner lets pass and under whatever name it is forced.

pub mod sudo;
mod table;

use super::TerminalSettings;
use crate::settings::Surroundings;
use hermes_types::SessionId;
use std::collections::BTreeMap;
use std::path::Path;
use table::{Held, PRIVATE, RULES};

/// `_HERMES_FORCE_X=v` gives commands `X=v`, also where X would be left out for their comfort.
const FORCE: &str = "_HERMES_FORCE_";
/// Where programs are on a usual machine. Services and editors start Hermes with less.
const USUAL_PATH: [&str; 8] = [
    "/opt/homebrew/bin",
    "/opt/homebrew/sbin",
    "/usr/local/sbin",
    "/usr/local/bin",
    "/usr/sbin",
    "/usr/bin",
    "/sbin",
    "/bin",
];

/// What every command of these surroundings sees.
pub fn variables(around: &Surroundings, settings: &TerminalSettings) -> BTreeMap<String, String> {
    let passing = around.variables.iter().filter(|(name, _)| held_back(name, around, settings).is_none());
    let mut seen: BTreeMap<String, String> = passing.map(|(name, value)| (name.clone(), value.clone())).collect();
    for (name, value) in &around.variables {
        let forced = name.strip_prefix(FORCE).filter(|name| !name.is_empty());
        if let Some(name) = forced.filter(|name| held(name, around).is_none_or(|(held, _)| held < Held::Always)) {
            seen.insert(name.to_owned(), value.clone());
        }
    }
    let path = complete_path(seen.get("PATH").map(String::as_str).unwrap_or_default(), &around.hermes_root);
    seen.insert("PATH".to_owned(), path);
    seen
}

/// What commands do not see of it, and why; for people who look for a missing variable.
pub fn withheld(around: &Surroundings, settings: &TerminalSettings) -> BTreeMap<String, &'static str> {
    let names = around.variables.keys();
    names.filter_map(|name| Some((name.clone(), held_back(name, around, settings)?))).collect()
}

/// Why a variable does not pass, after the owner was heard.
fn held_back(name: &str, around: &Surroundings, settings: &TerminalSettings) -> Option<&'static str> {
    let (held, because) = held(name, around)?;
    let wanted = held == Held::UnlessWanted && settings.env_passthrough.iter().any(|wanted| wanted == name);
    (!wanted).then_some(because)
}

/// How firmly a variable is held back, and why: the firmest rule counts.
fn held(name: &str, around: &Surroundings) -> Option<(Held, &'static str)> {
    if around.private_variables.contains(name) {
        return Some((Held::Always, PRIVATE));
    }
    RULES.iter().filter(|rule| rule.names.fit(name)).map(|rule| (rule.held, rule.because)).max_by_key(|(held, _)| *held)
}

/// What tells a command which conversation it runs for. Never inherited: a Hermes started by Hermes is another one.
pub fn session_variables(session: &SessionId) -> BTreeMap<String, String> {
    BTreeMap::from([("HERMES_SESSION_ID".to_owned(), session.to_string())])
}

/// What makes programs in the background tell at once what they have to say.
pub fn background_variables() -> BTreeMap<String, String> {
    BTreeMap::from([("PYTHONUNBUFFERED".to_owned(), "1".to_owned())])
}

/// Hermes' own programs first, the usual places last. An empty entry would mean the current directory: whatever lies in
/// a project would run under the names of known programs.
fn complete_path(path: &str, hermes_root: &Path) -> String {
    let own = hermes_root.join("bin").display().to_string();
    let mut entries: Vec<&str> = Vec::new();
    for entry in [own.as_str()].into_iter().chain(path.split(':')).chain(USUAL_PATH) {
        if !entry.is_empty() && !entries.contains(&entry) {
            entries.push(entry);
        }
    }
    entries.join(":")
}
