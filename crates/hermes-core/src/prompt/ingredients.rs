//! Everything a prompt is made of, as plain values. Whoever gathers them has read, scanned and cut all files already.

use super::family::Enforcement;
use super::machine::Machine;
use super::platform::HintOverride;
use jiff::civil::Date;
use std::collections::{BTreeMap, BTreeSet};

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Ingredients {
    /// `SOUL.md`; without one the agent is plain Hermes.
    pub soul: Option<String>,
    /// The names of the tools that are offered.
    pub tools: BTreeSet<String>,
    pub model: Option<String>,
    pub provider: Option<String>,
    /// Where the person talks to the agent: `cli`, `telegram`, …
    pub platform: String,
    /// What the caller adds.
    pub system_message: Option<String>,
    /// The notes, rendered.
    pub memory: Option<String>,
    /// The picture of the person, rendered.
    pub user: Option<String>,
    /// What a memory service adds.
    pub external_memory: Option<String>,
    /// The index of skills with its own instruction.
    pub skills: Option<String>,
    /// The project's files for agents, in their order.
    pub project: Vec<ContextFile>,
    /// Where commands run, unless nobody wants it described.
    pub machine: Option<Machine>,
    /// What the owner says about the machine.
    pub environment_hint: Option<String>,
    /// The active profile; none when it is the default one.
    pub profile: Option<String>,
    /// The day the conversation began.
    pub date: Option<Date>,
    /// The id of the conversation, where the model shall know it.
    pub session: Option<String>,
    pub guidance: Guidance,
}

/// A file of the project as the model shall read it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContextFile {
    /// As seen from the working directory.
    pub name: String,
    pub text: String,
}

/// What the owner wants the model to be told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Guidance {
    /// `agent.tool_use_enforcement`
    pub enforcement: Enforcement,
    /// `agent.task_completion_guidance`
    pub completion: bool,
    /// `agent.parallel_tool_call_guidance`
    pub parallel: bool,
    /// `platform_hints`, by platform.
    pub platform_hints: BTreeMap<String, HintOverride>,
}

impl Default for Guidance {
    fn default() -> Self {
        Self { enforcement: Enforcement::Auto, completion: true, parallel: true, platform_hints: BTreeMap::new() }
    }
}

impl Ingredients {
    pub(super) fn offers(&self, tool: &str) -> bool {
        self.tools.contains(tool)
    }

    pub(super) fn offers_any(&self) -> bool {
        !self.tools.is_empty()
    }
}
