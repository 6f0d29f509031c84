//! One command under a terminal of its own, to its end: what it printed, and how it ended.
//!
//! The command gets a session of its own, so that `/dev/tty` is this terminal and not the person's. When its time is up
//! or somebody stops it, its whole family ends; the same happens when the future is dropped.

use super::family::{Family, tell_of};
use super::launch::{Launch, Launched};
use super::sandbox::Sandbox;
use hermes_core::stop::Stop;
use std::io;
use std::os::unix::process::ExitStatusExt;
use std::time::Duration;
use tokio::io::AsyncReadExt;
use tokio::time::Instant;

/// Output that comes this long after the end of the command is somebody else's.
const SILENCE: Duration = Duration::from_millis(300);
/// Nor is it listened to for longer than this.
const LONGEST_LISTENING: Duration = Duration::from_secs(2);

/// What runs, and how long.
pub(crate) struct Run<'a> {
    pub(crate) launch: Launch,
    pub(crate) sandbox: &'a Sandbox,
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

/// Runs the command to its end, with whose family it was, and hands every portion of its output, as the terminal saw it, to `capture`.
pub(crate) async fn run(run: Run<'_>, mut capture: impl FnMut(&[u8]) + Send) -> io::Result<(Ended, Family)> {
    let Run { launch, sandbox, limit, grace, stop } = run;
    let (Launched { mut child, mut leash, .. }, mut pty) = launch.under_pty(sandbox).await?;
    let mut portion = vec![0; 8192];
    let (deadline, mut open) = (Instant::now() + limit, true);
    let mut exit = None;
    let (mut silent_at, mut last_call) = (deadline, deadline);
    let ended = loop {
        tokio::select! {
            () = stop.wait(), if exit.is_none() => break Ended::Stopped,
            read = pty.read(&mut portion), if open => match read {
                Ok(count @ 1..) => {
                    capture(portion.get(..count).unwrap_or_default());
                    silent_at = (Instant::now() + SILENCE).min(last_call);
                }
                // Nobody holds the other side any more.
                Ok(0) | Err(_) => open = false,
            },
            status = child.wait(), if exit.is_none() => {
                let status = status?;
                exit = Some(status.code().or_else(|| status.signal().map(|signal| -signal)).unwrap_or(-1));
                silent_at = Instant::now() + SILENCE;
                last_call = Instant::now() + LONGEST_LISTENING;
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
    if !matches!(ended, Ended::Exited(_)) {
        tell_of(&leash.family.end(grace).await);
        let _reaped = tokio::time::timeout(SILENCE, child.wait()).await;
    }
    leash.let_go();
    Ok((ended, leash.family.clone()))
}

#[cfg(test)]
mod tests {
    use super::super::sandbox::SandboxMode;
    use super::*;
    use crate::settings::Surroundings;
    use std::collections::BTreeMap;

    fn sandbox() -> Sandbox {
        let around = Surroundings { temp: "/tmp".into(), ..Surroundings::all_at("/") };
        Sandbox::new(SandboxMode::Off, &around)
    }

    async fn shell(script: &str, limit: Duration, stop: &Stop) -> (Ended, String) {
        let mut output = Vec::new();
        let variables = BTreeMap::from([("PATH".to_owned(), std::env::var("PATH").unwrap())]);
        let wish = Run {
            launch: Launch { program: "bash".into(), arguments: vec!["-c".into(), script.into()], variables },
            sandbox: &sandbox(),
            limit,
            grace: Duration::from_millis(200),
            stop,
        };
        let (ended, family) = run(wish, |bytes| output.extend_from_slice(bytes)).await.unwrap();
        tell_of(&family.kill());
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
        let (ended, output) = shell("echo on; trap '' TERM; sleep 60", Duration::from_secs(3), &Stop::new()).await;
        assert_eq!((ended, output.as_str()), (Ended::TimedOut, "on\r\n"));
        let stop = Stop::new();
        stop.stop();
        let (ended, _) = shell("sleep 60", Duration::from_secs(20), &stop).await;
        assert_eq!(ended, Ended::Stopped);
    }
}
