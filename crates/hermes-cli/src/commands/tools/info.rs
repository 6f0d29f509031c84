//! One tool, or one toolset, for a person who wants to know before they allow it.

use super::USUAL_WIDTH;
use crate::agent::chosen;
use crate::app::App;
use crate::commands::paper::{self, Paper};
use crate::commands::{Console, Exit, Trouble, table};
use crate::hands::Hands;
use crate::output::wrap::fill;
use hermes_tools::registry::Described;
use hermes_tools::tool::Availability;
use hermes_tools::toolset::Catalogue;
use hermes_types::ToolDefinition;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// Characters of JSON that make about one token.
const PER_TOKEN: usize = 4;

/// When what a tool costs is paid.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Paid {
    Always,
    /// It stands behind the loader.
    WhenFound,
    /// It is switched off.
    Never,
}

impl Paid {
    fn told(self) -> &'static str {
        match self {
            Self::Always => "in every request",
            Self::WhenFound => "where it is used: models find it with `tool_search`",
            Self::Never => "in every request, once it is switched on",
        }
    }
}

pub(super) fn run(
    app: &App,
    hands: &Hands,
    name: &str,
    as_json: bool,
    console: &mut Console<'_>,
) -> Result<Exit, Trouble> {
    let tools = hands.registry.describe();
    if let Some(tool) = tools.iter().find(|tool| tool.card.name == name) {
        return of_tool(app, hands, tool, as_json, console);
    }
    let names = Catalogue::new(&hands.registry).tools(name);
    if names.is_empty() {
        return Err(Trouble::Usage(super::call::unknown(&hands.registry, name)));
    }
    of_toolset(app, hands, name, &names, as_json, console)
}

fn of_tool(
    app: &App,
    hands: &Hands,
    tool: &Described,
    as_json: bool,
    console: &mut Console<'_>,
) -> Result<Exit, Trouble> {
    let card = &tool.card;
    let definition = hands.registry.definitions(&BTreeSet::from([card.name.to_string()])).pop();
    if as_json {
        let function = definition.as_ref().map(function);
        writeln!(console.out, "{}", serde_json::to_string_pretty(&function).unwrap_or_default())?;
        return Ok(Exit::Done);
    }
    writeln!(console.out, "{} {}  (toolset {})", card.emoji, card.name, card.toolset)?;
    writeln!(console.out, "{}", indented(&card.description, 2))?;
    writeln!(console.out)?;
    let parameters = parameters(&card.parameters);
    for [name, kind, meaning] in &parameters {
        writeln!(console.out, "{}", indented(&format!("{name}  {kind}"), 2))?;
        if !meaning.is_empty() {
            writeln!(console.out, "{}", indented(meaning, 6))?;
        }
    }
    match parameters.is_empty() {
        true => writeln!(console.out, "  It takes no arguments.\n")?,
        false => writeln!(console.out, "  (* has to be given)\n")?,
    }
    match &tool.availability {
        Availability::Ready => writeln!(console.out, "  ready")?,
        Availability::Missing(reason) => {
            writeln!(console.out, "{}", indented(&format!("not available: {reason}"), 2))?;
        }
    }
    if !card.requires_env.is_empty() {
        writeln!(console.out, "  needs {}", card.requires_env.join(", "))?;
    }
    if let Some(definition) = definition {
        for line in costs(app, hands, &[definition]) {
            writeln!(console.out, "{}", indented(&format!("costs {line}"), 2))?;
        }
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
    app: &App,
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
    for line in costs(app, hands, &definitions) {
        writeln!(console.out, "{}", indented(&format!("together {line}"), 2))?;
    }
    Ok(Exit::Done)
}

/// What tools cost conversations on a terminal, by when it is paid.
fn costs(app: &App, hands: &Hands, definitions: &[ToolDefinition]) -> Vec<String> {
    let catalogue = hands.catalogue();
    let grant = catalogue.select(&chosen(app, "cli", &catalogue)).grant;
    let cards = hands.registry.describe().into_iter().map(|tool| tool.card);
    let allowed: BTreeSet<String> = cards.filter(|card| grant.allows(card)).map(|card| card.name.to_string()).collect();
    let offered = hands.for_conversation(grant).offered();
    let mut tokens: BTreeMap<Paid, usize> = BTreeMap::new();
    for tool in definitions {
        let paid = match () {
            () if offered.contains(&tool.name) => Paid::Always,
            () if allowed.contains(&tool.name) => Paid::WhenFound,
            () => Paid::Never,
        };
        *tokens.entry(paid).or_default() += function(tool).to_string().len().div_ceil(PER_TOKEN);
    }
    tokens.into_iter().map(|(paid, tokens)| format!("about {tokens} tokens {}", paid.told())).collect()
}

/// A tool as a request holds it.
fn function(definition: &ToolDefinition) -> Value {
    json!({"type": "function", "function": definition})
}
