//! Notes that outlive a conversation: `MEMORY.md` and `USER.md`.

use crate::settings::Settings;
use serde::Deserialize;

/// `memory.*`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct MemorySettings {
    pub memory_char_limit: usize,
    pub user_char_limit: usize,
}

impl Default for MemorySettings {
    fn default() -> Self {
        Self { memory_char_limit: 2200, user_char_limit: 1375 }
    }
}

/// The two files of notes.
pub struct MemoryStore {}

impl MemoryStore {
    pub fn new(_settings: &Settings) -> Self {
        Self {}
    }
}
