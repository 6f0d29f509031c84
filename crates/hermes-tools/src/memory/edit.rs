//! Changes of a list of entries: all of them or none, judged by the size at the end. Pure.

use super::entries::{clean, has_mark, size};

/// One wish of the model, as it was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Operation {
    Add { content: String },
    /// `old` is a piece of the entry that is meant.
    Replace { old: String, content: String },
    Remove { old: String },
}

/// What stands in the way of a change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Obstacle {
    EmptyContent,
    EmptyOldText,
    /// The content has a line `§` in it.
    SeveralEntries,
    NoMatch { old: String },
    /// It was there when this conversation last saw the notes.
    Vanished { old: String },
    /// There is a match, but not the entry that this conversation saw.
    Changed { old: String },
    SeveralMatches { old: String, matches: Vec<String> },
    OverLimit { before: usize, after: usize },
}

/// Where a change failed: the number of the operation, from 1; none when it is the whole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Failed {
    pub(super) operation: Option<usize>,
    pub(super) obstacle: Obstacle,
}

/// What became of the entries.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Edited {
    pub(super) entries: Vec<String>,
    /// What the conversation knows of the notes after this: its own changes made to what it had seen.
    pub(super) seen: Vec<String>,
}

impl Operation {
    pub(super) fn action(&self) -> &'static str {
        match self {
            Self::Add { .. } => "add",
            Self::Replace { .. } => "replace",
            Self::Remove { .. } => "remove",
        }
    }

    pub(super) fn content(&self) -> Option<&str> {
        match self {
            Self::Add { content } | Self::Replace { content, .. } => Some(content),
            Self::Remove { .. } => None,
        }
    }

    pub(super) fn old(&self) -> Option<&str> {
        match self {
            Self::Add { .. } => None,
            Self::Replace { old, .. } | Self::Remove { old } => Some(old),
        }
    }

    /// What can be said without looking at the notes.
    pub(super) fn fault(&self) -> Option<Obstacle> {
        if self.old().is_some_and(|old| clean(old).is_empty()) {
            return Some(Obstacle::EmptyOldText);
        }
        let content = clean(self.content()?);
        match () {
            () if content.is_empty() => Some(Obstacle::EmptyContent),
            () if has_mark(&content) => Some(Obstacle::SeveralEntries),
            () => None,
        }
    }
}

/// Makes the changes in order. `seen` is what the conversation was last shown.
pub(super) fn edit(
    entries: &[String],
    seen: &[String],
    operations: &[Operation],
    limit: usize,
) -> Result<Edited, Failed> {
    let mut edited = Edited { entries: entries.to_vec(), seen: seen.to_vec() };
    for (place, operation) in operations.iter().enumerate() {
        let failed = |obstacle| Failed { operation: Some(place + 1), obstacle };
        edited.apply(operation).map_err(failed)?;
    }
    let (before, after) = (size(entries), size(&edited.entries));
    // Notes that were too long already may still become shorter.
    if after > limit && after >= before && edited.entries != entries {
        return Err(Failed { operation: None, obstacle: Obstacle::OverLimit { before, after } });
    }
    Ok(edited)
}

impl Edited {
    fn apply(&mut self, operation: &Operation) -> Result<(), Obstacle> {
        if let Some(fault) = operation.fault() {
            return Err(fault);
        }
        let content = operation.content().map(clean);
        let meant = match operation.old() {
            Some(old) => Some(self.find(&clean(old))?),
            None => None,
        };
        put(&mut self.entries, meant.as_deref(), content.as_deref());
        put(&mut self.seen, meant.as_deref(), content.as_deref());
        Ok(())
    }

