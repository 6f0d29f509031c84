//! A password for sudo, where a command needs one and there is no terminal to type it at.
//!
//! [`rewrite::rewrite`] turns `sudo` into `sudo -S -p ''`, which reads the password from standard input, and [`Sudo`]
//! finds the password: from SUDO_PASSWORD, from what was typed before in this conversation, or from the person. It is
//! in no argument, no variable of the command and no message; [`Prepared::covered`] takes it out of what comes back.

mod rewrite;

use super::super::sandbox::SandboxMode;
use crate::face::Face;
use crate::gate::Channel;
use crate::settings::Surroundings;
use hermes_core::clock::Clock;
use hermes_core::stop::Stop;
use rewrite::rewrite;
use secrecy::{ExposeSecret, SecretString};
use std::collections::BTreeMap;
use std::process::Stdio;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

const VARIABLE: &str = "SUDO_PASSWORD";
const PROBE_LIMIT: Duration = Duration::from_secs(3);
const PERSON_LIMIT: Duration = Duration::from_secs(45);
/// Longer than finding a password can take.
pub(crate) const LONGEST_ASKING: Duration = Duration::from_secs(50);
/// What sudo says to a wrong password.
const WRONG: [&str; 3] = ["Sorry, try again.", "incorrect password attempt", "incorrect password attempts"];
const COVER: &str = "«redacted:sudo password»";

/// What one conversation knows about sudo.
pub struct Sudo {
    configured: Option<SecretString>,
    typed: Mutex<Option<SecretString>>,
    mode: SandboxMode,
    variables: BTreeMap<String, String>,
}

/// A command as it is run, with what has to come first on its standard input.
#[derive(Debug)]
pub struct Prepared {
    /// What the gate judged.
    judged: String,
    pub command: String,
    /// One for each sudo that reads it, without line ends.
    pub stdin_lines: Vec<SecretString>,
    /// Why sudo will fail, and what to do about it.
    pub hint: Option<String>,
}

impl Prepared {
    fn unchanged(command: &str) -> Self {
        Self { judged: command.to_owned(), command: command.to_owned(), stdin_lines: Vec::new(), hint: None }
    }

    /// The text that runs where `judged` may: it is this command with options of sudo, or the judged one itself.
    pub fn instead_of<'a>(&'a self, judged: &'a str) -> &'a str {
        if self.judged == judged { &self.command } else { judged }
    }

    /// What the command reads before anything else.
    pub fn input(&self) -> Vec<u8> {
        self.stdin_lines.iter().flat_map(|line| line.expose_secret().bytes().chain([b'\n'])).collect()
    }

    /// Whether a password goes with it.
    pub fn gives_password(&self) -> bool {
        !self.stdin_lines.is_empty()
    }

    /// The text without the password: a command that reads more of its input than expected may print it.
    pub fn covered(&self, text: &str) -> String {
        match self.stdin_lines.first() {
            Some(line) => text.replace(line.expose_secret(), COVER),
            None => text.to_owned(),
        }
    }
}

/// What sudo said to a password.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Heard {
    NoRefusal,
    /// It came from the settings, where only the owner can change it.
    Refused,
    RefusedAndForgotten,
}

/// Who is asked, and how long anything may take.
pub struct Asking<'a> {
    pub face: &'a dyn Face,
    pub clock: &'a dyn Clock,
    pub stop: &'a Stop,
}

impl Sudo {
    /// `variables` are those of commands: the probe runs as they do.
    pub fn new(around: &Surroundings, variables: BTreeMap<String, String>, mode: SandboxMode) -> Self {
        let configured = around.variables.get(VARIABLE).and_then(|text| usable(text.clone()));
        Self { configured, typed: Mutex::new(None), mode, variables }
    }

    /// The command as it has to be run. The gate judged the original; the difference are options of sudo that say where
    /// its password comes from.
    pub async fn prepare(&self, command: &str, asking: Asking<'_>) -> Prepared {
        let rewritten = rewrite(command);
        if rewritten.places == 0 {
            return Prepared::unchanged(command);
        }
        if self.mode != SandboxMode::Off {
            let hint = format!("sudo does not work in the sandbox (terminal.sandbox is {}).", self.mode);
            return Prepared { hint: Some(hint), ..Prepared::unchanged(command) };
        }
        match self.password(asking).await {
            Found::Password(password) => {
                let judged = command.to_owned();
                Prepared {
                    judged,
                    command: rewritten.command,
                    stdin_lines: vec![password; rewritten.places],
                    hint: None,
                }
            }
            Found::NotNeeded => Prepared::unchanged(command),
            Found::Nothing => {
                let hint =
                    "sudo needs a password and none was given. The owner can set SUDO_PASSWORD in the .env of Hermes.";
                Prepared { hint: Some(hint.to_owned()), ..Prepared::unchanged(command) }
            }
        }
    }

    /// Whether sudo refused the password. What was typed is forgotten then: the next command asks again.
    pub fn heard(&self, output: &str) -> Heard {
        if !WRONG.iter().any(|wrong| output.contains(wrong)) {
            return Heard::NoRefusal;
        }
        match self.typed.lock().unwrap_or_else(PoisonError::into_inner).take() {
            Some(_) => Heard::RefusedAndForgotten,
            None => Heard::Refused,
        }
    }

    async fn password(&self, asking: Asking<'_>) -> Found {
        let typed = || self.typed.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some(known) = self.configured.clone().or_else(typed) {
            return Found::Password(known);
        }
        let probed = tokio::select! {
            needs = self.needs_none() => needs,
            () = asking.clock.alarm(PROBE_LIMIT) => false,
            () = asking.stop.wait() => return Found::Nothing,
        };
        if probed {
            return Found::NotNeeded;
        }
        if asking.face.channel() != Channel::Person {
            return Found::Nothing;
        }
        let answer = tokio::select! {
            answer = asking.face.password("sudo in a command of the agent needs your password".to_owned()) => answer,
            () = asking.clock.alarm(PERSON_LIMIT) => None,
            () = asking.stop.wait() => None,
        };
        let Some(password) = answer.and_then(usable) else { return Found::Nothing };
        *self.typed.lock().unwrap_or_else(PoisonError::into_inner) = Some(password.clone());
        Found::Password(password)
    }

    /// Whether sudo would run without a password, or is not there at all and will say so itself.
    async fn needs_none(&self) -> bool {
        let mut probe = tokio::process::Command::new("sudo");
        probe.args(["-n", "true"]).env_clear().envs(&self.variables).kill_on_drop(true);
        probe.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        match probe.status().await {
            Ok(status) => status.success(),
            Err(error) => error.kind() == std::io::ErrorKind::NotFound,
        }
    }
}

enum Found {
    Password(SecretString),
    NotNeeded,
    Nothing,
}

/// Several lines would answer questions that nobody asked.
fn usable(text: String) -> Option<SecretString> {
    let is_line = !text.is_empty() && !text.contains(['\n', '\r', '\0']);
    // Taken in either case, so that the text does not stay behind in memory.
    let secret = SecretString::from(text);
    is_line.then_some(secret)
}
