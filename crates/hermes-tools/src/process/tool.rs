//! The tool `process`: looks after what the terminal tool started in the background.

use super::input::{as_lines, judged};
use super::live::{Bond, End, Tracked};
use super::news::Reason;
use super::start::{Face, Tell};
use super::{LAST_OUTPUT, Processes, buffer, shown};
use crate::desk::Cx;
use crate::effects::{Company, Effects};
use crate::gate::{Approval, Permit, Place};
use crate::tool::{Card, Output, Tool, ToolError};
use jiff::Timestamp;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;

const SHOWN_COMMAND: usize = 200;
const LIST_PREVIEW: usize = 200;
const PREVIEW: usize = 1000;
const DEFAULT_LINES: usize = 200;
/// A process that does not read holds a writer up; no longer than this.
const WRITE_LIMIT: Duration = Duration::from_secs(5);
/// Longer than the longest grace of a kill.
const CALL_LIMIT: Duration = Duration::from_secs(120);

/// The tool.
#[derive(Debug, Clone, Copy, Default)]
pub struct ProcessTool;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
enum Action {
    List,
    Poll,
    Log,
    Wait,
    Kill,
    Write,
    Submit,
    Close,
}

#[derive(Debug, Deserialize)]
pub struct Args {
    action: Action,
    #[serde(default, deserialize_with = "text_or_number")]
    session_id: Option<String>,
    #[serde(default, deserialize_with = "text_or_number")]
    data: Option<String>,
    timeout: Option<u64>,
    #[serde(default)]
    offset: usize,
    limit: Option<usize>,
}

/// Models write ids of digits as numbers.
fn text_or_number<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    Ok(match Value::deserialize(deserializer)? {
        Value::Null => None,
        Value::String(text) => Some(text),
        other => Some(other.to_string()),
    })
}

fn schema() -> Value {
    json!({
        "type": "object",
        "properties": {
            "action": {
                "type": "string",
                "enum": ["list", "poll", "log", "wait", "kill", "write", "submit", "close"],
                "description": "list: all. poll: state and last output. log: output by lines. wait: until it ends. \
                                kill: end it and its children. write: raw stdin. submit: stdin plus Enter. close: end of stdin."
            },
            "session_id": {"type": "string", "description": "proc_… from terminal; for all but list."},
            "data": {"type": "string", "description": "Text for write and submit."},
            "timeout": {"type": "integer", "minimum": 1, "description": "Seconds to wait at most."},
            "offset": {"type": "integer", "description": "First line of log; without it the last lines."},
            "limit": {"type": "integer", "minimum": 1, "description": "Lines of log (default 200)."}
        },
        "required": ["action"]
    })
}

impl Args {
    fn id(&self) -> Result<&str, ToolError> {
        let id = self.session_id.as_deref().map(str::trim).filter(|id| !id.is_empty());
        let action = serde_json::to_value(self.action).unwrap_or_default();
        id.ok_or_else(|| ToolError::told(format!("session_id is required for {}", action.as_str().unwrap_or("this"))))
    }

    /// What would be written.
    fn text(&self) -> Option<String> {
        let data = self.data.clone().unwrap_or_default();
        match self.action {
            Action::Write => Some(data),
            Action::Submit => Some(data + "\n"),
            _ => None,
        }
    }
}

impl Tool for ProcessTool {
    type Args = Args;

    fn card(&self) -> Card {
        let description =
            "Looks after background processes that terminal(background=true) started in this conversation.";
        Card { emoji: "⚙️", ..Card::new("process", "terminal", description, schema()) }
    }

