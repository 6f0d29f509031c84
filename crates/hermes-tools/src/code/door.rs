//! The line between a script and its host: a socket in a directory that only this user can enter, or, where a script may
//! open no sockets or the path is too long for one, a line that is open when the script starts.
//!
//! A script has one line at a time. Who comes while another speaks is told so and sent away; a request that is too long, or
//! that cannot be read, gets an answer like any other.

use super::host::{Host, told};
use crate::terminal::sandbox::SandboxMode;
use std::fs::{self, Permissions};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncBufRead, AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio::time::timeout;

/// The longest line of a script: arguments of a call, whole files among them.
const LONGEST_LINE: usize = 16 << 20;
/// A line that was just closed may not have been noticed yet.
const CHANGE: Duration = Duration::from_millis(250);
/// Lines that wait to be sent away; more are closed without a word.
const MOST_WAITING: usize = 16;
const TAKEN: &str = "another process of this script calls tools already; only one at a time can";

/// How a script gets through to its host.
pub(super) enum Door {
    /// It connects to this path.
    Socket { path: PathBuf, listener: UnixListener },
    /// It finds the line where its input would be.
    Open { ours: UnixStream, theirs: OwnedFd },
}

/// The host's end, when the script has its own.
pub(super) enum Line {
    Listening(UnixListener),
    Open(UnixStream),
}

impl Door {
    /// A socket in this directory, or an open line for who cannot reach one.
    pub(super) fn make(folder: &Path, sandbox: SandboxMode) -> io::Result<Self> {
        let socket = match sandbox {
            SandboxMode::Off => Self::socket(folder)?,
            SandboxMode::Workspace | SandboxMode::Strict => None,
        };
        if let Some(door) = socket {
            return Ok(door);
        }
        let (ours, theirs) = std::os::unix::net::UnixStream::pair()?;
        ours.set_nonblocking(true)?;
        Ok(Self::Open { ours: UnixStream::from_std(ours)?, theirs: theirs.into() })
    }

    /// Nothing where the path is longer than the address of a socket can be.
    fn socket(folder: &Path) -> io::Result<Option<Self>> {
        let path = folder.join("rpc.sock");
        let listener = match UnixListener::bind(&path) {
            Ok(listener) => listener,
            Err(error) if error.kind() == io::ErrorKind::InvalidInput => return Ok(None),
            Err(error) => return Err(error),
        };
        fs::set_permissions(&path, Permissions::from_mode(0o600))?;
        Ok(Some(Self::Socket { path, listener }))
    }

    /// What the script is told, what it gets for its input, and our end.
    pub(super) fn hand_over(self) -> ((&'static str, String), Stdio, Line) {
        match self {
            Self::Socket { path, listener } => {
                (("HERMES_RPC_SOCKET", path.display().to_string()), Stdio::null(), Line::Listening(listener))
            }
            Self::Open { ours, theirs } => {
                let number = super::child::LINE.to_string();
                (("HERMES_RPC_FD", number), Stdio::from(theirs), Line::Open(ours))
            }
        }
    }
}

impl Line {
    /// Answers until nobody listens any more. Drop it when the script has ended.
    pub(super) async fn serve(self, host: Arc<Host>) {
        match self {
            Self::Open(stream) => converse(stream, &host).await,
            Self::Listening(listener) => attend(&listener, &host).await,
        }
        std::future::pending().await
    }
}

async fn attend(listener: &UnixListener, host: &Arc<Host>) {
    let seat = Arc::new(Semaphore::new(1));
    let mut lines = JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) if lines.len() < MOST_WAITING => {
                    lines.spawn(one(stream, seat.clone(), host.clone()));
                }
                Ok(_) => {}
                // Too many open files, most likely; that passes, and the script waits for us.
                Err(error) => {
                    tracing::warn!(%error, "the line of a script");
                    tokio::time::sleep(CHANGE).await;
                }
            },
            Some(_) = lines.join_next() => {}
        }
    }
}

/// One line: served when it is the only one, told so when it is not.
async fn one(mut stream: UnixStream, seat: Arc<Semaphore>, host: Arc<Host>) {
    match timeout(CHANGE, seat.acquire()).await {
        Ok(Ok(_seat)) => converse(stream, &host).await,
        _ => {
            // Who does not read why is sent away all the same.
            let _ = send(&mut stream, told(TAKEN)).await;
        }
    }
}

async fn converse(stream: UnixStream, host: &Host) {
    let (reader, mut writer) = stream.into_split();
    let mut reader = BufReader::with_capacity(1 << 16, reader);
    loop {
        let answer = match hear(&mut reader).await {
            Heard::Over => return,
            Heard::TooLong => told(&format!("the request is longer than {LONGEST_LINE} bytes")),
            Heard::Line(line) if line.trim_ascii().is_empty() => continue,
            Heard::Line(line) => host.answer(line.trim_ascii()).await,
        };
        if send(&mut writer, answer).await.is_err() {
            return;
        }
    }
}

enum Heard {
    Line(Vec<u8>),
    /// It was heard to its end, and not kept.
    TooLong,
    Over,
}

async fn hear(reader: &mut (impl AsyncBufRead + Unpin)) -> Heard {
    let (mut line, mut length) = (Vec::new(), 0);
    loop {
        let Ok(piece) = reader.fill_buf().await else { return Heard::Over };
        if piece.is_empty() {
            return if length == 0 { Heard::Over } else { Heard::Line(line) };
        }
        let end = memchr::memchr(b'\n', piece);
        let part = piece.get(..end.unwrap_or(piece.len())).unwrap_or_default();
        length += part.len();
        if length <= LONGEST_LINE {
            line.extend(part);
        } else {
            line = Vec::new();
        }
        let used = part.len() + usize::from(end.is_some());
        reader.consume(used);
        if end.is_some() {
            return if length > LONGEST_LINE { Heard::TooLong } else { Heard::Line(line) };
        }
    }
}

async fn send(writer: &mut (impl AsyncWriteExt + Unpin), mut answer: String) -> io::Result<()> {
    answer.push('\n');
    writer.write_all(answer.as_bytes()).await
}
