//! The notes as a prompt shows them: rendered once for a conversation and never changed under it.

use super::entries::{join, size, usage};
use super::Target;
use crate::threat::{Scanner, Scope, ids};

const RULE_WIDTH: usize = 46;

/// What a conversation starts with.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Snapshot {
    /// The notes; none when there are none, or they are switched off.
    pub memory: Option<String>,
    /// The picture of the person.
    pub user: Option<String>,
    /// Files that could not be read, for people.
    pub troubles: Vec<String>,
}

impl Snapshot {
    pub(super) fn put(&mut self, target: Target, block: Option<String>) {
        match target {
            Target::Memory => self.memory = block,
            Target::User => self.user = block,
        }
    }
}

/// One block. An entry that wants to steer the agent is named and not shown; the file keeps it.
pub(super) fn render(target: Target, entries: &[String], limit: usize, scanner: &Scanner) -> Option<String> {
    if entries.is_empty() {
        return None;
    }
    let shown: Vec<String> = entries.iter().map(|entry| safe(target, entry, scanner)).collect();
    let rule = "═".repeat(RULE_WIDTH);
    let head = format!("{} [{}]", target.title(), usage(size(&shown), limit));
    Some(format!("{rule}\n{head}\n{rule}\n{}", join(&shown)))
}

fn safe(target: Target, entry: &str, scanner: &Scanner) -> String {
    let threats = scanner.scan(entry, Scope::Strict);
    if threats.is_empty() {
        return entry.to_owned();
    }
    let (file, found) = (target.file_name(), ids(&threats));
    tracing::warn!(file, found, "an entry of the notes is kept out of the prompt");
    format!("[BLOCKED: an entry of {file} looks like an attack ({found}) and is not shown. To delete it, remove it with the memory tool.]")
}
