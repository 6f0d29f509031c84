//! The `memory` tool.

use super::answer::Failure;
use super::edit::Operation;
use super::store::{Origin, Wish};
use super::{MemorySettings, Target};
use crate::desk::Cx;
use crate::effects::Effects;
use crate::gate::Permit;
use crate::tool::{Availability, Card, Check, Output, Tool, ToolError};
use serde::Deserialize;
use serde_json::{Value, json};
use std::sync::Arc;

const DESCRIPTION: &str = "Notes that survive this conversation; every new one starts with them. memory: facts about \
projects, machines, conventions, lessons. user: who the person is and what they prefer. Save unasked what will still \
matter in weeks; not progress, not what files or history already tell. Give one action, or several as operations (all \
or none are made). old_text is a piece of the entry meant and of no other. When the notes are full, merge or remove \
entries in the same batch.";

pub(crate) struct MemoryTool {
    settings: MemorySettings,
}

impl MemoryTool {
    pub(crate) fn new(settings: MemorySettings) -> Self {
        Self { settings }
    }

    /// The list of changes, or what is wrong with the arguments.
    fn wish(&self, args: &Args) -> Result<Wish, Failure> {
        let offered = self.settings.offered();
        let target = Target::named(args.target.trim()).filter(|target| self.settings.offers(*target));
        let target = target.ok_or_else(|| {
            Failure::saying(format!("There is no target '{}'. Use: {}.", args.target, offered.join(", ")))
        })?;
        let (origin, written) = match (&args.operations, &args.action) {
            (Some(operations), None) if !operations.is_empty() => (Origin::Batch, operations.clone()),
            (Some(operations), Some(_)) if !operations.is_empty() => {
                return Err(Failure::saying("Give either action or operations, not both. Nothing was changed."));
            }
            (_, Some(action)) => {
                let (content, old_text) = (args.content.clone(), args.old_text.clone());
                (Origin::Single, vec![Written { action: action.clone(), content, old_text }])
            }
            (_, None) => return Err(Failure::saying("Say what to do: an action, or a list of operations.")),
        };
        let operations = written.into_iter().map(Written::operation).collect::<Result<Vec<_>, _>>()?;
        Ok(Wish { target, operations, origin })
    }
}

#[derive(Debug, Deserialize)]
pub(crate) struct Args {
    target: String,
    action: Option<String>,
    content: Option<String>,
    old_text: Option<String>,
    operations: Option<Vec<Written>>,
}

/// One operation as the model writes it.
#[derive(Debug, Clone, Deserialize)]
struct Written {
    action: String,
    content: Option<String>,
    old_text: Option<String>,
}

impl Written {
    fn operation(self) -> Result<Operation, Failure> {
        let Self { action, content, old_text } = self;
        let (content, old) = (content.unwrap_or_default(), old_text.unwrap_or_default());
        match action.trim() {
            "add" => Ok(Operation::Add { content }),
            "replace" => Ok(Operation::Replace { old, content }),
            "remove" => Ok(Operation::Remove { old }),
            other => Err(Failure::saying(format!("There is no action '{other}'. Use: add, replace, remove."))),
        }
    }
}

fn parameters(targets: &[&str]) -> Value {
    let action = json!({"type": "string", "enum": ["add", "replace", "remove"]});
    json!({
        "type": "object",
        "properties": {
            "target": {"type": "string", "enum": targets},
            "action": action,
            "content": {"type": "string", "description": "The new entry, for add and replace."},
            "old_text": {"type": "string", "description": "Which entry, for replace and remove."},
            "operations": {
                "type": "array",
                "description": "Several changes at once, instead of action.",
                "items": {
                    "type": "object",
                    "properties": {
                        "action": action,
                        "content": {"type": "string"},
                        "old_text": {"type": "string"}
                    },
                    "required": ["action"]
                }
            }
        },
        "required": ["target"]
    })
}

impl Tool for MemoryTool {
    type Args = Args;

    fn card(&self) -> Card {
        Card { emoji: "🧠", ..Card::new("memory", "memory", DESCRIPTION, parameters(&self.settings.offered())) }
    }

    fn check(&self) -> Option<Arc<Check>> {
        let is_offered = !self.settings.offered().is_empty();
        Some(Check::new(move || match is_offered {
            true => Availability::Ready,
            false => Availability::Missing(
                "both kinds of notes are off: set memory.memory_enabled or memory.user_profile_enabled".to_owned(),
            ),
        }))
    }

    fn effects(&self, args: &Args, cx: &Cx) -> Result<Effects, ToolError> {
        let wish = self.wish(args).map_err(|failure| failure.told())?;
        let store = &cx.desk.shop.memory;
        Ok(match self.settings.write_approval {
            true => Effects::write(store.waiting_room()),
            false => Effects::write(store.file(wish.target)),
        })
    }

    async fn call(&self, args: Args, _permit: Permit, cx: &Cx) -> Result<Output, ToolError> {
        let wish = self.wish(&args).map_err(|failure| failure.told())?;
        let approval = self.settings.write_approval;
        let cx = cx.clone();
        let work = tokio::task::spawn_blocking(move || {
            let shop = &cx.desk.shop;
            let now = shop.clock.now();
            if approval {
                let staged = shop.memory.stage(&wish, now).map_err(|failure| failure.told())?;
                return Output::json(&staged);
            }
            let saved = shop.memory.change(&cx.desk.session, &wish, now, &cx.stop).map_err(|failure| failure.told())?;
            Output::json(&saved)
        });
        work.await.unwrap_or_else(|error| Err(ToolError::told(format!("the notes could not be changed: {error}"))))
    }
}
