//! What goes wrong with files: programs that die, indexes and tables that break, disks that are full or cannot be written.

use crate::stage::{Kind, Stage, open, said};
use hermes_core::clock::RealClock;
use hermes_core::store::{Sessions, StoreError, Transcript};
use hermes_store::{HealthReport, SqliteStore};
use hermes_types::{Message, NewMessage, NewSession, SessionId, Span};
use rusqlite::Connection;
use std::fs;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

const PAGE: u64 = 4096;

fn say(text: &str) -> NewMessage {
    Message::user(text).into()
}

async fn try_open(path: &Path) -> Result<SqliteStore, StoreError> {
    SqliteStore::open(path, Arc::new(RealClock::default())).await
}

fn count(connection: &Connection, of: &str) -> i64 {
    connection.query_row(&format!("SELECT count(*) FROM {of}"), [], |row| row.get(0)).expect("a count")
}

fn root_of(connection: &Connection, table: &str) -> u64 {
    connection
        .query_row("SELECT rootpage FROM sqlite_master WHERE name = ?1", [table], |row| row.get(0))
        .expect("a root")
}

/// Waits for what happens beside us.
async fn until(what: &str, mut reached: impl AsyncFnMut() -> bool) {
    let begun = Instant::now();
    while !reached().await {
        assert!(begun.elapsed() < Duration::from_secs(20), "never: {what}");
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn a_program_signs_in_with_its_first_write_and_out_at_its_end() {
    let stage = Stage::of(Kind::New).await;
    assert_eq!(count(&stage.look(), "hermes_writers"), 0);
    stage.session("a").await;
    stage.session("b").await;
    let pid: u32 = stage.look().query_row("SELECT pid FROM hermes_writers", [], |row| row.get(0)).expect("one row");
    assert_eq!(pid, std::process::id());
    stage.store.close().await;
    assert_eq!(count(&stage.look(), "hermes_writers"), 0);
    assert_eq!(fs::metadata(stage.path.with_extension("db-wal")).map_or(0, |log| log.len()), 0);
}

#[tokio::test]
async fn an_unclean_end_is_followed_by_a_check_and_then_forgiven() {
    for kind in [Kind::New, Kind::Old(6), Kind::Python] {
        let mut stage = Stage::of(kind).await;
        stage.session("before").await;
        stage.store.close().await;
        let die = "INSERT INTO hermes_writers VALUES(999999, 'another boot:1', 0)";
        stage.look().execute_batch(die).expect("a dead writer");
        stage.store = open(&stage.path).await;
        until("the check", async || !stage.store.health().await.expect("a report").check_due).await;
        stage.store.close().await;
        assert_eq!(count(&stage.look(), "hermes_writers"), 0, "{kind:?}");
        assert_eq!(count(&stage.look(), "hermes_meta WHERE key = 'check_due'"), 0, "{kind:?}");
        stage.store = open(&stage.path).await;
        assert_eq!(stage.store.health().await, Ok(HealthReport::default()), "{kind:?}");
        stage.store.append(&SessionId::new("before"), vec![say("x")]).await.expect("written");
    }
}

#[tokio::test]
async fn a_check_that_was_cut_off_stays_due() {
    let stage = Stage::of(Kind::New).await;
    let id = stage.session("long").await;
    for _ in 0..20 {
        stage.store.append(&id, (0..100).map(|_| say(&"words ".repeat(200))).collect()).await.expect("written");
    }
    stage.store.close().await;
    stage.look().execute_batch("INSERT INTO hermes_writers VALUES(999999, 'x:1', 0)").expect("a dead writer");
    let store = open(&stage.path).await;
    let begun = Instant::now();
    store.create(NewSession::new(SessionId::new("next"), "cli")).await.expect("written");
    store.close().await;
    assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());
    let due = count(&stage.look(), "hermes_meta WHERE key = 'check_due'");
    let dead = count(&stage.look(), "hermes_writers");
    let store = open(&stage.path).await;
    if due == 1 {
        until("the check", async || !store.health().await.expect("a report").check_due).await;
        store.close().await;
    }
    assert_eq!((count(&stage.look(), "hermes_meta WHERE key = 'check_due'"), dead), (0, 0));
}

#[tokio::test]
async fn a_broken_word_index_is_built_anew_while_messages_are_written() {
    for kind in [Kind::New, Kind::Python] {
        let mut stage = Stage::of(kind).await;
        let id = stage.session("words").await;
        stage.store.append(&id, (0..300).map(|n| say(&format!("apple number{n}"))).collect()).await.expect("written");
        stage.reopen().await;
        let others = stage.look();
        let tables: &[&str] =
            if kind == Kind::New { &["messages_fts"] } else { &["messages_fts", "messages_fts_trigram"] };
        for table in tables {
            others.execute_batch(&format!("UPDATE {table}_data SET block = x'0000000000'")).expect("broken");
        }
        let before = count(&others, "messages");
        stage.store.append(&id, vec![say("apple pie")]).await.expect("written in spite of it");
        assert_eq!(count(&others, "messages"), before + 1, "{kind:?}");
        for table in tables {
            others
                .execute(&format!("INSERT INTO {table}({table}, rank) VALUES('integrity-check', 1)"), [])
                .unwrap_or_else(|error| panic!("{kind:?} {table}: {error}"));
            let found = count(&others, &format!("{table} WHERE {table} MATCH 'apple'"));
            assert_eq!(found, 301, "{kind:?} {table}");
        }
        assert_eq!(stage.store.health().await, Ok(HealthReport::default()));
    }
}

#[tokio::test]
async fn an_index_whose_pages_are_gone_never_stops_a_message() {
    for kind in [Kind::New, Kind::Python] {
        let stage = Stage::of(kind).await;
        let id = stage.session("words").await;
        stage.store.append(&id, (0..300).map(|n| say(&format!("apple number{n}"))).collect()).await.expect("written");
        stage.store.close().await;
        let page = root_of(&stage.look(), "messages_fts_data");
        let file = fs::OpenOptions::new().write(true).open(&stage.path).expect("the file");
        file.write_all_at(&[0; PAGE as usize], (page - 1) * PAGE).expect("destroyed");
        let store = open(&stage.path).await;
        store.append(&id, vec![say("one more")]).await.expect("written in spite of it");
        store.append(&id, vec![say("and another")]).await.expect("written");
        let report = store.health().await.expect("a report");
        assert_eq!((report.refusal, report.indexes_off), (None, vec!["messages_fts".to_owned()]), "{kind:?}");
        assert_eq!(store.messages(&id).await.expect("read").len(), 302);
        store.close().await;
        let store = open(&stage.path).await;
        assert_eq!(store.health().await.expect("a report").indexes_off, ["messages_fts"], "known to later programs");
    }
}

/// A file whose newest messages are unreadable.
async fn damaged() -> (Stage, SessionId) {
    let stage = Stage::of(Kind::New).await;
    let id = stage.session("long").await;
    stage
        .store
        .append(&id, (0..500).map(|n| say(&format!("message {n} {}", "x".repeat(200)))).collect())
        .await
        .expect("written");
    stage.store.close().await;
    let root = root_of(&stage.look(), "messages");
    let file = fs::OpenOptions::new().read(true).write(true).open(&stage.path).expect("the file");
    let mut newest = [0; 4];
    file.read_exact_at(&mut newest, (root - 1) * PAGE + 8).expect("the right-most child");
    let newest = u64::from(u32::from_be_bytes(newest));
    file.write_all_at(&[0xa5; PAGE as usize], (newest - 1) * PAGE).expect("destroyed");
    (stage, id)
}

#[tokio::test]
async fn damaged_messages_stop_all_writing_everywhere_but_not_reading() {
    let (stage, id) = damaged().await;
    let store = open(&stage.path).await;
    let bystander = open(&stage.path).await;
    let refused = store.append(&id, vec![say("more")]).await;
    assert!(matches!(refused, Err(StoreError::Damaged { .. })), "{refused:?}");
    let size = fs::metadata(&stage.path).expect("there").len();
    let marker = fs::read_to_string(stage.path.with_extension("db.damaged")).expect("a marker");
    assert!(marker.contains("`hermes sessions recover`"), "{marker}");
    for other in [&bystander, &open(&stage.path).await] {
        let refused = other.create(NewSession::new(SessionId::new("new"), "cli")).await;
        assert!(matches!(refused, Err(StoreError::Damaged { .. })), "{refused:?}");
        assert_eq!(other.session(&id).await.expect("read").expect("there").message_count, 500);
    }
    let read = said(&store, &id, Span::Own).await;
    assert!(matches!(read, Err(StoreError::Damaged { .. })), "{read:?}");
    store.close().await;
    assert_eq!(fs::metadata(&stage.path).expect("there").len(), size);
}

#[tokio::test]
async fn a_check_finds_damage_before_anybody_meets_it() {
    let (stage, _) = damaged().await;
    stage.look().execute_batch("INSERT INTO hermes_writers VALUES(999999, 'x:1', 0)").expect("a dead writer");
    let store = open(&stage.path).await;
    until("the verdict", async || store.health().await.expect("a report").refusal.is_some()).await;
    let refused = store.create(NewSession::new(SessionId::new("new"), "cli")).await;
    assert!(matches!(refused, Err(StoreError::Damaged { .. })), "{refused:?}");
}

#[tokio::test]
async fn places_that_are_no_database_are_named() {
    let folder = tempfile::tempdir().expect("a folder");
    let place = |name: &str| folder.path().join(name);
    fs::create_dir(place("folder.db")).expect("a folder");
    fs::write(place("text.db"), "To whom it may concern\n".repeat(500)).expect("a text");
    fs::write(place("empty.db"), "").expect("an empty file");
    let reason = async |name: &str| match try_open(&place(name)).await {
        Err(StoreError::Unusable { reason, .. }) => reason,
        other => panic!("{name}: {:?}", other.map(|_| ())),
    };
    assert_eq!(reason("folder.db").await, "it is a folder");
    assert!(reason("text.db").await.starts_with("it is not a database"));
    assert_eq!(reason("nowhere/state.db").await, "its folder does not exist");
    assert_eq!(fs::read_to_string(place("text.db")).expect("there").len(), 11_500, "left as it was");
    let store = open(&place("empty.db")).await;
    store.create(NewSession::new(SessionId::new("first"), "cli")).await.expect("an empty file becomes a store");
}

#[tokio::test]
async fn a_newer_file_can_be_read_and_is_not_touched() {
    let stage = Stage::of(Kind::Python).await;
    let id = stage.session("old").await;
    stage.store.append(&id, vec![say("hello")]).await.expect("written");
    stage.store.close().await;
    stage.look().execute_batch("UPDATE schema_version SET version = 23").expect("raised");
    let before = fs::read(&stage.path).expect("the file");
    let store = open(&stage.path).await;
    assert_eq!(said(&store, &id, Span::Own).await, Ok(vec![Message::user("hello")]));
    let refused = store.append(&id, vec![say("more")]).await;
    let place = stage.path.display().to_string();
    assert_eq!(refused, Err(StoreError::TooNew { place, found: 23, known: 22 }));
    store.close().await;
    assert_eq!(fs::read(&stage.path).expect("the file"), before);
}

/// A small disk of its own; `None` where this user may not have one.
struct Disk {
    place: PathBuf,
    _folder: tempfile::TempDir,
}

#[expect(clippy::print_stderr, reason = "whoever runs the tests should know what was not run")]
impl Disk {
    fn of(size: &str) -> Option<Self> {
        let folder = tempfile::tempdir().expect("a folder");
        let mount = Command::new("mount")
            .args(["-t", "tmpfs", "-o", &format!("size={size}"), "tmpfs"])
            .arg(folder.path())
            .output();
        if !mount.is_ok_and(|done| done.status.success()) {
            eprintln!("skipped: only root may mount a disk for this test");
            return None;
        }
        Some(Self { place: folder.path().to_owned(), _folder: folder })
    }

    fn remount(&self, how: &str) {
        let done = Command::new("mount").args(["-o", &format!("remount,{how}")]).arg(&self.place).status();
        assert!(done.expect("mount runs").success());
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(&self.place).status();
    }
}

#[tokio::test]
async fn a_full_disk_keeps_nothing_half_and_writing_goes_on_when_there_is_room() {
    let Some(disk) = Disk::of("1m") else { return };
    let path = disk.place.join("state.db");
    let store = open(&path).await;
    let id = SessionId::new("full");
    store.create(NewSession::new(id.clone(), "cli")).await.expect("a session");
    let filler = disk.place.join("filler");
    fs::write(&filler, vec![1; 250_000]).expect("filled");
    let mut kept = 0;
    let told = loop {
        let batch = (0..4).map(|_| say(&"y".repeat(2_000))).collect();
        match store.append(&id, batch).await {
            Ok(_) => kept += 4,
            Err(told) => break told,
        }
        assert!(kept < 4_000, "the disk never filled");
    };
    assert_eq!(told, StoreError::Full { place: path.display().to_string() });
    assert_eq!(store.messages(&id).await.expect("read").len(), kept, "all of a batch or nothing");
    fs::remove_file(&filler).expect("freed");
    store.append(&id, vec![say("room again")]).await.expect("written");
    store.close().await;
    let store = open(&path).await;
    assert_eq!(store.messages(&id).await.expect("read").len(), kept + 1);
    assert_eq!(store.session(&id).await.expect("read").expect("there").message_count, kept as u64 + 1);
    store.close().await;
    let check: String = Connection::open(&path)
        .expect("the file")
        .query_row("PRAGMA integrity_check", [], |row| row.get(0))
        .expect("ok");
    assert_eq!(check, "ok");
}

#[tokio::test]
async fn a_home_that_cannot_be_written_can_be_read_and_written_again_later() {
    let Some(disk) = Disk::of("4m") else { return };
    let path = disk.place.join("state.db");
    let store = open(&path).await;
    let id = SessionId::new("read");
    store.create(NewSession::new(id.clone(), "cli")).await.expect("a session");
    store.append(&id, vec![say("hello")]).await.expect("written");
    store.close().await;
    drop(store);
    disk.remount("ro");
    let store = open(&path).await;
    assert_eq!(said(&store, &id, Span::Own).await, Ok(vec![Message::user("hello")]));
    let refused = store.append(&id, vec![say("more")]).await;
    assert!(matches!(refused, Err(StoreError::ReadOnly { .. })), "{refused:?}");
    let nowhere = try_open(&disk.place.join("new.db")).await.map(|_| ());
    let reason = "it does not exist and its folder cannot be written".to_owned();
    assert_eq!(nowhere, Err(StoreError::Unusable { place: disk.place.join("new.db").display().to_string(), reason }));
    disk.remount("rw");
    store.append(&id, vec![say("more")]).await.expect("written");
    assert_eq!(store.messages(&id).await.expect("read").len(), 2);
}

#[tokio::test]
async fn a_file_that_was_replaced_is_opened_again() {
    let stage = Stage::of(Kind::New).await;
    stage.session("in the old file").await;
    let other = Stage::of(Kind::New).await;
    other.session("in the new file").await;
    other.store.close().await;
    fs::rename(&other.path, &stage.path).expect("replaced");
    for beside in ["db-wal", "db-shm"] {
        let _ = fs::remove_file(stage.path.with_extension(beside));
    }
    stage.session("after").await;
    assert_eq!(count(&stage.look(), "hermes_writers"), 1, "the new file is signed, too");
    for (id, there) in [("in the old file", false), ("in the new file", true), ("after", true)] {
        let found = stage.store.session(&SessionId::new(id)).await.expect("read").is_some();
        assert_eq!(found, there, "{id}");
    }
}
