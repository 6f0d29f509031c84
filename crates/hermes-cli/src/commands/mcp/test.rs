//! One server, started to see whether it works and what it offers.

use super::super::paper::{self, Paper};
use super::super::waiting::watch;
use super::super::{Console, Exit, Trouble, table};
use super::named;
use crate::app::App;
use crate::hands::Hands;
use hermes_core::stop::Stop;
use hermes_mcp::settings::Found;
use hermes_mcp::{Servers, State};
use hermes_tools::gate::Yolo;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

/// Characters of a description in the list.
const LONGEST: usize = 100;
/// Beyond its own limit for connecting, a server may take this long to list its tools.
const LISTING: Duration = Duration::from_secs(5);

pub(super) async fn run(app: &App, name: &str, stop: &Stop, console: &mut Console<'_>) -> Result<Exit, Trouble> {
    let server = named(app, name)?;
    let limit = server.connect_timeout + LISTING;
    let hands = Hands::new(app, Arc::new(|_| {}), Yolo::Off, stop);
    let found = Found { servers: vec![server], ..Found::default() };
    let servers = Servers::start(found, hands.registry.clone(), &hands.shop);
    let waited = watch(console, |_| format!("`{name}` starts"), servers.settled(limit)).await;
    let told = match (waited, servers.report().into_iter().next()) {
        (Err(trouble), _) => Err(trouble),
        (Ok(()), Some(report)) if report.state == State::Ready => {
            let tools: BTreeSet<String> = report.tools.into_iter().collect();
            show(name, &hands, &tools, console)
        }
        (Ok(()), report) => {
            let reason = report.and_then(|report| report.trouble);
            let reason = reason.unwrap_or_else(|| format!("it did not answer within {} s", limit.as_secs()));
            Err(Trouble::Refused(format!("The server `{name}` does not work: {}", paper::shown(&reason))))
        }
    };
    servers.close().await;
    told
}

fn show(name: &str, hands: &Hands, tools: &BTreeSet<String>, console: &mut Console<'_>) -> Result<Exit, Trouble> {
    writeln!(console.out, "The server `{name}` works and has {}.", table::count(tools.len() as u64, "tool"))?;
    let described = hands.registry.describe();
    let of_it = described.iter().filter(|tool| tools.contains(tool.card.name.as_ref()));
    let lines: Vec<[String; 2]> = of_it
        .map(|tool| {
            let first = tool.card.description.lines().next().unwrap_or_default();
            [tool.card.name.to_string(), hermes_types::clip(&paper::one_line(first), LONGEST)]
        })
        .collect();
    table::write_within(Paper::of_process().width, console.out, &lines)?;
    Ok(Exit::Done)
}
