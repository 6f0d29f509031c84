//! One hook, started once: JSON on its standard input, a verdict on its standard output, everything bounded.

use super::HookConfig;
use super::consent::words;
use crate::child::{Outside, Program, Running, not_started};
use crate::occasion::{Occasion, Power};
use hermes_core::clock::Clock;
use hermes_types::{Object, clip};
use serde_json::{Value, json};
use std::process::ExitStatus;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWriteExt as _};

/// A verdict is a few lines.
const MOST_OUTPUT: u64 = 256 * 1024;
const LONGEST_SHOWN: usize = 400;
/// Fields that have a place of their own; the others are in `extra`.
const TOP_LEVEL: [&str; 4] = ["tool_name", "args", "session_id", "parent_session_id"];

/// How it went.
#[derive(Debug)]
pub struct Fired {
    pub end: End,
    /// At most as much as counts; `extent` says whether there was more.
    pub stdout: String,
    pub extent: Extent,
    pub stderr: String,
    pub took: Duration,
}

/// How much of an output was kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Extent {
    #[default]
    Whole,
    Beginning,
}

#[derive(Debug)]
pub enum End {
    Exited(ExitStatus),
    TimedOut(Duration),
    /// It could not be started, or not be waited for.
    Failed(String),
}

impl Fired {
    /// What it answered. An error is a hook that failed: one that guards something is then a no, unless the owner said
    /// otherwise. A hook that ends well and says something that is no JSON has no opinion, as in the Python program.
    pub fn verdict(&self, occasion: Occasion) -> Result<Option<Value>, String> {
        let status = match &self.end {
            End::Exited(status) => status,
            End::TimedOut(limit) => return Err(format!("it did not end within {} s", limit.as_secs())),
            End::Failed(reason) => return Err(reason.clone()),
        };
        let guards = occasion.power() == Power::Guards;
        if guards && self.extent == Extent::Beginning {
            return Err(format!("it said more than {} KiB", MOST_OUTPUT / 1024));
        }
        let answer: Option<Value> = serde_json::from_str(self.stdout.trim()).ok().filter(Value::is_object);
        match answer {
            Some(answer) if status.success() || !guards || decides(&answer) => Ok(Some(said(answer, occasion))),
            None if guards && self.stdout.lines().any(|line| line.trim_start().starts_with('{')) => {
                Err("it said something like a verdict that cannot be read; one JSON object alone is wanted".to_owned())
            }
            _ if !status.success() => {
                let words = clip(self.stderr.trim(), LONGEST_SHOWN);
                Err(format!("it ended with {status}{}{words}", if words.is_empty() { "" } else { ": " }))
            }
            _ => {
                if !self.stdout.trim().is_empty() {
                    tracing::warn!(event = occasion.name(), "a hook said something that is no JSON; it is ignored");
                }
                Ok(None)
            }
        }
    }
}

/// Whether a guard made up its mind.
fn decides(answer: &Value) -> bool {
    ["action", "decision"].iter().any(|field| answer.get(field).is_some())
}

/// The part of an answer that counts for this event: rewritten texts stand in `context` or `result`.
fn said(answer: Value, occasion: Occasion) -> Value {
    match occasion.power() {
        Power::Rewrites => answer.get("result").or_else(|| answer.get("output")).cloned().unwrap_or(Value::Null),
        Power::Guards | Power::Informs | Power::Watches => answer,
    }
}

/// Starts a hook and waits for its end. Nothing of it lives on.
pub async fn fire(hook: &HookConfig, payload: Object, outside: &Outside, clock: &dyn Clock) -> Fired {
    let began = clock.elapsed();
    let mut output = Output::default();
    let end = match words(&hook.command, &outside.around) {
        Ok(words) => {
            let running = run(&words, told(hook.occasion, payload, outside), outside, &mut output);
            tokio::select! {
                end = running => end,
                () = clock.alarm(hook.timeout) => End::TimedOut(hook.timeout),
            }
        }
        Err(reason) => End::Failed(reason),
    };
    let Output { stdout: (stdout, extent), stderr: (stderr, _) } = output;
    Fired { end, stdout, extent, stderr, took: clock.elapsed().saturating_sub(began) }
}

/// What a hook reads.
fn told(occasion: Occasion, payload: Object, outside: &Outside) -> Value {
    let text = |field: &str| payload.get(field).cloned().filter(|value| !value.is_null());
    let session = text("session_id").or_else(|| text("parent_session_id")).unwrap_or_else(|| "".into());
    let (tool, input) = (payload.get("tool_name").cloned(), payload.get("args").cloned());
    let extra: Object = payload.into_iter().filter(|(field, _)| !TOP_LEVEL.contains(&field.as_str())).collect();
    json!({
        "hook_event_name": occasion.name(),
        "tool_name": tool,
        "tool_input": input,
        "session_id": session,
        "cwd": outside.around.cwd,
        "extra": extra,
    })
}

/// What a hook said so far.
#[derive(Default)]
struct Output {
    stdout: (String, Extent),
    stderr: (String, Extent),
}

async fn run(words: &[String], told: Value, outside: &Outside, output: &mut Output) -> End {
    let program = words.first().cloned().unwrap_or_default();
    let folder = outside.around.cwd.clone();
    let started = Program { words, folder: folder.clone(), variables: outside.variables(&[]) }.start();
    let Running { leash, mut child, mut stdin, stdout, stderr } = match started {
        Ok(running) => running,
        Err(error) => return End::Failed(not_started(&program, &folder, &error)),
    };
    let write = async {
        // A hook need not read what it is told.
        let _ = stdin.write_all(told.to_string().as_bytes()).await;
        drop(stdin);
    };
    let ended = async {
        let status = child.wait().await;
        // Whoever it left behind may hold its output open, and would be waited for.
        leash.family.end(Duration::ZERO).await;
        status
    };
    let Output { stdout: said, stderr: complained } = output;
    let ((), (), (), status) = tokio::join!(write, read(stdout, said), read(stderr, complained), ended);
    match status {
        Ok(status) => End::Exited(status),
        Err(error) => End::Failed(format!("`{program}` could not be waited for: {error}")),
    }
}

/// The beginning of an output; the rest is read and forgotten, so that the hook can end.
async fn read(mut pipe: impl AsyncRead + Unpin, (text, extent): &mut (String, Extent)) {
    let mut bytes = Vec::new();
    // An output that breaks off is as long as it is.
    let _ = (&mut pipe).take(MOST_OUTPUT).read_to_end(&mut bytes).await;
    *text = String::from_utf8_lossy(&bytes).into_owned();
    // The same for the rest, which only has to be out of the way.
    if tokio::io::copy(&mut pipe, &mut tokio::io::sink()).await.is_ok_and(|more| more > 0) {
        *extent = Extent::Beginning;
    }
}
