//! Skills: knowledge about recurring work, kept as folders with a `SKILL.md` in them.
//!
//! A skill is disclosed in three steps, so that many of them cost little: [`index`] gives a line of each to the system
//! prompt, `skill_view` the text of one, and again one of the files it links. The folders are walked anew each time
//! (`catalogue.rs`): that takes less than a blink, and what the person changed counts at once. Which skill may be read by
//! whom is decided in `audience.rs`; a file is only read from inside of the folder of its skill. Everybody who writes
//! (`manage/` for the agent, [`hub`] for what comes from elsewhere, [`bundled`] for what comes with the program) does it
//! through `shelf.rs`; what strangers wrote is looked through by [`scan`] first. [`commands`] turns `/name` into a message.

mod audience;
pub mod bundled;
mod catalogue;
pub mod commands;
mod frontmatter;
pub mod hub;
mod index;
mod inline;
pub mod inventory;
mod linked;
mod list;
mod lookup;
mod manage;
mod naming;
pub mod parcel;
pub mod scan;
mod settings;
mod shelf;
mod usage;
mod vet;
mod view;
mod words;

pub use audience::Audience;
pub use index::index;
pub(crate) use list::SkillsList;
pub(crate) use manage::SkillManage;
pub use manage::waiting::{approve, pending, reject};
pub use settings::SkillSettings;
pub(crate) use view::SkillView;

use crate::effects::{Access, Effects, Reach, Scope};
use crate::settings::Settings;
use crate::tool::ToolError;

/// What every call reads: all folders with skills.
fn reading(settings: &Settings) -> Effects {
    let scope = |path| Scope { path, access: Access::Read, reach: Reach::Tree };
    Effects { scopes: settings::roots(settings).into_iter().map(scope).collect(), ..Effects::none() }
}

/// Work that waits for a disk.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, ToolError> + Send + 'static,
) -> Result<T, ToolError> {
    let done = tokio::task::spawn_blocking(work).await;
    done.unwrap_or_else(|error| Err(ToolError::told(format!("the skills could not be read: {error}"))))
}
