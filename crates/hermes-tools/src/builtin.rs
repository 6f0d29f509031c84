//! The tools that come with the program. A new one is a file of its own and a line here.

use crate::files::{PatchTool, ReadFile, WriteFile};
use crate::registry::{Registry, Replace};
use crate::terminal::TerminalTool;
use crate::tool::Tool;
use hermes_core::clock::Clock;
use std::sync::Arc;

/// Everything built in, registered. A tool that cannot be registered is told to the log and does not stop the others.
pub fn registry(clock: Arc<dyn Clock>) -> Registry {
    let registry = Registry::new(clock);
    add(&registry, PatchTool);
    add(&registry, ReadFile);
    add(&registry, TerminalTool::new());
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
    use hermes_core::clock::RealClock;
    use serde_json::Value;
    use std::collections::BTreeSet;

    #[test]
    fn what_a_schema_promises_is_what_its_struct_reads() {
        let registry = registry(Arc::new(RealClock::default()));
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
