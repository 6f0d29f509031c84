//! The face of Hermes: settings, commands and wiring of the binary `hermes`.

pub mod agent;
pub mod app;
pub mod approval;
pub mod args;
pub mod commands;
mod economy;
mod extensions;
pub mod hands;
mod log;
mod memory;
pub mod output;
pub mod settings;
pub mod usage;
mod web;

use args::{ChatArgs, Cli, Command, Whom};
use clap::CommandFactory;
use commands::ask::Question;
use commands::{Console, Exit, Trouble};
use output::terminal::Terminal;
use output::wrap::Filled;
use settings::{Environment, Home, Root};
use std::io::Write;
use std::process::ExitCode;

/// Runs what the command line asks for.
pub fn run(cli: Cli) -> ExitCode {
    let profile = cli.profile.clone();
    let profile = profile.as_deref();
    match (cli.oneshot, cli.command) {
        (Some(prompt), None) => {
            let question =
                Question { prompt: Some(prompt), asking: cli.asking, quiet: false, command: output::ONESHOT };
            wait(commands::ask::run(question, profile))
        }
        (Some(_), Some(_)) => output::misused("-z takes no command besides it; give the prompt to -z alone"),
        (None, Some(Command::Chat(ChatArgs { query, quiet, asking })))
            if query.is_some() || asking.which.goes_on() || cli.asking.which.goes_on() =>
        {
            let question = Question { prompt: query, asking: asking.or(cli.asking), quiet, command: "hermes chat" };
            wait(commands::ask::run(question, profile))
        }
        (None, None) if cli.asking.which.goes_on() => {
            let question = Question { prompt: None, asking: cli.asking, quiet: false, command: "hermes" };
            wait(commands::ask::run(question, profile))
        }
        (None, Some(Command::Demo(form))) => wait(commands::demo::run(form.or(cli.asking.form))),
        (None, Some(Command::Chat(_)) | None) => output::misused(NOT_INTERACTIVE_YET),
        (None, Some(command)) => on_console(command, cli.asking.whom, profile),
    }
}

const NOT_INTERACTIVE_YET: &str = "an interactive session is not there yet; ask one question with\n  \
    hermes -z \"why is the sky blue?\"\nor see `hermes --help`, `hermes demo`";

/// The commands that print and end.
fn on_console(command: Command, before: Whom, profile: Option<&str>) -> ExitCode {
    // Not locked: prompts write to the same terminal from another thread.
    let (terminal, mut input) = (Terminal::of_process(), std::io::stdin().lock());
    let mut out: Box<dyn Write> = match terminal.out.is_terminal() && says_sentences(&command) {
        true => Box::new(Filled::new(std::io::stdout())),
        false => Box::new(std::io::stdout()),
    };
    let mut err: Box<dyn Write> = match terminal.err.is_terminal() {
        true => Box::new(Filled::new(std::io::stderr())),
        false => Box::new(std::io::stderr()),
    };
    let mut console = Console { out: &mut *out, err: &mut *err, input: &mut input };
    let console = &mut console;
    let exit = match command {
        Command::Model { args, whom } => {
            return wait(async { commands::model::run(args, &whom.or(before), profile, console).await.into() });
        }
        Command::Auth(args) => return wait(async { commands::auth::run(args, profile, console).await.into() }),
        Command::Status { args, whom } => {
            return wait(async { commands::status::run(args, &whom.or(before), profile, console).await.into() });
        }
        Command::Fallback(args) => return wait(async { commands::fallback::run(args, profile, console).await.into() }),
        Command::Sessions(args) => return wait(async { commands::sessions::run(args, profile, console).await.into() }),
        Command::Insights(args) => return wait(async { commands::insights::run(args, profile, console).await.into() }),
        Command::Backup(args) => return wait(async { commands::backup::run(args, profile, console).await.into() }),
        Command::Import(args) => return wait(async { commands::backup::import(args, profile, console).await.into() }),
        Command::Login => commands::auth::point_to_auth(console),
        Command::Logout { provider } => {
            let provider = provider.or(before.provider);
            return wait(async { commands::auth::leave(provider.as_deref(), profile, console).await.into() });
        }
        Command::Tools(args) => return wait(async { commands::tools::run(args, profile, console).await.into() }),
        Command::Mcp(args) => return wait(async { commands::mcp::run(args, profile, console).await.into() }),
        Command::Skills(args) => return wait(async { commands::skills::run(args, profile, console).await.into() }),
        Command::Plugins(args) => return wait(async { commands::plugins::run(args, profile, console).await.into() }),
        Command::Hooks(args) => return wait(async { commands::hooks::run(args, profile, console).await.into() }),
        Command::Doctor(args) => return wait(async { commands::doctor::run(args, profile, console).await.into() }),
        Command::Checkpoints(args) => {
            return wait(async { commands::checkpoints::run(args, profile, console).await.into() });
        }
        Command::Prompt(args) => {
            return wait(async { commands::prompt::run(args, before, profile, console).await.into() });
        }
        Command::Config(args) => match Home::of_process(profile) {
            Ok(home) => match commands::config::with_secret_typed(args) {
                Ok(args) => commands::config::run(args, &home, &Environment::capture(&home), console),
                Err(trouble) => console.finish(Err(trouble)),
            },
            Err(error) => console.finish(Err(error.into())),
        },
        Command::Profile(args) => {
            let var = |name: &str| std::env::var_os(name);
            match Root::find(&var) {
                Ok(root) => commands::profile::run(args, &root, root.home(profile, &var).ok().as_ref(), console),
                Err(error) => console.finish(Err(Trouble::from(error))),
            }
        }
        Command::Completion { shell } => {
            // The generator panics when it cannot write; memory takes everything.
            let mut script = Vec::new();
            clap_complete::generate(shell, &mut Cli::command(), "hermes", &mut script);
            let written = console.out.write_all(&script).and_then(|()| console.out.flush());
            console.finish(written.map(|()| Exit::Done).map_err(Trouble::from))
        }
        Command::Version => {
            let version = format!("hermes {}\n", env!("CARGO_PKG_VERSION"));
            let written = console.out.write_all(version.as_bytes());
            console.finish(written.map(|()| Exit::Done).map_err(Trouble::from))
        }
        Command::Chat(_) | Command::Demo(_) => Exit::Usage,
    };
    exit.into()
}

/// Commands that speak for themselves. The others print what was said or set elsewhere, and that keeps its lines.
fn says_sentences(command: &Command) -> bool {
    matches!(command, Command::Fallback(_) | Command::Backup(_) | Command::Import(_) | Command::Profile(_))
}

/// Runs a future on a runtime of its own. One thread is enough for one conversation, and starts faster than many. What is
/// left behind on other threads, such as a name lookup nobody waits for any more, does not keep the program from ending.
fn wait<T: From<ExitCode>>(work: impl Future<Output = T>) -> T {
    match tokio::runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => {
            let done = runtime.block_on(work);
            runtime.shutdown_background();
            done
        }
        Err(error) => output::complain(&format!("the program cannot start: {error}")).into(),
    }
}
