//! The tool `terminal`: one command, in the foreground or started in the background.
//!
//! What cannot work is refused before the gate is asked. The command that is judged and the directory it is judged for
//! are the ones that run; only a directory that is gone is replaced, and that before the judgement.

use super::TerminalSettings;
use super::backend::{Capture, Ended, Executed, Request, Stdin, Unable};
use super::guidance;
use super::meaning::meaning;
use super::settings::expanded;
use super::surroundings::sudo::{self, Asking, Heard, Prepared};
use crate::desk::{Cx, Reach};
use crate::effects::{Company, Effects};
use crate::gate::{Approval, Permit, Place, Refused, is_still};
use crate::process::{Face, Password, Start, Started, Tell};
use crate::tool::{Afterword, Card, Output, ResultCap, Tool, ToolError};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// What the tool may take beyond the command itself.
const SLACK: Duration = Duration::from_secs(10);
/// Pauses before a command that could not be started is tried again.
const PAUSES: [Duration; 3] = [Duration::from_secs(2), Duration::from_secs(4), Duration::from_secs(8)];
const UNREACHABLE: &str = "nobody can be told later in this session; ask with process poll or wait";
const MARKS_OF_PATHS: &str = "/\\:_-.~ +@=,";

const DESCRIPTION: &str = "Run a bash command. Directory, exports, functions and aliases last from call to call. \
stdout and stderr come as one text; long output loses its middle. Servers and other things that do not end by themselves: \
background=true, then use the process tool. Prefer the file tools for reading, searching and editing files.";

pub(crate) struct TerminalTool {
    /// Seconds a command may take where the call does not say.
    timeout: u64,
}

#[derive(Debug, Deserialize)]
pub(crate) struct TerminalArgs {
    #[serde(default)]
    command: Value,
    #[serde(default)]
    background: bool,
    timeout: Option<u64>,
    workdir: Option<String>,
    #[serde(default)]
    pty: bool,
    #[serde(default)]
    notify_on_complete: bool,
    #[serde(default)]
    watch_patterns: Vec<String>,
}

fn parameters() -> Value {
    json!({
        "type": "object",
        "properties": {
            "command": {"type": "string", "description": "Text for bash."},
            "background": {"type": "boolean", "description": "Start it and return at once with a session_id for the process tool.", "default": false},
            "timeout": {"type": "integer", "minimum": 1, "description": "Seconds until it is ended, at most 600 in the foreground."},
            "workdir": {"type": "string", "description": "Directory for this call alone."},
            "pty": {"type": "boolean", "description": "Give it a terminal, for programs that insist on one.", "default": false},
            "notify_on_complete": {"type": "boolean", "description": "Background: be told when it ends.", "default": false},
            "watch_patterns": {"type": "array", "items": {"type": "string"}, "description": "Background: be told when a line contains one of these. Ignored with notify_on_complete."}
        },
        "required": ["command"]
    })
}

/// A command that ran.
#[derive(Debug, Serialize)]
struct Foreground {
    output: String,
    exit_code: i32,
    error: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    exit_code_meaning: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    approval: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    sudo_auth_failed: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    sudo_cache_cleared: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cwd_note: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pty_note: Option<&'static str>,
}

/// A command that was started.
#[derive(Debug, Serialize)]
struct Background {
    output: &'static str,
    session_id: String,
    pid: u32,
    exit_code: i32,
    error: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    notify_on_complete: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    notify_unsupported: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    watch_patterns: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    watch_patterns_ignored: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    approval: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cwd_note: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pty_note: Option<&'static str>,
}

impl TerminalTool {
    pub(crate) fn new(settings: &TerminalSettings) -> Self {
        Self { timeout: settings.timeout }
    }

    async fn foreground(&self, args: &TerminalArgs, permit: &Permit, cx: &Cx) -> Result<Output, ToolError> {
        let settings = &cx.desk.settings().terminal;
        let command = permit.command().map(|command| command.text.as_str()).unwrap_or_default();
        let sudo = Arc::new(prepared(command, cx).await);
        let (face, pty_note) = face(args, command, &sudo);
        let request = Request {
            timeout: Duration::from_secs(args.timeout.unwrap_or(settings.timeout).max(1)),
            stdin: Stdin::Empty,
            capture: Capture::Within(settings.capture),
            face,
            sudo: Some(sudo.clone()),
            stop: cx.stop.clone(),
        };
        let executed = execute(permit, &request, cx).await.map_err(|unable| told(&unable.to_string(), "disabled"))?;
        let cwd_note = cwd_note(args, permit, cx);
        // A directory that was named for this call is left with it.
        if args.workdir.is_none()
            && let Some(cwd) = &executed.cwd
        {
            cx.desk.move_to(cwd);
        }
        let Executed { output, exit_code, ended, .. } = executed;
        let heard = if sudo.gives_password() { cx.desk.terminal.sudo().heard(&output) } else { Heard::NoRefusal };
        let output = sudo.covered(&output);
        let said = (ended == Ended::Exited).then(|| meaning(command, exit_code)).flatten();
        Output::json(&Foreground {
            output: cx.desk.settings().cover.terminal(command, output.trim_end()).into_owned(),
            exit_code,
            error: None,
            exit_code_meaning: said,
            approval: approval(permit),
            sudo_auth_failed: (heard != Heard::NoRefusal).then_some(true),
            sudo_cache_cleared: (heard == Heard::RefusedAndForgotten).then_some(true),
            hint: hint(&sudo, exit_code, heard),
            cwd_note,
            pty_note,
        })
    }

