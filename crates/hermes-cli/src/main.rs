//! The binary `hermes`: reads the command line and hands over to the library.

use clap::{Parser, Subcommand};
use hermes_cli::commands::config::{self, ConfigArgs};
use hermes_cli::commands::profile::{self, ProfileArgs};
use hermes_cli::commands::{Console, Exit, Trouble};
use hermes_cli::settings::{Environment, Home, Root};
use std::process::ExitCode;

#[derive(Debug, Parser)]
#[command(name = "hermes", version, about = "An agent that thinks with any model and acts through tools")]
struct Args {
    /// Work in this profile
    #[arg(short, long, global = true, value_name = "NAME")]
    profile: Option<String>,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Look at settings and change them
    Config(ConfigArgs),
    /// Keep several homes side by side
    Profile(ProfileArgs),
}

fn main() -> ExitCode {
    let args = Args::parse();
    let (mut out, mut err, mut input) = (std::io::stdout().lock(), std::io::stderr().lock(), std::io::stdin().lock());
    let mut console = Console { out: &mut out, err: &mut err, input: &mut input };
    let exit = match args.command {
        Command::Config(command) => match Home::of_process(args.profile.as_deref()) {
            Ok(home) => config::run(command, &home, &Environment::capture(&home), &mut console),
            Err(error) => console.finish(Err(error.into())),
        },
        Command::Profile(command) => run_profile(command, args.profile.as_deref(), &mut console),
    };
    exit.into()
}

fn run_profile(command: ProfileArgs, name: Option<&str>, console: &mut Console<'_>) -> Exit {
    let var = |name: &str| std::env::var_os(name);
    match Root::find(&var) {
        Ok(root) => profile::run(command, &root, root.home(name, &var).ok().as_ref(), console),
        Err(error) => console.finish(Err(Trouble::from(error))),
    }
}
