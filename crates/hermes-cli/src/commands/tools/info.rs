//! One tool, or one toolset, for a person who wants to know before they allow it.

use super::USUAL_WIDTH;
use crate::commands::paper::{self, Paper};
use crate::commands::{Console, Exit, Trouble, table};
use crate::hands::Hands;
use crate::output::wrap::fill;
use hermes_tools::registry::Described;
use hermes_tools::tool::Availability;
use hermes_tools::toolset::Catalogue;
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// Characters of JSON that make about one token.
const PER_TOKEN: usize = 4;

pub(super) fn run(hands: &Hands, name: &str, as_json: bool, console: &mut Console<'_>) -> Result<Exit, Trouble> {
    let tools = hands.registry.describe();
    if let Some(tool) = tools.iter().find(|tool| tool.card.name == name) {
        return of_tool(hands, tool, as_json, console);
    }
    let names = Catalogue::new(&hands.registry).tools(name);
    if names.is_empty() {
        return Err(Trouble::Usage(super::call::unknown(&hands.registry, name)));
    }
    of_toolset(hands, name, &names, as_json, console)
}

fn of_tool(hands: &Hands, tool: &Described, as_json: bool, console: &mut Console<'_>) -> Result<Exit, Trouble> {
    let card = &tool.card;
    let definition = hands.registry.definitions(&BTreeSet::from([card.name.to_string()])).pop();
    let function = definition.as_ref().map(|seen| json!({"type": "function", "function": seen}));
    if as_json {
        writeln!(console.out, "{}", serde_json::to_string_pretty(&function).unwrap_or_default())?;
        return Ok(Exit::Done);
    }
    writeln!(console.out, "{} {}  (toolset {})", card.emoji, card.name, card.toolset)?;
    writeln!(console.out, "{}", indented(&card.description, 2))?;
    writeln!(console.out)?;
    for [name, kind, meaning] in parameters(&card.parameters) {
        writeln!(console.out, "{}", indented(&format!("{name}  {kind}"), 2))?;
        if !meaning.is_empty() {
            writeln!(console.out, "{}", indented(&meaning, 6))?;
        }
    }
    writeln!(console.out, "  (* has to be given)\n")?;
    match &tool.availability {
        Availability::Ready => writeln!(console.out, "  ready")?,
        Availability::Missing(reason) => writeln!(console.out, "  not available: {reason}")?,
    }
    if !card.requires_env.is_empty() {
        writeln!(console.out, "  needs {}", card.requires_env.join(", "))?;
    }
    if let Some(function) = function {
        let tokens = function.to_string().len().div_ceil(PER_TOKEN);
        writeln!(console.out, "  costs about {tokens} tokens in every request")?;
    }
    if card.name == "terminal" {
        writeln!(console.out, "{}", indented(&format!("sandbox: {}", hands.shop.sandbox_report()), 2))?;
    }
    Ok(Exit::Done)
}

/// Text in lines that fit, each this far from the edge.
fn indented(text: &str, by: usize) -> String {
    let edge = " ".repeat(by);
    let filled = fill(&paper::shown(text), Paper::of_process().width.unwrap_or(USUAL_WIDTH).saturating_sub(by));
    filled.lines().map(|line| format!("{edge}{line}").trim_end().to_owned()).collect::<Vec<_>>().join("\n")
}

/// Name, kind and meaning of each argument.
fn parameters(schema: &Value) -> Vec<[String; 3]> {
    let required: Vec<&str> = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let properties = schema["properties"].as_object().into_iter().flatten();
    properties
        .map(|(name, property)| {
            let star = if required.contains(&name.as_str()) { "*" } else { "" };
            let kind = match property["enum"].as_array() {
                Some(words) => words.iter().filter_map(Value::as_str).collect::<Vec<_>>().join("|"),
                None => property["type"].as_str().unwrap_or("any").to_owned(),
            };
            let meaning = property["description"].as_str().unwrap_or_default().to_owned();
            [format!("{name}{star}"), kind, meaning]
        })
        .collect()
}

fn of_toolset(
    hands: &Hands,
    name: &str,
    names: &BTreeSet<String>,
    as_json: bool,
    console: &mut Console<'_>,
) -> Result<Exit, Trouble> {
    let definitions = hands.registry.definitions(names);
    if as_json {
        writeln!(console.out, "{}", serde_json::to_string_pretty(&definitions).unwrap_or_default())?;
        return Ok(Exit::Done);
    }
    let known = hands.registry.describe();
    writeln!(console.out, "{name}: {}", Catalogue::new(&hands.registry).description(name).unwrap_or_default())?;
    let rows: Vec<[String; 2]> = names
        .iter()
        .map(|name| match known.iter().find(|tool| tool.card.name == name.as_str()).map(|tool| &tool.availability) {
            Some(Availability::Ready) => [name.clone(), "ready".to_owned()],
            Some(Availability::Missing(reason)) => [name.clone(), format!("not available: {reason}")],
            None => [name.clone(), "not built yet".to_owned()],
        })
        .collect();
    table::write(console.out, &rows)?;
    let tokens = serde_json::to_string(&definitions).unwrap_or_default().len().div_ceil(PER_TOKEN);
    writeln!(console.out, "  together about {tokens} tokens in every request")?;
    Ok(Exit::Done)
}
