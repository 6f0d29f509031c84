//! What the model still sees of the present conversation.
//!
//! Compression takes messages out of its sight: in place they are marked, and where it went on in another session they
//! stayed behind, but for those that were taken along. What is out of sight can be recalled; the rest of the lineage is
//! left out, for it is before the model or was done on its behalf.

use super::archive::{Archive, Family, failed};
use super::show::everything;
use crate::tool::ToolError;
use hermes_core::store::StoreError;
use hermes_types::{Kinship, Message, MessageId, Relative, Role, RowState, SessionId, StoredMessage};
use std::collections::{BTreeSet, HashSet};

pub(super) struct Present {
    pub(super) family: Family,
    /// The session that is sent to the model.
    newest: SessionId,
    /// Those that compression went on from.
    left_behind: BTreeSet<SessionId>,
}

impl Present {
    pub(super) async fn of(archive: Archive<'_>) -> Result<Self, ToolError> {
        let newest = match archive.store.tip(archive.asking).await {
            // What is not kept is all in sight.
            Err(StoreError::NoSession(_)) => archive.asking.clone(),
            tip => tip.map_err(|error| failed(&error))?,
        };
        let relatives = archive.relatives(&newest).await?;
        Ok(Self { family: Family::of(&newest, &relatives), left_behind: left_behind(&newest, &relatives), newest })
    }

    /// Of messages of this family, those that the model cannot see.
    pub(super) async fn out_of_sight(
        &self,
        archive: Archive<'_>,
        messages: impl IntoIterator<Item = (SessionId, MessageId)>,
    ) -> Result<BTreeSet<MessageId>, ToolError> {
        let wanted: Vec<(SessionId, MessageId)> = messages.into_iter().collect();
        if wanted.is_empty() {
            return Ok(BTreeSet::new());
        }
        let own = archive.messages(&self.newest).await?;
        let in_sight: HashSet<(Role, String)> =
            own.iter().filter(|stored| stored.state == RowState::Live).map(|stored| words(&stored.message)).collect();
        let mut unseen = BTreeSet::new();
        for (session, id) in wanted {
            let hidden = if session == self.newest {
                own.iter().any(|stored| stored.id == id && stored.state == RowState::Compacted)
            } else if self.left_behind.contains(&session) {
                let stored = archive.message(id).await?;
                stored.is_some_and(|stored: StoredMessage| !in_sight.contains(&words(&stored.message)))
            } else {
                false
            };
            unseen.extend(hidden.then_some(id));
        }
        Ok(unseen)
    }
}

/// What was taken along is a copy: it says the same.
fn words(message: &Message) -> (Role, String) {
    (message.role(), everything(message))
}

/// The ancestors whose messages were made shorter on the way down.
fn left_behind(newest: &SessionId, relatives: &[Relative]) -> BTreeSet<SessionId> {
    let mut behind = BTreeSet::new();
    let mut here = relatives.iter().find(|relative| relative.id == *newest);
    // A lineage is told parents first, so that the way up ends.
    while let Some((child, parent)) = here.and_then(|child| Some((child, child.parent.as_ref()?))) {
        if child.kinship == Kinship::Continuation {
            behind.insert(parent.clone());
        }
        here = relatives.iter().find(|relative| relative.id == *parent);
    }
    behind
}

#[cfg(test)]
mod tests {
    use super::*;
    use hermes_types::Moment;

    #[test]
    fn what_compression_went_on_from_is_left_behind_also_above_a_branch() {
        let relative = |id: &str, parent: Option<&str>, kinship| Relative {
            id: SessionId::new(id),
            parent: parent.map(SessionId::new),
            kinship,
            title: None,
            preview: String::new(),
            started_at: Moment::default(),
            message_count: 1,
        };
        let family = [
            relative("first", None, Kinship::Root),
            relative("second", Some("first"), Kinship::Continuation),
            relative("branch", Some("second"), Kinship::Branch),
            relative("third", Some("branch"), Kinship::Continuation),
            relative("other", Some("second"), Kinship::Continuation),
        ];
        let behind = |id: &str| left_behind(&SessionId::new(id), &family).iter().map(ToString::to_string).collect();
        let table: [(&str, &[&str]); 4] =
            [("first", &[]), ("second", &["first"]), ("branch", &["first"]), ("third", &["branch", "first"])];
        for (id, expected) in table {
            let behind: Vec<String> = behind(id);
            assert_eq!(behind, expected, "{id}");
        }
        assert_eq!(left_behind(&SessionId::new("nobody"), &family), BTreeSet::new());
    }
}
