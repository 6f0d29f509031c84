//! `hermes hooks`: the commands of `config.yaml` that run on events; looking at them, trying them, taking consent back.
//!
//! A hook runs only after the person consented to its very command on its very event. They are asked once, before a
//! conversation begins ([`seek_consent`]). Where nobody can be asked, a hook without consent does not run, and that is told.

mod report;

use super::person::Person;
use super::waiting::watch;
use super::{Console, Exit, Trouble, paper, table};
use crate::app::App;
use crate::extensions;
use crate::hands;
use crate::output::Screen;
use hermes_plugins::shell::consent::{Consents, iso};
use hermes_plugins::shell::{HookConfig, fire};
use hermes_plugins::{Occasion, Outside, UNHEARD, deaf_to};
use hermes_tools::settings::Settings;
use hermes_types::Object;
pub(super) use report::checkup;
use serde_json::{Value, json};
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  hermes hooks                                       what is configured, and what may run
  hermes hooks test pre_tool_call --for-tool terminal
  hermes hooks revoke \"~/hooks/guard.sh\"             it has to be consented to again
  hermes hooks doctor                                try every hook that may run

Hooks are set in config.yaml:
  hooks:
    pre_tool_call:
      - command: ~/hooks/guard.sh
        matcher: terminal";

#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct HooksArgs {
    #[command(subcommand)]
    pub command: Option<HooksCommand>,
}

#[derive(Debug, clap::Subcommand)]
pub enum HooksCommand {
    /// Show every hook, and whether it may run (the default)
    #[command(alias = "ls")]
    List,
    /// Run the hooks of an event once, with something made up
    Test {
        /// Such as pre_tool_call or on_session_end
        event: String,
        /// Only hooks that are about this tool
        #[arg(long, value_name = "TOOL")]
        for_tool: Option<String>,
        /// A JSON object that is laid over what is made up
        #[arg(long, value_name = "FILE")]
        payload_file: Option<PathBuf>,
    },
    /// Take back the consent to a command
    #[command(alias = "remove", alias = "rm")]
    Revoke {
        /// The command, exactly as it stands in config.yaml
        command: String,
    },
    /// Check every hook: its script, its consent, and what it answers
    Doctor,
}

pub async fn run(args: HooksArgs, profile: Option<&str>, console: &mut Console<'_>) -> Exit {
    let outcome = dispatch(args, profile, console).await;
    console.finish(outcome)
}

async fn dispatch(args: HooksArgs, profile: Option<&str>, console: &mut Console<'_>) -> Result<Exit, Trouble> {
    let app = App::load(profile, None).await?;
    let mut odd = Vec::new();
    let hooks = extensions::hooks(&app, &mut odd);
    for warning in &odd {
        writeln!(console.err, "… {}", paper::shown(warning))?;
    }
    match args.command.unwrap_or(HooksCommand::List) {
        HooksCommand::List => list(&app, &hooks, console),
        HooksCommand::Test { event, for_tool, payload_file } => {
            let payload = made_up(&event, for_tool.as_deref(), payload_file)?;
            test(&app, &hooks, &event, for_tool.as_deref(), payload, console).await
        }
        HooksCommand::Revoke { command } => revoke(&app, &command, console),
        HooksCommand::Doctor => doctor(&app, &hooks, console).await,
    }
}

/// Asks about hooks that nobody consented to yet, and writes the answer down.
pub(crate) async fn seek_consent(app: &App, accept: bool, screen: &Screen) -> Result<(), Trouble> {
    let consents = Consents::of(app.home.dir());
    let hooks = extensions::hooks(app, &mut Vec::new());
    let accept = accept || extensions::accepts_hooks(app);
    for hook in hooks.iter().filter(|hook| consents.find(hook).is_none()) {
        let (event, command) = (hook.occasion.name(), written(&hook.command));
        let consents_to = match (accept, Person::present()) {
            (true, _) => true,
            (false, Some(person)) => {
                let _quiet = screen.hush();
                let question = format!("config.yaml wants to run `{command}` on every {event}. Let it?");
                person.confirm(&question).await?
            }
            (false, None) => {
                screen.complain(&format!(
                    "the hook `{command}` ({event}) does not run: nobody consented to it. `--accept-hooks` does"
                ));
                false
            }
        };
        if consents_to {
            let given = consents.give(hook, &hands::surroundings(app), &iso(app.clock.now()));
            given.map_err(|error| Trouble::Refused(format!("{}: {error}", consents.file().display())))?;
        }
    }
    Ok(())
}

