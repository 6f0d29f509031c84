//! What is answered to a command line that is not run: help, the version, and what is wrong with it.

use crate::args::Cli;
use crate::output::{self, EXIT_USAGE};
use clap::CommandFactory;
use clap::error::{ContextKind, ContextValue};
use std::io::{ErrorKind, Write};
use std::process::ExitCode;

/// Commands of the Python program that people will type and that are not there yet.
const NOT_YET: [&str; 18] = [
    "acp",
    "batch",
    "cron",
    "dashboard",
    "doctor",
    "dump",
    "gateway",
    "hooks",
    "logs",
    "mcp",
    "memory",
    "pairing",
    "plugins",
    "send",
    "setup",
    "skills",
    "tools",
    "update",
];

/// Prints what the parser has to say. Help that cannot be written is a failure; a reader that has seen enough is not.
pub fn answer(error: &clap::Error) -> ExitCode {
    if let Some(advice) = unknown_command(error).and_then(advice) {
        return output::misused(&advice);
    }
    let code = ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(EXIT_USAGE));
    let written = error.print().and_then(|()| std::io::stdout().flush());
    match written {
        Err(reason) if !error.use_stderr() && reason.kind() != ErrorKind::BrokenPipe => {
            output::complain(&format!("the output could not be written: {reason}"))
        }
        _ => code,
    }
}

/// The word that stands where a command of the program itself should.
fn unknown_command(error: &clap::Error) -> Option<&str> {
    let Some(ContextValue::String(word)) = error.get(ContextKind::InvalidSubcommand) else { return None };
    // Below a command the usage names that command.
    let Some(ContextValue::StyledStr(usage)) = error.get(ContextKind::Usage) else { return None };
    (usage.to_string() == Cli::command().render_usage().to_string()).then_some(word)
}

/// Better words than the parser's for what was probably meant.
fn advice(word: &str) -> Option<String> {
    if NOT_YET.contains(&word) {
        return Some(format!("`hermes {word}` is not there yet; `hermes --help` shows what is"));
    }
    let is_sentence = word.split_whitespace().nth(1).is_some();
    is_sentence.then(|| {
        let prompt = word.replace('\'', "'\\''");
        format!("that is not a command; to ask it, type\n  hermes -z '{prompt}'")
    })
}