    async fn background(&self, args: TerminalArgs, permit: Permit, cx: &Cx) -> Result<Output, ToolError> {
        let Some(command) = permit.command().cloned() else {
            return Err(told("the permit is for no command", "error"));
        };
        let shell = cx.desk.terminal.shell().await.map_err(|unable| told(&unable.to_string(), "disabled"))?;
        let prepared = prepared(&command.text, cx).await;
        let (face, pty_note) = face(&args, &command.text, &prepared);
        let (cwd_note, approval) = (cwd_note(&args, &permit, cx), approval(&permit));
        let watching = !args.watch_patterns.is_empty();
        let wanted = match (args.notify_on_complete, watching) {
            (true, _) => Tell::OnEnd,
            (false, true) => Tell::OnMatch(args.watch_patterns.clone()),
            (false, false) => Tell::Nothing,
        };
        let (tell, notify_unsupported) = match cx.desk.news {
            Reach::OneShot if wanted != Tell::Nothing => (Tell::Nothing, Some(UNREACHABLE)),
            Reach::OneShot | Reach::Lasting => (wanted, None),
        };
        let told_of = tell.clone();
        let hint = prepared.hint.clone();
        let password = Some(Password { prepared, sudo: cx.desk.terminal.sudo().clone() });
        let start = Start { permit, session: cx.desk.session.clone(), shell, cwd: command.cwd, face, tell, password };
        let Started { id, pid } = cx.desk.shop.processes.start(start).await.map_err(|reason| told(&reason, "error"))?;
        Output::json(&Background {
            output: "Background process started",
            session_id: id,
            pid,
            exit_code: 0,
            error: None,
            hint,
            notify_on_complete: (told_of == Tell::OnEnd).then_some(true),
            notify_unsupported,
            watch_patterns: match told_of {
                Tell::OnMatch(patterns) => Some(patterns),
                Tell::Nothing | Tell::OnEnd => None,
            },
            watch_patterns_ignored: (watching && args.notify_on_complete && notify_unsupported.is_none())
                .then_some("notify_on_complete was given too, and it wins"),
            approval,
            cwd_note,
            pty_note,
        })
    }
}

impl Tool for TerminalTool {
    type Args = TerminalArgs;

    fn card(&self) -> Card {
        Card {
            emoji: "💻",
            result_cap: ResultCap::Usual,
            ..Card::new("terminal", "terminal", DESCRIPTION, parameters())
        }
    }

    fn effects(&self, args: &TerminalArgs, cx: &Cx) -> Result<Effects, ToolError> {
        let settings = cx.desk.settings();
        let Some(command) = args.command.as_str() else {
            return Err(told("command must be a text for bash", "error"));
        };
        if command.contains('\0') {
            return Err(told("the command has a NUL character in it, which bash cannot read", "error"));
        }
        if args.timeout == Some(0) {
            return Err(told("timeout must be at least 1 second", "error"));
        }
        if !args.background {
            let limit = TerminalSettings::foreground_limit(&settings.around).as_secs();
            if let Some(wanted) = args.timeout.filter(|wanted| *wanted > limit) {
                return Err(ToolError::told(format!(
                    "timeout {wanted} s is more than the {limit} s a command may take in the foreground; use background=true"
                )));
            }
            if let Some(advice) = guidance::advice(command) {
                return Err(told(advice, "error"));
            }
        }
        let wanted = wanted_cwd(args, cx)?;
        let backend = cx.desk.terminal.backend().map_err(|unable| told(&unable.to_string(), "disabled"))?;
        let cwd = backend.usable(&wanted);
        let place = Place {
            home: settings.around.home.display().to_string(),
            hermes_home: settings.around.hermes_home.display().to_string(),
            cwd: cwd.display().to_string(),
        };
        let remembered = cx.desk.terminal.remembered();
        if args.background || remembered.defines_commands() || !is_still(command, &place) {
            return Ok(Effects::command(command, cwd, Company::Alone).after(remembered));
        }
        let reads = Effects::read_tree("/");
        let effects = Effects::command(command, cwd, Company::Welcome).after(remembered);
        Ok(Effects { scopes: reads.scopes, ..effects })
    }

