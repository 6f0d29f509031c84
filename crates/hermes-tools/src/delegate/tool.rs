//! `delegate_task`: tasks in, reports out. The agent waits meanwhile.

use super::result::{share, told};
use super::{Crew, DelegationSettings, Errand, Role};
use crate::desk::Cx;
use crate::effects::Effects;
use crate::gate::Permit;
use crate::tool::{Card, Look, Output, Tool, ToolError};
use serde::Deserialize;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

pub const NAME: &str = "delegate_task";
const TOOLSET: &str = "delegation";
const NO_CREW: &str = "Nothing can be delegated here. Do the work yourself.";
const NO_GOAL: &str = "There is no goal. Say what to do in `goal`, or one goal for each entry of `tasks`.";

pub(crate) struct DelegateTool {
    settings: DelegationSettings,
}

impl DelegateTool {
    pub(crate) fn new(settings: DelegationSettings) -> Self {
        Self { settings }
    }

    /// Whether a role makes any difference with these settings.
    fn has_orchestrators(&self) -> bool {
        self.settings.may_send(1)
    }

    fn description(&self) -> String {
        let most = self.settings.side_by_side();
        let depth = self.settings.max_spawn_depth;
        let lead = match self.has_orchestrators() {
            true => format!(" role=orchestrator may delegate in turn, {depth} levels deep."),
            false => String::new(),
        };
        format!(
            "Hand work to sub-agents with a fresh conversation, a terminal of their own and your tools: one goal, or up to \
             {most} tasks side by side. They know nothing of this conversation, so put paths, facts and constraints in the \
             context. You wait and get their reports, which are claims: check what matters. For work that would fill your \
             context or can run in parallel, not for a single call.{lead}"
        )
    }
}

#[derive(Debug, Deserialize)]
pub(crate) struct Args {
    goal: Option<String>,
    context: Option<String>,
    tasks: Option<Vec<Task>>,
    role: Option<String>,
    /// Sub-agents work while the agent waits, whatever is said here; a program that is used to it may say it.
    #[serde(rename = "background")]
    _background: Option<Value>,
}

#[derive(Debug, Deserialize)]
struct Task {
    goal: String,
    context: Option<String>,
    role: Option<String>,
}

impl Args {
    /// What is to be done. `tasks` counts where there are any; what a task does not say, the call says for it.
    fn errands(&self) -> Vec<Errand> {
        let said = |text: Option<&String>| text.map(|text| text.trim().to_owned()).filter(|text| !text.is_empty());
        let (context, role) = (said(self.context.as_ref()), self.role.as_deref());
        let errand = |goal: &str, own: Option<String>, own_role: Option<&str>| Errand {
            goal: goal.trim().to_owned(),
            context: own.or_else(|| context.clone()),
            role: named(own_role.or(role)),
        };
        match self.tasks.as_deref() {
            Some(tasks @ [_, ..]) => {
                tasks.iter().map(|task| errand(&task.goal, said(task.context.as_ref()), task.role.as_deref())).collect()
            }
            _ => self.goal.iter().map(|goal| errand(goal, None, None)).collect(),
        }
    }
}

/// A role by its name; what nobody knows is the lesser one.
fn named(role: Option<&str>) -> Role {
    match role.map(str::trim) {
        Some(name) if name.eq_ignore_ascii_case("orchestrator") => Role::Orchestrator,
        _ => Role::Leaf,
    }
}

impl Tool for DelegateTool {
    type Args = Args;

    fn card(&self) -> Card {
        let role = json!({"type": "string", "enum": ["leaf", "orchestrator"]});
        let parameters = json!({
            "type": "object",
            "properties": {
                "goal": {"type": "string"},
                "context": {"type": "string"},
                "tasks": {
                    "type": "array",
                    "maxItems": self.settings.side_by_side(),
                    "items": {
                        "type": "object",
                        "properties": {"goal": {"type": "string"}, "context": {"type": "string"}, "role": role},
                        "required": ["goal"]
                    }
                },
                "role": role,
                "background": {"type": "boolean"}
            }
        });
        Card { emoji: "🔀", ..Card::new(NAME, TOOLSET, &self.description(), parameters) }
    }

