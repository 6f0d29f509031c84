//! From a started command to its end: its input is fed, its output is taken while it comes, and it is ended, with its
//! family, when its time is over or somebody stops it.

use super::backend::{Capture, Ended, Request, Stdin};
use super::capture::Captured;
use super::family::{Family, tell_of};
use super::launch::Launched;
use super::pty;
use std::io;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::process::{ChildStderr, ChildStdin, ChildStdout};
use tokio::time::{Instant, sleep, timeout};

/// Between the request to end and the order to.
pub(super) const GRACE: Duration = Duration::from_secs(1);
/// A child that was killed is waited for this long.
const REAP: Duration = Duration::from_secs(2);
/// The shell is gone but somebody holds its output: silence for this long is the end.
const IDLE: Duration = Duration::from_millis(300);
/// And this is the end even if they go on talking.
const LINGER: Duration = Duration::from_secs(2);
const CHUNK: usize = 64 * 1024;
const LONGEST_COMPLAINT: u64 = 4096;

/// A command that has ended.
pub(super) struct Watched {
    pub(super) output: Captured,
    pub(super) exit_code: i32,
    pub(super) ended: Ended,
}

pub(super) async fn watched(launched: Launched, request: Request) -> (Watched, Family) {
    // In this order: what is given up is ended first and waited for second.
    let Launched { mut child, mut leash, .. } = launched;
    let feed = feed(child.stdin.take(), request.stdin);
    tokio::pin!(feed);
    let deadline = sleep(request.timeout);
    tokio::pin!(deadline);
    let mut source = Source { pipe: child.stdout.take(), buffer: vec![0; CHUNK] };
    let mut output = Captured::new(request.capture);
    let mut feeding = true;
    let (mut status, ended) = loop {
        tokio::select! {
            () = source.read(&mut output), if source.pipe.is_some() => {}
            () = &mut feed, if feeding => feeding = false,
            status = child.wait() => break (status.ok(), Ended::Exited),
            () = &mut deadline => break (None, Ended::TimedOut),
            () = request.stop.wait() => break (None, Ended::Interrupted),
        }
    };
    let linger = match ended {
        Ended::Exited => LINGER,
        Ended::TimedOut | Ended::Interrupted => {
            let (survivors, waited) = tokio::join!(leash.family.end(GRACE), timeout(GRACE + REAP, child.wait()));
            tell_of(&survivors);
            status = waited.ok().and_then(Result::ok);
            IDLE
        }
    };
    source.drain(&mut output, linger).await;
    let exit_code = exit_code(status);
    if exit_code != 0 && output.is_empty() {
        complaint(child.stderr.take(), &mut output).await;
    }
    leash.let_go();
    (Watched { output, exit_code, ended }, leash.family.clone())
}

/// The same under a terminal.
pub(super) async fn watched_under_pty(run: pty::Run<'_>, capture: Capture) -> io::Result<(Watched, Family)> {
    let mut output = Captured::new(capture);
    let (ended, family) = pty::run(run, |bytes| output.take(bytes)).await?;
    let (exit_code, ended) = match ended {
        pty::Ended::Exited(code @ 0..) => (code, Ended::Exited),
        pty::Ended::Exited(signal) => (128 - signal, Ended::Exited),
        pty::Ended::TimedOut => (-1, Ended::TimedOut),
        pty::Ended::Stopped => (-1, Ended::Interrupted),
    };
    Ok((Watched { output, exit_code, ended }, family))
}

async fn feed(pipe: Option<ChildStdin>, stdin: Stdin) {
    if let (Some(mut pipe), Stdin::Text(bytes)) = (pipe, stdin) {
        // A command that does not read its input to the end has a reason.
        let _ = pipe.write_all(&bytes).await;
        let _ = pipe.shutdown().await;
    }
}

/// What was said before the shell took over: by a wrapper that could not start it.
async fn complaint(pipe: Option<ChildStderr>, output: &mut Captured) {
    let Some(pipe) = pipe else { return };
    let mut text = Vec::new();
    // Who holds it and says nothing has nothing to do with the start.
    let _whole = timeout(IDLE, pipe.take(LONGEST_COMPLAINT).read_to_end(&mut text)).await;
    output.take(&text);
}

struct Source {
    pipe: Option<ChildStdout>,
    buffer: Vec<u8>,
}

impl Source {
    /// Takes what has come. At its end the pipe is gone.
    async fn read(&mut self, output: &mut Captured) {
        let Some(pipe) = &mut self.pipe else { return };
        match pipe.read(&mut self.buffer).await {
            Ok(0) | Err(_) => self.pipe = None,
            Ok(read) => output.take(self.buffer.get(..read).unwrap_or_default()),
        }
    }

    /// What was still on its way, without waiting for those who hold the pipe and say nothing.
    async fn drain(&mut self, output: &mut Captured, linger: Duration) {
        let end = Instant::now() + linger;
        while self.pipe.is_some() {
            let patience = IDLE.min(end.saturating_duration_since(Instant::now()));
            if patience.is_zero() || timeout(patience, self.read(output)).await.is_err() {
                return;
            }
        }
    }
}

/// As a shell counts: a signal is 128 and its number.
fn exit_code(status: Option<ExitStatus>) -> i32 {
    let signal = |status: ExitStatus| status.signal().map(|signal| 128 + signal);
    status.and_then(|status| status.code().or_else(|| signal(status))).unwrap_or(-1)
}

#[cfg(test)]
mod tests {
    use super::super::launch::Launch;
    use super::super::sandbox::{Sandbox, SandboxMode};
    use super::*;
    use crate::process::Face;
    use crate::settings::Surroundings;
    use hermes_core::stop::Stop;
    use std::collections::BTreeMap;
    use std::process::Stdio;

    #[tokio::test]
    async fn a_wrapper_that_cannot_start_the_shell_is_heard() {
        let around = Surroundings { temp: "/tmp".into(), ..Surroundings::all_at("/") };
        let arguments = vec!["-c".into(), "echo cannot mount >&2; exit 1".into()];
        let launch = Launch { program: "/bin/sh".into(), arguments, variables: BTreeMap::new() };
        let streams = [Stdio::null(), Stdio::piped(), Stdio::piped()];
        let launched = launch.piped(&Sandbox::new(SandboxMode::Off, &around), None, streams).await.unwrap();
        let request = Request {
            timeout: Duration::from_secs(20),
            stdin: Stdin::Empty,
            capture: Capture::Within(1000),
            face: Face::Pipes,
            sudo: None,
            stop: Stop::new(),
        };
        let (Watched { output, exit_code, .. }, _) = watched(launched, request).await;
        assert_eq!((output.finish(None).0.as_str(), exit_code), ("cannot mount\n", 1));
    }
}
