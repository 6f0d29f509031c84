//! The tool itself: what the model reads of it, what the gate is shown, and the result.

use super::child::{Ran, Start};
use super::door::Door;
use super::host::Host;
use super::settings::{CodeSettings, Mode};
use super::{stub, variables};
use crate::desk::Cx;
use crate::effects::{Effects, Script};
use crate::gate::{Cause, Permit, Refusal, Refused, SCRIPT_STARTS};
use crate::run::frame::framed_text;
use crate::settings::{Settings, Surroundings};
use crate::terminal::family::Family;
use crate::terminal::private::Private;
use crate::terminal::sandbox::Sandbox;
use crate::terminal::{Ended, TerminalSettings};
use crate::tool::{Afterword, Availability, Card, Check, Look, Output, Tool, ToolError};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

pub(super) const NAME: &str = "execute_code";
/// What the tool may take beyond the script itself.
const SLACK: Duration = Duration::from_secs(15);
const NO_PYTHON: &str = "python3 was not found in PATH; install Python 3.8 or newer";
const CUT: &str = "The output was cut; the script did run. Print less if you need what is missing.";
const USE_TERMINAL: &str = "terminal() from hermes_tools runs commands; each is judged by itself.";
const INTERRUPTED: &str = "[interrupted by the person]";

const DESCRIPTION: &str = "Run a Python script that can call tools as functions; you read only what it prints. For three or \
more calls with logic between them, loops over many files, or long results to be cut down first. One call or a result you \
want to read whole: call the tool itself.";

pub(crate) struct ExecuteCode {
    settings: CodeSettings,
    sandbox: Sandbox,
    python: Arc<Check>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct CodeArgs {
    #[serde(default)]
    code: String,
}

/// What became of a script.
#[derive(Debug, Serialize)]
struct Report {
    status: &'static str,
    output: String,
    exit_code: i32,
    tool_calls_made: usize,
    duration_seconds: f64,
    stdout_truncated: bool,
    stdout_bytes_captured: usize,
    stdout_bytes_total: usize,
    stdout_bytes_omitted: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    warning: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
}

impl ExecuteCode {
    pub(crate) fn new(settings: &Settings) -> Self {
        let Settings { code, terminal, around, .. } = settings;
        let (mode, seen, rules) = (code.mode, around.clone(), terminal.clone());
        let python = Check::new(move || availability(mode, &seen, &rules));
        Self { settings: code.clone(), sandbox: Sandbox::new(terminal.sandbox, around), python }
    }

    async fn run(&self, script: &Script, cx: &Cx) -> Result<Output, ToolError> {
        let began = Instant::now();
        let Settings { around, terminal, .. } = cx.desk.settings();
        let mode = self.settings.mode;
        let python = variables::interpreter(mode, around, terminal).ok_or_else(|| not_run(NO_PYTHON))?;
        let host = Arc::new(Host::new(cx, self.settings.max_tool_calls));
        let mark = Family::new_mark();
        let staging = stage(&mark, script, cx).await.map_err(|error| unable(&error))?;
        let folder = staging.path();
        let mut given = variables::variables(mode, around, terminal, folder);
        let marks = given.get(Family::VARIABLE).map_or_else(|| mark.clone(), |outer| format!("{outer}:{mark}"));
        given.insert(Family::VARIABLE.to_owned(), marks);
        let door = Door::make(folder, self.sandbox.mode()).map_err(|error| unable(&error))?;
        let cwd = match mode {
            Mode::Project => script.cwd.as_path(),
            Mode::Strict => folder,
        };
        let start = Start { python, script: folder.join("script.py"), cwd, variables: given, door };
        let limit = self.settings.limit();
        let ran = start.run(&self.sandbox, &host, limit).await.map_err(|error| unable(&error))?;
        match host.abort() {
            Some(reason) => Err(ToolError::Abort(reason)),
            None => Output::json(&self.report(&ran, &host, folder, began.elapsed(), cx)),
        }
    }

    fn report(&self, ran: &Ran, host: &Host, folder: &Path, took: Duration, cx: &Cx) -> Report {
        let cover = cx.desk.settings().cover;
        let printed = cover.file(&ran.stdout.text()).into_owned();
        // A traceback names the script by a path that is gone when it is read.
        let complaints = ran.stderr.text().replace(&format!("{}/", folder.display()), "");
        let complaints = cover.file(&complaints).into_owned();
        let (status, output, error) = match (ran.ended, ran.exit_code) {
            (Ended::TimedOut, _) => {
                let error = format!("Script timed out after {}s and was killed.", self.settings.limit().as_secs());
                ("timeout", joined(printed, &format!("[{error}]")), Some(error))
            }
            (Ended::Interrupted, _) => ("interrupted", joined(printed, INTERRUPTED), None),
            (Ended::Exited, 0) => ("success", printed, None),
            (Ended::Exited, code) if complaints.is_empty() => {
                ("error", printed, Some(format!("Script exited with code {code}")))
            }
            (Ended::Exited, _) => ("error", format!("{printed}\n--- stderr ---\n{complaints}"), Some(complaints)),
        };
        let framed = |text: String| if host.heard_strangers() { framed_text(NAME, &text) } else { text };
        let truncated = ran.stdout.omitted() > 0;
        Report {
            status,
            output: framed(output),
            exit_code: ran.exit_code,
            tool_calls_made: host.made(),
            duration_seconds: (took.as_secs_f64() * 100.0).round() / 100.0,
            stdout_truncated: truncated,
            stdout_bytes_captured: ran.stdout.captured(),
            stdout_bytes_total: ran.stdout.total(),
            stdout_bytes_omitted: ran.stdout.omitted(),
            warning: truncated.then_some(CUT),
            error: error.map(framed),
        }
    }
}

impl Tool for ExecuteCode {
    type Args = CodeArgs;

