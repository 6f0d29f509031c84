//! The commands. Each takes its parsed arguments and a [`Console`], and ends in an [`Exit`] that tells the truth.

mod access;
pub mod ask;
pub mod auth;
pub mod backup;
pub mod checkpoints;
pub mod config;
pub mod demo;
pub mod doctor;
pub mod fallback;
pub mod hooks;
pub mod insights;
pub mod mcp;
pub mod model;
pub(crate) mod money;
pub(crate) mod paper;
mod person;
pub mod plugins;
pub mod profile;
pub mod prompt;
pub mod sessions;
pub mod skills;
pub mod status;
pub(crate) mod table;
pub mod tools;
mod waiting;

use crate::app::App;
use crate::output::terminal::Terminal;
use crate::output::wrap::Filled;
use crate::output::{EXIT_FAILED, EXIT_INTERRUPTED, EXIT_USAGE};
use crate::settings::disk::DiskError;
use crate::settings::edit::EditError;
use crate::settings::key_path::PathFault;
use crate::settings::{DocumentError, HomeError, WrongKind};
use hermes_core::store::StoreError;
use hermes_model::auth::AuthError;
use hermes_model::resolve::ResolveError;
use std::fmt;
use std::io::ErrorKind::NotADirectory;
use std::io::{self, BufRead, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// The three streams of a command, so that tests can be the terminal.
pub struct Console<'a> {
    pub out: &'a mut dyn Write,
    pub err: &'a mut dyn Write,
    pub input: &'a mut dyn BufRead,
}

/// How a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    Done,
    Failed,
    Usage,
    /// The person left.
    Interrupted,
}

/// What stopped a command; the text is for the person.
#[derive(Debug, thiserror::Error)]
pub enum Trouble {
    #[error(transparent)]
    Home(#[from] HomeError),
    #[error(transparent)]
    Disk(#[from] DiskError),
    #[error(transparent)]
    Document(#[from] DocumentError),
    #[error(transparent)]
    Edit(#[from] EditError),
    #[error("{0}.")]
    Key(#[from] PathFault),
    #[error(transparent)]
    Setting(#[from] WrongKind),
    #[error(transparent)]
    Resolve(#[from] ResolveError),
    #[error(transparent)]
    Auth(#[from] AuthError),
    #[error("{0}.")]
    Store(#[from] StoreError),
    #[error("{0}")]
    Refused(String),
    /// The command line itself is wrong.
    #[error("{0}")]
    Usage(String),
    #[error("Left; what is not confirmed above was not done.")]
    Interrupted,
    #[error("the output could not be written: {0}")]
    Output(#[from] io::Error),
}

impl Trouble {
    /// Why nothing can be asked. A provider that the command line names and nobody knows is a mistake of the command line.
    fn of_choice(error: ResolveError, named: Option<&str>) -> Self {
        match error {
            ResolveError::UnknownProvider { .. } if named.is_some() => Self::Usage(error.to_string()),
            error => error.into(),
        }
    }

    pub fn exit(&self) -> Exit {
        match self {
            Self::Key(_) | Self::Usage(_) => Exit::Usage,
            Self::Interrupted => Exit::Interrupted,
            _ => Exit::Failed,
        }
    }
}

/// The directory a person named with `--cwd`, or else the current one.
fn directory(named: Option<PathBuf>, current: &Path) -> Result<PathBuf, Trouble> {
    let Some(named) = named else { return Ok(current.to_owned()) };
    let found = named.canonicalize().and_then(|path| if path.is_dir() { Ok(path) } else { Err(NotADirectory.into()) });
    found.map_err(|error: io::Error| Trouble::Usage(format!("--cwd {}: {error}", named.display())))
}

impl Console<'_> {
    /// Reports how a command went and gives the exit it deserves.
    pub fn finish(&mut self, outcome: Result<Exit, Trouble>) -> Exit {
        match outcome {
            Ok(exit) => exit,
            // The reader has seen enough (`| head`).
            Err(Trouble::Output(error)) if error.kind() == io::ErrorKind::BrokenPipe => Exit::Done,
            Err(trouble) => {
                // Nobody is left to tell when even this fails.
                let _ = writeln!(self.err, "{}", paper::shown(&trouble.to_string()));
                trouble.exit()
            }
        }
    }

    /// Waits for what must not be cut off, and says so when it takes long.
    async fn settle(&mut self, app: &App) {
        // Nobody is left to tell when even this fails.
        let tell = |text: &str| drop(writeln!(self.err, "… {text}"));
        app.settle(None, tell).await;
    }

    /// Stdout for sentences: on a terminal, lines break between words.
    fn sentences(&mut self) -> Box<dyn Write + '_> {
        match Terminal::of_process().out.is_terminal() {
            true => Box::new(Filled::new(&mut *self.out)),
            false => Box::new(&mut *self.out),
        }
    }

    /// One line a person types, without its end.
    fn read_line(&mut self) -> io::Result<String> {
        let mut line = String::new();
        self.input.read_line(&mut line)?;
        Ok(line.trim_end_matches(['\r', '\n']).to_owned())
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(match exit {
            Exit::Done => 0,
            Exit::Failed => EXIT_FAILED,
            Exit::Usage => EXIT_USAGE,
            Exit::Interrupted => EXIT_INTERRUPTED,
        })
    }
}

impl fmt::Debug for Console<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Console")
    }
}
