//! One call of one tool. The result goes to stdout, whatever it is; the exit code says whether the tool did its job.

use super::CallArgs;
use crate::app::App;
use crate::commands::paper::{self, Paper};
use crate::commands::waiting::{stop_on_signal, watch};
use crate::commands::{Console, Exit, Trouble, directory};
use crate::hands::Hands;
use hermes_tools::desk::{Desk, Reach};
use hermes_tools::gate::Yolo;
use hermes_tools::registry::Registry;
use hermes_tools::run::{self, Status, Untold};
use hermes_types::{CallId, Object, SessionId, ToolCall};
use serde_json::Value;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

/// Names this alike are worth a mention when one is not found.
const ALIKE: f64 = 0.7;
/// Characters of wrong JSON that are shown before the place where reading ended.
const BEFORE: usize = 40;

/// A tool of an MCP server is there when its server is; a person who names one waits for it.
const INTRODUCTION: Duration = Duration::from_secs(60);

pub(super) async fn run(app: &App, args: CallArgs, console: &mut Console<'_>) -> Result<Exit, Trouble> {
    let CallArgs { tool, arguments, cwd, yolo } = args;
    // Before anybody listens to signals: Ctrl-C ends a read that waits.
    let text = if arguments == "-" { read_all(console)? } else { arguments };
    let stop = stop_on_signal();
    let yolo = if yolo { Yolo::On } else { Yolo::Off };
    let hands = Hands::new(app, Arc::new(|_| {}), yolo, &stop).connected_for(app, &tool);
    let waited = watch(console, |_| format!("the server of `{tool}` starts"), hands.introduced(INTRODUCTION)).await;
    if let Err(trouble) = waited {
        hands.close().await;
        return Err(trouble);
    }
    if !hands.registry.has(&tool) {
        hands.close().await;
        return Err(Trouble::Usage(unknown(&hands.registry, &tool)));
    }
    let arguments = object(&text).map_err(Trouble::Usage)?;
    let cwd = cwd.map(|cwd| directory(Some(cwd), &app.knowledge.cwd)).transpose()?;
    hands.tell_warnings(console)?;
    for hint in strangers(&hands.registry, &tool, &arguments) {
        writeln!(console.err, "… {hint}")?;
    }
    let desk = Desk::reached(hands.shop.clone(), SessionId::new("tools-call"), Reach::OneShot);
    if let Some(cwd) = cwd {
        desk.move_to(cwd);
    }
    let call = ToolCall::new(CallId::new("call_by_hand"), tool.as_str(), text.as_str());
    // A script may call what its author could call by hand, and whoever guards calls guards these too.
    let names: BTreeSet<String> = hands.registry.describe().iter().map(|tool| tool.card.name.to_string()).collect();
    let tools = hands.guarded(run::Hands::new(hands.registry.clone(), names));
    let results = match tools.run(&[call], &desk, &Untold, &stop).await {
        Ok(results) => results,
        Err(aborted) => aborted.results,
    };
    desk.close().await;
    hands.close().await;
    let Some(finished) = results.into_iter().next() else { return Ok(Exit::Failed) };
    let went_wrong = print(&finished.content.text(), console)?.is_some_and(|result| is_failure(&result));
    hands.tidy(&stop).await;
    Ok(match finished.status {
        _ if stop.stopped() => Exit::Interrupted,
        Status::Done if went_wrong => Exit::Failed,
        Status::Done => Exit::Done,
        Status::Failed | Status::Blocked | Status::TimedOut | Status::Cancelled => Exit::Failed,
    })
}

fn read_all(console: &mut Console<'_>) -> Result<String, Trouble> {
    let mut text = String::new();
    let read = console.input.read_to_string(&mut text);
    read.map_err(|error| Trouble::Usage(format!("the arguments cannot be read from standard input: {error}")))?;
    Ok(text)
}

