//! The `git` program on the shared store, where neither the person's settings nor a hostile project make it run anything.
//!
//! The store is the repository (`GIT_DIR`), the project only its work tree: the project's own `.git` is never opened, so
//! its hooks, filters, monitors and configuration do not exist for these commands. Attributes of the project could still
//! change bytes on their way (line ends, encodings); the store's own attributes outrank them and switch all of it off.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::process::{Child, Command};

/// The longest one command may take.
const PATIENCE: Duration = Duration::from_secs(30);
/// Packing everything anew takes longer.
const LONG_PATIENCE: Duration = Duration::from_secs(60);
const MOST_OUTPUT: u64 = 64 << 20;
const MOST_ERRORS: u64 = 16 << 10;

/// Settings that hold whatever a file says.
const SETTINGS: [&str; 20] = [
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "core.untrackedCache=false",
    "core.attributesFile=/dev/null",
    "core.excludesFile=/dev/null",
    "core.autocrlf=false",
    "core.safecrlf=false",
    "core.symlinks=true",
    "core.fileMode=true",
    "core.ignoreCase=false",
    // Names come from a walk of this disk; what another system could not store is no reason to lose it here.
    "core.protectNTFS=false",
    "core.protectHFS=false",
    "core.quotePath=false",
    "core.logAllRefUpdates=false",
    "commit.gpgSign=false",
    "gc.auto=0",
    "gc.pruneExpire=now",
    "maintenance.auto=false",
    "protocol.allow=never",
    "safe.directory=*",
];

/// The environment, besides `PATH` and the places of the store.
const VARIABLES: [(&str, &str); 15] = [
    ("GIT_CONFIG_GLOBAL", "/dev/null"),
    ("GIT_CONFIG_SYSTEM", "/dev/null"),
    ("GIT_CONFIG_NOSYSTEM", "1"),
    ("GIT_ATTR_NOSYSTEM", "1"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("GIT_OPTIONAL_LOCKS", "0"),
    ("GIT_NO_REPLACE_OBJECTS", "1"),
    ("GIT_NO_LAZY_FETCH", "1"),
    ("GIT_LITERAL_PATHSPECS", "1"),
    ("GIT_AUTHOR_NAME", "Hermes"),
    ("GIT_AUTHOR_EMAIL", "hermes@localhost"),
    ("GIT_COMMITTER_NAME", "Hermes"),
    ("GIT_COMMITTER_EMAIL", "hermes@localhost"),
    ("LC_ALL", "C"),
    ("TZ", "UTC"),
];

/// Outranks every `.gitattributes`: bytes are stored and written back as they are, and every diff is one of text.
pub(super) const ATTRIBUTES: &str = "* -text -ident -filter !eol !working-tree-encoding !diff !merge\n";

#[derive(Debug, thiserror::Error)]
pub enum GitFault {
    #[error("git cannot be started: {0}. Checkpoints need the git program in PATH")]
    NotStarted(io::Error),
    #[error("git {command} did not end within {} s", .limit.as_secs())]
    TimedOut { command: String, limit: Duration },
    #[error("git {command} failed: {reason}")]
    Failed { command: String, reason: String },
    #[error("git {command}: {reason}")]
    Pipe { command: String, reason: io::Error },
}

pub(super) struct Git {
    pub(super) store: PathBuf,
    path: Option<String>,
}

/// Where one command works.
#[derive(Clone, Copy, Default)]
pub(super) struct Bench<'b> {
    pub(super) tree: Option<&'b Path>,
    pub(super) index: Option<&'b Path>,
    /// Seconds since 1970, for commits that keep their date.
    pub(super) date: Option<i64>,
}

/// What a command printed, as far as it was wanted.
pub(super) struct Printed {
    pub(super) bytes: Vec<u8>,
    pub(super) cut: bool,
}

impl Git {
    pub(super) fn new(store: PathBuf, path: Option<String>) -> Self {
        Self { store, path }
    }

    pub(super) fn path(&self) -> Option<String> {
        self.path.clone()
    }

