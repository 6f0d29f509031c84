//! Files that others left behind in odd states, and files that others change while we have them open.

use crate::stage::{Kind, Stage, open};
use hermes_core::clock::RealClock;
use hermes_core::store::{Ledger, Search, Sessions, StoreError, Transcript};
use hermes_store::SqliteStore;
use hermes_types::{EffectRecord, EffectState, Message, Moment, NewSession, SearchQuery, SessionId};
use rusqlite::Connection;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tempfile::TempDir;

fn laid(kind: Kind) -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("state.db");
    kind.lay(&path);
    (folder, path)
}

/// Waits for nobody.
async fn in_a_hurry(path: &Path) -> SqliteStore {
    let clock = Arc::new(RealClock::default());
    SqliteStore::open_within(path, clock, Duration::from_millis(200)).await.expect("a store")
}

#[tokio::test]
async fn what_is_kept_while_a_reader_looks_on_is_seen_by_it() {
    let (_folder, path) = laid(Kind::Python);
    // Nobody can add our tables while this lasts, so the first question is answered without them.
    let other = Connection::open(&path).expect("the file");
    other.execute_batch("BEGIN IMMEDIATE").expect("a lock");
    let store = in_a_hurry(&path).await;
    let id = SessionId::new("20251009_085320_aa0001");
    assert_eq!(store.open_effects(&id).await, Ok(Vec::new()));
    other.execute_batch("ROLLBACK").expect("let go");
    let effect = EffectRecord {
        session: id.clone(),
        call: hermes_types::CallId::new("c1"),
        tool: "terminal".into(),
        started_at: Moment::from_seconds(1.0),
        ended_at: None,
        state: EffectState::Begun,
    };
    store.begin_effect(effect.clone()).await.expect("kept");
    assert_eq!(store.open_effects(&id).await, Ok(vec![effect]));
}

#[tokio::test]
async fn a_file_that_is_raised_beyond_what_we_know_is_not_written_any_more() {
    let stage = Stage::of(Kind::Python).await;
    let id = stage.session("before").await;
    stage.look().execute("UPDATE schema_version SET version = 23", []).expect("raised");
    let refused = stage.store.append(&id, vec![Message::user("after").into()]).await;
    assert!(matches!(refused, Err(StoreError::TooNew { found: 23, known: 22, .. })), "{refused:?}");
    assert_eq!(stage.store.messages(&id).await, Ok(Vec::new()));
}

#[tokio::test]
async fn an_index_that_was_missing_is_filled() {
    let (_folder, path) = laid(Kind::Old(6));
    let file = Connection::open(&path).expect("the file");
    file.execute_batch("DROP TABLE messages_fts; DROP TRIGGER messages_fts_insert").expect("dropped");
    drop(file);
    let store = open(&path).await;
    let found = store.search(SearchQuery::new("aardvark")).await.expect("found");
    assert_eq!(found.hits.len(), 3, "{found:?}");
    assert_eq!(store.delete(&SessionId::new("20250101_100000_a1b2c3")).await, Ok(true));
    let file = Connection::open(&path).expect("the file");
    file.execute("INSERT INTO messages_fts(messages_fts, rank) VALUES('integrity-check', 1)", []).expect("sound");
}

#[tokio::test]
async fn equal_titles_without_an_index_on_them_do_not_shut_the_file() {
    let (_folder, path) = laid(Kind::Old(6));
    let file = Connection::open(&path).expect("the file");
    file.execute_batch("DROP INDEX idx_sessions_title_unique; UPDATE sessions SET title = 'twin' WHERE source = 'cli'")
        .expect("twins");
    drop(file);
    let store = open(&path).await;
    let holders: i64 = Connection::open(&path)
        .and_then(|file| file.query_row("SELECT count(*) FROM sessions WHERE title = 'twin'", [], |row| row.get(0)))
        .expect("counted");
    assert_eq!(holders, 1);
    store.create(NewSession::new(SessionId::new("new"), "cli")).await.expect("kept");
}

#[cfg(unix)]
#[tokio::test]
async fn an_old_file_that_cannot_be_written_is_read_as_it_is() {
    use std::os::unix::fs::PermissionsExt;
    for version in 1..=6 {
        let (folder, path) = laid(Kind::Old(version));
        let file = Connection::open(&path).expect("the file");
        file.execute_batch("BEGIN IMMEDIATE").expect("a lock");
        let store = in_a_hurry(&path).await;
        let messages = store.messages(&SessionId::new("20250101_100000_a1b2c3")).await.expect("read");
        assert_eq!(messages.len(), 4, "version {version}");
        drop(folder);
    }
    let (_folder, path) = laid(Kind::New);
    open(&path).await.close().await;
    let mode = std::fs::metadata(&path).expect("the file").permissions().mode();
    assert_eq!(mode & 0o777, 0o600, "a new file is its owner's alone");
}

#[tokio::test]
async fn letting_go_of_a_store_does_not_wait_for_other_programs() {
    let stage = Stage::of(Kind::New).await;
    let id = stage.session("s").await;
    let other = stage.look();
    other.execute_batch("BEGIN IMMEDIATE").expect("a lock");
    let append = stage.store.append(&id, vec![Message::user("x").into()]);
    assert!(tokio::time::timeout(Duration::from_millis(50), append).await.is_err(), "not locked");
    let began = std::time::Instant::now();
    drop(stage);
    assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
}
