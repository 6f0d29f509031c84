//! What Hermes and a plugin say to each other in JSON-RPC, one message on each line ([`hermes_types::rpc`]). Pure.
//!
//! A plugin answers `initialize` with its [`Registration`]. It is read as a whole or refused as a whole, with the field
//! that is wrong; nothing of it is guessed at.

use crate::occasion::{Occasion, deaf_to};
use hermes_tools::run::OnFailure;
use hermes_tools::tool::Source;
use hermes_types::rpc;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::time::Duration;

pub(crate) use hermes_types::rpc::{Incoming, notice, reason, request};

/// What both sides speak. Raised when something changes that a plugin must know of.
pub const VERSION: u32 = 1;
/// The longest line either side may send.
pub(crate) const LONGEST_LINE: usize = 8 * 1024 * 1024;
const MOST_TOOLS: usize = 128;
const LONGEST_DESCRIPTION: usize = 8_000;
const LARGEST_SCHEMA: usize = 64 * 1024;
const LONGEST_TOOL_NAME: usize = 64;
/// Tools of servers are called like this, and rules of the owner speak about them by it.
const OF_SERVERS: &str = "mcp_";
const USUAL_CALL: u64 = 120;
const LONGEST_CALL: u64 = 3_600;
const USUAL_HOOK: u64 = 10;
const LONGEST_HOOK: u64 = 60;

/// Nobody knows this method.
pub(crate) const NO_METHOD: i64 = rpc::METHOD_NOT_FOUND;
/// The parameters make no sense.
pub(crate) const BAD_PARAMETERS: i64 = rpc::INVALID_PARAMS;
/// What is asked for is not possible now.
pub(crate) const REFUSED: i64 = rpc::SERVER_ERROR;

/// The answer to what a plugin asked.
pub(crate) fn answer(id: &Value, outcome: Result<Value, (i64, String)>) -> String {
    match outcome {
        Ok(result) => rpc::answer(id, &result),
        Err((code, message)) => rpc::refusal(id, code, &message),
    }
}

/// What a plugin registers.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Registration {
    #[serde(default)]
    pub tools: Vec<ToolSpec>,
    #[serde(default)]
    pub hooks: Vec<HookSpec>,
}

/// One tool of a plugin.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolSpec {
    pub name: String,
    #[serde(default)]
    pub description: String,
    /// JSON Schema of the arguments.
    #[serde(default = "no_arguments")]
    pub parameters: Value,
    /// The set it belongs to, where that is not the plugin's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub toolset: Option<String>,
    /// It only looks: nothing is changed by it, and it may run beside others.
    #[serde(default)]
    pub read_only: bool,
    /// Whose words its results hold.
    #[serde(default)]
    pub source: Words,
    /// It wants the place of a tool with the same name.
    #[serde(default, rename = "override")]
    pub overrides: bool,
    /// Seconds a call may take.
    #[serde(default = "usual_call")]
    pub timeout: u64,
}

/// Whose words the results of a tool hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Words {
    /// Most plugins fetch something. Who enables one trusts its code, not what the code fetches: a frame that is not needed
    /// costs a line, one that is missing costs an obeyed page.
    #[default]
    Strangers,
    /// Of this machine, made by the plugin itself; it knows best.
    Machine,
}

impl From<Words> for Source {
    fn from(words: Words) -> Self {
        match words {
            Words::Strangers => Self::Strangers,
            Words::Machine => Self::Machine,
        }
    }
}

/// One event a plugin wants to hear of.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(from = "WrittenHook")]
pub struct HookSpec {
    pub name: String,
    /// What becomes of a call when a hook that guards fails.
    pub on_failure: Failing,
    /// Tools it is about, with `|` between them; all without.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tools: Option<String>,
    /// Seconds an answer may take.
    pub timeout: u64,
}

/// What a guard that fails means.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Failing {
    #[default]
    Block,
    Continue,
}

impl From<Failing> for OnFailure {
    fn from(failing: Failing) -> Self {
        match failing {
            Failing::Block => Self::Block,
            Failing::Continue => Self::Continue,
        }
    }
}

#[derive(Deserialize)]
#[serde(untagged)]
enum WrittenHook {
    Name(String),
    Described {
        name: String,
        #[serde(default)]
        on_failure: Failing,
        #[serde(default)]
        tools: Option<String>,
        #[serde(default = "usual_hook")]
        timeout: u64,
    },
}