    fn limit(&self, args: &TerminalArgs) -> Option<Duration> {
        let asks = args.command.as_str().is_some_and(|command| command.contains("sudo"));
        let asking = if asks { sudo::LONGEST_ASKING } else { Duration::ZERO };
        Some(Duration::from_secs(args.timeout.unwrap_or(self.timeout)) + SLACK + asking)
    }

    fn refused(&self, refused: &Refused) -> Value {
        json!({"output": "", "exit_code": -1, "error": refused.message, "status": "blocked"})
    }

    fn afterword(&self, result: &str) -> Afterword {
        let result: Option<Value> = serde_json::from_str(result).ok();
        let code = result.as_ref().and_then(|result| result.get("exit_code")?.as_i64());
        Afterword { exit_code: code.filter(|code| *code != 0), ..Afterword::default() }
    }

    async fn call(&self, args: TerminalArgs, permit: Permit, cx: &Cx) -> Result<Output, ToolError> {
        if args.background {
            return self.background(args, permit, cx).await;
        }
        self.foreground(&args, &permit, cx).await
    }
}

/// Where the call wants to run, whether or not it can.
fn wanted_cwd(args: &TerminalArgs, cx: &Cx) -> Result<PathBuf, ToolError> {
    let Some(workdir) = &args.workdir else { return Ok(cx.desk.cwd()) };
    if let Some(odd) = workdir.chars().find(|mark| !mark.is_alphanumeric() && !MARKS_OF_PATHS.contains(*mark)) {
        let error = format!(
            "workdir {workdir:?} has {odd:?} in it, which no directory name here may have; use cd in the command"
        );
        return Err(told(&error, "blocked"));
    }
    Ok(cx.desk.cwd().join(expanded(workdir, &cx.desk.settings().around)))
}

/// Runs it; a machine that is short of something gets time to recover. Nothing was run in between.
async fn execute(permit: &Permit, request: &Request, cx: &Cx) -> Result<Executed, Unable> {
    let backend = cx.desk.terminal.backend()?;
    for pause in PAUSES {
        match backend.execute(permit, request.clone()).await {
            Err(Unable::Busy(reason)) => tracing::warn!(%reason, "a command could not be started; trying again"),
            done => return done,
        }
        tokio::select! {
            () = cx.desk.shop.clock.pause(pause) => {}
            () = cx.stop.wait() => break,
        }
    }
    backend.execute(permit, request.clone()).await
}

/// `{output, exit_code, error, status}`: a command that did not run.
fn told(error: &str, status: &str) -> ToolError {
    ToolError::Tell(json!({"output": "", "exit_code": -1, "error": error, "status": status}))
}

fn approval(permit: &Permit) -> Option<String> {
    match permit.approval() {
        Approval::Person(reasons) => Some(format!("The person allowed it ({}).", reasons.join("; "))),
        Approval::Unasked(_) => None,
    }
}

/// The model must know when its command ran elsewhere than it thinks.
fn cwd_note(args: &TerminalArgs, permit: &Permit, cx: &Cx) -> Option<String> {
    let wanted = wanted_cwd(args, cx).ok()?;
    let ran = &permit.command()?.cwd;
    (wanted != *ran).then(|| format!("{} is no usable directory; ran in {}", wanted.display(), ran.display()))
}

/// What the command sees at its ends, and why it has no terminal where it was to have one.
fn face(args: &TerminalArgs, command: &str, sudo: &Prepared) -> (Face, Option<&'static str>) {
    match args.pty {
        false => (Face::Pipes, None),
        true if sudo.gives_password() => {
            (Face::Pipes, Some("pty was turned off: sudo reads its password from the input"))
        }
        true if command.contains("gh auth login") && command.contains("--with-token") => {
            (Face::Pipes, Some("pty was turned off: gh reads the token from its input"))
        }
        true => (Face::Pty, None),
    }
}

/// The command as sudo needs it. The person may be asked for a password.
async fn prepared(command: &str, cx: &Cx) -> Prepared {
    let asking = Asking { face: cx.desk.face(), clock: &*cx.desk.shop.clock, stop: &cx.stop };
    cx.desk.terminal.sudo().prepare(command, asking).await
}

/// What to do about a sudo that did not work.
fn hint(sudo: &Prepared, exit_code: i32, heard: Heard) -> Option<String> {
    match heard {
        Heard::NoRefusal => sudo.hint.clone().filter(|_| exit_code != 0),
        Heard::Refused => {
            Some("sudo refused SUDO_PASSWORD. The owner can correct it in the .env of Hermes.".to_owned())
        }
        Heard::RefusedAndForgotten => Some("The password was wrong. The next sudo asks for it again.".to_owned()),
    }
}
