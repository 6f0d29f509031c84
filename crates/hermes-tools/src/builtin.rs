//! The tools that come with the program. A new one is a file of its own and a line here.

use crate::registry::{Registry, Replace};
use crate::tool::Tool;
use hermes_core::clock::Clock;
use std::sync::Arc;

/// Everything built in, registered. A tool that cannot be registered is told to the log and does not stop the others.
pub fn registry(clock: Arc<dyn Clock>) -> Registry {
    let registry = Registry::new(clock);
    add(&registry, crate::terminal::TerminalTool::new());
    registry
}

fn add<T: Tool>(registry: &Registry, tool: T) {
    // The registry tells the log of a name that is taken.
    let _ = registry.register(tool, Replace::Refuse);
}
