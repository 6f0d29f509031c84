//! What a sub-agent is told. The prompt holds nothing of the task, so that all sub-agents at one place share its bytes.

use crate::gather::on_one_line;
use hermes_tools::delegate::{Errand, Role};
use std::path::Path;

const ROLE: &str = "You are a sub-agent of Hermes. Another agent gave you one task; do it yourself, to the end, with your \
tools. Nobody can answer questions: where the task is open, take the most likely reading and say so. What would need the \
approval of a person is refused; find another way, or report that you could not do it.";
const LEAD: &str = "You may hand parts of the task to sub-agents of your own with delegate_task. Check what they report \
before you rely on it.";
const REPORT: &str = "End with a report: what you did, what you found, which files you made or changed, and what failed or \
is left. Give facts, paths and numbers. Your last message is all that the other agent gets to see.";

/// The system prompt of a sub-agent that starts in this directory.
pub(super) fn prompt(role: Role, cwd: &Path) -> String {
    let place = format!("You work in {}.", on_one_line(cwd));
    let lead = (role == Role::Orchestrator).then_some(LEAD);
    let parts = [Some(ROLE), lead, Some(place.as_str()), Some(REPORT)];
    parts.into_iter().flatten().collect::<Vec<_>>().join("\n\n")
}

/// The question it begins with.
pub(super) fn task(errand: &Errand) -> String {
    match &errand.context {
        Some(context) => format!("{}\n\nContext:\n{context}", errand.goal),
        None => errand.goal.clone(),
    }
}