    fn card(&self) -> Card {
        let parameters = json!({
            "type": "object",
            "properties": {"code": {"type": "string", "description": "Python. Print what you want to know."}},
            "required": ["code"]
        });
        Card { emoji: "🐍", ..Card::new(NAME, "code_execution", DESCRIPTION, parameters) }
    }

    fn check(&self) -> Option<Arc<Check>> {
        Some(self.python.clone())
    }

    fn adapt(&self, look: &mut Look, offered: &BTreeSet<String>) {
        let there: Vec<&str> = stub::callable(offered).map(|function| function.tool).collect();
        let place = match self.settings.mode {
            Mode::Project => "in the working directory, with the active Python environment",
            Mode::Strict => "in an empty directory",
        };
        let tools = match there.is_empty() {
            true => String::new(),
            false => format!(
                "\n`from hermes_tools import {}`: they take the arguments of the tools and return dicts. Start programs with \
                 terminal(); a script that starts them itself needs consent. There too: json_parse(text), \
                 shell_quote(text), retry(fn, max_attempts=3, delay=2).",
                there.join(", ")
            ),
        };
        let CodeSettings { timeout, max_tool_calls, .. } = self.settings;
        look.description.push_str(&format!(
            "{tools}\nRuns {place}, for at most {timeout} s and {max_tool_calls} calls; 50 KB of output are kept."
        ));
    }

    fn effects(&self, args: &CodeArgs, cx: &Cx) -> Result<Effects, ToolError> {
        if args.code.trim().is_empty() {
            return Err(ToolError::told("No code provided."));
        }
        if args.code.contains('\0') {
            return Err(not_run("the code has a NUL character in it, which Python cannot read"));
        }
        let backend = cx.desk.terminal.backend().map_err(|unable| not_run(&unable.to_string()))?;
        Ok(Effects::script(args.code.as_str(), backend.usable(&cx.desk.cwd())))
    }

    fn limit(&self, _args: &CodeArgs) -> Option<Duration> {
        Some(self.settings.limit() + SLACK)
    }

    fn refused(&self, refused: &Refused) -> Value {
        let error = &refused.message;
        let mut told = json!({"status": "error", "error": error, "tool_calls_made": 0, "duration_seconds": 0});
        // A person who said no meant it; where nobody is there, the way that is asked about call by call is open.
        let nobody = matches!(refused.cause, Cause::Policy(Refusal::NobodyToAsk { .. }));
        if let Value::Object(fields) = &mut told
            && nobody
            && refused.reasons.iter().any(|reason| reason == SCRIPT_STARTS)
        {
            fields.insert("hint".to_owned(), USE_TERMINAL.into());
        }
        told
    }

    fn afterword(&self, result: &str) -> Afterword {
        let result: Value = serde_json::from_str(result).unwrap_or_default();
        let code = result.get("exit_code").and_then(Value::as_i64);
        let calls = result.get("tool_calls_made").and_then(Value::as_u64).filter(|calls| *calls > 0);
        let note = calls.map(|calls| if calls == 1 { "1 call".to_owned() } else { format!("{calls} calls") });
        Afterword { exit_code: code.filter(|code| *code != 0), note }
    }

    async fn call(&self, _args: CodeArgs, permit: Permit, cx: &Cx) -> Result<Output, ToolError> {
        // What was judged is what runs.
        match &permit.effects().script {
            Some(script) => self.run(script, cx).await,
            None => Err(not_run("the permit is for no script")),
        }
    }
}

/// A private directory with the script and the functions it can call. It goes with what is returned; after a `kill -9`
/// the next one takes it away, with everybody who carries its mark.
async fn stage(mark: &str, script: &Script, cx: &Cx) -> io::Result<Private> {
    let registry = cx.hands.registry();
    let entries: Vec<_> = stub::callable(&cx.hands.offered())
        .filter_map(|function| Some((function, registry.find(function.tool)?.card)))
        .collect();
    let module = stub::module(entries.iter().map(|(function, card)| (*function, card.as_ref())));
    let (temp, mark, text) = (cx.desk.settings().around.temp.clone(), mark.to_owned(), script.text.clone());
    let staged = tokio::task::spawn_blocking(move || {
        let staging = Private::make(&temp, &mark)?;
        let put = |name: &str, text: &str| fs::write(staging.path().join(Path::new(name)), text);
        put("hermes_tools.py", &module)?;
        put("script.py", &text)?;
        Ok(staging)
    });
    staged.await.map_err(io::Error::other)?
}

fn availability(mode: Mode, around: &Surroundings, terminal: &TerminalSettings) -> Availability {
    match variables::interpreter(mode, around, terminal) {
        Some(_) => Availability::Ready,
        None => Availability::Missing(NO_PYTHON.to_owned()),
    }
}

fn joined(mut output: String, note: &str) -> String {
    if !output.is_empty() {
        output.push('\n');
    }
    output.push_str(note);
    output
}

fn unable(error: &io::Error) -> ToolError {
    not_run(&format!("the script could not be started: {error}"))
}

/// A script that did not run.
fn not_run(error: &str) -> ToolError {
    ToolError::Tell(json!({"status": "error", "error": error, "tool_calls_made": 0, "duration_seconds": 0}))
}
