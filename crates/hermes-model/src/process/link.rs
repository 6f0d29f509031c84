//! The line to an agent: a program we start, or a socket somebody else listens at.
//!
//! Reading, writing and the program's error output go on side by side, so a full pipe on one side never blocks the
//! other. The program leads a process group of its own; dropping the link ends the whole group, grandchildren included.

use super::rpc::{LONGEST_LINE, Lines};
use super::{ProcessCommand, TcpAddress};
use crate::wire::fault;
use bytes::{Buf, Bytes, BytesMut};
use hermes_types::{Fault, FaultKind};
use std::future::pending;
use std::io;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::process::{Child, ChildStderr, Command};

/// How much of the error output is kept: its end, where the reason stands.
const STDERR_TAIL: usize = 2 << 10;
/// How long the rest of the error output of an ended program is waited for. Whoever left the group may hold it open.
const LAST_WORDS: Duration = Duration::from_millis(200);
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// A peer that leaves more than this unread and still asks for more is not listening.
const MOST_UNREAD: usize = 64 << 20;

pub(super) struct Link {
    reader: Box<dyn AsyncRead + Send + Unpin>,
    writer: Box<dyn AsyncWrite + Send + Unpin>,
    lines: Lines,
    outbox: BytesMut,
    process: Option<Process>,
    ended: bool,
}

struct Process {
    child: Child,
    stderr: Option<ChildStderr>,
    tail: BytesMut,
}

impl Link {
    pub(super) fn start(command: &ProcessCommand) -> Result<Self, Fault> {
        let mut starting = Command::new(&command.program);
        starting
            .args(&command.args)
            .env_clear()
            .envs(command.env.iter().map(|(name, value)| (name, value)))
            .current_dir(&command.cwd)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true);
        #[cfg(unix)]
        starting.process_group(0);
        let mut child = starting.spawn().map_err(|error| not_started(command, &error))?;
        let (Some(stdin), Some(stdout)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(Fault::new(FaultKind::Unknown, format!("`{}` was started without pipes", command.name())));
        };
        let stderr = child.stderr.take();
        let process = Process { child, stderr, tail: BytesMut::new() };
        Ok(Self::new(Box::new(stdout), Box::new(stdin), Some(process)))
    }

    pub(super) async fn connect(address: &TcpAddress) -> Result<Self, Fault> {
        let connecting = TcpStream::connect((address.host.as_str(), address.port));
        let stream = match tokio::time::timeout(CONNECT_TIMEOUT, connecting).await {
            Ok(connected) => connected.map_err(|error| not_connected(address, &error))?,
            Err(_) => return Err(not_connected(address, &io::ErrorKind::TimedOut.into())),
        };
        let (reader, writer) = stream.into_split();
        Ok(Self::new(Box::new(reader), Box::new(writer), None))
    }

    fn new(
        reader: Box<dyn AsyncRead + Send + Unpin>,
        writer: Box<dyn AsyncWrite + Send + Unpin>,
        process: Option<Process>,
    ) -> Self {
        Self { reader, writer, lines: Lines::default(), outbox: BytesMut::new(), process, ended: false }
    }

    /// Takes lines to send; they leave while [`Link::line`] waits.
    pub(super) fn send(&mut self, lines: &[u8]) -> Result<(), Fault> {
        if !lines.is_empty() && self.outbox.len() > MOST_UNREAD {
            return Err(Fault::new(FaultKind::Malformed, "the agent asks and asks without reading the answers"));
        }
        self.outbox.extend_from_slice(lines);
        Ok(())
    }

    /// The next line of the peer; `None` when there will be no more.
    pub(super) async fn line(&mut self) -> Result<Option<Bytes>, Fault> {
        loop {
            if let Some(line) = self.lines.next().map_err(|_| too_long())? {
                return Ok(Some(line));
            }
            if self.ended {
                return Ok(self.lines.rest());
            }
            let Self { reader, writer, lines, outbox, process, ended } = self;
            tokio::select! {
                read = reader.read_buf(lines.space()) => *ended = !matches!(read, Ok(1..)),
                wrote = writer.write(outbox), if !outbox.is_empty() => match wrote {
                    Ok(count) if count > 0 => outbox.advance(count),
                    // The peer reads no more, but may still have something to say.
                    _ => outbox.clear(),
                },
                () = listen(process) => {}
            }
        }
    }

    /// How the peer ended. Only to be asked when it did.
    pub(super) async fn end(&mut self) -> End {
        match &mut self.process {
            Some(process) => process.end().await,
            None => End { how: "closed the connection".into(), last_words: String::new() },
        }
    }
}

