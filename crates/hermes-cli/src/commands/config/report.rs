//! What `hermes config` prints about settings. Everything goes through the mask.

use super::super::paper::Paper;
use super::super::{Console, Exit, Trouble, table};
use super::model;
use crate::settings::keys::{self, KEYS, Remark};
use crate::settings::{
    DocumentError, Environment, Home, KeyPath, Settings, UserFile, document, dotenv, key_path, mask, migrate,
};
use serde_json::{Map, Value, json};
use std::collections::BTreeSet;
use std::io;

/// What was set, with its default beside it, and which keys there are.
pub(super) fn what_is_set(
    home: &Home,
    environment: &Environment,
    settings: &Settings,
    console: &mut Console<'_>,
) -> io::Result<()> {
    let out = &mut *console.sentences();
    writeln!(out, "Home      {} (profile {})", home.dir().display(), home.profile_label())?;
    writeln!(out, "Settings  {}", home.config_file().display())?;
    writeln!(out, "Keys      {}", home.env_file().display())?;
    let shown = masked(settings);
    let rows: Vec<[String; 3]> = key_path::leaves(&shown)
        .into_iter()
        .map(|(path, value)| [path.to_string(), plain(value), remark(settings, &path, value)])
        .collect();
    if rows.is_empty() {
        writeln!(out, "\nNothing is set: every setting has its default.")?;
    } else {
        writeln!(out, "\nSet")?;
        table::write(out, &rows)?;
    }
    let rows: Vec<[String; 3]> = credentials(environment)
        .into_iter()
        .map(|name| {
            let source = environment.source(name).map_or_else(String::new, |source| source.to_string());
            [name.to_owned(), variable(name, environment.get(name).unwrap_or_default()), source]
        })
        .collect();
    if !rows.is_empty() {
        writeln!(out, "\nKeys")?;
        table::write(out, &rows)?;
    }
    writeln!(out, "\n`hermes config show --all` lists every setting, `hermes config check` looks for mistakes.")
}

/// Every setting there is, its value in force and its meaning.
pub(super) fn everything(settings: &Settings, console: &mut Console<'_>) -> io::Result<()> {
    let rows: Vec<[String; 3]> = KEYS
        .iter()
        .map(|key| {
            let path = KeyPath::of(key.segments());
            let value = settings
                .effective(&path)
                .filter(|value| !value.is_null() && (!value.is_object() || key.default == "{}"));
            let value = value.map_or_else(String::new, |value| plain(&mask::settings(&path, &value)));
            [key.pattern.to_owned(), value, key.meaning.to_owned()]
        })
        .collect();
    table::write_folded(Paper::of_process().width, console.out, &rows)
}

pub(super) fn as_json(
    home: &Home,
    environment: &Environment,
    settings: &Settings,
    console: &mut Console<'_>,
) -> io::Result<()> {
    let keys: Map<String, Value> = credentials(environment)
        .into_iter()
        .map(|name| {
            let source = environment.source(name).map(|source| source.to_string());
            let value = variable(name, environment.get(name).unwrap_or_default());
            (name.to_owned(), json!({"value": value, "source": source}))
        })
        .collect();
    let report = json!({
        "home": home.dir(),
        "profile": home.profile_label(),
        "config_file": home.config_file(),
        "env_file": home.env_file(),
        "settings": masked(settings),
        "keys": keys,
    });
    writeln!(console.out, "{report:#}")
}

/// What is wrong with the settings, and what is merely odd.
pub(in crate::commands) struct Findings {
    pub(in crate::commands) problems: Vec<String>,
    pub(in crate::commands) notes: Vec<String>,
    /// Settings in the file.
    pub(in crate::commands) count: usize,
}