impl From<WrittenHook> for HookSpec {
    fn from(written: WrittenHook) -> Self {
        match written {
            WrittenHook::Name(name) => Self { name, on_failure: Failing::default(), tools: None, timeout: USUAL_HOOK },
            WrittenHook::Described { name, on_failure, tools, timeout } => Self { name, on_failure, tools, timeout },
        }
    }
}

fn no_arguments() -> Value {
    json!({"type": "object", "properties": {}})
}

fn usual_call() -> u64 {
    USUAL_CALL
}

fn usual_hook() -> u64 {
    USUAL_HOOK
}

impl ToolSpec {
    pub(crate) fn limit(&self) -> Duration {
        Duration::from_secs(self.timeout.clamp(1, LONGEST_CALL))
    }
}

impl HookSpec {
    pub(crate) fn limit(&self) -> Duration {
        Duration::from_secs(self.timeout.clamp(1, LONGEST_HOOK))
    }

    pub(crate) fn concerns(&self, tool: Option<&str>) -> bool {
        match (&self.tools, tool) {
            (Some(tools), Some(tool)) => tools.split('|').any(|named| named.trim() == tool),
            _ => true,
        }
    }
}

impl Registration {
    /// Reads what a plugin answered. The error names the field.
    pub fn read(answer: Value) -> Result<Self, String> {
        let registered: Self = serde_json::from_value(answer).map_err(|error| format!("its registration: {error}"))?;
        if registered.tools.len() > MOST_TOOLS {
            return Err(format!("it registers {} tools; {MOST_TOOLS} is the most", registered.tools.len()));
        }
        let mut names = std::collections::BTreeSet::new();
        for tool in &registered.tools {
            tool.check()?;
            if !names.insert(&tool.name) {
                return Err(format!("it registers the tool {} twice", tool.name));
            }
        }
        Ok(registered)
    }

    /// What it wants to hear of and never will, in words.
    pub fn deaf(&self) -> Vec<String> {
        self.hooks.iter().filter_map(|hook| deaf_to(&hook.name)).collect()
    }

    pub(crate) fn hook(&self, occasion: Occasion, tool: Option<&str>) -> Option<&HookSpec> {
        self.hooks.iter().find(|hook| hook.name == occasion.name() && hook.concerns(tool))
    }
}

impl ToolSpec {
    fn check(&self) -> Result<(), String> {
        let Self { name, description, parameters, toolset, .. } = self;
        let is_letter = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
        if name.is_empty() || name.len() > LONGEST_TOOL_NAME || !name.chars().all(is_letter) {
            return Err(format!("tools: {name:?} is no name; letters, digits, `-` and `_` make one"));
        }
        if name.starts_with(OF_SERVERS) {
            return Err(format!("tools: {name:?} is a name for tools of MCP servers; give it another beginning"));
        }
        if description.chars().nth(LONGEST_DESCRIPTION).is_some() {
            return Err(format!("tools.{name}.description: longer than {LONGEST_DESCRIPTION} characters"));
        }
        if !parameters.is_object() || parameters.to_string().len() > LARGEST_SCHEMA {
            return Err(format!("tools.{name}.parameters: a JSON Schema of at most {LARGEST_SCHEMA} bytes is wanted"));
        }
        match toolset {
            Some(set) if !crate::manifest::is_name(set) || set.starts_with("mcp-") || set.starts_with("hermes-") => {
                Err(format!("tools.{name}.toolset: {set:?} cannot be the name of its toolset"))
            }
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_registration_is_taken_whole_or_refused_with_its_field() {
        let plain = Registration::read(json!({"tools": [{"name": "weather"}], "hooks": ["post_tool_call"]})).unwrap();
        let again = Registration::read(serde_json::to_value(&plain).unwrap());
        assert_eq!(again, Ok(plain.clone()), "what is written down is read back");
        assert_eq!(plain.hooks.first().map(|hook| hook.on_failure), Some(Failing::Block), "a guard guards");
        for (answer, told) in [
            (json!({"tools": [{"name": "a b"}]}), "is no name"),
            (json!({"tools": [{"name": "a"}, {"name": "a"}]}), "twice"),
            (json!({"tools": [{"name": "a", "parameters": 7}]}), "tools.a.parameters"),
            (json!({"tools": [{"name": "a", "toolset": "mcp-x"}]}), "tools.a.toolset"),
            (json!({"tools": 7}), "its registration"),
        ] {
            let refused = Registration::read(answer.clone());
            assert!(refused.as_ref().is_err_and(|reason| reason.contains(told)), "{answer}: {refused:?}");
        }
    }
}
