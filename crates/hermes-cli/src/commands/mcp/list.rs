//! The servers of the settings, as they are written there.

use super::super::paper::{self, Paper};
use super::super::{Console, Exit, Trouble, table};
use super::found;
use crate::app::App;
use hermes_core::redact;
use hermes_mcp::settings::{Auth, Place, ServerSettings};
use serde::Serialize;
use std::collections::BTreeSet;

#[derive(Debug, Serialize)]
struct Row {
    name: String,
    enabled: bool,
    place: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    problem: Option<String>,
}

pub(super) fn run(app: &App, as_json: bool, console: &mut Console<'_>) -> Result<Exit, Trouble> {
    let found = found(app);
    let problem = |name: &str| {
        let of_it = found.problems.iter().filter(|problem| problem.server == name);
        let told: Vec<String> = of_it.map(ToString::to_string).collect();
        (!told.is_empty()).then(|| told.join("; "))
    };
    let usable = found.servers.iter().map(|server| Row {
        name: server.name.clone(),
        enabled: true,
        place: place(server),
        problem: problem(&server.name),
    });
    let off = found.disabled.iter().map(|name| Row {
        name: name.clone(),
        enabled: false,
        place: String::new(),
        problem: problem(name),
    });
    let mut rows: Vec<Row> = usable.chain(off).collect();
    let broken = found.problems.iter().map(|problem| problem.server.as_str());
    let broken: BTreeSet<&str> = broken.filter(|name| rows.iter().all(|row| row.name != *name)).collect();
    let broken = broken.into_iter().map(|name| Row {
        name: name.to_owned(),
        enabled: false,
        place: String::new(),
        problem: problem(name),
    });
    let broken: Vec<Row> = broken.collect();
    rows.extend(broken);
    if as_json {
        writeln!(console.out, "{}", paper::json_pretty(&rows).map_err(std::io::Error::other)?)?;
        return Ok(Exit::Done);
    }
    if rows.is_empty() {
        writeln!(console.out, "There are no MCP servers. `hermes mcp add --help` shows how to add one.")?;
        return Ok(Exit::Done);
    }
    let lines: Vec<[String; 3]> = rows
        .iter()
        .map(|row| {
            let state = match (&row.problem, row.enabled) {
                (Some(_), false) => "broken",
                (_, true) => "on",
                (None, false) => "off",
            };
            [state.to_owned(), paper::one_line(&row.name), paper::one_line(&row.place)]
        })
        .collect();
    table::write_within(Paper::of_process().width, console.out, &lines)?;
    for problem in rows.iter().filter_map(|row| row.problem.as_ref()) {
        writeln!(console.err, "… {}", paper::shown(problem))?;
    }
    writeln!(console.out, "Try one with `hermes mcp test NAME`.")?;
    Ok(Exit::Done)
}

/// The command or the address, without what is secret in it.
fn place(server: &ServerSettings) -> String {
    match &server.place {
        Place::Program { command, args, .. } => {
            let words = std::iter::once(command.as_str()).chain(args.iter().map(String::as_str));
            redact::text(&words.collect::<Vec<_>>().join(" ")).into_owned()
        }
        Place::Remote(remote) => {
            let login = match remote.auth {
                Auth::OAuth(_) => " (with a login)",
                Auth::Headers => "",
            };
            format!("{}{login}", redact::text(remote.url.as_str()))
        }
    }
}
