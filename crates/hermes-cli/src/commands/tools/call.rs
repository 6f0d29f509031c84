//! One call of one tool. The result goes to stdout, whatever it is; the exit code says whether the tool did its job.

use super::CallArgs;
use crate::app::App;
use crate::commands::waiting::stop_on_signal;
use crate::commands::{Console, Exit, Trouble};
use crate::hands::Hands;
use hermes_tools::desk::{Desk, Reach};
use hermes_tools::gate::Yolo;
use hermes_tools::registry::Registry;
use hermes_tools::run::{self, Status, Untold};
use hermes_types::{CallId, SessionId, ToolCall};
use std::sync::Arc;

/// Names this alike are worth a mention when a tool is not found.
const ALIKE: f64 = 0.7;

pub(super) async fn run(app: &App, args: CallArgs, console: &mut Console<'_>) -> Result<Exit, Trouble> {
    let yolo = if args.yolo { Yolo::On } else { Yolo::Off };
    let stop = stop_on_signal();
    let hands = Hands::new(app, Arc::new(|_| {}), yolo, &stop);
    for warning in &hands.warnings {
        writeln!(console.err, "{warning}")?;
    }
    let names = hands.registry.describe().iter().map(|tool| tool.card.name.to_string()).collect();
    if !hands.registry.has(&args.tool) {
        return Err(Trouble::Usage(unknown(&hands.registry, &args.tool)));
    }
    let arguments = if args.arguments == "-" { read_all(console)? } else { args.arguments };
    let desk = Desk::reached(hands.shop.clone(), SessionId::new("tools-call"), Reach::OneShot);
    if let Some(cwd) = args.cwd {
        let cwd = std::path::absolute(&cwd)?;
        let cwd = cwd.canonicalize().map_err(|error| Trouble::Usage(format!("--cwd {}: {error}", cwd.display())))?;
        desk.move_to(cwd);
    }
    let call = ToolCall::new(CallId::new("call_by_hand"), args.tool.as_str(), arguments.as_str());
    let tools = run::Hands::new(hands.registry.clone(), names);
    let results = match tools.run(&[call], &desk, &Untold, &stop).await {
        Ok(results) => results,
        Err(aborted) => aborted.results,
    };
    desk.close().await;
    hands.close().await;
    let Some(finished) = results.into_iter().next() else { return Ok(Exit::Failed) };
    writeln!(console.out, "{}", finished.content.text())?;
    Ok(match finished.status {
        _ if stop.stopped() => Exit::Interrupted,
        Status::Done => Exit::Done,
        Status::Failed | Status::Blocked | Status::TimedOut | Status::Cancelled => Exit::Failed,
    })
}

fn read_all(console: &mut Console<'_>) -> Result<String, Trouble> {
    let mut text = String::new();
    console.input.read_to_string(&mut text)?;
    Ok(text)
}

pub(super) fn unknown(registry: &Registry, name: &str) -> String {
    let known = registry.describe();
    let alike = known.iter().map(|tool| (strsim::jaro_winkler(&tool.card.name, name), tool.card.name.as_ref()));
    let best = alike.filter(|(score, _)| *score >= ALIKE).max_by(|one, other| one.0.total_cmp(&other.0));
    match best {
        Some((_, meant)) => format!("there is no tool `{name}`; did you mean `{meant}`? `hermes tools list` shows all"),
        None => format!("there is no tool `{name}`; `hermes tools list` shows all"),
    }
}
