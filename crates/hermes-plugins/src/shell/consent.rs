//! `shell-hooks-allowlist.json`: which commands the person lets run on which events. The same file, and the same lock
//! beside it, as the Python program's: `{"approvals": [{"event", "command", "approved_at", "script_mtime_at_approval"}]}`.
//! Fields that others wrote stay. A command that changed by one letter is another command.

use super::HookConfig;
use hermes_tools::settings::Surroundings;
use jiff::Timestamp;
use rustix::fs::{FlockOperation, flock};
use serde_json::{Map, Value, json};
use std::fs::OpenOptions;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

const FILE: &str = "shell-hooks-allowlist.json";
/// Endings of files that are scripts, whoever runs them.
const SCRIPTS: [&str; 13] = ["sh", "bash", "zsh", "fish", "py", "pyw", "rb", "pl", "lua", "js", "mjs", "cjs", "ts"];

/// The list of one home.
#[derive(Debug, Clone)]
pub struct Consents {
    file: PathBuf,
}

/// What the list says about a hook.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Consent {
    pub approved_at: String,
    /// When the script was changed last, as of then.
    pub script_changed_at: Option<String>,
}

impl Consents {
    pub fn of(hermes_home: &Path) -> Self {
        Self { file: hermes_home.join(FILE) }
    }

    pub fn file(&self) -> &Path {
        &self.file
    }

    /// What the person consented to for this hook. A file that cannot be read holds no consent.
    pub fn find(&self, hook: &HookConfig) -> Option<Consent> {
        let (event, command) = (hook.occasion.name(), hook.command.as_str());
        let list = self.load();
        let text = |entry: &Value, field: &str| entry.get(field).and_then(Value::as_str).map(str::to_owned);
        approvals(&list).iter().find(|entry| is_for(entry, event, command)).map(|entry| Consent {
            approved_at: text(entry, "approved_at").unwrap_or_default(),
            script_changed_at: text(entry, "script_mtime_at_approval"),
        })
    }

    pub fn give(&self, hook: &HookConfig, around: &Surroundings, now: &str) -> io::Result<()> {
        let (event, command) = (hook.occasion.name(), hook.command.as_str());
        let entry = json!({
            "event": event,
            "command": command,
            "approved_at": now,
            "script_mtime_at_approval": script_changed_at(command, around),
        });
        self.change(|approvals| {
            approvals.retain(|entry| !is_for(entry, event, command));
            approvals.push(entry);
        })
    }

    /// Takes back every consent to this command; how many there were.
    pub fn revoke(&self, command: &str) -> io::Result<usize> {
        let mut revoked = 0;
        self.change(|approvals| {
            let before = approvals.len();
            approvals.retain(|entry| entry.get("command").and_then(Value::as_str) != Some(command));
            revoked = before - approvals.len();
        })?;
        Ok(revoked)
    }

    fn load(&self) -> Map<String, Value> {
        let read = std::fs::read(&self.file).ok().and_then(|bytes| serde_json::from_slice(&bytes).ok());
        read.unwrap_or_default()
    }

    /// One process at a time, on the newest content; the file is there whole or not at all.
    fn change(&self, edit: impl FnOnce(&mut Vec<Value>)) -> io::Result<()> {
        let folder = self.file.parent().unwrap_or(Path::new("."));
        std::fs::create_dir_all(folder)?;
        let lock = self.file.with_extension("json.lock");
        let lock = OpenOptions::new().create(true).append(true).read(true).open(lock)?;
        flock(&lock, FlockOperation::LockExclusive)?;
        let mut list = self.load();
        let mut approvals = approvals(&list).to_vec();
        edit(&mut approvals);
        list.insert("approvals".to_owned(), Value::Array(approvals));
        let mut file = tempfile::NamedTempFile::new_in(folder)?;
        file.write_all(serde_json::to_string_pretty(&list)?.as_bytes())?;
        file.as_file().sync_all()?;
        file.persist(&self.file).map_err(|error| error.error)?;
        Ok(())
    }
}

fn approvals(list: &Map<String, Value>) -> &[Value] {
    list.get("approvals").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}

fn is_for(entry: &Value, event: &str, command: &str) -> bool {
    let says = |field: &str, value: &str| entry.get(field).and_then(Value::as_str) == Some(value);
    says("event", event) && says("command", command)
}

/// The words of a command; `~` at its very beginning is the person's home. Nothing else of a shell is known here.
pub fn words(command: &str, around: &Surroundings) -> Result<Vec<String>, String> {
    let home = around.home.display();
    let expanded = match command.strip_prefix('~') {
        Some(rest) if rest.is_empty() || rest.starts_with('/') => format!("{home}{rest}"),
        _ => command.to_owned(),
    };
    let words =
        shell_words::split(&expanded).map_err(|error| format!("`{command}` cannot be split into words: {error}"))?;
    if words.is_empty() { Err("the command is empty".to_owned()) } else { Ok(words) }
}

/// The file that holds what a command does: a script among its words, or its program.
pub fn script(command: &str, around: &Surroundings) -> Option<PathBuf> {
    let found = script_word(command, around)?;
    let path = match found.strip_prefix("~/") {
        Some(below) => around.home.join(below),
        None => PathBuf::from(found),
    };
    Some(if path.is_absolute() { path } else { around.cwd.join(path) })
}

/// Whether a command means another file in every folder: who consented to it once consented to whatever lies there.
pub fn is_relative(command: &str, around: &Surroundings) -> bool {
    let is_file = |word: &String| word.contains('/') && !word.contains("://") || is_script(word);
    let leads_here = |word: String| is_file(&word) && !word.starts_with("~/") && !Path::new(&word).is_absolute();
    script_word(command, around).is_some_and(leads_here)
}

