//! What a first request costs before the person has said a word: the layers of the prompt and the definitions of the tools.

use super::Built;
use crate::commands::{Console, Exit, Trouble, paper, table};
use hermes_core::prompt::{Name, Tier, tokens};
use hermes_tools::loader;
use hermes_types::ToolDefinition;
use serde::Serialize;
use serde_json::json;
use std::collections::BTreeMap;

#[derive(Debug, Serialize)]
struct Report {
    platform: String,
    model: Option<String>,
    provider: Option<String>,
    layers: Vec<LayerRow>,
    prompt_characters: usize,
    prompt_tokens: usize,
    toolsets: Vec<ToolsetRow>,
    tool_tokens: usize,
    /// Of a request without any message.
    total_tokens: usize,
}

#[derive(Debug, Serialize)]
struct LayerRow {
    name: Name,
    tier: Tier,
    characters: usize,
    tokens: usize,
}

#[derive(Debug, Serialize)]
struct ToolsetRow {
    toolset: String,
    tools: Vec<String>,
    tokens: usize,
}

pub(super) fn run(built: &Built, as_json: bool, console: &mut Console<'_>) -> Result<Exit, Trouble> {
    let report = report(built);
    if as_json {
        writeln!(console.out, "{}", paper::json_pretty(&report).map_err(std::io::Error::other)?)?;
    } else {
        report.print(console)?;
    }
    Ok(Exit::Done)
}

fn report(built: &Built) -> Report {
    let layers = built.prompt.layers.iter().map(|layer| LayerRow {
        name: layer.name,
        tier: layer.tier(),
        characters: layer.text.chars().count(),
        tokens: tokens(&layer.text),
    });
    let toolsets = toolsets(built);
    let text = built.prompt.text();
    let prompt_tokens = tokens(&text);
    let tool_tokens = toolsets.iter().map(|row| row.tokens).sum();
    Report {
        platform: built.platform.clone(),
        model: built.answerer.as_ref().map(|answerer| answerer.model.clone()),
        provider: built.answerer.as_ref().map(|answerer| answerer.provider.clone()),
        layers: layers.collect(),
        prompt_characters: text.chars().count(),
        prompt_tokens,
        toolsets,
        tool_tokens,
        total_tokens: prompt_tokens + tool_tokens,
    }
}

/// The tools that are offered, by the set they belong to.
fn toolsets(built: &Built) -> Vec<ToolsetRow> {
    let known = built.hands.registry.describe();
    let mut sets: BTreeMap<String, Vec<&ToolDefinition>> = BTreeMap::new();
    for definition in &built.definitions {
        let card = known.iter().map(|tool| &tool.card).find(|card| card.name == definition.name.as_str());
        let set = card.map_or_else(|| loader::TOOLSET.to_owned(), |card| card.toolset.to_string());
        sets.entry(set).or_default().push(definition);
    }
    let row = |(toolset, tools): (String, Vec<&ToolDefinition>)| {
        let functions = tools.iter().map(|tool| json!({"type": "function", "function": tool}).to_string());
        let tokens = tokens(&functions.collect::<String>());
        ToolsetRow { toolset, tools: tools.iter().map(|tool| tool.name.clone()).collect(), tokens }
    };
    sets.into_iter().map(row).collect()
}

impl Report {
    fn print(&self, console: &mut Console<'_>) -> std::io::Result<()> {
        let total = table::count(self.total_tokens as u64, "token");
        let whom = self.model.as_ref().map(|model| format!(" of {}", paper::one_line(model))).unwrap_or_default();
        writeln!(console.out, "A first request{whom} on `{}` costs about {total}.\n", paper::one_line(&self.platform))?;
        let head = [["layer", "tier", "characters", "tokens"].map(str::to_owned)];
        let layers = self.layers.iter().map(|row| {
            let (name, tier) = (row.name.as_str().to_owned(), row.tier.as_str().to_owned());
            [name, tier, number(row.characters, 10), number(row.tokens, 6)]
        });
        let sum =
            ["together".to_owned(), String::new(), number(self.prompt_characters, 10), number(self.prompt_tokens, 6)];
        table::write(console.out, &head.into_iter().chain(layers).chain([sum]).collect::<Vec<_>>())?;
        writeln!(console.out)?;
        let head = [["toolset", "tokens", "tools"].map(str::to_owned)];
        let sets = self.toolsets.iter().map(|row| [row.toolset.clone(), number(row.tokens, 6), row.tools.join(", ")]);
        let sum = ["together".to_owned(), number(self.tool_tokens, 6), String::new()];
        table::write(console.out, &head.into_iter().chain(sets).chain([sum]).collect::<Vec<_>>())
    }
}

/// A number that ends where its column ends.
fn number(number: usize, width: usize) -> String {
    format!("{:>width$}", table::grouped(number as u64))
}
