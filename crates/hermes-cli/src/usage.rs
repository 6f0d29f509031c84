//! What is answered to a command line that is not run: help, the version, and what is wrong with it.

use crate::output::{self, EXIT_USAGE};
use std::io::{ErrorKind, Write};
use std::process::ExitCode;

/// Prints what the parser has to say. Help that cannot be written is a failure; a reader that has seen enough is not.
pub fn answer(error: &clap::Error) -> ExitCode {
    let code = ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(EXIT_USAGE));
    let written = error.print().and_then(|()| std::io::stdout().flush());
    match written {
        Err(reason) if !error.use_stderr() && reason.kind() != ErrorKind::BrokenPipe => {
            output::complain(&format!("the output could not be written: {reason}"))
        }
        _ => code,
    }
}
