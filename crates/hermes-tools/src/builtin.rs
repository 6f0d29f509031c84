//! The tools that come with the program. A new one is a file of its own and a line here.

use crate::registry::Registry;
use hermes_core::clock::Clock;
use std::sync::Arc;

/// Everything built in, registered. A tool that cannot be registered is told to the log and does not stop the others.
pub fn registry(clock: Arc<dyn Clock>) -> Registry {
    let registry = Registry::new(clock);
    add(&registry, crate::process::ProcessTool);
    registry
}

fn add<T: crate::tool::Tool>(registry: &Registry, tool: T) {
    if let Err(collision) = registry.register(tool, crate::registry::Replace::Refuse) {
        tracing::error!(%collision, "a built-in tool is missing");
    }
}
