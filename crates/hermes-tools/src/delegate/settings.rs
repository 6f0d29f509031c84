//! `delegation.*`: how many sub-agents, how deep, how long, and how much of their reports is read.

use serde::Deserialize;
use std::time::Duration;

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(default)]
pub struct DelegationSettings {
    /// How often one sub-agent may ask its model.
    pub max_iterations: u32,
    /// Sub-agents of one agent that work at the same time, and tasks of one call.
    pub max_concurrent_children: usize,
    /// Generations below the conversation of the person.
    pub max_spawn_depth: u32,
    /// Characters of one report that the agent reads.
    pub max_summary_chars: usize,
    /// Seconds; zero or less is no limit.
    pub child_timeout_seconds: f64,
    /// Sub-agents have the tools of MCP servers too.
    pub inherit_mcp_toolsets: bool,
    /// Sub-agents may have sub-agents, as deep as is allowed.
    pub orchestrator_enabled: bool,
    /// What a person would be asked about is done unasked.
    pub subagent_auto_approve: bool,
}

impl Default for DelegationSettings {
    fn default() -> Self {
        Self {
            max_iterations: hermes_core::turn::budget::ITERATIONS_OF_CHILD,
            max_concurrent_children: 3,
            max_spawn_depth: 1,
            max_summary_chars: 24_000,
            child_timeout_seconds: 0.0,
            inherit_mcp_toolsets: true,
            orchestrator_enabled: true,
            subagent_auto_approve: false,
        }
    }
}

impl DelegationSettings {
    /// How many may work at the same time: at least one, or there would be no use in delegating.
    pub fn side_by_side(&self) -> usize {
        self.max_concurrent_children.max(1)
    }

    /// The longest a sub-agent may work.
    pub fn child_timeout(&self) -> Option<Duration> {
        Duration::try_from_secs_f64(self.child_timeout_seconds).ok().filter(|limit| !limit.is_zero())
    }

    /// Whether an agent at this depth may send others out; the conversation of the person is at depth 0.
    pub fn may_send(&self, depth: u32) -> bool {
        depth < self.max_spawn_depth && (depth == 0 || self.orchestrator_enabled)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn only_the_person_s_agent_sends_others_out_unless_the_owner_wants_more() {
        let depths = |settings: serde_json::Value| {
            let settings = DelegationSettings::deserialize(settings).unwrap();
            (0..4).filter(|depth| settings.may_send(*depth)).collect::<Vec<_>>()
        };
        assert_eq!(depths(json!({})), [0]);
        assert_eq!(depths(json!({"max_spawn_depth": 0})), [] as [u32; 0]);
        assert_eq!(depths(json!({"max_spawn_depth": 3})), [0, 1, 2]);
        assert_eq!(depths(json!({"max_spawn_depth": 3, "orchestrator_enabled": false})), [0]);
    }

    #[test]
    fn no_limit_is_written_as_zero() {
        let limit = |seconds: f64| {
            DelegationSettings { child_timeout_seconds: seconds, ..DelegationSettings::default() }.child_timeout()
        };
        assert_eq!([limit(0.0), limit(-1.0), limit(f64::NAN)], [None; 3]);
        assert_eq!(limit(1.5), Some(Duration::from_millis(1500)));
    }
}
