//! Named sets of tools: which names stand for which tools, and what a conversation may call.
//!
//! A [`Catalogue`] knows the sets of the table, those that plugins and MCP servers made by registering tools, their other
//! names, and sets made at run time. Every name it gives is only a wish: whether a tool is there and ready is the business
//! of the registry. What a selection comes to is a [`Grant`], which holds for tools that register later too. Resolving
//! ends for every set of includes, circles among them.

mod distribution;
mod grant;
mod platform;
mod table;

pub use distribution::{Distribution, UnknownDistribution, distribution, distributions};
pub use grant::Grant;
pub use platform::{Circumstances, for_platform};

use crate::registry::Registry;
use grant::{Part, is_everything};
use std::collections::{BTreeMap, BTreeSet};
use table::{CORE, Core, LEGACY, Row, TOOLSETS};

const EVERYTHING: &[&str] = &["all", "*"];
const MCP: &str = "mcp-";
const BUNDLE: &str = "hermes-";
const KANBAN: &str = "kanban";
const KANBAN_TASK: &str = "HERMES_KANBAN_TASK";

/// What a toolset is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A part that can be taken or left.
    Plain,
    /// Chosen by the kind of work; made of the core.
    Posture,
    /// Everything for a place where people talk to the agent.
    Bundle,
}

/// A toolset made at run time.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Custom {
    pub description: String,
    pub tools: BTreeSet<String>,
    pub includes: Vec<String>,
}

/// What is wanted.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Selection {
    /// Nothing named means every toolset there is.
    pub enabled: Option<Vec<String>>,
    /// Taken away last, whatever was named.
    pub disabled: Vec<String>,
}

/// What a conversation may call.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Selected {
    pub grant: Grant,
    /// What that comes to now: tools that are written down or registered.
    pub names: BTreeSet<String>,
    /// Names that no toolset has.
    pub unknown: Vec<String>,
}

impl Selection {
    pub fn of<T: Into<String>>(enabled: impl IntoIterator<Item = T>) -> Self {
        Self { enabled: Some(enabled.into_iter().map(Into::into).collect()), disabled: Vec::new() }
    }

    #[must_use]
    pub fn without<T: Into<String>>(mut self, disabled: impl IntoIterator<Item = T>) -> Self {
        self.disabled.extend(disabled.into_iter().map(Into::into));
        self
    }

    /// A process that works on a task of a board has the board, whatever was chosen.
    #[must_use]
    pub fn with_variables(mut self, variables: &BTreeMap<String, String>) -> Self {
        if let Some(enabled) = &mut self.enabled
            && variables.get(KANBAN_TASK).is_some_and(|task| !task.is_empty())
            && !enabled.iter().any(|name| name == KANBAN)
        {
            enabled.push(KANBAN.to_owned());
        }
        self
    }
}

/// The toolsets a person can switch, in the order of the table.
pub fn configurable() -> impl Iterator<Item = &'static str> {
    table::CONFIGURABLE.iter().copied()
}

/// The tools of a selection, with the toolsets of the table and of the registry.
pub fn select(registry: &Registry, selection: &Selection) -> Selected {
    Catalogue::new(registry).select(selection)
}

/// All toolsets.
pub struct Catalogue<'a> {
    registry: &'a Registry,
    custom: BTreeMap<String, Custom>,
    /// Messengers that plugins brought.
    platforms: BTreeSet<String>,
    /// Toolsets that will register: of servers that are configured, of plugins that are enabled.
    expected: BTreeSet<String>,
}

impl<'a> Catalogue<'a> {
    pub fn new(registry: &'a Registry) -> Self {
        Self { registry, custom: BTreeMap::new(), platforms: BTreeSet::new(), expected: BTreeSet::new() }
    }

    /// Toolsets that can be chosen before a tool of theirs is there. A server goes by its own name, too.
    #[must_use]
    pub fn expecting<T: Into<String>>(mut self, toolsets: impl IntoIterator<Item = T>) -> Self {
        self.expected.extend(toolsets.into_iter().map(Into::into));
        self
    }

    /// A toolset made at run time. It takes the place of one of the same name.
    #[must_use]
    pub fn with(mut self, name: impl Into<String>, custom: Custom) -> Self {
        self.custom.insert(name.into(), custom);
        self
    }

    /// A messenger of a plugin: `hermes-<platform>` has the core and the tools of the plugin.
    #[must_use]
    pub fn with_platform(mut self, platform: impl Into<String>) -> Self {
        self.platforms.insert(platform.into());
        self
    }

    /// Of the toolsets that will register, those of servers and those of plugins.
    pub fn joining(&self) -> (Vec<String>, Vec<String>) {
        self.expected.iter().cloned().partition(|toolset| toolset.starts_with(MCP))
    }

    /// Every toolset by its own name.
    pub fn names(&self) -> BTreeSet<String> {
        let known = TOOLSETS.iter().map(|row| row.name.to_owned());
        let joining = self.registry.toolsets().into_iter().chain(self.expected.iter().cloned());
        known.chain(joining).chain(self.custom.keys().cloned()).collect()
    }

    pub fn knows(&self, name: &str) -> bool {
        is_everything(name)
            || self.custom.contains_key(name)
            || row(name).is_some()
            || self.platform_of(name).is_some()
            || self.registry.aliased(name).is_some()
            || self.registry.toolsets().contains(name)
            || self.expected.contains(name)
            || self.expected.contains(&format!("{MCP}{name}"))
    }

