//! `hermes sessions`: past conversations, found, read, named and removed.

mod recover;

use super::{Console, Exit};
use crate::settings::Home;
use clap::{Args, Subcommand};

#[derive(Debug, Args)]
pub struct SessionsArgs {
    #[command(subcommand)]
    pub command: SessionsCommand,
}

#[derive(Debug, Subcommand)]
pub enum SessionsCommand {
    /// Save what can be read of a damaged file into a new one
    Recover(recover::RecoverArgs),
}

pub async fn run(args: SessionsArgs, profile: Option<&str>, console: &mut Console<'_>) -> Exit {
    let SessionsCommand::Recover(args) = args.command;
    let outcome = match Home::of_process(profile) {
        Ok(home) => recover::run(args, &home, console).await,
        Err(error) => Err(error.into()),
    };
    console.finish(outcome)
}
