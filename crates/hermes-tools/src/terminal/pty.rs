//! One command under a terminal of its own, to its end: what it printed, and how it ended.
//!
//! The command gets a session of its own, so that `/dev/tty` is this terminal and not the person's. When its time is up
//! or somebody stops it, its whole family ends; the same happens when the future is dropped.

use super::family::Family;
use hermes_core::stop::Stop;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::time::Duration;
use tokio::io::AsyncReadExt;
use tokio::time::Instant;

const ROWS: u16 = 30;
const COLUMNS: u16 = 120;
/// Output that comes this long after the end of the command is somebody else's.
const SILENCE: Duration = Duration::from_millis(300);

/// What runs, and how long.
pub(crate) struct Run<'a> {
    pub(crate) program: OsString,
    pub(crate) arguments: Vec<OsString>,
    /// The whole environment. The mark of the family is added.
    pub(crate) variables: BTreeMap<String, String>,
    pub(crate) cwd: PathBuf,
    pub(crate) limit: Duration,
    /// Between asking and forcing it to end.
    pub(crate) grace: Duration,
    pub(crate) stop: &'a Stop,
}

/// How it ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ended {
    /// By itself, with this code; a signal is its negative number.
    Exited(i32),
    TimedOut,
    Stopped,
}

/// Ends the family when the run is given up in the middle.
struct Guard(Option<Family>);

impl Drop for Guard {
    fn drop(&mut self) {
        if let Some(family) = self.0.take() {
            for survivor in family.kill() {
                tracing::warn!(pid = survivor.pid, "a process of a command could not be ended");
            }
        }
    }
}

/// Runs the command and hands every portion of its output, as the terminal saw it, to `capture`.
pub(crate) async fn run(run: Run<'_>, mut capture: impl FnMut(&[u8]) + Send) -> io::Result<Ended> {
    let Run { program, arguments, mut variables, cwd, limit, grace, stop } = run;
    let (mut pty, pts) = pty_process::open().map_err(io::Error::other)?;
    pty.resize(pty_process::Size::new(ROWS, COLUMNS)).map_err(io::Error::other)?;
    let mark = Family::mark(&mut variables);
    variables.entry("TERM".to_owned()).or_insert_with(|| "xterm-256color".to_owned());
    let command = pty_process::Command::new(program).args(arguments).env_clear().envs(variables).current_dir(cwd);
    let mut child = command.kill_on_drop(true).spawn(pts).map_err(io::Error::other)?;
    let family = Family::of(child.id().unwrap_or_default(), mark);
    let mut guard = Guard(Some(family.clone()));
    let mut portion = vec![0; 8192];
    let (deadline, mut open) = (Instant::now() + limit, true);
    let mut exit = None;
    let mut silent_at = deadline;
    let ended = loop {
        tokio::select! {
            biased;
            () = stop.wait(), if exit.is_none() => break Ended::Stopped,
            read = pty.read(&mut portion), if open => match read {
                Ok(count @ 1..) => {
                    capture(portion.get(..count).unwrap_or_default());
                    silent_at = Instant::now() + SILENCE;
                }
                // Nobody holds the other side any more.
                Ok(0) | Err(_) => open = false,
            },
            status = child.wait(), if exit.is_none() => {
                let status = status?;
                exit = Some(status.code().or_else(|| status.signal().map(|signal| -signal)).unwrap_or(-1));
                silent_at = Instant::now() + SILENCE;
            }
            () = tokio::time::sleep_until(silent_at), if exit.is_some() && open => open = false,
            () = tokio::time::sleep_until(deadline) => match exit {
                Some(code) => break Ended::Exited(code),
                None => break Ended::TimedOut,
            },
        }
        if let (Some(code), false) = (exit, open) {
            break Ended::Exited(code);
        }
    };
    guard.0 = None;
    if !matches!(ended, Ended::Exited(_)) {
        for survivor in family.end(grace).await {
            tracing::warn!(pid = survivor.pid, "a process of a command could not be ended");
        }
        let _reaped = tokio::time::timeout(SILENCE, child.wait()).await;
    }
    Ok(ended)
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn shell(script: &str, limit: Duration, stop: &Stop) -> (Ended, String) {
        let mut output = Vec::new();
        let variables = BTreeMap::from([("PATH".to_owned(), std::env::var("PATH").unwrap())]);
        let wish = Run {
            program: "bash".into(),
            arguments: vec!["-c".into(), script.into()],
            variables,
            cwd: "/".into(),
            limit,
            grace: Duration::from_millis(200),
            stop,
        };
        let ended = run(wish, |bytes| output.extend_from_slice(bytes)).await.unwrap();
        (ended, String::from_utf8(output).unwrap())
    }

    #[tokio::test]
    async fn a_command_sees_a_terminal_and_its_size() {
        let script = "[ -t 0 ] && [ -t 1 ] && stty size; exit 3";
        let (ended, output) = shell(script, Duration::from_secs(20), &Stop::new()).await;
        assert_eq!((ended, output.as_str()), (Ended::Exited(3), "30 120\r\n"));
    }

    #[tokio::test]
    async fn what_is_left_behind_does_not_hold_the_answer_back() {
        let (ended, output) = shell("sleep 30 & echo done", Duration::from_secs(20), &Stop::new()).await;
        assert_eq!((ended, output.as_str()), (Ended::Exited(0), "done\r\n"));
    }

    #[tokio::test]
    async fn time_and_a_stop_end_it_with_everybody() {
        let (ended, output) = shell("echo on; trap '' TERM; sleep 60", Duration::from_millis(300), &Stop::new()).await;
        assert_eq!((ended, output.as_str()), (Ended::TimedOut, "on\r\n"));
        let stop = Stop::new();
        stop.stop();
        let (ended, _) = shell("sleep 60", Duration::from_secs(20), &stop).await;
        assert_eq!(ended, Ended::Stopped);
    }
}
