//! `hermes sessions`: past conversations, found, read, named and removed.

use super::{Console, Exit, Trouble};
use clap::Args;

#[derive(Debug, Args)]
pub struct SessionsArgs {}

pub async fn run(_args: SessionsArgs, _profile: Option<&str>, console: &mut Console<'_>) -> Exit {
    console.finish(Err(Trouble::Refused("not there yet".into())))
}
