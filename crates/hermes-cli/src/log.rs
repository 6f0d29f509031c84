//! The log files of a home: `logs/agent.log`, and `logs/errors.log` for warnings and worse.
//!
//! Lines look as in the Python program, so that both can share the files:
//! `2026-01-02 03:04:05,678 WARNING [session] hermes_model::auth: message key=value`. Nothing is created before there is
//! something to say, and a log that cannot be written never disturbs the work. Callers log facts, never prompts, answers
//! or secrets; what looks like a secret all the same is covered.

use crate::settings::{Home, Settings};
use jiff::Zoned;
use std::fmt;
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Level, Metadata, Subscriber};

const ERRORS_MB: u64 = 2;
const ERRORS_KEPT: u64 = 2;
/// One line is never longer, whatever somebody puts into it.
const LONGEST_LINE: usize = 4_000;

/// Sends what the libraries log to the files of this home. A second call changes nothing.
pub(crate) fn start(home: &Home, settings: &Settings, session: &str) {
    let number = |key: &str, usual: u64| settings.u64_at(key).ok().flatten().unwrap_or(usual);
    let level = settings.str_at("logging.level").ok().flatten().and_then(|word| level(&word)).unwrap_or(Level::INFO);
    let folder = home.logs_dir();
    let log = Log {
        level,
        session: session.to_owned(),
        agent: Mutex::new(Rotating::new(
            folder.join("agent.log"),
            number("logging.max_size_mb", 5),
            number("logging.backup_count", 3),
        )),
        errors: Mutex::new(Rotating::new(folder.join("errors.log"), ERRORS_MB, ERRORS_KEPT)),
    };
    // Only one log can be the process's own; whoever was first keeps it.
    drop(tracing::subscriber::set_global_default(log));
}

fn level(word: &str) -> Option<Level> {
    match word.to_ascii_uppercase().as_str() {
        "DEBUG" => Some(Level::DEBUG),
        "INFO" => Some(Level::INFO),
        "WARNING" | "WARN" => Some(Level::WARN),
        "ERROR" | "CRITICAL" => Some(Level::ERROR),
        _ => None,
    }
}

struct Log {
    level: Level,
    session: String,
    agent: Mutex<Rotating>,
    errors: Mutex<Rotating>,
}

impl Subscriber for Log {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        // What other libraries have to say is not about this program's work.
        *metadata.level() <= self.level && metadata.target().starts_with("hermes")
    }

    fn event(&self, event: &Event<'_>) {
        let line = line(event, &self.session);
        let write = |file: &Mutex<Rotating>| file.lock().unwrap_or_else(PoisonError::into_inner).append(&line);
        write(&self.agent);
        if *event.metadata().level() <= Level::WARN {
            write(&self.errors);
        }
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

fn line(event: &Event<'_>, session: &str) -> String {
    let level = match *event.metadata().level() {
        Level::ERROR => "ERROR",
        Level::WARN => "WARNING",
        Level::INFO => "INFO",
        _ => "DEBUG",
    };
    let mut said = Said::default();
    event.record(&mut said);
    let time = Zoned::now().strftime("%Y-%m-%d %H:%M:%S,%3f");
    let text = format!("{time} {level} [{session}] {}: {}{}", event.metadata().target(), said.message, said.fields);
    // A line break inside a field must not look like another entry.
    let mut text = hermes_types::clip(&hermes_core::redact::text(&text), LONGEST_LINE).replace(['\n', '\r'], " ");
    text.push('\n');
    text
}

#[derive(Default)]
struct Said {
    message: String,
    fields: String,
}

impl Visit for Said {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        match field.name() {
            "message" => self.message = format!("{value:?}"),
            name => self.fields.push_str(&format!(" {name}={value:?}")),
        }
    }
}

/// A file that is put aside when it is full: `agent.log`, `agent.log.1`, …
struct Rotating {
    path: PathBuf,
    largest: u64,
    kept: u64,
    file: Option<File>,
}

impl Rotating {
    fn new(path: PathBuf, megabytes: u64, kept: u64) -> Self {
        Self { path, largest: megabytes.saturating_mul(1 << 20).max(1), kept, file: None }
    }

    /// What cannot be written is lost: a log must not stop the work it is about.
    fn append(&mut self, line: &str) {
        let full = std::fs::metadata(&self.path).is_ok_and(|found| found.len() + line.len() as u64 > self.largest);
        if full {
            self.turn_over();
        }
        if self.file.is_none() {
            self.file = open(&self.path).ok();
        }
        if let Some(file) = &mut self.file
            && file.write_all(line.as_bytes()).is_err()
        {
            self.file = None;
        }
    }

    fn turn_over(&mut self) {
        self.file = None;
        let numbered = |number: u64| PathBuf::from(format!("{}.{number}", self.path.display()));
        for number in (1..self.kept).rev() {
            drop(std::fs::rename(numbered(number), numbered(number + 1)));
        }
        let aside =
            if self.kept == 0 { std::fs::remove_file(&self.path) } else { std::fs::rename(&self.path, numbered(1)) };
        drop(aside); // if it cannot be moved it grows; better than losing the line
    }
}

fn open(path: &Path) -> std::io::Result<File> {
    if let Some(folder) = path.parent() {
        crate::settings::disk::create_folder(folder).map_err(std::io::Error::other)?;
    }
    OpenOptions::new().append(true).create(true).mode(0o600).open(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_file_is_put_aside_and_the_oldest_is_let_go() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("logs/agent.log");
        let mut file = Rotating { path: path.clone(), largest: 10, kept: 2, file: None };
        for word in ["first\n", "second\n", "third\n", "fourth\n"] {
            file.append(word);
        }
        let read = |name: &str| std::fs::read_to_string(path.with_file_name(name)).ok();
        assert_eq!(read("agent.log").as_deref(), Some("fourth\n"));
        assert_eq!(read("agent.log.1").as_deref(), Some("third\n"));
        assert_eq!(read("agent.log.2").as_deref(), Some("second\n"));
        assert_eq!(read("agent.log.3"), None);
    }

    #[test]
    fn warnings_stand_in_both_files_on_one_line_each() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = |name: &str| Mutex::new(Rotating::new(folder.path().join(name), 1, 1));
        let log =
            Log { level: Level::INFO, session: "s1".into(), agent: file("agent.log"), errors: file("errors.log") };
        tracing::subscriber::with_default(log, || {
            tracing::warn!(reason = "two\nlines", "something is odd");
            tracing::info!(header = "Bearer hunter2hunter2", "all is well");
            tracing::debug!("nobody wants to know");
        });
        let read = |name: &str| std::fs::read_to_string(folder.path().join(name)).expect("a log");
        let tails: Vec<String> = read("agent.log").lines().map(|line| line.chars().skip(24).collect()).collect();
        assert_eq!(
            tails,
            [
                "WARNING [s1] hermes_cli::log::tests: something is odd reason=\"two\\nlines\"",
                "INFO [s1] hermes_cli::log::tests: all is well header=\"Bearer «redacted:***»\"",
            ]
        );
        assert_eq!(read("errors.log").lines().count(), 1);
    }
}
