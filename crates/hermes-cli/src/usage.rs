//! What is answered to a command line that is not run: help, the version, and what is wrong with it.

use crate::output::{self, EXIT_USAGE};
use clap::error::{ContextKind, ContextValue};
use std::io::{ErrorKind, Write};
use std::process::ExitCode;

/// What people who come from the Python program will type, and what there is instead. Nothing: not yet.
const COMMANDS: &[(&str, Option<&str>)] = &[
    ("acp", None),
    ("batch", None),
    ("bundles", None),
    ("claw", None),
    ("computer-use", None),
    ("console", None),
    ("cron", None),
    ("curator", None),
    ("dashboard", None),
    ("debug", None),
    ("desktop", None),
    ("dump", Some("hermes status --deep")),
    ("gateway", None),
    ("gui", None),
    ("journey", None),
    ("kanban", None),
    ("learning", None),
    ("logs", None),
    ("lsp", None),
    ("mcp catalog", None),
    ("mcp configure", Some("hermes config edit")),
    ("mcp install", Some("hermes mcp add")),
    ("mcp picker", Some("hermes mcp add")),
    ("mcp serve", None),
    ("memory", None),
    ("memory-graph", None),
    ("migrate", Some("hermes config migrate")),
    ("moa", None),
    ("pairing", None),
    ("pets", None),
    ("portal", Some("hermes auth add nous")),
    ("postinstall", None),
    ("project", None),
    ("prompt-size", Some("hermes prompt size")),
    ("proxy", None),
    ("secrets", None),
    ("security", None),
    ("send", None),
    ("serve", None),
    ("setup", Some("hermes model")),
    ("slack", None),
    ("uninstall", None),
    ("update", None),
    ("webhook", None),
    ("whatsapp", None),
    ("whatsapp-cloud", None),
    ("sessions browse", Some("hermes sessions list, hermes --resume ID")),
    ("sessions repair", Some("hermes sessions recover")),
    ("sessions archive", None),
];

/// The same for flags.
const FLAGS: [(&str, Option<&str>); 13] = [
    ("--checkpoints", Some("hermes config set checkpoints.enabled true")),
    ("--cli", None),
    ("--dev", None),
    ("--ignore-rules", None),
    ("--ignore-user-config", None),
    ("--pass-session-id", None),
    ("--query", Some("hermes -z \"…\", hermes chat -q \"…\"")),
    ("-q", Some("hermes -z \"…\", hermes chat -q \"…\"")),
    ("--safe-mode", None),
    ("--tui", None),
    ("--verbose", None),
    ("--worktree", None),
    ("-w", None),
];

/// Prints what the parser has to say. Help that cannot be written is a failure; a reader that has seen enough is not.
pub fn answer(error: &clap::Error) -> ExitCode {
    if let Some(advice) = advice(error) {
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

/// Better words than the parser's for what was probably meant.
fn advice(error: &clap::Error) -> Option<String> {
    let command = command_of(error)?;
    let words = |kind| match error.get(kind) {
        Some(ContextValue::String(word)) => Some(word.as_str()),
        _ => None,
    };
    if let Some(flag) = words(ContextKind::InvalidArg) {
        let asks = command.is_empty() || command == "chat";
        return FLAGS.iter().find(|(known, _)| asks && *known == flag).map(|(_, instead)| not_yet(flag, *instead));
    }
    let word = words(ContextKind::InvalidSubcommand)?;
    let typed = format!("{command} {word}").trim_start().to_owned();
    if let Some((_, instead)) = COMMANDS.iter().find(|(known, _)| *known == typed) {
        return Some(not_yet(&format!("hermes {typed}"), *instead));
    }
    let is_sentence = command.is_empty() && word.split_whitespace().nth(1).is_some();
    is_sentence.then(|| {
        let prompt = word.replace('\'', "'\\''");
        format!("that is not a command; to ask it, type\n  hermes -z '{prompt}'")
    })
}

fn not_yet(typed: &str, instead: Option<&str>) -> String {
    match instead {
        Some(instead) => format!("there is no `{typed}` here; what comes nearest: {instead}"),
        None => format!("`{typed}` is not there yet; `hermes --help` shows what is"),
    }
}

/// The command that did not understand, without `hermes` before it; empty for the program itself.
fn command_of(error: &clap::Error) -> Option<String> {
    let Some(ContextValue::StyledStr(usage)) = error.get(ContextKind::Usage) else { return None };
    let usage = usage.to_string();
    let words = usage.split_whitespace().skip_while(|word| *word != "hermes").skip(1);
    Some(words.take_while(|word| word.starts_with(char::is_alphabetic)).collect::<Vec<_>>().join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::Cli;
    use clap::{CommandFactory, Parser};

    fn told(line: &str) -> Option<String> {
        let error = Cli::try_parse_from(line.split(' ')).expect_err("not understood");
        advice(&error)
    }

    #[test]
    fn what_the_python_program_has_is_not_answered_with_a_riddle() {
        assert_eq!(
            told("hermes prompt-size").as_deref(),
            Some("there is no `hermes prompt-size` here; what comes nearest: hermes prompt size")
        );
        assert_eq!(
            told("hermes sessions repair").as_deref(),
            Some("there is no `hermes sessions repair` here; what comes nearest: hermes sessions recover")
        );
        let not_yet = |line: &str| told(line).is_some_and(|told| told.contains("is not there yet"));
        for line in ["hermes gateway", "hermes -z hi --safe-mode", "hermes chat -q hi -w"] {
            assert!(not_yet(line), "{line}");
        }
        assert!(told("hermes -q hi").is_some_and(|told| told.contains("hermes chat -q")));
        for line in ["hermes sessions gateway", "hermes nonsense", "hermes config show -w"] {
            assert_eq!(told(line), None, "{line}: the parser says it well enough");
        }
    }

    #[test]
    fn nothing_that_is_there_is_said_to_be_missing() {
        let there: Vec<String> =
            Cli::command().get_subcommands().map(|command| command.get_name().to_owned()).collect();
        for (name, _) in COMMANDS {
            assert!(!there.iter().any(|there| there == name), "{name} is there");
        }
    }
}
