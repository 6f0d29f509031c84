//! Tools that are not in every request: [`TOOL_SEARCH`] finds them, [`TOOL_CALL`] calls them.
//!
//! Both have fixed definitions, made from settings alone when a conversation begins. So no byte that was sent moves when
//! a server joins, dies or changes its tools, and a hundred tools of servers cost what one costs. What stands behind the
//! loader is asked at the moment of a call: whatever is registered then, and lies within what the conversation was
//! granted, can be called. A call through the loader becomes a call of the real tool before anybody sees it
//! (`run/read.rs`); from there on there is one way for all calls.

mod behind;
mod rank;
mod search;
mod settings;
mod unwrap;

pub use search::bare;
pub use settings::{LoaderSettings, Switch};

use crate::registry::{Entry, Registry};
use crate::tool::Card;
use crate::toolset::{Grant, is_built_in};
pub(crate) use behind::{Absence, spelled};
use hermes_types::ToolDefinition;
use search::ToolSearch;
use serde_json::{Value, json};
use std::sync::Arc;
pub(crate) use unwrap::{Inner, described, unwrapped};

pub const TOOL_SEARCH: &str = "tool_search";
pub const TOOL_CALL: &str = "tool_call";
/// The Python program's third tool. What it told comes with every find of [`TOOL_SEARCH`] here, so it is not offered; a
/// conversation that knows it from there is understood.
pub(crate) const TOOL_DESCRIBE: &str = "tool_describe";
/// The names that a conversation with a loader understands besides those of tools.
pub(crate) const NAMES: [&str; 3] = [TOOL_SEARCH, TOOL_CALL, TOOL_DESCRIBE];
/// The set both are listed under for people.
pub const TOOLSET: &str = "tool_search";

const MCP: &str = "mcp-";
/// Built-in tools that stand behind the loader, because most conversations never call them and their definitions are
/// long. Not among them is `process`: it is needed at once when it is needed, in the middle of work, and looking for it
/// costs a whole request.
const RARE: &[&str] = &["skill_manage", "vision_analyze"];
/// Names that a description lists; servers can be many.
const MOST_NAMES: usize = 24;
const LONGEST_NAME: usize = 40;

const SEARCH: &str = "Finds tools that are not in this list and gives their parameters. Use it before you say that you \
                      cannot do something. An empty query lists the toolsets.";
const CALL: &str = "Calls a tool that tool_search found.";

/// Whether a tool stands behind the loader where there is one: everything that others bring, and what is rarely used.
/// Who overrides a built-in tool takes its place.
pub(crate) fn is_behind(card: &Card) -> bool {
    card.toolset.starts_with(MCP) || RARE.contains(&card.name.as_ref()) || !is_built_in(&card.name)
}

/// The loader of one conversation.
#[derive(Debug, Clone, PartialEq)]
pub struct Loader {
    settings: Arc<LoaderSettings>,
    /// What its description names, in order.
    built_in: Vec<&'static str>,
    servers: Vec<String>,
    plugins: Vec<String>,
}

impl Loader {
    /// Whether a conversation with this grant has a loader. What decides are the settings, never who was quick enough to
    /// register: two conversations with the same settings begin with the same bytes.
    pub fn decide(settings: &Arc<LoaderSettings>, grant: &Grant, registry: &Registry) -> Option<Self> {
        let is_there = |name: &str| registry.find(name).is_some_and(|entry| grant.allows(&entry.card));
        let expected = settings.expected.iter().filter(|toolset| grant.expects(toolset));
        let (servers, plugins): (Vec<&String>, Vec<&String>) = expected.partition(|name| name.starts_with(MCP));
        let bare = |name: &String| name.strip_prefix(MCP).unwrap_or(name).to_owned();
        let loader = Self {
            settings: settings.clone(),
            built_in: RARE.iter().copied().filter(|name| is_there(name)).collect(),
            servers: servers.into_iter().map(bare).collect(),
            plugins: plugins.into_iter().cloned().collect(),
        };
        let has_something = !(loader.built_in.is_empty() && loader.servers.is_empty() && loader.plugins.is_empty());
        match settings.enabled {
            Switch::Never => None,
            Switch::Always => Some(loader),
            Switch::Auto => has_something.then_some(loader),
        }
    }

    pub fn settings(&self) -> &LoaderSettings {
        &self.settings
    }

    /// Built-in tools behind it, known from the start.
    pub(crate) fn built_in(&self) -> impl Iterator<Item = &'static str> {
        self.built_in.iter().copied()
    }

    /// What the model sees of it, sorted by name.
    pub fn definitions(&self) -> [ToolDefinition; 2] {
        let search = search::card(self);
        [
            ToolDefinition { name: TOOL_CALL.to_owned(), description: CALL.to_owned(), parameters: call_parameters() },
            ToolDefinition {
                name: TOOL_SEARCH.to_owned(),
                description: search.description,
                parameters: search.parameters,
            },
        ]
    }

    /// The tool that searches.
    pub(crate) fn search(&self) -> Entry {
        Entry::of(ToolSearch::new(self.clone()))
    }

    /// What the description says is behind it. Names come from settings, sorted and bounded.
    fn contents(&self) -> String {
        let built_in: Vec<String> = self.built_in.iter().map(|name| (*name).to_owned()).collect();
        let kinds = [("tools", built_in), ("MCP servers", self.servers.clone()), ("plugins", self.plugins.clone())];
        let told = kinds.into_iter().filter(|(_, names)| !names.is_empty());
        let told: Vec<String> = told.map(|(kind, names)| format!("{kind} {}", listed(&names))).collect();
        if told.is_empty() { String::new() } else { format!(" Behind it: {}.", told.join("; ")) }
    }
}

fn call_parameters() -> Value {
    json!({
        "properties": {
            "arguments": {
                "additionalProperties": true,
                "description": "By the parameters of that tool.",
                "properties": {},
                "type": "object"
            },
            "name": {"type": "string"}
        },
        "required": ["name", "arguments"],
        "type": "object"
    })
}

fn listed(names: &[String]) -> String {
    let shown = names.iter().take(MOST_NAMES).map(|name| hermes_types::clip(name, LONGEST_NAME));
    let shown = shown.collect::<Vec<_>>().join(", ");
    match names.len().saturating_sub(MOST_NAMES) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}
