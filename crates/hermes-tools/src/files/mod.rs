//! Files: reading, writing, patching and searching, as plain functions over paths that were checked.
//!
//! What can be decided without a disk is decided here without one: where an edit belongs ([`matching`]), what a patch
//! would make of a set of files ([`v4a`]), which lines a reader sees ([`page`]) and how a change is shown ([`diff`]).
//! `place` decides which paths are touched at all, `change` makes changes that happen as a whole, `history` and `traffic`
//! know who read and wrote what.

pub(crate) mod change;
pub(crate) mod current;
pub mod diff;
mod history;
mod keys;
mod lines;
pub mod matching;
pub mod page;
mod patch;
pub(crate) mod place;
mod read;
pub mod search;
mod settings;
mod sight;
pub(crate) mod stamp;
pub(crate) mod text;
mod traffic;
pub mod v4a;
pub(crate) mod write;

pub use history::History;
pub(crate) use patch::PatchTool;
pub(crate) use read::ReadFile;
pub use settings::FileSettings;
pub use sight::Sight;
pub use traffic::Traffic;
pub(crate) use write::WriteFile;

use crate::gate::Permit;
use crate::tool::ToolError;
use std::path::Path;

/// A path leads where the gate saw it lead. A link that was changed since then is a new call.
pub(crate) fn still(permit: &Permit, path: &Path) -> Result<(), ToolError> {
    if permit.effects().scopes.iter().any(|scope| scope.path == path) {
        return Ok(());
    }
    Err(ToolError::told(format!("The path leads to another file now ({}). Try again.", path.display())))
}

/// Work that waits for a disk.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, ToolError> + Send + 'static,
) -> Result<T, ToolError> {
    match tokio::task::spawn_blocking(work).await {
        Ok(result) => result,
        Err(error) => match error.try_into_panic() {
            Ok(panic) => std::panic::resume_unwind(panic),
            Err(_) => Err(ToolError::told("The work was cancelled.")),
        },
    }
}

/// The same for work on files that nobody else may change meanwhile. A call that is given up leaves its work running to the
/// end, so the files are held by the work and not by the call.
async fn holding<T: Send + 'static>(
    held: traffic::Held,
    work: impl FnOnce() -> Result<T, ToolError> + Send + 'static,
) -> Result<T, ToolError> {
    blocking(move || {
        let result = work();
        drop(held);
        result
    })
    .await
}
