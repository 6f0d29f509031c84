//! A tool of a plugin as the hands see it. What a call would touch is read from its arguments, so that a plugin that runs
//! commands is no way around the gate.

use crate::plugin::Plugin;
use crate::protocol::ToolSpec;
use hermes_tools::desk::Cx;
use hermes_tools::effects::{Company, Effects};
use hermes_tools::foreign::{self, Claim, Foreigner, Works};
use hermes_tools::gate::Permit;
use hermes_tools::tool::{Card, Output, Repeats, ResultCap, Tool, ToolError};
use hermes_types::Object;
use serde_json::Value;
use std::sync::Arc;
use std::time::Duration;

/// A plugin may have to be started, and started again, before it can be called.
const FOR_THE_START: Duration = Duration::from_secs(30);

pub(crate) struct PluginTool {
    pub(crate) plugin: Arc<Plugin>,
    pub(crate) spec: ToolSpec,
    pub(crate) toolset: String,
}

impl PluginTool {
    fn foreigner(&self) -> Foreigner {
        let (claim, company) = match self.spec.read_only {
            true => (Claim::ReadsOnly, Company::Welcome),
            false => (Claim::Unclear, Company::Alone),
        };
        Foreigner { claim, works: Works::Here, company }
    }
}

impl Tool for PluginTool {
    type Args = Object;

    fn card(&self) -> Card {
        Card {
            name: self.spec.name.clone().into(),
            toolset: self.toolset.clone().into(),
            description: self.spec.description.clone(),
            emoji: "🔌",
            parameters: self.spec.parameters.clone(),
            requires_env: Vec::new(),
            result_cap: ResultCap::Usual,
            source: self.spec.source.into(),
            repeats: Repeats::MayDiffer,
        }
    }

    fn effects(&self, arguments: &Object, cx: &Cx) -> Result<Effects, ToolError> {
        foreign::effects(arguments, self.foreigner(), cx)
    }

    fn limit(&self, _arguments: &Object) -> Option<Duration> {
        Some(self.spec.limit() + FOR_THE_START)
    }

    async fn call(&self, arguments: Object, _permit: Permit, cx: &Cx) -> Result<Output, ToolError> {
        let answer = tokio::select! {
            biased;
            answer = self.plugin.call(&self.spec, &arguments, cx) => answer.map_err(ToolError::told)?,
            () = cx.stop.wait() => return Err(ToolError::told("interrupted; the plugin was told to stop")),
        };
        match answer {
            Value::String(text) => Ok(Output::Text(text)),
            other => Output::json(&other),
        }
    }
}