    pub fn kind(&self, name: &str) -> Kind {
        match row(name).filter(|_| !self.custom.contains_key(name)) {
            Some(row) => row.kind,
            None if self.platform_of(name).is_some() => Kind::Bundle,
            None => Kind::Plain,
        }
    }

    /// For people.
    pub fn description(&self, name: &str) -> Option<String> {
        if let Some(custom) = self.custom.get(name) {
            return Some(custom.description.clone());
        }
        if let Some(row) = row(name) {
            return Some(row.description.to_owned());
        }
        let own = self.own_name(name.to_owned());
        match own.strip_prefix(MCP) {
            _ if is_everything(name) => Some("Every toolset".to_owned()),
            _ if !self.knows(name) => None,
            Some(server) => Some(format!("MCP server '{server}' tools")),
            None => Some(format!("Plugin toolset: {own}")),
        }
    }

    /// The tools of a toolset with everything it includes; none for a name nobody knows.
    pub fn tools(&self, name: &str) -> BTreeSet<String> {
        let Part { mut names, toolsets } = self.part(name);
        names.extend(toolsets.iter().flat_map(|toolset| self.registry.tools_of(toolset)));
        names
    }

    /// What a toolset stands for: the tools that are written down for it, and the sets whose tools it has.
    fn part(&self, name: &str) -> Part {
        let mut part = Part::default();
        let mut waiting = vec![name.to_owned()];
        while let Some(name) = waiting.pop() {
            let name = self.own_name(name);
            if is_everything(&name) {
                if part.add_everything() {
                    waiting.extend(self.names());
                }
                continue;
            }
            if !part.toolsets.insert(name.clone()) {
                continue;
            }
            if let Some(custom) = self.custom.get(&name) {
                part.names.extend(custom.tools.iter().cloned());
                waiting.extend(custom.includes.iter().cloned());
            } else if let Some(row) = row(&name) {
                part.names.extend(row.written().map(str::to_owned));
                waiting.extend(row.includes.iter().map(|name| (*name).to_owned()));
            } else if let Some(platform) = self.platform_of(&name) {
                part.names.extend(core().map(str::to_owned));
                part.toolsets.insert(platform.to_owned());
            }
        }
        part
    }

    pub fn select(&self, selection: &Selection) -> Selected {
        let mut grant = Grant::default();
        let mut unknown = Vec::new();
        // A name nobody knows yet may be that of a plugin: what it brings is taken, or left, when it comes.
        let mut meant = |name: &String| {
            self.meant(name).unwrap_or_else(|| {
                unknown.push(name.clone());
                Part::called(name)
            })
        };
        match &selection.enabled {
            None => grant.give(self.part("all")),
            Some(names) => names.iter().for_each(|name| grant.give(meant(name))),
        }
        for name in &selection.disabled {
            let mut part = meant(name);
            if self.is_made_of_core(name) {
                // Without a bundle the core is still there: turning off a messenger must not empty the list.
                part.names.retain(|tool| !core().any(|kept| kept == tool));
            }
            grant.withhold(part);
        }
        Selected { names: grant.names(self.registry), grant, unknown }
    }

    /// What a name in a list stands for: a toolset, or the tools of an older name.
    fn meant(&self, name: &str) -> Option<Part> {
        if self.knows(name) {
            return Some(self.part(name));
        }
        let (_, tools) = LEGACY.iter().find(|(legacy, _)| *legacy == name)?;
        Some(Part { names: tools.iter().map(|tool| (*tool).to_owned()).collect(), ..Part::default() })
    }

    fn is_made_of_core(&self, name: &str) -> bool {
        name.starts_with(BUNDLE) || self.kind(name) == Kind::Posture
    }

    fn own_name(&self, name: String) -> String {
        if self.custom.contains_key(&name) || row(&name).is_some() {
            return name;
        }
        let of_server = format!("{MCP}{name}");
        let expected = || self.expected.contains(&of_server).then_some(of_server);
        self.registry.aliased(&name).or_else(expected).unwrap_or(name)
    }

    fn platform_of<'n>(&self, name: &'n str) -> Option<&'n str> {
        name.strip_prefix(BUNDLE).filter(|platform| self.platforms.contains(*platform))
    }
}

impl Row {
    /// The tools of this row, without those of its includes and of plugins.
    fn written(&self) -> impl Iterator<Item = &'static str> {
        let (parts, without): (&[&[&str]], _) = match self.core {
            Core::None => (&[], &[] as &[&[&str]]),
            Core::Without(without) => (CORE, without),
        };
        let is_left_out = move |tool: &&str| without.iter().any(|part| part.contains(tool));
        let core = parts.iter().flat_map(|part| part.iter().copied()).filter(move |tool| !is_left_out(tool));
        core.chain(self.tools.iter().copied())
    }
}

/// Whether a tool of this name comes with the program.
pub(crate) fn is_built_in(name: &str) -> bool {
    core().any(|tool| tool == name) || TOOLSETS.iter().any(|row| row.tools.contains(&name))
}

fn row(name: &str) -> Option<&'static Row> {
    TOOLSETS.iter().find(|row| row.name == name)
}

fn core() -> impl Iterator<Item = &'static str> {
    CORE.iter().flat_map(|part| part.iter().copied())
}

#[cfg(test)]
mod tests;
