//! The store as this tool sees it: sessions by the names a model has for them, and lineages.

use super::show::label;
use crate::tool::ToolError;
use hermes_core::store::{SessionStore, StoreError};
use hermes_types::{Meant, MessageId, Relative, Session, SessionId, StoredMessage};
use std::collections::BTreeSet;

/// Sessions of the program itself: nobody remembers them.
pub(super) const HIDDEN: [&str; 2] = ["subagent", "tool"];
/// As many relatives are asked for a message that is not where it was looked for.
const MOST_RELATIVES: usize = 100;

/// One beginning and everything that descends from it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Family {
    pub(super) root: SessionId,
    members: BTreeSet<SessionId>,
}

impl Family {
    pub(super) fn of(id: &SessionId, relatives: &[Relative]) -> Self {
        let root = relatives.first().map_or_else(|| id.clone(), |first| first.id.clone());
        let members = relatives.iter().map(|relative| relative.id.clone()).chain([id.clone()]).collect();
        Self { root, members }
    }

    pub(super) fn has(&self, id: &SessionId) -> bool {
        self.members.contains(id)
    }

    pub(super) fn size(&self) -> usize {
        self.members.len()
    }
}

#[derive(Clone, Copy)]
pub(super) struct Archive<'a> {
    pub(super) store: &'a dyn SessionStore,
    /// The conversation that asks, by a session of it.
    pub(super) asking: &'a SessionId,
}

impl Archive<'_> {
    /// The lineage of a session; one that is not kept stands for itself.
    pub(super) async fn family(&self, id: &SessionId) -> Result<Family, ToolError> {
        Ok(Family::of(id, &self.relatives(id).await?))
    }

    pub(super) async fn relatives(&self, id: &SessionId) -> Result<Vec<Relative>, ToolError> {
        match self.store.lineage(id).await {
            Err(StoreError::NoSession(_)) => Ok(Vec::new()),
            relatives => relatives.map_err(|error| failed(&error)),
        }
    }

    /// The session that a model names.
    pub(super) async fn find(&self, name: &str) -> Result<Session, ToolError> {
        let found = match self.store.find(name, Meant::Exactly).await {
            Ok(id) => self.store.session(&id).await.map_err(|error| failed(&error))?,
            Err(StoreError::NoSession(_)) => None,
            Err(other) => return Err(failed(&other)),
        };
        found.ok_or_else(|| {
            ToolError::told(format!(
                "There is no session '{}'. Call session_search with a query to find it, or without arguments for \
                 recent ones.",
                label(name)
            ))
        })
    }

    pub(super) async fn session(&self, id: &SessionId) -> Result<Option<Session>, ToolError> {
        self.store.session(id).await.map_err(|error| failed(&error))
    }

    pub(super) async fn message(&self, id: MessageId) -> Result<Option<StoredMessage>, ToolError> {
        self.store.message(id).await.map_err(|error| failed(&error))
    }

    pub(super) async fn messages(&self, id: &SessionId) -> Result<Vec<StoredMessage>, ToolError> {
        self.store.messages(id).await.map_err(|error| failed(&error))
    }

    /// The session of a lineage that a message is in.
    pub(super) async fn holder(&self, family: &Family, message: MessageId) -> Result<Option<SessionId>, ToolError> {
        for member in family.members.iter().take(MOST_RELATIVES) {
            match self.store.around(member, message, 0).await {
                Ok(_) => return Ok(Some(member.clone())),
                Err(StoreError::NoMessage { .. } | StoreError::NoSession(_)) => {}
                Err(other) => return Err(failed(&other)),
            }
        }
        Ok(None)
    }
}

/// What the store says is meant for people; a model can do nothing but tell it.
pub(super) fn failed(error: &StoreError) -> ToolError {
    ToolError::told(format!("Earlier conversations cannot be read: {error}."))
}
