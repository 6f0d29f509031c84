//! Changing `config.yaml` without touching what the person wrote around the change.
//!
//! Comments, order and style stay. Before anything is written the new text is read back and compared with the old settings
//! plus the change; if one other value differs, the edit is refused and the file stays as it was. Edits of one home are
//! made one at a time, each on the newest content, so two processes never undo each other.

use super::disk::{self, DiskError, Lock};
use super::document::{self, DocumentError};
use super::home::{Home, HomeError};
use super::key_path::KeyPath;
use super::keys::{self, Kind, Known};
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::str::FromStr;
use yaml_edit::path::{AliasPolicy, YamlPath};
use yaml_edit::{Document, ScalarValue, YamlFile, YamlValue};

#[derive(Debug, Clone, PartialEq)]
pub enum Change {
    Set(KeyPath, Value),
    Unset(KeyPath),
}

/// Why a change was not made. The file is as it was.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    #[error(
        "`{path}` cannot be set: `{above}` holds {found}, not a section.\nRemove that first with `hermes config unset {above}`."
    )]
    InTheWay { path: String, above: String, found: String },
    #[error("`{path}` cannot be set: `{list}` is a list of {length}. Its next free place is `{list}.{length}`.")]
    NoSuchPlace { path: String, list: String, length: usize },
    #[error("`{0}` is not set, so there is nothing to remove. `hermes config show` lists what is set.")]
    NotSet(String),
    #[error(
        "`{0}` cannot be changed without changing other settings too (the file uses YAML aliases or merges there).\nChange it by hand with `hermes config edit`."
    )]
    Entangled(String),
}

