//! `config.yaml` and `.env`: any text is read or refused, and an edit changes what it names and nothing else.

use hermes_cli::settings::document;
use hermes_cli::settings::dotenv::Dotenv;
use hermes_cli::settings::edit::{self, Change};
use hermes_cli::settings::key_path::{KeyPath, leaves};
use hermes_fuzz::{explore, mutants};
use proptest::prelude::*;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::Path;

const YAML: [&[u8]; 2] = [include_bytes!("../../corpus/config.yaml"), include_bytes!("../../corpus/short.yaml")];
const YAML_WORDS: [&str; 24] = [
    "\n", "  ", "\t", ": ", "- ", "#", " # x", "{", "}", "[", "]", ",", "'", "\"", "|", ">-", "&a", "*a", "<<: *a",
    "---\n", "? ", "!!str ", "\u{feff}", "é",
];
const PATHS: [&str; 10] = [
    "model.default",
    "model.provider",
    "agent.max_turns",
    "toolsets",
    "toolsets.0",
    "fallback_providers.1.model",
    "display.personality",
    "delegation.timeout",
    "providers.\"my.host\".base_url",
    "new",
];

fn changes() -> impl Strategy<Value = Change> {
    let path = prop::sample::select(&PATHS[..]).prop_map(|text| KeyPath::parse(text).expect("a path"));
    let value = prop_oneof![
        Just(json!(true)),
        any::<i64>().prop_map(Value::from),
        "[a-zA-Z0-9:#'\"\\\\\n {}\\[\\]é~|>&*!%@`-]{0,12}".prop_map(Value::from),
        Just(json!(["a", "b: c"])),
        Just(json!({"k": "v", "list": [1, null]})),
        Just(Value::Null),
    ];
    prop_oneof![(path.clone(), value).prop_map(|(path, value)| Change::Set(path, value)), path.prop_map(Change::Unset),]
}

/// Settings that neither hold the address nor lie below it.
fn others(settings: &Value, path: &KeyPath) -> Vec<(KeyPath, Value)> {
    let is_other = |(key, _): &(KeyPath, &Value)| !key.starts_with(path) && !path.starts_with(key);
    leaves(settings).into_iter().filter(is_other).map(|(key, value)| (key, value.clone())).collect()
}

#[test]
fn an_edit_of_any_readable_settings_keeps_all_others() {
    explore((mutants(), changes()), |(mutant, change)| {
        let bytes = mutant.of(&YAML, &YAML_WORDS);
        let before = match document::parse(Path::new("config.yaml"), &bytes) {
            Ok(settings) => Value::Object(settings),
            Err(broken) => {
                prop_assert!(!broken.to_string().is_empty());
                return Ok(());
            }
        };
        let text = String::from_utf8_lossy(&bytes);
        let Ok(edited) = edit::apply(&text, std::slice::from_ref(&change)) else { return Ok(()) };
        let after = document::parse(Path::new("config.yaml"), edited.as_bytes());
        prop_assert!(after.is_ok(), "{change:?} made {:?} of {text:?}", edited);
        let after = after.map(Value::Object).unwrap_or_default();
        let path = change.path();
        match &change {
            Change::Set(_, value) => prop_assert_eq!(path.find(&after), Some(value), "{}", edited),
            // What stands behind in a list moves up.
            Change::Unset(_) if path.last() == "0" => return Ok(()),
            Change::Unset(_) => prop_assert_eq!(path.find(&after), None, "{}", edited),
        }
        let kept = others(&after, path);
        for other in others(&before, path) {
            let is_emptied = other.1.is_null() || other.1 == json!({});
            prop_assert!(kept.contains(&other) || is_emptied, "{change:?} changed {} in {text:?}", other.0);
        }
        Ok(())
    });
}

const DOTENV: [&[u8]; 1] = [include_bytes!("../../corpus/dotenv")];
const DOTENV_WORDS: [&str; 14] =
    ["\n", "\r\n", "=", "#", " #", "'", "\"", "\\", "export ", "A=", "NEW_ONE=x", "${HOST}", "é", "\u{feff}"];

fn variables(file: &Dotenv) -> BTreeMap<String, String> {
    file.variables(&|_| None)
}

#[test]
fn a_variable_is_stored_as_it_is_and_the_others_stay() {
    let names = prop::sample::select(&["NEW_ONE", "MULTI", "PASSWORD", "URL"][..]);
    let values = "[a-zA-Z0-9 '\"\\\\#=$\n\r\té-]{0,16}".prop_map(|text| text.trim().to_owned());
    explore((mutants(), names, values), |(mutant, name, value)| {
        let bytes = mutant.of(&DOTENV, &DOTENV_WORDS);
        let text = String::from_utf8_lossy(&bytes);
        let mut file = Dotenv::parse(&text);
        if file.warnings.iter().all(|warning| !warning.contains("two lines")) {
            prop_assert_eq!(file.text(), text.as_ref());
        }
        let mut expected = variables(&file);
        file.set(name, &value);
        expected.insert(name.to_owned(), value);
        let written = file.text();
        let mut read = Dotenv::parse(&written);
        // Lines below the changed one may refer to it.
        let names = |all: &BTreeMap<String, String>| all.keys().cloned().collect::<Vec<_>>();
        let found = variables(&read);
        prop_assert_eq!(names(&found), names(&expected), "{}", written);
        prop_assert_eq!(found.get(name), expected.get(name), "{}", written);
        if !written.contains("${") {
            prop_assert_eq!(&found, &expected, "{}", written);
        }
        prop_assert!(read.unset(name));
        expected.remove(name);
        prop_assert_eq!(names(&variables(&Dotenv::parse(&read.text()))), names(&expected));
        Ok(())
    });
}