    /// What is written to a process is judged as a command unless it is certainly data; see `input`.
    fn effects(&self, args: &Args, cx: &Cx) -> Result<Effects, ToolError> {
        if args.action == Action::List {
            return Ok(Effects::none());
        }
        let tracked = cx.desk.shop.processes.find(&cx.desk.session, args.id()?);
        let (Some(text), Some(tracked)) = (args.text(), tracked) else {
            return Ok(if matches!(args.action, Action::Kill | Action::Close) {
                Effects::alone()
            } else {
                Effects::none()
            });
        };
        let around = &cx.desk.settings().around;
        let place = Place {
            home: around.home.display().to_string(),
            hermes_home: around.hermes_home.display().to_string(),
            cwd: tracked.cwd.clone(),
        };
        let written = tracked.state().written.clone();
        match judged(&tracked.command, &place, &written, &text) {
            Ok(Some(command)) => Ok(Effects::command(command, &tracked.cwd, Company::Alone)),
            Ok(None) => Ok(Effects::alone()),
            Err(reason) => Err(ToolError::Tell(json!({"status": "error", "error": reason}))),
        }
    }

    /// A wait keeps its own time.
    fn limit(&self, args: &Args) -> Option<Duration> {
        Some(CALL_LIMIT).filter(|_| args.action != Action::Wait)
    }

    async fn call(&self, args: Args, permit: Permit, cx: &Cx) -> Result<Output, ToolError> {
        let processes = &cx.desk.shop.processes;
        if args.action == Action::List {
            let processes = processes.of(&cx.desk.session).iter().map(|one| Line::of(one, processes.now())).collect();
            return Output::json(&List { processes });
        }
        let id = args.id()?;
        let Some(tracked) = processes.find(&cx.desk.session, id) else {
            let error = format!("No process with session_id {id} in this conversation; see action list");
            return Err(ToolError::Tell(json!({"status": "not_found", "error": error})));
        };
        match args.action {
            Action::List | Action::Poll => Output::json(&Poll::of(&tracked, processes.now())),
            Action::Log => log(&args, &tracked, processes),
            Action::Wait => wait(&args, &tracked, processes, cx).await,
            Action::Kill => kill(&tracked, processes).await,
            Action::Write | Action::Submit => write(&args, &permit, &tracked, processes, cx).await,
            Action::Close => close(&tracked, processes).await,
        }
    }
}

