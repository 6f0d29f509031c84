//! The tools that come with the program. A new one is a file of its own and a line here.

use crate::clarify::ClarifyTool;
use crate::memory::MemoryTool;
use crate::registry::{Registry, Replace};
use crate::settings::Settings;
use crate::todo::TodoTool;
use crate::tool::Tool;
use hermes_core::clock::Clock;
use std::sync::Arc;

/// Everything built in, registered. A tool that cannot be registered is told to the log and does not stop the others.
pub fn registry(clock: Arc<dyn Clock>, settings: &Settings) -> Registry {
    let registry = Registry::new(clock);
    add(&registry, ClarifyTool::new(settings.clarify.patience()));
    add(&registry, MemoryTool::new(settings.memory.clone()));
    add(&registry, TodoTool);
    registry
}

/// The registry itself tells the log of a collision.
fn add(registry: &Registry, tool: impl Tool) {
    drop(registry.register(tool, Replace::Refuse));
}
