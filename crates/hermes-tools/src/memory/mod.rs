//! Notes that outlive a conversation: `MEMORY.md` (what was learned) and `USER.md` (who the person is).
//!
//! A file is a list of entries with a line `§` between them. Every change is made under a lock that the Python program
//! takes too, against what the file says at that moment, and put in place in one step: two sessions that write at the
//! same time both keep what they wrote, and a session that would change an entry it has not seen in its present form is
//! told so. What a conversation reads of the notes is fixed when it starts ([`Snapshot`]), so that its prompt stays the
//! same. A file that would lose something by being rewritten is copied and left alone.

mod answer;
mod disk;
mod edit;
mod entries;
pub(crate) mod pending;
mod snapshot;
mod store;
mod tool;

pub use pending::{Pending, Subsystem};
pub use snapshot::Snapshot;
pub use store::MemoryStore;
pub(crate) use tool::MemoryTool;

use serde::Deserialize;

/// `memory.*`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct MemorySettings {
    pub memory_enabled: bool,
    pub user_profile_enabled: bool,
    pub memory_char_limit: usize,
    pub user_char_limit: usize,
    /// Whether changes wait in `pending/memory` until a person approves them.
    pub write_approval: bool,
}

impl Default for MemorySettings {
    fn default() -> Self {
        Self {
            memory_enabled: true,
            user_profile_enabled: true,
            memory_char_limit: 2200,
            user_char_limit: 1375,
            write_approval: false,
        }
    }
}

/// One of the two files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Target {
    Memory,
    User,
}

impl Target {
    pub const ALL: [Self; 2] = [Self::Memory, Self::User];

    pub fn name(self) -> &'static str {
        match self {
            Self::Memory => "memory",
            Self::User => "user",
        }
    }

    fn file_name(self) -> &'static str {
        match self {
            Self::Memory => "MEMORY.md",
            Self::User => "USER.md",
        }
    }

    fn title(self) -> &'static str {
        match self {
            Self::Memory => "MEMORY (your personal notes)",
            Self::User => "USER PROFILE (who the user is)",
        }
    }

    fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|target| target.name() == name)
    }
}

impl MemorySettings {
    fn limit(&self, target: Target) -> usize {
        match target {
            Target::Memory => self.memory_char_limit,
            Target::User => self.user_char_limit,
        }
    }

    fn offers(&self, target: Target) -> bool {
        match target {
            Target::Memory => self.memory_enabled,
            Target::User => self.user_profile_enabled,
        }
    }

    fn offered(&self) -> Vec<&'static str> {
        Target::ALL.into_iter().filter(|target| self.offers(*target)).map(Target::name).collect()
    }
}