/// What a person typed as arguments. A model's slips are mended; a person can mend their own, and wants to know where.
fn object(text: &str) -> Result<Object, String> {
    let text = if text.trim().is_empty() { "{}" } else { text };
    if !text.trim_start().starts_with('{') {
        return Err(r#"the arguments have to be a JSON object, such as {"path": "notes.txt"}"#.to_owned());
    }
    match serde_json::from_str::<Object>(text) {
        Ok(object) => Ok(object),
        Err(error) => {
            let line = text.lines().nth(error.line().saturating_sub(1)).unwrap_or_default();
            let read: Vec<char> = line.chars().take(characters(line, error.column())).collect();
            let shown: String = read.iter().skip(read.len().saturating_sub(BEFORE)).collect();
            let mark = if read.len() > BEFORE { "…" } else { "" };
            Err(format!("the arguments are no JSON: {error}\n  {mark}{} <- here", paper::one_line(&shown)))
        }
    }
}

/// Characters of a line up to a column, which counts bytes.
fn characters(line: &str, column: usize) -> usize {
    line.char_indices().take_while(|(at, _)| *at < column).count()
}

/// A word about each argument that the tool does not know and will not look at.
fn strangers(registry: &Registry, tool: &str, arguments: &Object) -> Vec<String> {
    let known = registry.describe().into_iter().find(|known| known.card.name == tool);
    let properties = known.and_then(|known| known.card.parameters.get("properties")?.as_object().cloned());
    let Some(properties) = properties else { return Vec::new() };
    let strange = arguments.keys().filter(|name| !properties.contains_key(*name));
    strange
        .map(|name| {
            let name = paper::one_line(name);
            match alike(properties.keys().map(String::as_str), &name) {
                Some(meant) => format!("`{tool}` has no argument `{name}`; did you mean `{meant}`?"),
                None => format!("`{tool}` has no argument `{name}`; `hermes tools info {tool}` shows all"),
            }
        })
        .collect()
}

/// A command that failed or ran out of time is a result for a model, and a failure for a shell.
fn is_failure(result: &Value) -> bool {
    result.get("exit_code").and_then(Value::as_i64).is_some_and(|code| code != 0)
}

/// The result on one line of stdout, without the frame that tells a model whose words these are. What was put behind it for
/// a model, such as notes of a directory, goes to stderr.
fn print(text: &str, console: &mut Console<'_>) -> Result<Option<Value>, Trouble> {
    let (text, notes) = run::opened(text).unwrap_or((text, ""));
    let mut values = serde_json::Deserializer::from_str(text).into_iter::<Value>();
    let value = values.next().and_then(Result::ok).filter(|value| value.is_object() || value.is_array());
    let is_json = value.is_some();
    let (result, behind) = if is_json { text.split_at(values.byte_offset()) } else { (text, "") };
    let result = match (is_json, Paper::of_process().is_terminal()) {
        (true, _) => paper::escaped(result.to_owned()),
        (false, true) => paper::shown(result),
        (false, false) => result.to_owned(),
    };
    writeln!(console.out, "{result}")?;
    console.out.flush()?;
    for behind in [behind, notes].map(str::trim).into_iter().filter(|behind| !behind.is_empty()) {
        writeln!(console.err, "{}", paper::shown(behind))?;
    }
    Ok(value)
}

pub(super) fn unknown(registry: &Registry, name: &str) -> String {
    let known = registry.describe();
    let name = paper::one_line(name);
    if name.starts_with("mcp__") {
        return format!(
            "there is no tool `{name}`; `hermes mcp` shows the servers, `hermes mcp test SERVER` their tools"
        );
    }
    match alike(known.iter().map(|tool| tool.card.name.as_ref()), &name) {
        Some(meant) => format!("there is no tool `{name}`; did you mean `{meant}`? `hermes tools list` shows all"),
        None => format!("there is no tool `{name}`; `hermes tools list` shows all"),
    }
}

/// The name that was probably meant.
pub(in crate::commands) fn alike<'a>(known: impl Iterator<Item = &'a str>, name: &str) -> Option<&'a str> {
    let scored = known.map(|known| (strsim::jaro_winkler(known, name), known));
    let best = scored.filter(|(score, _)| *score >= ALIKE).max_by(|one, other| one.0.total_cmp(&other.0));
    best.map(|(_, known)| known)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wrong_json_is_shown_up_to_the_place_where_it_ends() {
        let table = [
            (r#"{"command": "ls""#, "EOF while parsing an object at line 1 column 16\n  {\"command\": \"ls\" <- here"),
            ("{command: 1}", "key must be a string at line 1 column 2\n  {c <- here"),
            ("{\n \"päth\": ,}", "expected value at line 2 column 11\n  \"päth\": , <- here"),
        ];
        for (text, expected) in table {
            assert_eq!(object(text), Err(format!("the arguments are no JSON: {expected}")), "{text}");
        }
        let long = format!("{{\"text\": \"{}\" x", "a".repeat(100));
        assert!(object(&long).is_err_and(|told| told.ends_with(&format!("\n  …{}\" x <- here", "a".repeat(37)))));
    }

    #[test]
    fn only_an_object_is_taken() {
        assert_eq!(object(" \n"), Ok(Object::new()));
        for text in ["[1]", "null", "\"{}\"", "7", "touch x"] {
            assert!(object(text).is_err_and(|told| told.contains("a JSON object")), "{text}");
        }
    }
}
