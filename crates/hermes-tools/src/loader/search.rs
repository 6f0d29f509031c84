//! The tool `tool_search`: what stands behind the loader and fits a query, with everything that is needed to call it.
//!
//! Descriptions and schemas of servers and plugins are strangers' text. They are bounded, scanned, and the whole answer
//! stands in the frame of foreign text; a description that wants to steer the agent is left out, its tool is not: what a
//! call may do is decided by the gate.

use super::rank::{Document, ranked};
use super::{Loader, SEARCH, TOOL_SEARCH, TOOLSET};
use crate::desk::Cx;
use crate::effects::Effects;
use crate::gate::Permit;
use crate::registry::Described;
use crate::threat::{self, Scanner, Scope};
use crate::tool::{Availability, Card, Output, Source, Tool, ToolError};
use crate::toolset::is_built_in;
use hermes_types::{Object, ToolDefinition, clip};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// Characters of a description that are shown.
const LONGEST_DESCRIPTION: usize = 1_000;
/// Characters of the parameters of one tool, and of all tools that one search gives.
const ROOM_FOR_ONE: usize = 4_000;
const ROOM_FOR_ALL: usize = 16_000;
const LONGEST_REASON: usize = 200;
const MOST_AWAY: usize = 5;
const MOST_TOOLSETS: usize = 100;
/// Parts of a schema that speak to the reader.
const PROSE: &[&str] = &["description", "title", "examples", "default", "$comment"];
/// Parts of a schema whose keys are names of the author.
const BY_NAME: &[&str] = &["properties", "patternProperties", "$defs", "definitions", "dependentSchemas"];

const NOTHING_FOUND: &str = "Nothing fits. Try other words, or an empty query for the list of toolsets.";
const CALL_IT: &str = "Call one with tool_call: its name, and arguments by its parameters.";
const NO_ROOM: &str = "no room for its parameters here; search for its name";
const NOT_CONNECTED: &str = "not connected now; its tools come by themselves when it is";

pub(super) struct ToolSearch {
    loader: Loader,
}

#[derive(Debug, Deserialize)]
pub(super) struct Args {
    #[serde(default)]
    query: Option<String>,
    limit: Option<usize>,
}

/// Everything that fits, the best first.
#[derive(Debug, Serialize)]
struct Found {
    query: String,
    total_available: usize,
    matches: Vec<Match>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    unavailable: Vec<Away>,
    hint: &'static str,
}

#[derive(Debug, Serialize)]
struct Match {
    name: String,
    toolset: String,
    description: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    parameters: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<&'static str>,
}

#[derive(Debug, Serialize)]
struct Away {
    name: String,
    why: String,
}

/// One line of the list of toolsets.
#[derive(Debug, Serialize)]
struct Line {
    toolset: String,
    tools: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<String>,
}

/// Who it is, in a conversation with this loader.
pub(super) fn card(loader: &Loader) -> Card {
    let parameters = json!({
        "properties": {
            "limit": {
                "description": format!("Most tools to find (default {}).", loader.settings().default_limit),
                "maximum": loader.settings().max_limit,
                "minimum": 1,
                "type": "integer"
            },
            "query": {"description": "What the tool should do, in a few words, or its name.", "type": "string"}
        },
        "required": ["query"],
        "type": "object"
    });
    let description = format!("{SEARCH}{}", loader.contents());
    Card { emoji: "🔎", source: Source::Strangers, ..Card::new(TOOL_SEARCH, TOOLSET, &description, parameters) }
}

impl ToolSearch {
    pub(super) fn new(loader: Loader) -> Self {
        Self { loader }
    }

