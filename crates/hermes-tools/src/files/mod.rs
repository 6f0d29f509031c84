//! Files: reading, writing, patching and searching, as plain functions over paths that were checked.
//!
//! What can be decided without a disk is decided here without one: where an edit belongs ([`matching`]), what a patch
//! would make of a set of files ([`v4a`]), which lines a reader sees ([`page`]) and how a change is shown ([`diff`]).

pub mod diff;
mod history;
pub mod matching;
pub mod page;
pub mod search;
pub mod v4a;

pub use history::History;

use serde_json::Value;

/// `tool_output.*` and `file_read_max_chars`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FileSettings {}

impl FileSettings {
    pub(crate) fn read(_config: &Value, _odd: &mut Vec<String>) -> Self {
        Self::default()
    }
}