    /// What the command prints, in full.
    pub(super) async fn run(&self, bench: Bench<'_>, args: &[&str], stdin: Vec<u8>) -> Result<Vec<u8>, GitFault> {
        let printed = self.run_up_to(MOST_OUTPUT, bench, args, stdin).await?;
        if printed.cut {
            let reason = format!("it printed more than {MOST_OUTPUT} bytes");
            return Err(GitFault::Failed { command: named(args), reason });
        }
        Ok(printed.bytes)
    }

    /// One line, without its end.
    pub(super) async fn line(&self, bench: Bench<'_>, args: &[&str], stdin: Vec<u8>) -> Result<String, GitFault> {
        Ok(String::from_utf8_lossy(&self.run(bench, args, stdin).await?).trim().to_owned())
    }

    pub(super) async fn run_up_to(
        &self,
        most: u64,
        bench: Bench<'_>,
        args: &[&str],
        stdin: Vec<u8>,
    ) -> Result<Printed, GitFault> {
        let limit = if args.first() == Some(&"gc") { LONG_PATIENCE } else { PATIENCE };
        let mut child = self.command(bench, args).spawn().map_err(GitFault::NotStarted)?;
        match tokio::time::timeout(limit, converse(&mut child, most, stdin)).await {
            Ok(Ok(said)) if said.printed.cut || said.success => Ok(said.printed),
            Ok(Ok(said)) => Err(GitFault::Failed { command: named(args), reason: said.errors }),
            Ok(Err(reason)) => Err(GitFault::Pipe { command: named(args), reason }),
            Err(_) => {
                // It is gone either way: what could not be killed here is killed when the handle is dropped.
                let _ = child.kill().await;
                Err(GitFault::TimedOut { command: named(args), limit })
            }
        }
    }

    fn command(&self, bench: Bench<'_>, args: &[&str]) -> Command {
        let mut command = Command::new("git");
        command.env_clear().envs(VARIABLES).env("HOME", &self.store).env("GIT_DIR", &self.store);
        if let Some(path) = &self.path {
            command.env("PATH", path);
        }
        if let Some(tree) = bench.tree {
            command.env("GIT_WORK_TREE", tree).current_dir(tree);
        }
        if let Some(index) = bench.index {
            command.env("GIT_INDEX_FILE", index);
        }
        if let Some(date) = bench.date {
            let date = OsString::from(format!("{date} +0000"));
            command.env("GIT_AUTHOR_DATE", &date).env("GIT_COMMITTER_DATE", &date);
        }
        for setting in SETTINGS {
            command.args(["-c", setting]);
        }
        command.arg("--no-pager").args(args);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command.process_group(0).kill_on_drop(true);
        command
    }
}

fn named(args: &[&str]) -> String {
    args.first().copied().unwrap_or_default().to_owned()
}

struct Said {
    printed: Printed,
    errors: String,
    success: bool,
}

/// Feeds and reads at the same time: neither side waits for a full pipe of the other.
async fn converse(child: &mut Child, most: u64, stdin: Vec<u8>) -> io::Result<Said> {
    let (input, output, errors) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    let feed = async move {
        if let Some(mut input) = input {
            // A command that does not want to hear more says so by its exit code.
            let _ = input.write_all(&stdin).await;
        }
    };
    let hear = async move {
        let mut bytes = Vec::new();
        if let Some(output) = output {
            output.take(most.saturating_add(1)).read_to_end(&mut bytes).await?;
        }
        let most = usize::try_from(most).unwrap_or(usize::MAX);
        let cut = bytes.len() > most;
        bytes.truncate(most);
        io::Result::Ok(Printed { bytes, cut })
    };
    let complain = async move {
        let mut bytes = Vec::new();
        if let Some(mut errors) = errors {
            (&mut errors).take(MOST_ERRORS).read_to_end(&mut bytes).await?;
            tokio::io::copy(&mut errors, &mut tokio::io::sink()).await?;
        }
        io::Result::Ok(String::from_utf8_lossy(&bytes).trim().to_owned())
    };
    let ((), printed, errors) = tokio::join!(feed, hear, complain);
    let status = child.wait().await?;
    Ok(Said { printed: printed?, errors: errors?, success: status.success() })
}
