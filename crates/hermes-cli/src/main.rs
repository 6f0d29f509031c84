//! The program `hermes`: reads the command line and hands it to the command it names.

use clap::Parser;
use hermes_cli::args::Cli;
use std::process::ExitCode;

fn main() -> ExitCode {
    match Cli::try_parse() {
        Ok(cli) => hermes_cli::run(cli),
        Err(error) => hermes_cli::usage::answer(&error),
    }
}