/// A command as it will run, to be consented to: whole, and what a screen would hide or obey is spelled out.
fn written(command: &str) -> String {
    match paper::one_line(command) {
        plain if plain == command => plain,
        _ => paper::escaped(Value::from(command).to_string()),
    }
}

fn list(app: &App, hooks: &[HookConfig], console: &mut Console<'_>) -> Result<Exit, Trouble> {
    if hooks.is_empty() {
        writeln!(console.out, "No hooks are set. `hermes hooks --help` shows what one looks like.")?;
        return Ok(Exit::Done);
    }
    let consents = Consents::of(app.home.dir());
    let around = hands::surroundings(app);
    let rows: Vec<[String; 4]> = hooks
        .iter()
        .map(|hook| {
            let state = match consents.find(hook) {
                None => "does not run: nobody consented to it".to_owned(),
                Some(consent) if consent.is_outdated(&hook.command, &around) => {
                    format!("runs; its script was changed after {}", consent.approved_at)
                }
                Some(consent) => format!("runs, since {}", consent.approved_at),
            };
            let about = hook.matcher.clone().unwrap_or_else(|| "all".to_owned());
            [hook.occasion.name().to_owned(), paper::one_line(&hook.command), about, state]
        })
        .collect();
    table::write_folded(paper::Paper::of_process().width, console.out, &rows)?;
    writeln!(console.out, "Try them with `hermes hooks doctor`.")?;
    Ok(Exit::Done)
}

/// What a hook of this event is told when nothing really happens.
fn made_up(event: &str, tool: Option<&str>, file: Option<PathBuf>) -> Result<Object, Trouble> {
    let Some(occasion) = Occasion::parse(event) else {
        let known: Vec<&str> = Occasion::all().map(Occasion::name).collect();
        let told = deaf_to(event).unwrap_or_default();
        return Err(Trouble::Usage(format!("{told}. Those that happen: {}", known.join(", "))));
    };
    let mut payload = sample(occasion);
    if let Some(tool) = tool.filter(|_| occasion.is_about_a_tool()) {
        payload.insert("tool_name".to_owned(), tool.into());
    }
    if let Some(file) = file {
        let wrong = |reason: String| Trouble::Usage(format!("--payload-file {}: {reason}", file.display()));
        let text = std::fs::read_to_string(&file).map_err(|error| wrong(error.to_string()))?;
        let over: Object =
            serde_json::from_str(&text).map_err(|error| wrong(format!("a JSON object is wanted; {error}")))?;
        payload.extend(over);
    }
    Ok(payload)
}

/// The same fields as in a conversation.
fn sample(occasion: Occasion) -> Object {
    let mut payload = json!({"session_id": "test-session", "task_id": "test-session"});
    let more = match occasion {
        Occasion::PreToolCall => json!({"tool_name": "terminal", "args": {"command": "echo hello"}}),
        Occasion::PostToolCall | Occasion::TransformToolResult => json!({
            "tool_name": "terminal", "args": {"command": "echo hello"},
            "result": "{\"output\": \"hello\", \"exit_code\": 0}", "duration_ms": 42, "status": "ok",
        }),
        Occasion::TransformTerminalOutput => json!({"command": "echo hello", "output": "hello", "returncode": 0}),
        Occasion::PreLlmCall => json!({"user_message": "What is the weather?", "is_first_turn": true}),
        Occasion::PostLlmCall => json!({"user_message": "What is the weather?", "assistant_response": "It is sunny."}),
        Occasion::SessionStart | Occasion::SessionFinalize => json!({"platform": "cli"}),
        Occasion::SessionEnd => json!({"completed": true, "interrupted": false, "platform": "cli"}),
        Occasion::SubagentStart => json!({
            "parent_session_id": "test-session", "child_session_id": "test-child", "child_role": "leaf",
            "child_goal": "Count the beans.",
        }),
        Occasion::SubagentStop => {
            json!({"parent_session_id": "test-session", "child_status": "completed", "child_summary": "Done."})
        }
        Occasion::PreApproval => {
            json!({"command": "rm -rf build", "description": "recursive delete", "surface": "cli"})
        }
        Occasion::PostApproval => json!({"command": "rm -rf build", "choice": "deny", "surface": "cli"}),
    };
    if let (Value::Object(payload), Value::Object(more)) = (&mut payload, more) {
        payload.extend(more);
    }
    match payload {
        Value::Object(payload) => payload,
        _ => Object::new(),
    }
}

