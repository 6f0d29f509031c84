//! Starting a process: in the shell of its conversation, inside the sandbox, with pipes or under a terminal of its own.

use super::input::Input;
use crate::effects::ShellCommand;
use crate::gate::Permit;
use crate::terminal::family::Leash;
use crate::terminal::launch::Launched;
use crate::terminal::surroundings::sudo::{Prepared, Sudo};
use crate::terminal::{Needed, Shell};
use hermes_types::SessionId;
use std::io;
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::Arc;
use tokio::io::{AsyncRead, AsyncWriteExt};
use tokio::process::Child;

/// A process to be started.
pub struct Start {
    /// What may run; the command comes from nowhere else.
    pub permit: Permit,
    pub session: SessionId,
    /// What it starts from.
    pub shell: Shell,
    /// Where it was judged to run.
    pub cwd: PathBuf,
    pub face: Face,
    pub tell: Tell,
    pub password: Option<Password>,
}

/// The command as sudo needs it, and who has to hear whether the password was right.
pub struct Password {
    pub prepared: Prepared,
    pub sudo: Arc<Sudo>,
}

/// What the process sees of the world at its three ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Face {
    Pipes,
    /// A terminal of 30 rows and 120 columns.
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
    pub(super) leash: Leash,
    pub(super) child: Child,
    pub(super) mark: String,
    pub(super) input: Input,
    pub(super) outputs: Vec<Box<dyn AsyncRead + Send + Unpin>>,
    pub(super) face: Face,
    pub(super) needed: Needed,
}

/// Starts the command, or what sudo needs instead of it.
pub(super) async fn spawn(
    command: &ShellCommand,
    shell: Shell,
    face: Face,
    password: Option<&Prepared>,
) -> Result<Born, String> {
    let text = password.map_or(command.text.as_str(), |password| password.instead_of(&command.text));
    let failed = |error: io::Error| format!("the command could not be started in {}: {error}", command.cwd.display());
    let (sandbox, setsid) = (shell.sandbox.clone(), shell.setsid.clone());
    let (launch, needed) = shell.launch(text, &command.cwd).map_err(failed)?;
    if face == Face::Pty {
        let (launched, pty) = launch.under_pty(&sandbox).await.map_err(failed)?;
        let (reader, writer) = pty.into_split();
        let Launched { leash, child, mark } = launched;
        let (input, outputs) = (Input::Pty(writer), vec![Box::new(reader) as Box<_>]);
        return Ok(Born { leash, child, mark, input, outputs, face, needed });
    }
    let streams = [Stdio::piped(), Stdio::piped(), Stdio::piped()];
    let Launched { mut child, leash, mark } =
        launch.piped(&sandbox, setsid.as_deref(), streams).await.map_err(failed)?;
    let mut input = child.stdin.take().map_or(Input::Closed, Input::Pipe);
    if let (Input::Pipe(pipe), Some(password)) = (&mut input, password) {
        // A few lines fit into any pipe. A command that closed it already has a reason.
        let _written = pipe.write_all(&password.input()).await;
    }
    let mut outputs: Vec<Box<dyn AsyncRead + Send + Unpin>> = Vec::new();
    outputs.extend(child.stdout.take().map(|pipe| Box::new(pipe) as Box<_>));
    outputs.extend(child.stderr.take().map(|pipe| Box::new(pipe) as Box<_>));
    Ok(Born { leash, child, mark, input, outputs, face, needed })
}