fn script_word(command: &str, around: &Surroundings) -> Option<String> {
    let words = words(command, around).ok()?;
    let found = words.iter().find(|word| is_script(word)).or_else(|| words.iter().find(|word| word.contains('/')));
    found.or_else(|| words.first()).cloned()
}

fn is_script(word: &str) -> bool {
    let ending = Path::new(word).extension().map(|ending| ending.to_string_lossy().to_lowercase());
    ending.is_some_and(|ending| SCRIPTS.contains(&ending.as_str()))
}

/// When the script of a command was changed last; nothing for one that is not there.
pub fn script_changed_at(command: &str, around: &Surroundings) -> Option<String> {
    let changed = std::fs::metadata(script(command, around)?).ok()?.modified().ok()?;
    Some(iso(changed))
}

/// `2026-01-02T03:04:05.678901Z`, as the Python program writes it.
pub fn iso(time: SystemTime) -> String {
    let time = Timestamp::try_from(time).unwrap_or_default();
    time.strftime("%Y-%m-%dT%H:%M:%S%.6fZ").to_string()
}

impl Consent {
    /// Whether the script was changed since the person consented to it.
    pub fn is_outdated(&self, command: &str, around: &Surroundings) -> bool {
        let moment = |text: &str| text.parse::<Timestamp>().ok();
        let then = self.script_changed_at.as_deref().and_then(moment);
        let now = script_changed_at(command, around).as_deref().and_then(moment);
        // The two programs round the last digits of a second differently.
        let is_later = |(then, now): (Timestamp, Timestamp)| now.as_millisecond() > then.as_millisecond() + 1;
        then.zip(now).is_some_and(is_later)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shell::read;

    fn hook(event: &str, command: &str) -> HookConfig {
        read(&json!({"hooks": {event: [{"command": command}]}}), &mut Vec::new()).remove(0)
    }

    fn around(place: &Path) -> Surroundings {
        let place = || place.to_owned();
        Surroundings {
            home: place(),
            hermes_home: place(),
            hermes_root: place(),
            cwd: place(),
            temp: place(),
            variables: Default::default(),
            private_variables: Default::default(),
        }
    }

    #[test]
    fn consent_is_for_one_command_on_one_event() {
        let home = tempfile::tempdir().unwrap();
        let (list, around) = (Consents::of(home.path()), around(home.path()));
        std::fs::write(home.path().join("guard.sh"), "").unwrap();
        std::fs::write(list.file(), r#"{"approvals": [{"event": "x", "command": "y", "note": "theirs"}], "more": 1}"#)
            .unwrap();
        let guard = hook("pre_tool_call", "~/guard.sh --strict");
        assert_eq!(list.find(&guard), None);
        list.give(&guard, &around, "2026-01-02T03:04:05Z").unwrap();
        let consent = list.find(&guard).unwrap();
        assert_eq!(consent.approved_at, "2026-01-02T03:04:05Z");
        assert!(!consent.is_outdated(&guard.command, &around));
        for other in [hook("post_tool_call", "~/guard.sh --strict"), hook("pre_tool_call", "~/guard.sh --lax")] {
            assert_eq!(list.find(&other), None, "{other:?}");
        }
        let later = SystemTime::now() + std::time::Duration::from_secs(60);
        let file = std::fs::File::options().write(true).open(home.path().join("guard.sh")).unwrap();
        file.set_modified(later).unwrap();
        assert!(consent.is_outdated(&guard.command, &around));
        assert_eq!((list.revoke("~/guard.sh --strict").unwrap(), list.find(&guard)), (1, None));
        let left: Value = serde_json::from_slice(&std::fs::read(list.file()).unwrap()).unwrap();
        let theirs = json!({"approvals": [{"event": "x", "command": "y", "note": "theirs"}], "more": 1});
        assert_eq!(left, theirs, "what others wrote stays");
    }

    #[test]
    fn programs_that_consent_at_once_lose_nothing() {
        let home = tempfile::tempdir().unwrap();
        let around = around(home.path());
        std::thread::scope(|scope| {
            for at in 0..16 {
                let (list, around) = (Consents::of(home.path()), &around);
                scope.spawn(move || list.give(&hook("on_session_end", &format!("hook {at}")), around, "now").unwrap());
            }
        });
        let list = Consents::of(home.path());
        assert!((0..16).all(|at| list.find(&hook("on_session_end", &format!("hook {at}"))).is_some()));
    }

    #[test]
    fn a_command_is_split_without_a_shell() {
        let around = around(Path::new("/home/ada"));
        let told = |command: &str| words(command, &around);
        assert_eq!(told("~/a.sh 'b c' $HOME"), Ok(vec!["/home/ada/a.sh".into(), "b c".into(), "$HOME".into()]));
        assert!(told("a 'b").is_err() && told("  ").is_err());
        for (command, expected) in [
            ("python3 ~/hook.py --x", "/home/ada/hook.py"),
            ("/usr/bin/env bash x/hook.sh", "/home/ada/x/hook.sh"),
            ("notify", "/home/ada/notify"),
        ] {
            assert_eq!(script(command, &around), Some(PathBuf::from(expected)), "{command}");
        }
        for (command, expected) in [
            ("~/hook.sh", false),
            ("/srv/hook", false),
            ("notify-send done", false),
            ("curl https://example.org/done", false),
            ("python3 hook.py", true),
            ("./hook", true),
        ] {
            assert_eq!(is_relative(command, &around), expected, "{command}");
        }
    }
}