/// The world of hooks outside of a conversation.
pub(super) fn outside(app: &App) -> Outside {
    let settings = Settings::read(&hands::effective(app), hands::surroundings(app)).0;
    extensions::outside(app, &settings)
}

async fn test(
    app: &App,
    hooks: &[HookConfig],
    event: &str,
    tool: Option<&str>,
    payload: Object,
    console: &mut Console<'_>,
) -> Result<Exit, Trouble> {
    let concerned = |hook: &&HookConfig| hook.occasion.name() == event && (tool.is_none() || hook.concerns(tool));
    let hooks: Vec<&HookConfig> = hooks.iter().filter(concerned).collect();
    if hooks.is_empty() {
        let about = tool.map(|tool| format!(" about {tool}")).unwrap_or_default();
        writeln!(console.out, "No hook of {event}{about} is set.")?;
        return Ok(Exit::Done);
    }
    let outside = outside(app);
    let mut exit = Exit::Done;
    for hook in hooks {
        writeln!(console.out, "{}", paper::one_line(&hook.command))?;
        let answer = fire(hook, payload.clone(), &outside, &*app.clock);
        let fired = watch(console, |_| "it runs".to_owned(), answer).await?;
        for (name, text) in [("said", &fired.stdout), ("on stderr", &fired.stderr)] {
            if !text.trim().is_empty() {
                writeln!(console.out, "  {name}: {}", paper::one_line(text.trim()))?;
            }
        }
        match fired.verdict(hook.occasion) {
            Ok(Some(answer)) => writeln!(console.out, "  understood as: {}", paper::escaped(answer.to_string()))?,
            Ok(None) => writeln!(console.out, "  no opinion ({} ms)", fired.took.as_millis())?,
            Err(reason) => {
                exit = Exit::Failed;
                writeln!(console.out, "  failed: {}", paper::one_line(&reason))?;
            }
        }
    }
    Ok(exit)
}

fn revoke(app: &App, command: &str, console: &mut Console<'_>) -> Result<Exit, Trouble> {
    let consents = Consents::of(app.home.dir());
    let refused = |error: std::io::Error| Trouble::Refused(format!("{}: {error}", consents.file().display()));
    match consents.revoke(command.trim()).map_err(refused)? {
        0 => {
            let command = paper::one_line(command);
            Err(Trouble::Refused(format!("Nobody consented to `{command}`. `hermes hooks` shows what may run.")))
        }
        count => {
            let times = table::count(count as u64, "consent");
            writeln!(console.out, "{times} taken back. Conversations that are going on keep the hook until they end.")?;
            Ok(Exit::Done)
        }
    }
}

async fn doctor(app: &App, hooks: &[HookConfig], console: &mut Console<'_>) -> Result<Exit, Trouble> {
    if hooks.is_empty() {
        writeln!(console.out, "No hooks are set, so nothing can be wrong with them.")?;
        let unheard: Vec<&str> = UNHEARD.iter().map(|(name, _)| *name).collect();
        writeln!(console.err, "… events that never happen here: {}", unheard.join(", "))?;
        return Ok(Exit::Done);
    }
    let outside = outside(app);
    let mut exit = Exit::Done;
    for hook in hooks {
        writeln!(console.out, "{} {}", hook.occasion.name(), paper::one_line(&hook.command))?;
        let checkup = watch(console, |_| "it is tried".to_owned(), checkup(app, hook, Some(&outside))).await?;
        for line in &checkup.lines {
            writeln!(console.out, "  {}", paper::shown(line))?;
        }
        if checkup.is_broken {
            exit = Exit::Failed;
        }
    }
    Ok(exit)
}
