//! One server, started to see whether it works and what it offers.

use super::super::paper::{self, Paper};
use super::super::waiting::watch;
use super::super::{Console, Exit, Trouble, table};
use super::named;
use crate::app::App;
use crate::hands::Hands;
use hermes_core::stop::Stop;
use hermes_mcp::settings::{Auth, Found, Place};
use hermes_mcp::{Report, Servers, State};
use hermes_tools::gate::Yolo;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

/// Characters of a description in the list.
const LONGEST: usize = 100;
/// Beyond its own limit for connecting, a server may take this long to list its tools.
const LISTING: Duration = Duration::from_secs(5);

/// How a trial ended.
enum Trial {
    /// With the names of its tools.
    Works(BTreeSet<String>),
    /// Somebody has to log in first.
    LoggedOut(String),
    Fails(String),
}

pub(super) async fn run(app: &App, name: &str, stop: &Stop, console: &mut Console<'_>) -> Result<Exit, Trouble> {
    let (trial, hands) = tried(app, name, stop, console).await?;
    match trial {
        Trial::Works(tools) => show(name, &hands, &tools, console),
        Trial::LoggedOut(reason) | Trial::Fails(reason) => Err(Trouble::Refused(broken(name, &reason))),
    }
}

/// The same for one that was just written into the settings. It stays there whatever the trial shows: what is missing may be
/// a login, a key or a network, and a word that was mistyped is mended where it stands.
pub(super) async fn after_adding(
    app: &App,
    name: &str,
    stop: &Stop,
    console: &mut Console<'_>,
) -> Result<Exit, Trouble> {
    let (trial, hands) = tried(app, name, stop, console).await?;
    match trial {
        Trial::Works(tools) => show(name, &hands, &tools, console),
        Trial::LoggedOut(_) => {
            writeln!(console.out, "Log in with `hermes mcp login {name}`; then its tools are there.")?;
            Ok(Exit::Done)
        }
        Trial::Fails(reason) => Err(Trouble::Refused(format!(
            "{}\nIt stays in the settings: `hermes mcp test {name}` tries it again, `hermes mcp add {name} --replace …` \
             writes it anew, `hermes mcp remove {name}` takes it out.",
            broken(name, &reason)
        ))),
    }
}

fn broken(name: &str, reason: &str) -> String {
    format!("The server `{name}` does not work: {}", paper::shown(reason))
}

async fn tried(app: &App, name: &str, stop: &Stop, console: &mut Console<'_>) -> Result<(Trial, Hands), Trouble> {
    let server = named(app, name)?;
    let limit = server.connect_timeout + LISTING;
    let takes_logins = matches!(&server.place, Place::Remote(remote) if matches!(remote.auth, Auth::OAuth(_)));
    let hands = Hands::new(app, Arc::new(|_| {}), Yolo::Off, stop);
    let found = Found { servers: vec![server], ..Found::default() };
    let servers = Servers::start(found, hands.registry.clone(), &hands.shop);
    let waited = watch(console, |_| format!("`{name}` starts"), servers.settled(limit)).await;
    let report = servers.report().into_iter().next();
    servers.close().await;
    waited?;
    let silent = || format!("it did not answer within {} s", limit.as_secs());
    let trial = match report {
        Some(report) if report.state == State::Ready => Trial::Works(report.tools.into_iter().collect()),
        Some(Report { state: State::LoggedOut, trouble, .. }) if takes_logins => {
            Trial::LoggedOut(trouble.unwrap_or_default())
        }
        report => Trial::Fails(report.and_then(|report| report.trouble).unwrap_or_else(silent)),
    };
    Ok((trial, hands))
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