    /// The one entry that has this in it.
    fn find(&self, old: &str) -> Result<String, Obstacle> {
        let holding = |list: &[String]| list.iter().filter(|entry| entry.contains(old)).cloned().collect::<Vec<_>>();
        // An entry that is exactly this is meant, even if others contain it.
        let mut matches = holding(&self.entries);
        if matches.iter().any(|entry| entry == old) {
            matches.retain(|entry| entry == old);
        }
        let known = holding(&self.seen);
        let old = old.to_owned();
        match matches.as_slice() {
            [] if known.is_empty() => Err(Obstacle::NoMatch { old }),
            [] => Err(Obstacle::Vanished { old }),
            [only] => {
                let is_another = !known.is_empty() && !known.iter().any(|entry| self.entries.contains(entry));
                if is_another { Err(Obstacle::Changed { old }) } else { Ok(only.clone()) }
            }
            _ => Err(Obstacle::SeveralMatches { old, matches }),
        }
    }
}

/// Puts the content in the place of the entry, or at the end; nothing is there twice.
fn put(list: &mut Vec<String>, meant: Option<&str>, content: Option<&str>) {
    let place = meant.and_then(|meant| list.iter().position(|entry| entry == meant));
    if let Some(place) = place {
        list.remove(place);
    }
    if let Some(content) = content
        && !list.iter().any(|entry| entry == content)
    {
        list.insert(place.unwrap_or(list.len()).min(list.len()), content.to_owned());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn list(entries: &[&str]) -> Vec<String> {
        entries.iter().map(|entry| (*entry).to_owned()).collect()
    }

    fn replace(old: &str, content: &str) -> Operation {
        Operation::Replace { old: old.to_owned(), content: content.to_owned() }
    }

    #[test]
    fn an_entry_another_session_changed_is_not_overwritten_unseen() {
        let seen = list(&["indents with tabs"]);
        let now = list(&["indents with tabs, 8 wide"]);
        let wish = [replace("tabs", "indents with spaces")];
        let changed = Obstacle::Changed { old: "tabs".to_owned() };
        assert_eq!(edit(&now, &seen, &wish, 100), Err(Failed { operation: Some(1), obstacle: changed }));
        // Once it was shown, the same wish is an informed one.
        let entries = list(&["indents with spaces"]);
        assert_eq!(edit(&now, &now, &wish, 100), Ok(Edited { entries: entries.clone(), seen: entries }));
    }

    #[test]
    fn a_batch_may_go_over_the_limit_on_its_way_but_not_at_its_end() {
        let entries = list(&["aaaa", "bbbb"]);
        let add = Operation::Add { content: "cccccc".to_owned() };
        let remove = Operation::Remove { old: "aaaa".to_owned() };
        let alone = edit(&entries, &[], std::slice::from_ref(&add), 14);
        let obstacle = Obstacle::OverLimit { before: 11, after: 20 };
        assert_eq!(alone, Err(Failed { operation: None, obstacle }));
        let both = edit(&entries, &[], &[add, remove], 14).map(|edited| edited.entries);
        assert_eq!(both, Ok(list(&["bbbb", "cccccc"])));
    }

    #[test]
    fn notes_above_the_limit_may_become_shorter_step_by_step() {
        let entries = list(&["aaaaaaaa", "bbbbbbbb"]);
        let edited = edit(&entries, &[], &[replace("bbbb", "bbbbbbb")], 5).map(|edited| edited.entries);
        assert_eq!(edited, Ok(list(&["aaaaaaaa", "bbbbbbb"])));
    }

    proptest! {
        #[test]
        fn a_list_never_has_an_entry_twice_and_keeps_what_was_not_meant(
            start in proptest::collection::vec("[a-c]{1,2}", 0..5),
            old in "[a-c]{1,2}",
            content in "[a-d]{1,2}",
        ) {
            let mut entries: Vec<String> = Vec::new();
            for entry in start {
                if !entries.contains(&entry) {
                    entries.push(entry);
                }
            }
            if let Ok(edited) = edit(&entries, &[], &[replace(&old, &content)], 100) {
                let mut distinct = edited.entries.clone();
                distinct.sort();
                distinct.dedup();
                prop_assert_eq!(distinct.len(), edited.entries.len());
                prop_assert!(edited.entries.contains(&content));
                let lost = entries.iter().filter(|entry| !edited.entries.contains(entry));
                prop_assert!(lost.clone().all(|entry| entry.contains(&old)));
                prop_assert!(lost.count() <= 1);
            }
        }
    }
}
