//! `hermes insights`: what was done, and what it cost.

use super::{Console, Exit, Trouble};
use clap::Args;

#[derive(Debug, Args)]
pub struct InsightsArgs {}

pub async fn run(_args: InsightsArgs, _profile: Option<&str>, console: &mut Console<'_>) -> Exit {
    console.finish(Err(Trouble::Refused("not there yet".into())))
}
