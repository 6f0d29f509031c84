//! The program `hermes`: reads the command line and hands it to the command it names.

use clap::Parser;
use hermes_cli::args::Cli;
use std::process::ExitCode;

fn main() -> ExitCode {
    hermes_cli::run(Cli::parse())
}
