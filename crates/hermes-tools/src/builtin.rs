//! The tools that come with the program. A new one is a file of its own and a line here.

use crate::clarify::ClarifyTool;
use crate::code::ExecuteCode;
use crate::delegate::DelegateTool;
use crate::files::search::SearchFiles;
use crate::files::{PatchTool, ReadFile, WriteFile};
use crate::memory::MemoryTool;
use crate::process::ProcessTool;
use crate::recall::SessionSearch;
use crate::registry::{Registry, Replace};
use crate::settings::Settings;
use crate::skills::{SkillManage, SkillView, SkillsList};
use crate::terminal::TerminalTool;
use crate::todo::TodoTool;
use crate::tool::Tool;
use hermes_core::clock::Clock;
use hermes_core::store::SessionStore;
use std::sync::Arc;

/// Everything built in, registered. A tool that cannot be registered is told to the log and does not stop the others.
/// Without a store of conversations `session_search` says that there is nothing to search.
pub fn registry(clock: Arc<dyn Clock>, settings: &Settings, store: Option<Arc<dyn SessionStore>>) -> Registry {
    let registry = Registry::new(clock);
    add(&registry, ClarifyTool::new(settings.clarify.patience()));
    add(&registry, DelegateTool::new(settings.delegation.clone()));
    add(&registry, ExecuteCode::new(settings));
    add(&registry, MemoryTool::new(settings.memory.clone()));
    add(&registry, PatchTool);
    add(&registry, ProcessTool);
    add(&registry, ReadFile);
    add(&registry, SearchFiles);
    add(&registry, SessionSearch::new(store));
    add(&registry, SkillManage);
    add(&registry, SkillView);
    add(&registry, SkillsList);
    add(&registry, TerminalTool::new(&settings.terminal));
    add(&registry, TodoTool);
    add(&registry, WriteFile);
    registry
}

fn add<T: Tool>(registry: &Registry, tool: T) {
    // The registry tells the log of a name that is taken.
    let _ = registry.register(tool, Replace::Refuse);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::Surroundings;
    use hermes_core::clock::RealClock;
    use serde_json::Value;
    use std::collections::BTreeSet;

    #[test]
    fn what_a_schema_promises_is_what_its_struct_reads() {
        let around = Surroundings::all_at("/nonexistent");
        let registry = registry(Arc::new(RealClock::default()), &Settings::plain(around), None);
        for tool in registry.describe() {
            let name = tool.card.name.as_ref();
            let schema = &tool.card.parameters;
            let promised: BTreeSet<&str> =
                schema["properties"].as_object().into_iter().flatten().map(|(name, _)| name.as_str()).collect();
            let entry = registry.find(name).expect("registered");
            assert_eq!(entry.tool.fields(), Some(promised.clone()), "{name}");
            let required = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str);
            required.for_each(|field| assert!(promised.contains(field), "{name} requires {field}"));
            assert_eq!(schema["type"], "object", "{name}");
        }
    }
}
