//! The face of Hermes: settings, commands and wiring of the binary `hermes`.
pub mod app;
pub mod args;
pub mod commands;
pub mod failure;
pub mod output;
pub mod settings;

use args::{Cli, Command};
use commands::ask::Question;
use std::process::ExitCode;

/// Runs what the command line asks for.
pub fn run(cli: Cli) -> ExitCode {
    let runtime = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return output::complain(&format!("cannot start: {error}")),
    };
    runtime.block_on(dispatch(cli))
}

async fn dispatch(cli: Cli) -> ExitCode {
    let profile = cli.profile.as_deref();
    match (cli.oneshot, cli.command) {
        (Some(prompt), None) => {
            let question =
                Question { prompt, images: Vec::new(), asking: cli.asking, quiet: false, command: "hermes -z" };
            commands::ask::run(question, profile).await
        }
        (None, Some(Command::Demo)) => commands::demo::run(cli.asking).await,
        _ => output::complain("nothing to do"),
    }
}