    /// What makes no difference here is not paid for on every request.
    fn adapt(&self, look: &mut Look, _offered: &BTreeSet<String>) {
        let mut idle = vec!["background"];
        if !self.has_orchestrators() {
            idle.push("role");
        }
        let places = ["/properties", "/properties/tasks/items/properties"];
        for place in places {
            if let Some(Value::Object(properties)) = look.parameters.pointer_mut(place) {
                properties.retain(|name, _| !idle.contains(&name.as_str()));
            }
        }
    }

    /// Sub-agents may do anything that the gate lets them do.
    fn effects(&self, args: &Args, cx: &Cx) -> Result<Effects, ToolError> {
        crew(cx)?;
        let (errands, most) = (args.errands(), self.settings.side_by_side());
        if errands.is_empty() || errands.iter().any(|errand| errand.goal.is_empty()) {
            return Err(ToolError::told(NO_GOAL));
        }
        if errands.len() > most {
            let error = format!(
                "{} tasks are too many for one call: at most {most} sub-agents work at the same time \
                 (delegation.max_concurrent_children). Nothing was started; make several calls, one after the other.",
                errands.len()
            );
            return Err(ToolError::told(error));
        }
        Ok(Effects::deed())
    }

    /// As long as the sub-agents take: each has its own iterations, and a limit of time where the owner set one.
    fn limit(&self, _args: &Args) -> Option<Duration> {
        None
    }

    async fn call(&self, args: Args, _permit: Permit, cx: &Cx) -> Result<Output, ToolError> {
        let desk = &cx.desk;
        let (errands, clock) = (args.errands(), desk.shop.clock.clone());
        let most = share(self.settings.max_summary_chars, desk.room.sizes().result, errands.len());
        let began = clock.elapsed();
        let reports = crew(cx)?.send(errands, cx).await.map_err(ToolError::told)?;
        let took = clock.elapsed().saturating_sub(began);
        Output::json(&told(reports, took, most, &cx.call, &desk.shop.spill).await)
    }
}

fn crew(cx: &Cx) -> Result<&Arc<dyn Crew>, ToolError> {
    cx.desk.crew().ok_or_else(|| ToolError::told(NO_CREW))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn errands(args: Value) -> Vec<Errand> {
        Args::deserialize(args).unwrap().errands()
    }

    fn errand(goal: &str, context: Option<&str>, role: Role) -> Errand {
        Errand { goal: goal.to_owned(), context: context.map(str::to_owned), role }
    }

    #[test]
    fn tasks_count_before_the_goal_and_take_from_the_call_what_they_do_not_say() {
        assert_eq!(errands(json!({"goal": " count ", "background": true})), [errand("count", None, Role::Leaf)]);
        assert_eq!(errands(json!({"goal": "a", "tasks": []})), [errand("a", None, Role::Leaf)]);
        assert_eq!(errands(json!({})), []);
        let several = json!({
            "goal": "not this",
            "context": "in src",
            "role": "Orchestrator",
            "tasks": [{"goal": "a"}, {"goal": "b", "context": "in tests", "role": "leaf"}, {"goal": "c", "context": " "}],
        });
        assert_eq!(
            errands(several),
            [
                errand("a", Some("in src"), Role::Orchestrator),
                errand("b", Some("in tests"), Role::Leaf),
                errand("c", Some("in src"), Role::Orchestrator),
            ]
        );
    }

    #[test]
    fn the_model_reads_the_limits_that_hold_and_nothing_without_use() {
        let look = |settings: DelegationSettings| {
            let tool = DelegateTool::new(settings);
            let Card { description, parameters, .. } = tool.card();
            let mut look = Look { description, parameters };
            tool.adapt(&mut look, &BTreeSet::new());
            look
        };
        let usual = look(DelegationSettings::default());
        assert!(usual.description.contains("up to 3 tasks") && !usual.description.contains("role"));
        assert!(!usual.parameters.to_string().contains("role"), "{}", usual.parameters);
        assert!(!usual.parameters.to_string().contains("background"), "{}", usual.parameters);
        let deep =
            DelegationSettings { max_spawn_depth: 2, max_concurrent_children: 7, ..DelegationSettings::default() };
        let deep = look(deep);
        assert!(deep.description.contains("up to 7 tasks") && deep.description.contains("2 levels deep"));
        assert_eq!(deep.parameters["properties"]["tasks"]["items"]["properties"]["role"]["enum"][1], "orchestrator");
    }
}
