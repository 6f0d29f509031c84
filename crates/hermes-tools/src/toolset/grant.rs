//! What a conversation may call, as a rule that is asked at the moment of a call. A tool that registers while the
//! conversation runs is in it, or not, exactly as if it had been there from the start.

use super::{EVERYTHING, MCP};
use crate::registry::Registry;
use crate::tool::Card;
use std::collections::BTreeSet;

/// Stands for the toolset of every MCP server.
const EVERY_SERVER: &str = "mcp-*";
const EVERY_TOOLSET: &str = "*";

/// What was given, without what was withheld.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Grant {
    given: Part,
    withheld: Part,
}

/// Tools by their own names, and by the toolsets they register in.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Part {
    pub(super) names: BTreeSet<String>,
    pub(super) toolsets: BTreeSet<String>,
}

impl Part {
    /// Whatever registers in a toolset of this name, or for a server of this name.
    pub(super) fn called(name: &str) -> Self {
        Self { names: BTreeSet::new(), toolsets: BTreeSet::from([name.to_owned(), format!("{MCP}{name}")]) }
    }

    /// Whether that is news.
    pub(super) fn add_everything(&mut self) -> bool {
        self.toolsets.insert(EVERY_TOOLSET.to_owned())
    }

    fn add(&mut self, other: Self) {
        self.names.extend(other.names);
        self.toolsets.extend(other.toolsets);
    }

    fn holds(&self, name: &str, toolset: &str) -> bool {
        self.names.contains(name) || self.holds_toolset(toolset)
    }

    fn holds_toolset(&self, toolset: &str) -> bool {
        let is_server = toolset.starts_with(MCP);
        self.toolsets.contains(toolset)
            || self.toolsets.contains(EVERY_TOOLSET)
            || (is_server && self.toolsets.contains(EVERY_SERVER))
    }
}

impl Grant {
    pub(super) fn give(&mut self, part: Part) {
        self.given.add(part);
    }

    pub(super) fn withhold(&mut self, part: Part) {
        self.withheld.add(part);
    }

    /// Less than before: without these tools.
    #[must_use]
    pub fn without<T: Into<String>>(mut self, names: impl IntoIterator<Item = T>) -> Self {
        self.withheld.names.extend(names.into_iter().map(Into::into));
        self
    }

    /// Less than before: without the tools of MCP servers, those to come included.
    #[must_use]
    pub fn without_servers(mut self) -> Self {
        self.withheld.toolsets.insert(EVERY_SERVER.to_owned());
        self
    }

    pub fn allows(&self, card: &Card) -> bool {
        self.given.holds(&card.name, &card.toolset) && !self.withheld.holds(&card.name, &card.toolset)
    }

    /// Whether tools that register in this toolset later may be called.
    pub fn expects(&self, toolset: &str) -> bool {
        self.given.holds_toolset(toolset) && !self.withheld.holds_toolset(toolset)
    }

    /// The names that were written down, and those of all tools that are there now.
    pub(super) fn names(&self, registry: &Registry) -> BTreeSet<String> {
        let written = self.given.names.difference(&self.withheld.names).cloned();
        let cards = registry.cards();
        let there = cards.iter().filter(|card| self.allows(card)).map(|card| card.name.to_string());
        let gone: BTreeSet<&str> =
            cards.iter().filter(|card| !self.allows(card)).map(|card| card.name.as_ref()).collect();
        written.filter(|name| !gone.contains(name.as_str())).chain(there).collect()
    }
}

/// These tools and no others, whoever registers them.
impl From<BTreeSet<String>> for Grant {
    fn from(names: BTreeSet<String>) -> Self {
        Self { given: Part { names, toolsets: BTreeSet::new() }, withheld: Part::default() }
    }
}

/// Whether a name means every toolset there is.
pub(super) fn is_everything(name: &str) -> bool {
    EVERYTHING.contains(&name)
}
