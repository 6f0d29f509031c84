//! Every toolset with its tools: used, switched off, or not there.

use super::{USUAL_WIDTH, doubt};
use crate::agent::chosen;
use crate::app::App;
use crate::commands::paper::{self, Paper};
use crate::commands::{Console, Exit, Trouble, table};
use crate::hands::Hands;
use crate::output::wrap::fill;
use hermes_tools::tool::Availability;
use hermes_tools::toolset;
use serde::Serialize;
use std::collections::BTreeSet;

/// One toolset as it is shown.
#[derive(Debug, Serialize)]
struct Row {
    toolset: String,
    description: String,
    state: State,
    /// Those that can be called here.
    tools: Vec<String>,
    /// Why something of it cannot.
    #[serde(skip_serializing_if = "Option::is_none")]
    missing: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum State {
    On,
    Off,
    /// Its tools are there, and each waits for something that the row names.
    NotReady,
    /// Nobody has built a tool of it.
    NotThere,
}

impl State {
    fn mark(self) -> &'static str {
        match self {
            Self::On => "on",
            Self::Off => "off",
            Self::NotReady | Self::NotThere => "–",
        }
    }
}

pub(super) fn run(
    app: &App,
    hands: &Hands,
    platform: &str,
    as_json: bool,
    console: &mut Console<'_>,
) -> Result<Exit, Trouble> {
    if let Some(doubt) = doubt(app, platform, &hands.catalogue()) {
        writeln!(console.err, "{doubt}")?;
    }
    let rows = rows(app, hands, platform);
    if as_json {
        writeln!(console.out, "{}", paper::json_pretty(&rows).map_err(std::io::Error::other)?)?;
        return Ok(Exit::Done);
    }
    // A tool may be in several sets.
    let used: BTreeSet<&String> = rows.iter().filter(|row| row.state == State::On).flat_map(|row| &row.tools).collect();
    writeln!(console.out, "The agent on `{platform}` uses {}.", table::count(used.len() as u64, "tool"))?;
    let (there, absent): (Vec<&Row>, Vec<&Row>) = rows.iter().partition(|row| row.state != State::NotThere);
    let lines: Vec<[String; 3]> = there
        .into_iter()
        .map(|row| {
            let about = match (&row.missing, row.tools.join(", ")) {
                (None, tools) => tools,
                (Some(missing), tools) if tools.is_empty() => missing.clone(),
                (Some(missing), tools) => format!("{tools} ({missing})"),
            };
            [row.state.mark().to_owned(), row.toolset.clone(), about]
        })
        .collect();
    let width = Paper::of_process().width;
    table::write_folded(width, console.out, &lines)?;
    if !absent.is_empty() {
        let names: Vec<&str> = absent.iter().map(|row| row.toolset.as_str()).collect();
        let width = width.unwrap_or(USUAL_WIDTH);
        writeln!(console.out, "{}", fill(&format!("Not there yet: {}.", names.join(", ")), width))?;
    }
    let mut out = console.sentences();
    writeln!(out, "Change it with `hermes tools enable|disable TOOLSET`.")?;
    writeln!(out, "Look closer with `hermes tools info NAME`.")?;
    Ok(Exit::Done)
}

fn rows(app: &App, hands: &Hands, platform: &str) -> Vec<Row> {
    let catalogue = hands.catalogue();
    let selected = catalogue.select(&chosen(app, platform, &catalogue)).names;
    let known = hands.registry.describe();
    let parts: BTreeSet<String> = toolset::configurable().map(str::to_owned).chain(hands.registry.toolsets()).collect();
    parts
        .into_iter()
        .map(|name| {
            let own = catalogue.tools(&name);
            let here: Vec<_> = known.iter().filter(|tool| own.contains(tool.card.name.as_ref())).collect();
            let ready = here.iter().filter(|tool| tool.availability == Availability::Ready);
            // A set that only borrows a tool from another one is not there yet.
            let is_built = here.iter().any(|tool| tool.card.toolset == name);
            let is_ready = ready.clone().any(|tool| tool.card.toolset == name);
            let tools: Vec<String> = ready.map(|tool| tool.card.name.to_string()).collect();
            let missing = here.iter().find_map(|tool| match &tool.availability {
                Availability::Missing(reason) => Some(format!("{}: {reason}", tool.card.name)),
                Availability::Ready => None,
            });
            let state = match () {
                () if !is_built => State::NotThere,
                () if !is_ready => State::NotReady,
                () if own.iter().any(|tool| selected.contains(tool)) => State::On,
                () => State::Off,
            };
            Row { description: catalogue.description(&name).unwrap_or_default(), toolset: name, state, tools, missing }
        })
        .collect()
}