#[derive(Serialize)]
struct List {
    processes: Vec<Line>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum Status {
    Running,
    Exited,
}

impl Status {
    fn of(end: Option<End>) -> Self {
        if end.is_some() { Self::Exited } else { Self::Running }
    }
}

/// One process in a list.
#[derive(Serialize)]
struct Line {
    session_id: String,
    command: String,
    cwd: String,
    pid: u32,
    started_at: String,
    uptime_seconds: u64,
    status: Status,
    output_preview: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    watch_patterns: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    watch_hit: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    notify_on_complete: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    exit_code: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    detached: Option<bool>,
}

impl Line {
    fn of(tracked: &Tracked, now: Duration) -> Self {
        let end = tracked.end(now);
        let output_preview = buffer::tail(&tracked.text(), LIST_PREVIEW);
        let started = Timestamp::try_from(tracked.started).map(|at| at.strftime("%Y-%m-%dT%H:%M:%SZ").to_string());
        let state = tracked.state();
        Self {
            session_id: tracked.id.clone(),
            command: shown(&tracked.command).chars().take(SHOWN_COMMAND).collect(),
            cwd: tracked.cwd.clone(),
            pid: tracked.pid,
            started_at: started.unwrap_or_default(),
            uptime_seconds: uptime(tracked, end, now),
            status: Status::of(end),
            output_preview,
            watch_patterns: state.watch.as_ref().map(|watch| watch.patterns.clone()),
            watch_hit: state.watch.as_ref().map(|watch| watch.hit).filter(|hit| *hit),
            notify_on_complete: (state.tell == Tell::OnEnd).then_some(true),
            exit_code: end.and_then(|end| end.exit_code),
            detached: detached(tracked),
        }
    }
}

#[derive(Serialize)]
struct Poll {
    session_id: String,
    command: String,
    status: Status,
    pid: u32,
    uptime_seconds: u64,
    output_preview: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    exit_code: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    completion_reason: Option<Reason>,
    #[serde(skip_serializing_if = "Option::is_none")]
    termination_source: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    detached: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<&'static str>,
}

impl Poll {
    fn of(tracked: &Tracked, now: Duration) -> Self {
        let end = tracked.end(now);
        let lonely = "An earlier run of the program started it: its output is not known and it cannot be written to.";
        Self {
            session_id: tracked.id.clone(),
            command: shown(&tracked.command),
            status: Status::of(end),
            pid: tracked.pid,
            uptime_seconds: uptime(tracked, end, now),
            output_preview: buffer::tail(&tracked.text(), PREVIEW),
            exit_code: end.and_then(|end| end.exit_code),
            completion_reason: end.map(|end| end.reason),
            termination_source: end.map(|end| end.source),
            detached: detached(tracked),
            note: (tracked.bond == Bond::Detached).then_some(lonely),
        }
    }
}

fn uptime(tracked: &Tracked, end: Option<End>, now: Duration) -> u64 {
    end.map_or(now, |end| end.at).saturating_sub(tracked.began).as_secs()
}

fn detached(tracked: &Tracked) -> Option<bool> {
    (tracked.bond == Bond::Detached).then_some(true)
}

#[derive(Serialize)]
struct Log {
    session_id: String,
    command: String,
    status: Status,
    output: String,
    total_lines: usize,
    showing: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<String>,
}

fn log(args: &Args, tracked: &Tracked, processes: &Processes) -> Result<Output, ToolError> {
    // The state before the text: an end that comes in between must not count as shown.
    let end = tracked.end(processes.now());
    let (text, lost) = (tracked.text(), tracked.state().buffer.lost);
    let total = text.lines().count();
    let limit = args.limit.unwrap_or(DEFAULT_LINES).max(1);
    let first = if args.offset == 0 { total.saturating_sub(limit) } else { args.offset.min(total) };
    let lines: Vec<&str> = text.lines().skip(first).take(limit).collect();
    if end.is_some() && first + lines.len() >= total {
        processes.knows(tracked);
    }
    Output::json(&Log {
        session_id: tracked.id.clone(),
        command: shown(&tracked.command),
        status: Status::of(end),
        output: lines.join("\n"),
        total_lines: total,
        showing: format!("{} lines", lines.len()),
        note: (lost > 0).then(|| format!("The first {lost} characters of the output are no longer kept.")),
    })
}

#[derive(Serialize)]
struct Waited {
    status: &'static str,
    command: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    exit_code: Option<i32>,
    output: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    timeout_note: Option<String>,
}

async fn wait(args: &Args, tracked: &Arc<Tracked>, processes: &Processes, cx: &Cx) -> Result<Output, ToolError> {
    let longest = cx.desk.settings().terminal.timeout.max(1);
    let asked = args.timeout.unwrap_or(longest).max(1);
    let limit = Duration::from_secs(asked.min(longest));
    let mut ended = tracked.ended();
    let over = async {
        loop {
            if tracked.end(processes.now()).is_some() {
                return;
            }
            // Nobody waits for a detached process; it is looked at.
            let look_again = match tracked.bond {
                Bond::Own => limit,
                Bond::Detached => Duration::from_millis(250),
            };
            let _changed = tokio::time::timeout(look_again, ended.changed()).await;
        }
    };
    let status = tokio::select! {
        () = over => "exited",
        () = cx.stop.wait() => "interrupted",
        () = cx.desk.shop.clock.alarm(limit) => "timeout",
    };
    let most = if status == "exited" { LAST_OUTPUT } else { PREVIEW };
    let end = tracked.end(processes.now()).filter(|_| status == "exited");
    if end.is_some() {
        processes.knows(tracked);
    }
    let timeout_note = (asked > longest)
        .then(|| format!("The longest wait is {longest} s (terminal.timeout); {asked} s were asked for."))
        .or_else(|| (status == "timeout").then(|| format!("It still runs after {} s.", limit.as_secs())));
    Output::json(&Waited {
        status,
        command: shown(&tracked.command),
        exit_code: end.and_then(|end| end.exit_code),
        output: buffer::tail(&tracked.text(), most),
        timeout_note,
    })
}

#[derive(Serialize)]
struct Kill {
    status: &'static str,
    session_id: String,
    completion_reason: &'static str,
    termination_source: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    exit_code: Option<i32>,
    output: String,
}

async fn kill(tracked: &Tracked, processes: &Processes) -> Result<Output, ToolError> {
    let before = tracked.end(processes.now());
    let left = match before {
        // Whoever it left behind goes with it.
        Some(_) if tracked.bond == Bond::Own => tracked.family.end(Duration::from_millis(500)).await,
        Some(_) => Vec::new(),
        None => processes.kill(tracked, "process.kill").await,
    };
    if !left.is_empty() {
        let pids: Vec<String> = left.iter().map(|who| who.pid.to_string()).collect();
        let error = format!("{} did not end: pid {} still lives", tracked.id, pids.join(", "));
        return Err(ToolError::Tell(json!({"status": "error", "session_id": tracked.id, "error": error})));
    }
    processes.knows(tracked);
    let end = tracked.end(processes.now());
    let (status, completion_reason) = match before {
        Some(_) => ("already_exited", "already_exited"),
        None => ("killed", "killed"),
    };
    Output::json(&Kill {
        status,
        session_id: tracked.id.clone(),
        completion_reason,
        termination_source: end.map_or("", |end| end.source),
        exit_code: end.and_then(|end| end.exit_code),
        output: buffer::tail(&tracked.text(), LAST_OUTPUT),
    })
}

/// Why nothing can be written any more.
fn writable(tracked: &Tracked, processes: &Processes) -> Result<(), ToolError> {
    let refuse = |status: &str, error: String| Err(ToolError::Tell(json!({"status": status, "error": error})));
    match tracked.end(processes.now()) {
        Some(_) => refuse("already_exited", format!("{} has ended; it reads nothing any more", tracked.id)),
        None if tracked.bond == Bond::Detached => {
            refuse("error", format!("{} was started by an earlier run; its input is gone", tracked.id))
        }
        None => Ok(()),
    }
}

async fn write(
    args: &Args,
    permit: &Permit,
    tracked: &Tracked,
    processes: &Processes,
    cx: &Cx,
) -> Result<Output, ToolError> {
    writable(tracked, processes)?;
    let text = args.text().unwrap_or_default();
    // A terminal takes Enter as a carriage return.
    let sent = if tracked.face == Face::Pty { text.replace('\n', "\r") } else { text.clone() };
    let mut bytes = sent.as_bytes();
    let mut input = tracked.input.lock().await;
    let all = async {
        while !bytes.is_empty() {
            let count = input.write(bytes).await?;
            bytes = bytes.get(count..).unwrap_or_default();
        }
        Ok::<(), std::io::Error>(())
    };
    let ended = tokio::select! {
        ended = all => ended.map_err(|error| format!("{} could not be written to: {error}", tracked.id)),
        () = tokio::time::sleep(WRITE_LIMIT) => Err(format!("{} does not read its input", tracked.id)),
        () = cx.stop.wait() => Err("interrupted".to_owned()),
    };
    drop(input);
    let bytes_written = sent.len() - bytes.len();
    note(tracked, permit, &text, bytes_written == sent.len());
    match ended {
        Ok(()) => Output::json(&json!({"status": "ok", "bytes_written": bytes_written})),
        Err(error) => Err(ToolError::Tell(json!({"status": "error", "error": error, "bytes_written": bytes_written}))),
    }
}

/// Keeps what was written for judging the next portion. A whole line that a person agreed to needs no second consent.
fn note(tracked: &Tracked, permit: &Permit, text: &str, complete: bool) {
    if permit.command().is_none() {
        return;
    }
    let consented = matches!(permit.approval(), Approval::Person(_));
    let mut state = tracked.state();
    if consented && complete && text.ends_with(['\n', '\r']) {
        state.written.clear();
    } else {
        state.written.push_str(&as_lines(text));
    }
}

async fn close(tracked: &Tracked, processes: &Processes) -> Result<Output, ToolError> {
    writable(tracked, processes)?;
    let mut input = tracked.input.lock().await;
    match input.close().await {
        Ok(()) => Output::json(&json!({"status": "ok"})),
        Err(error) => Err(ToolError::Tell(json!({"status": "error", "error": error.to_string()}))),
    }
}
