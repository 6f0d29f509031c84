//! Starting a process: with pipes or under a terminal of its own, in a group or session of its own, with the mark of its
//! family.

use super::input::Input;
use crate::gate::Permit;
use crate::terminal::family::Family;
use hermes_types::SessionId;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use tokio::io::AsyncRead;
use tokio::process::Child;

const ROWS: u16 = 30;
const COLUMNS: u16 = 120;
/// Shells a person may have that take `-lc`; for others bash stands in.
const SHELLS: [&str; 6] = ["bash", "zsh", "sh", "dash", "ksh", "mksh"];

/// A process to be started.
pub struct Start {
    /// What may run; the command comes from nowhere else.
    pub permit: Permit,
    pub session: SessionId,
    /// Its whole environment.
    pub variables: BTreeMap<String, String>,
    /// Where it was judged to run.
    pub cwd: PathBuf,
    pub face: Face,
    pub tell: Tell,
}

/// What the process sees of the world at its three ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Face {
    Pipes,
    /// A terminal of 30 rows and 120 columns; pipes where none can be had.
    Pty,
}

/// What the conversation wants to hear unasked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Tell {
    Nothing,
    OnEnd,
    /// Lines with one of these texts in them.
    OnMatch(Vec<String>),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Started {
    /// `proc_<12 hex>`.
    pub id: String,
    pub pid: u32,
}

/// A child with its ends.
pub(super) struct Born {
    pub(super) child: Child,
    pub(super) family: Family,
    pub(super) mark: String,
    pub(super) input: Input,
    pub(super) outputs: Vec<Box<dyn AsyncRead + Send + Unpin>>,
    pub(super) face: Face,
}

/// Starts `command` in the person's shell. Login shells read the person's set-up; an interactive one would also ignore
/// SIGTERM and print its prompt.
pub(super) fn spawn(
    command: &str,
    cwd: &Path,
    face: Face,
    mut variables: BTreeMap<String, String>,
) -> Result<Born, String> {
    let shell = shell(&variables);
    variables.entry("PYTHONUNBUFFERED".to_owned()).or_insert_with(|| "1".to_owned());
    let mark = Family::mark(&mut variables);
    let failed = |error: &dyn std::fmt::Display| {
        format!("{shell} could not be started in {}: {error}. Check the directory and the command.", cwd.display())
    };
    if face == Face::Pty {
        match under_pty(&shell, command, cwd, &variables, mark.clone()) {
            Ok(born) => return Ok(born),
            Err(error) => tracing::warn!(%error, "no terminal for a background process; it gets pipes"),
        }
    }
    let mut process = tokio::process::Command::new(&shell);
    process.args(["-lc", command]).env_clear().envs(variables).current_dir(cwd).process_group(0).kill_on_drop(true);
    process.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = process.spawn().map_err(|error| failed(&error))?;
    let family = family(&child, &mark);
    let input = child.stdin.take().map_or(Input::Closed, Input::Pipe);
    let mut outputs: Vec<Box<dyn AsyncRead + Send + Unpin>> = Vec::new();
    outputs.extend(child.stdout.take().map(|pipe| Box::new(pipe) as Box<_>));
    outputs.extend(child.stderr.take().map(|pipe| Box::new(pipe) as Box<_>));
    Ok(Born { child, family, mark, input, outputs, face: Face::Pipes })
}

fn under_pty(
    shell: &str,
    command: &str,
    cwd: &Path,
    variables: &BTreeMap<String, String>,
    mark: String,
) -> Result<Born, pty_process::Error> {
    let (pty, pts) = pty_process::open()?;
    pty.resize(pty_process::Size::new(ROWS, COLUMNS))?;
    let mut process = pty_process::Command::new(shell).args(["-lc", command]).env_clear().envs(variables);
    if !variables.contains_key("TERM") {
        process = process.env("TERM", "xterm-256color");
    }
    let child = process.current_dir(cwd).kill_on_drop(true).spawn(pts)?;
    let family = family(&child, &mark);
    let (reader, writer) = pty.into_split();
    Ok(Born { child, family, mark, input: Input::Pty(writer), outputs: vec![Box::new(reader)], face: Face::Pty })
}

fn family(child: &Child, mark: &str) -> Family {
    // A child that was not waited for has a number.
    Family::of(child.id().unwrap_or_default(), mark)
}

fn shell(variables: &BTreeMap<String, String>) -> String {
    let named = variables.get("SHELL").filter(|path| {
        let name = Path::new(path).file_name().and_then(|name| name.to_str());
        name.is_some_and(|name| SHELLS.contains(&name)) && Path::new(path).is_file()
    });
    named.cloned().unwrap_or_else(|| "bash".to_owned())
}
