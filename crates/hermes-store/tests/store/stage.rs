//! Files of every age to play on.

use hermes_core::clock::RealClock;
use hermes_core::store::{Sessions, StoreError, Transcript};
use hermes_store::SqliteStore;
use hermes_types::{Message, NewSession, SessionId, Span};
use rusqlite::Connection;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tempfile::TempDir;

/// A store in a folder of its own.
pub(crate) struct Stage {
    pub(crate) kind: Kind,
    pub(crate) store: SqliteStore,
    pub(crate) path: PathBuf,
    _folder: TempDir,
}

/// Where a file comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Made by us, now.
    New,
    /// Made from the tables of an old version, with a few conversations.
    Old(u32),
    /// Made by the Python program 0.19 (see fixtures/make_v22.py).
    Python,
}

impl Kind {
    pub(crate) const ALL: [Self; 8] =
        [Self::New, Self::Old(1), Self::Old(2), Self::Old(3), Self::Old(4), Self::Old(5), Self::Old(6), Self::Python];

    /// Puts the file at `path`.
    pub(crate) fn lay(self, path: &Path) {
        match self {
            Self::New => {}
            Self::Old(version) => {
                let connection = Connection::open(path).expect("a file");
                connection.execute_batch(old_tables(version)).expect("old tables");
            }
            Self::Python => std::fs::write(path, include_bytes!("fixtures/v22.db")).expect("a copy"),
        }
    }
}

fn old_tables(version: u32) -> &'static str {
    match version {
        1 => include_str!("fixtures/v1.sql"),
        2 => include_str!("fixtures/v2.sql"),
        3 => include_str!("fixtures/v3.sql"),
        4 => include_str!("fixtures/v4.sql"),
        5 => include_str!("fixtures/v5.sql"),
        _ => include_str!("fixtures/v6.sql"),
    }
}

impl Stage {
    pub(crate) async fn of(kind: Kind) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("state.db");
        kind.lay(&path);
        let store = open(&path).await;
        Self { kind, store, path, _folder: folder }
    }

    /// One stage for each kind of file.
    pub(crate) async fn every() -> Vec<Self> {
        let mut stages = Vec::new();
        for kind in Kind::ALL {
            stages.push(Self::of(kind).await);
        }
        stages
    }

    /// Begins a session.
    pub(crate) async fn session(&self, id: &str) -> SessionId {
        let id = SessionId::new(id);
        self.store.create(NewSession::new(id.clone(), "cli")).await.expect("a session");
        id
    }

    /// Lets go of the file and opens it again, as another process would.
    pub(crate) async fn reopen(&mut self) {
        self.store.close().await;
        self.store = open(&self.path).await;
    }

    /// A look at the file past the store.
    pub(crate) fn look(&self) -> Connection {
        Connection::open(&self.path).expect("the file")
    }
}

pub(crate) async fn open(path: &Path) -> SqliteStore {
    SqliteStore::open(path, Arc::new(RealClock::default())).await.expect("a store")
}

/// What goes to a model, without the places it is kept at.
pub(crate) async fn said(store: &SqliteStore, id: &SessionId, span: Span) -> Result<Vec<Message>, StoreError> {
    let conversation = store.conversation(id, span).await?;
    Ok(conversation.into_iter().map(|(_, message)| message).collect())
}
