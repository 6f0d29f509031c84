//! The environment that commands see: the person's, without what belongs to Hermes.
//!
//! [`RULES`] is the one table of what is held back and why. A variable named in `Surroundings::private_variables` never
//! gets through, nor does one whose rule says so, whatever the owner lets pass and under whatever name it is forced.

mod table;

use super::TerminalSettings;
use crate::settings::Surroundings;
use hermes_types::SessionId;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use table::{Held, RULES};

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
    let wanted: BTreeSet<&str> = settings.env_passthrough.iter().map(String::as_str).collect();
    let may_pass = |name: &str| match held(name, &around.private_variables) {
        None => true,
        Some(Held::UnlessWanted) => wanted.contains(name),
        Some(Held::Always) => false,
    };
    let plain = around.variables.iter().filter(|(name, _)| may_pass(name));
    let mut seen: BTreeMap<String, String> = plain.map(|(name, value)| (name.clone(), value.clone())).collect();
    let forced = around.variables.iter().filter_map(|(name, value)| Some((name.strip_prefix(FORCE)?, value)));
    let may_be_forced = |name: &str| {
        !name.is_empty() && matches!(held(name, &around.private_variables), None | Some(Held::UnlessWanted))
    };
    seen.extend(forced.filter(|(name, _)| may_be_forced(name)).map(|(name, value)| (name.to_owned(), value.clone())));
    let path = complete_path(seen.get("PATH").map(String::as_str).unwrap_or_default(), &around.hermes_root);
    seen.insert("PATH".to_owned(), path);
    seen
}

/// What tells a command which conversation it runs for. Never inherited: a Hermes started by Hermes is another one.
pub fn session_variables(session: &SessionId) -> BTreeMap<String, String> {
    BTreeMap::from([("HERMES_SESSION_ID".to_owned(), session.to_string())])
}

/// What makes programs in the background tell at once what they have to say.
pub fn background_variables() -> BTreeMap<String, String> {
    BTreeMap::from([("PYTHONUNBUFFERED".to_owned(), "1".to_owned())])
}

/// Whether a variable is held back, and how firmly.
fn held(name: &str, private: &BTreeSet<String>) -> Option<Held> {
    if private.contains(name) {
        return Some(Held::Always);
    }
    RULES.iter().filter(|rule| rule.names.fit(name)).map(|rule| rule.held).max()
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
