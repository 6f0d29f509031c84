//! `skill_manage`: the agent writes down what it learned, and mends it.
//!
//! What a call wants is read into a [`Wish`] first, so that nothing half-understood is ever begun; where it would write is
//! known before the gate is asked (`aim.rs`); the change itself is made under the lock of all writers, on the newest
//! content, as a whole or not at all (`make.rs`). Only the person's own skills are changed. Where they want to see changes
//! first, the wish is put away for them (`waiting.rs`). The list in the prompt of a running conversation stays as it is.

mod aim;
mod make;
pub(super) mod waiting;
mod wish;

use super::blocking;
use super::index::MANAGE;
use crate::desk::Cx;
use crate::effects::{Access, Effects, Reach, Scope};
use crate::files::{current, still};
use crate::gate::Permit;
use crate::tool::{Card, Output, Tool, ToolError};
use aim::Aim;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use wish::{ManageArgs, Wish};

const DESCRIPTION: &str = "Keep skills: what you learned about recurring work, for later conversations. create (content: \
a whole SKILL.md, with name and description in its frontmatter), patch (old_string, new_string; the way to mend one), edit \
(content replaces SKILL.md), write_file and remove_file (file_path below references/, templates/, scripts/ or assets/), \
delete (absorbed_into names the skill that has its content now, or is empty). A good skill says when to use it, the steps \
with exact commands, the pitfalls, and how to check the result. Ask before you create or delete one.";

pub(crate) struct SkillManage;

fn parameters() -> Value {
    json!({
        "type": "object",
        "properties": {
            "action": {"type": "string", "enum": wish::ACTIONS},
            "name": {"type": "string", "description": "Lower-case letters, digits, '-', '_' and '.'"},
            "content": {"type": "string"},
            "old_string": {"type": "string"},
            "new_string": {"type": "string"},
            "replace_all": {"type": "boolean", "default": false},
            "category": {"type": "string", "description": "create: one folder to put it in"},
            "file_path": {"type": "string", "description": "patch: default SKILL.md"},
            "file_content": {"type": "string"},
            "absorbed_into": {"type": "string"}
        },
        "required": ["action", "name"]
    })
}

impl Tool for SkillManage {
    type Args = ManageArgs;

    fn card(&self) -> Card {
        Card { emoji: "📝", ..Card::new(MANAGE, "skills", DESCRIPTION, parameters()) }
    }

    fn effects(&self, args: &ManageArgs, cx: &Cx) -> Result<Effects, ToolError> {
        let wish = Wish::read(args).map_err(told)?;
        let settings = cx.desk.settings();
        let aim = Aim::take(&wish, settings, &cx.desk.shop.scanner).map_err(told)?;
        if settings.skills.write_approval {
            return Ok(Effects::write(waiting::room(settings)));
        }
        let scope = Scope { path: aim.path().to_owned(), access: Access::Write, reach: Reach::Tree };
        Ok(Effects { scopes: vec![scope], ..Effects::none() })
    }

    async fn call(&self, args: ManageArgs, permit: Permit, cx: &Cx) -> Result<Output, ToolError> {
        let wish = Wish::read(&args).map_err(told)?;
        let desk = cx.desk.clone();
        if desk.settings().skills.write_approval {
            return blocking(move || {
                let now = desk.shop.clock.now();
                let staged = waiting::stage(desk.settings(), &args, now).map_err(told)?;
                Output::json(&staged)
            })
            .await;
        }
        let aim = Aim::take(&wish, desk.settings(), &desk.shop.scanner).map_err(told)?;
        still(&permit, aim.path())?;
        desk.history.other_tool_ran();
        let held = desk.shop.traffic.hold(BTreeSet::from([aim.path().to_owned()])).await;
        let stop = cx.stop.clone();
        blocking(move || {
            let made = make::make(&wish, desk.settings(), &desk.shop.scanner, desk.shop.clock.now(), &stop);
            drop(held);
            let made = made.map_err(told)?;
            if let Some(target) = &made.written {
                current::landed(&desk, target).map_err(told)?;
            }
            Output::json(&made.told)
        })
        .await
    }
}

fn told(error: impl Into<String>) -> ToolError {
    ToolError::Tell(json!({"success": false, "error": error.into()}))
}
