//! "Always" is an entry of `command_allowlist` in `config.yaml`. Entries are added on the newest content of the file, one
//! process at a time; comments and everything else stay as they are.

use crate::settings::Home;
use crate::settings::edit::{Change, EditError, change_config};
use crate::settings::key_path::KeyPath;
use hermes_tools::gate::LastingConsent;
use serde_json::{Value, json};

/// The allow list of one home.
pub struct Allowlist {
    home: Home,
}

impl Allowlist {
    pub fn new(home: Home) -> Self {
        Self { home }
    }
}

impl LastingConsent for Allowlist {
    fn keep(&self, keys: &[String]) -> Result<(), String> {
        let changed = change_config(&self.home, |settings| Ok::<_, EditError>(added(settings, keys)));
        changed.map(|_| ()).map_err(|error| error.to_string())
    }
}

/// The changes that put these keys on the list.
fn added(settings: &Value, keys: &[String]) -> Vec<Change> {
    let path = KeyPath::of(["command_allowlist"]);
    let listed = match path.find(settings) {
        Some(Value::Array(entries)) => entries.clone(),
        Some(Value::String(only)) => vec![json!(only)],
        _ => Vec::new(),
    };
    let mut new: Vec<&String> = Vec::new();
    for key in keys {
        if !listed.iter().any(|entry| entry.as_str() == Some(key)) && !new.contains(&key) {
            new.push(key);
        }
    }
    let is_list = matches!(path.find(settings), Some(Value::Array(entries)) if !entries.is_empty());
    if new.is_empty() {
        Vec::new()
    } else if is_list {
        let places = listed.len()..;
        places.zip(new).map(|(place, key)| Change::Set(path.child(place.to_string()), json!(key))).collect()
    } else {
        let all: Vec<Value> = listed.into_iter().chain(new.into_iter().map(|key| json!(key))).collect();
        vec![Change::Set(path, Value::Array(all))]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::Root;
    use tempfile::TempDir;

    fn kept(before: &str, keys: &[&str]) -> String {
        let dir = TempDir::new().expect("a directory");
        let home = Root::at(dir.path()).default_home();
        std::fs::write(home.config_file(), before).expect("a file");
        let keys: Vec<String> = keys.iter().map(|key| (*key).to_owned()).collect();
        Allowlist::new(home.clone()).keep(&keys).expect("kept");
        std::fs::read_to_string(home.config_file()).expect("a file")
    }

    #[test]
    fn comments_and_entries_stay() {
        let before =
            "# mine\ncommand_allowlist: # what I trust\n  - git push * # daily\n  - recursive delete\nmodel: x\n";
        let after = kept(before, &["recursive delete", "find -delete"]);
        let expected = "# mine\ncommand_allowlist: # what I trust\n  - git push * # daily\n  - recursive delete\n  - find -delete\nmodel: x\n";
        assert_eq!(after, expected);
    }

    #[test]
    fn a_missing_list_is_made_and_a_single_text_becomes_one() {
        for before in ["", "command_allowlist: []\n", "command_allowlist:\n", "command_allowlist: ls *\n"] {
            let after = kept(before, &["find -delete"]);
            let read: Value = crate::settings::document::parse_text(&after).expect("YAML");
            let expected =
                if before.contains("ls") { json!(["ls *", "find -delete"]) } else { json!(["find -delete"]) };
            assert_eq!(read["command_allowlist"], expected, "{before:?} became {after:?}");
        }
    }

    #[test]
    fn processes_do_not_lose_each_others_entries() {
        let dir = TempDir::new().expect("a directory");
        let home = Root::at(dir.path()).default_home();
        std::thread::scope(|scope| {
            for at in 0..8 {
                let list = Allowlist::new(home.clone());
                scope.spawn(move || list.keep(&[format!("key {at}")]).expect("kept"));
            }
        });
        let text = std::fs::read_to_string(home.config_file()).expect("a file");
        let read: Value = crate::settings::document::parse_text(&text).expect("YAML");
        let mut found: Vec<&str> =
            read["command_allowlist"].as_array().expect("a list").iter().filter_map(Value::as_str).collect();
        found.sort_unstable();
        assert_eq!(found, ["key 0", "key 1", "key 2", "key 3", "key 4", "key 5", "key 6", "key 7"]);
    }
}
