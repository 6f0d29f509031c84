//! Which toolsets a platform has: what the settings name for it, or its bundle.

use super::table::{CONFIGURABLE, OFF_BY_DEFAULT};
use super::{Catalogue, Kind, Selection, row};
use serde_json::Value;
use std::collections::BTreeSet;

const TERMINAL: &str = "cli";

/// What turns on toolsets that are off by default, and which MCP servers there are.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Circumstances {
    /// Toolsets whose credentials were found, such as `homeassistant` for a token of it.
    pub credentials_for: BTreeSet<String>,
    /// Toolsets of the MCP servers that are enabled: `mcp-<server>`.
    pub mcp: Vec<String>,
    /// Toolsets of the plugins that are enabled.
    pub plugins: Vec<String>,
}

/// The selection that the settings (a whole `config.yaml`) make for a platform such as `cli` or `telegram`.
///
/// A list that names parts means exactly those, and of every bundle in it the parts it covers. A list of bundles alone
/// means the bundles. The tools of MCP servers come by themselves unless the list names some of them; so do those of
/// plugins.
pub fn for_platform(config: &Value, platform: &str, around: &Circumstances, catalogue: &Catalogue<'_>) -> Selection {
    let own = config.get("platform_toolsets").and_then(|platforms| platforms.get(platform)).and_then(texts);
    let general = || config.get("toolsets").and_then(texts).filter(|_| platform == TERMINAL);
    let listed = own.or_else(general).unwrap_or_else(|| vec![format!("hermes-{platform}")]);
    let mut enabled = if listed.iter().any(|name| CONFIGURABLE.contains(&name.as_str())) {
        parts(&listed, around, catalogue)
    } else {
        listed.clone()
    };
    for joining in [&around.mcp, &around.plugins] {
        let names_one = |name: &String| joining.iter().any(|toolset| leads_to(name, toolset));
        if !listed.iter().any(names_one) {
            enabled.extend(joining.iter().cloned());
        }
    }
    let disabled = config.get("agent").and_then(|agent| agent.get("disabled_toolsets")).and_then(texts);
    Selection { enabled: Some(unique(enabled)), disabled: disabled.unwrap_or_default() }
}

/// A list with every bundle in it replaced by the parts it covers.
fn parts(listed: &[String], around: &Circumstances, catalogue: &Catalogue<'_>) -> Vec<String> {
    let is_off = |part: &str| OFF_BY_DEFAULT.contains(&part) && !around.credentials_for.contains(part);
    let mut parts: Vec<String> = Vec::new();
    for name in listed {
        let is_composite = row(name).is_some_and(|row| row.kind != Kind::Plain || !row.includes.is_empty());
        if CONFIGURABLE.contains(&name.as_str()) || !is_composite {
            parts.push(name.clone());
            continue;
        }
        let tools = catalogue.tools(name);
        let covered = CONFIGURABLE.iter().filter(|part| !is_off(part)).filter(|part| {
            let mut own = row(part).into_iter().flat_map(|row| row.written()).peekable();
            own.peek().is_some() && own.all(|tool| tools.contains(tool))
        });
        parts.extend(covered.map(|part| (*part).to_owned()));
    }
    parts
}

fn leads_to(name: &str, server: &str) -> bool {
    name == server || server.strip_prefix(super::MCP) == Some(name)
}

fn texts(value: &Value) -> Option<Vec<String>> {
    let list = value.as_array()?;
    Some(list.iter().filter_map(Value::as_str).map(str::to_owned).collect())
}

fn unique(names: Vec<String>) -> Vec<String> {
    let mut seen = BTreeSet::new();
    names.into_iter().filter(|name| seen.insert(name.clone())).collect()
}
