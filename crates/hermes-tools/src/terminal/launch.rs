//! The one place where tools start processes: inside the sandbox, in a group or session of their own, with the mark of
//! their family, and on a leash from the first moment.

use super::family::{Family, Leash};
use super::sandbox::{Sandbox, Wrapped};
use pty_process::Pty;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use tokio::process::Child;

const ROWS: u16 = 30;
const COLUMNS: u16 = 120;

/// A program with everything it gets.
pub(crate) struct Launch {
    pub(crate) program: PathBuf,
    pub(crate) arguments: Vec<OsString>,
    /// The whole environment. The mark of the family is added.
    pub(crate) variables: BTreeMap<String, String>,
}

/// A process that was just started. The leash goes first, so that the child has ended when it is waited for.
pub(crate) struct Launched {
    pub(crate) leash: Leash,
    pub(crate) child: Child,
    pub(crate) mark: String,
}

impl Launch {
    /// With pipes. `setsid` makes a session of its own where the person's terminal must be out of reach.
    pub(crate) async fn piped(
        self,
        sandbox: &Sandbox,
        setsid: Option<&Path>,
        streams: [Stdio; 3],
    ) -> io::Result<Launched> {
        let Self { program, arguments, mut variables } = self;
        let (prefix, wrapped) = words_before(sandbox).await?;
        let words = setsid.map(|setsid| setsid.as_os_str().to_owned()).into_iter().chain(prefix);
        let mut words = words.chain([program.into_os_string()]).chain(arguments);
        let mut command = tokio::process::Command::new(words.next().unwrap_or_default());
        let mark = Family::mark(&mut variables);
        command.args(words).env_clear().envs(variables).current_dir("/");
        if setsid.is_none() {
            command.process_group(0);
        }
        let [stdin, stdout, stderr] = streams;
        command.stdin(stdin).stdout(stdout).stderr(stderr);
        sandbox.inside(wrapped, move || Ok(Launched::of(command.spawn()?, mark))).await
    }

    /// Under a terminal of its own, in a session of its own.
    pub(crate) async fn under_pty(self, sandbox: &Sandbox) -> io::Result<(Launched, Pty)> {
        let Self { program, arguments, mut variables } = self;
        let (prefix, wrapped) = words_before(sandbox).await?;
        let (pty, pts) = pty_process::open().map_err(io::Error::other)?;
        pty.resize(pty_process::Size::new(ROWS, COLUMNS)).map_err(io::Error::other)?;
        let mark = Family::mark(&mut variables);
        variables.entry("TERM".to_owned()).or_insert_with(|| "xterm-256color".to_owned());
        let mut words = prefix.into_iter().chain([program.into_os_string()]).chain(arguments);
        let command = pty_process::Command::new(words.next().unwrap_or_default()).args(words);
        let command = command.env_clear().envs(variables).current_dir("/");
        let spawn = move || Ok(Launched::of(command.spawn(pts).map_err(io::Error::other)?, mark));
        Ok((sandbox.inside(wrapped, spawn).await?, pty))
    }
}

impl Launched {
    fn of(child: Child, mark: String) -> Self {
        // A child that was not waited for has a number.
        let family = Family::of(child.id().unwrap_or_default(), mark.as_str());
        Self { leash: Leash::new(family), child, mark }
    }
}

async fn words_before(sandbox: &Sandbox) -> io::Result<(Vec<OsString>, Wrapped)> {
    let prefix = sandbox.prefix().await?;
    let wrapped = if prefix.is_empty() { Wrapped::No } else { Wrapped::Yes };
    Ok((prefix, wrapped))
}