#[derive(Debug, thiserror::Error)]
pub enum EditError {
    #[error(transparent)]
    Home(#[from] HomeError),
    #[error(transparent)]
    Disk(#[from] DiskError),
    #[error(transparent)]
    Document(#[from] DocumentError),
    #[error(transparent)]
    Refused(#[from] Refusal),
}

/// Makes the changes that `plan` asks for after seeing the newest settings. Returns the file.
pub fn change_config<E: From<EditError>>(
    home: &Home,
    plan: impl FnOnce(&Value) -> Result<Vec<Change>, E>,
) -> Result<PathBuf, E> {
    let file = home.config_file();
    home.create().map_err(EditError::from)?;
    let _lock = Lock::acquire(&home.lock_file()).map_err(EditError::from)?;
    let bytes = disk::read(&file).map_err(EditError::from)?.unwrap_or_default();
    let settings = document::parse(&file, &bytes)
        .map_err(|broken| EditError::Document(DocumentError::Broken(Box::new(broken))))?;
    let changes = plan(&Value::Object(settings))?;
    if !changes.is_empty() {
        let text = apply(&String::from_utf8_lossy(&bytes), &changes).map_err(EditError::from)?;
        disk::replace(&file, text.as_bytes()).map_err(EditError::from)?;
    }
    Ok(file)
}

/// The text with the changes made. Pure; `text` is a settings document that has been parsed before.
pub fn apply(text: &str, changes: &[Change]) -> Result<String, Refusal> {
    let text = text.trim_start_matches('\u{feff}');
    let entangled = || Refusal::Entangled(changes.first().map_or_else(String::new, |change| change.path().to_string()));
    let mut intended = match document::parse_text(text) {
        Ok(Value::Null) => Value::Object(Map::new()),
        Ok(value) => value,
        Err(_) => return Err(entangled()),
    };
    let file = YamlFile::from_str(text).map_err(|_| entangled())?;
    for change in changes {
        match change {
            Change::Set(path, value) => set(&file, &mut intended, path, value)?,
            Change::Unset(path) => unset(&file, &mut intended, path)?,
        }
    }
    let written = without_empty_root(file.to_string(), &intended);
    match document::parse_text(&written) {
        Ok(Value::Null) if intended == Value::Object(Map::new()) => Ok(written),
        Ok(read_back) if read_back == intended => Ok(written),
        _ => Err(entangled()),
    }
}

impl Change {
    pub fn path(&self) -> &KeyPath {
        match self {
            Self::Set(path, _) | Self::Unset(path) => path,
        }
    }
}

fn set(file: &YamlFile, intended: &mut Value, path: &KeyPath, value: &Value) -> Result<(), Refusal> {
    let entangled = || Refusal::Entangled(path.to_string());
    unfold_model(file, intended, path).ok_or_else(entangled)?;
    check_way(intended, path)?;
    let address = address(intended, path);
    if !path.put(intended, value.clone()) {
        return Err(entangled());
    }
    put(&file.ensure_document(), &address, value).ok_or_else(entangled)
}

/// `model: some-id` becomes a section before a key is set below it.
fn unfold_model(file: &YamlFile, intended: &mut Value, path: &KeyPath) -> Option<()> {
    let model = KeyPath::of(["model"]);
    match (model.find(intended), path.segments().first().map(String::as_str)) {
        (Some(Value::String(id)), Some("model")) if path.segments().len() > 1 => {
            let section = if id.is_empty() {
                Map::new()
            } else {
                Map::from_iter([("default".to_owned(), Value::from(id.as_str()))])
            };
            let document = file.ensure_document();
            put(&document, "model", &Value::Null)?;
            for (key, value) in &section {
                put(&document, &format!("model.{key}"), value)?;
            }
            let section = if section.is_empty() { Value::Null } else { Value::Object(section) };
            model.put(intended, section).then_some(())
        }
        _ => Some(()),
    }
}

/// Everything above the address has to be a section, a list with that place, or nothing yet.
fn check_way(settings: &Value, path: &KeyPath) -> Result<(), Refusal> {
    let mut here = settings;
    for (depth, segment) in path.segments().iter().enumerate() {
        let above = || KeyPath::of(path.segments().iter().take(depth).cloned()).to_string();
        here = match here {
            Value::Null => return Ok(()),
            Value::Object(map) => match map.get(segment) {
                Some(value) => value,
                None => return Ok(()),
            },
            Value::Array(items) => {
                let place = segment.parse::<usize>().ok();
                match place.and_then(|place| items.get(place)) {
                    Some(item) => item,
                    None if place == Some(items.len()) => return Ok(()),
                    None => {
                        let (path, list, length) = (path.to_string(), above(), items.len());
                        return Err(Refusal::NoSuchPlace { path, list, length });
                    }
                }
            }
            other => {
                return Err(Refusal::InTheWay { path: path.to_string(), above: above(), found: keys::describe(other) });
            }
        };
    }
    Ok(())
}

fn unset(file: &YamlFile, intended: &mut Value, path: &KeyPath) -> Result<(), Refusal> {
    unfold_model(file, intended, path).ok_or_else(|| Refusal::Entangled(path.to_string()))?;
    let address = address(intended, path);
    let in_list = path.parent().and_then(|parent| parent.find(intended).map(Value::is_array)).unwrap_or(false);
    if path.take(intended).is_none() {
        return Err(Refusal::NotSet(path.to_string()));
    }
    let document = file.ensure_document();
    let removed = if in_list {
        let list = address.rsplit_once('.').and_then(|(list, place)| Some((list, place.parse::<usize>().ok()?)));
        list.and_then(|(list, place)| document.try_get_path(list).ok()?.as_sequence()?.remove(place)).is_some()
    } else {
        document.try_remove_path(&address).is_ok()
    };
    removed.then_some(()).ok_or_else(|| Refusal::Entangled(path.to_string()))
}

fn put(document: &Document, address: &str, value: &Value) -> Option<()> {
    let alone = AliasPolicy::Expand;
    let done = match value {
        Value::String(text) if !needs_quotes(text) => document.try_set_path_with(address, text.as_str(), alone),
        other => document.try_set_path_with(address, yaml(other), alone),
    };
    done.ok()
}

fn yaml(value: &Value) -> YamlValue {
    match value {
        Value::Null => YamlValue::scalar(ScalarValue::null()),
        Value::Bool(flag) => YamlValue::scalar(*flag),
        Value::Number(number) => match (number.as_i64(), number.as_f64()) {
            (Some(whole), _) => YamlValue::scalar(whole),
            (None, Some(float)) => YamlValue::scalar(float),
            (None, None) => YamlValue::scalar(number.to_string()),
        },
        Value::String(text) if needs_quotes(text) => YamlValue::scalar(ScalarValue::double_quoted(text.as_str())),
        Value::String(text) => YamlValue::scalar(text.as_str()),
        Value::Array(items) => YamlValue::Sequence(items.iter().map(yaml).collect()),
        Value::Object(map) => {
            YamlValue::Mapping(map.iter().map(|(key, value)| (key.clone(), yaml(value))).collect::<BTreeMap<_, _>>())
        }
    }
}

/// True for a text that some YAML reader would take for a number, a date, a time or a switch.
fn needs_quotes(text: &str) -> bool {
    const SWITCHES: [&str; 8] = ["y", "n", "yes", "no", "on", "off", "true", "false"];
    text.starts_with(|c: char| c.is_ascii_digit() || matches!(c, '+' | '-' | '.'))
        || SWITCHES.contains(&text.to_ascii_lowercase().as_str())
}

/// The address in the editor's own grammar. A segment is a place only where a list is; everything else is escaped, so that
/// it is a key whatever it looks like.
fn address(settings: &Value, path: &KeyPath) -> String {
    let mut here = Some(settings);
    let mut out = String::new();
    for segment in path.segments() {
        if !out.is_empty() {
            out.push('.');
        }
        if here.is_some_and(Value::is_array) {
            out.push_str(segment);
        } else {
            for c in segment.chars() {
                if !(c.is_alphabetic() || c == '_') {
                    out.push('\\');
                }
                out.push(c);
            }
        }
        here = here.and_then(|value| KeyPath::of([segment.as_str()]).find(value));
    }
    out
}

/// A root emptied by an edit is written as `{}`; dropping that line lets the next edit start with ordinary lines again.
fn without_empty_root(text: String, intended: &Value) -> String {
    if *intended != Value::Object(Map::new()) {
        return text;
    }
    text.split_inclusive('\n').filter(|line| line.trim() != "{}").collect()
}

/// The value a person meant by `text` for a setting of this kind.
pub fn coerce(text: &str, path: &KeyPath) -> Value {
    let kind = match keys::known(path) {
        Known::Key(key) => key.kind(),
        _ => Kind::Any,
    };
    if kind == Kind::Text {
        return Value::from(text);
    }
    let trimmed = text.trim();
    match trimmed.to_ascii_lowercase().as_str() {
        "true" | "yes" | "on" => return Value::Bool(true),
        "false" | "no" | "off" => return Value::Bool(false),
        "null" | "~" => return Value::Null,
        _ => {}
    }
    if trimmed.starts_with(['[', '{'])
        && let Ok(value) = serde_json::from_str(trimmed)
    {
        return value;
    }
    if let Ok(whole) = trimmed.parse::<i64>() {
        return Value::from(whole);
    }
    let is_float = trimmed.contains(|c: char| c.is_ascii_digit())
        && trimmed.chars().all(|c| c.is_ascii_digit() || "+-.eE".contains(c));
    match trimmed.parse::<f64>() {
        Ok(float) if is_float && float.is_finite() => Value::from(float),
        // `a,b` for a list is what people type, and what the flags take.
        _ if kind == Kind::List => {
            trimmed.split(',').map(str::trim).filter(|part| !part.is_empty()).map(Value::from).collect()
        }
        _ => Value::from(text),
    }
}

#[cfg(test)]
mod tests;