    /// Every toolset behind the loader, those that are expected and not there yet included.
    fn overview(&self, behind: &[Described]) -> Value {
        let mut sets: BTreeMap<&str, Line> = BTreeMap::new();
        let line = |toolset: &str| Line { toolset: toolset.to_owned(), tools: 0, note: None };
        for server in &self.loader.servers {
            sets.insert(server, Line { note: Some(NOT_CONNECTED.to_owned()), ..line(server) });
        }
        for tool in behind {
            let toolset = tool.card.toolset.as_ref();
            let name = toolset.strip_prefix(super::MCP).unwrap_or(toolset);
            let set = sets.entry(name).or_insert_with(|| line(name));
            match &tool.availability {
                Availability::Ready => {
                    set.tools += 1;
                    set.note = None;
                }
                Availability::Missing(why) if set.tools == 0 => set.note = Some(clip(why, LONGEST_REASON)),
                Availability::Missing(_) => {}
            }
        }
        let total: usize = sets.values().map(|set| set.tools).sum();
        let lines: Vec<Line> = sets.into_values().take(MOST_TOOLSETS).collect();
        json!({"total_available": total, "toolsets": lines, "hint": "Search for what a tool should do."})
    }

    fn found(&self, query: &str, limit: usize, behind: &[Described], cx: &Cx) -> Found {
        let documents: Vec<Document> = behind.iter().map(|tool| document(&tool.card)).collect();
        let named = behind.iter().position(|tool| tool.card.name == query);
        let places =
            named.into_iter().chain(ranked(query, &documents).into_iter().filter(|place| Some(*place) != named));
        let tools: Vec<&Described> = places.filter_map(|place| behind.get(place)).collect();
        let (ready, missing): (Vec<&Described>, Vec<&Described>) =
            tools.into_iter().partition(|tool| tool.availability == Availability::Ready);
        let names: BTreeSet<String> = ready.iter().take(limit).map(|tool| tool.card.name.to_string()).collect();
        let mut definitions: BTreeMap<String, ToolDefinition> =
            cx.hands.registry().definitions(&names).into_iter().map(|tool| (tool.name.clone(), tool)).collect();
        let mut room = ROOM_FOR_ALL;
        let scanner = &cx.desk.shop.scanner;
        let shown = ready.iter().filter_map(|tool| {
            let definition = definitions.remove(tool.card.name.as_ref())?;
            Some(shown(definition, &tool.card, scanner, &mut room))
        });
        let matches: Vec<Match> = shown.collect();
        let away = |tool: &&Described| match &tool.availability {
            Availability::Missing(why) => {
                Some(Away { name: tool.card.name.to_string(), why: clip(why, LONGEST_REASON) })
            }
            Availability::Ready => None,
        };
        Found {
            query: clip(query, LONGEST_REASON),
            total_available: behind.iter().filter(|tool| tool.availability == Availability::Ready).count(),
            hint: if matches.is_empty() { NOTHING_FOUND } else { CALL_IT },
            unavailable: missing.iter().filter_map(away).take(MOST_AWAY).collect(),
            matches,
        }
    }
}

fn document(card: &Card) -> Document {
    let parameters = card.parameters.get("properties").and_then(Value::as_object);
    Document::new(&card.name, &card.description, parameters.into_iter().flat_map(Object::keys).map(String::as_str))
}

/// A tool as the model reads it: bounded, and without words that want to steer it.
fn shown(definition: ToolDefinition, card: &Card, scanner: &Scanner, room: &mut usize) -> Match {
    let ToolDefinition { name, description, parameters } = definition;
    let text = format!("{description}\n{parameters}");
    let threats = if is_built_in(&name) { Vec::new() } else { scanner.scan(&text, Scope::Context) };
    let (description, parameters) = match threats.is_empty() {
        true => (clip(&description, LONGEST_DESCRIPTION), fitting(parameters)),
        false => {
            let ids = threat::ids(&threats);
            (format!("[left out: it may want to steer the agent ({ids})]"), fitting(bare(&parameters)))
        }
    };
    let length = parameters.to_string().chars().count();
    let fits = length <= *room;
    *room = room.saturating_sub(length);
    Match {
        name,
        toolset: card.toolset.to_string(),
        description,
        parameters: fits.then_some(parameters),
        note: (!fits).then_some(NO_ROOM),
    }
}

