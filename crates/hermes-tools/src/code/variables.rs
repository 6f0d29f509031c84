//! Which Python runs a script, and what it sees of the environment: less than a command. Of the variables that commands
//! see, those pass that the owner named, then those of a short list whose names do not speak of a secret.

use super::settings::Mode;
use crate::settings::Surroundings;
use crate::terminal::family::Family;
use crate::terminal::surroundings;
use crate::terminal::{TerminalSettings, find};
use rustix::fs::{Access, access};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Names with one of these in them are secrets.
const SECRET: [&str; 12] = [
    "KEY",
    "TOKEN",
    "SECRET",
    "PASSWORD",
    "CREDENTIAL",
    "PASSWD",
    "AUTH",
    "DSN",
    "WEBHOOK",
    "CREDS",
    "BEARER",
    "APIKEY",
];
/// Names that begin so are about the machine, the person or Python.
const ORDINARY: [&str; 15] = [
    "PATH",
    "HOME",
    "USER",
    "LANG",
    "LC_",
    "TERM",
    "TMPDIR",
    "TMP",
    "TEMP",
    "SHELL",
    "LOGNAME",
    "XDG_",
    "PYTHONPATH",
    "VIRTUAL_ENV",
    "CONDA",
];
/// Where Hermes itself is at home.
const OF_HERMES: [&str; 4] = ["HERMES_HOME", "HERMES_PROFILE", "HERMES_CONFIG", "HERMES_ENV"];
/// Active Python environments, the first that is there counts. Commands do not see these two, because a login shell
/// chooses anew; a script has no shell that could.
const ENVIRONMENTS: [&str; 2] = ["VIRTUAL_ENV", "CONDA_PREFIX"];
const TIME_ZONE: &str = "HERMES_TIMEZONE";

/// The Python that runs a script.
pub(super) fn interpreter(mode: Mode, around: &Surroundings, terminal: &TerminalSettings) -> Option<PathBuf> {
    let active = match mode {
        Mode::Project => ENVIRONMENTS.iter().filter_map(|name| around.variables.get(*name)).find_map(|folder| {
            let python = Path::new(folder).join("bin/python");
            (python.is_absolute() && python.is_file() && access(&python, Access::EXEC_OK).is_ok()).then_some(python)
        }),
        Mode::Strict => None,
    };
    let seen = surroundings::variables(around, terminal);
    active.or_else(|| ["python3", "python"].iter().find_map(|name| find(name, &seen)))
}

/// Everything a script is given, but for the way to the tools.
pub(super) fn variables(
    mode: Mode,
    around: &Surroundings,
    terminal: &TerminalSettings,
    staging: &Path,
) -> BTreeMap<String, String> {
    let seen = surroundings::variables(around, terminal);
    let passes = |name: &str| terminal.env_passthrough.iter().any(|wanted| wanted == name) || is_ordinary(name);
    let mut given: BTreeMap<String, String> = seen.into_iter().filter(|(name, _)| passes(name)).collect();
    if mode == Mode::Project {
        let active =
            ENVIRONMENTS.iter().filter_map(|name| Some(((*name).to_owned(), around.variables.get(*name)?.clone())));
        given.extend(active);
    }
    let outer = around.variables.get(Family::VARIABLE).map(|marks| (Family::VARIABLE.to_owned(), marks.clone()));
    given.extend(outer);
    let zone = around.variables.get(TIME_ZONE).map(|zone| zone.trim()).filter(|zone| !zone.is_empty());
    given.extend(zone.map(|zone| ("TZ".to_owned(), zone.to_owned())));
    let staging = staging.display().to_string();
    let modules = given.get("PYTHONPATH").filter(|path| !path.is_empty());
    let modules = modules.map_or_else(|| staging.clone(), |path| format!("{staging}:{path}"));
    given.insert("PYTHONPATH".to_owned(), modules);
    for (name, value) in [("PYTHONDONTWRITEBYTECODE", "1"), ("PYTHONIOENCODING", "utf-8"), ("PYTHONUTF8", "1")] {
        given.insert(name.to_owned(), value.to_owned());
    }
    given
}

fn is_ordinary(name: &str) -> bool {
    let upper = name.to_uppercase();
    let secret = SECRET.iter().any(|word| upper.contains(word));
    !secret && (ORDINARY.iter().any(|start| name.starts_with(start)) || OF_HERMES.contains(&name))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn around(variables: &[(&str, &str)]) -> Surroundings {
        let variables = variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        Surroundings { variables, ..Surroundings::all_at("/nonexistent") }
    }

    fn given(mode: Mode, variables_there: &[(&str, &str)], passthrough: &[&str]) -> BTreeMap<String, String> {
        let env_passthrough = passthrough.iter().map(|name| (*name).to_owned()).collect();
        let terminal = TerminalSettings { env_passthrough, ..TerminalSettings::default() };
        variables(mode, &around(variables_there), &terminal, Path::new("/staging"))
    }

    #[test]
    fn a_script_sees_the_ordinary_and_what_the_owner_named() {
        let there = [
            ("LANG", "C.UTF-8"),
            ("XDG_CACHE_HOME", "/c"),
            ("HERMES_HOME", "/h"),
            ("HERMES_BASE_URL", "http://x"),
            ("EDITOR", "vi"),
            ("TMP_SECRET", "s"),
            ("MY_DSN", "postgres://"),
            ("WANTED_KEY", "w"),
            ("GH_TOKEN", "t"),
            ("VIRTUAL_ENV", "/venv"),
            ("HERMES_TIMEZONE", "Europe/Berlin"),
            ("PYTHONPATH", "/lib"),
        ];
        let seen = given(Mode::Project, &there, &["WANTED_KEY"]);
        let names: Vec<&str> = seen.keys().map(String::as_str).collect();
        let expected = [
            "HERMES_HOME",
            "LANG",
            "PATH",
            "PYTHONDONTWRITEBYTECODE",
            "PYTHONIOENCODING",
            "PYTHONPATH",
            "PYTHONUTF8",
            "TZ",
            "VIRTUAL_ENV",
            "WANTED_KEY",
            "XDG_CACHE_HOME",
        ];
        assert_eq!(names, expected);
        assert_eq!((seen["PYTHONPATH"].as_str(), seen["TZ"].as_str()), ("/staging:/lib", "Europe/Berlin"));
        assert!(!given(Mode::Strict, &there, &[]).contains_key("VIRTUAL_ENV"));
    }

    #[test]
    fn the_active_environment_has_the_first_word_in_a_project_only() {
        let venv = tempfile::tempdir().unwrap();
        std::fs::create_dir(venv.path().join("bin")).unwrap();
        let python = venv.path().join("bin/python");
        std::os::unix::fs::symlink("/bin/sh", &python).unwrap();
        let path = std::env::var("PATH").unwrap();
        let around = around(&[("VIRTUAL_ENV", &venv.path().display().to_string()), ("PATH", &path)]);
        let terminal = TerminalSettings::default();
        assert_eq!(interpreter(Mode::Project, &around, &terminal), Some(python.clone()));
        assert_ne!(interpreter(Mode::Strict, &around, &terminal), Some(python));
    }
}
