//! Why a tool cannot be called through the loader, and what may have been meant.

use super::rank::{Document, ranked};
use super::{LoaderSettings, MCP, TOOL_SEARCH};
use crate::registry::Registry;
use crate::tool::Card;
use crate::toolset::Grant;
use hermes_types::clip;
use serde_json::{Value, json};
use std::sync::Arc;

/// As many names are held out to a model that missed one.
const MOST_NEAR: usize = 3;
const LONGEST_NAME: usize = 64;

/// Why nobody answers to a name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Absence {
    /// Its toolset is switched off for this conversation.
    Withheld { toolset: String },
    /// It would be a tool of this server, which is not connected.
    Away { server: String },
    /// Nothing is known of it; these names are like it.
    Unknown { near: Vec<String> },
}

impl Absence {
    pub(crate) fn of(name: &str, registry: &Registry, grant: &Grant, settings: &LoaderSettings) -> Self {
        let cards = registry.cards();
        if let Some(card) = cards.iter().find(|card| plain(&card.name) == plain(name) && !grant.allows(card)) {
            return Self::Withheld { toolset: card.toolset.to_string() };
        }
        let wanted = plain(name);
        let owner = settings.expected.iter().find_map(|toolset| {
            let server = toolset.strip_prefix(MCP)?;
            wanted.starts_with(&format!("mcp_{}_", plain(server))).then_some((toolset, server))
        });
        match owner {
            Some((toolset, _)) if !grant.expects(toolset) => Self::Withheld { toolset: toolset.clone() },
            Some((toolset, server)) if registry.tools_of(toolset).is_empty() => {
                Self::Away { server: server.to_owned() }
            }
            _ => Self::Unknown { near: nearest(name, &cards, grant) },
        }
    }

    /// What the model reads.
    pub(crate) fn told(self, name: &str) -> Value {
        let name = clip(name, LONGEST_NAME);
        match self {
            Self::Withheld { toolset } => {
                json!({"error": format!("{name} is not available in this session: its toolset {toolset} is switched off.")})
            }
            Self::Away { server } => json!({
                "error": format!(
                    "{name} cannot be called now: the MCP server {server} is not connected. Its tools come back by \
                     themselves when it is. Do something else first, or go on without it."
                ),
                "status": "away",
            }),
            Self::Unknown { near } if near.is_empty() => {
                json!({"error": format!("Unknown tool: {name}"), "message": format!("Find tools with {TOOL_SEARCH}.")})
            }
            Self::Unknown { near } => json!({
                "error": format!("Unknown tool: {name}"),
                "near": near,
                "message": format!("Find tools and their parameters with {TOOL_SEARCH}."),
            }),
        }
    }
}

/// Names of tools that may be called and share words with this one, the likeliest first.
fn nearest(name: &str, cards: &[Arc<Card>], grant: &Grant) -> Vec<String> {
    let allowed: Vec<&Arc<Card>> = cards.iter().filter(|card| grant.allows(card)).collect();
    let documents: Vec<Document> = allowed.iter().map(|card| Document::new(&card.name, "", [])).collect();
    let places = ranked(&clip(name, LONGEST_NAME), &documents).into_iter().take(MOST_NEAR);
    places.filter_map(|place| Some(allowed.get(place)?.name.to_string())).collect()
}

/// `mcp__git-hub__create.issue` and `mcp_git_hub_create_issue` are written the same way here: models confuse them, and no
/// two tools of one conversation should differ in nothing else.
fn plain(name: &str) -> String {
    let mut plain = String::with_capacity(name.len());
    for letter in name.trim().chars().flat_map(char::to_lowercase) {
        match letter.is_alphanumeric() {
            true => plain.push(letter),
            false if !plain.ends_with('_') => plain.push('_'),
            false => {}
        }
    }
    plain
}

/// The one registered tool that is written like this, where no other is and the conversation may call it.
pub(crate) fn spelled(name: &str, registry: &Registry, grant: &Grant) -> Option<String> {
    let wanted = plain(name);
    let cards = registry.cards();
    let mut alike = cards.iter().filter(|card| grant.allows(card) && plain(&card.name) == wanted);
    let only = alike.next()?;
    alike.next().is_none().then(|| only.name.to_string())
}