/// How a peer ended, for people.
pub(super) struct End {
    pub(super) how: String,
    /// The last of its error output, fit for a screen.
    pub(super) last_words: String,
}

/// Keeps the error output flowing. Never ends once there is no more of it.
async fn listen(process: &mut Option<Process>) {
    match process {
        Some(process) if process.stderr.is_some() => process.hear_stderr().await,
        _ => pending().await,
    }
}

impl Process {
    async fn hear_stderr(&mut self) {
        let Some(stderr) = &mut self.stderr else { return };
        self.tail.reserve(STDERR_TAIL);
        if !matches!(stderr.read_buf(&mut self.tail).await, Ok(1..)) {
            self.stderr = None;
        }
        let surplus = self.tail.len().saturating_sub(STDERR_TAIL);
        self.tail.advance(surplus);
    }

    async fn end(&mut self) -> End {
        // First the signal, then the reaping: once reaped, the id may belong to somebody else. A program that has
        // ended by itself keeps its exit code.
        self.end_group();
        let how = how(self.child.wait().await);
        let hearing = async {
            while self.stderr.is_some() {
                self.hear_stderr().await;
            }
        };
        // Late words are a gain, not a need.
        let _heard_all = tokio::time::timeout(LAST_WORDS, hearing).await;
        End { how, last_words: fault::sentence(&String::from_utf8_lossy(&self.tail)) }
    }

    fn end_group(&mut self) {
        #[cfg(unix)]
        if let Some(leader) = self.child.id().and_then(|id| rustix::process::Pid::from_raw(id.cast_signed())) {
            // It fails only when the group is gone, which is what we want.
            let _gone = rustix::process::kill_process_group(leader, rustix::process::Signal::KILL);
        }
        #[cfg(not(unix))]
        let _gone = self.child.start_kill();
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.end_group();
    }
}

fn how(status: io::Result<ExitStatus>) -> String {
    match status.ok().and_then(|status| status.code()) {
        Some(code) => format!("ended with exit code {code}"),
        None => "closed its output".into(),
    }
}

fn too_long() -> Fault {
    Fault::new(FaultKind::Malformed, format!("the agent sent a line of more than {} MiB", LONGEST_LINE >> 20))
}

fn not_started(command: &ProcessCommand, error: &io::Error) -> Fault {
    let name = command.name();
    if !command.cwd.is_dir() {
        let message = format!("`{name}` cannot be started in {}: there is no such folder", command.cwd.display());
        return Fault::new(FaultKind::NotConfigured, message);
    }
    match error.kind() {
        io::ErrorKind::NotFound => Fault {
            code: Some("missing_copilot_cli".into()),
            ..Fault::new(
                FaultKind::NotConfigured,
                format!(
                    "the program `{name}` was not found; install the GitHub Copilot CLI \
                     (https://github.com/github/copilot-cli), or name it in HERMES_COPILOT_ACP_COMMAND"
                ),
            )
        },
        _ => Fault::new(
            FaultKind::NotConfigured,
            format!("`{name}` cannot be started: {error}; check HERMES_COPILOT_ACP_COMMAND"),
        ),
    }
}

fn not_connected(address: &TcpAddress, error: &io::Error) -> Fault {
    let kind = match error.kind() {
        io::ErrorKind::ConnectionRefused => FaultKind::Unreachable,
        _ => FaultKind::NoRoute,
    };
    Fault::new(kind, format!("no agent answers at {address}: {error}; start it there or change COPILOT_ACP_BASE_URL"))
}
