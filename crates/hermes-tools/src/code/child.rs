//! The process of a script: started in the sandbox, watched while it runs, and ended with everybody it started, however it
//! ends.

use super::door::{Door, Line};
use super::host::Host;
use super::output::Kept;
use crate::terminal::Ended;
use crate::terminal::family::tell_of;
use crate::terminal::launch::{Launch, Launched};
use crate::terminal::own_session;
use crate::terminal::sandbox::Sandbox;
use std::collections::BTreeMap;
use std::io;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::time::{sleep, timeout};

/// Between the request to end and the order to.
const GRACE: Duration = Duration::from_secs(1);
/// What was printed is read for so long after everybody has ended.
const LAST_WORDS: Duration = Duration::from_millis(500);
/// A call that is under way when its script ends has so long to end too.
const LAST_CALL: Duration = Duration::from_millis(1_500);
const CHUNK: usize = 64 * 1024;
/// Goes to the directory and becomes Python. The launcher starts everything at the root: a directory may be gone, and
/// here there is somebody to say so.
const SHELL: &str = "/bin/sh";
const ENTER: &str = "cd -- \"$1\" && exec \"$2\" \"$3\"";
/// Behind it, this moves the line away from where Python looks for input, to [`LINE`].
const MOVE_LINE: &str = " 3<&0 </dev/null";
/// The number of the line in a script that finds it open.
pub(super) const LINE: u8 = 3;

/// A script and everything it needs.
pub(super) struct Start<'a> {
    pub(super) python: PathBuf,
    pub(super) script: PathBuf,
    pub(super) cwd: &'a Path,
    pub(super) variables: BTreeMap<String, String>,
    pub(super) door: Door,
}

/// A script that has ended.
pub(super) struct Ran {
    pub(super) ended: Ended,
    pub(super) exit_code: i32,
    pub(super) stdout: Kept,
    pub(super) stderr: Kept,
}

impl Start<'_> {
    /// Runs the script to its end, its time, or the stop of its host.
    pub(super) async fn run(self, sandbox: &Sandbox, host: &Arc<Host>, limit: Duration) -> io::Result<Ran> {
        let Self { python, script, cwd, mut variables, door } = self;
        let enter = match door {
            Door::Socket { .. } => ENTER.to_owned(),
            Door::Open { .. } => format!("{ENTER}{MOVE_LINE}"),
        };
        let ((name, value), stdin, line) = door.hand_over();
        variables.insert(name.to_owned(), value);
        variables.insert("HERMES_RPC_TOKEN".to_owned(), host.token.clone());
        let arguments =
            ["-c".into(), enter.into(), "sh".into(), cwd.into(), python.into_os_string(), script.into_os_string()];
        let setsid = own_session(&variables);
        let launch = Launch { program: SHELL.into(), arguments: arguments.into(), variables };
        let launched = launch.piped(sandbox, setsid.as_deref(), [stdin, Stdio::piped(), Stdio::piped()]).await?;
        Ok(watch(launched, line, host, limit).await)
    }
}

async fn watch(launched: Launched, line: Line, host: &Arc<Host>, limit: Duration) -> Ran {
    // In this order: what is given up is ended first and waited for second.
    let Launched { mut child, leash, .. } = launched;
    let (mut stdout, mut stderr) = (Kept::output(), Kept::complaints());
    let (status, ended) = {
        let (out, err) = (child.stdout.take(), child.stderr.take());
        let reading = async { tokio::join!(read(out, &mut stdout), read(err, &mut stderr)) };
        let (serving, deadline) = (line.serve(host.clone()), sleep(limit));
        tokio::pin!(reading, serving, deadline);
        let mut silent = false;
        let (status, ended) = loop {
            tokio::select! {
                _ = &mut reading, if !silent => silent = true,
                () = &mut serving => {}
                status = child.wait() => break (status.ok(), Ended::Exited),
                () = &mut deadline => break (None, Ended::TimedOut),
                // The person, or a call that found that the turn cannot go on.
                () = host.stop.wait() => break (None, Ended::Interrupted),
            }
        };
        // A call under way ends with its script: nobody waits for the result, and nobody should be asked for it.
        host.stop.stop();
        let ending = async {
            tell_of(&leash.family.end(GRACE).await);
            timeout(GRACE, child.wait()).await.ok().and_then(Result::ok)
        };
        let at_rest = async {
            tokio::select! {
                () = &mut serving => {}
                () = host.at_rest() => {}
            }
        };
        let (waited, _over) = tokio::join!(ending, timeout(LAST_CALL, at_rest));
        if !silent {
            // Everybody who could still print is gone; who is not is not waited for.
            let _ = timeout(LAST_WORDS, &mut reading).await;
        }
        (status.or(waited), ended)
    };
    drop(leash);
    Ran { ended, exit_code: exit_code(status), stdout, stderr }
}

async fn read(pipe: Option<impl AsyncRead + Unpin>, kept: &mut Kept) {
    let Some(mut pipe) = pipe else { return };
    let mut buffer = vec![0; CHUNK];
    while let Ok(read @ 1..) = pipe.read(&mut buffer).await {
        kept.take(buffer.get(..read).unwrap_or_default());
    }
}

/// As Python counts: a signal is its number below zero.
fn exit_code(status: Option<ExitStatus>) -> i32 {
    let signal = |status: ExitStatus| status.signal().map(|signal| -signal);
    status.and_then(|status| status.code().or_else(|| signal(status))).unwrap_or(-1)
}