/// A schema within the room of one tool: without its prose if it must be, by the names of its arguments at last.
fn fitting(schema: Value) -> Value {
    let is_short = |schema: &Value| schema.to_string().chars().count() <= ROOM_FOR_ONE;
    if is_short(&schema) {
        return schema;
    }
    let short = bare(&schema);
    if is_short(&short) {
        return short;
    }
    let mut left = ROOM_FOR_ONE;
    let mut names = Object::new();
    for (name, property) in short.get("properties").and_then(Value::as_object).into_iter().flatten() {
        let kind = property.get("type").filter(|kind| kind.is_string()).cloned().unwrap_or_else(|| "string".into());
        let cost = name.chars().count() + 24;
        if cost > left {
            break;
        }
        left -= cost;
        names.insert(name.clone(), json!({ "type": kind }));
    }
    json!({"type": "object", "properties": names, "shortened": true})
}

/// A schema without the words that explain it.
pub fn bare(schema: &Value) -> Value {
    match schema {
        Value::Object(object) => {
            let kept = object.iter().filter(|(key, _)| !PROSE.contains(&key.as_str()));
            let kept = kept.map(|(key, value)| match value.as_object().filter(|_| BY_NAME.contains(&key.as_str())) {
                Some(named) => {
                    let inner = named.iter().map(|(name, inner)| (name.clone(), bare(inner)));
                    (key.clone(), Value::Object(inner.collect()))
                }
                None => (key.clone(), bare(value)),
            });
            Value::Object(kept.collect())
        }
        Value::Array(items) => Value::Array(items.iter().map(bare).collect()),
        other => other.clone(),
    }
}

impl Tool for ToolSearch {
    type Args = Args;

    fn card(&self) -> Card {
        card(&self.loader)
    }

    fn effects(&self, _args: &Args, _cx: &Cx) -> Result<Effects, ToolError> {
        Ok(Effects::none())
    }

    async fn call(&self, args: Args, _permit: Permit, cx: &Cx) -> Result<Output, ToolError> {
        cx.hands.registry().awaited(self.loader.settings().patience, &cx.stop).await;
        let behind = cx.hands.behind();
        let query = args.query.unwrap_or_default();
        match query.trim() {
            "" => Output::json(&self.overview(&behind)),
            query => Output::json(&self.found(query, self.loader.settings().granted(args.limit), &behind, cx)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_schema_loses_its_words_and_keeps_its_names() {
        let schema = json!({
            "type": "object",
            "title": "T",
            "properties": {
                "description": {"type": "string", "description": "Obey."},
                "list": {"type": "array", "items": {"type": "object", "properties": {"title": {"type": "string", "default": "x"}}}},
            },
            "required": ["description"],
        });
        let expected = json!({
            "type": "object",
            "properties": {
                "description": {"type": "string"},
                "list": {"type": "array", "items": {"type": "object", "properties": {"title": {"type": "string"}}}},
            },
            "required": ["description"],
        });
        assert_eq!(bare(&schema), expected);
    }

    #[test]
    fn a_schema_without_end_is_shown_by_its_names() {
        let wordy =
            json!({"type": "object", "properties": {"a": {"type": "string", "description": "x".repeat(9_000)}}});
        assert_eq!(fitting(wordy), json!({"type": "object", "properties": {"a": {"type": "string"}}}));
        let many: Object = (0..5_000).map(|n| (format!("argument_{n}"), json!({"type": "integer"}))).collect();
        let shown = fitting(json!({"type": "object", "properties": many}));
        assert_eq!(
            (&shown["properties"]["argument_0"], &shown["shortened"]),
            (&json!({"type": "integer"}), &json!(true))
        );
        assert!(shown.to_string().len() < ROOM_FOR_ONE + 100, "{}", shown.to_string().len());
    }
}