/// Looks for everything that is wrong. An error is a file that cannot be read at all.
pub(in crate::commands) fn findings(home: &Home, environment: &Environment) -> Result<Findings, Trouble> {
    let file = home.config_file();
    let mut problems = Vec::new();
    let mut notes = Vec::new();
    let mut told = Vec::new();
    let settings = match document::load(&file) {
        Ok(map) => Value::Object(map),
        Err(error @ (DocumentError::Broken(_) | DocumentError::Disk(_))) => return Err(error.into()),
    };
    let steps = migrate::plan(&settings, &dotenv::Dotenv::load(&home.env_file())?.variables(&|_| None));
    let mut present = settings.clone();
    migrate::fold(&mut present);
    for remark in keys::review(&present) {
        match remark {
            Remark::WrongValue { path, expected, got } => {
                problems.push(format!("`{path}` must be {expected}, got {got}"));
                told.push(path.to_string());
            }
            Remark::Unknown { path, suggestion: Some(known) } => {
                told.push(path.to_string());
                notes.push(format!("`{path}` is not known; did you mean `{known}`?"))
            }
            Remark::Unknown { path, suggestion: None } => {
                told.push(path.to_string());
                notes.push(format!("`{path}` is not known; it is kept and has no effect"))
            }
        }
    }
    let in_force = Settings::load(home, environment, UserFile::Read)?;
    let faults = model::faults(in_force.value(), environment).into_iter().filter(|fault| !told.contains(&fault.key));
    problems.extend(faults.map(|fault| fault.to_string()));
    if !steps.is_empty() {
        notes.push(
            "the layout is an older one, which still works; `hermes config migrate --dry-run` shows what would change"
                .into(),
        );
    }
    if migrate::version(&settings) > migrate::NEWEST {
        notes.push(format!(
            "written by a newer program (layout {}); some settings may have no effect",
            migrate::version(&settings)
        ));
    }
    notes.extend([&file, &home.env_file()].into_iter().filter_map(|path| open_to_others(path)));
    notes.extend(environment.warnings().iter().cloned());
    Ok(Findings { problems, notes, count: key_path::leaves(&settings).len() })
}

/// Tells of everything that is wrong. Fails when a setting cannot be used; what is merely odd is noted.
pub(super) fn check(home: &Home, environment: &Environment, console: &mut Console<'_>) -> Result<Exit, Trouble> {
    let Findings { problems, notes, count } = findings(home, environment)?;
    writeln!(console.out, "{}: {count} set", home.config_file().display())?;
    for (kind, lines) in [("wrong", &problems), ("note", &notes)] {
        for text in lines {
            writeln!(console.out, "  {kind:<6}{text}")?;
        }
    }
    match (problems.len(), notes.len()) {
        (0, 0) => writeln!(console.out, "All is well.")?,
        (0, 1) => writeln!(console.out, "No wrong values; 1 note.")?,
        (0, notes) => writeln!(console.out, "No wrong values; {notes} notes.")?,
        (wrong, _) => {
            let things = if wrong == 1 { "1 setting is".to_owned() } else { format!("{wrong} settings are") };
            writeln!(
                console.out,
                "{things} wrong. Change with `hermes config set KEY VALUE` or `hermes config edit`."
            )?;
            return Ok(Exit::Failed);
        }
    }
    Ok(Exit::Done)
}

/// A variable's value as it may be shown.
pub(super) fn variable(name: &str, value: &str) -> String {
    if mask::is_credential(name) {
        mask::secret(value)
    } else {
        plain(&mask::settings(&KeyPath::of([name]), &value.into()))
    }
}

fn masked(settings: &Settings) -> Value {
    mask::settings(&KeyPath::of(Vec::<String>::new()), settings.value())
}

/// Keys in the home's files, and those in the process environment that some provider or tool reads.
fn credentials(environment: &Environment) -> Vec<&str> {
    let known: BTreeSet<&str> = dotenv::known_variables().collect();
    let mut names = environment.credentials();
    names.retain(|name| known.contains(name) || environment.source(name) != Some(crate::settings::Source::Process));
    names
}

/// What is worth knowing about one setting.
fn remark(settings: &Settings, path: &KeyPath, value: &Value) -> String {
    if path.find(settings.managed()).is_some() {
        return "fixed by the administrator".into();
    }
    match keys::known(path) {
        keys::Known::No => "not known".into(),
        _ => match keys::default_at(path) {
            Some(default) if default.is_object() || default.is_null() || default == "" || default == *value => {
                String::new()
            }
            Some(default) => format!("default {}", plain(&default)),
            None => String::new(),
        },
    }
}

/// Texts as they are, everything else as JSON.
fn plain(value: &Value) -> String {
    match value {
        Value::String(text) if text.is_empty() || text.trim() != text || text.contains('\n') => value.to_string(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

#[cfg(unix)]
fn open_to_others(path: &std::path::Path) -> Option<String> {
    use std::os::unix::fs::PermissionsExt;
    let mode = std::fs::metadata(path).ok()?.permissions().mode() & 0o777;
    (mode & 0o077 != 0).then(|| format!("other users can read it (mode {mode:o}); `chmod 600 {}`", path.display()))
}

#[cfg(not(unix))]
fn open_to_others(_: &std::path::Path) -> Option<String> {
    None
}
